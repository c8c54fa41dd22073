//! The running controller among bad switches: ones that lie, stall, flood, vanish or pretend to be
//! others.
//!
//! Each test starts a controller in a process of its own (this program again, as [`controller`])
//! and lets two witnesses, one of each version, ask flow requests on it all the while. Whatever the
//! others do has a clear outcome: an OpenFlow error, no answer at all, or the end of the connection
//! with a reason in words. The witnesses notice nothing, and afterwards the controller holds as
//! much memory and as many descriptors as before.

mod controller_process;
mod crowd;
mod duplicates;
mod greeting;
mod lies;
mod plenty;
mod resets;
mod served;
mod slow;
mod witness;

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use aldis_emulator::peer::{Peer, PeerPart, Unexpected, bare, hello};
use aldis_testkit::counting::Counting;
use aldis_wire::Version;
use aldis_wire::header::kind;

use controller_process::Controller;
use served::{Settings, State};
use witness::Witness;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How long anything may take that has no deadline of its own.
const WITHIN: Duration = Duration::from_secs(10);

/// `OFPT_FEATURES_REQUEST`
const FEATURES_REQUEST: u8 = 5;

/// Not a test but the attacked process, where one of the tests starts it with settings.
#[test]
fn controller() {
    if let Ok(settings) = std::env::var(served::SETTINGS) {
        served::serve(settings.parse().expect("settings of ours"));
    }
}

/// A controller with its witnesses.
struct Scene {
    controller: Controller,
    witnesses: Vec<Witness>,
    before: State,
}

impl Scene {
    /// One worker, so that what is attacked shares it with the witnesses; handshakes may take three
    /// seconds.
    fn open() -> Scene {
        Scene::open_with(Settings { workers: 1, handshake_within: Duration::from_secs(3) })
    }

    fn open_with(settings: Settings) -> Scene {
        let mut controller = Controller::start(settings);
        let start = |(version, number)| Witness::start(controller.address(), version, number);
        let witnesses = Version::ALL.into_iter().zip([1001, 1002]).map(start).collect();
        let before = controller.state();
        Scene { controller, witnesses, before }
    }

    fn connect(&self) -> Peer {
        Peer::connect(self.controller.address(), WITHIN).expect("the controller listens")
    }

    fn join(&self, version: Version, number: u32) -> Peer {
        let peer = join(self.controller.address(), PeerPart { version, number, ports: 2 });
        self.controller.await_up(name_of(&peer));
        peer
    }

    /// Fails where a witness was disturbed, or the controller is not as it was before.
    fn close(mut self) {
        self.witnesses.into_iter().for_each(Witness::finish);
        self.controller.expect_as_before(self.before);
    }
}

/// The address by which the controller knows it.
fn name_of(peer: &Peer) -> SocketAddr {
    peer.socket().local_addr().expect("it is connected")
}

/// `OFPT_BARRIER_REQUEST`, the last thing that the controller says in a handshake.
fn barrier_request(version: Version) -> u8 {
    match version {
        Version::V10 => 18,
        Version::V13 => 20,
    }
}

/// Connects a switch and plays it until its handshake is done.
fn join(controller: SocketAddr, part: PeerPart) -> Peer {
    let mut peer = Peer::connect(controller, WITHIN).expect("the controller listens");
    peer.send(&hello(part.version)).expect("the controller reads");
    peer.play(part, barrier_request(part.version)).expect("the controller shakes hands");
    peer
}

/// Fails where the controller does not answer an echo request on this connection.
fn expect_alive(peer: &mut Peer, version: Version) {
    peer.send(&bare(version, kind::ECHO_REQUEST, 77)).expect("the connection stands");
    let reply = bare(version, kind::ECHO_REPLY, 77);
    // What was sent before may have been an echo request too.
    while peer.expect(kind::ECHO_REPLY).expect("an echo reply") != reply {}
}

/// Whether the other end closed the connection, or reset it.
fn is_end(unexpected: &Unexpected) -> bool {
    match unexpected {
        Unexpected::Closed => true,
        Unexpected::Io(error) => {
            matches!(error.kind(), io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe)
        }
        _ => false,
    }
}
