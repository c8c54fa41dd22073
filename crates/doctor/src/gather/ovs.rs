//! Open vSwitch on this machine: its database over `ovs-vsctl`, flows over `ovs-ofctl`.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::process::{RunError, output};
use crate::facts::{BridgeFacts, OvsFacts, TargetFacts, Tried};

/// How long a question to the database may take.
const WITHIN: Duration = Duration::from_millis(1500);

/// How long a switch may take to list its flows.
const FLOWS_WITHIN: Duration = Duration::from_millis(700);

/// How long connecting to the address of a controller may take.
const CONNECT_WITHIN: Duration = Duration::from_millis(300);

/// What `ovs-vsctl` says where no database listens.
const DOWN: [&str; 2] = ["(No such file or directory)", "(Connection refused)"];

/// Addresses of controllers that are tried.
const TRIED_MAX: usize = 4;

/// Bridges that are looked at: a Mininet has tens.
const BRIDGES_MAX: usize = 2000;

/// Bridges that are asked for their flows.
const FLOWS_OF_MAX: usize = 64;

/// Its bridges; nothing where there is no Open vSwitch.
///
/// # Errors
/// One sentence: it is there, and cannot be asked.
pub(super) fn ovs(until: Instant) -> Result<Option<OvsFacts>, String> {
    let controllers = "--columns=_uuid,target,is_connected,role,status";
    let bridges = "--columns=name,datapath_id,protocols,controller";
    let ssl = "--columns=private_key,certificate";
    let args = [
        "--timeout=2",
        "--format=json",
        "--",
        bridges,
        "list",
        "Bridge",
        "--",
        controllers,
        "list",
        "Controller",
        "--",
        ssl,
        "list",
        "SSL",
    ];
    let text = match output("ovs-vsctl", &args, WITHIN) {
        Ok(text) => text,
        Err(RunError::Missing) => return Ok(None),
        Err(RunError::Failed(why)) if DOWN.iter().any(|sign| why.contains(sign)) => {
            return Ok(Some(OvsFacts { is_down: true, ..OvsFacts::default() }));
        }
        Err(why) => return Err(format!("Open vSwitch is not asked: {why}")),
    };
    let tables: Vec<Value> =
        serde_json::Deserializer::from_str(&text).into_iter().filter_map(Result::ok).collect();
    let [bridges, controllers, ssl] = &tables[..] else {
        return Err("Open vSwitch is not asked: ovs-vsctl answered something else".into());
    };
    let mut facts = read(bridges, controllers, ssl);
    facts.bridges.truncate(BRIDGES_MAX);
    try_targets(&mut facts.bridges, until);
    for bridge in facts.bridges.iter_mut().filter(|b| b.speaks("OpenFlow13")).take(FLOWS_OF_MAX) {
        if Instant::now() < until {
            bridge.flows = flows(&bridge.name);
        }
    }
    Ok(Some(facts))
}

/// The flows of a bridge, a line each.
fn flows(bridge: &str) -> Option<Vec<String>> {
    let args = ["-O", "OpenFlow13", "--timeout=1", "dump-flows", bridge, "table=0"];
    let text = output("ovs-ofctl", &args, FLOWS_WITHIN).ok()?;
    let lines = text.lines().filter(|line| line.contains("actions="));
    Some(lines.map(|line| line.trim().to_owned()).collect())
}

impl BridgeFacts {
    /// Whether it may speak this version of OpenFlow.
    pub fn speaks(&self, version: &str) -> bool {
        self.protocols.is_empty() || self.protocols.iter().any(|protocol| protocol == version)
    }
}

impl TargetFacts {
    /// The address behind the protocol, where there is one.
    pub fn address(&self) -> Option<SocketAddr> {
        let (_, address) = self.target.split_once(':')?;
        let with_port = |address: &str| address.parse().ok();
        with_port(address).or_else(|| with_port(&format!("{address}:6653")))
    }

    /// `tcp`, `ssl`, `unix` and so on.
    pub fn protocol(&self) -> &str {
        self.target.split(':').next().unwrap_or_default()
    }
}

/// Whether the targets that are not connected are of this machine, and take connections. Each
/// address is tried once.
fn try_targets(bridges: &mut [BridgeFacts], until: Instant) {
    let mut tried: HashMap<SocketAddr, (bool, Option<Tried>)> = HashMap::new();
    for target in bridges.iter_mut().flat_map(|bridge| &mut bridge.controllers) {
        let Some(address) = target.address() else { continue };
        let count = tried.len();
        let (is_here, found) = tried.entry(address).or_insert_with(|| {
            let may_try = count < TRIED_MAX && Instant::now() < until;
            (is_of_this_machine(address.ip()), may_try.then(|| try_address(address)))
        });
        (target.is_here, target.tried) = (*is_here, *found);
    }
}

fn try_address(address: SocketAddr) -> Tried {
    match TcpStream::connect_timeout(&address, CONNECT_WITHIN) {
        Ok(_) => Tried::Accepted,
        Err(error) => match error.kind() {
            ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset => Tried::Refused,
            ErrorKind::TimedOut | ErrorKind::WouldBlock => Tried::Silent,
            _ => Tried::NoRoute,
        },
    }
}

