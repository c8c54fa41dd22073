//! Matches and packets as bits, so that both can be compared: each field of OpenFlow is a number of
//! at most 128 bits.

use aldis_packet::{
    Arp, Ethernet, Icmp, Icmpv6, Ipv4, Ipv6, Tcp, ethertype, icmpv6, ipv6, protocol, udp,
};
use aldis_wire::msg::{Field, Masked, Match, PortNo};
use aldis_wire::v10::DL_TYPE_NOT_ETH_TYPE;

#[cfg(test)]
mod tests;

/// Fields that there are.
const FIELDS: usize = 40;

/// Fields of one header, by their numbers in the specification (1.3.5, table 12).
pub(crate) mod number {
    pub(crate) const IN_PORT: usize = 0;
    pub(crate) const IN_PHY_PORT: usize = 1;
    pub(crate) const METADATA: usize = 2;
    pub(crate) const ETH_DST: usize = 3;
    pub(crate) const ETH_SRC: usize = 4;
    pub(crate) const ETH_TYPE: usize = 5;
    pub(crate) const VLAN_VID: usize = 6;
    pub(crate) const VLAN_PCP: usize = 7;
    pub(crate) const IP_DSCP: usize = 8;
    pub(crate) const IP_ECN: usize = 9;
    pub(crate) const IP_PROTO: usize = 10;
    pub(crate) const IPV4_SRC: usize = 11;
    pub(crate) const IPV4_DST: usize = 12;
    pub(crate) const TCP_SRC: usize = 13;
    pub(crate) const TCP_DST: usize = 14;
    pub(crate) const UDP_SRC: usize = 15;
    pub(crate) const UDP_DST: usize = 16;
    pub(crate) const SCTP_SRC: usize = 17;
    pub(crate) const SCTP_DST: usize = 18;
    pub(crate) const ICMPV4_TYPE: usize = 19;
    pub(crate) const ICMPV4_CODE: usize = 20;
    pub(crate) const ARP_OP: usize = 21;
    pub(crate) const ARP_SPA: usize = 22;
    pub(crate) const ARP_TPA: usize = 23;
    pub(crate) const ARP_SHA: usize = 24;
    pub(crate) const ARP_THA: usize = 25;
    pub(crate) const IPV6_SRC: usize = 26;
    pub(crate) const IPV6_DST: usize = 27;
    pub(crate) const IPV6_FLABEL: usize = 28;
    pub(crate) const ICMPV6_TYPE: usize = 29;
    pub(crate) const ICMPV6_CODE: usize = 30;
    pub(crate) const IPV6_ND_TARGET: usize = 31;
    pub(crate) const IPV6_ND_SLL: usize = 32;
    pub(crate) const IPV6_ND_TLL: usize = 33;
    pub(crate) const MPLS_LABEL: usize = 34;
    pub(crate) const MPLS_TC: usize = 35;
    pub(crate) const MPLS_BOS: usize = 36;
    pub(crate) const TUNNEL_ID: usize = 38;
}

/// The shortest message of ICMPv6, in bytes (RFC 4443, 2.1 and 4).
const ICMPV6_LEN_MIN: usize = 8;
const SCTP: u8 = 132;
const SCTP_HEADER_LEN: usize = 12;

/// In a VLAN field: there is a tag.
pub(crate) const PRESENT: u128 = 0x1000;

/// Bits that a packet has to have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TernaryMatch(Box<[Bits]>);

/// The bits of one field that count, and what they have to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Bits {
    pub(crate) field: u8,
    pub(crate) value: u128,
    pub(crate) mask: u128,
}

impl TernaryMatch {
    /// Those of a match.
    pub fn of(match_: &Match) -> TernaryMatch {
        TernaryMatch(match_.fields.iter().map(bits).filter(|bits| bits.mask != 0).collect())
    }

    /// Whether a packet has them.
    pub fn matches(&self, seen: &PacketBits) -> bool {
        let has = |bits: &Bits| {
            let value = seen.0.get(usize::from(bits.field)).copied().flatten();
            value.is_some_and(|value| (value ^ bits.value) & bits.mask == 0)
        };
        self.0.iter().all(has)
    }

    /// Whether every packet that `other` matches matches this too.
    pub fn covers(&self, other: &TernaryMatch) -> bool {
        self.0.iter().all(|own| {
            other.0.iter().any(|it| {
                it.field == own.field
                    && own.mask & !it.mask == 0
                    && (own.value ^ it.value) & own.mask == 0
            })
        })
    }

    /// Whether no packet can match both.
    pub fn is_apart_from(&self, other: &TernaryMatch) -> bool {
        self.0.iter().any(|own| {
            let differs = |it: &Bits| {
                it.field == own.field && (own.value ^ it.value) & own.mask & it.mask != 0
            };
            other.0.iter().any(differs)
        })
    }
}

