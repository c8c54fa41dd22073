//! One emulated switch: a socket, what is outstanding on it, and a visit that reads, counts and
//! writes.

mod straggle;
mod write;

use super::answer::{self, AnswerForm};
use super::failure::LoadFailure;
use super::outstanding::Outstanding;
use super::packet_in::{HostAddresses, NO_BUFFER, Sheet};
use super::ports::SwitchPortCounts;
use super::report::{Forms, PortCounts, RequestCounts};
use super::roles::SwitchRole;
use super::sequence::{Homes, Round, SwitchSequence};
use super::slow_readers::SlowReader;
use super::timing::Timing;
use super::{Load, Mode, WINDOW_MAX};
use crate::poll::{Interest, Poll, Ready};
use crate::replies::{ControllerMessage, Replies};
use crate::stream::{ReceiveBuffer, Tail};
use crate::wire::SwitchWire;
use aldis_wire::header::kind;
use aldis_wire::{Chop, Header, Malformed, Raw, Reason};
use hdrhistogram::Histogram;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Most bytes one visit reads.
pub(super) const READ_MAX: usize = 256 * 1024;

/// Most requests that one visit writes: 128 KiB of those of 1.0.
pub(super) const OFFERS_MAX: usize = 1598;

/// Addresses that may be taught ahead of the controller's answers.
pub(super) const LESSONS_AHEAD: u32 = 400;

/// How many times a chosen window the ring of outstanding requests holds, and the least it does: a
/// request is given up for lost only when so many later ones were sent. With full queues the ring
/// is the window, so that a controller that drops requests on purpose is offered others in their
/// place.
const RING_WINDOWS: u32 = 4;
const RING_MIN: u32 = 1024;

/// Outside latency mode at most one request in so many is timed.
const TIMED_EVERY: u32 = 64;

/// After how long without any answer a switch tells once more where its addresses live.
const TELL_AGAIN: Duration = Duration::from_secs(1);

/// How many outstanding requests of one host are looked at for one that waits.
const SAME_HOST_MAX: u32 = 64;

/// The highest version byte that was ever published: OpenFlow 1.5.
const VERSION_BYTE_MAX: u8 = 6;

/// What all switches of a thread share.
pub(super) struct ThreadState {
    pub(super) inbox: ReceiveBuffer,
    /// Answers to the controller's questions, written before anything else.
    pub(super) outbox: Vec<u8>,
    pub(super) lessons: Sheet,
    pub(super) offers: Sheet,
    pub(super) delays: Histogram<u64>,
}

/// What a switch is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LoadStage {
    Connecting,
    ShakingHands,
    /// The handshake is over; nothing is offered yet.
    Ready,
    Teaching,
    Taught,
    Offering,
    /// The controller has disconnected it, as it should: it read badly.
    Evicted,
}

impl LoadStage {
    fn words(self) -> &'static str {
        match self {
            LoadStage::Connecting | LoadStage::ShakingHands => "the handshake",
            LoadStage::Ready | LoadStage::Taught => "a pause",
            LoadStage::Teaching => "teaching",
            LoadStage::Offering | LoadStage::Evicted => "the measurement",
        }
    }
}

pub(super) struct LoadSwitch {
    /// Its number in the run, from 1.
    number: u32,
    role: SwitchRole,
    replies: Replies,
    controller: SocketAddr,
    wire: SwitchWire,
    key: u64,
    interest: Interest,
    tail: Tail,
    /// What the socket did not take: the rest of one request and answers to the controller's
    /// questions.
    unsent: Vec<u8>,
    stage: LoadStage,
    greeted: bool,
    homes: Homes,
    hosts: HostAddresses,
    lessons_left: u32,
    /// Whether they were begun anew.
    told_again: bool,
    sequence: SwitchSequence,
    outstanding: Outstanding,
    window: u32,
    /// Whether requests are written only when the socket says that it takes them.
    full: bool,
    /// Requests that may still be offered in this run, and now, where there is a rate.
    quota: u64,
    credit: u64,
    due: u64,
    forgone: u64,
    timing: Timing,
    counts: RequestCounts,
    forms: Forms,
    progress: (u64, Instant),
    /// By port, where one of them is hot.
    ports: Option<Box<SwitchPortCounts>>,
    slow_reader: Option<Box<SlowReader>>,
}

