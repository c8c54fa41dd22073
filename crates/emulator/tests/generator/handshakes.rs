//! Handshakes against controllers that follow a script: what is counted is what the controller saw.

use aldis_emulator::load::{Load, LoadFailure, Watch, handshakes};
use aldis_emulator::null::NullController;
use aldis_emulator::peer::{Peer, Unexpected, bare, hello};
use aldis_wire::Version;
use aldis_wire::header::kind;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(30);
const FEATURES_REQUEST: u8 = 5;
const FEATURES_REPLY: u8 = 6;

struct NoWatch;

impl Watch for NoWatch {}

fn load(controller: SocketAddr, version: Version) -> Load {
    Load {
        version,
        warm_up: 0,
        loops: 1,
        loop_length: PATIENCE,
        handshake_deadline: PATIENCE,
        ..Load::new(controller)
    }
}

/// A controller that serves so many handshakes, one connection after another, and hangs up in the
/// middle of each `breaks`th other; then nothing listens any more. How many it finished.
fn scripted(
    version: Version,
    handshakes: u64,
    breaks: u64,
) -> (SocketAddr, std::thread::JoinHandle<u64>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let controller = std::thread::spawn(move || {
        let mut finished = 0;
        for index in 1.. {
            let mut peer = Peer::over(listener.accept().unwrap().0, PATIENCE).unwrap();
            peer.send(&[hello(version), bare(version, FEATURES_REQUEST, 2)].concat()).unwrap();
            peer.expect(kind::HELLO).unwrap();
            if index % breaks == 0 {
                continue;
            }
            peer.expect(FEATURES_REPLY).unwrap();
            let echo = peer.expect(kind::ECHO_REQUEST).unwrap();
            peer.send(&[&[version.wire(), kind::ECHO_REPLY], &echo[2..]].concat()).unwrap();
            finished += 1;
            if finished == handshakes {
                // Before the switch can come again.
                drop(listener);
                break;
            }
            match peer.receive() {
                Err(Unexpected::Closed | Unexpected::Io(_)) => {}
                other => panic!("it has to close its end: {other:?}"),
            }
        }
        finished
    });
    (address, controller)
}

#[test]
fn handshakes_are_counted_one_by_one_until_the_controller_is_gone() {
    for version in Version::ALL {
        let (address, controller) = scripted(version, 40, 5);
        let (result, failure) = handshakes(&load(address, version), &mut NoWatch);
        assert_eq!((result.done, controller.join().unwrap()), (40, 40), "{version}: {failure:?}");
        assert!(matches!(failure, Some(LoadFailure::Connect { switch: 1, .. })), "{failure:?}");
        // Of the 49 connections that 40 handshakes take every fifth was broken off.
        assert_eq!((result.failed, result.delay.len()), (9, 40));
        assert!(!result.elapsed.is_zero() && result.loops.len() == 1);
    }
}

#[test]
fn a_controller_that_never_lets_one_in_ends_the_run() {
    let (address, _) = scripted(Version::V10, 1, 1);
    let (result, failure) = handshakes(&load(address, Version::V10), &mut NoWatch);
    assert!(matches!(failure, Some(LoadFailure::Closed { switch: 1, .. })), "{failure:?}");
    assert_eq!((result.done, result.failed), (0, 10));
}

#[test]
fn many_switches_and_threads_go_on_until_they_are_stopped() {
    /// Stops the run when enough has been accepted.
    struct Enough(Arc<AtomicU64>);
    impl Watch for Enough {
        fn is_stopped(&mut self) -> bool {
            self.0.fetch_add(1, Ordering::Relaxed) > 2
        }
    }
    let null = NullController::start("127.0.0.1:0".parse().unwrap(), 1).unwrap();
    let load = Load { switches: 20, threads: 2, ..load(null.address(), Version::V13) };
    let (result, failure) = handshakes(&load, &mut Enough(Arc::default()));
    assert!(matches!(failure, Some(LoadFailure::Stopped)), "{failure:?}");
    assert_eq!((result.done, result.failed), (result.delay.len(), 0));
}

#[test]
fn silence_ends_at_the_deadline() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let hasty =
        Load { handshake_deadline: Duration::from_millis(50), ..load(address, Version::V10) };
    let (result, failure) = handshakes(&hasty, &mut NoWatch);
    let Some(failure) = failure else { panic!("{result:?}") };
    assert!(
        failure.to_string().starts_with("switch 1 still waits for the controller's HELLO"),
        "{failure}"
    );
}
