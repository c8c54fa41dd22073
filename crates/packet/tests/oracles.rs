//! What this crate reads of generated packets is what two other implementations wrote or read:
//! etherparse and smoltcp.

use aldis_packet::{
    Arp, Dhcp, Ethernet, Icmp, Icmpv6, Ipv4, Ipv6, Tcp, Udp, arp, ethernet, ethertype, icmpv6,
    neighbour, protocol,
};
use etherparse::{
    Ipv4Slice, Ipv6Slice, PacketBuilder, PacketBuilderStep, SlicedPacket, TcpSlice, TransportSlice,
    UdpSlice, VlanId,
};
use proptest::prelude::*;
use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{
    ArpOperation, ArpPacket, ArpRepr, DhcpMessageType, DhcpPacket, DhcpRepr, EthernetAddress,
    Icmpv6Packet, Icmpv6Repr, NdiscNeighborFlags, NdiscRepr,
};

/// A frame as it is to be built.
#[derive(Clone, Debug)]
struct FramePlan {
    destination: [u8; 6],
    source: [u8; 6],
    vlans: Vec<u16>,
    net: FrameNet,
    transport: Transport,
    payload: Vec<u8>,
}

#[derive(Clone, Debug)]
enum FrameNet {
    V4 { source: [u8; 4], destination: [u8; 4], ttl: u8 },
    V6 { source: [u8; 16], destination: [u8; 16], hop_limit: u8 },
}

#[derive(Clone, Debug)]
enum Transport {
    Udp { ports: (u16, u16) },
    Tcp { ports: (u16, u16), sequence: u32, window: u16, options: Vec<[u8; 4]> },
    Ping { id: u16, sequence: u16 },
}

fn plan() -> impl Strategy<Value = FramePlan> {
    let net = prop_oneof![
        any::<([u8; 4], [u8; 4], u8)>().prop_map(|(source, destination, ttl)| FrameNet::V4 {
            source,
            destination,
            ttl
        }),
        any::<([u8; 16], [u8; 16], u8)>().prop_map(|(source, destination, hop_limit)| {
            FrameNet::V6 { source, destination, hop_limit }
        }),
    ];
    let option = any::<u8>().prop_map(|value| [1, 3, 3, value]);
    let transport = prop_oneof![
        any::<(u16, u16)>().prop_map(|ports| Transport::Udp { ports }),
        (any::<(u16, u16)>(), any::<u32>(), any::<u16>(), prop::collection::vec(option, 0..5))
            .prop_map(|(ports, sequence, window, options)| Transport::Tcp {
                ports,
                sequence,
                window,
                options
            }),
        any::<(u16, u16)>().prop_map(|(id, sequence)| Transport::Ping { id, sequence }),
    ];
    (
        any::<[u8; 6]>(),
        any::<[u8; 6]>(),
        prop::collection::vec(0u16..4096, 0..3),
        net,
        transport,
        prop::collection::vec(any::<u8>(), 0..100),
    )
        .prop_map(|(destination, source, vlans, net, transport, payload)| FramePlan {
            destination,
            source,
            vlans,
            net,
            transport,
            payload,
        })
}

/// The frame as etherparse writes it.
fn build(plan: &FramePlan) -> Vec<u8> {
    let vlan = |at: usize| VlanId::try_new(plan.vlans[at]).unwrap();
    let link = PacketBuilder::ethernet2(plan.source, plan.destination);
    let ip = match (&plan.net, plan.vlans.len()) {
        (&FrameNet::V4 { source, destination, ttl }, 0) => link.ipv4(source, destination, ttl),
        (&FrameNet::V4 { source, destination, ttl }, 1) => {
            link.single_vlan(vlan(0)).ipv4(source, destination, ttl)
        }
        (&FrameNet::V4 { source, destination, ttl }, _) => {
            link.double_vlan(vlan(0), vlan(1)).ipv4(source, destination, ttl)
        }
        (&FrameNet::V6 { source, destination, hop_limit }, 0) => {
            link.ipv6(source, destination, hop_limit)
        }
        (&FrameNet::V6 { source, destination, hop_limit }, 1) => {
            link.single_vlan(vlan(0)).ipv6(source, destination, hop_limit)
        }
        (&FrameNet::V6 { source, destination, hop_limit }, _) => {
            link.double_vlan(vlan(0), vlan(1)).ipv6(source, destination, hop_limit)
        }
    };
    write(plan, ip)
}

