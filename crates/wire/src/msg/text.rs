//! Fields, matches and actions as people write them: `ipv4-dst`, `10.0.0.0/8`; `output:2`.
//!
//! The names are those of the specification, in small letters, with `-` or `_`. What one writes of
//! a match is completed ([`Match::completed`]): `tcp-dst` says that there is TCP, and a reader need
//! not be told.

mod actions;
mod complete;
mod value;

use alloc::string::String;
use core::fmt;
use core::str::FromStr;

use super::{Field, Masked, PortNo};
use crate::types::MacAddr;
use crate::v13::oxm::{Ipv6Exthdr, U24};
pub use complete::Incomplete;
use value::{Text, number};

/// Characters of a person's text that a complaint repeats.
const QUOTE_MAX: usize = 64;

/// Text that is not what it has to be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Misread {
    /// The text; its beginning, where it is long.
    pub text: String,
    /// What would be accepted.
    pub accepted: &'static str,
}

impl Misread {
    fn of(text: &str, accepted: &'static str) -> Misread {
        Misread { text: text.chars().take(QUOTE_MAX).collect(), accepted }
    }
}

impl fmt::Display for Misread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"; accepted: {}", self.text, self.accepted)
    }
}

impl core::error::Error for Misread {}

const PORT: &str = "a port number, or in-port, table, normal, flood, all, controller, local or any";

/// A number, or the name of a reserved port.
impl FromStr for PortNo {
    type Err = Misread;

    fn from_str(text: &str) -> Result<PortNo, Misread> {
        let is = |port: &&PortNo| port.name().is_some_and(|name| same(name, text));
        let named = PortNo::NAMED.iter().find(is).copied();
        named.or_else(|| Some(PortNo(number(text)?))).ok_or(Misread::of(text, PORT))
    }
}

/// Six octets, each of two hexadecimal digits: `02:00:00:00:00:01`.
impl FromStr for MacAddr {
    type Err = Misread;

    fn from_str(text: &str) -> Result<MacAddr, Misread> {
        Text::read(text).ok_or(Misread::of(text, accepted("ipv6_nd_sll")))
    }
}

/// Whether two names differ only in case, and in `-` for `_`.
fn same(one: &str, other: &str) -> bool {
    let plain = |byte: u8| if byte == b'-' { b'_' } else { byte.to_ascii_lowercase() };
    one.len() == other.len() && one.bytes().map(plain).eq(other.bytes().map(plain))
}

macro_rules! fields {
    ($($name:literal => $Field:ident $(where $most:literal)?,)*) => {
        impl Field {
            /// The names that [`Field::named`] knows.
            pub const NAMES: &'static [&'static str] = &[$($name),*];

            /// The field of this name with the value that `text` says, which may have a mask behind
            /// a `/` where the field may; bits that the mask ignores are zero in the field,
            /// whatever they are in the text (`10.9.9.7/24` is `10.9.9.0/24`). A number is decimal,
            /// or hexadecimal behind `0x`.
            ///
            /// # Errors
            /// No such field, or no value of it.
            pub fn named(name: &str, text: &str) -> Result<Field, Misread> {
                $(if same(name, $name) {
                    let value = Text::read(text.trim());
                    $(let value = value.filter(|value| Text::is_within(value, $most));)?
                    let value = value.map(Text::plain);
                    return value.map(Field::$Field).ok_or(Misread::of(text, accepted($name)));
                })*
                match same(name, "vlan_vid") {
                    true => value::vlan(text.trim()).ok_or(Misread::of(text, accepted("vlan_vid"))),
                    false => Err(Misread::of(name, NAMES)),
                }
            }
        }
    };
}

