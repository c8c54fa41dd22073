//! Matches with all that their fields need, in the order in which the specification names them: what a field needs comes
//! before it.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::super::{Field, Masked, Match};
use crate::v13::oxm::{VID_NONE, VID_PRESENT};

const IPV4: u16 = 0x0800;
const ARP: u16 = 0x0806;
const IPV6: u16 = 0x86dd;
const MPLS: [u16; 2] = [0x8847, 0x8848];
const PBB: u16 = 0x88e7;

/// Why a match cannot be completed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Incomplete {
    /// A field is there twice.
    Twice(String),
    /// A field needs another one, of which there is more than one choice, or the one that is there contradicts it.
    Needs {
        /// The field.
        field: String,
        /// What it needs.
        needs: &'static str,
    },
}

impl fmt::Display for Incomplete {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Incomplete::Twice(field) => write!(f, "{field} is there twice"),
            Incomplete::Needs { field, needs } => write!(f, "{field} needs {needs}"),
        }
    }
}

impl core::error::Error for Incomplete {}

/// What a field needs (1.3.5, table 13).
#[derive(Clone, Copy)]
struct Needs {
    /// One of these types of frame; any where there is none.
    types: &'static [u16],
    /// This protocol above IP.
    proto: Option<u8>,
    /// One of these types of ICMPv6 message.
    icmpv6: &'static [u8],
    /// In words.
    words: &'static str,
}

const NOTHING: Needs = Needs { types: &[], proto: None, icmpv6: &[], words: "" };

fn needs(field: &Field) -> Needs {
    let of = |types, words| Needs { types, words, ..NOTHING };
    let over_ip = |proto, words| Needs { proto: Some(proto), ..of(&[IPV4, IPV6], words) };
    let icmpv6 = "ip-proto 58 and eth-type 0x86dd";
    match field {
        Field::IpDscp(_) | Field::IpEcn(_) | Field::IpProto(_) => {
            of(&[IPV4, IPV6], "eth-type 0x0800 or 0x86dd")
        }
        Field::Ipv4Src(_) | Field::Ipv4Dst(_) => of(&[IPV4], "eth-type 0x0800"),
        Field::TcpSrc(_) | Field::TcpDst(_) => {
            over_ip(6, "ip-proto 6 and eth-type 0x0800 or 0x86dd")
        }
        Field::UdpSrc(_) | Field::UdpDst(_) => {
            over_ip(17, "ip-proto 17 and eth-type 0x0800 or 0x86dd")
        }
        Field::SctpSrc(_) | Field::SctpDst(_) => {
            over_ip(132, "ip-proto 132 and eth-type 0x0800 or 0x86dd")
        }
        Field::Icmpv4Type(_) | Field::Icmpv4Code(_) => {
            Needs { proto: Some(1), ..of(&[IPV4], "ip-proto 1 and eth-type 0x0800") }
        }
        Field::ArpOp(_)
        | Field::ArpSpa(_)
        | Field::ArpTpa(_)
        | Field::ArpSha(_)
        | Field::ArpTha(_) => of(&[ARP], "eth-type 0x0806"),
        Field::Ipv6Src(_) | Field::Ipv6Dst(_) | Field::Ipv6Flabel(_) | Field::Ipv6Exthdr(_) => {
            of(&[IPV6], "eth-type 0x86dd")
        }
        Field::Icmpv6Type(_) | Field::Icmpv6Code(_) => {
            Needs { proto: Some(58), ..of(&[IPV6], icmpv6) }
        }
        Field::Ipv6NdTarget(_) => {
            Needs { proto: Some(58), icmpv6: &[135, 136], ..of(&[IPV6], "icmpv6-type 135 or 136") }
        }
        Field::Ipv6NdSll(_) => {
            Needs { proto: Some(58), icmpv6: &[135], ..of(&[IPV6], "icmpv6-type 135") }
        }
        Field::Ipv6NdTll(_) => {
            Needs { proto: Some(58), icmpv6: &[136], ..of(&[IPV6], "icmpv6-type 136") }
        }
        Field::MplsLabel(_) | Field::MplsTc(_) | Field::MplsBos(_) => {
            of(&MPLS, "eth-type 0x8847 or 0x8848")
        }
        Field::PbbIsid(_) => of(&[PBB], "eth-type 0x88e7"),
        Field::VlanPcp(_) => of(&[], "vlan-vid, of a frame with a tag"),
        Field::InPhyPort(_) => of(&[], "in-port"),
        _ => NOTHING,
    }
}

impl Match {
    /// The same match with the fields that its fields need, where there is one choice only, in the specification's order.
    ///
    /// # Errors
    /// A field twice; one that needs another of which there is a choice; fields that contradict each other.
    pub fn completed(mut self) -> Result<Match, Incomplete> {
        // Those that leave no choice decide for those that do.
        let mut fields = self.fields.clone();
        fields.sort_by_key(|field| needs(field).types.len() > 1);
        while !fields.is_empty() {
            let more: Vec<Vec<Field>> =
                fields.iter().map(|field| self.provide(field)).collect::<Result<_, _>>()?;
            fields = more.concat();
        }
        self.fields.sort_by_key(order);
        match self.fields.windows(2).find(|two| order(&two[0]) == order(&two[1])) {
            Some(two) => Err(Incomplete::Twice(name(&two[0]))),
            None => Ok(self),
        }
    }