fn write(plan: &FramePlan, ip: PacketBuilderStep<etherparse::IpHeaders>) -> Vec<u8> {
    let mut bytes = Vec::new();
    match &plan.transport {
        Transport::Udp { ports } => {
            ip.udp(ports.0, ports.1).write(&mut bytes, &plan.payload).unwrap();
        }
        Transport::Tcp { ports, sequence, window, options } => {
            let tcp = ip.tcp(ports.0, ports.1, *sequence, *window).syn().ack(7);
            let tcp = tcp.options_raw(&options.concat()).unwrap();
            tcp.write(&mut bytes, &plan.payload).unwrap();
        }
        Transport::Ping { id, sequence } => match plan.net {
            FrameNet::V4 { .. } => {
                ip.icmpv4_echo_request(*id, *sequence).write(&mut bytes, &plan.payload).unwrap()
            }
            FrameNet::V6 { .. } => {
                ip.icmpv6_echo_request(*id, *sequence).write(&mut bytes, &plan.payload).unwrap()
            }
        },
    }
    bytes
}

/// Asserts that the transport header and payload are those of the plan.
fn check_transport(plan: &FramePlan, protocol: u8, bytes: &[u8]) {
    match (&plan.transport, protocol) {
        (Transport::Udp { ports }, protocol::UDP) => {
            let udp = Udp::new(bytes).unwrap();
            assert_eq!((udp.source_port(), udp.destination_port()), *ports);
            assert_eq!(usize::from(udp.length()), 8 + plan.payload.len());
            assert_eq!(udp.payload(), plan.payload);
        }
        (Transport::Tcp { ports, sequence, window, options }, protocol::TCP) => {
            let tcp = Tcp::new(bytes).unwrap();
            assert_eq!((tcp.source_port(), tcp.destination_port()), *ports);
            assert_eq!(
                (tcp.sequence(), tcp.acknowledgement(), tcp.window()),
                (*sequence, 7, *window)
            );
            assert_eq!((tcp.flags(), tcp.options()), (0x012, &options.concat()[..]));
            assert_eq!(tcp.payload(), plan.payload);
        }
        (Transport::Ping { id, sequence }, protocol::ICMP) => {
            let icmp = Icmp::new(bytes).unwrap();
            assert_eq!(icmp.echo(), Some((*id, *sequence)));
            assert_eq!(icmp.payload(), plan.payload);
        }
        (Transport::Ping { id, sequence }, protocol::ICMPV6) => {
            let icmp = Icmpv6::new(bytes).unwrap();
            assert_eq!(icmp.echo(), Some((*id, *sequence)));
            assert_eq!(icmp.body()[4..], plan.payload);
        }
        (transport, protocol) => panic!("protocol {protocol} for {transport:?}"),
    }
}

