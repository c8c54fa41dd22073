//! Guests against a real engine: what passes both ways, what does not, and what a guest that
//! misbehaves costs others.

mod encrypted;
mod experimenters;
mod readers;
mod shares;
mod stage;

use std::io::Write;
use std::time::Instant;

use aldis_control::Cookie;
use aldis_emulator::peer::{Peer, bare};
use aldis_guest::{GuestError, GuestSpec, GuestState, Otherwise};
use aldis_wire::header::kind;
use aldis_wire::msg::{
    Action, Features, Field, FlowMod, FlowModFlags, FlowStatsRequest, Match, Message, PacketOut,
    PortNo, StatsRequest, StatsRequestBody,
};
use aldis_wire::{MacAddr, NO_BUFFER, Version};

use stage::{GuestStage, Listening, QUIET, decoded, frame, own, packet_in, send};

const V10: Version = Version::V10;
const V13: Version = Version::V13;

/// The next flow that the switch is told.
fn flow(switch: &mut Peer, version: Version) -> (u32, FlowMod) {
    match decoded(version, &switch.expect(kind::FLOW_MOD).unwrap()) {
        (xid, Message::FlowMod(flow)) => (xid, flow),
        other => panic!("{other:?}"),
    }
}

fn barrier(version: Version) -> (u8, u8) {
    if version == V10 { (18, 19) } else { (20, 21) }
}

/// The type and the code of the next error, and the transaction id that it has.
fn refused(guest: &mut Peer) -> (u32, [u8; 4]) {
    let error = guest.expect(kind::ERROR).unwrap();
    let xid = u32::from_be_bytes(*error[4..8].first_chunk().unwrap());
    (xid, *error[8..12].first_chunk().unwrap())
}

/// What passes in one version, both ways.
fn passes(version: Version) {
    let (stage, listening) = (GuestStage::start(), Listening::new());
    stage.add(listening.spec("null"));
    let mut switch = stage.switch(version, 7);
    let (mut guest, features) = listening.guest(version);
    assert_eq!(features.datapath_id.0, 7);
    stage.until("null", |status| status.state == GuestState::Serving);

    // A request, and its answer with the mark of the guest.
    send(&mut switch, version, 41, packet_in(version, 3, &frame(9, 0)));
    let (_, Message::PacketIn(request)) = decoded(version, &guest.expect(kind::PACKET_IN).unwrap())
    else {
        panic!("no request")
    };
    assert_eq!((request.data, request.buffer_id), (frame(9, 0), NO_BUFFER));
    let answer = FlowMod::add(Match::new().eth_src(MacAddr([2, 0, 0, 0, 0, 9])))
        .cookie(0xabc)
        .actions([Action::output(PortNo(2))]);
    send(&mut guest, version, 55, answer.clone());
    let (xid, there) = flow(&mut switch, version);
    assert_eq!(there.cookie, Cookie::of("null").0 | 0xabc);
    assert_eq!((there.match_, there.instructions), (answer.match_, answer.instructions));

    // The switch refuses it: the guest is told so under its own transaction id.
    let mut error = vec![];
    let codes = if version == V10 { [0, 3, 0, 0] } else { [0, 5, 0, 1] };
    error.extend([version.wire(), kind::ERROR, 0, 20]);
    error.extend(xid.to_be_bytes());
    error.extend(codes);
    error.extend([version.wire(), kind::FLOW_MOD, 0, 80]);
    error.extend(xid.to_be_bytes());
    switch.send(&error).unwrap();
    let error = guest.expect(kind::ERROR).unwrap();
    assert_eq!((&error[4..8], &error[8..12]), (&[0, 0, 0, 55][..], &codes[..]));
    assert_eq!(error[16..20], [0, 0, 0, 55]);

    // A barrier is the switch's to answer.
    let (asks, answers) = barrier(version);
    guest.send(&bare(version, asks, 0x0102_0304)).unwrap();
    let asked = switch.expect(asks).unwrap();
    let mut reached = bare(version, answers, 0);
    reached[4..8].copy_from_slice(&asked[4..8]);
    switch.send(&reached).unwrap();
    assert_eq!(guest.expect(answers).unwrap()[4..8], [1, 2, 3, 4]);

    // An echo is not.
    guest.send(&bare(version, kind::ECHO_REQUEST, 5)).unwrap();
    assert_eq!(guest.expect(kind::ECHO_REPLY).unwrap()[4..8], [0, 0, 0, 5]);
    stage.stop();
}

