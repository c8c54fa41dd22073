//! What comes behind what, within one switch.

use std::collections::HashSet;

use aldis_control::session::Close;
use aldis_emulator::peer::{Peer, Unexpected, bare};
use aldis_wire::Version;
use aldis_wire::header::kind::{ECHO_REPLY, ECHO_REQUEST, FLOW_MOD, PACKET_OUT};

use crate::stage::Stage;
use crate::switch::{
    FEATURES_REQUEST, NOBODY, PacketIn, ask_for_nobody, barrier_request, connect, join, leads_to,
    link_down, part, receive_any, send_aside, xid_of,
};

/// Requests between two fences: more bytes than a read of 64 KB.
const BURST: u32 = 900;
const BURSTS: u32 = 4;

/// The xids of a burst begin here; that of the fence behind it is the last of its thousand.
const fn first_of(burst: u32) -> u32 {
    burst * 1000
}

/// Floods of requests with a fence behind each, and then many fences with a request before each:
/// every fence is answered when all that came before it is, and before anything that came after it.
pub(crate) fn fences_between_floods(stage: &Stage, version: Version) {
    std::thread::scope(|scope| {
        let floods: Vec<_> = (0..2)
            .map(|_| {
                let (mut peer, _) = join(stage, version);
                let echoes_pass = stage.echoes_pass();
                scope.spawn(move || flood_with_fences(&mut peer, version, echoes_pass))
            })
            .collect();
        floods.into_iter().for_each(|flood| flood.join().expect("order"));
    });
}

/// Sends it and fails where the answers are in another order. Each fence is an echo request; where
/// these pass requests, it is a port that goes down, and an echo request behind it.
pub(crate) fn flood_with_fences(peer: &mut Peer, version: Version, echoes_pass: bool) {
    let mut bytes = Vec::new();
    let requests_of = |burst| if burst < BURSTS { BURST } else { 1 };
    for burst in 0..BURSTS + 50 {
        let first = first_of(burst);
        ask_for_nobody(version, first..first + requests_of(burst), &mut bytes);
        if echoes_pass {
            link_down(version, 4, &mut bytes);
        }
        bytes.extend(bare(version, ECHO_REQUEST, echo_behind(burst)));
    }
    let sender = send_aside(peer, bytes, false);
    let mut echoes = Vec::new();
    for burst in 0..BURSTS + 50 {
        let mut open: HashSet<u32> =
            (first_of(burst)..first_of(burst) + requests_of(burst)).collect();
        while !open.is_empty() {
            let message = receive_any(peer, &[PACKET_OUT, ECHO_REPLY]);
            if message[1] == ECHO_REPLY && echoes_pass {
                echoes.push(xid_of(&message));
            } else {
                assert!(open.remove(&xid_of(&message)), "{message:?} while {open:?} are due");
            }
        }
        if !echoes_pass {
            let message = receive_any(peer, &[PACKET_OUT, ECHO_REPLY]);
            assert_eq!((message[1], xid_of(&message)), (ECHO_REPLY, echo_behind(burst)));
        }
    }
    // Where they passed, they passed none of their own.
    while echoes_pass && echoes.len() < (BURSTS + 50) as usize {
        echoes.push(xid_of(&receive_any(peer, &[PACKET_OUT, ECHO_REPLY])));
    }
    assert!(!echoes_pass || (0..BURSTS + 50).map(echo_behind).eq(echoes));
    sender.join().expect("all is sent");
}

/// The xid of the echo request behind a burst.
const fn echo_behind(burst: u32) -> u32 {
    first_of(burst + 1) - 1
}

/// What is asked during the handshake is answered after it.
pub(crate) fn questions_of_the_handshake(stage: &Stage, version: Version) {
    let mut peer = connect(stage, version);
    let part = part(version, stage.number());
    peer.play(part, FEATURES_REQUEST).expect("a handshake");
    let mut bytes = Vec::new();
    ask_for_nobody(version, 70..73, &mut bytes);
    peer.send(&bytes).expect("the engine reads");
    peer.play(part, barrier_request(version)).expect("the rest of it");
    for xid in 70..73 {
        assert_eq!(xid_of(&receive_any(&mut peer, &[PACKET_OUT])), xid);
    }
}

/// A host that moves inside one batch stays moved.
pub(crate) fn a_host_that_moves(stage: &Stage, version: Version) {
    let (mut peer, _) = join(stage, version);
    let mut bytes = Vec::new();
    for port in 1..=3 {
        PacketIn::new(version, port, 1, NOBODY).ask(port, &mut bytes);
    }
    PacketIn::new(version, 4, 2, 1).ask(99, &mut bytes);
    peer.send(&bytes).expect("the engine reads");
    let flow = loop {
        let message = receive_any(&mut peer, &[FLOW_MOD]);
        if xid_of(&message) == 99 {
            break message;
        }
    };
    assert!(leads_to(version, &flow, 3), "to where it was seen last: {flow:?}");
}

/// Once a port is said to be down, nothing more is sent there.
pub(crate) fn a_port_that_goes_down(stage: &Stage, version: Version) {
    const REQUESTS: u32 = 900;
    let (mut peer, _) = join(stage, version);
    let mut bytes = Vec::new();
    PacketIn::new(version, 2, 2, NOBODY).ask(1, &mut bytes);
    // A fence in every design, so that the host is known to all of the next.
    link_down(version, 4, &mut bytes);
    let towards = PacketIn::new(version, 1, 1, 2);
    (1000..1000 + REQUESTS).for_each(|xid| towards.ask(xid, &mut bytes));
    link_down(version, 2, &mut bytes);
    (5000..5000 + REQUESTS).for_each(|xid| towards.ask(xid, &mut bytes));
    let sender = send_aside(&peer, bytes, false);
    let mut before: HashSet<u32> = (1000..1000 + REQUESTS).collect();
    let mut after: HashSet<u32> = (5000..5000 + REQUESTS).collect();
    while !after.is_empty() {
        let message = receive_any(&mut peer, &[PACKET_OUT, FLOW_MOD]);
        let to_port_2 = leads_to(version, &message, 2);
        match (message[1], xid_of(&message)) {
            (_, xid @ 5000..) => {
                assert!(before.is_empty(), "{} of the earlier are not answered", before.len());
                assert!(!to_port_2, "xid {xid} leads to a port that is down");
                after.remove(&xid);
            }
            (FLOW_MOD, xid @ 1000..) => assert!(to_port_2 && before.remove(&xid), "xid {xid}"),
            _ => {}
        }
    }
    sender.join().expect("all is sent");
}

/// A switch that says its last behind requests gets all answers, and is then let go.
pub(crate) fn the_end_behind_requests(stage: &Stage, version: Version) {
    const REQUESTS: u32 = 2000;
    let (mut peer, number) = join(stage, version);
    let mut bytes = Vec::new();
    ask_for_nobody(version, 0..REQUESTS, &mut bytes);
    let sender = send_aside(&peer, bytes, true);
    let mut open: HashSet<u32> = (0..REQUESTS).collect();
    let end = loop {
        match peer.receive() {
            Ok(message) if message[1] == PACKET_OUT => {
                assert!(open.remove(&xid_of(&message)), "answered twice");
            }
            Ok(_) => {}
            Err(end) => break end,
        }
    };
    assert!(matches!(end, Unexpected::Closed), "{end}");
    assert!(open.is_empty(), "{} of {REQUESTS} got no answer", open.len());
    sender.join().expect("all is sent");
    assert_eq!(stage.await_down(number), Close::PeerClosed);
}
