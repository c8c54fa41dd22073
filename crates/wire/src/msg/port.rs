//! Ports and their changes (OpenFlow 1.0 §5.2.1, 1.3.5 §7.2.1).

use crate::types::{FixedText, MacAddr};
use crate::v13::port::{PortConfig, PortFeatures, PortState};

pub use crate::v13::port::PortNo;

impl PortNo {
    /// Whether it numbers a physical or logical port, and not one of the reserved ones.
    pub const fn is_real(self) -> bool {
        self.0 != 0 && self.0 <= PortNo::MAX.0
    }
}

/// One port of a switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
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
    /// All the rest that the switch says of it.
    pub details: PortDetails,
}

/// What few need to know of a port, in the words of 1.3. The bits that 1.0 has besides (spanning
/// tree, NO_FLOOD) stand where 1.0 has them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct PortDetails {
    /// Its configuration, but for [`Port::admin_down`].
    pub config: PortConfig,
    /// Its state, but for [`Port::link_down`].
    pub state: PortState,
    /// Features in use.
    pub current: PortFeatures,
    /// Features that it tells its peer.
    pub advertised: PortFeatures,
    /// Features that it could use.
    pub supported: PortFeatures,
    /// Features that its peer tells it.
    pub peer: PortFeatures,
    /// Its greatest speed in kilobits a second; 0 where the switch does not say.
    pub max_speed_kbps: u32,
}

impl Port {
    /// Whether packets can leave and arrive here.
    pub fn is_up(&self) -> bool {
        !self.admin_down && !self.link_down
    }
}

/// A port came, went or changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct PortChange {
    /// What happened.
    pub reason: PortChangeReason,
    /// The port as it is now; for one that went, as it was.
    pub port: Port,
}

impl PortChange {
    /// Whether nothing can be behind the port any more: it is gone, or down.
    pub fn is_loss(&self) -> bool {
        self.reason == PortChangeReason::Removed || !self.port.is_up()
    }
}

/// What happened to a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub enum PortChangeReason {
    /// The port is new.
    Added,
    /// The port is gone.
    Removed,
    /// Its configuration or state is another.
    Modified,
}
