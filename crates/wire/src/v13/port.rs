//! Ports (§7.2.1): their numbers and their description, as PORT_STATUS and the port description
//! carry it.

use crate::open::{flags, open_enum};
use crate::reader::{Malformed, Reader};
use crate::types::{FixedText, MacAddr};
use crate::writer::Writer;

open_enum! {
    /// The number of a port: 1 to `OFPP_MAX` for ports that exist, those above stand for
    /// something (`OFPP_*`) and go by their names.
    pub struct PortNo(u32) "" {
        /// Back out of the port it came in by.
        IN_PORT = 0xffff_fff8,
        /// Through the flow tables from the first (packet-out only).
        TABLE = 0xffff_fff9,
        /// As an ordinary switch would forward it.
        NORMAL = 0xffff_fffa,
        /// Every port of the VLAN but the incoming one and those blocked or closed to floods.
        FLOOD = 0xffff_fffb,
        /// Every port but the incoming one.
        ALL = 0xffff_fffc,
        /// To the controller.
        CONTROLLER = 0xffff_fffd,
        /// The switch's own network stack.
        LOCAL = 0xffff_fffe,
        /// No port in particular: the wildcard of requests and deletions.
        ANY = 0xffff_ffff,
    }
}

impl PortNo {
    /// The last number that a port can have (`OFPP_MAX`).
    pub const MAX: PortNo = PortNo(0xffff_ff00);
}

flags! {
    /// `OFPPC_*`: what the administrator says of a port.
    pub struct PortConfig(u32) {
        /// Taken down.
        PORT_DOWN = 1 << 0,
        /// Drops what it receives.
        NO_RECV = 1 << 2,
        /// Drops what is forwarded to it.
        NO_FWD = 1 << 5,
        /// Sends no PACKET_IN.
        NO_PACKET_IN = 1 << 6,
    }
}

flags! {
    /// `OFPPS_*`: the state of the link; the controller cannot change it.
    pub struct PortState(u32) {
        /// No physical link.
        LINK_DOWN = 1 << 0,
        /// Blocked by a protocol of the switch, spanning tree for one.
        BLOCKED = 1 << 1,
        /// Live for fast failover groups.
        LIVE = 1 << 2,
    }
}

flags! {
    /// `OFPPF_*`: speeds, media and negotiation of a port.
    pub struct PortFeatures(u32) {
        /// 10 Mb/s, half duplex.
        F10MB_HD = 1 << 0,
        /// 10 Mb/s, full duplex.
        F10MB_FD = 1 << 1,
        /// 100 Mb/s, half duplex.
        F100MB_HD = 1 << 2,
        /// 100 Mb/s, full duplex.
        F100MB_FD = 1 << 3,
        /// 1 Gb/s, half duplex.
        F1GB_HD = 1 << 4,
        /// 1 Gb/s, full duplex.
        F1GB_FD = 1 << 5,
        /// 10 Gb/s.
        F10GB_FD = 1 << 6,
        /// 40 Gb/s.
        F40GB_FD = 1 << 7,
        /// 100 Gb/s.
        F100GB_FD = 1 << 8,
        /// 1 Tb/s.
        F1TB_FD = 1 << 9,
        /// A rate not in this list.
        OTHER = 1 << 10,
        /// Copper.
        COPPER = 1 << 11,
        /// Fibre.
        FIBER = 1 << 12,
        /// Negotiates its speed.
        AUTONEG = 1 << 13,
        /// Pauses.
        PAUSE = 1 << 14,
        /// Pauses in one direction.
        PAUSE_ASYM = 1 << 15,
    }
}

/// `ofp_port`: everything about one port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Port {
    /// Its number.
    pub port_no: PortNo,
    /// Its own address.
    pub hw_addr: MacAddr,
    /// Its name, for people.
    pub name: FixedText<16>,
    /// What the administrator says.
    pub config: PortConfig,
    /// The state of its link.
    pub state: PortState,
    /// What it uses now.
    pub curr: PortFeatures,
    /// What it tells its peer.
    pub advertised: PortFeatures,
    /// What it could do.
    pub supported: PortFeatures,
    /// What its peer tells it.
    pub peer: PortFeatures,
    /// Its speed now, in kb/s.
    pub curr_speed: u32,
    /// Its greatest speed, in kb/s.
    pub max_speed: u32,
}

impl Port {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Port, Malformed> {
        let port_no = PortNo(reader.u32("port.port_no")?);
        reader.pad("port.pad", 4)?;
        let hw_addr = MacAddr(reader.array("port.hw_addr")?);
        reader.pad("port.pad2", 2)?;
        Ok(Port {
            port_no,
            hw_addr,
            name: FixedText(reader.array("port.name")?),
            config: PortConfig(reader.u32("port.config")?),
            state: PortState(reader.u32("port.state")?),
            curr: PortFeatures(reader.u32("port.curr")?),
            advertised: PortFeatures(reader.u32("port.advertised")?),
            supported: PortFeatures(reader.u32("port.supported")?),
            peer: PortFeatures(reader.u32("port.peer")?),
            curr_speed: reader.u32("port.curr_speed")?,
            max_speed: reader.u32("port.max_speed")?,
        })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.u32(self.port_no.0);
        writer.pad(4);
        writer.bytes(&self.hw_addr.0);
        writer.pad(2);
        writer.bytes(&self.name.0);
        writer.u32(self.config.0);
        writer.u32(self.state.0);
        for features in [self.curr, self.advertised, self.supported, self.peer] {
            writer.u32(features.0);
        }
        writer.u32(self.curr_speed);
        writer.u32(self.max_speed);
    }
}
