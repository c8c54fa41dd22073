//! Connections that are reset at every byte of the handshake, in both directions.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use aldis_emulator::peer::{bare, hello};
use aldis_wire::Version;
use aldis_wire::header::{HEADER_LEN, Header};
use rustix::net::sockopt::set_socket_linger;

use crate::served::Settings;
use crate::{FEATURES_REQUEST, Scene, WITHIN, barrier_request};

/// The one datapath id that all of them claim.
const NUMBER: u32 = 5;

/// `OFPT_MULTIPART_REQUEST`, which asks for the ports in 1.3. 1.0 has it for a barrier, and asks
/// for no ports.
const MULTIPART_REQUEST: u8 = 18;

/// A switch that shakes hands until it has said or heard so many bytes.
struct Switch {
    socket: TcpStream,
    version: Version,
    to_say: usize,
    to_hear: usize,
}

/// It has.
struct Enough;

impl Switch {
    fn say(&mut self, bytes: &[u8]) -> Result<(), Enough> {
        let count = bytes.len().min(self.to_say);
        self.socket.write_all(&bytes[..count]).expect("the controller reads");
        self.to_say -= count;
        if count < bytes.len() { Err(Enough) } else { Ok(()) }
    }

    fn hear(&mut self, len: usize) -> Result<Vec<u8>, Enough> {
        let mut bytes = vec![0; len.min(self.to_hear)];
        self.socket.read_exact(&mut bytes).expect("the controller speaks");
        self.to_hear -= bytes.len();
        if bytes.len() < len { Err(Enough) } else { Ok(bytes) }
    }

    fn shake_hands(&mut self) -> Result<(), Enough> {
        self.say(&hello(self.version))?;
        loop {
            let head = self.hear(HEADER_LEN)?;
            let header = Header::peek(&head).ok().flatten().expect("a header");
            self.hear(usize::from(header.length) - HEADER_LEN)?;
            let version = self.version.wire();
            match header.kind {
                FEATURES_REQUEST => {
                    let reply = Header { version, kind: 6, length: 32, xid: header.xid };
                    let dpid = u64::from(NUMBER).to_be_bytes();
                    self.say(&[&reply.to_bytes()[..], &dpid, &[0; 16]].concat())?;
                }
                kind if kind == barrier_request(self.version) => {
                    return self.say(&bare(self.version, kind + 1, header.xid));
                }
                MULTIPART_REQUEST => {
                    let reply = Header { version, kind: 19, length: 16, xid: header.xid };
                    self.say(&[reply.to_bytes(), [0, 13, 0, 0, 0, 0, 0, 0]].concat())?;
                }
                _ => {}
            }
        }
    }

    fn name(&self) -> SocketAddr {
        self.socket.local_addr().expect("it is connected")
    }

    /// Closes the socket with a reset instead of an orderly end.
    fn reset(self) {
        set_socket_linger(&self.socket, Some(Duration::ZERO)).expect("a socket");
    }
}

fn switch(scene: &Scene, version: Version, to_say: usize, to_hear: usize) -> Switch {
    let socket = TcpStream::connect(scene.controller.address()).expect("the controller listens");
    socket.set_read_timeout(Some(WITHIN)).expect("a socket");
    Switch { socket, version, to_say, to_hear }
}

/// A handshake to its end: how many bytes were said and heard.
fn whole(scene: &Scene, version: Version) -> (usize, usize) {
    let mut switch = switch(scene, version, usize::MAX, usize::MAX);
    assert!(switch.shake_hands().is_ok());
    scene.controller.await_up(switch.name());
    let (name, said, heard) =
        (switch.name(), usize::MAX - switch.to_say, usize::MAX - switch.to_hear);
    switch.reset();
    scene.controller.await_end(name);
    (said, heard)
}

/// Every place at which a handshake can be cut: after so many bytes said, after so many bytes
/// heard.
fn cuts(said: usize, heard: usize) -> impl Iterator<Item = (usize, usize)> {
    let saying = (0..=said).map(|said| (said, usize::MAX));
    saying.chain((0..=heard).map(|heard| (usize::MAX, heard)))
}

fn scenes() -> [Scene; 2] {
    [1, 2].map(|workers| Scene::open_with(Settings { workers, handshake_within: WITHIN }))
}

#[test]
fn a_reset_at_every_byte_of_the_handshake_leaves_nothing_behind() {
    for scene in scenes() {
        for version in Version::ALL {
            let (said, heard) = whole(&scene, version);
            assert!(said >= 48 && heard >= 44, "{said} bytes said, {heard} heard");
            for (to_say, to_hear) in cuts(said, heard) {
                let mut switch = switch(&scene, version, to_say, to_hear);
                let _ = switch.shake_hands();
                let name = switch.name();
                switch.reset();
                let why = scene.controller.await_end(name);
                assert!(why.contains("reset") || why.contains("closed"), "{why}");
            }
            // The name is free again.
            assert_eq!(whole(&scene, version), (said, heard));
        }
        scene.close();
    }
}

/// The same without waiting for the controller to notice, so that each finds its name taken by the
/// ones before.
#[test]
fn a_storm_of_resets_leaves_the_name_free() {
    for scene in scenes() {
        for version in Version::ALL {
            let (said, heard) = whole(&scene, version);
            let ended = scene.controller.ends();
            let switches = cuts(said, heard).map(|(to_say, to_hear)| {
                // A connection that waits for the decision about its name hears nothing more.
                let most = 24.min(to_hear);
                let mut switch = switch(&scene, version, to_say, most);
                let _ = switch.shake_hands();
                switch.reset();
            });
            let count = switches.count();
            scene.controller.await_ends(ended + count);
            whole(&scene, version);
        }
        scene.close();
    }
}
