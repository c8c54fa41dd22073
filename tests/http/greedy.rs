//! Switches that would have the controller's memory or time for themselves, and requests about
//! them: what is held on account of one switch has a bound, the bound is said where it is reached,
//! and an honest switch beside it is served.

mod kept;
mod ports;
mod trace;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use aldis_emulator::peer::{Peer, PeerPart, hello};
use aldis_testkit::client::{Api, HttpAnswer};
use aldis_testkit::network::Network;
use aldis_testkit::running::{Running, WITHIN};
use aldis_wire::Version;
use aldis_wire::msg::{Message, StatsFlags, StatsReply, StatsReplyBody, StatsRequestBody};
use serde_json::Value;

/// `OFPT_BARRIER_REQUEST` of OpenFlow 1.3: the last thing that the controller says in a handshake.
const BARRIER_REQUEST: u8 = 20;

/// `OFPT_BARRIER_REPLY` likewise.
const BARRIER_REPLY: u8 = 21;

/// How long an honest question may take, on a machine that is busy with other tests.
const SOON: Duration = Duration::from_secs(3);

fn serving(args: &[&str]) -> (Running, Api) {
    let mut running = Running::start(&[&["--http", "127.0.0.1:0"], args].concat());
    let api = Api::of(&mut running);
    (running, api)
}

fn post(api: &Api, path: &str, body: &Value) -> HttpAnswer {
    api.ask("POST", path, &[("Content-Type", "application/json")], body.to_string().as_bytes())
}

/// Asks until the answer is as it should be.
fn when(api: &Api, path: &str, is: impl Fn(&Value) -> bool) -> Value {
    let deadline = Instant::now() + WITHIN;
    loop {
        let answer = api.get(path);
        let json = answer.json();
        if answer.status == 200 && is(&json) {
            return json;
        }
        assert!(Instant::now() < deadline, "{path} stayed {json}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// How long the controller takes to say that it is well.
fn health(api: &Api) -> Duration {
    let asked = Instant::now();
    assert_eq!(api.get("/api/v1/health").status, 200);
    asked.elapsed()
}

/// A switch of OpenFlow 1.3 that answers questions about statistics as a test has it, and the
/// others honestly.
struct Liar {
    peer: Peer,
    part: PeerPart,
}

impl Liar {
    fn join(controller: &Running, number: u32, ports: u32) -> Liar {
        let address: SocketAddr = controller.address.parse().unwrap();
        let mut peer = Peer::connect(address, WITHIN).unwrap();
        let part = PeerPart { version: Version::V13, number, ports };
        peer.send(&hello(Version::V13)).unwrap();
        peer.play(part, BARRIER_REQUEST).unwrap();
        Liar { peer, part }
    }

    /// Answers until the connection ends. What `lie` says of a question is the answer, in parts;
    /// the last of them says so. None: the answer is empty.
    fn live(mut self, lie: impl Fn(&StatsRequestBody) -> Option<Vec<StatsReplyBody>>) {
        let version = self.part.version;
        while let Ok(bytes) = self.peer.receive() {
            let mut answers = Vec::new();
            match Message::decode(version, &bytes).map(|(xid, message)| (xid, message.meaning())) {
                Ok((xid, Message::StatsRequest(request))) => {
                    let parts = lie(&request.body).unwrap_or_default();
                    let count = parts.len();
                    for (place, body) in parts.into_iter().enumerate() {
                        let last = place + 1 == count;
                        let flags = if last { StatsFlags::EMPTY } else { StatsFlags::MORE };
                        let reply = Message::StatsReply(StatsReply { flags, body });
                        reply.encode(version, xid, &mut answers).unwrap();
                    }
                }
                Ok((xid, Message::BarrierRequest)) => {
                    answers.extend(aldis_emulator::peer::bare(version, BARRIER_REPLY, xid));
                }
                Ok((xid, Message::EchoRequest(_))) => {
                    answers.extend(aldis_emulator::peer::bare(version, 3, xid));
                }
                _ => {}
            }
            if self.peer.send(&answers).is_err() {
                return;
            }
        }
    }
}
