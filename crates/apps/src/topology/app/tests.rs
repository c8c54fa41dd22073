//! The application over the pipeline: what it sends, what it believes, and what others read of it.

use std::collections::BTreeSet;

use aldis_control::AppSet;
use aldis_wire::msg::{FlowRemoved, FlowRemovedReason, TableNo};
use aldis_wire::{DatapathId, Version};

use super::*;
use crate::LearningSwitch;
use crate::learning_switch::{self, Seed};
use crate::testing::network::TestNetwork;
use crate::topology::{Ends, LinkState};
use aldis_control::account::{PORT_BYTES, SWITCH_BYTES};

fn at(dpid: u64, port: u32) -> SwitchPort {
    SwitchPort::new(dpid, port)
}

fn app_set() -> AppSet {
    AppSet::default().with(|| Topology::new(TopologyConfig::default(), TagKey::new([9; 32])))
}

/// A ring of five switches, with hosts behind their ports 3.
fn ring() -> TestNetwork {
    let mut net = TestNetwork::new(&app_set());
    (1..=5).for_each(|dpid| net.plug(at(dpid, 1), at(dpid % 5 + 1, 2)));
    (1..=5).for_each(|dpid| net.join(dpid, Version::ALL[dpid as usize % 2], 3));
    net
}

fn links(net: &TestNetwork) -> BTreeSet<Ends> {
    let up = net.part::<Map>().links().filter(|link| link.state == LinkState::Up);
    up.map(|link| link.ends).collect()
}

fn real() -> BTreeSet<Ends> {
    (1..=5).map(|dpid| Ends::new(at(dpid, 1), at(dpid % 5 + 1, 2))).collect()
}

#[test]
fn a_ring_is_found_and_known_within_two_seconds() {
    let mut net = ring();
    net.pass(20);
    assert_eq!(links(&net), real());
    let known = |net: &TestNetwork, at| net.part::<Map>().port(at).unwrap().known;
    assert!(known(&net, at(1, 1)) && !known(&net, at(1, 3)));
    net.pass(1580);
    assert!((1..=5).all(|dpid| known(&net, at(dpid, 3))));
    let map = net.part::<Map>();
    let switch = map.switch(DatapathId(2)).unwrap();
    assert_eq!((switch.version, switch.ports.len()), (Version::ALL[0], 3));
    assert_eq!(switch.ports[0].speed_kbps, 10_000_000);
    assert!(net.said.iter().any(|said| said.ends_with("/1 - 0000000000000002/2 is up")));
}

#[test]
fn every_switch_is_told_to_bring_probes_here_before_anything_else() {
    let net = ring();
    assert_eq!(net.flows.len(), 10);
    for (_, flow) in &net.flows {
        assert_eq!((flow.priority, flow.cookie, flow.idle_timeout), (PRIORITY, COOKIE.0, 0));
    }
}

#[test]
fn the_flows_that_bring_probes_come_back_within_a_second() {
    let mut net = ring();
    net.pass(2000);
    net.flows.clear();
    let removed = |cookie| {
        Event::FlowRemoved(Box::new(FlowRemoved {
            cookie,
            priority: PRIORITY,
            reason: FlowRemovedReason::DELETE,
            table_id: TableNo(0),
            duration_sec: 2,
            duration_nsec: 0,
            idle_timeout: 0,
            hard_timeout: 0,
            packet_count: 1,
            byte_count: 60,
            match_: Match::new().eth_type(ethertype::LLDP),
        }))
    };
    net.happens(DatapathId(1), &removed(COOKIE.0 + 1));
    net.pass(1000);
    assert!(net.flows.is_empty(), "another's is not put back");
    // However often: both of them once.
    (0..100).for_each(|_| net.happens(DatapathId(1), &removed(COOKIE.0)));
    net.pass(1000);
    let back: Vec<FlowMod> = net.flows.drain(..).map(|(_, flow)| flow).collect();
    assert!(flows().eq(back.iter().cloned()), "{back:?}");
    assert!(back.iter().all(|flow| flow.flags == FlowModFlags::SEND_FLOW_REM));
    net.pass(1000);
    assert!(net.flows.is_empty());
}

#[test]
fn a_link_goes_with_its_port_at_once_and_comes_back_with_it() {
    let mut net = ring();
    net.pass(2000);
    let cut = Ends::new(at(1, 1), at(2, 2));
    net.turn(at(1, 1), false);
    net.pass(1);
    let left: BTreeSet<_> = real().into_iter().filter(|&ends| ends != cut).collect();
    assert!(links(&net) == left && net.part::<Map>().port(at(1, 1)).is_none());
    let other = net.part::<Map>().port(at(2, 2)).unwrap();
    assert!(!other.is_link() && !other.known, "its other end stays up: it is to be doubted");
    net.turn(at(1, 1), true);
    net.pass(1000);
    assert_eq!(links(&net), real());
    net.leave(3);
    net.pass(1);
    assert!(links(&net).len() == 3 && net.part::<Map>().switch(DatapathId(3)).is_none());
}

