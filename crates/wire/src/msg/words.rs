//! Fields and actions in the words that [`Field::named`] and the reading of an [`Action`] take:
//! what is shown can be said again.

use alloc::format;
use alloc::string::{String, ToString};
use core::fmt::Display;

use super::{Action, Field, Masked, PortNo};
use crate::v13::oxm::{U24, VID_NONE, VID_PRESENT};

/// A value, and the mask behind it where there is one.
fn masked<T: Copy>(masked: Masked<T>, word: impl Fn(T) -> String) -> String {
    match masked.mask {
        Some(mask) => format!("{}/{}", word(masked.value), word(mask)),
        None => word(masked.value),
    }
}

fn plain<T: Copy + Display>(value: Masked<T>) -> String {
    masked(value, |value| value.to_string())
}

fn hex(value: Masked<u64>) -> String {
    masked(value, |value| format!("{value:#x}"))
}

/// An address with a mask that is a prefix says how long that is.
fn prefixed<T: Copy + Display>(value: Masked<T>, prefix: impl Fn(T) -> Option<u32>) -> String {
    match value.mask.and_then(prefix) {
        Some(length) => format!("{}/{length}", value.value),
        None => plain(value),
    }
}

fn port(port: PortNo) -> String {
    match port.name() {
        Some(name) => name.to_ascii_lowercase(),
        None => port.0.to_string(),
    }
}

fn vlan(vid: Masked<u16>) -> Option<String> {
    match (vid.value, vid.mask) {
        (VID_NONE, None) => Some("none".to_string()),
        (VID_PRESENT, Some(VID_PRESENT)) => Some("any".to_string()),
        (value, None) if value & VID_PRESENT != 0 => Some((value & !VID_PRESENT).to_string()),
        _ => None,
    }
}

fn u24(value: U24) -> String {
    value.to_u32().to_string()
}

impl Field {
    /// Its name and its value, as [`Field::named`] reads them. A field of other classes, and a mask
    /// over VLAN ids, have words of their own, which nothing reads.
    pub fn in_words(&self) -> (String, String) {
        let header = self.header();
        let basic = header.name().and_then(|name| name.strip_prefix("OFPXMT_OFB_"));
        let name = match basic {
            Some(name) => name.to_ascii_lowercase(),
            None => format!("{header:?}"),
        };
        (name, self.value_in_words())
    }

    fn value_in_words(&self) -> String {
        let v4 = |value: Masked<core::net::Ipv4Addr>| {
            prefixed(value, |mask| {
                let bits = mask.to_bits();
                (bits.leading_ones() + bits.trailing_zeros() == 32).then(|| bits.leading_ones())
            })
        };
        let v6 = |value: Masked<core::net::Ipv6Addr>| {
            prefixed(value, |mask| {
                let bits = mask.to_bits();
                (bits.leading_ones() + bits.trailing_zeros() == 128).then(|| bits.leading_ones())
            })
        };
        match self {
            Field::InPort(number) | Field::InPhyPort(number) => port(*number),
            Field::Metadata(value) | Field::TunnelId(value) => hex(*value),
            Field::EthDst(mac) | Field::EthSrc(mac) | Field::ArpSha(mac) | Field::ArpTha(mac) => {
                plain(*mac)
            }
            Field::EthType(kind) => format!("{kind:#06x}"),
            Field::VlanVid(vid) => {
                vlan(*vid).unwrap_or_else(|| masked(*vid, |bits| format!("{bits:#06x}")))
            }
            Field::VlanPcp(value)
            | Field::IpDscp(value)
            | Field::IpEcn(value)
            | Field::IpProto(value)
            | Field::Icmpv4Type(value)
            | Field::Icmpv4Code(value)
            | Field::Icmpv6Type(value)
            | Field::Icmpv6Code(value)
            | Field::MplsTc(value)
            | Field::MplsBos(value) => value.to_string(),
            Field::TcpSrc(value)
            | Field::TcpDst(value)
            | Field::UdpSrc(value)
            | Field::UdpDst(value)
            | Field::SctpSrc(value)
            | Field::SctpDst(value)
            | Field::ArpOp(value) => value.to_string(),
            Field::Ipv4Src(ip) | Field::Ipv4Dst(ip) | Field::ArpSpa(ip) | Field::ArpTpa(ip) => {
                v4(*ip)
            }
            Field::Ipv6Src(ip) | Field::Ipv6Dst(ip) => v6(*ip),
            Field::Ipv6Flabel(value) => plain(*value),
            Field::Ipv6NdTarget(ip) => ip.to_string(),
            Field::Ipv6NdSll(mac) | Field::Ipv6NdTll(mac) => mac.to_string(),
            Field::MplsLabel(value) => value.to_string(),
            Field::PbbIsid(value) => masked(*value, u24),
            Field::Ipv6Exthdr(value) => masked(*value, |bits| format!("{:#x}", bits.0)),
            Field::Raw(raw) => digits(raw.body()),
        }
    }
}

impl Display for Action {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(&self.in_words())
    }
}

