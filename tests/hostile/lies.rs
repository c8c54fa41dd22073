//! Messages that lie, before, in and after the handshake: the corpus of golden vectors, and each of
//! them with wrong lengths, cut short, and of every version and type.

use std::net::Shutdown;

use aldis_emulator::peer::{Peer, PeerPart, Unexpected, bare, hello};
use aldis_wire::header::{Header, kind};
use aldis_wire::msg::Message;
use aldis_wire::{Reason, Version, v10, v13};

use crate::{FEATURES_REQUEST, Scene, WITHIN, barrier_request, expect_alive, is_end, name_of};
use aldis_testkit::golden::{self, Golden};

/// Bad messages that a session is forgiven at once (`aldis_control::limits::FAULTS_MAX`), and some
/// fewer.
const FAULTS_MAX: u32 = 100;
const FAULTS_SAFE: u32 = 90;

/// `OFPET_BAD_REQUEST` and its codes, the same in both versions.
const BAD_REQUEST: u16 = 1;
const BAD_VERSION: u16 = 0;
const BAD_TYPE: u16 = 1;
const BAD_LEN: u16 = 6;

/// How much of a bad message comes back at most (`aldis_control::limits::ERROR_DATA_MAX`).
const ERROR_DATA_MAX: usize = 64;

/// The echo request that shows that everything before it was dealt with.
const MARK: u32 = 0x7fff_fff0;

/// Lies that are told after the handshake, each version's.
const LIES: usize = 40_000;

fn corpus(version: Version) -> Vec<Golden> {
    golden::corpus(match version {
        Version::V10 => "v10",
        Version::V13 => "v13",
    })
}

/// The message with every two bytes behind its header set to lengths that cannot be, and cut
/// everywhere, always with a header that tells the truth about the whole.
fn lies(message: &[u8]) -> Vec<Vec<u8>> {
    let with = |place: usize, value: u16| {
        let mut lie = message.to_vec();
        lie[place..place + 2].copy_from_slice(&value.to_be_bytes());
        lie
    };
    let lengths = (8..message.len().saturating_sub(1)).flat_map(|place| {
        let was = u16::from_be_bytes([message[place], message[place + 1]]);
        let left = (message.len() - place) as u16;
        let around = |value: u16| [value.wrapping_sub(1), value, value.wrapping_add(1)];
        [0, 1, 3, 7, 0xffff]
            .into_iter()
            .chain(around(was))
            .chain(around(left))
            .map(move |value| (place, value))
    });
    let cut = |len: usize| {
        let mut lie = message[..len].to_vec();
        lie[2..4].copy_from_slice(&(len as u16).to_be_bytes());
        lie
    };
    lengths.map(|(place, value)| with(place, value)).chain((8..message.len()).map(cut)).collect()
}

/// `count` of all, evenly.
fn sample<T>(all: Vec<T>, count: usize) -> impl Iterator<Item = T> {
    let step = all.len().div_ceil(count).max(1);
    all.into_iter().step_by(step)
}

/// The code of the `OFPET_BAD_REQUEST` that has to follow from a message after the handshake, if
/// one has to.
fn expected(version: Version, message: &[u8]) -> Option<u16> {
    let [theirs, kind, ..] = *message else { return None };
    let ours = theirs == version.wire();
    let is_request = kind == kind::PACKET_IN
        && ours
        && match version {
            Version::V10 => v10::packet_in::view(message).is_ok(),
            Version::V13 => v13::packet_in::view(message).is_ok(),
        };
    // A second HELLO changes nothing, and errors are never answered by errors.
    if kind == kind::HELLO || kind == kind::ERROR || is_request {
        return None;
    }
    match Message::decode(version, message) {
        Err(malformed) => Some(match malformed.reason {
            Reason::BadVersion => BAD_VERSION,
            Reason::BadType => BAD_TYPE,
            _ => BAD_LEN,
        }),
        Ok(_) => (!may_come_from_switches(version, kind)).then_some(BAD_TYPE),
    }
}

/// By the tables of message types: OpenFlow 1.0 §5.1, 1.3.5 §7.1.1.
fn may_come_from_switches(version: Version, kind: u8) -> bool {
    match version {
        Version::V10 => matches!(kind, 0..=4 | 6 | 8 | 10 | 11 | 12 | 17 | 19 | 21),
        Version::V13 => matches!(kind, 0..=4 | 6 | 8 | 10 | 11 | 12 | 19 | 21 | 23 | 25 | 27),
    }
}

/// A switch that lies once its handshake is done, and comes back when it is about to be sent away
/// for it.
struct Liar<'a> {
    scene: &'a Scene,
    version: Version,
    peer: Peer,
    faults: u32,
}

