//! A switch's connection to its controller: opened again whenever it ends, read a little at a time,
//! with a bounded queue.
//!
//! It chops, greets, and hands everything else on. PACKET_INs that find the queue full are dropped
//! and counted; other messages are answers, and as long as the queue is full nothing is read that
//! would make more of them.

use crate::SwitchTls;
use crate::poll::{Interest, Poll};
use crate::stream::{ReceiveBuffer, Tail};
use crate::wire::SwitchWire;
use aldis_wire::header::{Header, kind};
use aldis_wire::{Chop, Malformed, Raw, Version};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};
use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Most bytes that wait for the controller before PACKET_INs are dropped and nothing more is read.
const OUTBOX_MAX: usize = 1 << 20;
/// Most bytes that one visit may add to that in answers; a session that asks for more is closed.
const OUTBOX_END: usize = 256 << 20;
/// Most bytes one visit reads.
pub(super) const READ_MAX: usize = 64 * 1024;

/// How long a switch waits before it connects again: doubled with every failure, and the least
/// again after a handshake.
const AGAIN_FIRST: Duration = Duration::from_millis(100);
const AGAIN_LAST: Duration = Duration::from_millis(3200);

/// The least that a slow reader's socket may hold unread, so that the controller notices soon.
const SLOW_RECEIVE_BUFFER: usize = 4096;
/// What a socket may hold that reads as ever again: the system doubles it, which is then what it
/// gives a new one.
const RECEIVE_BUFFER: usize = 64 * 1024;
/// How much of a slow reader's rate its socket may hold, in milliseconds of it. A sender that finds
/// less room than a segment needs waits, Linux for 200 ms, before it fills what there is (RFC 1122
/// §4.2.3.4).
const SLOW_RECEIVE_MS: u64 = 400;

/// Why a connection ended.
#[derive(Debug)]
pub enum SessionEnd {
    /// It could not be opened.
    Refused(io::Error),
    /// The controller closed it.
    Closed,
    /// It broke.
    Broken(io::Error),
    /// The controller sent what is no OpenFlow message.
    Garbage(Malformed),
    /// The controller sent what begins with a version that no OpenFlow has.
    Foreign(u8),
    /// The controller speaks this version at most, as the byte on the wire.
    Version(u8),
    /// The controller asks for more than it reads.
    Overrun,
    /// It was told to end.
    Told,
}

impl fmt::Display for SessionEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SessionEnd::Refused(error) => write!(f, "it cannot connect: {error}"),
            SessionEnd::Closed => f.write_str("the controller closed the connection"),
            SessionEnd::Broken(error) => write!(f, "the connection broke: {error}"),
            SessionEnd::Garbage(malformed) => {
                write!(f, "the controller sent bytes that are no OpenFlow message: {malformed}")
            }
            SessionEnd::Foreign(byte) => write!(
                f,
                "the controller sent bytes that are no OpenFlow message: their version byte is {byte:#04x}"
            ),
            SessionEnd::Version(theirs) => {
                write!(
                    f,
                    "the controller speaks at most version byte {theirs:#04x}; choose a lower --openflow"
                )
            }
            SessionEnd::Overrun => {
                write!(f, "the controller asked for {OUTBOX_END} bytes of answers and read none")
            }
            SessionEnd::Told => f.write_str("the switch was told to close it"),
        }
    }
}

/// The xid of the echoes that ask whether the controller is done.
const QUIET_XID: u32 = u32::MAX;
/// What a controller that is done may go on to send: echoes, and packets.
const SAYS_NOTHING: [u8; 3] = [kind::ECHO_REQUEST, kind::ECHO_REPLY, kind::PACKET_OUT];
/// Most of them in one session: a controller that is never done is not waited for.
const ECHOES_MAX: u32 = 16;

/// The version bytes of OpenFlow 1.0 to 1.5.
const VERSIONS: std::ops::RangeInclusive<u8> = 1..=6;

enum ConnectionState {
    /// No connection, and none wanted.
    Away,
    /// The next attempt is at this time.
    Waiting(Duration),
    Connecting(SwitchWire),
    Open(SwitchWire),
}