proptest! {
    /// What etherparse wrote is read back field by field.
    #[test]
    fn frames_written_by_etherparse_are_read_as_they_were_meant(plan in plan()) {
        let bytes = build(&plan);
        let frame = Ethernet::new(&bytes).unwrap();
        prop_assert_eq!((frame.destination(), frame.source()), (plan.destination, plan.source));
        prop_assert_eq!(frame.tags().map(|tag| tag.vid()).collect::<Vec<_>>(), plan.vlans.clone());
        prop_assert_eq!(frame.vlan(), plan.vlans.first().copied().filter(|&vid| vid != 0));
        match plan.net {
            FrameNet::V4 { source, destination, ttl } => {
                prop_assert_eq!(frame.ethertype(), ethertype::IPV4);
                let ip = Ipv4::new(frame.payload()).unwrap();
                prop_assert_eq!((ip.source().octets(), ip.destination().octets(), ip.ttl()), (source, destination, ttl));
                check_transport(&plan, ip.protocol(), ip.transport().unwrap());
            }
            FrameNet::V6 { source, destination, hop_limit } => {
                prop_assert_eq!(frame.ethertype(), ethertype::IPV6);
                let ip = Ipv6::new(frame.payload()).unwrap();
                prop_assert_eq!((ip.source().octets(), ip.destination().octets(), ip.hop_limit()), (source, destination, hop_limit));
                let (protocol, bytes) = ip.transport().unwrap();
                check_transport(&plan, protocol, bytes);
            }
        }
    }

    /// Cut anywhere and with any byte changed: what etherparse can still read, we read too, and
    /// alike.
    #[test]
    fn damaged_frames_are_read_as_etherparse_reads_them(plan in plan(), at: prop::sample::Index, value in prop_oneof![any::<u8>(), Just(0), Just(u8::MAX)], cut: prop::sample::Index) {
        let mut bytes = build(&plan);
        let last = bytes.len() - 1;
        *at.get_mut(&mut bytes) = value;
        bytes.truncate(last.max(64).min(cut.index(4 * last) + 14));
        let Ok(sliced) = SlicedPacket::from_ethernet(&bytes) else { return Ok(()) };
        let frame = Ethernet::new(&bytes).unwrap();
        match (&plan.net, sliced.net.is_some(), sliced.transport) {
            (FrameNet::V4 { .. }, true, Some(transport)) if frame.ethertype() == ethertype::IPV4 => {
                let packet = Ipv4::new(frame.payload()).unwrap();
                same_transport(&transport, packet.transport().unwrap());
            }
            (FrameNet::V6 { .. }, true, Some(transport)) if frame.ethertype() == ethertype::IPV6 => {
                let packet = Ipv6::new(frame.payload()).unwrap();
                match packet.payload_length() {
                    // Of a jumbogram, as for UDP below.
                    0 => prop_assert!(packet.payload().is_empty()),
                    _ => same_transport(&transport, packet.transport().unwrap().1),
                }
            }
            _ => {}
        }
    }

    /// Arbitrary bytes behind a plausible first one: where etherparse finds an IPv4 header, we find
    /// the same.
    #[test]
    fn ipv4_headers_are_those_that_etherparse_finds(words in 5u8..16, total in 0u8..100, mut bytes in prop::collection::vec(any::<u8>(), 20..100)) {
        (bytes[0], bytes[2], bytes[3]) = (0x40 | words, 0, total);
        let Ok(theirs) = Ipv4Slice::from_slice(&bytes) else { return Ok(()) };
        let (ours, theirs) = (Ipv4::new(&bytes).unwrap(), theirs.header());
        prop_assert_eq!((ours.dscp(), ours.ecn()), (theirs.dcp().value(), theirs.ecn().value()));
        prop_assert_eq!((ours.total_length(), ours.identification()), (theirs.total_len(), theirs.identification()));
        prop_assert_eq!((ours.dont_fragment(), ours.more_fragments()), (theirs.dont_fragment(), theirs.more_fragments()));
        prop_assert_eq!(ours.fragment_offset(), theirs.fragments_offset().value() * 8);
        prop_assert_eq!((ours.ttl(), ours.protocol(), ours.checksum()), (theirs.ttl(), theirs.protocol().0, theirs.header_checksum()));
        prop_assert_eq!(ours.is_fragment(), theirs.is_fragmenting_payload());
        let header_len = usize::from(words) * 4;
        prop_assert_eq!(ours.payload(), &bytes[header_len..usize::from(total)]);
    }

    /// Chains of extension headers end where etherparse says they end.
    #[test]
    fn ipv6_extension_headers_are_passed_over_as_etherparse_does(kinds in prop::collection::vec(prop_oneof![Just(43u8), Just(44), Just(60), Just(51)], 0..4), payload in prop::collection::vec(any::<u8>(), 8..40)) {
        let mut behind = Vec::new();
        for (at, &kind) in kinds.iter().enumerate() {
            let next = kinds.get(at + 1).copied().unwrap_or(protocol::UDP);
            let length = if kind == 51 { 1 } else { 0 };
            behind.extend([next, length, 0, 0, 0, 0, 0, 0]);
            behind.extend(vec![0; if kind == 51 { 4 } else { 0 }]);
        }
        behind.extend(&payload);
        let mut bytes = vec![0x60, 0, 0, 0, 0, behind.len() as u8, kinds.first().copied().unwrap_or(protocol::UDP), 64];
        bytes.extend([0x20; 32]);
        bytes.extend(&behind);
        let ours = Ipv6::new(&bytes).unwrap();
        prop_assert_eq!(ours.transport(), Some((protocol::UDP, &payload[..])));
        prop_assert_eq!(ours.extensions().map(|header| header.kind).collect::<Vec<_>>(), kinds);
        if let Ok(theirs) = Ipv6Slice::from_slice(&bytes) && theirs.payload().ip_number.0 == protocol::UDP {
            prop_assert_eq!(theirs.payload().payload, &payload);
        }
    }

    /// An ARP message that smoltcp wrote is read, and one that we wrote is read by smoltcp.
    #[test]
    fn arp_agrees_with_smoltcp_both_ways(sender_mac: [u8; 6], sender_ip: [u8; 4], target_mac: [u8; 6], target_ip: [u8; 4], reply: bool) {
        let operation = if reply { ArpOperation::Reply } else { ArpOperation::Request };
        let theirs = ArpRepr::EthernetIpv4 {
            operation,
            source_hardware_addr: EthernetAddress(sender_mac),
            source_protocol_addr: sender_ip.into(),
            target_hardware_addr: EthernetAddress(target_mac),
            target_protocol_addr: target_ip.into(),
        };
        let mut bytes = vec![0; theirs.buffer_len()];
        theirs.emit(&mut ArpPacket::new_unchecked(&mut bytes));
        let ours = Arp::new(&bytes).unwrap();
        let message = arp::ArpMessage {
            operation: ours.operation(),
            sender_mac: ours.sender_mac(),
            sender_ip: ours.sender_ip(),
            target_mac: ours.target_mac(),
            target_ip: ours.target_ip(),
        };
        prop_assert_eq!(message.operation, if reply { arp::REPLY } else { arp::REQUEST });
        prop_assert_eq!((message.sender_mac, message.sender_ip.octets()), (sender_mac, sender_ip));
        prop_assert_eq!((message.target_mac, message.target_ip.octets()), (target_mac, target_ip));
        prop_assert_eq!(&message.to_bytes()[..], &bytes);
    }

    /// Neighbour Discovery as smoltcp writes it.
    #[test]
    fn neighbour_discovery_agrees_with_smoltcp(target: [u8; 16], mac: [u8; 6], says: bool, flags in 0u8..8) {
        let (target_addr, lladdr) = (target.into(), Some(EthernetAddress(mac).into()));
        let repr = if says {
            NdiscRepr::NeighborAdvert { flags: NdiscNeighborFlags::from_bits_truncate(flags << 5), target_addr, lladdr }
        } else {
            NdiscRepr::NeighborSolicit { target_addr, lladdr }
        };
        let repr = Icmpv6Repr::Ndisc(repr);
        let mut bytes = vec![0; repr.buffer_len()];
        let here = [0xfe; 16].into();
        repr.emit(&here, &here, &mut Icmpv6Packet::new_unchecked(&mut bytes), &ChecksumCapabilities::ignored());
        let neighbour = Icmpv6::new(&bytes).unwrap().neighbour().unwrap();
        prop_assert_eq!((neighbour.target().octets(), neighbour.is_advertisement()), (target, says));
        let expected = if says { (None, Some(mac)) } else { (Some(mac), None) };
        prop_assert_eq!((neighbour.source_link_layer(), neighbour.target_link_layer()), expected);
        let read = u8::from(neighbour.from_router()) << 2 | u8::from(neighbour.solicited()) << 1 | u8::from(neighbour.overrides());
        prop_assert_eq!(read, if says { flags } else { 0 });
    }

    /// Neighbour Discovery as we write it, checksum and all, smoltcp reads; and any changed byte it
    /// refuses.
    #[test]
    fn our_neighbour_discovery_is_read_by_smoltcp(target: [u8; 16], mac: [u8; 6], flags: Option<(bool, bool, bool)>, addresses: ([u8; 16], [u8; 16]), at in 0..neighbour::LEN, change in 1u8..) {
        let (source, destination) = (addresses.0.into(), addresses.1.into());
        let message = neighbour::NeighbourMessage { advertises: flags, target: target.into(), mac };
        let mut bytes = message.to_bytes(source, destination);
        prop_assert_eq!(icmpv6::checksum(source, destination, &bytes), 0);
        let read = |bytes: &[u8]| {
            let packet = Icmpv6Packet::new_checked(bytes).ok()?;
            Icmpv6Repr::parse(&source, &destination, &packet, &ChecksumCapabilities::default()).ok().map(|repr| format!("{repr:?}"))
        };
        let (target_addr, lladdr) = (target.into(), Some(EthernetAddress(mac).into()));
        let expected = Icmpv6Repr::Ndisc(match flags {
            None => NdiscRepr::NeighborSolicit { target_addr, lladdr },
            Some((router, solicited, overrides)) => {
                let bits = u8::from(router) << 7 | u8::from(solicited) << 6 | u8::from(overrides) << 5;
                NdiscRepr::NeighborAdvert { flags: NdiscNeighborFlags::from_bits_truncate(bits), target_addr, lladdr }
            }
        });
        prop_assert_eq!(read(&bytes), Some(format!("{expected:?}")));
        bytes[at] ^= change;
        prop_assert_ne!(icmpv6::checksum(source, destination, &bytes), 0);
    }

    /// DHCP as smoltcp writes it.
    #[test]
    fn dhcp_agrees_with_smoltcp(xid: u32, mac: [u8; 6], wanted: Option<[u8; 4]>, server: Option<[u8; 4]>, kind in 1u8..9) {
        let message_type = DhcpMessageType::from(kind);
        let repr = DhcpRepr {
            message_type,
            transaction_id: xid,
            secs: 0,
            client_hardware_address: EthernetAddress(mac),
            client_ip: [1; 4].into(),
            your_ip: [2; 4].into(),
            server_ip: [3; 4].into(),
            router: None,
            subnet_mask: None,
            relay_agent_ip: [4; 4].into(),
            broadcast: false,
            requested_ip: wanted.map(Into::into),
            client_identifier: Some(EthernetAddress(mac)),
            server_identifier: server.map(Into::into),
            parameter_request_list: Some(&[1, 3, 6]),
            dns_servers: None,
            max_size: Some(1500),
            lease_duration: None,
            renew_duration: None,
            rebind_duration: None,
            additional_options: &[],
        };
        let mut bytes = vec![0; repr.buffer_len()];
        repr.emit(&mut DhcpPacket::new_unchecked(&mut bytes)).unwrap();
        let dhcp = Dhcp::new(&bytes).unwrap();
        prop_assert_eq!((dhcp.xid(), dhcp.chaddr(), dhcp.message_type()), (xid, Some(mac), Some(kind)));
        prop_assert_eq!(dhcp.requested_ip().map(|ip| ip.octets()), wanted);
        prop_assert_eq!(dhcp.server_id().map(|ip| ip.octets()), server);
        prop_assert_eq!((dhcp.ciaddr().octets(), dhcp.yiaddr().octets(), dhcp.giaddr().octets()), ([1; 4], [2; 4], [4; 4]));
    }

    /// The Ethernet header that we write is read by etherparse.
    #[test]
    fn the_ethernet_header_agrees_with_etherparse(destination: [u8; 6], source: [u8; 6], kind: u16) {
        let bytes = ethernet::header(destination, source, kind);
        let (theirs, _) = etherparse::Ethernet2Header::from_slice(&bytes).unwrap();
        prop_assert_eq!((theirs.destination, theirs.source, theirs.ether_type.0), (destination, source, kind));
    }
}

