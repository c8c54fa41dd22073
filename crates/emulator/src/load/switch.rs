//! One emulated switch: a socket, what is outstanding on it, and a visit that reads, counts and writes.

use super::failure::Failure;
use super::outstanding::Outstanding;
use super::packet_in::{Hosts, NO_BUFFER, Sheet, number_in};
use super::report::Counts;
use super::sequence::{Homes, Round, Sequence};
use super::timing::Timing;
use super::{Load, Mode, WINDOW_MAX};
use crate::persona::{Heard, Persona};
use crate::poll::{Interest, Poll, Ready};
use crate::stream::{self, Inbox, Tail};
use aldis_wire::header::kind;
use aldis_wire::{Chop, Header, Malformed, Raw, Reason, Version};
use hdrhistogram::Histogram;
use std::net::{SocketAddr, TcpStream};
use std::time::Instant;

/// Most requests that one visit writes: 128 KiB of those of 1.0.
pub(super) const OFFERS_MAX: usize = 1598;

/// Addresses that may be taught ahead of the controller's answers.
pub(super) const LESSONS_AHEAD: u32 = 400;

/// How many times the window the ring of outstanding requests holds, and the least it does: a request is given up for lost
/// only when so many later ones were sent.
const RING_WINDOWS: u32 = 4;
const RING_MIN: u32 = 1024;

/// Outside latency mode at most one request in so many is timed.
const TIMED_EVERY: u32 = 64;

/// The highest version byte that was ever published: OpenFlow 1.5.
const VERSION_BYTE_MAX: u8 = 6;

/// What all switches of a thread share.
pub(super) struct Desk {
    pub(super) inbox: Inbox,
    /// Answers to the controller's questions, written before anything else.
    pub(super) outbox: Vec<u8>,
    pub(super) lessons: Sheet,
    pub(super) offers: Sheet,
    pub(super) delays: Histogram<u64>,
}

/// What a switch is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    Connecting,
    ShakingHands,
    /// The handshake is over; nothing is offered yet.
    Ready,
    Teaching,
    Taught,
    Offering,
}

impl Stage {
    fn words(self) -> &'static str {
        match self {
            Stage::Connecting | Stage::ShakingHands => "the handshake",
            Stage::Ready | Stage::Taught => "a pause",
            Stage::Teaching => "teaching",
            Stage::Offering => "the measurement",
        }
    }
}

pub(super) struct Switch {
    persona: Persona,
    controller: SocketAddr,
    socket: TcpStream,
    key: u64,
    interest: Interest,
    tail: Tail,
    /// What the socket did not take: the rest of one request and answers to the controller's questions.
    unsent: Vec<u8>,
    stage: Stage,
    greeted: bool,
    homes: Homes,
    hosts: Hosts,
    lessons_left: u32,
    sequence: Sequence,
    outstanding: Outstanding,
    window: u32,
    /// Whether requests are written only when the socket says that it takes them.
    full: bool,
    /// Requests that may still be offered in this run, and now, where there is a rate.
    quota: u64,
    credit: u64,
    due: u64,
    timing: Timing,
    counts: Counts,
    progress: (u64, Instant),
}

impl Switch {
    pub(super) fn new(
        load: &Load,
        round: Round,
        number: u32,
        key: u64,
        socket: TcpStream,
    ) -> Switch {
        let Load { version, ports, buffered, .. } = *load;
        let homes = load.homes();
        let (window, timed_every) = match load.mode {
            Mode::Latency => (1, 1),
            Mode::Window(window) => (window, TIMED_EVERY.min(window)),
            Mode::Full => (WINDOW_MAX, TIMED_EVERY),
        };
        Switch {
            persona: Persona { version, number, ports, buffered },
            controller: load.controller,
            socket,
            key,
            interest: Interest::Both,
            tail: Tail::default(),
            unsent: Vec::new(),
            stage: Stage::Connecting,
            greeted: false,
            homes,
            hosts: Hosts::of(number),
            lessons_left: if load.teach { homes.addresses() } else { 0 },
            sequence: Sequence::new(round),
            outstanding: Outstanding::new((window * RING_WINDOWS).max(RING_MIN)),
            window,
            full: load.mode == Mode::Full && load.rate_per_switch().is_none(),
            quota: load.requests_per_switch.unwrap_or(u64::MAX),
            credit: if load.rate_per_switch().is_some() { 0 } else { u64::MAX },
            due: 0,
            timing: Timing::new(timed_every),
            counts: Counts::default(),
            progress: (0, Instant::now()),
        }
    }

