//! The connection of a guest for one of its switches: opening it, the handshake as the switch, and
//! the bytes both ways.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use aldis_wire::header::kind;
use aldis_wire::msg::Hello;
use aldis_wire::{Chop, Raw, Version};
use rustix::event::epoll::EventFlags;
use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto, sockopt};

use crate::datapath::{Datapath, SessionId};
use crate::inbound::{Inbound, bare};
use crate::limits::{
    ANSWERS_MAX, ECHO_EVERY, HANDSHAKE_WITHIN, MUCH_FOR, READ_LITTLE, RETRY_FIRST, RETRY_MAX,
    SEND_BUFFER, SERVED_WELL, STALLED_AFTER, UNREAD_MAX,
};
use crate::refusal;
use crate::relay::Relay;
use crate::session::GuestSession;
use crate::wire::GuestWire;

/// How long the guest may take to say HELLO first: it knows what it speaks.
const HELLO_AFTER: Duration = Duration::from_millis(200);

/// The hello failed for want of a version in common (1.0 §5.4.4, 1.3.5 §7.4.4).
const INCOMPATIBLE: (u16, u16) = (0, 0);

/// Why a connection ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Ended {
    /// The guest closed it, or it failed, as far as is known without a fault of the guest.
    Lost(String),
    /// The guest did something that cannot go on.
    Fault(String),
}

impl From<io::Error> for Ended {
    fn from(error: io::Error) -> Ended {
        Ended::Lost(error.to_string())
    }
}

/// How far it is.
#[derive(Clone, Copy, Debug)]
enum Phase {
    /// There is no socket until then.
    Waiting { until: Instant },
    /// The kernel connects.
    Opening { since: Instant },
    /// Both say HELLO.
    Greeting { since: Instant, said: bool },
    /// The guest controls the switch, in this version.
    Open(SessionId),
}

/// What the kernel reports of a connection, and to which worker; to the guest's thread where to
/// none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Watched {
    pub(crate) flags: EventFlags,
    pub(crate) by: Option<usize>,
}

impl Watched {
    const NOTHING: Watched = Watched { flags: EventFlags::empty(), by: None };
}

/// The connection for one switch.
pub(crate) struct GuestConn {
    pub(crate) datapath: Arc<Datapath>,
    pub(crate) wire: Option<GuestWire>,
    watched: Watched,
    phase: Phase,
    pause: Duration,
    session: GuestSession,
    /// The beginning of a message whose end is still to come.
    carry: Vec<u8>,
    out: Vec<u8>,
    written: usize,
    /// What waited at the switch is taken, too: until all is written workers write nothing.
    writes: bool,
    /// Bytes of it that are answers made here.
    answers: usize,
    /// Since when the guest has read nothing of what waits.
    unread_since: Option<Instant>,
    heard_at: Instant,
    asked_at: Option<Instant>,
    /// Since when the guest controls the switch.
    opened_at: Option<Instant>,
    /// When one read last brought much.
    much_at: Option<Instant>,
}

impl GuestConn {
    pub(crate) fn new(datapath: Arc<Datapath>, now: Instant) -> GuestConn {
        GuestConn {
            datapath,
            wire: None,
            watched: Watched::NOTHING,
            phase: Phase::Waiting { until: now },
            pause: RETRY_FIRST,
            session: GuestSession::default(),
            carry: vec![],
            out: vec![],
            written: 0,
            writes: false,
            answers: 0,
            unread_since: None,
            heard_at: now,
            asked_at: None,
            opened_at: None,
            much_at: None,
        }
    }

