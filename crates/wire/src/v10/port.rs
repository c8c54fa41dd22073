//! Ports (§5.2.1): their numbers, and `struct ofp_phy_port`.

use crate::open::flags;
use crate::reader::{Malformed, Reader};
use crate::types::{FixedText, MacAddr};
use crate::writer::Writer;
use core::fmt;

/// A port number. Physical ports count from 1 and stay below [`PortNo::MAX`]; the numbers above it
/// are reserved.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct PortNo(pub u16);

impl PortNo {
    /// `OFPP_MAX`: all physical ports are below it.
    pub const MAX: PortNo = PortNo(0xff00);
    /// `OFPP_IN_PORT`: the port the frame came in by; the only way to send it back there.
    pub const IN_PORT: PortNo = PortNo(0xfff8);
    /// `OFPP_TABLE`: run the frame through the flow table (in a PACKET_OUT only).
    pub const TABLE: PortNo = PortNo(0xfff9);
    /// `OFPP_NORMAL`: the switch's own L2/L3 forwarding.
    pub const NORMAL: PortNo = PortNo(0xfffa);
    /// `OFPP_FLOOD`: all physical ports but the one it came in by and those with
    /// [`PortConfig::NO_FLOOD`].
    pub const FLOOD: PortNo = PortNo(0xfffb);
    /// `OFPP_ALL`: all physical ports but the one it came in by.
    pub const ALL: PortNo = PortNo(0xfffc);
    /// `OFPP_CONTROLLER`: a PACKET_IN to the controller.
    pub const CONTROLLER: PortNo = PortNo(0xfffd);
    /// `OFPP_LOCAL`: the switch's own network stack.
    pub const LOCAL: PortNo = PortNo(0xfffe);
    /// `OFPP_NONE`: no port at all.
    pub const NONE: PortNo = PortNo(0xffff);

    /// The reserved port's name without its prefix, as `CONTROLLER`.
    pub const fn name(self) -> Option<&'static str> {
        Some(match self {
            PortNo::IN_PORT => "IN_PORT",
            PortNo::TABLE => "TABLE",
            PortNo::NORMAL => "NORMAL",
            PortNo::FLOOD => "FLOOD",
            PortNo::ALL => "ALL",
            PortNo::CONTROLLER => "CONTROLLER",
            PortNo::LOCAL => "LOCAL",
            PortNo::NONE => "NONE",
            _ => return None,
        })
    }

    /// The number as later versions write it: 32 bits, reserved ports at the top (0xfffb becomes
    /// 0xffff_fffb).
    #[inline]
    pub const fn widen(self) -> u32 {
        let number = self.0 as u32;
        if number >= PortNo::MAX.0 as u32 { number | 0xffff_0000 } else { number }
    }

    /// The inverse of [`PortNo::widen`]; `None` for a number that 16 bits cannot say.
    #[inline]
    pub const fn narrow(number: u32) -> Option<PortNo> {
        let port = PortNo(number as u16);
        if port.widen() == number { Some(port) } else { None }
    }
}

/// The name of a reserved port, or the number.
impl fmt::Display for PortNo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => fmt::Display::fmt(&self.0, f),
        }
    }
}

impl fmt::Debug for PortNo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for PortNo {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.name() {
            Some(name) => serializer.serialize_str(name),
            None => serializer.serialize_u16(self.0),
        }
    }
}

flags! {
    /// What the controller wants of a port: `enum ofp_port_config`.
    pub struct PortConfig(u32) {
        /// Administratively down.
        PORT_DOWN = 1 << 0,
        /// No 802.1D spanning tree here.
        NO_STP = 1 << 1,
        /// Drop what comes in, spanning tree excepted.
        NO_RECV = 1 << 2,
        /// Drop incoming spanning tree frames.
        NO_RECV_STP = 1 << 3,
        /// Leave it out of floods.
        NO_FLOOD = 1 << 4,
        /// Drop what would go out.
        NO_FWD = 1 << 5,
        /// Send no PACKET_IN for it.
        NO_PACKET_IN = 1 << 6,
    }
}

flags! {
    /// How a port is: `enum ofp_port_state`. The two STP bits are a choice of one; both zero is
    /// "listening".
    pub struct PortState(u32) {
        /// Not part of the spanning tree.
        STP_BLOCK = 3 << 8,
        /// Learning and relaying.
        STP_FORWARD = 2 << 8,
        /// Learning, not relaying.
        STP_LEARN = 1 << 8,
        /// No link.
        LINK_DOWN = 1 << 0,
    }
}

