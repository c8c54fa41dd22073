//! What an application may do, and that nothing else happens.

use aldis_control::Cookie;
use aldis_control::app::Event;
use aldis_sandbox::Runtime;
use aldis_wire::msg::{FlowModCommand, Message, PortNo};

use crate::guests::{ALL, Guest, QUIET, SENDS};
use crate::network::{Network, frame, ports};

/// Adds a flow for the first request to port 7, which idles out after 10 seconds.
const FLOW: Guest = Guest {
    module: r#"(data (i32.const 65536) "\03\00\01\00\10\00\00\00\00\00\00\00\07\00\00\00\00\00\00\00\00\00\00\00\0a\00\00\00\00\80\00\00\09\00\00\00\00\00\00\00")"#,
    batch: "i32.const 40",
    ..QUIET
};

/// Sends a barrier with transaction id 0x55 to switch 2, whatever happens.
const BARRIER: Guest = Guest {
    module: r#"(data (i32.const 65536) "\05\00\00\00\08\00\00\00\ff\ff\ff\ff\00\00\00\00\02\00\00\00\00\00\00\00\04\14\00\08\00\00\00\55")"#,
    batch: "i32.const 32",
    ..QUIET
};

#[test]
fn packets_are_sent_to_switches_of_both_versions_and_the_request_is_stopped() {
    let runtime = Runtime::from_now().unwrap();
    let app = SENDS.started(&runtime, ALL);
    let mut network = Network::new(&app, 2);
    for switch in [0, 1] {
        let answers = network.batch(&[(switch, 3, &frame(2, 1)), (switch, 4, &frame(1, 2))]);
        let [(dpid, xid, Message::PacketOut(packet))] = &answers.sent[..] else {
            panic!("{answers:?}")
        };
        assert_eq!((*dpid, *xid, packet.in_port), (switch as u64 + 1, 0, PortNo(3)));
        assert_eq!(ports(&packet.actions), [7]);
        assert_eq!(packet.data, frame(2, 1));
        assert_eq!(answers.stopped, [true, false]);
    }
    assert_eq!((app.status().requests, app.status().messages), (4, 2));
}

#[test]
fn a_flow_carries_the_mark_of_its_application() {
    let runtime = Runtime::from_now().unwrap();
    let app = FLOW.started(&runtime, ALL);
    let mut network = Network::new(&app, 2);
    for switch in [0, 1] {
        let answers = network.batch(&[(switch, 3, &frame(2, 1))]);
        let [(_, _, Message::FlowMod(flow)), (_, _, Message::PacketOut(packet))] =
            &answers.sent[..]
        else {
            panic!("{answers:?}")
        };
        assert_eq!(flow.command, FlowModCommand::ADD);
        assert_eq!((flow.idle_timeout, flow.priority), (10, 0x8000));
        assert_eq!(flow.cookie, Cookie::of("guest").generation(9).0);
        assert_eq!(ports(&packet.actions), [7]);
    }
}

#[test]
fn what_is_not_granted_is_dropped_counted_and_told_once_a_second() {
    let runtime = Runtime::from_now().unwrap();
    let app = SENDS.started(&runtime, "[grants]\nmessages = [\"flow-mod\"]\n");
    let mut network = Network::new(&app, 1);
    let mut warnings = vec![];
    for _ in 0..100 {
        let answers = network.batch(&[(0, 3, &frame(2, 1))]);
        assert!(answers.sent.is_empty());
        warnings.extend(answers.warnings);
    }
    assert_eq!(warnings, ["guest: 1 commands were refused, the last: packet-out is not granted"]);
    let status = app.status();
    assert_eq!((status.refused, status.messages), (100, 0));
    assert_eq!(status.last_refusal.as_deref(), Some("packet-out is not granted"));
}

