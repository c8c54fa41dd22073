//! Ports and their changes (OpenFlow 1.0 §5.2.1, 1.3.5 §7.2.1).

use core::fmt;

use crate::types::{FixedText, MacAddr};

/// A port number, numbered as OpenFlow 1.3 does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortNo(pub u32);

impl PortNo {
    /// The highest number of a physical or logical port.
    pub const MAX: PortNo = PortNo(0xffff_ff00);
    /// Back out of the port that the packet came in on.
    pub const IN_PORT: PortNo = PortNo(0xffff_fff8);
    /// Every port but the one that the packet came in on, and those set not to flood.
    pub const FLOOD: PortNo = PortNo(0xffff_fffb);
    /// Every port but the one that the packet came in on.
    pub const ALL: PortNo = PortNo(0xffff_fffc);
    /// The controller.
    pub const CONTROLLER: PortNo = PortNo(0xffff_fffd);
    /// The switch's own network stack.
    pub const LOCAL: PortNo = PortNo(0xffff_fffe);
    /// No port; as a filter, any port.
    pub const ANY: PortNo = PortNo(0xffff_ffff);

    /// Whether it numbers a physical or logical port, and not one of the reserved ones.
    pub const fn is_real(self) -> bool {
        self.0 != 0 && self.0 <= PortNo::MAX.0
    }
}

impl fmt::Display for PortNo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            PortNo::IN_PORT => f.write_str("IN_PORT"),
            PortNo::FLOOD => f.write_str("FLOOD"),
            PortNo::ALL => f.write_str("ALL"),
            PortNo::CONTROLLER => f.write_str("CONTROLLER"),
            PortNo::LOCAL => f.write_str("LOCAL"),
            PortNo::ANY => f.write_str("ANY"),
            PortNo(number) => write!(f, "{number}"),
        }
    }
}

impl fmt::Debug for PortNo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// One port of a switch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Port {
    /// Its number.
    pub number: PortNo,
    /// Its own Ethernet address.
    pub hw_addr: MacAddr,
    /// Its name, as the switch's administrator knows it.
    pub name: FixedText<16>,
    /// Whether it was taken down by configuration.
    pub admin_down: bool,
    /// Whether it has no link.
    pub link_down: bool,
    /// Current speed in kilobits a second; 0 where the switch does not say.
    pub speed_kbps: u32,
}

impl Port {
    /// Whether packets can leave and arrive here.
    pub fn is_up(&self) -> bool {
        !self.admin_down && !self.link_down
    }
}

/// A port came, went or changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PortChange {
    /// What happened.
    pub reason: PortChangeReason,
    /// The port as it is now; for one that went, as it was.
    pub port: Port,
}

/// What happened to a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PortChangeReason {
    /// The port is new.
    Added,
    /// The port is gone.
    Removed,
    /// Its configuration or state is another.
    Modified,
}