#[test]
fn requests_answers_errors_and_barriers_pass_in_1_0() {
    passes(V10);
}

#[test]
fn requests_answers_errors_and_barriers_pass_in_1_3() {
    passes(V13);
}

#[test]
fn a_guest_of_the_other_version_is_translated_for() {
    for (native, of_guest) in [(V13, V10), (V10, V13)] {
        let (stage, listening) = (GuestStage::start(), Listening::new());
        stage.add(listening.spec("old"));
        let mut switch = stage.switch(native, 7);
        let mut guest = listening.accept();
        // It speaks no other.
        let mut hello = vec![of_guest.wire(), kind::HELLO, 0, 8, 0, 0, 0, 1];
        if of_guest == V13 {
            hello[3] = 16;
            hello.extend([0, 1, 0, 8, 0, 0, 0, 1 << 4]);
        }
        guest.send(&hello).unwrap();
        assert_eq!(guest.expect(kind::HELLO).unwrap()[0], of_guest.wire());
        stage.until("old", |status| status.state == GuestState::Serving);
        send(&mut switch, native, 41, packet_in(native, 3, &frame(9, 0)));
        let request = guest.expect(kind::PACKET_IN).unwrap();
        let (_, Message::PacketIn(request)) = decoded(of_guest, &request) else { panic!() };
        assert_eq!(request.data, frame(9, 0));
        let answer =
            FlowMod::add(Match::new().in_port(PortNo(3))).actions([Action::output(PortNo::FLOOD)]);
        send(&mut guest, of_guest, 55, answer);
        let (_, there) = flow(&mut switch, native);
        assert_eq!(there.match_, Match::new().in_port(PortNo(3)));
        assert!(Cookie(there.cookie).same_app(Cookie::of("old")));
        stage.stop();
    }
}

#[test]
fn a_guest_removes_and_sees_its_own_flows_alone() {
    let (stage, listening) = (GuestStage::start(), Listening::new());
    stage.add(listening.spec("own"));
    let mut switch = stage.switch(V13, 7);
    let (mut guest, _) = listening.guest(V13);
    stage.until("own", |status| status.state == GuestState::Serving);
    send(&mut guest, V13, 1, FlowMod::delete(Match::new()));
    let (_, there) = flow(&mut switch, V13);
    assert_eq!((there.cookie, there.cookie_mask), (Cookie::of("own").0, Cookie::MASK));
    let all = StatsRequestBody::Flow(FlowStatsRequest::all());
    send(&mut guest, V13, 2, Message::StatsRequest(StatsRequest::new(all)));
    let asked = switch.expect(18).unwrap();
    let (_, Message::StatsRequest(asked)) = decoded(V13, &asked) else { panic!() };
    let StatsRequestBody::Flow(asked) = asked.body else { panic!("{asked:?}") };
    assert_eq!((asked.cookie, asked.cookie_mask), (Cookie::of("own").0, Cookie::MASK));
    // A flow by which the controller gets what matches nothing is there for all.
    let miss = FlowMod::add(Match::new())
        .priority(0)
        .actions([Action::Output { port: PortNo::CONTROLLER, max_len: 0xffff }]);
    send(&mut guest, V13, 3, miss);
    switch.expect_silence(QUIET).unwrap();
    stage.stop();
}

fn vlan(id: u16) -> Field {
    Match::new().vlan(id).fields[0].clone()
}