impl Action {
    /// As it is read again: `output:2`, `set-field:eth_dst=02:00:00:00:00:01`. One that has no name
    /// has words that nothing reads.
    pub fn in_words(&self) -> String {
        match self {
            Action::Output { port: number, .. } => format!("output:{}", port(*number)),
            Action::CopyTtlOut => "copy-ttl-out".to_string(),
            Action::CopyTtlIn => "copy-ttl-in".to_string(),
            Action::SetMplsTtl(ttl) => format!("set-mpls-ttl:{ttl}"),
            Action::DecMplsTtl => "dec-mpls-ttl".to_string(),
            Action::PushVlan(kind) => format!("push-vlan:{kind:#06x}"),
            Action::PopVlan => "pop-vlan".to_string(),
            Action::PushMpls(kind) => format!("push-mpls:{kind:#06x}"),
            Action::PopMpls(kind) => format!("pop-mpls:{kind:#06x}"),
            Action::SetQueue(queue) => format!("set-queue:{}", queue.0),
            Action::Group(group) => format!("group:{}", group.0),
            Action::SetNwTtl(ttl) => format!("set-nw-ttl:{ttl}"),
            Action::DecNwTtl => "dec-nw-ttl".to_string(),
            Action::SetField(field) => {
                let (name, value) = field.in_words();
                format!("set-field:{name}={value}")
            }
            Action::PushPbb(kind) => format!("push-pbb:{kind:#06x}"),
            Action::PopPbb => "pop-pbb".to_string(),
            Action::Experimenter { experimenter, body } => {
                format!("experimenter:{experimenter:#010x}({})", digits(body))
            }
            Action::Unknown { kind, body } => format!("action {kind}({})", digits(body)),
        }
    }
}

fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// For each name, values that are shown as they were said.
    const SAID: &[(&str, &[&str])] = &[
        ("in_port", &["7", "local", "4294967040"]),
        ("in_phy_port", &["7"]),
        ("metadata", &["0x7", "0x10/0xff"]),
        ("eth_dst", &["02:00:00:00:00:01", "01:00:00:00:00:00/01:00:00:00:00:00"]),
        ("eth_src", &["02:00:00:00:00:01"]),
        ("eth_type", &["0x0800", "0x88cc"]),
        ("vlan_vid", &["0", "4095", "none", "any"]),
        ("vlan_pcp", &["7"]),
        ("ip_dscp", &["46"]),
        ("ip_ecn", &["3"]),
        ("ip_proto", &["132"]),
        ("ipv4_src", &["10.0.0.1", "10.0.0.0/8", "10.0.0.1/255.0.0.255", "0.0.0.0/0"]),
        ("ipv4_dst", &["10.0.0.1/32"]),
        ("tcp_src", &["80"]),
        ("tcp_dst", &["65535"]),
        ("udp_src", &["53"]),
        ("udp_dst", &["53"]),
        ("sctp_src", &["9"]),
        ("sctp_dst", &["9"]),
        ("icmpv4_type", &["8"]),
        ("icmpv4_code", &["0"]),
        ("arp_op", &["1"]),
        ("arp_spa", &["10.0.0.1"]),
        ("arp_tpa", &["10.0.0.0/24"]),
        ("arp_sha", &["02:00:00:00:00:01"]),
        ("arp_tha", &["02:00:00:00:00:01"]),
        ("ipv6_src", &["fe80::1", "fe80::/10", "::/0", "fe80::1/ffff::ffff"]),
        ("ipv6_dst", &["2001:db8::1/128"]),
        ("ipv6_flabel", &["1048575", "1/3"]),
        ("icmpv6_type", &["135"]),
        ("icmpv6_code", &["0"]),
        ("ipv6_nd_target", &["fe80::1"]),
        ("ipv6_nd_sll", &["02:00:00:00:00:01"]),
        ("ipv6_nd_tll", &["02:00:00:00:00:01"]),
        ("mpls_label", &["1048575"]),
        ("mpls_tc", &["7"]),
        ("mpls_bos", &["1"]),
        ("pbb_isid", &["16777215", "1/3"]),
        ("tunnel_id", &["0xffffffffffffffff"]),
        ("ipv6_exthdr", &["0x1ff", "0x1/0x3"]),
    ];

    #[test]
    fn every_field_is_shown_as_it_is_read() {
        let names: Vec<&str> = SAID.iter().map(|(name, _)| *name).collect();
        for name in Field::NAMES {
            assert!(names.contains(name), "{name}");
        }
        for (name, values) in SAID {
            for value in *values {
                let field = Field::named(name, value).unwrap();
                let words = field.in_words();
                assert_eq!((words.0.as_str(), words.1.as_str()), (*name, *value));
            }
        }
    }

    #[test]
    fn every_action_is_shown_as_it_is_read() {
        for words in [
            "output:2",
            "output:flood",
            "output:controller",
            "set-field:eth_dst=02:00:00:00:00:01",
            "set-field:vlan_vid=7",
            "set-queue:7",
            "group:16",
            "push-vlan:0x8100",
            "pop-vlan",
            "push-mpls:0x8847",
            "pop-mpls:0x0800",
            "push-pbb:0x88e7",
            "pop-pbb",
            "set-nw-ttl:64",
            "dec-nw-ttl",
            "set-mpls-ttl:9",
            "dec-mpls-ttl",
            "copy-ttl-out",
            "copy-ttl-in",
        ] {
            let action: Action = words.parse().unwrap();
            assert_eq!(action.in_words(), words);
        }
    }
}