/// Whether a socket can have this address.
pub(super) fn is_of_this_machine(address: IpAddr) -> bool {
    UdpSocket::bind((address, 0)).is_ok()
}

/// What three tables say.
fn read(bridges: &Value, controllers: &Value, ssl: &Value) -> OvsFacts {
    let controllers: Vec<(String, TargetFacts)> = rows(controllers)
        .map(|row| {
            let status = map(row(4));
            let of = |key: &str| status.get(key).cloned().unwrap_or_default();
            let target = TargetFacts {
                target: text(row(1)),
                is_connected: row(2).as_bool().unwrap_or(false),
                role: first(row(3)).unwrap_or_default(),
                last_error: of("last_error"),
                state: of("state"),
                ..TargetFacts::default()
            };
            (first(row(0)).unwrap_or_default(), target)
        })
        .collect();
    let bridges = rows(bridges).map(|row| {
        let of_bridge = set(row(3));
        let own = controllers.iter().filter(|(uuid, _)| of_bridge.contains(uuid));
        BridgeFacts {
            name: text(row(0)),
            dpid: first(row(1)),
            protocols: set(row(2)),
            controllers: own.map(|(_, target)| target.clone()).collect(),
            flows: None,
        }
    });
    let mut facts = OvsFacts { bridges: bridges.collect(), ..OvsFacts::default() };
    facts.bridges.sort_by(|a, b| a.name.cmp(&b.name));
    facts.has_certificate =
        rows(ssl).any(|row| !text(row(0)).is_empty() && !text(row(1)).is_empty());
    facts
}

/// The rows of a table, each as a function from a column to its value.
fn rows<'v>(table: &'v Value) -> impl Iterator<Item = impl Fn(usize) -> &'v Value> {
    let rows = table["data"].as_array().map_or(&[][..], Vec::as_slice);
    rows.iter().map(|row| move |column: usize| &row[column])
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// A value of the database as a set: it writes a set of one without `["set", …]`, and an
/// identifier as `["uuid", "…"]`.
fn set(value: &Value) -> Vec<String> {
    match (value.as_str(), value[0].as_str(), &value[1]) {
        (Some(one), ..) => vec![one.to_owned()],
        (_, Some("uuid"), Value::String(uuid)) => vec![uuid.clone()],
        (_, Some("set"), Value::Array(all)) => all.iter().flat_map(set).collect(),
        _ => vec![],
    }
}

fn first(value: &Value) -> Option<String> {
    set(value).into_iter().next()
}

fn map(value: &Value) -> std::collections::BTreeMap<String, String> {
    let pairs = value[1].as_array().map_or(&[][..], Vec::as_slice);
    pairs.iter().map(|pair| (text(&pair[0]), text(&pair[1]))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_tables_of_the_database_are_read() {
        let uuid = |last: &str| json!(["uuid", format!("0-{last}")]);
        let bridges = json!({"data": [
            ["s2", ["set", []], ["set", []], ["set", []]],
            ["s1", "0000000000000001", "OpenFlow13", ["set", [uuid("a"), uuid("b")]]],
        ]});
        let status = json!(["map", [["last_error", "Connection refused"], ["state", "BACKOFF"]]]);
        let controllers = json!({"data": [
            [uuid("a"), "tcp:127.0.0.1:6633", false, ["set", []], status],
            [uuid("b"), "ssl:10.0.0.9", true, "master", ["map", []]],
        ]});
        let facts = read(&bridges, &controllers, &json!({"data": [["key", "pem"]]}));
        assert!(facts.has_certificate);
        let [one, two] = &facts.bridges[..] else { panic!("two bridges") };
        assert_eq!(
            (&*one.name, one.dpid.as_deref(), &*two.name),
            ("s1", Some("0000000000000001"), "s2")
        );
        assert!(one.speaks("OpenFlow13") && !one.speaks("OpenFlow10") && two.speaks("OpenFlow10"));
        let [refused, master] = &one.controllers[..] else { panic!("two controllers") };
        assert_eq!((&*refused.last_error, &*refused.state), ("Connection refused", "BACKOFF"));
        assert_eq!(refused.address(), "127.0.0.1:6633".parse().ok());
        assert_eq!(
            (master.is_connected, &*master.role, master.protocol()),
            (true, "master", "ssl")
        );
        assert_eq!(master.address(), "10.0.0.9:6653".parse().ok());
    }

    #[test]
    fn what_is_no_table_is_none() {
        for odd in [json!(null), json!({"data": 7}), json!({"data": [[], [1, 2], "x"]})] {
            let facts = read(&odd, &odd, &odd);
            assert!(facts.bridges.iter().all(|bridge| bridge.name.is_empty()));
        }
    }

    #[test]
    fn an_address_of_this_machine_is_known() {
        assert!(is_of_this_machine("127.0.0.1".parse().unwrap()));
        assert!(!is_of_this_machine("192.0.2.77".parse().unwrap()));
    }
}