#[test]
fn two_slices_never_see_each_other() {
    let stage = GuestStage::start();
    let (red, blue) = (Listening::new(), Listening::new());
    stage.add(own(red.spec("red"), "vlan_vid=10"));
    stage.add(own(blue.spec("blue"), "vlan_vid=20"));
    let mut switch = stage.switch(V13, 7);
    let ((mut red, _), (mut blue, _)) = (red.guest(V13), blue.guest(V13));
    for name in ["red", "blue"] {
        stage.until(name, |status| status.state == GuestState::Serving);
    }
    // Each gets its own requests; what is of neither goes on.
    for (guest, other, id) in [(&mut red, false, 10), (&mut blue, true, 20)] {
        send(&mut switch, V13, 1, packet_in(V13, 3, &frame(9, id)));
        let request = decoded(V13, &guest.expect(kind::PACKET_IN).unwrap()).1;
        let Message::PacketIn(request) = request else { panic!() };
        assert_eq!(request.data, frame(9, id), "{other}");
    }
    send(&mut switch, V13, 1, packet_in(V13, 3, &frame(9, 0)));
    let out = decoded(V13, &switch.expect(kind::PACKET_OUT).unwrap()).1;
    let Message::PacketOut(out) = out else { panic!() };
    assert_eq!(out.actions, [Action::output(PortNo(77))]);

    // A wider match is narrowed, another's is refused, and so is an action that leaves the slice.
    let flood = [Action::output(PortNo::FLOOD)];
    send(&mut red, V13, 5, FlowMod::add(Match::new()).priority(0).actions(flood.clone()));
    let there = flow(&mut switch, V13).1;
    assert_eq!(there.match_.fields, [vlan(10)]);
    send(&mut red, V13, 6, FlowMod::add(Match::new().vlan(20)).actions(flood.clone()));
    assert_eq!(refused(&mut red), (6, [0, 5, 0, 4]));
    let leaves = [Action::SetField(vlan(20)), Action::output(PortNo(1))];
    send(&mut red, V13, 7, FlowMod::add(Match::new()).actions(leaves));
    assert_eq!(refused(&mut red), (7, [0, 2, 0, 6]));
    let foreign = PacketOut::frame(frame(9, 20)).actions(flood.clone());
    send(&mut red, V13, 8, foreign);
    assert_eq!(refused(&mut red), (8, [0, 1, 0, 5]));
    let own_packet = PacketOut::frame(frame(9, 10)).actions(flood);
    send(&mut red, V13, 9, own_packet);
    let out = decoded(V13, &switch.expect(kind::PACKET_OUT).unwrap()).1;
    assert!(matches!(out, Message::PacketOut(out) if out.data == frame(9, 10)));
    blue.expect_silence(QUIET).unwrap();
    assert_eq!(stage.status("red").counts.refused, 3);
    stage.stop();
}

#[test]
fn ports_split_floods_and_flows() {
    let (stage, listening) = (GuestStage::start(), Listening::new());
    let spec = listening.spec("ports");
    let ports = Some(aldis_apps::spelling::Spelled("2-3".parse().unwrap()));
    stage.add(GuestSpec { ports, ..spec });
    let mut switch = stage.switch(V13, 7);
    let (mut guest, _) = listening.guest(V13);
    stage.until("ports", |status| status.state == GuestState::Serving);
    let flood = [Action::output(PortNo::FLOOD)];
    send(&mut guest, V13, 5, FlowMod::add(Match::new().eth_type(0x800)).actions(flood));
    for port in [2, 3] {
        let there = flow(&mut switch, V13).1;
        assert_eq!(there.match_, Match::new().in_port(PortNo(port)).eth_type(0x800));
        let outputs = [2, 3].map(|port| Action::output(PortNo(port)));
        assert_eq!(there, FlowMod { instructions: there.instructions.clone(), ..there.clone() });
        assert!(format!("{:?}", there.instructions).contains(&format!("{:?}", outputs[1])));
    }
    send(&mut guest, V13, 6, FlowMod::add(Match::new().in_port(PortNo(1))));
    assert_eq!(refused(&mut guest), (6, [0, 5, 0, 4]));
    let out = FlowMod::add(Match::new()).actions([Action::output(PortNo(4))]);
    send(&mut guest, V13, 7, out);
    assert_eq!(refused(&mut guest), (7, [0, 2, 0, 6]));
    // Of a port that is not its own nothing comes.
    send(&mut switch, V13, 1, packet_in(V13, 1, &frame(9, 0)));
    guest.expect_silence(QUIET).unwrap();
    stage.stop();
}

