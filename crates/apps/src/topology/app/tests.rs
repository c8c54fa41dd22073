//! The application over the pipeline: what it sends, what it believes, and what others read of it.

use std::collections::BTreeSet;

use aldis_control::AppSet;
use aldis_wire::msg::{FlowRemoved, FlowRemovedReason, TableNo};
use aldis_wire::{DatapathId, Version};

use super::*;
use crate::LearningSwitch;
use crate::lab::Lab;
use crate::learning_switch::{self, Seed};
use crate::topology::{Ends, State};
use aldis_control::account::{PORT_BYTES, SWITCH_BYTES};

fn at(dpid: u64, port: u32) -> SwitchPort {
    SwitchPort::new(dpid, port)
}

fn app_set() -> AppSet {
    AppSet::default().with(|| Discovery::new(Config::default(), Key::new([9; 32])))
}

/// A ring of five switches, with hosts behind their ports 3.
fn ring() -> Lab {
    let mut lab = Lab::new(&app_set());
    (1..=5).for_each(|dpid| lab.plug(at(dpid, 1), at(dpid % 5 + 1, 2)));
    (1..=5).for_each(|dpid| lab.join(dpid, Version::ALL[dpid as usize % 2], 3));
    lab
}

fn links(lab: &Lab) -> BTreeSet<Ends> {
    let up = lab.part::<Map>().links().filter(|(_, peer)| peer.state == State::Up);
    up.map(|(from, peer)| Ends::new(from, peer.at)).collect()
}

fn real() -> BTreeSet<Ends> {
    (1..=5).map(|dpid| Ends::new(at(dpid, 1), at(dpid % 5 + 1, 2))).collect()
}

#[test]
fn a_ring_is_found_and_known_within_two_seconds() {
    let mut lab = ring();
    lab.pass(20);
    assert_eq!(links(&lab), real());
    let known = |lab: &Lab, at| lab.part::<Map>().port(at).unwrap().known;
    assert!(known(&lab, at(1, 1)) && !known(&lab, at(1, 3)));
    lab.pass(1580);
    assert!((1..=5).all(|dpid| known(&lab, at(dpid, 3))));
    let map = lab.part::<Map>();
    let switch = map.switch(DatapathId(2)).unwrap();
    assert_eq!((switch.version, switch.ports.len()), (Version::ALL[0], 3));
    assert_eq!(switch.ports[0].speed_kbps, 10_000_000);
    assert!(lab.said.iter().any(|said| said.ends_with("/1 - 0000000000000002/2 is up")));
}

#[test]
fn every_switch_is_told_to_bring_probes_here_before_anything_else() {
    let lab = ring();
    assert_eq!(lab.flows.len(), 10);
    for (_, flow) in &lab.flows {
        assert_eq!((flow.priority, flow.cookie, flow.idle_timeout), (PRIORITY, COOKIE.0, 0));
    }
}

#[test]
fn the_flows_that_bring_probes_come_back_within_a_second() {
    let mut lab = ring();
    lab.pass(2000);
    lab.flows.clear();
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
    lab.happens(DatapathId(1), &removed(COOKIE.0 + 1));
    lab.pass(1000);
    assert!(lab.flows.is_empty(), "another's is not put back");
    // However often: both of them once.
    (0..100).for_each(|_| lab.happens(DatapathId(1), &removed(COOKIE.0)));
    lab.pass(1000);
    let back: Vec<FlowMod> = lab.flows.drain(..).map(|(_, flow)| flow).collect();
    assert!(flows().eq(back.iter().cloned()), "{back:?}");
    assert!(back.iter().all(|flow| flow.flags == FlowModFlags::SEND_FLOW_REM));
    lab.pass(1000);
    assert!(lab.flows.is_empty());
}

#[test]
fn a_link_goes_with_its_port_at_once_and_comes_back_with_it() {
    let mut lab = ring();
    lab.pass(2000);
    let cut = Ends::new(at(1, 1), at(2, 2));
    lab.turn(at(1, 1), false);
    lab.pass(1);
    let left: BTreeSet<_> = real().into_iter().filter(|&ends| ends != cut).collect();
    assert!(links(&lab) == left && lab.part::<Map>().port(at(1, 1)).is_none());
    let other = lab.part::<Map>().port(at(2, 2)).unwrap();
    assert!(!other.is_link() && !other.known, "its other end stays up: it is to be doubted");
    lab.turn(at(1, 1), true);
    lab.pass(1000);
    assert_eq!(links(&lab), real());
    lab.leave(3);
    lab.pass(1);
    assert!(links(&lab).len() == 3 && lab.part::<Map>().switch(DatapathId(3)).is_none());
}

