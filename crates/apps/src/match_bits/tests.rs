//! What is seen of a frame is what Open vSwitch sees of it (`ovs-ofctl parse-pcap`): else a rule
//! would hold at the switch and not at the controller, or the other way round.

use core::net::{Ipv4Addr, Ipv6Addr};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use aldis_packet::ethernet;
use proptest::prelude::*;

use super::*;

/// A capture file, which goes with the test.
struct Capture(PathBuf);

impl Drop for Capture {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

impl Capture {
    fn of(frames: &[Vec<u8>]) -> Capture {
        let mut bytes = vec![];
        let words = [0xa1b2_c3d4, 4 << 16 | 2, 0, 0, 0xffff, 1];
        bytes.extend(words.iter().flat_map(|word: &u32| word.to_ne_bytes()));
        for frame in frames {
            let length = frame.len() as u32;
            bytes.extend([0, 0, length, length].iter().flat_map(|word| word.to_ne_bytes()));
            bytes.extend(frame);
        }
        let name = format!("aldis-match-bits-{}.pcap", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, bytes).unwrap();
        Capture(path)
    }

    /// A line of `field=value` for each frame.
    fn as_open_vswitch_reads_it(&self) -> Vec<String> {
        let mut command = Command::new("ovs-ofctl");
        let output = command.arg("parse-pcap").arg(&self.0).output();
        let output = output.expect("ovs-ofctl (package openvswitch-switch)");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(String::from).collect()
    }
}

/// An IPv4 packet in its frame, whose lengths are right.
fn ipv4(protocol: u8, transport: &[u8]) -> Vec<u8> {
    let length = (20 + transport.len()) as u16;
    let [high, low] = length.to_be_bytes();
    let head = [0x45, 0xb9, high, low, 0, 1, 0, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    [&ethernet::header([2; 6], [4; 6], ethertype::IPV4)[..], &head, transport].concat()
}

fn ipv6(next_header: u8, payload: &[u8]) -> Vec<u8> {
    let mut head = vec![0x6b, 0x91, 0x23, 0x45, 0, payload.len() as u8, next_header, 255];
    head.extend([0x20; 16]);
    head.extend([0xfe; 16]);
    [&ethernet::header([2; 6], [4; 6], ethertype::IPV6)[..], &head, payload].concat()
}

fn tagged(frame: &[u8], kind: u16, tci: u16) -> Vec<u8> {
    [&frame[..12], &kind.to_be_bytes(), &tci.to_be_bytes(), &frame[12..]].concat()
}

fn frames() -> Vec<Vec<u8>> {
    let udp = [3, 232, 0, 53, 0, 12, 0, 0, 1, 2, 3, 4];
    let tcp =
        [&[3, 232, 0, 80, 0, 0, 0, 1, 0, 0, 0, 0, 0x60, 2, 1, 0, 0, 0, 0, 0][..], &[1; 9]].concat();
    let sctp = [3, 232, 0, 5, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 4];
    let echo = [8, 0, 0, 0, 0, 1, 0, 1, 1, 2, 3];
    let asks = [&[135, 0, 0, 0, 0, 0, 0, 0][..], &[0xfe; 16], &[1, 1, 4, 4, 4, 4, 4, 4]].concat();
    let says =
        [&[136, 0, 0, 0, 0x60, 0, 0, 0][..], &[0xfe; 16], &[2, 1, 4, 4, 4, 4, 4, 4]].concat();
    let arp =
        [0, 1, 8, 0, 6, 4, 0, 1, 4, 4, 4, 4, 4, 4, 10, 0, 0, 1, 0, 0, 0, 0, 0, 0, 10, 0, 0, 2];
    let arp = [&ethernet::header([0xff; 6], [4; 6], ethertype::ARP)[..], &arp].concat();
    let behind = |kind: u8, header: &[u8]| ipv6(kind, &[header, &udp].concat());
    let label =
        [&ethernet::header([2; 6], [4; 6], 0x8847)[..], &[0, 1, 0x21, 64], &[0x45; 24]].concat();
    let bare = ipv4(protocol::UDP, &udp);
    let snap = [&bare[..12], &[0, 48, 0xaa, 0xaa, 3, 0, 0, 0, 8, 0], &bare[14..]].concat();
    let spanning = [&bare[..12], &[0, 38, 0x42, 0x42, 3], &[0; 38]].concat();
    let sound = vec![
        snap,
        spanning,
        ipv4(protocol::UDP, &udp),
        ipv4(protocol::TCP, &tcp),
        ipv4(protocol::ICMP, &echo),
        ipv4(SCTP, &sctp),
        ipv6(protocol::UDP, &udp),
        ipv6(protocol::TCP, &tcp),
        ipv6(protocol::ICMPV6, &asks),
        ipv6(protocol::ICMPV6, &says),
        ipv6(SCTP, &sctp),
        arp,
        label,
        behind(0, &[17, 0, 1, 4, 0, 0, 0, 0]),
        behind(60, &[17, 1, 1, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        behind(44, &[17, 0, 0, 1, 0, 0, 0, 9]),
        behind(51, &[17, 1, 0, 0, 0, 0, 0, 9, 0, 0, 0, 1]),
    ];
    let once = sound.iter().map(|frame| tagged(frame, 0x8100, 0x6064));
    let tagged: Vec<_> = once.collect();
    [sound, tagged].concat()
}

/// A frame of which some bytes were changed, and that may be cut off.
fn damaged() -> impl Strategy<Value = Vec<u8>> {
    let value = || prop_oneof![any::<u8>(), 0u8..8, Just(u8::MAX)];
    let changes = prop::collection::vec((any::<prop::sample::Index>(), value()), 0..4);
    let cut = prop::option::weighted(0.2, any::<prop::sample::Index>());
    (prop::sample::select(frames()), changes, cut).prop_map(|(mut frame, changes, cut)| {
        for (at, value) in changes {
            *at.get_mut(&mut frame) = value;
        }
        if let Some(cut) = cut {
            frame.truncate(14 + cut.index(frame.len() - 14));
        }
        frame
    })
}

/// The fields that a line of Open vSwitch says, by their numbers. It says zero of a field that the
/// frame should have and is too short or too wrong for.
fn fields_of(line: &str) -> BTreeMap<usize, u128> {
    use number::*;
    let (kind, said) = line.split_once(",in_port=").unwrap_or(("", line));
    let said: BTreeMap<_, _> = said.split(',').filter_map(|part| part.split_once('=')).collect();
    let (eth_type, proto, ports) = match kind {
        "" => (None, None, None),
        "arp" => (Some(ethertype::ARP), None, None),
        "rarp" => (Some(0x8035), None, None),
        "mpls" => (Some(0x8847), None, None),
        "mplsm" => (Some(0x8848), None, None),
        "ip" => (Some(ethertype::IPV4), None, None),
        "tcp" => (Some(ethertype::IPV4), Some(protocol::TCP), Some((TCP_SRC, TCP_DST))),
        "udp" => (Some(ethertype::IPV4), Some(protocol::UDP), Some((UDP_SRC, UDP_DST))),
        "sctp" => (Some(ethertype::IPV4), Some(SCTP), Some((SCTP_SRC, SCTP_DST))),
        "icmp" => (Some(ethertype::IPV4), Some(protocol::ICMP), Some((ICMPV4_TYPE, ICMPV4_CODE))),
        "ipv6" => (Some(ethertype::IPV6), None, None),
        "tcp6" => (Some(ethertype::IPV6), Some(protocol::TCP), Some((TCP_SRC, TCP_DST))),
        "udp6" => (Some(ethertype::IPV6), Some(protocol::UDP), Some((UDP_SRC, UDP_DST))),
        "sctp6" => (Some(ethertype::IPV6), Some(SCTP), Some((SCTP_SRC, SCTP_DST))),
        "icmp6" => {
            (Some(ethertype::IPV6), Some(protocol::ICMPV6), Some((ICMPV6_TYPE, ICMPV6_CODE)))
        }
        other => panic!("{other}: {line}"),
    };
    let is_icmp = matches!(kind, "icmp" | "icmp6");
    let (first, second) = if is_icmp { ("icmp_type", "icmp_code") } else { ("tp_src", "tp_dst") };
    let (src, dst) = ports.unzip();
    let names = [
        (Some(ETH_SRC), "dl_src"),
        (Some(ETH_DST), "dl_dst"),
        (Some(ETH_TYPE), "dl_type"),
        (Some(VLAN_PCP), "dl_vlan_pcp"),
        (Some(IPV4_SRC), "nw_src"),
        (Some(IPV4_DST), "nw_dst"),
        (Some(IP_PROTO), "nw_proto"),
        (Some(IP_ECN), "nw_ecn"),
        (src, first),
        (dst, second),
        (Some(IPV6_SRC), "ipv6_src"),
        (Some(IPV6_DST), "ipv6_dst"),
        (Some(IPV6_FLABEL), "ipv6_label"),
        (Some(IPV6_ND_TARGET), "nd_target"),
        (Some(IPV6_ND_SLL), "nd_sll"),
        (Some(IPV6_ND_TLL), "nd_tll"),
        (Some(ARP_SPA), "arp_spa"),
        (Some(ARP_TPA), "arp_tpa"),
        (Some(ARP_OP), "arp_op"),
        (Some(ARP_SHA), "arp_sha"),
        (Some(ARP_THA), "arp_tha"),
        (Some(MPLS_LABEL), "mpls_label"),
        (Some(MPLS_TC), "mpls_tc"),
        (Some(MPLS_BOS), "mpls_bos"),
    ];
    let by_name =
        names.iter().filter_map(|&(field, name)| Some((field?, number_of(said.get(name)?))));
    let mut fields: BTreeMap<_, _> = by_name.collect();
    fields.extend(eth_type.map(|it| (ETH_TYPE, it.into())));
    fields.extend(proto.map(|it| (IP_PROTO, it.into())));
    fields.extend(said.get("nw_tos").map(|it| (IP_DSCP, number_of(it) >> 2)));
    // A match for one of these has to name the type of message (1.3.5, table 12).
    for (field, kind) in [(IPV6_ND_SLL, "135"), (IPV6_ND_TLL, "136")] {
        fields.retain(|&it, _| it != field || said.get("icmp_type") == Some(&kind));
    }
    fields.insert(VLAN_VID, said.get("dl_vlan").map_or(0, |it| PRESENT | number_of(it)));
    fields
}

/// An address or a number as it is written.
fn number_of(text: &str) -> u128 {
    let octets = || text.split(':').map(|octet| u128::from_str_radix(octet, 16).unwrap());
    if let Some(hex) = text.strip_prefix("0x") {
        u128::from_str_radix(hex, 16).unwrap()
    } else if let Ok(address) = text.parse::<Ipv4Addr>() {
        address.to_bits().into()
    } else if let Ok(address) = text.parse::<Ipv6Addr>() {
        address.to_bits()
    } else if text.contains(':') {
        octets().fold(0, |all, octet| all << 8 | octet)
    } else {
        text.parse().unwrap()
    }
}

/// Whether Open vSwitch reads it otherwise, and may.
fn is_read_otherwise(carried: Option<(u16, &[u8])>, line: &str) -> bool {
    match carried {
        // No host takes a packet of another version; Open vSwitch does not look.
        Some((ethertype::IPV4, &[first, ..])) if first >> 4 != 4 => true,
        Some((ethertype::IPV6, &[first, ..])) if first >> 4 != 6 => true,
        // It stops at a length beyond the end of the frame. A request may have come from a switch
        // that sends the first bytes of each frame.
        Some((ethertype::IPV4 | ethertype::IPV6, _)) => line.contains(",nw_ttl=0,"),
        // Of operations it knows a byte.
        Some((ethertype::ARP, &[_, _, _, _, _, _, high, ..])) => high != 0,
        _ => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn a_frame_shows_what_it_shows_to_open_vswitch(frames in prop::collection::vec(damaged(), 256)) {
        let lines = Capture::of(&frames).as_open_vswitch_reads_it();
        prop_assert_eq!(lines.len(), frames.len());
        for (line, frame) in lines.iter().zip(&frames) {
            let theirs = fields_of(line);
            let carried = Ethernet::new(frame).unwrap().carried();
            if is_read_otherwise(carried, line) {
                continue;
            }
            let seen = PacketBits::of(PortNo(1), frame);
            for field in number::ETH_DST..=number::MPLS_BOS {
                let (ours, theirs) = (seen.get(field), theirs.get(&field).copied());
                let agree = ours == theirs || (ours, theirs) == (None, Some(0));
                prop_assert!(agree, "{field}: {ours:x?}, {theirs:x?} in {line} of {frame:x?}");
            }
        }
    }
}