#[test]
fn a_guest_that_is_away_is_passed_by_or_its_requests_are_dropped() {
    for otherwise in [Otherwise::Next, Otherwise::Drop] {
        let (stage, listening) = (GuestStage::start(), Listening::new());
        stage.add(GuestSpec { otherwise, ..listening.spec("away") });
        let mut switch = stage.switch(V13, 7);
        stage.until("away", |status| !status.switches.is_empty());
        send(&mut switch, V13, 1, packet_in(V13, 3, &frame(9, 0)));
        match otherwise {
            Otherwise::Next => drop(switch.expect(kind::PACKET_OUT).unwrap()),
            Otherwise::Drop => switch.expect_silence(QUIET).unwrap(),
        }
        assert_eq!(stage.status("away").counts.missed, 1);
        stage.stop();
    }
}

#[test]
fn an_observer_gets_copies() {
    let (stage, listening) = (GuestStage::start(), Listening::new());
    stage.add(GuestSpec { observe: true, read_only: true, ..listening.spec("looks") });
    let mut switch = stage.switch(V13, 7);
    let (mut guest, _) = listening.guest(V13);
    stage.until("looks", |status| status.state == GuestState::Serving);
    send(&mut switch, V13, 1, packet_in(V13, 3, &frame(9, 0)));
    switch.expect(kind::PACKET_OUT).unwrap();
    guest.expect(kind::PACKET_IN).unwrap();
    send(&mut guest, V13, 5, FlowMod::add(Match::new()));
    assert_eq!(refused(&mut guest), (5, [0, 1, 0, 5]));
    stage.stop();
}

#[test]
fn a_guest_that_does_not_read_costs_others_nothing() {
    let (stage, listening) = (GuestStage::start(), Listening::new());
    stage.add(GuestSpec { queue: 8192, ..listening.spec("deaf") });
    let mut switch = stage.switch(V13, 7);
    let (guest, _) = listening.guest(V13);
    stage.until("deaf", |status| status.state == GuestState::Serving);
    // What the sockets between them take is not known here.
    let (by, mut shed) = (Instant::now() + stage::PATIENCE, 0);
    while shed == 0 {
        for _ in 0..64 {
            send(&mut switch, V13, 1, packet_in(V13, 3, &[7; 1400]));
        }
        shed = stage.status("deaf").counts.shed;
        assert!(Instant::now() < by);
    }
    // What it cannot take the next application answers.
    switch.expect(kind::PACKET_OUT).unwrap();
    assert_eq!(stage.status("deaf").state, GuestState::Shedding);
    drop(guest);
    stage.until("deaf", |status| status.counts.connections > 1 || status.state == GuestState::Away);
    stage.stop();
}