/// Whether the controller is done with a switch for now. What it installs at first comes behind the
/// handshake, so the switch sends an echo behind what it was asked, until one comes back and
/// nothing was asked meanwhile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Quiet {
    No,
    /// An echo is on its way; whether something was asked behind it, and how many there were.
    Asked {
        again: bool,
        echoes: u32,
    },
    Yes,
}

impl Quiet {
    /// A message of this type came, or the answer to our echo; the number of the next echo, if
    /// there has to be one.
    fn hears(&mut self, kind: u8, is_answer: bool) -> Option<u32> {
        let Quiet::Asked { again, echoes } = self else { return None };
        match (is_answer, *again) {
            (false, _) => *again |= !SAYS_NOTHING.contains(&kind),
            (true, true) if *echoes < ECHOES_MAX => return Some(*echoes + 1),
            (true, _) => *self = Quiet::Yes,
        }
        None
    }
}

/// The connection of one switch.
pub(super) struct SwitchSession {
    version: Version,
    key: u64,
    line: ConnectionState,
    tail: Tail,
    outbox: Vec<u8>,
    /// How much of it the socket has taken.
    sent: usize,
    interest: Interest,
    again_after: Duration,
    /// The handshake is over.
    up: bool,
    quiet: Quiet,
    /// Bytes a second that it reads, where it reads slowly, and how many it may read now.
    slow: Option<(u64, f64)>,
}

impl SwitchSession {
    /// Of a switch that is to connect at once; its socket is polled under `key`.
    pub(super) fn new(version: Version, key: u64) -> SwitchSession {
        SwitchSession {
            version,
            key,
            line: ConnectionState::Waiting(Duration::ZERO),
            tail: Tail::default(),
            outbox: Vec::new(),
            sent: 0,
            interest: Interest::Both,
            again_after: AGAIN_FIRST,
            up: false,
            quiet: Quiet::No,
            slow: None,
        }
    }

    /// Whether the handshake is over.
    pub(super) fn is_up(&self) -> bool {
        self.up
    }

    /// Whether the controller has done behind the handshake what it does at first, as far as that
    /// can be known.
    pub(super) fn is_quiet(&self) -> bool {
        self.up && self.quiet == Quiet::Yes
    }

    /// Whether it reads slowly.
    pub(super) fn is_slow(&self) -> bool {
        self.slow.is_some()
    }

    /// Whether its socket is watched for what the controller sends. If not, only an end of the
    /// connection makes it readable.
    pub(super) fn is_listening(&self) -> bool {
        matches!(self.interest, Interest::Read | Interest::Both)
    }

    /// Whether there is a socket.
    pub(super) fn has_socket(&self) -> bool {
        self.socket().is_some()
    }

    /// Whether it is time to connect.
    pub(super) fn is_due(&self, now: Duration) -> bool {
        matches!(self.line, ConnectionState::Waiting(at) if at <= now)
    }

    fn socket(&self) -> Option<&TcpStream> {
        match &self.line {
            ConnectionState::Connecting(wire) | ConnectionState::Open(wire) => Some(wire.socket()),
            ConnectionState::Away | ConnectionState::Waiting(_) => None,
        }
    }

    /// Begins to connect; over TLS as the switch of this datapath id, where it is to speak it.
    pub(super) fn open(
        &mut self,
        controller: SocketAddr,
        secure: Option<(&SwitchTls, u32)>,
        poll: &Poll,
    ) -> Result<(), SessionEnd> {
        let socket =
            connect(controller, self.slow.map(|(rate, _)| rate)).map_err(SessionEnd::Refused)?;
        poll.add(&socket, self.key, Interest::Both).map_err(SessionEnd::Refused)?;
        self.interest = Interest::Both;
        self.tail.keep(&[]);
        self.outbox.clear();
        self.sent = 0;
        let hello = Header { version: self.version.wire(), kind: kind::HELLO, length: 8, xid: 1 };
        self.outbox.extend_from_slice(&hello.to_bytes());
        let (secure, dpid) = secure.unzip();
        let wire = SwitchWire::new(socket, secure, dpid.unwrap_or_default())
            .map_err(SessionEnd::Refused)?;
        self.line = ConnectionState::Connecting(wire);
        Ok(())
    }

