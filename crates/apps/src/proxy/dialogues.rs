//! Dialogues over the whole pipeline: topology and hosts see what hosts say, and the proxies answer
//! from it.

use core::time::Duration;

use aldis_control::app::Event;
use aldis_packet::{arp, ethernet, ethertype};
use aldis_wire::Version;
use aldis_wire::msg::{Action, Message, PortNo};

use crate::hosts::{self, HostTracker};
use crate::learning_switch::Seed;
use crate::testing::switch::{TestSwitch, request};
use crate::topology::{self, TagKey, Topology};
use crate::{ArpProxy, DhcpProxy, Hub, NdProxy, dhcp};

fn bench(version: Version) -> TestSwitch {
    let key = TagKey::new([5; 32]);
    let mut bench = TestSwitch::new(version, |app_set| {
        app_set
            .with(move || Topology::new(topology::TopologyConfig::default(), key.clone()))
            .with(|| HostTracker::new(hosts::HostsConfig::new(Seed::new([7; 16]))))
            .with(|| ArpProxy)
            .with(|| NdProxy)
            .with(|| DhcpProxy::new(dhcp::Trust::AnyServer))
            .with(|| Hub)
    });
    bench.happens(Event::Joining);
    bench.happens(Event::Up);
    settle(&mut bench);
    bench
}

/// Everything that was reported is published, and what follows from it.
fn settle(bench: &mut TestSwitch) {
    for _ in 0..4 {
        bench.now = bench.now + Duration::from_millis(5);
        bench.world(&[]);
    }
}

fn mac(host: u8) -> [u8; 6] {
    [2, 0, 0, 0, 0, host]
}

fn asks(host: u8, whom: u8) -> Vec<u8> {
    let message =
        arp::ArpMessage::request(mac(host), [10, 0, 0, host].into(), [10, 0, 0, whom].into());
    let head = ethernet::header(ethernet::BROADCAST, mac(host), ethertype::ARP);
    [&head[..], &message.to_bytes()].concat()
}

/// Where packets leave, and whether they are ARP replies.
fn sent(said: Vec<(u32, Message)>) -> Vec<(PortNo, bool)> {
    let sent = said.into_iter().map(|(_, message)| match message {
        Message::PacketOut(packet) => match packet.actions[..] {
            [Action::Output { port, .. }] => (port, packet.data[20..22] == [0, 2]),
            ref other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    });
    sent.collect()
}

#[test]
fn who_is_known_is_spoken_for_and_nobody_else_is_asked() {
    for version in Version::ALL {
        let mut bench = bench(version);
        let flooded = [(PortNo::FLOOD, false)];
        assert_eq!(sent(bench.request(&mut [request(1, &asks(1, 2))])), flooded, "nobody is known");
        settle(&mut bench);
        assert_eq!(sent(bench.request(&mut [request(2, &asks(2, 1))])), [(PortNo(2), true)]);
        settle(&mut bench);
        assert_eq!(sent(bench.request(&mut [request(1, &asks(1, 2))])), [(PortNo(1), true)]);
        // A host that claims to be another is not heard, whatever it asks.
        assert!(sent(bench.request(&mut [request(3, &asks(1, 2))])).is_empty());
        assert_eq!(sent(bench.request(&mut [request(3, &asks(3, 9))])), flooded);
    }
}

#[test]
fn who_was_silent_is_asked_itself_where_it_is() {
    let mut bench = bench(Version::V13);
    bench.request(&mut [request(1, &asks(1, 9)), request(2, &asks(2, 9))]);
    settle(&mut bench);
    bench.now = bench.now + crate::arp_proxy::SPEAK_FOR + Duration::from_secs(1);
    assert!(sent(bench.request(&mut [request(1, &asks(1, 2))])).is_empty());
    let (_, pieces) = bench.out.commands().pieces();
    let places: Vec<_> = pieces.iter().map(|piece| piece.to).collect();
    assert_eq!(places, [bench.info().dpid]);
}