#[test]
fn a_guest_that_sends_garbage_is_quarantined_and_can_come_back() {
    let (stage, listening) = (GuestStage::start(), Listening::new());
    stage.add(listening.spec("mad"));
    let mut switch = stage.switch(V13, 7);
    let by = Instant::now() + stage::PATIENCE;
    while stage.status("mad").state != GuestState::Quarantined {
        assert!(Instant::now() < by, "{:?}", stage.status("mad"));
        let (mut guest, _) = listening.guest(V13);
        // Flows that end in the middle, and at last no length at all.
        for _ in 0..8 {
            guest
                .send(&[4, kind::FLOW_MOD, 0, 20, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
                .unwrap();
        }
        let _ = guest.send(&[4, 14, 0, 1, 0, 0, 0, 1]);
        guest.expect_close().unwrap();
    }
    assert!(stage.status("mad").reason.unwrap().contains("faults within"));
    // The switch is served by the others.
    send(&mut switch, V13, 1, packet_in(V13, 3, &frame(9, 0)));
    switch.expect(kind::PACKET_OUT).unwrap();
    stage.guests.resume("mad").unwrap();
    let (mut guest, _) = listening.guest(V13);
    stage.until("mad", |status| status.state == GuestState::Serving);
    send(&mut switch, V13, 1, packet_in(V13, 3, &frame(9, 0)));
    guest.expect(kind::PACKET_IN).unwrap();
    stage.stop();
}

#[test]
fn a_guest_that_floods_is_read_slowly_and_others_are_served() {
    let (stage, listening) = (GuestStage::start(), Listening::new());
    let switches = vec![aldis_apps::spelling::Spelled("7".parse().unwrap())];
    stage.add(GuestSpec { switches, ..listening.spec("floods") });
    let (mut flooded, mut other) = (stage.switch(V13, 7), stage.switch(V13, 8));
    let (mut guest, _) = listening.guest(V13);
    stage.until("floods", |status| status.state == GuestState::Serving);
    // The switch that it floods reads, and so does no other see of it.
    let mut sink = flooded.socket().try_clone().unwrap();
    sink.set_read_timeout(None).unwrap();
    std::thread::spawn(move || std::io::copy(&mut sink, &mut std::io::sink()));
    let mut flows = vec![];
    for _ in 0..1000 {
        Message::from(FlowMod::add(Match::new())).encode(V13, 5, &mut flows).unwrap();
    }
    let began = Instant::now();
    while stage.status("floods").state != GuestState::Flooding {
        assert!(began.elapsed() < stage::PATIENCE, "{:?}", stage.status("floods"));
        guest.send(&flows).unwrap();
    }
    send(&mut other, V13, 1, packet_in(V13, 3, &frame(9, 0)));
    other.expect(kind::PACKET_OUT).unwrap();
    // It is still a guest: it is asked, and nothing of it is lost.
    send(&mut flooded, V13, 2, packet_in(V13, 3, &frame(9, 0)));
    guest.expect(kind::PACKET_IN).unwrap();
    let status = stage.status("floods");
    assert_eq!((status.counts.faults, status.counts.refused), (0, 0));
    stage.stop();
}

/// More than the sockets, what waits for a switch and what waits of a guest take together. The
/// guest is not read until the switch reads.
#[test]
fn what_a_switch_has_no_room_for_waits_and_comes_in_order() {
    const FLOWS: u64 = 8_000;
    let (stage, listening) = (GuestStage::of_workers(1), Listening::new());
    stage.add(listening.spec("fills"));
    let (mut slow, mut other) = (stage.switch(V13, 7), stage.switch(V13, 8));
    let (one, two) = (listening.guest(V13), listening.guest(V13));
    let is_slow = |guest: &(Peer, Features)| guest.1.datapath_id.0 == 7;
    let ((mut guest, _), (mut quick, _)) = if is_slow(&one) { (one, two) } else { (two, one) };
    let saying = std::thread::spawn(move || {
        for cookie in 0..FLOWS {
            let actions = (0..60).map(|_| Action::output(PortNo(1)));
            send(&mut guest, V13, 5, FlowMod::add(Match::new()).cookie(cookie).actions(actions));
        }
        guest
    });
    let said = || stage.status("fills").counts.messages;
    let mut before = 0;
    stage.until("fills", |status| {
        std::thread::sleep(QUIET);
        std::mem::replace(&mut before, status.counts.messages) == status.counts.messages
    });
    assert!((1..FLOWS).contains(&said()), "{} of {FLOWS}", said());
    // What it says to another switch goes on.
    send(&mut quick, V13, 6, FlowMod::add(Match::new()));
    flow(&mut other, V13);
    for cookie in 0..FLOWS {
        let (_, there) = flow(&mut slow, V13);
        assert_eq!(there.cookie, Cookie::of("fills").0 | cookie);
    }
    let _guest = saying.join().unwrap();
    assert_eq!(stage.status("fills").counts.refused, 0);
    stage.stop();
}

#[test]
fn a_guest_that_does_not_read_its_answers_is_not_read_either() {
    let (stage, listening) = (GuestStage::start(), Listening::new());
    stage.add(listening.spec("echoes"));
    let _switch = stage.switch(V13, 7);
    let (guest, _) = listening.guest(V13);
    let mut socket = guest.socket();
    socket.set_write_timeout(Some(std::time::Duration::from_secs(2))).unwrap();
    let mut echo = vec![4, kind::ECHO_REQUEST, 0xea, 0x60, 0, 0, 0, 1];
    echo.resize(60_000, 7);
    // Far more than the sockets between them take, and fewer messages than it may send at once.
    let sent = (0..5_000).take_while(|_| socket.write_all(&echo).is_ok()).count();
    assert!(sent < 5_000, "300 MB of answers are held");
    stage.stop();
}

#[test]
fn a_removed_flow_is_told_to_the_guest_that_has_it() {
    let (stage, listening) = (GuestStage::start(), Listening::new());
    stage.add(own(listening.spec("told"), "vlan_vid=10"));
    let mut switch = stage.switch(V13, 7);
    let (mut guest, _) = listening.guest(V13);
    stage.until("told", |status| status.state == GuestState::Serving);
    let flags = FlowModFlags::SEND_FLOW_REM;
    send(&mut guest, V13, 5, FlowMod::add(Match::new().eth_type(0x800)).cookie(3).flags(flags));
    let (_, there) = flow(&mut switch, V13);
    let removed = |cookie| {
        Message::FlowRemoved(aldis_wire::msg::FlowRemoved {
            cookie,
            priority: there.priority,
            reason: aldis_wire::msg::FlowRemovedReason::IDLE_TIMEOUT,
            table_id: there.table_id,
            duration_sec: 1,
            duration_nsec: 0,
            idle_timeout: 0,
            hard_timeout: 0,
            packet_count: 0,
            byte_count: 0,
            match_: there.match_.clone(),
        })
    };
    send(&mut switch, V13, 0, removed(Cookie::of("other").0));
    send(&mut switch, V13, 0, removed(there.cookie));
    let (_, Message::FlowRemoved(told)) = decoded(V13, &guest.expect(kind::FLOW_REMOVED).unwrap())
    else {
        panic!()
    };
    assert_eq!((told.cookie, told.match_), (3, Match::new().eth_type(0x800)));
    guest.expect_silence(QUIET).unwrap();
    stage.stop();
}

#[test]
fn overlapping_grants_are_refused_with_both_names() {
    let (stage, listening) = (GuestStage::start(), Listening::new());
    stage.add(own(listening.spec("one"), "ipv4_dst=10.0.0.0/8"));
    let two = own(listening.spec("two"), "ipv4_dst=10.1.0.0/16");
    let refused = stage.guests.add(two.clone(), None).map(drop).unwrap_err();
    let words = refused.to_string();
    assert!(words.contains("\"one\"") && words.contains("\"two\""), "{words}");
    assert!(matches!(refused, GuestError::Overlap { .. }));
    stage.add(own(listening.spec("apart"), "ipv4_dst=11.0.0.0/8"));
    stage.add(GuestSpec { observe: true, ..two });
    stage.stop();
}

#[test]
fn a_switch_that_goes_takes_its_connections_along() {
    let (stage, listening) = (GuestStage::start(), Listening::new());
    stage.add(listening.spec("follows"));
    let switch = stage.switch(V13, 7);
    let (mut guest, _) = listening.guest(V13);
    drop(switch);
    guest.expect_close().unwrap();
    assert!(stage.status("follows").switches.is_empty());
    // It comes again, also one that was there before the guest was added.
    let _switch = stage.switch(V13, 7);
    let (_guest, features) = listening.guest(V13);
    assert_eq!(features.datapath_id.0, 7);
    let late = Listening::new();
    stage.add(GuestSpec { read_only: true, observe: true, ..late.spec("late") });
    assert_eq!(late.guest(V13).1.datapath_id.0, 7);
    stage.stop();
}

#[test]
fn a_rate_bounds_what_a_guest_is_handed() {
    let (stage, listening) = (GuestStage::start(), Listening::new());
    stage.add(GuestSpec { rate: Some(5), ..listening.spec("slow") });
    let mut switch = stage.switch(V13, 7);
    let (_guest, _) = listening.guest(V13);
    stage.until("slow", |status| status.state == GuestState::Serving);
    for _ in 0..40 {
        send(&mut switch, V13, 1, packet_in(V13, 3, &frame(9, 0)));
    }
    let status = stage.until("slow", |status| status.counts.requests + status.counts.shed == 40);
    // Two seconds may have begun meanwhile.
    assert!((5..=15).contains(&status.counts.requests), "{:?}", status.counts);
    stage.stop();
}
