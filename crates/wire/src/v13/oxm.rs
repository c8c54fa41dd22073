//! OXM: the match fields (§7.2.3.2 to §7.2.3.8), each a `class | field | hasmask | length` header
//! and a value.
//!
//! The forty fields of the OpenFlow basic class are typed, and those that may be masked are
//! [`Masked`]. Everything else (experimenters' fields, Nicira's NXM, fields of later versions, a
//! mask where none may be) is kept as [`RawOxm`].

mod value;

pub use value::{Masked, U24};

use self::value::Body;
use super::port::PortNo;
use crate::open::{flags, open_enum};
use crate::reader::{Malformed, Reader, Reason};
use crate::types::MacAddr;
use crate::writer::{TooLong, Writer};
use alloc::vec::Vec;
use core::fmt;
use core::net::{Ipv4Addr, Ipv6Addr};

/// Set in a [`Oxm::VlanVid`] that has a tag; the lower twelve bits are the VLAN id then
/// (`OFPVID_PRESENT`).
pub const VID_PRESENT: u16 = 0x1000;

/// The [`Oxm::VlanVid`] of a packet without a tag (`OFPVID_NONE`).
pub const VID_NONE: u16 = 0x0000;

open_enum! {
    /// `OFPXMC_*`: whose fields.
    pub struct OxmClass(u16) "OFPXMC_" {
        /// Nicira's first class.
        NXM_0 = 0x0000,
        /// Nicira's second class.
        NXM_1 = 0x0001,
        /// The fields of this specification.
        OPENFLOW_BASIC = 0x8000,
        /// An experimenter's: the body begins with the experimenter's id.
        EXPERIMENTER = 0xffff,
    }
}

flags! {
    /// `OFPIEH_*`: which IPv6 extension headers there are, the value of [`Oxm::Ipv6Exthdr`].
    pub struct Ipv6Exthdr(u16) {
        /// "No next header".
        NONEXT = 1 << 0,
        /// Encrypted payload.
        ESP = 1 << 1,
        /// Authentication.
        AUTH = 1 << 2,
        /// One or two destination options.
        DEST = 1 << 3,
        /// Fragment.
        FRAG = 1 << 4,
        /// Router.
        ROUTER = 1 << 5,
        /// Hop by hop.
        HOP = 1 << 6,
        /// One of them more often than it may be.
        UNREP = 1 << 7,
        /// They are not in the preferred order.
        UNSEQ = 1 << 8,
    }
}

/// The 32 bits before every value.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct OxmHeader(pub u32);

impl OxmHeader {
    /// The header of a field of `field` (7 bits) whose body has `length` bytes.
    pub const fn new(class: OxmClass, field: u8, has_mask: bool, length: u8) -> OxmHeader {
        let field = (field & 0x7f) as u32;
        OxmHeader((class.0 as u32) << 16 | field << 9 | (has_mask as u32) << 8 | length as u32)
    }

    /// Whose field.
    pub const fn class(self) -> OxmClass {
        OxmClass((self.0 >> 16) as u16)
    }

    /// Which of the class, 0 to 127.
    pub const fn field(self) -> u8 {
        (self.0 >> 9) as u8 & 0x7f
    }

    /// Whether the body is a value and a mask of the same width.
    pub const fn has_mask(self) -> bool {
        self.0 & 0x100 != 0
    }

    /// Length of the body in bytes.
    pub const fn length(self) -> u8 {
        self.0 as u8
    }

    /// The specification's name of the field, if it is one of the basic class.
    pub fn name(self) -> Option<&'static str> {
        match self.class() {
            OxmClass::OPENFLOW_BASIC => BASIC_NAMES.get(usize::from(self.field())).copied(),
            _ => None,
        }
    }
}

impl fmt::Debug for OxmHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name)?,
            None => write!(f, "{}.{}", self.class(), self.field())?,
        }
        f.write_str(if self.has_mask() { "/mask" } else { "" })?;
        write!(f, ":{}", self.length())
    }
}

/// A field kept as it came: see the top of the file for which.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct RawOxm {
    header: OxmHeader,
    experimenter: Option<u32>,
    body: Vec<u8>,
}

impl RawOxm {
    /// A field of another class than the experimenter's; `body` is the value, and the mask behind
    /// it if there is one.
    ///
    /// # Errors
    /// [`TooLong`] for a body above 255 bytes.
    pub fn new(
        class: OxmClass,
        field: u8,
        has_mask: bool,
        body: Vec<u8>,
    ) -> Result<RawOxm, TooLong> {
        let length = u8::try_from(body.len()).map_err(|_| TooLong)?;
        let header = OxmHeader::new(class, field, has_mask, length);
        Ok(RawOxm { header, experimenter: None, body })
    }