fields! {
    "in_port" => InPort,
    "in_phy_port" => InPhyPort,
    "metadata" => Metadata,
    "eth_dst" => EthDst,
    "eth_src" => EthSrc,
    "eth_type" => EthType,
    "vlan_pcp" => VlanPcp where 7,
    "ip_dscp" => IpDscp where 63,
    "ip_ecn" => IpEcn where 3,
    "ip_proto" => IpProto,
    "ipv4_src" => Ipv4Src,
    "ipv4_dst" => Ipv4Dst,
    "tcp_src" => TcpSrc,
    "tcp_dst" => TcpDst,
    "udp_src" => UdpSrc,
    "udp_dst" => UdpDst,
    "sctp_src" => SctpSrc,
    "sctp_dst" => SctpDst,
    "icmpv4_type" => Icmpv4Type,
    "icmpv4_code" => Icmpv4Code,
    "arp_op" => ArpOp,
    "arp_spa" => ArpSpa,
    "arp_tpa" => ArpTpa,
    "arp_sha" => ArpSha,
    "arp_tha" => ArpTha,
    "ipv6_src" => Ipv6Src,
    "ipv6_dst" => Ipv6Dst,
    "ipv6_flabel" => Ipv6Flabel where 0xf_ffff,
    "icmpv6_type" => Icmpv6Type,
    "icmpv6_code" => Icmpv6Code,
    "ipv6_nd_target" => Ipv6NdTarget,
    "ipv6_nd_sll" => Ipv6NdSll,
    "ipv6_nd_tll" => Ipv6NdTll,
    "mpls_label" => MplsLabel where 0xf_ffff,
    "mpls_tc" => MplsTc where 7,
    "mpls_bos" => MplsBos where 1,
    "pbb_isid" => PbbIsid,
    "tunnel_id" => TunnelId,
    "ipv6_exthdr" => Ipv6Exthdr where 0x1ff,
}

const NAMES: &str = "a match field of OpenFlow, such as in-port, eth-src, eth-dst, eth-type, vlan-vid, vlan-pcp, ip-proto, \
                     ipv4-src, ipv4-dst, ipv6-src, ipv6-dst, tcp-src, tcp-dst, udp-src, udp-dst, arp-op, arp-spa, arp-tpa";