/// A field as bits.
pub(crate) fn bits(field: &Field) -> Bits {
    let exact = |value: u128| (value, u128::MAX);
    let mac = |mac: &aldis_wire::MacAddr| u128::from(mac.to_u64());
    fn masked<T>(masked: &Masked<T>, number: impl Fn(&T) -> u128) -> (u128, u128) {
        (number(&masked.value), masked.mask.as_ref().map_or(u128::MAX, number))
    }
    let (value, mask) = match field {
        Field::InPort(port) | Field::InPhyPort(port) => exact(port.0.into()),
        Field::Metadata(it) | Field::TunnelId(it) => masked(it, |it| u128::from(*it)),
        Field::EthDst(it) | Field::EthSrc(it) | Field::ArpSha(it) | Field::ArpTha(it) => {
            masked(it, mac)
        }
        Field::VlanVid(it) => masked(it, |it| u128::from(*it)),
        Field::EthType(it)
        | Field::TcpSrc(it)
        | Field::TcpDst(it)
        | Field::UdpSrc(it)
        | Field::UdpDst(it)
        | Field::SctpSrc(it)
        | Field::SctpDst(it)
        | Field::ArpOp(it) => exact((*it).into()),
        Field::VlanPcp(it)
        | Field::IpDscp(it)
        | Field::IpEcn(it)
        | Field::IpProto(it)
        | Field::Icmpv4Type(it)
        | Field::Icmpv4Code(it)
        | Field::Icmpv6Type(it)
        | Field::Icmpv6Code(it)
        | Field::MplsTc(it)
        | Field::MplsBos(it) => exact((*it).into()),
        Field::Ipv4Src(it) | Field::Ipv4Dst(it) | Field::ArpSpa(it) | Field::ArpTpa(it) => {
            masked(it, |it| it.to_bits().into())
        }
        Field::Ipv6Src(it) | Field::Ipv6Dst(it) => masked(it, |it| it.to_bits()),
        Field::Ipv6NdTarget(it) => exact(it.to_bits()),
        Field::Ipv6NdSll(it) | Field::Ipv6NdTll(it) => exact(mac(it)),
        Field::Ipv6Flabel(it) => masked(it, |it| u128::from(*it)),
        Field::MplsLabel(it) => exact((*it).into()),
        Field::PbbIsid(it) => masked(it, |it| it.to_u32().into()),
        Field::Ipv6Exthdr(it) => masked(it, |it| it.0.into()),
        // Its meaning is not known here: nothing that a packet shows.
        Field::Raw(_) => return Bits { field: u8::MAX, value: 0, mask: u128::MAX },
    };
    Bits { field: field.header().field(), value, mask }
}

/// What a packet shows of itself. What its switch alone knows (metadata, tunnels, the physical
/// port) is not among it, nor are service ids of provider bridges and the kinds of IPv6 extension
/// headers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PacketBits([Option<u128>; FIELDS]);

impl PacketBits {
    /// What a frame shows that came in by a port.
    pub fn of(in_port: PortNo, frame: &[u8]) -> PacketBits {
        let mut seen = PacketBits([None; FIELDS]);
        seen.set(number::IN_PORT, in_port.0);
        if let Some(frame) = Ethernet::new(frame) {
            seen.ethernet(&frame);
        }
        seen
    }

    /// Nothing yet.
    pub(crate) fn nothing() -> PacketBits {
        PacketBits([None; FIELDS])
    }

    /// Whether a field of this number can be among it.
    pub(crate) fn has_room(&self, field: usize) -> bool {
        field < FIELDS
    }

    pub(crate) fn get(&self, field: usize) -> Option<u128> {
        self.0.get(field).copied().flatten()
    }

    pub(crate) fn set(&mut self, field: usize, value: impl Into<u128>) {
        self.0[field] = Some(value.into());
    }

    pub(crate) fn unset(&mut self, field: usize) {
        self.0[field] = None;
    }

    fn mac(&mut self, field: usize, [a, b, c, d, e, f]: [u8; 6]) {
        self.set(field, u64::from_be_bytes([0, 0, a, b, c, d, e, f]));
    }