    /// A field of class `OFPXMC_EXPERIMENTER`.
    ///
    /// # Errors
    /// [`TooLong`] for a body above 251 bytes.
    pub fn of_experimenter(
        experimenter: u32,
        field: u8,
        has_mask: bool,
        body: Vec<u8>,
    ) -> Result<RawOxm, TooLong> {
        let length = u8::try_from(body.len() + 4).map_err(|_| TooLong)?;
        let header = OxmHeader::new(OxmClass::EXPERIMENTER, field, has_mask, length);
        Ok(RawOxm { header, experimenter: Some(experimenter), body })
    }

    /// Its header; the length counts the experimenter's id.
    pub fn header(&self) -> OxmHeader {
        self.header
    }

    /// Whose it is, for class `OFPXMC_EXPERIMENTER`.
    pub fn experimenter(&self) -> Option<u32> {
        self.experimenter
    }

    /// The value, and the mask behind it if there is one.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    fn read(header: OxmHeader, body: &mut Reader<'_>) -> Result<RawOxm, Malformed> {
        let experimenter = match header.class() {
            OxmClass::EXPERIMENTER => Some(body.u32("oxm.experimenter")?),
            _ => None,
        };
        Ok(RawOxm { header, experimenter, body: body.remaining().to_vec() })
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.u32(self.header.0);
        if let Some(experimenter) = self.experimenter {
            writer.u32(experimenter);
        }
        writer.bytes(&self.body);
    }
}

/// The class and field of an OXM without its value, as table features list them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct OxmId {
    /// Its header; the length is that of the value it would have.
    pub header: OxmHeader,
    /// Whose it is, for class `OFPXMC_EXPERIMENTER` and for no other.
    pub experimenter: Option<u32>,
}

impl OxmId {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<OxmId, Malformed> {
        let header = OxmHeader(reader.u32("oxm_id.header")?);
        let experimenter = match header.class() {
            OxmClass::EXPERIMENTER => Some(reader.u32("oxm_id.experimenter")?),
            _ => None,
        };
        Ok(OxmId { header, experimenter })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.u32(self.header.0);
        if let Some(experimenter) = self.experimenter {
            writer.u32(experimenter);
        }
    }
}

/// Reads the body of a basic field, or `None` where it has a mask and may not.
fn basic<B: Body>(header: OxmHeader, body: &mut Reader<'_>) -> Result<Option<B>, Malformed> {
    let copies = 1 + u8::from(header.has_mask());
    if header.length() != B::WIDTH * copies {
        let offset = body.offset() - 1;
        return Err(Malformed { field: "oxm.length", offset, reason: Reason::BadLength });
    }
    if header.has_mask() && !B::MASKABLE {
        return Ok(None);
    }
    B::read(body, header.has_mask()).map(Some)
}

/// The header of a basic field that holds `body`.
fn basic_header<B: Body>(field: u8, body: &B) -> OxmHeader {
    let length = B::WIDTH * (1 + u8::from(body.has_mask()));
    OxmHeader::new(OxmClass::OPENFLOW_BASIC, field, body.has_mask(), length)
}