    /// Ends the connection; the switch tries again after a while.
    pub(super) fn end(&mut self, now: Duration) {
        self.again_after =
            if self.up { AGAIN_FIRST } else { (self.again_after * 2).min(AGAIN_LAST) };
        self.line = ConnectionState::Waiting(now + self.again_after);
        (self.up, self.quiet) = (false, Quiet::No);
    }

    /// Ends it for good, until [`SwitchSession::come_back`].
    pub(super) fn leave(&mut self) {
        self.line = ConnectionState::Away;
        (self.up, self.quiet) = (false, Quiet::No);
    }

    /// Connects again if it had left.
    pub(super) fn come_back(&mut self, now: Duration) {
        if matches!(self.line, ConnectionState::Away) {
            self.again_after = AGAIN_FIRST;
            self.line = ConnectionState::Waiting(now);
        }
    }

    /// Ends it with a reset, so that what is on its way is lost.
    pub(super) fn reset(&mut self, now: Duration) {
        if let Some(socket) = self.socket() {
            // Without it the connection ends all the same, only more gently.
            let _ = sockopt::set_socket_linger(socket, Some(Duration::ZERO));
            self.end(now);
        }
    }

    /// Reads so many bytes a second from now on, or as many as there are.
    pub(super) fn read_slowly(&mut self, rate: Option<u64>, poll: &Poll) -> io::Result<()> {
        let was_slow = self.slow.is_some();
        self.slow = rate.map(|rate| (rate, 0.0));
        if let Some(socket) = self.socket().filter(|_| was_slow || rate.is_some()) {
            let len = rate.map_or(RECEIVE_BUFFER, slow_receive_buffer);
            sockopt::set_socket_recv_buffer_size(socket, len)?;
        }
        self.watch(poll)
    }

    /// Appends an unasked message; whether there was room for it.
    pub(super) fn try_push(&mut self, message: &[u8]) -> bool {
        let room = self.up && self.outbox.len() - self.sent < OUTBOX_MAX;
        if room {
            self.push(message);
        }
        room
    }

    /// Appends an answer.
    pub(super) fn push(&mut self, message: &[u8]) {
        let is_first = message[1] == FEATURES_REPLY && !std::mem::replace(&mut self.up, true);
        if matches!(self.line, ConnectionState::Open(_)) {
            self.outbox.extend_from_slice(message);
        }
        if is_first {
            self.ask_for_quiet(1);
        }
    }

    /// Sends an echo behind what was answered.
    fn ask_for_quiet(&mut self, echoes: u32) {
        let version = self.version.wire();
        let echo = Header { version, kind: kind::ECHO_REQUEST, length: 8, xid: QUIET_XID };
        self.quiet = Quiet::Asked { again: false, echoes };
        self.outbox.extend_from_slice(&echo.to_bytes());
    }

    /// What a message from the controller says of whether it is done; whether the message is about
    /// nothing else.
    fn hears(&mut self, header: &Header) -> bool {
        let is_answer = header.kind == kind::ECHO_REPLY && header.xid == QUIET_XID;
        if let Some(echoes) = self.quiet.hears(header.kind, is_answer) {
            self.ask_for_quiet(echoes);
        }
        is_answer
    }

    fn is_full(&self) -> bool {
        self.outbox.len() - self.sent >= OUTBOX_MAX
    }

    /// Whether the socket connects still; settles it when it is writable.
    pub(super) fn settle(&mut self, writable: bool) -> Result<bool, SessionEnd> {
        let ConnectionState::Connecting(wire) = &self.line else { return Ok(false) };
        if let Some(error) = wire.socket().take_error().map_err(SessionEnd::Broken)? {
            return Err(SessionEnd::Refused(error));
        }
        if !writable {
            return Ok(true);
        }
        if let ConnectionState::Connecting(wire) =
            std::mem::replace(&mut self.line, ConnectionState::Away)
        {
            self.line = ConnectionState::Open(wire);
        }
        Ok(false)
    }

    /// Grants a slow reader what it may read in a time that passed; whether it is one that may read
    /// now.
    pub(super) fn grant(&mut self, passed: Duration) -> bool {
        let Some((rate, allowed)) = &mut self.slow else { return false };
        *allowed = (*allowed + *rate as f64 * passed.as_secs_f64()).min(READ_MAX as f64);
        *allowed >= 1.0 && matches!(self.line, ConnectionState::Open(_))
    }