impl<'a> Liar<'a> {
    fn new(scene: &'a Scene, version: Version) -> Self {
        Liar { scene, version, peer: scene.join(version, 5), faults: 0 }
    }

    /// Tells a lie and checks that what comes back is what has to.
    fn tell(&mut self, name: &str, lie: &[u8]) {
        let mark = bare(self.version, kind::ECHO_REQUEST, MARK);
        self.peer.send(&[lie, &mark].concat()).expect("the controller reads");
        let errors = self.errors_until_mark(name, lie);
        let expected = expected(self.version, lie);
        assert_eq!(errors.len(), usize::from(expected.is_some()), "{name}: {lie:02x?}");
        if let (Some(code), [error]) = (expected, &errors[..]) {
            let data = &lie[..lie.len().min(ERROR_DATA_MAX)];
            let about = [&BAD_REQUEST.to_be_bytes(), &code.to_be_bytes(), data].concat();
            assert_eq!((&error[4..8], &error[8..]), (&lie[4..8], &about[..]), "{name}: {lie:02x?}");
        }
        // A malformed error is a fault too, for all that it gets no answer.
        let unanswered = lie[1] == kind::ERROR && Message::decode(self.version, lie).is_err();
        self.faults += u32::from(expected.is_some() || unanswered);
        if self.faults == FAULTS_SAFE {
            self.leave();
            *self = Liar::new(self.scene, self.version);
        }
    }

    /// The errors among what the controller says until it answers the echo request.
    fn errors_until_mark(&mut self, name: &str, lie: &[u8]) -> Vec<Vec<u8>> {
        let end = bare(self.version, kind::ECHO_REPLY, MARK);
        let mut errors = Vec::new();
        loop {
            let heard = self.peer.receive().unwrap_or_else(|unexpected| {
                let why = self.scene.controller.await_end(name_of(&self.peer));
                panic!("{name}: {unexpected}, for {why}: {lie:02x?}");
            });
            if heard == end {
                return errors;
            }
            assert!(Message::decode(self.version, &heard).is_ok(), "{name}: {heard:02x?}");
            errors.extend(Some(heard).filter(|heard| heard[1] == kind::ERROR));
        }
    }

    fn leave(&self) {
        self.peer.socket().shutdown(Shutdown::Both).expect("it is connected");
        self.scene.controller.await_end(name_of(&self.peer));
    }
}

#[test]
fn after_the_handshake_a_lie_is_answered_by_its_error_or_passed_over() {
    let scene = Scene::open();
    for version in Version::ALL {
        let mut liar = Liar::new(&scene, version);
        let mut told = Vec::new();
        for Golden { name, bytes, .. } in corpus(version) {
            liar.tell(&name, &bytes);
            told.extend(lies(&bytes).into_iter().map(|lie| (name.clone(), lie)));
        }
        for (name, lie) in sample(told, LIES) {
            liar.tell(&name, &lie);
        }
        liar.leave();
    }
    scene.close();
}

#[test]
fn after_the_handshake_every_version_and_type_has_its_answer() {
    let scene = Scene::open();
    for version in Version::ALL {
        let mut liar = Liar::new(&scene, version);
        for other in 0..=255 {
            for kind in [kind::HELLO, kind::ERROR, kind::ECHO_REQUEST, kind::PACKET_IN, 18, 200] {
                let lie = Header { version: other, kind, length: 12, xid: 8 }.to_bytes();
                liar.tell("any version", &[&lie[..], &[0; 4]].concat());
            }
        }
        for kind in 0..=255 {
            for body in [0, 4, 8, 40, 200] {
                let length = 8 + body;
                let lie = Header { version: version.wire(), kind, length, xid: 8 }.to_bytes();
                liar.tell("any type", &[&lie[..], &vec![0; body.into()]].concat());
            }
        }
        liar.leave();
    }
    scene.close();
}

/// From a header on that lies about its length, the rest of the stream is whatever it is cut into:
/// errors, echoes, and the end of the connection as soon as a length is below that of a header.
#[test]
fn a_header_that_lies_about_its_length_harms_its_own_connection_alone() {
    let scene = Scene::open();
    for version in Version::ALL {
        for Golden { name, bytes, .. } in corpus(version) {
            let true_length = bytes.len() as u16;
            for length in (0..=8).chain([true_length - 1, true_length + 1, 0x7fff, 0xffff]) {
                let mut peer = scene.join(version, 5);
                let mut lie = bytes.clone();
                lie[2..4].copy_from_slice(&length.to_be_bytes());
                peer.send(&lie).expect("the controller reads");
                let known_as = name_of(&peer);
                if length < 8 {
                    peer.expect_close().unwrap_or_else(|error| panic!("{name}: {length}: {error}"));
                    let why = scene.controller.await_end(known_as);
                    assert!(why.contains("header.length"), "{name}: {length}: {why}");
                    continue;
                }
                if length > true_length {
                    // It waits for the rest, and goes on behind it.
                    peer.send(&vec![0; usize::from(length - true_length)]).expect("it reads");
                    expect_alive(&mut peer, version);
                }
                drop(peer);
                scene.controller.await_end(known_as);
            }
        }
    }
    scene.close();
}