    /// Whether it is time to open it.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        matches!(self.phase, Phase::Waiting { until } if until <= now)
    }

    /// For how long the guest has controlled the switch, if it does.
    pub(crate) fn open_for(&self, now: Instant) -> Option<Duration> {
        self.opened_at.map(|at| now.saturating_duration_since(at))
    }

    /// Begins to open it.
    pub(crate) fn open(&mut self, to: SocketAddr, now: Instant) -> Result<(), Ended> {
        let family = if to.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket: OwnedFd =
            rustix::net::socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))
                .map_err(io::Error::from)?;
        sockopt::set_tcp_nodelay(&socket, true).map_err(io::Error::from)?;
        sockopt::set_socket_send_buffer_size(&socket, SEND_BUFFER).map_err(io::Error::from)?;
        match rustix::net::connect(&socket, &to) {
            Ok(()) | Err(rustix::io::Errno::INPROGRESS) => {}
            Err(error) => return Err(io::Error::from(error).into()),
        }
        let tls = self.datapath.guest.tls();
        self.wire = Some(GuestWire::new(socket.into(), tls.as_ref())?);
        self.phase = Phase::Opening { since: now };
        Ok(())
    }

    /// Ends it; it is opened again after a pause.
    pub(crate) fn end(&mut self, why: Option<&str>, now: Instant) {
        if self.opened_at.take().is_some_and(|at| now - at > SERVED_WELL) {
            self.pause = RETRY_FIRST;
        }
        if let Some(mut wire) = self.wire.take() {
            wire.finish();
        }
        self.phase = Phase::Waiting { until: now + self.pause };
        self.pause = (self.pause * 2).min(RETRY_MAX);
        self.session = GuestSession::default();
        (self.carry, self.out, self.written, self.answers) = (vec![], vec![], 0, 0);
        (self.writes, self.unread_since, self.asked_at) = (false, None, None);
        self.datapath.close(why);
        self.set_watched(Watched::NOTHING);
    }

    /// It is opened at once, whatever happened before.
    pub(crate) fn hurry(&mut self, now: Instant) {
        self.pause = RETRY_FIRST;
        if let Phase::Waiting { until } = &mut self.phase {
            *until = now;
        }
    }

    /// What the kernel reports of it.
    pub(crate) fn watched(&self) -> Watched {
        self.watched
    }

    pub(crate) fn set_watched(&mut self, watched: Watched) {
        let guest = &self.datapath.guest;
        watched.by.into_iter().for_each(|worker| guest.lend(worker));
        self.watched.by.into_iter().for_each(|worker| guest.take_back(worker));
        self.watched = watched;
    }

    /// Whether a worker may read it: the guest controls the switch, says little at a time, and is
    /// not encrypted.
    pub(crate) fn says_little(&self, now: Instant) -> bool {
        let is_plain = self.wire.as_ref().is_some_and(GuestWire::is_plain);
        let is_much = self.much_at.is_some_and(|at| now.saturating_duration_since(at) < MUCH_FOR);
        self.opened_at.is_some() && is_plain && !is_much
    }

    /// Whether it waits for room in the socket.
    pub(crate) fn wants_to_write(&self) -> bool {
        let is_behind = self.wire.as_ref().is_some_and(GuestWire::is_behind);
        matches!(self.phase, Phase::Opening { .. }) || self.written < self.out.len() || is_behind
    }

    /// Whether what the guest says can be taken now.
    pub(crate) fn takes_more(&self) -> bool {
        self.datapath.takes_inbound() && self.answers < ANSWERS_MAX
    }

    /// The socket can be written to.
    pub(crate) fn writable(&mut self, now: Instant) -> Result<(), Ended> {
        if let (Phase::Opening { .. }, Some(wire)) = (self.phase, &self.wire) {
            if let Some(error) = wire.socket().take_error()? {
                return Err(error.into());
            }
            self.phase = Phase::Greeting { since: now, said: false };
            self.heard_at = now;
            self.datapath.guest.counts.connections.add(1);
        }
        if let Some(wire) = &mut self.wire {
            wire.flush()?;
        }
        self.write(now)
    }

    /// Writes what waits for the guest, as far as it reads.
    pub(crate) fn write(&mut self, now: Instant) -> Result<(), Ended> {
        loop {
            if self.written == self.out.len() {
                (self.written, self.answers, self.unread_since) = (0, 0, None);
                self.out.clear();
                self.writes = false;
            }
            if !self.writes && matches!(self.phase, Phase::Open(_)) {
                if self.datapath.take_outbox(&mut self.out) {
                    return Err(Ended::Fault(
                        "it does not read the replies to its requests".into(),
                    ));
                }
                self.writes = !self.out.is_empty();
            }
            if self.out.is_empty() {
                return Ok(());
            }
            let Some(wire) = &mut self.wire else { return Ok(()) };
            match wire.write(&self.out[self.written..]) {
                Ok(0) => return Err(Ended::Lost("the guest closed the connection".into())),
                Ok(count) => {
                    self.written += count;
                    self.unread_since = None;
                    self.datapath.set_stalled(false);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.unread_since.get_or_insert(now);
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Reads what the guest says, once.
    pub(crate) fn read(&mut self, room: &mut [u8], now: Instant) -> Result<(), Ended> {
        let Some(wire) = &mut self.wire else { return Ok(()) };
        let count = match wire.read(room) {
            Ok(0) => return Err(Ended::Lost("the guest closed the connection".into())),
            Ok(count) => count,
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                ) =>
            {
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        (self.heard_at, self.asked_at) = (now, None);
        if count >= READ_LITTLE {
            self.much_at = Some(now);
        }
        let carry = std::mem::take(&mut self.carry);
        match carry.is_empty() {
            true => self.take(&room[..count]),
            false => self.take(&[&carry, &room[..count]].concat()),
        }?;
        self.write(now)
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), Ended> {
        let mut relay = Relay::default();
        let mut chop = Chop::new(bytes);
        let faults = self.datapath.guest.counts.faults.now();
        let (mut result, mut messages, before) = (Ok(()), 0, self.out.len());
        for raw in chop.by_ref() {
            messages += 1;
            result = match raw {
                Ok(raw) => self.take_message(raw, &mut relay),
                Err(why) => Err(Ended::Fault(format!("the stream is no OpenFlow any more: {why}"))),
            };
            if result.is_err() {
                break;
            }
        }
        self.carry = chop.rest().to_vec();
        self.answers += self.out.len() - before;
        self.datapath.guest.counts.messages.add(messages);
        if !relay.is_empty() {
            self.datapath.guest.send(&self.datapath, relay);
        }
        let faults = self.datapath.guest.counts.faults.now() - faults;
        if faults > 0
            && let Some(why) = self.datapath.guest.fault(faults, "a message that cannot be read")
        {
            return Err(Ended::Lost(why));
        }
        result
    }

    fn take_message(&mut self, raw: Raw<'_>, relay: &mut Relay) -> Result<(), Ended> {
        match self.phase {
            Phase::Greeting { said, .. } => self.greeted(raw, said),
            Phase::Open(id) => {
                let GuestConn { datapath, session, out, .. } = self;
                let version = id.version();
                relay.session = Some(id);
                Inbound { datapath, session, version, relay, back: out }.take(raw);
                Ok(())
            }
            Phase::Waiting { .. } | Phase::Opening { .. } => Ok(()),
        }
    }

    /// The guest said HELLO: the version is that of the switch, where the guest speaks it.
    fn greeted(&mut self, raw: Raw<'_>, said: bool) -> Result<(), Ended> {
        if raw.header.kind == kind::ERROR {
            return Err(Ended::Fault("the guest refused the handshake".into()));
        }
        if raw.header.kind != kind::HELLO {
            return Err(Ended::Fault(format!(
                "its first message was of type {}, no HELLO: is this an OpenFlow controller?",
                raw.header.kind
            )));
        }
        let native = self.datapath.info.version;
        let Some(version) = common(raw, native, said) else {
            refusal::write(
                native,
                raw.header.xid,
                INCOMPATIBLE,
                b"1.0 and 1.3 only",
                &mut self.out,
            );
            let theirs = raw.header.version;
            let why = format!("no version in common: the guest's HELLO says {theirs:#04x}");
            return Err(Ended::Fault(why));
        };
        if !said {
            self.say_hello(version, &[version]);
        }
        // What was said so far is written before a worker writes.
        self.writes = !self.out.is_empty();
        self.phase = Phase::Open(self.datapath.open(version));
        self.datapath.share_socket(self.wire.as_ref().and_then(GuestWire::plain));
        self.opened_at = Some(self.heard_at);
        Ok(())
    }

    fn say_hello(&mut self, version: Version, all: &[Version]) {
        match version {
            Version::V10 => self.out.extend_from_slice(&bare(version, kind::HELLO, 0)),
            Version::V13 => {
                let hello = aldis_wire::msg::Message::Hello(Hello::speaking(all));
                // A HELLO can be said in every version.
                let _ = hello.encode(version, 0, &mut self.out);
            }
        }
    }

    /// Time passed.
    pub(crate) fn tick(&mut self, now: Instant) -> Result<(), Ended> {
        match &mut self.phase {
            Phase::Opening { since } if now - *since > HANDSHAKE_WITHIN => {
                return Err(Ended::Lost("nothing answers there".into()));
            }
            Phase::Greeting { since, .. } if now - *since > HANDSHAKE_WITHIN => {
                return Err(Ended::Fault("it does not say HELLO".into()));
            }
            Phase::Greeting { since, said } if !*said && now - *since > HELLO_AFTER => {
                *said = true;
                let native = self.datapath.info.version;
                self.say_hello(native, &Version::ALL);
                self.write(now)?;
            }
            _ => {}
        }
        if self.unread_since.is_some_and(|since| now - since > UNREAD_MAX) {
            return Err(Ended::Fault(format!("it read nothing for {} s", UNREAD_MAX.as_secs())));
        }
        if self.unread_since.is_some_and(|since| now - since > STALLED_AFTER) {
            self.datapath.set_stalled(true);
        }
        let Phase::Open(id) = self.phase else { return Ok(()) };
        match self.asked_at {
            Some(asked) if now - asked > ECHO_EVERY => {
                return Err(Ended::Fault("it did not answer an echo request".into()));
            }
            // Where nothing of it is read, its answer is not either.
            None if now - self.heard_at > ECHO_EVERY && self.takes_more() => {
                self.asked_at = Some(now);
                self.out.extend_from_slice(&bare(id.version(), kind::ECHO_REQUEST, 0));
                self.write(now)?;
            }
            _ => {}
        }
        Ok(())
    }
}

/// The version in which both go on: the switch's own where the guest speaks it.
fn common(hello: Raw<'_>, native: Version, said: bool) -> Option<Version> {
    let theirs = hello.header.version;
    let body = hello.bytes.get(8..).unwrap_or_default();
    let words = Hello::read_body(body).ok();
    let bits = words.as_ref().and_then(|hello| hello.bitmap()?.first().copied());
    let speaks = |version: Version| match bits {
        Some(bits) => bits >> version.wire() & 1 == 1,
        None if said => theirs.min(native.wire()) == version.wire(),
        None => theirs >= version.wire(),
    };
    let other = if native == Version::V10 { Version::V13 } else { Version::V10 };
    [native, other].into_iter().find(|version| speaks(*version))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello(version: u8, bitmap: Option<u32>) -> Vec<u8> {
        let mut bytes = vec![version, kind::HELLO, 0, 8, 0, 0, 0, 1];
        if let Some(bits) = bitmap {
            bytes[3] = 16;
            bytes.extend([0, 1, 0, 8]);
            bytes.extend(bits.to_be_bytes());
        }
        bytes
    }

    #[test]
    fn the_version_of_the_switch_is_taken_where_the_guest_speaks_it() {
        let agreed = |version, bitmap, native| {
            let bytes = hello(version, bitmap);
            common(Chop::new(&bytes).next().unwrap().unwrap(), native, false)
        };
        let (v10, v13) = (Version::V10, Version::V13);
        assert_eq!(agreed(4, Some(0b10010), v13), Some(v13));
        assert_eq!(agreed(4, Some(0b10010), v10), Some(v10));
        assert_eq!(agreed(4, Some(0b10000), v10), Some(v13));
        assert_eq!(agreed(1, None, v13), Some(v10));
        assert_eq!(agreed(6, None, v13), Some(v13));
        assert_eq!(agreed(6, Some(0b1000000), v13), None);
    }
}