impl LoadSwitch {
    pub(super) fn new(
        load: &Load,
        round: Round,
        number: u32,
        key: u64,
        wire: SwitchWire,
    ) -> LoadSwitch {
        let Load { version, ports, buffered, .. } = *load;
        let role = load.role(number);
        let homes = load.homes(role);
        let mode = load.mode_of(role);
        let is_rated = load.is_rated(role);
        let slow_reader = SlowReader::new(load, role).map(Box::new);
        let is_hot = number == 1 && load.has_hot_port();
        LoadSwitch {
            number,
            role,
            replies: Replies { version, number: load.dpid(number), ports, buffered },
            controller: load.controller,
            wire,
            key,
            interest: Interest::Both,
            tail: Tail::default(),
            unsent: Vec::new(),
            stage: LoadStage::Connecting,
            greeted: false,
            homes,
            hosts: HostAddresses::of(load.dpid(number)),
            told_again: load.patience <= TELL_AGAIN,
            lessons_left: if load.teach && !role.straggles() { homes.addresses() } else { 0 },
            sequence: SwitchSequence::new(round),
            outstanding: Outstanding::new(ring(mode, role)),
            window: window(mode),
            full: mode == Mode::Full && !is_rated,
            quota: load.quota_of(role),
            credit: if is_rated { 0 } else { u64::MAX },
            due: 0,
            forgone: 0,
            timing: timing(mode, role),
            counts: RequestCounts::default(),
            forms: Forms::default(),
            progress: (0, Instant::now()),
            ports: is_hot.then(|| Box::new(SwitchPortCounts::new(ports))),
            slow_reader,
        }
    }

    pub(super) fn role(&self) -> SwitchRole {
        self.role
    }

    pub(super) fn stage(&self) -> LoadStage {
        self.stage
    }

    /// Its number in the run, from 1.
    pub(super) fn number(&self) -> u32 {
        self.number
    }

    /// Its datapath id, which is its name in messages.
    pub(super) fn dpid(&self) -> u32 {
        self.replies.number
    }

    pub(super) fn counts(&self) -> RequestCounts {
        self.counts
    }

    /// By what its answers named their requests.
    pub(super) fn forms(&self) -> Forms {
        Forms { buffer_id: self.counts.answered - self.forms.unbuffered(), ..self.forms }
    }

    /// Requests that have become due so far; infinitely many where there is no rate.
    pub(super) fn demand(&self) -> f64 {
        if self.credit == u64::MAX { f64::INFINITY } else { self.due as f64 }
    }

    /// Requests that were sent and wait for an answer.
    pub(super) fn outstanding(&self) -> u32 {
        self.outstanding.waiting()
    }

    /// Those and what it may offer at once; infinitely many where there is no rate.
    pub(super) fn waiting(&self) -> f64 {
        if self.credit == u64::MAX {
            return f64::INFINITY;
        }
        f64::from(self.outstanding()) + self.credit as f64
    }

    /// Requests so far that became due and will not be offered.
    pub(super) fn forgone(&self) -> u64 {
        self.forgone
    }

    /// The counts of its ports, where one of them is hot.
    pub(super) fn ports(&self) -> &[PortCounts] {
        self.ports.as_ref().map_or(&[], |ports| ports.counts())
    }

    /// How long it lasted, if it read badly and the controller has disconnected it.
    pub(super) fn evicted_after(&self) -> Option<Duration> {
        self.slow_reader.as_ref().and_then(|slow_reader| slow_reader.evicted_after())
    }

    /// Whether it has offered all it may and waits for nothing.
    pub(super) fn is_finished(&self) -> bool {
        self.quota == 0 && !self.awaits_answer()
    }

    /// Whether something that it asked has no answer yet.
    pub(super) fn awaits_answer(&self) -> bool {
        self.outstanding.waiting() > 0
    }

