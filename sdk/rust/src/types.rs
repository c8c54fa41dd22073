//! The few types that events and commands share.

use std::hash::{Hash, Hasher};

/// An Ethernet address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct MacAddr(pub [u8; 6]);

/// As one number: of six bytes a hasher makes more work.
impl Hash for MacAddr {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        let [a, b, c, d, e, f] = self.0;
        state.write_u64(u64::from_le_bytes([a, b, c, d, e, f, 0, 0]));
    }
}

impl MacAddr {
    /// All hosts.
    pub const BROADCAST: MacAddr = MacAddr([0xff; 6]);

    /// Whether it names a group of hosts.
    pub fn is_group(self) -> bool {
        self.0[0] & 1 == 1
    }
}

/// A port of a switch, numbered as OpenFlow 1.3 does, whatever the switch speaks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Port(pub u32);

impl Port {
    /// The port that the packet came in by.
    pub const IN_PORT: Port = Port(0xffff_fff8);
    /// All ports but the one it came in by and those that a switch does not flood.
    pub const FLOOD: Port = Port(0xffff_fffb);
    /// All ports but the one it came in by.
    pub const ALL: Port = Port(0xffff_fffc);
    /// The controller.
    pub const CONTROLLER: Port = Port(0xffff_fffd);
    /// The switch itself.
    pub const LOCAL: Port = Port(0xffff_fffe);
    /// No port in particular.
    pub const ANY: Port = Port(0xffff_ffff);
}

/// The version of OpenFlow that a switch speaks. Applications speak 1.3 to all of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    /// OpenFlow 1.0.
    V10,
    /// OpenFlow 1.3.
    V13,
}