    /// One read: what has come, whole messages and the beginning of the next one
    /// ([`SwitchSession::keep`] it).
    pub(super) fn read<'a>(
        &mut self,
        inbox: &'a mut ReceiveBuffer,
    ) -> Result<Option<&'a [u8]>, SessionEnd> {
        let ConnectionState::Open(wire) = &mut self.line else { return Ok(None) };
        if self.outbox.len() - self.sent >= OUTBOX_MAX {
            return Ok(None);
        }
        let limit = self.slow.map_or(READ_MAX, |(_, allowed)| allowed as usize);
        if limit == 0 {
            return Ok(None);
        }
        let kept = self.tail.len();
        match inbox.read_wire(wire, &self.tail, limit) {
            Ok(bytes) => {
                if let (Some((_, allowed)), Some(bytes)) = (&mut self.slow, bytes) {
                    *allowed -= (bytes.len() - kept) as f64;
                }
                Ok(bytes)
            }
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(SessionEnd::Closed),
            Err(error) => Err(SessionEnd::Broken(error)),
        }
    }

    /// Goes through what was read: greetings are answered here, `each` gets the rest.
    pub(super) fn chop(
        &mut self,
        bytes: &[u8],
        mut each: impl FnMut(&mut SwitchSession, &Raw<'_>),
    ) -> Result<(), SessionEnd> {
        let mut chop = Chop::new(bytes);
        for message in chop.by_ref() {
            let raw = message.map_err(SessionEnd::Garbage)?;
            if raw.header.kind == kind::HELLO {
                if raw.header.version < self.version.wire() {
                    return Err(SessionEnd::Version(raw.header.version));
                }
                continue;
            }
            if self.hears(&raw.header) {
                continue;
            }
            each(self, &raw);
            if self.outbox.len() - self.sent > OUTBOX_END {
                return Err(SessionEnd::Overrun);
            }
        }
        // What a stranger sends may claim to be long: it is known by its first byte, not by its
        // last.
        match chop.rest().first() {
            Some(&byte) if !VERSIONS.contains(&byte) => return Err(SessionEnd::Foreign(byte)),
            _ => self.tail.keep(chop.rest()),
        }
        Ok(())
    }

    /// Writes what the socket takes, and watches for what it waits for next.
    pub(super) fn flush(&mut self, poll: &Poll) -> Result<(), SessionEnd> {
        let ConnectionState::Open(wire) = &mut self.line else { return Ok(()) };
        if self.sent < self.outbox.len() {
            self.sent += wire.write(&self.outbox[self.sent..]).map_err(SessionEnd::Broken)?;
        } else if wire.is_behind() {
            wire.flush().map_err(SessionEnd::Broken)?;
        }
        if self.sent == self.outbox.len() {
            self.outbox.clear();
            // A storm or a large answer is over: its memory goes back.
            self.outbox.shrink_to(OUTBOX_MAX);
            self.sent = 0;
        } else if self.sent >= OUTBOX_MAX {
            self.outbox.drain(..self.sent);
            self.sent = 0;
        }
        self.watch(poll).map_err(SessionEnd::Broken)
    }

    fn watch(&mut self, poll: &Poll) -> io::Result<()> {
        let ConnectionState::Open(wire) = &self.line else { return Ok(()) };
        let reads = self.slow.is_none() && !self.is_full();
        let interest = match (reads, self.sent < self.outbox.len() || wire.is_behind()) {
            (true, true) => Interest::Both,
            (true, false) => Interest::Read,
            (false, true) => Interest::Write,
            (false, false) => Interest::Nothing,
        };
        if interest != self.interest {
            poll.modify(wire, self.key, interest)?;
            self.interest = interest;
        }
        Ok(())
    }
}

/// The type of a FEATURES_REPLY, in both versions.
const FEATURES_REPLY: u8 = 6;

/// What the socket of a reader of so many bytes a second may hold unread.
fn slow_receive_buffer(rate: u64) -> usize {
    let held = rate.saturating_mul(SLOW_RECEIVE_MS) / 1000;
    usize::try_from(held).unwrap_or(usize::MAX).clamp(SLOW_RECEIVE_BUFFER, RECEIVE_BUFFER)
}

