//! Matches with all that their fields need, in the order in which the specification names them:
//! what a field needs comes before it.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use super::super::{Field, Masked, Match};
use crate::Version;
use crate::v13::oxm::{VID_NONE, VID_PRESENT};

const IPV4: u16 = 0x0800;
const ARP: u16 = 0x0806;
const IPV6: u16 = 0x86dd;
const OVER_IP: &[u16] = &[IPV4, IPV6];
const MPLS: [u16; 2] = [0x8847, 0x8848];
const PBB: u16 = 0x88e7;

/// Why a match cannot be completed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Incomplete {
    /// A field is there twice.
    Twice(String),
    /// A field needs another one, of which there is more than one choice.
    Choice {
        /// The field.
        field: String,
        /// Any of these.
        needs: String,
    },
    /// A field needs another value of one that is there.
    Contradicts {
        /// The field.
        field: String,
        /// What it needs.
        needs: String,
        /// What is there.
        has: String,
    },
}

impl fmt::Display for Incomplete {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Incomplete::Twice(field) => write!(f, "{field} is there twice"),
            Incomplete::Choice { field, needs } => write!(f, "{field} needs {needs}; say which"),
            Incomplete::Contradicts { field, needs, has } => {
                write!(f, "{field} needs {needs}, and the match has {has}")
            }
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
}

const NOTHING: Needs = Needs { types: &[], proto: None, icmpv6: &[] };

impl Needs {
    /// What a version can say of it: 1.0 knows no protocols above IPv6.
    fn in_version(self, version: Version) -> Needs {
        match version {
            Version::V10 if self.types == OVER_IP => Needs { types: &OVER_IP[..1], ..self },
            _ => self,
        }
    }
}

fn needs(field: &Field) -> Needs {
    let of = |types| Needs { types, ..NOTHING };
    let over = |types, proto| Needs { proto: Some(proto), ..of(types) };
    let nd = |icmpv6| Needs { icmpv6, ..over(&[IPV6], 58) };
    match field {
        Field::IpDscp(_) | Field::IpEcn(_) | Field::IpProto(_) => of(OVER_IP),
        Field::Ipv4Src(_) | Field::Ipv4Dst(_) => of(&[IPV4]),
        Field::TcpSrc(_) | Field::TcpDst(_) => over(OVER_IP, 6),
        Field::UdpSrc(_) | Field::UdpDst(_) => over(OVER_IP, 17),
        Field::SctpSrc(_) | Field::SctpDst(_) => over(OVER_IP, 132),
        Field::Icmpv4Type(_) | Field::Icmpv4Code(_) => over(&[IPV4], 1),
        Field::ArpOp(_)
        | Field::ArpSpa(_)
        | Field::ArpTpa(_)
        | Field::ArpSha(_)
        | Field::ArpTha(_) => of(&[ARP]),
        Field::Ipv6Src(_) | Field::Ipv6Dst(_) | Field::Ipv6Flabel(_) | Field::Ipv6Exthdr(_) => {
            of(&[IPV6])
        }
        Field::Icmpv6Type(_) | Field::Icmpv6Code(_) => over(&[IPV6], 58),
        Field::Ipv6NdTarget(_) => nd(&[135, 136]),
        Field::Ipv6NdSll(_) => nd(&[135]),
        Field::Ipv6NdTll(_) => nd(&[136]),
        Field::MplsLabel(_) | Field::MplsTc(_) | Field::MplsBos(_) => of(&MPLS),
        Field::PbbIsid(_) => of(&[PBB]),
        _ => NOTHING,
    }
}

impl Match {
    /// The same match with the fields that its fields need, where there is one choice only, in the
    /// specification's order.
    ///
    /// # Errors
    /// A field twice; one that needs another of which there is a choice; fields that contradict
    /// each other.
    pub fn completed(self) -> Result<Match, Incomplete> {
        self.completed_in(Version::V13)
    }

    /// Likewise for a switch of this version: what is a choice in 1.3 may be none in 1.0.
    ///
    /// # Errors
    /// As [`Match::completed`].
    pub fn completed_in(mut self, version: Version) -> Result<Match, Incomplete> {
        // Those that leave no choice decide for those that do.
        let mut fields = self.fields.clone();
        fields.sort_by_key(|field| needs(field).in_version(version).types.len() > 1);
        while !fields.is_empty() {
            let more: Vec<Vec<Field>> = fields
                .iter()
                .map(|field| self.provide(field, version))
                .collect::<Result<_, _>>()?;
            fields = more.concat();
        }
        self.fields.sort_by_key(order);
        match self.fields.windows(2).find(|two| order(&two[0]) == order(&two[1])) {
            Some(two) => Err(Incomplete::Twice(name(&two[0]))),
            None => Ok(self),
        }
    }

