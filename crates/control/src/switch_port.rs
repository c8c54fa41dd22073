//! A switch port: a port number together with the datapath id of its switch.

use core::fmt;

use aldis_wire::DatapathId;
use aldis_wire::msg::PortNo;

/// A port of a switch: where a host is attached, or where a link ends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct SwitchPort {
    /// The switch.
    pub dpid: DatapathId,
    /// Its port.
    pub port: PortNo,
}

impl SwitchPort {
    /// The port with this number of the switch with this name.
    pub const fn new(dpid: u64, port: u32) -> SwitchPort {
        SwitchPort { dpid: DatapathId(dpid), port: PortNo(port) }
    }

    /// This port of this switch.
    pub const fn of(dpid: DatapathId, port: PortNo) -> SwitchPort {
        SwitchPort { dpid, port }
    }

    /// The first and the last of all ports of a switch, in the order of ports.
    pub fn all_of(dpid: DatapathId) -> core::ops::RangeInclusive<SwitchPort> {
        SwitchPort { dpid, port: PortNo(0) }..=SwitchPort { dpid, port: PortNo(u32::MAX) }
    }
}

impl fmt::Display for SwitchPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.dpid, self.port.0)
    }
}

impl fmt::Debug for SwitchPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
