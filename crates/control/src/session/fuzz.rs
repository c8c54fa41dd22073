//! Any conversation at all: what a stranger's bytes, in any order and at any time, must not do to a
//! session.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use aldis_wire::chop::{Chop, Raw};
use aldis_wire::header::{HEADER_LEN, Header, kind};
use aldis_wire::{Version, v10, v13};

use super::{Admission, Close, Config, Refusal, Session, Step, Versions};
use crate::limits::REQUESTS_MAX;
use crate::time::Time;

/// The most that one message is answered with, in bytes, beyond its own length.
const ANSWER_MAX: usize = 128;

/// The most that a session says by itself, in bytes.
const WORDS_MAX: usize = 512;

/// Acts the conversation that `bytes` describe. Panics where the session breaks its word.
pub fn conversation(bytes: &[u8]) {
    act_out(bytes);
}

fn act_out(bytes: &[u8]) -> Talk {
    let mut script = Script(bytes);
    let versions = match script.byte() % 3 {
        0 => Versions::ALL,
        1 => Versions::only(Version::V10),
        _ => Versions::only(Version::V13),
    };
    let config = Config { versions, delete_flows: script.byte() & 1 == 1, ..Config::default() };
    let mut out = Vec::new();
    let session = Session::new(Arc::new(config), Time::START, 0xff, &mut out);
    let mut talk = Talk { session, now: Time::START, asked: Vec::new(), ups: 0 };
    talk.listen(out, WORDS_MAX);
    while !script.0.is_empty() && talk.act(&mut script).is_ok() {}
    talk
}

struct Script<'a>(&'a [u8]);

impl<'a> Script<'a> {
    fn byte(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or(0)
    }

    fn take(&mut self, len: usize) -> &'a [u8] {
        let (taken, left) = self.0.split_at(len.min(self.0.len()));
        self.0 = left;
        taken
    }
}

struct Talk {
    session: Session,
    now: Time,
    /// What the session said, newest last.
    asked: Vec<Header>,
    ups: usize,
}

impl Talk {
    fn act(&mut self, script: &mut Script<'_>) -> Result<(), Close> {
        match script.byte() % 16 {
            0..=4 => self.answer(script),
            5..=9 => self.say(script),
            10 => self.admit(script.byte()),
            11 => self.wait(Duration::from_millis(u64::from(script.byte()) * 50)),
            12 => self.wait(self.session.deadline().since(self.now)),
            13 => {
                self.session.alive(self.now);
                Ok(())
            }
            14 => {
                let mut out = Vec::new();
                self.session.probe(self.now, &mut out);
                self.session.was_read(script.byte().into());
                self.listen(out, WORDS_MAX);
                Ok(())
            }
            _ => {
                let mut out = Vec::new();
                let _ = self.session.barrier(self.now, &mut out);
                self.listen(out, WORDS_MAX);
                Ok(())
            }
        }
    }

    /// A reply to something that was asked: its type is the request's plus one, in both versions.
    fn answer(&mut self, script: &mut Script<'_>) -> Result<(), Close> {
        let back = usize::from(script.byte() % 4) + 1;
        let Some(&request) = self.asked.len().checked_sub(back).and_then(|at| self.asked.get(at))
        else {
            return Ok(());
        };
        let reply = if request.kind == kind::HELLO { kind::HELLO } else { request.kind + 1 };
        let body = script.byte();
        let body = script.take(usize::from(body));
        self.send(Header { kind: reply, ..request }, body)
    }

    /// Anything with a header.
    fn say(&mut self, script: &mut Script<'_>) -> Result<(), Close> {
        let [version, kind, xid, body] = [(); 4].map(|()| script.byte());
        let version = match self.session.version() {
            Some(agreed) if version < 0xe0 => agreed.wire(),
            _ => version & 7,
        };
        let body = script.take(usize::from(body));
        self.send(Header { version, kind: kind % 32, length: 0, xid: u32::from(xid) }, body)
    }

