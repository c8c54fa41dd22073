//! The fields of a match or of a frame, by the names and in the order that `ovs-ofctl` gives them.
//!
//! An exact ethertype and an exact IP protocol are said by one word in front, `tcp` for
//! `dl_type=0x0800,nw_proto=6`.

use aldis_packet::{ethertype, protocol};
use std::fmt::{self, Display};

/// Priority that goes without saying (`OFP_DEFAULT_PRIORITY`).
pub(super) const DEFAULT_PRIORITY: u16 = 0x8000;

/// The order of the names; one that is not here comes last.
const ORDER: &[&str] = &[
    "tun_id",
    "metadata",
    "in_port",
    "in_phy_port",
    "vlan_tci",
    "dl_vlan",
    "dl_vlan_pcp",
    "vlan_tci1",
    "dl_vlan1",
    "dl_vlan_pcp1",
    "dl_src",
    "dl_dst",
    "pbb_isid",
    "dl_type",
    "arp_spa",
    "arp_tpa",
    "ipv6_src",
    "ipv6_dst",
    "ipv6_label",
    "nw_src",
    "nw_dst",
    "arp_op",
    "nw_proto",
    "arp_sha",
    "arp_tha",
    "nw_tos",
    "nw_ecn",
    "nw_ttl",
    "mpls_label",
    "mpls_tc",
    "mpls_bos",
    "nw_frag",
    "ipv6_exthdr",
    "icmp_type",
    "icmp_code",
    "nd_target",
    "nd_sll",
    "nd_tll",
    "tp_src",
    "tp_dst",
    "tcp_flags",
];

/// Fields to be printed, in any order.
#[derive(Default)]
pub(super) struct PrintedFields {
    ethertype: Option<u16>,
    protocol: Option<u8>,
    named: Vec<(&'static str, String)>,
    unnamed: Vec<String>,
}

impl PrintedFields {
    /// A field and its value.
    pub(super) fn push(&mut self, name: &'static str, value: impl Display) {
        self.named.push((name, value.to_string()));
    }

    /// A field that has no name.
    pub(super) fn push_unnamed(&mut self, words: impl Display) {
        self.unnamed.push(words.to_string());
    }

    /// The exact ethertype.
    pub(super) fn ethertype(&mut self, ethertype: u16) {
        self.ethertype = Some(ethertype);
    }

    /// The exact IP protocol.
    pub(super) fn protocol(&mut self, protocol: u8) {
        self.protocol = Some(protocol);
    }

    /// The fields behind a priority, which goes without saying where it is the default.
    pub(super) fn with_priority(self, priority: u16) -> impl Display {
        fmt::from_fn(move |f| {
            let mut words = Vec::new();
            if priority != DEFAULT_PRIORITY {
                words.push(format!("priority={priority}"));
            }
            words.extend(self.shorthand().map(String::from));
            words.extend(self.said().map(|(name, value)| format!("{name}={value}")));
            words.extend(self.unnamed.iter().cloned());
            f.write_str(&words.join(","))
        })
    }

    /// The fields alone.
    pub(super) fn alone(self) -> impl Display {
        self.with_priority(DEFAULT_PRIORITY)
    }

    /// Ethertype and protocol in one word, where there is one.
    fn shorthand(&self) -> Option<&'static str> {
        Some(match (self.ethertype?, self.protocol) {
            (ethertype::IPV4, Some(protocol::ICMP)) => "icmp",
            (ethertype::IPV4, Some(protocol::TCP)) => "tcp",
            (ethertype::IPV4, Some(protocol::UDP)) => "udp",
            (ethertype::IPV4, Some(SCTP)) => "sctp",
            (ethertype::IPV4, _) => "ip",
            (ethertype::IPV6, Some(protocol::ICMPV6)) => "icmp6",
            (ethertype::IPV6, Some(protocol::TCP)) => "tcp6",
            (ethertype::IPV6, Some(protocol::UDP)) => "udp6",
            (ethertype::IPV6, Some(SCTP)) => "sctp6",
            (ethertype::IPV6, _) => "ipv6",
            (ethertype::ARP, _) => "arp",
            (RARP, _) => "rarp",
            (MPLS, _) => "mpls",
            (MPLS_MULTICAST, _) => "mplsm",
            _ => return None,
        })
    }

