//! Ten thousand connections that send nothing.

use std::io::Read;
use std::net::TcpStream;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::Scene;
use crate::served::Settings;

/// Connections, each a descriptor here and one in the controller's process.
const CROWD: usize = 10_000;

/// Descriptors besides.
const SPARE: usize = 256;

/// Long enough for all to be there at once.
const DEADLINE: Duration = Duration::from_secs(15);

/// Length of the controller's HELLO: a header, and the bitmap of its versions.
const HELLO_LEN: usize = 16;

/// What one connection may cost while it says nothing: as much as an idle switch.
const PER_CONNECTION_MAX: usize = 16 * 1024;

/// As many connections as the limit of descriptors allows, [`CROWD`] at most.
fn crowd() -> usize {
    let limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.unwrap_or(u64::MAX);
    let raised = Rlimit { current: Some(wanted), maximum: limit.maximum };
    let allowed = setrlimit(Resource::Nofile, raised).map_or(limit.current, |()| Some(wanted));
    let allowed = allowed.map_or(CROWD, |allowed| usize::try_from(allowed).unwrap_or(usize::MAX));
    let crowd = CROWD.min(allowed.saturating_sub(SPARE));
    if crowd < CROWD {
        eprintln!("only {crowd} connections: the limit of descriptors allows no more");
    }
    crowd
}

#[test]
fn ten_thousand_connections_that_send_nothing_are_taken_and_given_up() {
    let crowd = crowd();
    let mut scene = Scene::open_with(Settings { workers: 1, handshake_within: DEADLINE });
    let address = scene.controller.address();
    let connect = |_| TcpStream::connect(address).expect("the controller accepts");
    let sockets: Vec<TcpStream> = (0..crowd).map(connect).collect();
    for mut socket in &sockets {
        socket.set_read_timeout(Some(DEADLINE)).expect("a socket");
        socket.read_exact(&mut [0; HELLO_LEN]).expect("the controller's HELLO");
    }
    let full = scene.controller.state();
    assert!(full.descriptors >= scene.before.descriptors + crowd, "{full:?}");
    let each = (full.heap - scene.before.heap) / crowd;
    assert!(each <= PER_CONNECTION_MAX, "{each} bytes a connection");
    for mut socket in sockets {
        let end = socket.read(&mut [0]).expect("an orderly end");
        assert_eq!(end, 0, "more than a HELLO");
        let why = scene.controller.await_end(socket.local_addr().expect("a socket"));
        assert!(why.contains("took too long, waiting for its HELLO"), "{why}");
    }
    scene.close();
}