#[test]
fn a_link_that_vanishes_while_its_ports_stay_up_leaves_them_in_doubt_for_a_while() {
    let mut net = ring();
    net.pass(2000);
    net.unplug(at(1, 1));
    let port = |net: &TestNetwork| net.part::<Map>().port(at(1, 1)).unwrap().clone();
    while port(&net).is_link() {
        net.pass(100);
        assert!(net.now.0 < 60_000_000_000, "it is missed");
    }
    assert!(!port(&net).known);
    net.pass(2000);
    assert!(port(&net).known && !port(&net).is_link());
    assert!(net.said.iter().any(|said| said.contains("is gone")));
}

#[test]
fn a_switch_that_connects_anew_is_another_one() {
    let mut net = ring();
    net.pass(2000);
    let before = net.part::<Map>().switch(DatapathId(1)).unwrap().since;
    net.leave(1);
    net.join(1, Version::V13, 2);
    net.pass(1000);
    assert_eq!(links(&net), real());
    let switch = net.part::<Map>().switch(DatapathId(1)).unwrap();
    assert!(switch.since > before && switch.ports.len() == 2);
}

#[test]
fn what_is_forged_replayed_or_changed_is_counted_and_foreign_lldp_goes_on() {
    let mut net = ring();
    net.pass(2500);
    let (_, ours) = net.left.iter().find(|(from, _)| *from == at(1, 3)).cloned().unwrap();
    let mut changed = ours.clone();
    changed[60] ^= 1;
    for _ in 0..1000 {
        net.asks(at(2, 3), &ours);
        net.asks(at(2, 3), &changed);
    }
    let foreign = [&[1, 0x80, 0xc2, 0, 0, 0xe, 2, 0, 0, 0, 0, 1, 0x88, 0xcc], &[0; 46][..]];
    net.asks(at(2, 3), &foreign.concat());
    net.pass(7000);
    assert_eq!(links(&net), real());
    let counters = net.part::<Search>().counters();
    assert_eq!(counters.replayed + counters.late, 1000, "{counters:?}");
    assert_eq!((counters.altered + counters.forged, counters.foreign), (1000, 1), "{counters:?}");
}

#[test]
fn nobody_behind_it_floods_a_probe() {
    let settings = learning_switch::LearningConfig::new(Seed::new([7; 16]));
    let mut net = TestNetwork::new(&app_set().with(move || LearningSwitch::new(settings)));
    net.join(1, Version::V13, 3);
    net.join(2, Version::V13, 3);
    net.plug(at(1, 1), at(2, 1));
    net.pass(5000);
    let ports: BTreeSet<_> = net.sent.iter().map(|(at, _)| at.port.0).collect();
    assert!(ports.iter().all(|&port| (1..=3).contains(&port)), "{ports:?}");
    assert_eq!(net.part::<Map>().links().count(), 1);
}

/// What a full queue refused is told when there is room.
#[test]
fn what_was_not_told_is_told_later() {
    let mut net = TestNetwork::new(&app_set());
    net.join(1, Version::V13, 2);
    net.pass(10);
    // No report is taken while time stands still.
    let mut flaps = 0;
    while flaps < 20_000 {
        net.turn(at(1, 2), flaps % 2 == 1);
        flaps += 1;
    }
    net.turn(at(1, 2), false);
    net.pass(1100);
    assert!(net.part::<Map>().port(at(1, 2)).is_none());
    assert!(net.part::<Map>().port(at(1, 1)).is_some());
}

#[test]
fn a_link_whose_port_was_down_for_a_moment_unsaid_is_looked_for_anew() {
    let mut net = ring();
    net.pass(2000);
    (0..20_000).for_each(|flap| net.turn(at(1, 3), flap % 2 == 1));
    // The queue is full: this cannot be reported now.
    net.turn(at(1, 1), false);
    net.turn(at(1, 1), true);
    net.pass(1500);
    assert!(net.said.iter().any(|said| said.contains("is gone")));
    assert_eq!(links(&net), real());
}

/// It can name four billion.
#[test]
fn a_switch_has_no_more_ports_than_its_account_has_room_for() {
    let mut net = TestNetwork::new(&app_set());
    net.join(1, Version::V13, 2);
    net.pass(10);
    (3..10_000).for_each(|port| net.turn(at(1, port), true));
    // They are too many to be told one by one.
    net.pass(1100);
    let switch = net.part::<Map>().switch(DatapathId(1)).unwrap();
    assert_eq!(switch.ports.len(), SWITCH_BYTES / PORT_BYTES);
    assert!(net.said.iter().any(|said| said.contains("has more ports than")), "{:?}", net.said);
}

#[test]
fn latency_is_what_the_round_trips_leave() {
    let mut net = ring();
    net.pass(90_000);
    for link in net.part::<Map>().links() {
        // A probe is a millisecond on its way here, and so is a barrier, there and back.
        assert!(link.latency_us.is_some_and(|us| us <= 1000), "{link:?}");
    }
}
