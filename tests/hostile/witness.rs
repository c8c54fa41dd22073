//! An innocent switch: it asks flow requests while others misbehave, and nothing of that may reach
//! it.

use std::net::SocketAddr;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use aldis_emulator::peer::{Peer, PeerPart, bare};
use aldis_wire::Version;
use aldis_wire::header::kind;
use aldis_wire::msg::{Match, Message, PacketIn, PacketInReason, PortNo, TableNo};

use crate::{WITHIN, join};

/// The pause between an answer and the next request: the witness watches, it is no load.
const PAUSE: Duration = Duration::from_millis(2);

/// How long an answer may take. The controller answers in microseconds; what counts is that it does
/// not wait for any peer else, and the shortest such wait here is three seconds.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);

/// A switch on a thread of its own.
pub(crate) struct Witness {
    stop: Sender<()>,
    version: Version,
    /// Ends with how long the slowest answer took.
    thread: JoinHandle<Duration>,
}

/// A flow request of 64 bytes from one of two hosts to the other, behind ports 1 and 2.
pub(crate) fn packet_in(version: Version, number: u32) -> Vec<u8> {
    let (from, to) = (1 + (number % 2) as u8, 2 - (number % 2) as u8);
    let mut data = vec![2, 0, 0, 0, 0, to, 2, 0, 0, 0, 0, from, 0x08, 0x00];
    data.resize(64, 0);
    let request = PacketIn {
        buffer_id: number,
        total_len: 64,
        reason: PacketInReason::NO_MATCH,
        table_id: TableNo(0),
        cookie: u64::MAX,
        match_: Match::new().in_port(PortNo(from.into())),
        data,
    };
    let mut bytes = Vec::new();
    Message::PacketIn(request)
        .encode(version, number, &mut bytes)
        .expect("either version can say it");
    bytes
}

/// The buffer that a FLOW_MOD or PACKET_OUT is about.
fn buffer_of(version: Version, message: &[u8]) -> u32 {
    let (_, message) =
        Message::decode(version, message).expect("the controller says nothing malformed");
    match message.meaning() {
        Message::FlowMod(flow_mod) => flow_mod.buffer_id,
        Message::PacketOut(packet_out) => packet_out.buffer_id,
        other => panic!("a witness was sent {other:?}"),
    }
}

impl Witness {
    /// Connects switch `number` and lets it ask from now on.
    pub(crate) fn start(controller: SocketAddr, version: Version, number: u32) -> Witness {
        let part = PeerPart { version, number, ports: 2 };
        let mut peer = join(controller, part);
        // What is allocated for a switch that asks is there before anything is measured.
        ask(&mut peer, version, 1);
        ask(&mut peer, version, 2);
        let (stop, stopped) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let mut slowest = Duration::ZERO;
            for number in 1.. {
                let stop = stopped.recv_timeout(PAUSE) != Err(RecvTimeoutError::Timeout);
                slowest = slowest.max(ask(&mut peer, version, number));
                if stop {
                    break;
                }
            }
            slowest
        });
        Witness { stop, version, thread }
    }

    /// Lets it ask once more, and fails where it was ever disturbed.
    pub(crate) fn finish(self) {
        // One that was disturbed has ended already, and says so below.
        let _ = self.stop.send(());
        let slowest = self.thread.join().expect("a witness was disturbed");
        assert!(slowest < ANSWER_WITHIN, "an answer in {} took {slowest:?}", self.version);
    }
}

/// Asks one request, and answers what the controller asks meanwhile. How long the answer took.
fn ask(peer: &mut Peer, version: Version, number: u32) -> Duration {
    let asked = Instant::now();
    peer.send(&packet_in(version, number)).expect("the witness is connected");
    loop {
        assert!(asked.elapsed() < WITHIN, "request {number} got no answer");
        let message = peer.receive().expect("the witness gets its answer");
        if message[1] == kind::ECHO_REQUEST {
            let xid = u32::from_be_bytes([message[4], message[5], message[6], message[7]]);
            peer.send(&bare(version, kind::ECHO_REPLY, xid)).expect("the witness is connected");
        } else if buffer_of(version, &message) == number {
            return asked.elapsed();
        }
    }
}