#[test]
fn a_link_that_vanishes_while_its_ports_stay_up_leaves_them_in_doubt_for_a_while() {
    let mut lab = ring();
    lab.pass(2000);
    lab.unplug(at(1, 1));
    let port = |lab: &Lab| lab.part::<Map>().port(at(1, 1)).unwrap().clone();
    while port(&lab).is_link() {
        lab.pass(100);
        assert!(lab.now.0 < 60_000_000_000, "it is missed");
    }
    assert!(!port(&lab).known);
    lab.pass(2000);
    assert!(port(&lab).known && !port(&lab).is_link());
    assert!(lab.said.iter().any(|said| said.contains("is gone")));
}

#[test]
fn a_switch_that_connects_anew_is_another_one() {
    let mut lab = ring();
    lab.pass(2000);
    let before = lab.part::<Map>().switch(DatapathId(1)).unwrap().since;
    lab.leave(1);
    lab.join(1, Version::V13, 2);
    lab.pass(1000);
    assert_eq!(links(&lab), real());
    let switch = lab.part::<Map>().switch(DatapathId(1)).unwrap();
    assert!(switch.since > before && switch.ports.len() == 2);
}

#[test]
fn what_is_forged_replayed_or_changed_is_counted_and_foreign_lldp_goes_on() {
    let mut lab = ring();
    lab.pass(2500);
    let (_, ours) = lab.left.iter().find(|(from, _)| *from == at(1, 3)).cloned().unwrap();
    let mut changed = ours.clone();
    changed[60] ^= 1;
    for _ in 0..1000 {
        lab.asks(at(2, 3), &ours);
        lab.asks(at(2, 3), &changed);
    }
    let foreign = [&[1, 0x80, 0xc2, 0, 0, 0xe, 2, 0, 0, 0, 0, 1, 0x88, 0xcc], &[0; 46][..]];
    lab.asks(at(2, 3), &foreign.concat());
    lab.pass(7000);
    assert_eq!(links(&lab), real());
    let counters = lab.part::<Search>().counters();
    assert_eq!(counters.replayed + counters.late, 1000, "{counters:?}");
    assert_eq!((counters.altered + counters.forged, counters.foreign), (1000, 1), "{counters:?}");
}

#[test]
fn nobody_behind_it_floods_a_probe() {
    let settings = learning_switch::Config::new(Seed::new([7; 16]));
    let mut lab = Lab::new(&app_set().with(move || LearningSwitch::new(settings)));
    lab.join(1, Version::V13, 3);
    lab.join(2, Version::V13, 3);
    lab.plug(at(1, 1), at(2, 1));
    lab.pass(5000);
    let ports: BTreeSet<_> = lab.sent.iter().map(|(at, _)| at.port.0).collect();
    assert!(ports.iter().all(|&port| (1..=3).contains(&port)), "{ports:?}");
    assert_eq!(lab.part::<Map>().links().count(), 1);
}

/// What a full queue refused is told when there is room.
#[test]
fn what_was_not_told_is_told_later() {
    let mut lab = Lab::new(&app_set());
    lab.join(1, Version::V13, 2);
    lab.pass(10);
    // Nobody takes the reports while time stands still.
    let mut flaps = 0;
    while flaps < 20_000 {
        lab.turn(at(1, 2), flaps % 2 == 1);
        flaps += 1;
    }
    lab.turn(at(1, 2), false);
    lab.pass(1100);
    assert!(lab.part::<Map>().port(at(1, 2)).is_none());
    assert!(lab.part::<Map>().port(at(1, 1)).is_some());
}

#[test]
fn a_link_whose_port_was_down_for_a_moment_unsaid_is_looked_for_anew() {
    let mut lab = ring();
    lab.pass(2000);
    (0..20_000).for_each(|flap| lab.turn(at(1, 3), flap % 2 == 1));
    // Nobody can be told of this now.
    lab.turn(at(1, 1), false);
    lab.turn(at(1, 1), true);
    lab.pass(1500);
    assert!(lab.said.iter().any(|said| said.contains("is gone")));
    assert_eq!(links(&lab), real());
}

/// It can name four billion.
#[test]
fn a_switch_has_no_more_ports_than_its_account_has_room_for() {
    let mut lab = Lab::new(&app_set());
    lab.join(1, Version::V13, 2);
    lab.pass(10);
    (3..10_000).for_each(|port| lab.turn(at(1, port), true));
    // They are too many to be told one by one.
    lab.pass(1100);
    let switch = lab.part::<Map>().switch(DatapathId(1)).unwrap();
    assert_eq!(switch.ports.len(), SWITCH_BYTES / PORT_BYTES);
    assert!(lab.said.iter().any(|said| said.contains("has more ports than")), "{:?}", lab.said);
}

#[test]
fn latency_is_what_the_round_trips_leave() {
    let mut lab = ring();
    lab.pass(90_000);
    for (_, peer) in lab.part::<Map>().links() {
        // A probe is a millisecond on its way here, and so is a barrier, there and back.
        assert!((1..=1000).contains(&peer.latency_us), "{peer:?}");
    }
}