    fn send(&mut self, header: Header, body: &[u8]) -> Result<(), Close> {
        let length = u16::try_from(HEADER_LEN + body.len()).expect("bodies are short");
        let header = Header { length, ..header };
        let mut bytes = Vec::from(header.to_bytes());
        bytes.extend_from_slice(body);
        let mut out = Vec::new();
        let raw = Raw { header, bytes: &bytes };
        let result = self.session.receive(self.now, raw, &mut out);
        let answers = self.listen(out, bytes.len() + ANSWER_MAX);
        assert!(
            header.kind != kind::ERROR || answers.iter().all(|answer| answer.kind != kind::ERROR),
            "an error was answered with an error"
        );
        self.learn(result)
    }

    fn admit(&mut self, how: u8) -> Result<(), Close> {
        let admission = match how % 8 {
            0 => Admission::Auxiliary,
            1 => Admission::Refused(Refusal::AlreadyConnected),
            _ => Admission::Main,
        };
        let mut out = Vec::new();
        let result = self.session.admit(self.now, admission, &mut out);
        self.listen(out, WORDS_MAX);
        self.learn(result)
    }

    /// Time passes, and the session is called until it has nothing left to do.
    fn wait(&mut self, duration: Duration) -> Result<(), Close> {
        self.now = self.now + duration;
        for _ in 0..REQUESTS_MAX + 3 {
            if self.session.deadline() > self.now {
                return Ok(());
            }
            let mut out = Vec::new();
            let result = self.session.tick(self.now, &mut out);
            self.listen(out, WORDS_MAX);
            self.learn(result)?;
        }
        panic!("the deadline stays at {:?}", self.session.deadline());
    }

    fn learn(&mut self, result: Result<Step, Close>) -> Result<(), Close> {
        if let Step::Up(_) | Step::AuxiliaryUp { .. } = result? {
            self.ups += 1;
            assert!(self.ups == 1 && self.session.is_up(), "up twice");
        }
        Ok(())
    }

    /// What the session says is short, whole and readable.
    fn listen(&mut self, out: Vec<u8>, most: usize) -> Vec<Header> {
        assert!(out.len() <= most, "{} bytes said, {most} expected at most", out.len());
        let mut chop = Chop::new(&out);
        let mut heard = Vec::new();
        for raw in chop.by_ref() {
            let raw = raw.expect("our own framing");
            match Version::from_wire(raw.header.version) {
                Some(Version::V10) => drop(v10::Message::decode(raw.bytes).expect("our own words")),
                Some(Version::V13) => drop(v13::Message::decode(raw.bytes).expect("our own words")),
                // Before the version is agreed on: the echo of an echo, the refusal of a version.
                None => {
                    assert!(self.session.version().is_none(), "a version that nobody agreed on")
                }
            }
            heard.push(raw.header);
        }
        assert!(chop.rest().is_empty(), "half a message was said");
        self.asked.extend(heard.iter().filter(|header| header.kind != kind::ERROR));
        heard
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn no_conversation_breaks_a_session(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
            conversation(&bytes);
        }

        /// The same, from behind a handshake that went well.
        #[test]
        fn no_conversation_breaks_a_session_that_is_up(
            in_13 in any::<bool>(),
            bytes in prop::collection::vec(any::<u8>(), 0..600),
        ) {
            conversation(&[handshake(in_13), bytes].concat());
        }
    }

    /// HELLO, features (24 bytes), admission, ports (1.3), barrier.
    fn handshake(in_13: bool) -> Vec<u8> {
        let mut script = vec![if in_13 { 2 } else { 1 }, 0, 0, 0, 0, 0, 0, 24];
        script.extend([0; 24]);
        script.extend([10, 2]);
        script.extend([0, 0, 0]);
        if in_13 {
            script.extend([0, 1, 8, 0, 13, 0, 0, 0, 0, 0, 0]);
        }
        script
    }

    #[test]
    fn the_handshake_of_these_tests_goes_well() {
        for in_13 in [false, true] {
            let talk = act_out(&handshake(in_13));
            assert!(talk.ups == 1 && talk.session.counts() == Default::default());
        }
    }
}
