//! Ports: their names, and what a switch says of one. Numbers are those of OpenFlow 1.3; the
//! reserved ones of 1.0 are the same with sixteen bits.

use super::text;
use aldis_wire::MacAddr;
use std::fmt::{self, Display};

const CONTROLLER: u32 = 0xffff_fffd;
const ANY: u32 = 0xffff_ffff;

/// The names of the reserved ports (OpenFlow 1.3.5 §7.2.1).
const RESERVED: [(u32, &str); 8] = [
    (0xffff_fff8, "IN_PORT"),
    (0xffff_fff9, "TABLE"),
    (0xffff_fffa, "NORMAL"),
    (0xffff_fffb, "FLOOD"),
    (0xffff_fffc, "ALL"),
    (CONTROLLER, "CONTROLLER"),
    (0xffff_fffe, "LOCAL"),
    (ANY, "ANY"),
];

/// A port by its name, or its number.
pub(super) fn number(port: u32) -> impl Display {
    fmt::from_fn(move |f| match reserved(port) {
        Some(name) => f.write_str(name),
        None => write!(f, "{port}"),
    })
}

fn reserved(port: u32) -> Option<&'static str> {
    RESERVED.iter().find(|(number, _)| *number == port).map(|(_, name)| *name)
}

/// An output action; of a frame to the controller at most `max_len` bytes are sent.
pub(super) fn output(port: u32, max_len: u16) -> impl Display {
    fmt::from_fn(move |f| match reserved(port) {
        Some(name) if port == CONTROLLER => write!(f, "{name}:{max_len}"),
        Some(name) => f.write_str(name),
        None => write!(f, "output:{port}"),
    })
}

/// Flags by name in the order of `names`, and what is left as a number; `none` where there are
/// none.
pub(super) fn flags(
    bits: u32,
    names: &'static [(u32, &'static str)],
    none: &'static str,
) -> impl Display {
    let (known, rest) =
        names.iter().fold((Vec::new(), bits), |(mut known, rest), &(flag, name)| {
            let here = flag != 0 && rest & flag == flag;
            known.extend(here.then_some(name));
            (known, if here { rest & !flag } else { rest })
        });
    fmt::from_fn(move |f| {
        f.write_str(&known.join(" "))?;
        match (known.is_empty(), rest) {
            (true, 0) => f.write_str(none),
            (false, 0) => Ok(()),
            (true, rest) => write!(f, "{rest:#x}"),
            (false, rest) => write!(f, " {rest:#x}"),
        }
    })
}

/// What differs between the versions is how their flags are called.
pub(super) struct PortFlagNames {
    pub(super) config: &'static [(u32, &'static str)],
    pub(super) state: &'static [(u32, &'static str)],
    pub(super) features: &'static [(u32, &'static str)],
}

/// What a switch says of a port.
pub(super) struct PortText<'a> {
    pub(super) names: &'static PortFlagNames,
    pub(super) number: u32,
    pub(super) hw_addr: MacAddr,
    /// Its name, up to the first NUL.
    pub(super) name: &'a [u8],
    pub(super) config: u32,
    pub(super) state: u32,
    /// Current, advertised, supported, and those of the peer.
    pub(super) features: [u32; 4],
    /// Current and greatest speed in kilobits a second, where the version tells.
    pub(super) speed: Option<(u32, u32)>,
}

impl Display for PortText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, " {}({}): addr:{}", number(self.number), text(self.name), self.hw_addr)?;
        writeln!(f, "     config:     {}", flags(self.config, self.names.config, "0"))?;
        write!(f, "     state:      {}", flags(self.state, self.names.state, "0"))?;
        for (name, bits) in
            ["current:   ", "advertised:", "supported: ", "peer:      "].iter().zip(self.features)
        {
            if bits != 0 {
                write!(f, "\n     {name} {}", flags(bits, self.names.features, ""))?;
            }
        }
        match self.speed {
            Some((now, max)) => {
                write!(f, "\n     speed: {} Mbps now, {} Mbps max", now / 1000, max / 1000)
            }
            None => Ok(()),
        }
    }
}

/// What is to change in a port, behind `OFPT_PORT_MOD … :`.
pub(super) fn port_mod(
    names: &'static PortFlagNames,
    port: u32,
    hw_addr: MacAddr,
    [config, mask, advertise]: [u32; 3],
) -> impl Display {
    fmt::from_fn(move |f| {
        writeln!(f, " port: {}: addr:{hw_addr}", number(port))?;
        writeln!(f, "     config: {}", flags(config, names.config, "0"))?;
        writeln!(f, "     mask:   {}", flags(mask, names.config, "0"))?;
        write!(f, "     advertise: {}", flags(advertise, names.features, "UNCHANGED"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_ports_have_names() {
        assert_eq!(number(0xffff_fffe).to_string(), "LOCAL");
        assert_eq!(number(0xffff_ff00).to_string(), "4294967040");
        assert_eq!(output(3, 0).to_string(), "output:3");
        assert_eq!(output(CONTROLLER, 128).to_string(), "CONTROLLER:128");
        assert_eq!(output(0xffff_fffb, 128).to_string(), "FLOOD");
    }

    #[test]
    fn flags_that_have_no_name_are_not_lost() {
        const NAMES: &[(u32, &str)] = &[(3, "BOTH"), (1, "ONE"), (2, "TWO")];
        let words = [0, 1, 3, 6, 8].map(|bits| flags(bits, NAMES, "0").to_string());
        assert_eq!(words, ["0", "ONE", "BOTH", "TWO 0x4", "0x8"]);
    }
}