#[test]
fn a_flow_needs_its_message_and_its_packet_granted() {
    let runtime = Runtime::from_now().unwrap();
    let cases = [
        ("", "packet-out"),
        ("\"flow-mod\"", "packet-out"),
        ("\"packet-out\"", "flow-mod"),
        ("\"packet-out\", \"flow-mod\"", ""),
    ];
    for (granted, missing) in cases {
        let app = FLOW.started(&runtime, &format!("[grants]\nmessages = [{granted}]\n"));
        let answers = Network::new(&app, 1).batch(&[(0, 3, &frame(2, 1))]);
        let is_granted = missing.is_empty();
        assert_eq!(answers.sent.len(), if is_granted { 2 } else { 0 }, "{granted}: {answers:?}");
        let refusal = (!is_granted).then(|| format!("{missing} is not granted"));
        assert_eq!(app.status().last_refusal, refusal, "{granted}");
    }
}

#[test]
fn an_application_sees_and_touches_its_own_switches_alone() {
    let runtime = Runtime::from_now().unwrap();
    let grants = "[grants]\nswitches = [\"2\"]\nmessages = [\"packet-out\", \"barrier-request\"]\n";
    let app = SENDS.started(&runtime, grants);
    let mut network = Network::new(&app, 2);
    assert!(network.batch(&[(0, 3, &frame(2, 1))]).sent.is_empty());
    assert_eq!(app.status().requests, 0);
    // The first request is of a switch that it may not touch, and it names that one.
    let answers = network.batch(&[(0, 3, &frame(2, 1)), (1, 3, &frame(2, 1))]);
    assert!(answers.sent.is_empty(), "{answers:?}");
    assert!(answers.warnings[0].contains("switch 0000000000000001 is not granted"));
    assert_eq!(network.batch(&[(1, 3, &frame(2, 1))]).sent.len(), 1);
    let other = BARRIER
        .started(&runtime, "[grants]\nswitches = [\"1\"]\nmessages = [\"barrier-request\"]\n");
    let mut network = Network::new(&other, 2);
    let answers = network.batch(&[(0, 3, &frame(2, 1))]);
    assert!(answers.sent.is_empty() && answers.warnings[0].contains("not granted"), "{answers:?}");
}

#[test]
fn a_reply_comes_back_under_the_id_that_the_application_chose() {
    let runtime = Runtime::from_now().unwrap();
    // Answers an event with a packet out, which is refused, where its transaction id is not 0x55.
    let guest = Guest {
        batch: "(if (result i32) (i32.eq (i32.load16_u (i32.const 4112)) (i32.const 9))
          (then (if (i32.ne (i32.load (i32.const 4136)) (i32.const 0x55)) (then unreachable))
            i32.const 0)
          (else i32.const 32))",
        ..BARRIER
    };
    let manifest =
        "events = [\"flow-request\", \"reply\"]\n[grants]\nmessages = [\"barrier-request\"]\n";
    let app = guest.started(&runtime, manifest);
    let mut network = Network::new(&app, 2);
    let answers = network.batch(&[(0, 3, &frame(2, 1))]);
    let [(2, xid, Message::BarrierRequest)] = answers.sent[..] else { panic!("{answers:?}") };
    assert_ne!(xid, 0x55);
    let reply = |xid| Event::Reply { xid, message: Box::new(Message::BarrierReply) };
    let batches = app.status().batches;
    assert_eq!(network.event(1, &reply(xid)).warnings, Vec::<String>::new());
    assert_eq!(app.status().batches, batches + 1);
    // A reply to another application.
    network.event(1, &reply(xid + 1));
    assert_eq!(app.status().batches, batches + 1);
}

#[test]
fn messages_beyond_those_of_a_second_are_a_flood() {
    let runtime = Runtime::from_now().unwrap();
    let app = SENDS
        .started(&runtime, &format!("[limits]\nmessages-per-second = 50\nfailures = 1\n{ALL}"));
    let mut network = Network::new(&app, 1);
    let sent: usize = (0..100).map(|_| network.batch(&[(0, 3, &frame(2, 1))]).sent.len()).sum();
    assert!((50..=56).contains(&sent), "{sent}");
    assert_eq!(app.status().faults.get("flood"), Some(&1));
}