    /// What it waits for in the handshake.
    pub(super) fn awaits(&self) -> &'static str {
        match (self.stage, self.greeted) {
            (LoadStage::Connecting, _) => "its connection",
            (_, false) => "the controller's HELLO",
            (_, true) => "the controller's FEATURES_REQUEST",
        }
    }

    /// Enters a stage that the whole run enters, and does what it does first.
    pub(super) fn enter(
        &mut self,
        stage: LoadStage,
        desk: &mut ThreadState,
        poll: &Poll,
    ) -> Result<(), LoadFailure> {
        self.stage = stage;
        if stage == LoadStage::Offering {
            self.lesson_over();
            self.slow_reader.iter_mut().for_each(|slow_reader| slow_reader.begin());
        }
        self.resume(desk, poll)
    }

    /// Where there is a rate: `due` requests may be offered by now, in all. What the mode does not
    /// let go is not made up for, beyond one window and beyond `burst`.
    pub(super) fn allow_up_to(
        &mut self,
        due: u64,
        burst: u64,
        desk: &mut ThreadState,
        poll: &Poll,
    ) -> Result<(), LoadFailure> {
        if due <= self.due {
            return Ok(());
        }
        let credit = self.credit + due - self.due;
        self.credit = credit.min(self.credit_max(burst));
        self.forgone += credit - self.credit;
        self.due = due;
        self.resume(desk, poll)
    }

    /// How many requests it may make up for, where that is `burst` at most.
    pub(super) fn credit_max(&self, burst: u64) -> u64 {
        burst.min(u64::from(self.window))
    }

    /// Gives up what is outstanding when nothing was answered for `patience`. Not for one that
    /// reads badly.
    pub(super) fn check_progress(
        &mut self,
        now: Instant,
        load: &Load,
        desk: &mut ThreadState,
        poll: &Poll,
    ) -> Result<(), LoadFailure> {
        let (answered, since) = self.progress;
        if self.counts.answered != answered || self.outstanding.waiting() == 0 {
            self.progress = (self.counts.answered, now);
        } else if self.was_not_heard(now.duration_since(since)) {
            self.outstanding.give_up_all();
            self.lessons_left = self.homes.addresses();
            (self.told_again, self.progress.1) = (true, now);
            return self.resume(desk, poll);
        } else if now.duration_since(since) >= load.patience {
            if self.stage == LoadStage::Teaching && answered == 0 {
                let switch = self.replies.number;
                return Err(LoadFailure::Unanswered { switch, after: load.patience });
            }
            self.progress.1 = now;
            self.counts.lost += u64::from(self.outstanding.give_up_all());
            return self.resume(desk, poll);
        }
        Ok(())
    }

    /// Whether nothing that it told was answered for a while, so that it has to tell it once more:
    /// a controller may pass over what comes before it has asked all it wants to know.
    fn was_not_heard(&self, silence: Duration) -> bool {
        let teaches = self.stage == LoadStage::Teaching && self.counts.answered == 0;
        teaches && !self.told_again && silence >= TELL_AGAIN
    }

    /// Writes what may be written although the socket has said nothing new.
    fn resume(&mut self, desk: &mut ThreadState, poll: &Poll) -> Result<(), LoadFailure> {
        desk.outbox.clear();
        let outcome = self.write(desk, true).and_then(|()| self.watch(poll));
        self.outlive(outcome, poll)
    }

    /// One visit: a read, all its answers counted, one write.
    #[inline]
    pub(super) fn visit(
        &mut self,
        ready: Ready,
        desk: &mut ThreadState,
        poll: &Poll,
    ) -> Result<(), LoadFailure> {
        desk.outbox.clear();
        match self.stage {
            LoadStage::Connecting => self.greet(&mut desk.outbox)?,
            LoadStage::Offering if self.slow_reader.is_some() => {
                return self.straggle(ready, desk, poll);
            }
            _ if ready.readable => self.read(desk, READ_MAX)?,
            _ => {}
        }
        self.write(desk, ready.writable)?;
        self.watch(poll)
    }

    fn greet(&mut self, outbox: &mut Vec<u8>) -> Result<(), LoadFailure> {
        let peer = self.wire.socket().take_error().and_then(|error| error.map_or(Ok(()), Err));
        let (switch, controller) = (self.replies.number, self.controller);
        peer.map_err(|error| LoadFailure::Connect { switch, controller, error })?;
        self.stage = LoadStage::ShakingHands;
        self.replies.hello(outbox);
        Ok(())
    }

    #[inline]
    fn read(&mut self, desk: &mut ThreadState, limit: usize) -> Result<(), LoadFailure> {
        let bytes = match desk.inbox.read_wire(&mut self.wire, &self.tail, limit) {
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
        self.plausible(chop.rest())?;
        self.tail.keep(chop.rest());
        if timed {
            self.timing.record(&mut desk.delays);
        }
        Ok(())
    }

    /// Whether what has come of the next message can be one: a peer that is no controller says so
    /// in the first bytes, and the length that they seem to have may never come.
    fn plausible(&self, begun: &[u8]) -> Result<(), LoadFailure> {
        match Header::peek(begun) {
            Ok(Some(header)) if header.version > VERSION_BYTE_MAX => Err(self.garbage(Malformed {
                field: "header.version",
                offset: 0,
                reason: Reason::BadVersion,
            })),
            _ => Ok(()),
        }
    }

    /// Counts a FLOW_MOD or PACKET_OUT if it answers a request; whether that request was being
    /// timed.
    #[inline]
    fn count(&mut self, message: Raw<'_>) -> Result<bool, LoadFailure> {
        let buffer_id = answer::buffer_id(&message, self.replies.version);
        let number = match buffer_id.map_err(|malformed| self.garbage(malformed))? {
            Some(buffer_id) if self.outstanding.answer(buffer_id) => buffer_id,
            None if let Some(number) = self.unbuffered(message) => number,
            // A controller may send two messages for each request: only where one was given up is
            // the second looked at once more.
            buffer_id if self.counts.lost > 0 && self.is_late(buffer_id, &message) => {
                return Ok(false);
            }
            _ => {
                self.counts.strays += u64::from(self.stage == LoadStage::Offering);
                return Ok(false);
            }
        };
        self.counts.answered += 1;
        if self.stage == LoadStage::Offering
            && let Some(ports) = &mut self.ports
        {
            ports.answered(number, &self.outstanding, &self.sequence);
        }
        Ok(self.timing.answered(number))
    }

    /// Counts an answer to which no request waits, if its request was given up before; whether it
    /// was. Its delay is not timed.
    #[cold]
    fn is_late(&mut self, buffer_id: Option<u32>, message: &Raw<'_>) -> bool {
        let (number, form) = match (buffer_id, message.header.kind) {
            (Some(buffer_id), _) => (buffer_id, None),
            (None, kind::PACKET_OUT) => {
                let (number, form) = self.named_by_packet_out(message);
                (number, Some(form))
            }
            (None, _) => (message.header.xid, Some(AnswerForm::Xid)),
        };
        let is_late = self.outstanding.answer_late(number);
        if is_late {
            form.into_iter().for_each(|form| self.forms.count(form));
            self.counts.lost -= 1;
            self.counts.late += 1;
            self.counts.answered += 1;
        }
        is_late
    }

    /// Takes an answer that names no buffer; the number of the request that waited for it.
    #[inline(never)]
    fn unbuffered(&mut self, message: Raw<'_>) -> Option<u32> {
        let (number, form) = match message.header.kind {
            kind::FLOW_MOD => self.named_by_flow_mod(&message),
            _ => self.named_by_packet_out(&message),
        };
        self.outstanding.answer(number).then(|| {
            self.forms.count(form);
            number
        })
    }

    /// The frame, if it is one of ours, says more than an xid that may be the controller's own.
    fn named_by_packet_out(&self, message: &Raw<'_>) -> (u32, AnswerForm) {
        match answer::frame(message, self.replies.version) {
            Some((source, number)) if self.hosts.index(source).is_some() => {
                (number, AnswerForm::Frame)
            }
            _ => (message.header.xid, AnswerForm::Xid),
        }
    }

    /// A rule for one of our hosts answers its oldest request, unless the xid is that of another
    /// one of the same host.
    fn named_by_flow_mod(&self, message: &Raw<'_>) -> (u32, AnswerForm) {
        let xid = message.header.xid;
        let source = answer::source(message, self.replies.version);
        let Some(source) = source.and_then(|mac| self.hosts.index(mac)) else {
            return (xid, AnswerForm::Xid);
        };
        if self.stage != LoadStage::Offering {
            return (xid, AnswerForm::Xid);
        }
        let next = self.outstanding.next();
        let is_of_source =
            || self.sequence.passed(Outstanding::between(xid, next)).source == source;
        match self.outstanding.contains(xid) && is_of_source() {
            true => (xid, AnswerForm::Xid),
            false => (self.oldest_of(source).unwrap_or(NO_BUFFER), AnswerForm::Match),
        }
    }

    /// The oldest request of a host that waits for an answer.
    fn oldest_of(&self, source: u32) -> Option<u32> {
        let next = self.outstanding.next();
        let mut number = self.outstanding.oldest();
        for _ in 0..SAME_HOST_MAX {
            let back = Outstanding::between(number, next);
            let behind = self.sequence.passed_from(back, source)?;
            number = Outstanding::later(number, behind);
            if self.outstanding.contains(number) {
                return Some(number);
            }
            number = Outstanding::later(number, 1);
        }
        None
    }

    /// Answers any other message.
    #[cold]
    fn converse(&mut self, message: Raw<'_>, outbox: &mut Vec<u8>) -> Result<(), LoadFailure> {
        let switch = self.replies.number;
        let ours = self.replies.version;
        match self.replies.answer(&message, outbox).map_err(|malformed| self.garbage(malformed))? {
            ControllerMessage::Hello(theirs) if theirs < ours.wire() => {
                return Err(LoadFailure::Version { switch, ours, theirs });
            }
            ControllerMessage::Hello(_) => self.greeted = true,
            ControllerMessage::FeaturesRequest if self.stage == LoadStage::ShakingHands => {
                self.stage = LoadStage::Ready
            }
            ControllerMessage::Error(error) => return Err(LoadFailure::Refused { switch, error }),
            ControllerMessage::FeaturesRequest | ControllerMessage::Other => {}
        }
        Ok(())
    }

    /// Between teaching and offering: lessons are no requests.
    fn lesson_over(&mut self) {
        self.counts = RequestCounts::default();
        self.outstanding.forget_given_up();
        self.forms = Forms::default();
        self.progress = (0, Instant::now());
    }

    fn closed(&self, error: std::io::Error) -> LoadFailure {
        LoadFailure::Closed { switch: self.replies.number, during: self.stage.words(), error }
    }

    fn garbage(&self, malformed: Malformed) -> LoadFailure {
        LoadFailure::Garbage { switch: self.replies.number, malformed }
    }
}

/// Most requests that may be outstanding.
fn window(mode: Mode) -> u32 {
    match mode {
        Mode::Latency => 1,
        Mode::Window(window) => window,
        Mode::Full => WINDOW_MAX,
    }
}

/// How many outstanding requests are remembered.
fn ring(mode: Mode, role: SwitchRole) -> u32 {
    match mode {
        // Nothing of it is ever answered.
        _ if role == SwitchRole::Dead => RING_MIN,
        Mode::Full => WINDOW_MAX,
        Mode::Latency | Mode::Window(_) => (window(mode) * RING_WINDOWS).max(RING_MIN),
    }
}

fn timing(mode: Mode, role: SwitchRole) -> Timing {
    match (role, mode) {
        (SwitchRole::Probe, _) => Timing::each(ring(mode, role)),
        (SwitchRole::Normal, Mode::Latency) => Timing::sample(1),
        (SwitchRole::Normal, _) => Timing::sample(TIMED_EVERY.min(window(mode))),
        (SwitchRole::Storm | SwitchRole::Slow | SwitchRole::Dead, _) => Timing::Off,
    }
}
