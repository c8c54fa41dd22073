//! Switches that read slowly or not at all, and those beside them.

use std::collections::HashSet;
use std::io::{ErrorKind, Read as _, Write as _};
use std::time::{Duration, Instant};

use aldis_control::limits::READ_FOR_CERTAIN;
use aldis_control::session::Close;
use aldis_emulator::peer::Peer;
use aldis_wire::Version;
use aldis_wire::header::kind::PACKET_OUT;

use crate::combinations::{self, Combination, everywhere};
use crate::pump::while_others_ask;
use crate::stage::{PATIENCE, STUCK_WITHIN, Stage};
use crate::switch::{
    ask_for_nobody, barrier_request, connect, join_keeping_little, part, receive_any, send_aside,
    xid_of,
};

/// What may wait for a switch that does not read, in bytes: four reads of 64 KB (the engine's
/// `OUTBOX_PER_READ`), and beside them what the batches of other switches say (`FAR_MAX`).
const WAITING_MAX: u64 = (4 * 64 + 64) * 1024;

/// Every read design with both writes, three workers and batches as the papers have them; the other
/// batchings make no difference to a switch that does not read, and are left out.
fn some() -> Vec<Combination> {
    let mut some = combinations::covering();
    some.iter_mut().for_each(|combination| combination.workers = 3);
    some.chunks_mut(2).map(|pair| pair[0]).collect()
}

/// Asks without reading until the connection ends.
fn hoard(stage: &Stage, peer: &Peer, number: u32, version: Version) {
    let mut requests = Vec::new();
    ask_for_nobody(version, 0..1000, &mut requests);
    let mut socket = peer.socket();
    socket.set_write_timeout(Some(Duration::from_millis(50))).expect("a socket");
    let (mut at, mut pauses, mut writes) = (0, 0, 0);
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        match socket.write(&requests[at..]) {
            Ok(count) => at = (at + count) % requests.len(),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(_) => {
                assert!(pauses > 0, "reading from it never paused");
                return;
            }
        }
        writes += 1;
        if let Some(counts) = stage.counts(number).filter(|_| at == 0 || writes % 16 == 0) {
            pauses = counts.pauses;
            assert!(counts.bytes_waiting <= WAITING_MAX, "{}", counts.bytes_waiting);
        }
    }
    panic!("a switch that does not read is still there");
}

/// One that never reads is dropped, with the reason, and the others are served in full.
#[test]
fn a_switch_that_never_reads_is_dropped_and_disturbs_nobody() {
    everywhere(&some(), |combination| {
        let stage = Stage::open(combination);
        stage.play("one never reads", |stage| {
            let version = Version::V10;
            while_others_ask(stage, version, 2, || {
                let (peer, number) = join_keeping_little(stage, version);
                hoard(stage, &peer, number, version);
                assert_eq!(stage.await_down(number), Close::NotReading);
                assert!(stage.counts(number).is_none(), "nothing of it is left");
                assert_eq!(stage.engine.snapshot().total.evictions, 1);
                let mut again = connect(stage, version);
                again.play(part(version, number), barrier_request(version)).expect("a handshake");
                stage.await_up(number);
                assert_eq!(stage.counts(number).map(|counts| counts.evictions), Some(1));
            });
        });
        stage.close();
    });
}

/// One that reads slowly is waited for, as long as it reads enough, and gets all its answers.
#[test]
fn a_switch_that_reads_slowly_is_kept() {
    const REQUESTS: u32 = 12_000;
    // Ten times a second, so that it is enough.
    const SIP: usize = 8_000;
    const { assert!(10 * SIP > READ_FOR_CERTAIN) };
    everywhere(&some(), |combination| {
        let stage = Stage::open(combination);
        stage.play("one reads slowly", |stage| {
            let version = Version::V13;
            while_others_ask(stage, version, 1, || {
                let (peer, number) = join_keeping_little(stage, version);
                let mut bytes = Vec::new();
                ask_for_nobody(version, 0..REQUESTS, &mut bytes);
                let sender = send_aside(&peer, bytes, false);
                let sipped = sip(&peer, SIP, 3 * STUCK_WITHIN);
                let counts = stage.counts(number).expect("it is not dropped");
                assert!(counts.pauses > 0, "reading from it never paused: {counts:?}");
                gulp(peer, sipped, REQUESTS);
                sender.join().expect("all is sent");
            });
        });
        stage.close();
    });
}

/// Reads so many bytes ten times a second, for a while.
fn sip(peer: &Peer, bytes: usize, for_: Duration) -> Vec<u8> {
    let (mut socket, mut sipped) = (peer.socket(), Vec::new());
    let end = Instant::now() + for_;
    while Instant::now() < end {
        let mut some = vec![0; bytes];
        let count = socket.read(&mut some).expect("it is not dropped");
        sipped.extend_from_slice(&some[..count]);
        std::thread::park_timeout(Duration::from_millis(100));
    }
    sipped
}

/// Reads the rest at once, and fails where an answer is missing.
fn gulp(mut peer: Peer, sipped: Vec<u8>, requests: u32) {
    let mut open: HashSet<u32> = (0..requests).collect();
    let mut bytes = sipped;
    // The last message that was sipped may be half a message.
    let whole = loop {
        let chopped: usize =
            aldis_wire::Chop::new(&bytes).flatten().map(|raw| raw.bytes.len()).sum();
        if chopped == bytes.len() {
            break bytes;
        }
        let mut next = [0];
        peer.socket().read_exact(&mut next).expect("it is not dropped");
        bytes.push(next[0]);
    };
    for raw in aldis_wire::Chop::new(&whole).flatten().filter(|raw| raw.header.kind == PACKET_OUT) {
        assert!(open.remove(&raw.header.xid), "answered twice");
    }
    while !open.is_empty() {
        let message = receive_any(&mut peer, &[PACKET_OUT]);
        assert!(open.remove(&xid_of(&message)), "answered twice");
    }
}