macro_rules! oxm_fields {
    ($($(#[$doc:meta])* $Field:ident($Body:ty) = $number:literal, $name:literal;)*) => {
        /// One match field, with its value.
        #[derive(Clone, PartialEq, Eq, Hash, Debug)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize))]
        pub enum Oxm {
            $($(#[$doc])* $Field($Body),)*
            /// Any field that is none of those above.
            Raw(RawOxm),
        }

        /// The names of the basic fields, by number.
        const BASIC_NAMES: [&str; 40] = [$(concat!("OFPXMT_OFB_", $name)),*];

        impl Oxm {
            /// Its header on the wire.
            pub fn header(&self) -> OxmHeader {
                match self {
                    $(Oxm::$Field(body) => basic_header($number, body),)*
                    Oxm::Raw(raw) => raw.header,
                }
            }

            fn read_basic(header: OxmHeader, body: &mut Reader<'_>) -> Result<Option<Oxm>, Malformed> {
                match header.field() {
                    $($number => Ok(basic(header, body)?.map(Oxm::$Field)),)*
                    _ => Ok(None),
                }
            }

            fn write_body(&self, writer: &mut Writer<'_>) {
                match self {
                    $(Oxm::$Field(body) => Body::write(body, writer),)*
                    Oxm::Raw(_) => {}
                }
            }
        }
    };
}

oxm_fields! {
    /// The port it came in by.
    InPort(PortNo) = 0, "IN_PORT";
    /// The physical port below that, where the incoming port is a logical one.
    InPhyPort(PortNo) = 1, "IN_PHY_PORT";
    /// What earlier tables noted.
    Metadata(Masked<u64>) = 2, "METADATA";
    /// Ethernet destination.
    EthDst(Masked<MacAddr>) = 3, "ETH_DST";
    /// Ethernet source.
    EthSrc(Masked<MacAddr>) = 4, "ETH_SRC";
    /// Type of the frame, after VLAN tags.
    EthType(u16) = 5, "ETH_TYPE";
    /// VLAN id in twelve bits and [`VID_PRESENT`] above them, or [`VID_NONE`].
    VlanVid(Masked<u16>) = 6, "VLAN_VID";
    /// VLAN priority, 3 bits.
    VlanPcp(u8) = 7, "VLAN_PCP";
    /// Differentiated services code point, 6 bits.
    IpDscp(u8) = 8, "IP_DSCP";
    /// Explicit congestion notification, 2 bits.
    IpEcn(u8) = 9, "IP_ECN";
    /// Protocol above IPv4 or IPv6.
    IpProto(u8) = 10, "IP_PROTO";
    /// IPv4 source.
    Ipv4Src(Masked<Ipv4Addr>) = 11, "IPV4_SRC";
    /// IPv4 destination.
    Ipv4Dst(Masked<Ipv4Addr>) = 12, "IPV4_DST";
    /// TCP source port.
    TcpSrc(u16) = 13, "TCP_SRC";
    /// TCP destination port.
    TcpDst(u16) = 14, "TCP_DST";
    /// UDP source port.
    UdpSrc(u16) = 15, "UDP_SRC";
    /// UDP destination port.
    UdpDst(u16) = 16, "UDP_DST";
    /// SCTP source port.
    SctpSrc(u16) = 17, "SCTP_SRC";
    /// SCTP destination port.
    SctpDst(u16) = 18, "SCTP_DST";
    /// ICMP type.
    Icmpv4Type(u8) = 19, "ICMPV4_TYPE";
    /// ICMP code.
    Icmpv4Code(u8) = 20, "ICMPV4_CODE";
    /// ARP operation.
    ArpOp(u16) = 21, "ARP_OP";
    /// ARP source IPv4 address.
    ArpSpa(Masked<Ipv4Addr>) = 22, "ARP_SPA";
    /// ARP target IPv4 address.
    ArpTpa(Masked<Ipv4Addr>) = 23, "ARP_TPA";
    /// ARP source hardware address.
    ArpSha(Masked<MacAddr>) = 24, "ARP_SHA";
    /// ARP target hardware address.
    ArpTha(Masked<MacAddr>) = 25, "ARP_THA";
    /// IPv6 source.
    Ipv6Src(Masked<Ipv6Addr>) = 26, "IPV6_SRC";
    /// IPv6 destination.
    Ipv6Dst(Masked<Ipv6Addr>) = 27, "IPV6_DST";
    /// IPv6 flow label, 20 bits.
    Ipv6Flabel(Masked<u32>) = 28, "IPV6_FLABEL";
    /// ICMPv6 type.
    Icmpv6Type(u8) = 29, "ICMPV6_TYPE";
    /// ICMPv6 code.
    Icmpv6Code(u8) = 30, "ICMPV6_CODE";
    /// Target address of a neighbour discovery.
    Ipv6NdTarget(Ipv6Addr) = 31, "IPV6_ND_TARGET";
    /// Source link-layer address of a neighbour solicitation.
    Ipv6NdSll(MacAddr) = 32, "IPV6_ND_SLL";
    /// Target link-layer address of a neighbour advertisement.
    Ipv6NdTll(MacAddr) = 33, "IPV6_ND_TLL";
    /// Label of the outermost MPLS header, 20 bits.
    MplsLabel(u32) = 34, "MPLS_LABEL";
    /// Traffic class of the outermost MPLS header, 3 bits.
    MplsTc(u8) = 35, "MPLS_TC";
    /// Bottom-of-stack bit of the outermost MPLS header.
    MplsBos(u8) = 36, "MPLS_BOS";
    /// Service id of the outermost PBB header.
    PbbIsid(Masked<U24>) = 37, "PBB_ISID";
    /// Metadata of a logical port: the key or id of its tunnel.
    TunnelId(Masked<u64>) = 38, "TUNNEL_ID";
    /// Which IPv6 extension headers there are, 9 bits.
    Ipv6Exthdr(Masked<Ipv6Exthdr>) = 39, "IPV6_EXTHDR";
}

impl Oxm {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Oxm, Malformed> {
        let header = OxmHeader(reader.u32("oxm.header")?);
        let mut body = reader.sub("oxm.length", usize::from(header.length()))?;
        let typed = match header.class() {
            OxmClass::OPENFLOW_BASIC => Oxm::read_basic(header, &mut body)?,
            _ => None,
        };
        typed.map_or_else(|| RawOxm::read(header, &mut body).map(Oxm::Raw), Ok)
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        match self {
            Oxm::Raw(raw) => raw.write(writer),
            _ => {
                writer.u32(self.header().0);
                self.write_body(writer);
            }
        }
    }
}