    /// Adds what this field needs and is not there; that is what is returned.
    fn provide(&mut self, field: &Field) -> Result<Vec<Field>, Incomplete> {
        let needs = needs(field);
        let refused = || Incomplete::Needs { field: name(field), needs: needs.words };
        let has = |find: fn(&Field) -> Option<u16>| self.fields.iter().find_map(find);
        let eth_type = has(|field| if let Field::EthType(it) = field { Some(*it) } else { None });
        let proto =
            has(|field| if let Field::IpProto(it) = field { Some((*it).into()) } else { None });
        let icmpv6 =
            has(|field| if let Field::Icmpv6Type(it) = field { Some((*it).into()) } else { None });
        let mut more = Vec::new();
        match (needs.types, eth_type) {
            ([], _) => {}
            (types, Some(eth_type)) if types.contains(&eth_type) => {}
            (&[only], None) => more.push(Field::EthType(only)),
            _ => return Err(refused()),
        }
        match (needs.proto, proto) {
            (None, _) => {}
            (Some(needed), Some(proto)) if proto == u16::from(needed) => {}
            (Some(needed), None) => more.push(Field::IpProto(needed)),
            _ => return Err(refused()),
        }
        match (needs.icmpv6, icmpv6) {
            ([], _) => {}
            (kinds, Some(kind)) if kinds.iter().any(|&needed| u16::from(needed) == kind) => {}
            (&[only], None) => more.push(Field::Icmpv6Type(only)),
            _ => return Err(refused()),
        }
        match field {
            Field::VlanPcp(_) => {
                match self.fields.iter().find(|it| matches!(it, Field::VlanVid(_))) {
                    None => more.push(Field::VlanVid(Masked::with(VID_PRESENT, VID_PRESENT))),
                    Some(Field::VlanVid(vid)) if vid.value == VID_NONE => return Err(refused()),
                    Some(_) => {}
                }
            }
            Field::InPhyPort(_) if !self.fields.iter().any(|it| matches!(it, Field::InPort(_))) => {
                return Err(refused());
            }
            _ => {}
        }
        self.fields.extend_from_slice(&more);
        Ok(more)
    }
}

/// By class, then by the number of the field.
fn order(field: &Field) -> (u16, u8) {
    let header = field.header();
    (header.class().0 ^ 0x8000, header.field())
}

/// `ipv4-dst`
fn name(field: &Field) -> String {
    let name = field.header().name().unwrap_or("an experimenter's field");
    name.trim_start_matches("OFPXMT_OFB_").to_ascii_lowercase().replace('_', "-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    fn completed(fields: &[(&str, &str)]) -> Result<Vec<Field>, String> {
        let fields = fields.iter().map(|(name, text)| Field::named(name, text).unwrap());
        let match_ = Match { fields: fields.collect() }.completed();
        match_.map(|match_| match_.fields).map_err(|incomplete| incomplete.to_string())
    }

    fn same(some: &[(&str, &str)], all: &[(&str, &str)]) {
        let all = all.iter().map(|(name, text)| Field::named(name, text).unwrap());
        assert_eq!(completed(some), Ok(all.collect()), "{some:?}");
    }

    #[test]
    fn what_there_is_no_choice_about_is_added() {
        same(&[("ipv4-dst", "10.0.0.1")], &[("eth-type", "0x800"), ("ipv4-dst", "10.0.0.1")]);
        same(&[("arp-op", "1")], &[("eth-type", "0x806"), ("arp-op", "1")]);
        same(
            &[("tcp-dst", "23"), ("eth-type", "0x86dd")],
            &[("eth-type", "0x86dd"), ("ip-proto", "6"), ("tcp-dst", "23")],
        );
        same(
            &[("tcp-dst", "23"), ("ipv4-src", "10.0.0.1")],
            &[
                ("eth-type", "0x800"),
                ("ip-proto", "6"),
                ("ipv4-src", "10.0.0.1"),
                ("tcp-dst", "23"),
            ],
        );
        same(&[("vlan-pcp", "3")], &[("vlan-vid", "any"), ("vlan-pcp", "3")]);
        same(
            &[("ipv6-nd-sll", "02:00:00:00:00:01")],
            &[
                ("eth-type", "0x86dd"),
                ("ip-proto", "58"),
                ("icmpv6-type", "135"),
                ("ipv6-nd-sll", "02:00:00:00:00:01"),
            ],
        );
        same(&[], &[]);
        same(
            &[("eth-dst", "02:00:00:00:00:01"), ("in-port", "1")],
            &[("in-port", "1"), ("eth-dst", "02:00:00:00:00:01")],
        );
    }

    #[test]
    fn a_choice_and_a_contradiction_are_refused() {
        let cases: [(&[(&str, &str)], &str); 7] = [
            (&[("tcp-dst", "23")], "tcp-dst needs ip-proto 6 and eth-type 0x0800 or 0x86dd"),
            (&[("ip-proto", "6")], "ip-proto needs eth-type"),
            (&[("ipv4-src", "10.0.0.1"), ("eth-type", "0x86dd")], "ipv4-src needs eth-type 0x0800"),
            (&[("tcp-dst", "1"), ("ip-proto", "17"), ("eth-type", "0x800")], "tcp-dst needs"),
            (&[("tcp-dst", "1"), ("udp-dst", "1"), ("eth-type", "0x800")], "needs ip-proto"),
            (&[("vlan-vid", "none"), ("vlan-pcp", "1")], "vlan-pcp needs vlan-vid"),
            (&[("in-port", "1"), ("in-port", "2")], "in-port is there twice"),
        ];
        for (fields, words) in cases {
            let refused = completed(fields).unwrap_err();
            assert!(refused.contains(words), "{fields:?}: {refused}");
        }
    }
}