/// Asserts that the transport header that etherparse found is the one at the front of `bytes`.
fn same_transport(theirs: &TransportSlice<'_>, bytes: &[u8]) {
    match theirs {
        TransportSlice::Udp(_) => {
            let theirs = UdpSlice::from_slice(bytes).unwrap();
            if theirs.length() == 0 {
                // A jumbogram (RFC 2675), which is longer than a frame can be: etherparse takes the
                // length as unknown, and RFC 768 has none below eight.
                assert!(Udp::new(bytes).is_none());
                return;
            }
            let ours = Udp::new(bytes).unwrap();
            assert_eq!(ours.source_port(), theirs.source_port());
            assert_eq!(ours.destination_port(), theirs.destination_port());
            assert_eq!(ours.checksum(), theirs.checksum());
            assert_eq!(ours.payload(), theirs.payload());
        }
        TransportSlice::Tcp(_) => {
            let (theirs, ours) = (TcpSlice::from_slice(bytes).unwrap(), Tcp::new(bytes).unwrap());
            assert_eq!(ours.source_port(), theirs.source_port());
            assert_eq!(ours.destination_port(), theirs.destination_port());
            assert_eq!(ours.checksum(), theirs.checksum());
            assert_eq!((ours.options(), ours.payload()), (theirs.options(), theirs.payload()));
        }
        TransportSlice::Icmpv4(theirs) => {
            let ours = Icmp::new(bytes).unwrap();
            assert_eq!((ours.kind(), ours.code()), (theirs.type_u8(), theirs.code_u8()));
        }
        TransportSlice::Icmpv6(theirs) => {
            let ours = Icmpv6::new(bytes).unwrap();
            assert_eq!((ours.kind(), ours.code()), (theirs.type_u8(), theirs.code_u8()));
        }
        // A changed byte makes it one that this crate does not read, such as IGMP.
        _ => {}
    }
}
