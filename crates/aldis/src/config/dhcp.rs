//! `[[dhcp-server]]`: the DHCP servers, where they are named beforehand.

use aldis_apps::SwitchPort;
use aldis_apps::dhcp::{DhcpServer, Trust};
use aldis_apps::spelling::Spelled;
use aldis_wire::msg::PortNo;
use aldis_wire::{DatapathId, MacAddr};
use serde::Deserialize;

use super::value::parsed;

/// One of them.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct DhcpTable {
    /// Its address.
    #[serde(deserialize_with = "parsed")]
    mac: MacAddr,
    /// The switch that it is attached to.
    switch: Spelled<String>,
    /// The port there.
    port: u32,
    /// Its VLAN; 0 where frames carry no tag.
    #[serde(default)]
    vlan: u16,
}

/// The servers that are named; every server where none is.
///
/// # Errors
/// What is wrong.
pub(super) fn trust(told: &[DhcpTable]) -> Result<Trust, String> {
    if told.is_empty() {
        return Ok(Trust::AnyServer);
    }
    told.iter().map(DhcpTable::server).collect::<Result<_, _>>().map(Trust::Only)
}

impl DhcpTable {
    fn server(&self) -> Result<DhcpServer, String> {
        let refused = |what: String| format!("[[dhcp-server]] {}: {what}", self.mac);
        let dpid: DatapathId =
            self.switch.0.parse().map_err(|why| refused(format!("switch: {why}")))?;
        let port = PortNo(self.port);
        if !port.is_real() && port != PortNo::LOCAL {
            return Err(refused(format!("{} is no port number", self.port)));
        }
        if self.vlan > 4095 {
            return Err(refused(format!("vlan {}; accepted are 0 to 4095", self.vlan)));
        }
        Ok(DhcpServer { vlan: self.vlan, mac: self.mac, at: SwitchPort::of(dpid, port) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn read(text: &str) -> Result<Config, String> {
        toml::from_str(text).map_err(|error| error.message().to_owned())
    }

    #[test]
    fn servers_are_named_or_anyone_is_one() {
        assert_eq!(read("").unwrap().dhcp_servers(), Trust::AnyServer);
        let text = "[[dhcp-server]]\nmac = \"02:00:00:00:00:fe\"\nswitch = 1\nport = 3\nvlan = 10";
        let at = SwitchPort::new(1, 3);
        let server = DhcpServer { vlan: 10, mac: MacAddr([2, 0, 0, 0, 0, 0xfe]), at };
        assert_eq!(read(text).unwrap().dhcp_servers(), Trust::Only(vec![server]));
        for (rest, accepted) in [
            ("switch = \"s1\"\nport = 3", "00:00:00:00:00:00:00:01"),
            ("switch = 1\nport = 0", "no port number"),
            ("switch = 1\nport = 1\nvlan = 4096", "0 to 4095"),
        ] {
            let config = read(&format!("[[dhcp-server]]\nmac = \"02:00:00:00:00:fe\"\n{rest}"));
            let refused = config.unwrap().app_set().expect_err("it has to be refused");
            assert!(refused.contains(accepted) && refused.contains("[[dhcp-server]]"), "{refused}");
        }
        assert!(read("[[dhcp-server]]\nmac = \"2:0\"\nswitch = 1\nport = 1").is_err());
    }
}