/// What a field takes.
fn accepted(name: &str) -> &'static str {
    match name {
        "in_port" | "in_phy_port" => PORT,
        "eth_dst" | "eth_src" | "arp_sha" | "arp_tha" => {
            "an Ethernet address such as 02:00:00:00:00:01, with a mask behind / if need be"
        }
        "ipv6_nd_sll" | "ipv6_nd_tll" => "an Ethernet address such as 02:00:00:00:00:01",
        "ipv4_src" | "ipv4_dst" | "arp_spa" | "arp_tpa" => {
            "an IPv4 address such as 10.0.0.1, or 10.0.0.0/8, or 10.0.0.0/255.0.0.0"
        }
        "ipv6_src" | "ipv6_dst" => "an IPv6 address such as fe80::1, or fe80::/10",
        "ipv6_nd_target" => "an IPv6 address such as fe80::1",
        "vlan_vid" => "0 to 4095, or none for frames without a tag, or any for those with one",
        "eth_type" | "arp_op" | "tcp_src" | "tcp_dst" | "udp_src" | "udp_dst" | "sctp_src"
        | "sctp_dst" => "0 to 65535",
        "vlan_pcp" | "mpls_tc" => "0 to 7",
        "ip_dscp" => "0 to 63",
        "ip_ecn" => "0 to 3",
        "mpls_bos" => "0 or 1",
        "mpls_label" => "0 to 1048575",
        "ipv6_flabel" => "0 to 1048575, with a mask behind / if need be",
        "pbb_isid" => "0 to 16777215, with a mask behind / if need be",
        "ipv6_exthdr" => "0 to 511, with a mask behind / if need be",
        "metadata" | "tunnel_id" => "a number of 64 bits, with a mask behind / if need be",
        _ => "0 to 255",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::v13::oxm::{VID_NONE, VID_PRESENT};
    use core::net::{Ipv4Addr, Ipv6Addr};

    #[test]
    fn fields_are_read_by_their_names() {
        let mac = MacAddr([2, 0, 0, 0, 0, 0xfe]);
        let net = Masked::with(Ipv4Addr::new(10, 0, 0, 0), Ipv4Addr::new(255, 0, 0, 0));
        let link = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0);
        let ten = Ipv6Addr::new(0xffc0, 0, 0, 0, 0, 0, 0, 0);
        let cases = [
            ("in-port", "7", Field::InPort(PortNo(7))),
            ("IN_PORT", "local", Field::InPort(PortNo::LOCAL)),
            ("eth_src", "02:00:00:00:00:fe", Field::EthSrc(Masked::exact(mac))),
            (
                "eth-dst",
                "01:00:00:00:00:00/01:00:00:00:00:00",
                Field::EthDst(Masked::with(
                    MacAddr([1, 0, 0, 0, 0, 0]),
                    MacAddr([1, 0, 0, 0, 0, 0]),
                )),
            ),
            ("eth-type", "0x0806", Field::EthType(0x0806)),
            ("vlan-vid", "4095", Field::VlanVid(Masked::exact(VID_PRESENT | 0xfff))),
            ("vlan_vid", "none", Field::VlanVid(Masked::exact(VID_NONE))),
            ("vlan-vid", "any", Field::VlanVid(Masked::with(VID_PRESENT, VID_PRESENT))),
            ("ipv4-src", "10.0.0.0/8", Field::Ipv4Src(net)),
            ("ipv4-dst", "10.0.0.0/255.0.0.0", Field::Ipv4Dst(net)),
            ("ipv4-dst", "10.9.9.7/8", Field::Ipv4Dst(net)),
            ("arp-tpa", "10.255.0.1/255.0.0.0", Field::ArpTpa(net)),
            ("ipv6-src", "fe80::/10", Field::Ipv6Src(Masked::with(link, ten))),
            ("ipv6-src", "febf::7/10", Field::Ipv6Src(Masked::with(link, ten))),
            (
                "eth-dst",
                "03:00:00:00:00:07/01:00:00:00:00:00",
                Field::EthDst(Masked::with(
                    MacAddr([1, 0, 0, 0, 0, 0]),
                    MacAddr([1, 0, 0, 0, 0, 0]),
                )),
            ),
            ("tunnel-id", "0xff07/0xff00", Field::TunnelId(Masked::with(0xff00, 0xff00))),
            ("pbb-isid", "7/4", Field::PbbIsid(Masked::with(U24::truncated(4), U24::truncated(4)))),
            ("ipv6-exthdr", "7/4", Field::Ipv6Exthdr(Masked::with(Ipv6Exthdr(4), Ipv6Exthdr(4)))),
            ("ipv6-flabel", "7/4", Field::Ipv6Flabel(Masked::with(4, 4))),
            ("tcp-dst", "23", Field::TcpDst(23)),
            ("ip-dscp", "63", Field::IpDscp(63)),
            ("metadata", "5/0xff", Field::Metadata(Masked::with(5, 0xff))),
            ("pbb-isid", "0xffffff", Field::PbbIsid(Masked::exact(U24::truncated(0xff_ffff)))),
            ("ipv6-exthdr", "8", Field::Ipv6Exthdr(Masked::exact(Ipv6Exthdr(8)))),
        ];
        for (name, text, field) in cases {
            assert_eq!(Field::named(name, text), Ok(field), "{name}={text}");
        }
    }

    #[test]
    fn every_field_has_a_name_and_says_what_it_takes() {
        assert_eq!(Field::NAMES.len() + 1, 40);
        for name in Field::NAMES {
            let refused = Field::named(name, "so what").unwrap_err();
            assert!(!refused.accepted.is_empty() && refused.text == "so what");
        }
    }

    #[test]
    fn what_is_out_of_range_is_refused_with_what_is_accepted() {
        let cases = [
            ("vlan-vid", "4096", "0 to 4095"),
            ("vlan-pcp", "8", "0 to 7"),
            ("ip-proto", "256", "0 to 255"),
            ("tcp-dst", "65536", "0 to 65535"),
            ("tcp-dst", "80/8", "0 to 65535"),
            ("tcp-dst", "-1", "0 to 65535"),
            ("tcp-dst", "+1", "0 to 65535"),
            ("ipv6-flabel", "0x100000/0xfffff", "0 to 1048575"),
            ("ipv4-src", "10.0.0.0/33", "10.0.0.0/8"),
            ("ipv6-dst", "fe80::/129", "fe80::/10"),
            ("eth-src", "02:00:00:00:00", "02:00:00:00:00:01"),
            ("eth-src", "02:00:00:00:00:1:1", "02:00:00:00:00:01"),
            ("pbb-isid", "0x1000000", "16777215"),
            ("tcp-port", "80", "tcp-dst"),
        ];
        for (name, text, accepted) in cases {
            let refused = Field::named(name, text).unwrap_err();
            assert!(refused.accepted.contains(accepted), "{name}={text}: {refused}");
        }
    }
}