flags! {
    /// Speeds, media and negotiation of a port: `enum ofp_port_features`, prefix kept since a name
    /// cannot begin with a digit.
    pub struct PortFeatures(u32) {
        /// 10 Mb/s, half duplex.
        OFPPF_10MB_HD = 1 << 0,
        /// 10 Mb/s, full duplex.
        OFPPF_10MB_FD = 1 << 1,
        /// 100 Mb/s, half duplex.
        OFPPF_100MB_HD = 1 << 2,
        /// 100 Mb/s, full duplex.
        OFPPF_100MB_FD = 1 << 3,
        /// 1 Gb/s, half duplex.
        OFPPF_1GB_HD = 1 << 4,
        /// 1 Gb/s, full duplex.
        OFPPF_1GB_FD = 1 << 5,
        /// 10 Gb/s, full duplex.
        OFPPF_10GB_FD = 1 << 6,
        /// Copper.
        OFPPF_COPPER = 1 << 7,
        /// Fibre.
        OFPPF_FIBER = 1 << 8,
        /// Auto-negotiation.
        OFPPF_AUTONEG = 1 << 9,
        /// Pause frames.
        OFPPF_PAUSE = 1 << 10,
        /// Asymmetric pause frames.
        OFPPF_PAUSE_ASYM = 1 << 11,
    }
}

/// `struct ofp_phy_port`, 48 bytes. Features are zero where unknown or unsupported.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct PhyPort {
    /// Its number.
    pub port_no: PortNo,
    /// Its address.
    pub hw_addr: MacAddr,
    /// Its name, as `eth0`.
    pub name: FixedText<16>,
    /// What the controller wants of it.
    pub config: PortConfig,
    /// How it is.
    pub state: PortState,
    /// Features in use.
    pub curr: PortFeatures,
    /// Features that it advertises.
    pub advertised: PortFeatures,
    /// Features that it supports.
    pub supported: PortFeatures,
    /// Features that the other end advertises.
    pub peer: PortFeatures,
}

impl PhyPort {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(PhyPort {
            port_no: PortNo(reader.u16("phy_port.port_no")?),
            hw_addr: MacAddr(reader.array("phy_port.hw_addr")?),
            name: FixedText(reader.array("phy_port.name")?),
            config: PortConfig(reader.u32("phy_port.config")?),
            state: PortState(reader.u32("phy_port.state")?),
            curr: PortFeatures(reader.u32("phy_port.curr")?),
            advertised: PortFeatures(reader.u32("phy_port.advertised")?),
            supported: PortFeatures(reader.u32("phy_port.supported")?),
            peer: PortFeatures(reader.u32("phy_port.peer")?),
        })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.u16(self.port_no.0);
        writer.bytes(&self.hw_addr.0);
        writer.bytes(&self.name.0);
        writer.u32(self.config.0);
        writer.u32(self.state.0);
        for features in [self.curr, self.advertised, self.supported, self.peer] {
            writer.u32(features.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn narrowing_undoes_widening_and_nothing_else() {
        for number in 0..=u16::MAX {
            assert_eq!(PortNo::narrow(PortNo(number).widen()), Some(PortNo(number)));
        }
        assert_eq!(PortNo::FLOOD.widen(), 0xffff_fffb);
        assert_eq!(PortNo(0xfeff).widen(), 0xfeff);
        for number in [0xff00, 0xfffb, 0x1_0000, 0xffff_feff, 0xffff_0001] {
            assert_eq!(PortNo::narrow(number), None, "{number:#x}");
        }
    }

    #[test]
    fn reserved_ports_go_by_their_names() {
        assert_eq!(PortNo::CONTROLLER.to_string(), "CONTROLLER");
        assert_eq!(PortNo(7).to_string(), "7");
        assert_eq!(PortNo::MAX.to_string(), "65280");
    }

    #[test]
    fn spanning_tree_states_are_one_of_four() {
        assert_eq!(PortState(0x301).to_string(), "STP_BLOCK|LINK_DOWN");
        assert_eq!(PortState(0x200).to_string(), "STP_FORWARD");
        assert_eq!(PortState(0).to_string(), "0");
    }
}