fn connect(controller: SocketAddr, slow: Option<u64>) -> io::Result<TcpStream> {
    let family = match controller.is_ipv4() {
        true => AddressFamily::INET,
        false => AddressFamily::INET6,
    };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
    sockopt::set_tcp_nodelay(&socket, true)?;
    if let Some(rate) = slow {
        sockopt::set_socket_recv_buffer_size(&socket, slow_receive_buffer(rate))?;
    }
    match rustix::net::connect(&socket, &controller) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(TcpStream::from(socket)),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chop(bytes: &[u8]) -> (Vec<u8>, Result<(), SessionEnd>) {
        let (mut session, mut kinds) = (SwitchSession::new(Version::V13, 0), Vec::new());
        let outcome = session.chop(bytes, |_, raw| kinds.push(raw.header.kind));
        (kinds, outcome)
    }

    #[test]
    fn greetings_are_taken_and_the_rest_is_handed_on() {
        let bytes = [[4, 0, 0, 8, 0, 0, 0, 1], [4, 5, 0, 8, 0, 0, 0, 2], [4, 2, 0, 9, 0, 0, 0, 3]];
        let (kinds, outcome) = chop(&bytes.concat());
        assert_eq!(kinds, [5], "the last is not whole yet");
        assert!(outcome.is_ok());
        assert!(
            chop(&[6, 0, 0, 8, 0, 0, 0, 1]).1.is_ok(),
            "a newer controller speaks ours as well"
        );
    }

    #[test]
    fn what_is_too_old_or_no_message_ends_the_connection() {
        let (_, old) = chop(&[1, 0, 0, 8, 0, 0, 0, 1]);
        assert!(old.unwrap_err().to_string().contains("at most version byte 0x01"));
        let (_, garbage) = chop(&[0x16; 100]);
        assert!(garbage.unwrap_err().to_string().contains("no OpenFlow message"));
    }

    #[test]
    fn it_waits_longer_after_every_failure() {
        let mut session = SwitchSession::new(Version::V13, 0);
        let mut now = Duration::ZERO;
        let mut waits = Vec::new();
        for _ in 0..8 {
            assert!(session.is_due(now));
            session.end(now);
            let wait = (1..)
                .map(|ms| Duration::from_millis(ms * 100))
                .find(|&wait| session.is_due(now + wait));
            waits.extend(wait);
            now += waits[waits.len() - 1];
        }
        let expected = [200, 400, 800, 1600, 3200, 3200, 3200, 3200].map(Duration::from_millis);
        assert_eq!(waits, expected);
        session.leave();
        assert!(!session.is_due(now + AGAIN_LAST));
        session.come_back(now);
        assert!(session.is_due(now));
    }

    #[test]
    fn a_slow_reader_is_granted_what_its_rate_allows() {
        let mut session = SwitchSession::new(Version::V13, 0);
        assert!(!session.grant(Duration::from_secs(1)));
        session.slow = Some((1000, 0.0));
        session.grant(Duration::from_millis(50));
        assert_eq!(session.slow, Some((1000, 50.0)));
        session.grant(Duration::from_secs(3600));
        assert_eq!(session.slow, Some((1000, READ_MAX as f64)));
    }

    const FLOW_MOD: u8 = 14;

    #[test]
    fn a_controller_is_done_when_an_echo_comes_back_and_nothing_was_asked_meanwhile() {
        let mut quiet = Quiet::Asked { again: false, echoes: 1 };
        assert_eq!(quiet.hears(FLOW_MOD, false), None);
        assert_eq!(quiet.hears(kind::ECHO_REPLY, true), Some(2));
        let mut quiet = Quiet::Asked { again: false, echoes: 2 };
        assert!(SAYS_NOTHING.into_iter().all(|kind| quiet.hears(kind, false).is_none()));
        assert_eq!(quiet, Quiet::Asked { again: false, echoes: 2 });
        assert_eq!(quiet.hears(kind::ECHO_REPLY, true), None);
        assert_eq!(quiet, Quiet::Yes);
    }

    #[test]
    fn one_that_is_never_done_is_not_waited_for() {
        let mut quiet = Quiet::Asked { again: true, echoes: ECHOES_MAX };
        assert_eq!(quiet.hears(kind::ECHO_REPLY, true), None);
        assert_eq!(quiet, Quiet::Yes);
    }
}