    pub(super) fn stage(&self) -> Stage {
        self.stage
    }

    pub(super) fn number(&self) -> u32 {
        self.persona.number
    }

    pub(super) fn counts(&self) -> Counts {
        self.counts
    }

    /// Whether it has offered all it may and waits for nothing.
    pub(super) fn is_finished(&self) -> bool {
        self.quota == 0 && self.outstanding.waiting() == 0
    }

    /// What it waits for in the handshake.
    pub(super) fn awaits(&self) -> &'static str {
        match (self.stage, self.greeted) {
            (Stage::Connecting, _) => "its connection",
            (_, false) => "the controller's HELLO",
            (_, true) => "the controller's FEATURES_REQUEST",
        }
    }

    /// Enters a stage that the whole run enters, and does what it does first.
    pub(super) fn enter(
        &mut self,
        stage: Stage,
        desk: &mut Desk,
        poll: &Poll,
    ) -> Result<(), Failure> {
        self.stage = stage;
        if stage == Stage::Offering {
            self.lesson_over();
        }
        self.resume(desk, poll)
    }

    /// Where there is a rate: `due` requests may be offered by now, in all. What the mode does not let go is not made up
    /// for, beyond one window.
    pub(super) fn allow_up_to(
        &mut self,
        due: u64,
        desk: &mut Desk,
        poll: &Poll,
    ) -> Result<(), Failure> {
        if due <= self.due {
            return Ok(());
        }
        self.credit = (self.credit + due - self.due).min(u64::from(self.window));
        self.due = due;
        self.resume(desk, poll)
    }

    /// Gives up what is outstanding when nothing was answered for `patience`.
    pub(super) fn check_progress(
        &mut self,
        now: Instant,
        load: &Load,
        desk: &mut Desk,
        poll: &Poll,
    ) -> Result<(), Failure> {
        let (answered, since) = self.progress;
        if self.counts.answered != answered || self.outstanding.waiting() == 0 {
            self.progress = (self.counts.answered, now);
        } else if now.duration_since(since) >= load.patience {
            self.progress.1 = now;
            self.counts.lost += u64::from(self.outstanding.give_up_all());
            return self.resume(desk, poll);
        }
        Ok(())
    }

    /// Writes what may be written although the socket has said nothing new.
    fn resume(&mut self, desk: &mut Desk, poll: &Poll) -> Result<(), Failure> {
        desk.outbox.clear();
        self.write(desk, true)?;
        self.watch(poll)
    }

    /// One visit: a read, all its answers counted, one write.
    #[inline]
    pub(super) fn visit(
        &mut self,
        ready: Ready,
        desk: &mut Desk,
        poll: &Poll,
    ) -> Result<(), Failure> {
        desk.outbox.clear();
        if self.stage == Stage::Connecting {
            self.greet(&mut desk.outbox)?;
        } else if ready.readable {
            self.read(desk)?;
        }
        self.write(desk, ready.writable)?;
        self.watch(poll)
    }

    fn greet(&mut self, outbox: &mut Vec<u8>) -> Result<(), Failure> {
        let peer = self.socket.take_error().and_then(|error| error.map_or(Ok(()), Err));
        let (switch, controller) = (self.persona.number, self.controller);
        peer.map_err(|error| Failure::Connect { switch, controller, error })?;
        self.stage = Stage::ShakingHands;
        self.persona.hello(outbox);
        Ok(())
    }

    #[inline]
    fn read(&mut self, desk: &mut Desk) -> Result<(), Failure> {
        let bytes = match desk.inbox.read(&self.socket, &self.tail) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return Ok(()),
            Err(error) => return Err(self.closed(error)),
        };
        let mut timed = false;
        let mut chop = Chop::new(bytes);
        for message in chop.by_ref() {
            let message = message.map_err(|malformed| self.garbage(malformed))?;
            match message.header.kind {
                kind::FLOW_MOD | kind::PACKET_OUT => timed |= self.count(message)?,
                _ => self.converse(message, &mut desk.outbox)?,
            }
        }
        if self.stage == Stage::ShakingHands {
            self.plausible(chop.rest())?;
        }
        self.tail.keep(chop.rest());
        if timed {
            let delay = self.timing.elapsed().as_nanos();
            desk.delays.saturating_record(u64::try_from(delay).unwrap_or(u64::MAX));
        }
        Ok(())
    }

    /// Whether what has come of the next message can be one: who is no controller says so in the first bytes, and the
    /// length that they seem to have may never come.
    fn plausible(&self, begun: &[u8]) -> Result<(), Failure> {
        match Header::peek(begun) {
            Ok(Some(header)) if header.version > VERSION_BYTE_MAX => Err(self.garbage(Malformed {
                field: "header.version",
                offset: 0,
                reason: Reason::BadVersion,
            })),
            _ => Ok(()),
        }
    }

    /// Counts a FLOW_MOD or PACKET_OUT if it answers a request; whether that request was being timed.
    #[inline]
    fn count(&mut self, message: Raw<'_>) -> Result<bool, Failure> {
        let number = self.answered_by(&message).map_err(|malformed| self.garbage(malformed))?;
        if !self.outstanding.answer(number) {
            self.counts.strays += u64::from(self.stage == Stage::Offering);
            return Ok(false);
        }
        self.counts.answered += 1;
        Ok(self.timing.answered(number))
    }

    /// The number of the request that a FLOW_MOD or PACKET_OUT answers.
    #[inline]
    fn answered_by(&self, message: &Raw<'_>) -> Result<u32, Malformed> {
        // The buffer id: OpenFlow 1.0 §5.3.3, 1.3.5 §7.3.4.2; §5.3.6, §7.3.7.
        let offset = match (message.header.kind, self.persona.version) {
            (kind::FLOW_MOD, Version::V10) => 64,
            (kind::FLOW_MOD, Version::V13) => 32,
            _ => 8,
        };
        let buffer_id = message.bytes.get(offset..offset + 4).and_then(|id| id.first_chunk());
        match buffer_id.map(|&id| u32::from_be_bytes(id)) {
            None => Err(Malformed { field: "buffer_id", offset, reason: Reason::Truncated }),
            Some(NO_BUFFER) => Ok(self.answered_unbuffered(*message)),
            Some(buffer_id) => Ok(buffer_id),
        }
    }

    /// The same for one that names no buffer: by its xid or else by the frame it carries.
    #[inline(never)]
    fn answered_unbuffered(&self, message: Raw<'_>) -> u32 {
        let xid = message.header.xid;
        if message.header.kind == kind::FLOW_MOD || self.outstanding.contains(xid) {
            return xid;
        }
        let (actions_len, head) = match self.persona.version {
            Version::V10 => (message.bytes.get(14..16), 16),
            Version::V13 => (message.bytes.get(16..18), 24),
        };
        let actions_len =
            actions_len.map_or(0, |len| usize::from(len[0]) << 8 | usize::from(len[1]));
        message.bytes.get(head + actions_len..).and_then(number_in).unwrap_or(xid)
    }

    /// Answers any other message.
    #[cold]
    fn converse(&mut self, message: Raw<'_>, outbox: &mut Vec<u8>) -> Result<(), Failure> {
        let switch = self.persona.number;
        let ours = self.persona.version;
        match self.persona.answer(&message, outbox).map_err(|malformed| self.garbage(malformed))? {
            Heard::Hello(theirs) if theirs < ours.wire() => {
                return Err(Failure::Version { switch, ours, theirs });
            }
            Heard::Hello(_) => self.greeted = true,
            Heard::FeaturesRequest if self.stage == Stage::ShakingHands => {
                self.stage = Stage::Ready
            }
            Heard::Error(error) => return Err(Failure::Refused { switch, error }),
            Heard::FeaturesRequest | Heard::Other => {}
        }
        Ok(())
    }

    /// Writes what an earlier write left and the answers in the outbox; then, in one write, as many requests as may go.
    #[inline]
    fn write(&mut self, desk: &mut Desk, writable: bool) -> Result<(), Failure> {
        if !(self.unsent.is_empty() && desk.outbox.is_empty()) {
            self.write_answers(&desk.outbox)?;
        }
        match self.stage {
            _ if !self.unsent.is_empty() => Ok(()),
            Stage::Teaching => self.write_lessons(&mut desk.lessons),
            Stage::Offering if writable || !self.full => self.write_offers(&mut desk.offers),
            _ => Ok(()),
        }
    }

    #[cold]
    fn write_answers(&mut self, outbox: &[u8]) -> Result<(), Failure> {
        self.unsent.extend_from_slice(outbox);
        let written = self.send(&self.unsent)?;
        self.unsent.drain(..written);
        Ok(())
    }

    fn write_lessons(&mut self, sheet: &mut Sheet) -> Result<(), Failure> {
        let count = LESSONS_AHEAD.saturating_sub(self.outstanding.waiting()).min(self.lessons_left);
        let count = self.make_room(count);
        if count > 0 {
            let index = self.homes.addresses() - self.lessons_left;
            let next = self.outstanding.next();
            let len = sheet.request_len();
            let lessons = sheet.lessons(self.hosts, &self.homes, index, next, count);
            self.lessons_left -= self.write_requests(lessons, len)?;
        }
        if self.lessons_left == 0 && self.outstanding.waiting() == 0 {
            self.stage = Stage::Taught;
        }
        Ok(())
    }

    #[inline]
    fn write_offers(&mut self, sheet: &mut Sheet) -> Result<(), Failure> {
        let count = self.allowance().min(sheet.capacity());
        let count = self.make_room(count);
        if count == 0 {
            return Ok(());
        }
        let len = sheet.request_len();
        let offers = sheet.offers(self.hosts, self.sequence.ahead(count), self.outstanding.next());
        self.timing.choose(&self.outstanding, count);
        let sent = self.write_requests(offers, len)?;
        if sent < count {
            self.timing.forget_unsent(&self.outstanding);
        }
        self.sequence.pass(sent);
        self.counts.offered += u64::from(sent);
        self.quota -= u64::from(sent);
        if self.credit != u64::MAX {
            self.credit -= u64::from(sent);
        }
        Ok(())
    }

    /// How many requests may go now.
    #[inline]
    fn allowance(&self) -> u32 {
        let window = self.window.saturating_sub(self.outstanding.waiting());
        u64::from(window).min(self.quota).min(self.credit) as u32
    }

    /// Gives up overtaken requests where the ring has no room for `count` more; how many it has room for.
    #[inline]
    fn make_room(&mut self, count: u32) -> u32 {
        if self.outstanding.room() < count {
            self.counts.lost += u64::from(self.outstanding.give_up_overtaken(count));
        }
        count.min(self.outstanding.room())
    }

    /// Writes requests of `len` bytes each. One that the socket took any byte of is sent, and its rest kept; the others
    /// were never made. Returns how many were sent.
    #[inline]
    fn write_requests(&mut self, requests: &[u8], len: usize) -> Result<u32, Failure> {
        let written = self.send(requests)?;
        let sent = written.div_ceil(len);
        self.unsent.extend_from_slice(&requests[written..sent * len]);
        self.outstanding.sent(sent as u32);
        Ok(sent as u32)
    }

    /// Between teaching and offering: lessons are no requests.
    fn lesson_over(&mut self) {
        self.counts = Counts::default();
        self.progress = (0, Instant::now());
    }

    /// Asks to be told about the socket what matters next.
    #[inline]
    fn watch(&mut self, poll: &Poll) -> Result<(), Failure> {
        let offers = self.full && self.stage == Stage::Offering && self.allowance() > 0;
        let both = offers || !self.unsent.is_empty();
        let interest = if both { Interest::Both } else { Interest::Read };
        if interest != self.interest {
            poll.modify(&self.socket, self.key, interest)?;
            self.interest = interest;
        }
        Ok(())
    }

    #[inline]
    fn send(&self, bytes: &[u8]) -> Result<usize, Failure> {
        stream::write(&self.socket, bytes).map_err(|error| self.closed(error))
    }

    fn closed(&self, error: std::io::Error) -> Failure {
        Failure::Closed { switch: self.persona.number, during: self.stage.words(), error }
    }

    fn garbage(&self, malformed: Malformed) -> Failure {
        Failure::Garbage { switch: self.persona.number, malformed }
    }
}