#[test]
fn a_switch_that_does_nothing_but_lie_is_sent_away() {
    let scene = Scene::open();
    for version in Version::ALL {
        let mut peer = scene.join(version, 5);
        let lie = bare(version, 200, 8);
        for _ in 0..FAULTS_MAX {
            peer.send(&lie).expect("it is forgiven");
            peer.expect(kind::ERROR).expect("the error");
        }
        for _ in 0..10 {
            // The last of them may find the connection closed.
            let _ = peer.send(&lie);
        }
        peer.expect_close().expect("the end");
        let why = scene.controller.await_end(name_of(&peer));
        assert!(why.contains("too many bad messages") && why.contains("header.type"), "{why}");
    }
    scene.close();
}

/// A place in the handshake: what is said before the lie, and what after.
#[derive(Clone, Copy, Debug)]
enum Moment {
    BeforeHello,
    AfterHello,
    AfterFeatures,
}

/// How a handshake with a lie in it may end: the last where the lie did no harm and the switch left
/// by itself.
const REASONS: [&str; 5] = [
    "the connection was not admitted: ",
    "the first message was no HELLO",
    "the switch refused our HELLO: ",
    "the handshake failed: ",
    "the switch closed the connection",
];

/// Shakes hands with a lie in between. Whether the handshake came to its end.
fn shake_hands(
    peer: &mut Peer,
    part: PeerPart,
    moment: Moment,
    lie: &[u8],
) -> Result<(), Unexpected> {
    let hello = hello(part.version);
    match moment {
        Moment::BeforeHello => peer.send(&[lie, &hello].concat())?,
        Moment::AfterHello => peer.send(&[&hello, lie].concat())?,
        Moment::AfterFeatures => {
            peer.send(&hello)?;
            peer.play(part, FEATURES_REQUEST)?;
            peer.send(lie)?;
        }
    }
    peer.play(part, barrier_request(part.version)).map(drop)
}

#[test]
fn in_the_handshake_a_lie_is_passed_over_or_ends_it_with_a_reason() {
    let scene = Scene::open();
    for version in Version::ALL {
        let part = PeerPart { version, number: 5, ports: 2 };
        for Golden { name, bytes, .. } in corpus(version) {
            for lie in std::iter::once(bytes.clone()).chain(sample(lies(&bytes), 12)) {
                for moment in [Moment::BeforeHello, Moment::AfterHello, Moment::AfterFeatures] {
                    if matches!(moment, Moment::BeforeHello) && lie[1] == kind::HELLO {
                        continue;
                    }
                    let mut peer =
                        Peer::connect(scene.controller.address(), WITHIN).expect("it listens");
                    let known_as = name_of(&peer);
                    match shake_hands(&mut peer, part, moment, &lie) {
                        Ok(()) => {
                            scene.controller.await_up(known_as);
                            expect_alive(&mut peer, version);
                        }
                        Err(end) => assert!(is_end(&end), "{name} {moment:?}: {end}: {lie:02x?}"),
                    }
                    drop(peer);
                    let why = scene.controller.await_end(known_as);
                    assert!(REASONS.iter().any(|&reason| why.starts_with(reason)), "{name}: {why}");
                }
            }
        }
    }
    scene.close();
}

/// The one answer that the handshake waits for cannot be read: there is no other to come.
#[test]
fn a_handshake_ends_where_the_answer_that_it_waits_for_is_malformed() {
    let scene = Scene::open();
    for version in Version::ALL {
        let mut peer = scene.connect();
        peer.send(&hello(version)).expect("the controller reads");
        let request = peer.expect(FEATURES_REQUEST).expect("its question");
        let xid = u32::from_be_bytes([request[4], request[5], request[6], request[7]]);
        let short = Header { version: version.wire(), kind: 6, length: 31, xid };
        peer.send(&[&short.to_bytes()[..], &[0; 23]].concat()).expect("the controller reads");
        peer.expect_close().expect("the end");
        let why = scene.controller.await_end(name_of(&peer));
        assert!(why.contains("the switch's FEATURES_REPLY cannot be read"), "{why}");
    }
    scene.close();
}