    /// Adds what this field needs and is not there; that is what is returned.
    fn provide(&mut self, field: &Field, version: Version) -> Result<Vec<Field>, Incomplete> {
        let needs = needs(field).in_version(version);
        let has = |find: fn(&Field) -> Option<u16>| self.fields.iter().find_map(find);
        let eth_type = has(|field| if let Field::EthType(it) = field { Some(*it) } else { None });
        let proto =
            has(|field| if let Field::IpProto(it) = field { Some((*it).into()) } else { None });
        let icmpv6 =
            has(|field| if let Field::Icmpv6Type(it) = field { Some((*it).into()) } else { None });
        let types = |all: &[u16]| one_of("eth-type", all.iter().map(|kind| type_name(*kind)));
        let number = |name: &str, number: u16| format!("{name} {number}");
        let mut more = Vec::new();
        match (needs.types, eth_type) {
            ([], _) => {}
            (all, Some(there)) if all.contains(&there) => {}
            (&[only], None) => more.push(Field::EthType(only)),
            (all, None) => return Err(choice(field, types(all))),
            (all, Some(there)) => return Err(contradicts(field, types(all), types(&[there]))),
        }
        match (needs.proto.map(u16::from), proto) {
            (None, _) => {}
            (Some(needed), Some(there)) if there == needed => {}
            (Some(needed), None) => more.push(Field::IpProto(needed as u8)),
            (Some(needed), Some(there)) => {
                let name = "ip-proto";
                return Err(contradicts(field, number(name, needed), number(name, there)));
            }
        }
        let kinds = |all: &[u8]| one_of("icmpv6-type", all.iter().map(|kind| kind.to_string()));
        match (needs.icmpv6, icmpv6) {
            ([], _) => {}
            (all, Some(there)) if all.iter().any(|&needed| u16::from(needed) == there) => {}
            (&[only], None) => more.push(Field::Icmpv6Type(only)),
            (all, None) => return Err(choice(field, kinds(all))),
            (all, Some(there)) => {
                return Err(contradicts(field, kinds(all), number("icmpv6-type", there)));
            }
        }
        more.extend(self.provide_besides(field)?);
        self.fields.extend_from_slice(&more);
        Ok(more)
    }

    /// What a field needs that is of no protocol.
    fn provide_besides(&self, field: &Field) -> Result<Option<Field>, Incomplete> {
        match field {
            Field::VlanPcp(_) => {
                match self.fields.iter().find(|it| matches!(it, Field::VlanVid(_))) {
                    None => Ok(Some(Field::VlanVid(Masked::with(VID_PRESENT, VID_PRESENT)))),
                    Some(Field::VlanVid(vid)) if vid.value == VID_NONE => Err(contradicts(
                        field,
                        "vlan-vid of a frame with a tag".into(),
                        "vlan-vid none".into(),
                    )),
                    Some(_) => Ok(None),
                }
            }
            Field::InPhyPort(_) if !self.fields.iter().any(|it| matches!(it, Field::InPort(_))) => {
                Err(choice(field, "an in-port".into()))
            }
            _ => Ok(None),
        }
    }
}

fn choice(field: &Field, needs: String) -> Incomplete {
    Incomplete::Choice { field: name(field), needs }
}

fn contradicts(field: &Field, needs: String, has: String) -> Incomplete {
    Incomplete::Contradicts { field: name(field), needs, has }
}

/// `eth-type 0x0800 (IPv4) or 0x86dd (IPv6)`
fn one_of(name: &str, values: impl Iterator<Item = String>) -> String {
    let values: Vec<String> = values.collect();
    format!("{name} {}", values.join(" or "))
}

/// `0x0800 (IPv4)`
fn type_name(kind: u16) -> String {
    match kind {
        IPV4 => format!("{kind:#06x} (IPv4)"),
        IPV6 => format!("{kind:#06x} (IPv6)"),
        ARP => format!("{kind:#06x} (ARP)"),
        _ => format!("{kind:#06x}"),
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
        let over_ip = "needs eth-type 0x0800 (IPv4) or 0x86dd (IPv6); say which";
        let cases: [(&[(&str, &str)], &str); 9] = [
            (&[("tcp-dst", "23")], &format!("tcp-dst {over_ip}")),
            (&[("ip-proto", "6")], &format!("ip-proto {over_ip}")),
            (
                &[("ipv4-src", "10.0.0.1"), ("eth-type", "0x86dd")],
                "ipv4-src needs eth-type 0x0800 (IPv4), and the match has eth-type 0x86dd (IPv6)",
            ),
            (
                &[("tcp-dst", "1"), ("ip-proto", "17"), ("eth-type", "0x800")],
                "tcp-dst needs ip-proto 6, and the match has ip-proto 17",
            ),
            (&[("tcp-dst", "1"), ("udp-dst", "1"), ("eth-type", "0x800")], "needs ip-proto"),
            (&[("vlan-vid", "none"), ("vlan-pcp", "1")], "vlan-pcp needs vlan-vid"),
            (&[("in-port", "1"), ("in-port", "2")], "in-port is there twice"),
            (&[("ipv6-nd-target", "fe80::1")], "needs icmpv6-type 135 or 136; say which"),
            (&[("in-phy-port", "1")], "in-phy-port needs an in-port; say which"),
        ];
        for (fields, words) in cases {
            let refused = completed(fields).unwrap_err();
            assert!(refused.contains(words), "{fields:?}: {refused}");
        }
    }

    #[test]
    fn what_1_0_cannot_say_otherwise_is_no_choice_there() {
        let of = |fields: &[(&str, &str)], version| {
            let fields = fields.iter().map(|(name, text)| Field::named(name, text).unwrap());
            let match_ = Match { fields: fields.collect() }.completed_in(version);
            match_.map(|match_| match_.fields).map_err(|incomplete| incomplete.to_string())
        };
        let tcp = [Field::EthType(IPV4), Field::IpProto(6), Field::TcpDst(23)];
        assert_eq!(of(&[("tcp-dst", "23")], Version::V10), Ok(tcp.to_vec()));
        assert!(of(&[("tcp-dst", "23")], Version::V13).unwrap_err().ends_with("say which"));
        let ipv6 = of(&[("tcp-dst", "23"), ("eth-type", "0x86dd")], Version::V10).unwrap_err();
        assert!(ipv6.contains("needs eth-type 0x0800 (IPv4), and the match has"), "{ipv6}");
    }
}