    fn ethernet(&mut self, frame: &Ethernet<'_>) {
        self.mac(number::ETH_DST, frame.destination());
        self.mac(number::ETH_SRC, frame.source());
        let (ethertype, payload) = frame.carried().unwrap_or((DL_TYPE_NOT_ETH_TYPE, &[]));
        self.set(number::ETH_TYPE, ethertype);
        self.set(number::VLAN_VID, 0u8);
        if let Some(tag) = frame.tags().next() {
            self.set(number::VLAN_VID, PRESENT | u128::from(tag.tci & 0x0fff));
            self.set(number::VLAN_PCP, tag.tci >> 13);
        }
        match ethertype {
            ethertype::ARP => Arp::new(payload).into_iter().for_each(|arp| self.arp(&arp)),
            ethertype::IPV4 => Ipv4::new(payload).into_iter().for_each(|ip| self.ipv4(&ip)),
            ethertype::IPV6 => Ipv6::new(payload).into_iter().for_each(|ip| self.ipv6(&ip)),
            0x8847 | 0x8848 => self.mpls(payload),
            _ => {}
        }
    }

    fn arp(&mut self, arp: &Arp<'_>) {
        self.set(number::ARP_OP, arp.operation());
        self.set(number::ARP_SPA, arp.sender_ip().to_bits());
        self.set(number::ARP_TPA, arp.target_ip().to_bits());
        self.mac(number::ARP_SHA, arp.sender_mac());
        self.mac(number::ARP_THA, arp.target_mac());
    }

    fn ipv4(&mut self, ip: &Ipv4<'_>) {
        self.set(number::IP_DSCP, ip.dscp());
        self.set(number::IP_ECN, ip.ecn());
        self.set(number::IP_PROTO, ip.protocol());
        self.set(number::IPV4_SRC, ip.source().to_bits());
        self.set(number::IPV4_DST, ip.destination().to_bits());
        let Some(transport) = ip.transport() else { return };
        match ip.protocol() {
            protocol::ICMP => {
                if let Some(icmp) = Icmp::new(transport) {
                    self.set(number::ICMPV4_TYPE, icmp.kind());
                    self.set(number::ICMPV4_CODE, icmp.code());
                }
            }
            proto => self.ports(proto, transport),
        }
    }

    fn ipv6(&mut self, ip: &Ipv6<'_>) {
        self.set(number::IP_DSCP, ip.traffic_class() >> 2);
        self.set(number::IP_ECN, ip.traffic_class() & 3);
        self.set(number::IPV6_SRC, ip.source().to_bits());
        self.set(number::IPV6_DST, ip.destination().to_bits());
        self.set(number::IPV6_FLABEL, ip.flow_label());
        let Some((proto, transport)) = ip.transport() else {
            if ip.extensions().any(|header| header.fragment_offset() > Some(0)) {
                self.set(number::IP_PROTO, ipv6::extension::FRAGMENT);
            }
            return;
        };
        self.set(number::IP_PROTO, proto);
        match proto {
            protocol::ICMPV6 if transport.len() < ICMPV6_LEN_MIN => {}
            protocol::ICMPV6 => Icmpv6::new(transport).into_iter().for_each(|it| self.icmpv6(&it)),
            proto => self.ports(proto, transport),
        }
    }

    fn icmpv6(&mut self, icmp: &Icmpv6<'_>) {
        self.set(number::ICMPV6_TYPE, icmp.kind());
        self.set(number::ICMPV6_CODE, icmp.code());
        let Some(said) = icmp.neighbour() else { return };
        self.set(number::IPV6_ND_TARGET, said.target().to_bits());
        if icmp.kind() == icmpv6::NEIGHBOUR_SOLICITATION {
            said.source_link_layer().into_iter().for_each(|mac| self.mac(number::IPV6_ND_SLL, mac));
        } else {
            said.target_link_layer().into_iter().for_each(|mac| self.mac(number::IPV6_ND_TLL, mac));
        }
    }

    /// The ports, where the header is whole. As at switches, a datagram that says a length which
    /// cannot be has ports too: else no rule for a port would meet it.
    fn ports(&mut self, proto: u8, transport: &[u8]) {
        let (is_whole, src_field, dst_field) = match proto {
            protocol::TCP => (Tcp::new(transport).is_some(), number::TCP_SRC, number::TCP_DST),
            protocol::UDP => (transport.len() >= udp::HEADER_LEN, number::UDP_SRC, number::UDP_DST),
            SCTP => (transport.len() >= SCTP_HEADER_LEN, number::SCTP_SRC, number::SCTP_DST),
            _ => return,
        };
        if let Some(&[a, b, c, d]) = transport.first_chunk()
            && is_whole
        {
            self.set(src_field, u16::from_be_bytes([a, b]));
            self.set(dst_field, u16::from_be_bytes([c, d]));
        }
    }

    /// Label, class and bottom of the outermost header (RFC 3032).
    fn mpls(&mut self, header: &[u8]) {
        if let Some(header) = header.first_chunk() {
            let header = u32::from_be_bytes(*header);
            self.set(number::MPLS_LABEL, header >> 12);
            self.set(number::MPLS_TC, header >> 9 & 7);
            self.set(number::MPLS_BOS, header >> 8 & 1);
        }
    }
}
