//! No bytes make any view panic, loop or hand out more than there was.

use aldis_packet::{
    Arp, Dhcp, Ethernet, Icmp, Icmpv6, Ipv4, Ipv6, Llc, Lldp, Tcp, Udp, dhcp, ipv6, vlan,
};
use proptest::prelude::*;

/// Asserts that all that was handed out lies within `whole`.
fn within(whole: &[u8], part: &[u8]) {
    let (whole, part) = (whole.as_ptr_range(), part.as_ptr_range());
    assert!(whole.start <= part.start && part.end <= whole.end);
}

/// Reads `bytes` as every header there is, and everything that each view offers.
fn read_as_everything(bytes: &[u8]) {
    if let Some(frame) = Ethernet::new(bytes) {
        let _ = (frame.destination(), frame.source(), frame.ethertype(), frame.vlan());
        assert!(frame.tags().count() <= vlan::TAGS_MAX);
        within(bytes, frame.payload());
        let _ = frame.llc().map(|llc| llc.snap());
    }
    if let Some(ip) = Ipv4::new(bytes) {
        within(bytes, ip.payload());
        assert!(ip.options().count() <= 20);
        let _ = (ip.transport(), ip.is_fragment(), ip.total_length());
    }
    if let Some(ip) = Ipv6::new(bytes) {
        within(bytes, ip.payload());
        assert!(ip.extensions().count() <= ipv6::EXTENSIONS_MAX);
        ip.transport().inspect(|(_, rest)| within(bytes, rest));
    }
    if let Some(icmp) = Icmpv6::new(bytes) {
        let _ = icmp.echo();
        if let Some(neighbour) = icmp.neighbour() {
            assert!(neighbour.options().count() <= bytes.len() / 8);
            let _ =
                (neighbour.target(), neighbour.source_link_layer(), neighbour.target_link_layer());
        }
    }
    if let Some(tcp) = Tcp::new(bytes) {
        within(bytes, tcp.payload());
        within(bytes, tcp.options());
    }
    if let Some(udp) = Udp::new(bytes) {
        within(bytes, udp.payload());
    }
    if let Some(dhcp) = Dhcp::new(bytes) {
        assert!(dhcp.options().count() <= (bytes.len() - dhcp::HEADER_LEN) / 2);
        let _ = (dhcp.message_type(), dhcp.requested_ip(), dhcp.server_id(), dhcp.chaddr());
    }
    if let Some(lldp) = Lldp::new(bytes) {
        within(bytes, lldp.chassis_id().name);
        assert!(lldp.tlvs().count() <= bytes.len() / 2);
        assert!(lldp.tlvs().filter_map(|unit| unit.organisational()).count() <= bytes.len() / 6);
    }
    let _ = (Arp::new(bytes), Icmp::new(bytes).map(|icmp| icmp.echo()), Llc::new(bytes));
}

/// Bytes that pass the first checks of each header more often than chance would let them.
fn plausible() -> impl Strategy<Value = Vec<u8>> {
    let first = prop_oneof![
        Just(vec![0x45]),
        Just(vec![0x4f]),
        Just(vec![0x60]),
        Just(vec![135, 0]),
        Just(vec![136, 0]),
        Just(vec![2, 2, 7, 0x61, 4, 2, 7, 0x62, 6, 2, 0, 120]),
        Just([&[0; 12][..], &[0x81, 0]].concat()),
        Just([&[0; 12][..], &[0x88, 0xa8]].concat()),
        Just([&[0; 236][..], &[99, 130, 83, 99]].concat()),
        Just(vec![]),
    ];
    (first, prop::collection::vec(any::<u8>(), 0..400)).prop_map(|(mut bytes, rest)| {
        bytes.extend(rest);
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Any bytes at all.
    #[test]
    fn any_bytes_are_harmless(bytes in plausible()) {
        read_as_everything(&bytes);
    }

    /// The same byte over and over is where loops hide: lengths of zero, and lengths of everything.
    #[test]
    fn one_byte_repeated_is_harmless(start in plausible(), byte in prop_oneof![Just(0u8), Just(1), Just(0xff), any::<u8>()], len in 0usize..2000) {
        read_as_everything(&[start, vec![byte; len]].concat());
    }
}

/// Every truncation of bytes that are several headers at once.
#[test]
fn every_truncation_is_harmless() {
    for first in [0x45u8, 0x4f, 0x60, 2, 135] {
        let bytes: Vec<u8> = std::iter::once(first).chain((1..600u16).map(|n| n as u8)).collect();
        for len in 0..bytes.len() {
            read_as_everything(&bytes[..len]);
        }
    }
}