    /// The named fields, with ethertype and protocol among them where no word in front says them.
    fn said(&self) -> impl Iterator<Item = (&'static str, String)> {
        let short = self.shorthand();
        let ethertype = self.ethertype.filter(|_| short.is_none());
        let protocol = self.protocol.filter(|_| matches!(short, None | Some("ip" | "ipv6")));
        let numbers = [
            ethertype.map(|ethertype| ("dl_type", format!("{ethertype:#06x}"))),
            protocol.map(|protocol| ("nw_proto", protocol.to_string())),
        ];
        let mut said: Vec<_> =
            self.named.iter().cloned().chain(numbers.into_iter().flatten()).collect();
        said.sort_by_key(|(name, _)| rank(name));
        said.into_iter()
    }
}

fn rank(name: &str) -> usize {
    ORDER.iter().position(|&ordered| ordered == name).unwrap_or(ORDER.len())
}

/// The Stream Control Transmission Protocol, which `aldis-packet` does not read.
const SCTP: u8 = 132;
const RARP: u16 = 0x8035;
const MPLS: u16 = 0x8847;
const MPLS_MULTICAST: u16 = 0x8848;

/// A value, and the mask behind it unless all of its bits count.
pub(super) fn masked(value: impl Display, mask: Option<impl Display>) -> impl Display {
    fmt::from_fn(move |f| match &mask {
        None => write!(f, "{value}"),
        Some(mask) => write!(f, "{value}/{mask}"),
    })
}

/// An address of `bits` bits and its mask: the length of the prefix where it is one, else the mask
/// itself.
pub(super) fn prefixed(
    address: impl Display,
    mask: u128,
    bits: u32,
    written: impl Display,
) -> impl Display {
    let ones = mask.count_ones();
    let prefix = mask.leading_zeros() == 128 - bits && mask.trailing_zeros() == bits - ones;
    fmt::from_fn(move |f| match ones {
        _ if ones == bits => write!(f, "{address}"),
        _ if prefix || ones == 0 => write!(f, "{address}/{ones}"),
        _ => write!(f, "{address}/{written}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn the_order_is_that_of_ovs_ofctl() {
        let mut fields = PrintedFields::default();
        fields.push("tp_dst", 80);
        fields.protocol(6);
        fields.push("in_port", 1);
        fields.push("nw_src", "10.0.0.1");
        fields.ethertype(0x0800);
        fields.push_unnamed("x");
        let words = fields.with_priority(7).to_string();
        assert_eq!(words, "priority=7,tcp,in_port=1,nw_src=10.0.0.1,tp_dst=80,x");
    }

    #[test]
    fn what_has_no_short_word_is_said_in_numbers() {
        let words = |ethertype, protocol| {
            let mut fields = PrintedFields { ethertype, protocol, ..PrintedFields::default() };
            fields.push("dl_dst", "x");
            fields.push("nw_tos", 0);
            fields.alone().to_string()
        };
        assert_eq!(words(Some(0x88cc), None), "dl_dst=x,dl_type=0x88cc,nw_tos=0");
        assert_eq!(words(Some(0x0800), Some(89)), "ip,dl_dst=x,nw_proto=89,nw_tos=0");
        assert_eq!(words(None, Some(6)), "dl_dst=x,nw_proto=6,nw_tos=0");
        assert_eq!(words(Some(0x0800), Some(6)), "tcp,dl_dst=x,nw_tos=0");
    }

    #[test]
    fn a_mask_is_a_prefix_where_it_can_be() {
        let words = |mask: u32| {
            let address = Ipv4Addr::new(10, 0, 0, 1);
            prefixed(address, mask.into(), 32, Ipv4Addr::from(mask)).to_string()
        };
        assert_eq!(words(0xffff_ffff), "10.0.0.1");
        assert_eq!(words(0xff00_0000), "10.0.0.1/8");
        assert_eq!(words(0), "10.0.0.1/0");
        assert_eq!(words(0xff00_00ff), "10.0.0.1/255.0.0.255");
        assert_eq!(words(1), "10.0.0.1/0.0.0.1");
    }
}
