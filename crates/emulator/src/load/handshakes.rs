//! Handshakes: how many switches a second a controller takes in.
//!
//! Every switch connects, shakes hands, disconnects and, once the controller has closed its end as
//! well, begins again. A handshake is done when the controller has answered the ECHO_REQUEST that
//! the switch sends right behind its FEATURES_REPLY: by then it has read the switch's id. What it
//! asks beside that is answered meanwhile.

use super::coordinator::{Gate, Moment, Watch};
use super::cpu_time::CpuTime;
use super::demand::DemandLap;
use super::failure::LoadFailure;
use super::report::{Delays, add_delays, delays, histogram};
use super::{GeneratorPart, Load, coordinator};
use crate::poll::{Interest, Poll, Ready};
use crate::replies::{ControllerMessage, Replies};
use crate::stream::{self, ReceiveBuffer, Tail};
use crate::wire::SwitchWire;
use aldis_wire::Chop;
use aldis_wire::header::{Header, kind};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Most bytes of a read: a handshake has few.
const READ_MAX: usize = 16 * 1024;

/// How often deadlines are looked at, and switches that found no local port try again.
const CHECK: Duration = Duration::from_millis(50);

/// How many handshakes of one switch may fail one after another before the run does.
const FAILED_MAX: u32 = 10;

/// The xid of the echo that shows that a handshake is over.
const ECHO_XID: u32 = 0x6563_686f;

/// What a run of handshakes measured; of several parts of one run, [`Handshakes::merge`] makes one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Handshakes {
    /// Handshakes a second in each measured loop, in order.
    pub loops: Vec<f64>,
    /// Handshakes in all measured loops.
    pub done: u64,
    /// Those among all, warm-up included, that the controller broke off.
    pub failed: u64,
    /// How often a switch had to wait because the system had no local port left.
    pub port_waits: u64,
    /// From just before a connection to the answer of the echo, in nanoseconds, in all measured
    /// loops.
    #[serde(with = "histogram")]
    pub delay: Delays,
    /// How long was measured.
    pub elapsed: Duration,
    /// CPU time of the generator's threads, user and system.
    pub generator_cpu: Duration,
    /// The share of time, 0 to 1, in which the busiest of them had nothing to do.
    pub idle: f64,
}

impl Handshakes {
    /// Before anything has been measured.
    pub fn empty() -> Handshakes {
        Handshakes {
            loops: Vec::new(),
            done: 0,
            failed: 0,
            port_waits: 0,
            delay: delays(),
            elapsed: Duration::ZERO,
            generator_cpu: Duration::ZERO,
            idle: 1.0,
        }
    }

    /// Whether the generator was the limit, as [`super::LoadReport::is_generator_limited`] has it.
    pub fn is_generator_limited(&self) -> bool {
        self.idle < super::IDLE_MIN
    }

    /// Adds what another thread, or another part of the same run, measured.
    pub fn merge(&mut self, other: &Handshakes) {
        self.loops.resize(self.loops.len().max(other.loops.len()), 0.0);
        self.loops.iter_mut().zip(&other.loops).for_each(|(mine, theirs)| *mine += theirs);
        self.done += other.done;
        self.failed += other.failed;
        self.port_waits += other.port_waits;
        add_delays(&mut self.delay, &other.delay);
        self.elapsed = self.elapsed.max(other.elapsed);
        self.generator_cpu += other.generator_cpu;
        self.idle = self.idle.min(other.idle);
    }
}

/// Measures the handshakes of the normal switches of this part of the load; nothing is taught or
/// offered, and the parts begin together, behind [`Gate::Taught`]. What was measured, and why it
/// ended before its time, if it did.
pub fn handshakes(load: &Load, watch: &mut dyn Watch) -> (Handshakes, Option<LoadFailure>) {
    match coordinator::prepare(load).and_then(|()| play(load, watch)) {
        Ok(outcome) => outcome,
        Err(failure) => (Handshakes::empty(), Some(failure)),
    }
}

fn play(
    load: &Load,
    watch: &mut dyn Watch,
) -> Result<(Handshakes, Option<LoadFailure>), LoadFailure> {
    let stop = AtomicBool::new(false);
    let (ended, endings) = mpsc::channel();
    for gate in [Gate::Connected, Gate::Taught] {
        watch.pass(gate)?;
    }
    let start = Instant::now();
    std::thread::scope(|scope| {
        let spawn = |index: usize| {
            let (stop, ended) = (&stop, ended.clone());
            let GeneratorPart { index: part, of } = load.part;
            let first = part as usize + index * of as usize;
            let numbers = (1..=load.switches).skip(first).step_by(load.threads * of as usize);
            let numbers: Vec<u32> = numbers.collect();
            let thread = std::thread::Builder::new().name(format!("connect-{index}"));
            thread.spawn_scoped(scope, move || {
                let outcome = match Thread::new(load, &numbers) {
                    Ok(mut thread) => {
                        let failure = thread.run(start, stop).err();
                        (thread.result, failure)
                    }
                    Err(failure) => (Handshakes::empty(), Some(failure)),
                };
                // One that fails takes the others with it.
                stop.fetch_or(outcome.1.is_some(), Ordering::Relaxed);
                let _ = ended.send(());
                outcome
            })
        };
        let threads = (0..load.threads).map(spawn).collect::<Result<Vec<_>, _>>();
        if threads.is_err() {
            stop.store(true, Ordering::Relaxed);
        }
        let led = lead(load, start, &endings, watch);
        stop.fetch_or(led.is_err(), Ordering::Relaxed);
        let (mut result, mut failure) = (Handshakes::empty(), None);
        for thread in threads? {
            let outcome = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            result.merge(&outcome.0);
            failure = failure.or(outcome.1);
        }
        Ok((result, failure.or(led.err())))
    })
}

/// Tells the moments as they come, until a thread has ended.
fn lead(
    load: &Load,
    start: Instant,
    endings: &mpsc::Receiver<()>,
    watch: &mut dyn Watch,
) -> Result<(), LoadFailure> {
    let begin = start + load.warm_up_length();
    let end = begin + load.measured_length();
    let moments = [(begin, Moment::MeasureBegins), (end, Moment::MeasureEnds)];
    for (at, moment) in moments {
        loop {
            let left = at.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            if watch.is_stopped() {
                return Err(LoadFailure::Stopped);
            }
            match endings.recv_timeout(left.min(coordinator::TELL_EVERY)) {
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                _ => return Ok(()),
            }
        }
        watch.tell(moment);
    }
    Ok(())
}

/// A generator thread.
struct Thread<'a> {
    load: &'a Load,
    poll: Poll,
    inbox: ReceiveBuffer,
    outbox: Vec<u8>,
    switches: Vec<HandshakeSwitch>,
    /// Handshakes so far, and their delays since the last phase began.
    done: u64,
    result: Handshakes,
}

/// What a switch is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum HandshakeStage {
    /// It found no local port.
    Waiting,
    Connecting,
    ShakingHands,
    /// The handshake is over, but for the echo.
    Echoing,
    /// It has closed its end.
    Closing,
}

struct HandshakeSwitch {
    replies: Replies,
    key: u64,
    stage: HandshakeStage,
    wire: Option<SwitchWire>,
    tail: Tail,
    unsent: Vec<u8>,
    greeted: bool,
    /// When it entered [`HandshakeStage::Connecting`], or [`HandshakeStage::Closing`].
    since: Instant,
    /// Handshakes that failed one after another.
    failed: u32,
}

/// What came of a visit.
enum HandshakeVisit {
    Nothing,
    /// The handshake is done.
    Done,
    /// The controller has closed its end as well.
    Closed,
}

impl<'a> Thread<'a> {
    fn new(load: &'a Load, numbers: &[u32]) -> Result<Thread<'a>, LoadFailure> {
        let Load { version, ports, buffered, .. } = *load;
        let switch = |(key, &number): (u64, &u32)| HandshakeSwitch {
            replies: Replies { version, number: load.dpid(number), ports, buffered },
            key,
            stage: HandshakeStage::Waiting,
            wire: None,
            tail: Tail::default(),
            unsent: Vec::new(),
            greeted: false,
            since: Instant::now(),
            failed: 0,
        };
        Ok(Thread {
            load,
            poll: Poll::new()?,
            inbox: ReceiveBuffer::new(READ_MAX),
            outbox: Vec::new(),
            switches: (0..).zip(numbers).map(switch).collect(),
            done: 0,
            result: Handshakes::empty(),
        })
    }

    fn run(&mut self, start: Instant, stop: &AtomicBool) -> Result<(), LoadFailure> {
        for place in 0..self.switches.len() {
            self.connect(place)?;
        }
        let mut since = None;
        for DemandLap { end, phase } in self.load.laps() {
            if phase.is_some() && since.is_none() {
                self.result.delay.reset();
                since = Some(CpuTime::now());
            }
            let (done, begun) = (self.done, Instant::now());
            let outcome = self.run_until(start + end, stop);
            if phase.is_some() {
                let (done, elapsed) = (self.done - done, begun.elapsed());
                self.result.loops.push(done as f64 / elapsed.as_secs_f64().max(f64::MIN_POSITIVE));
                self.result.done += done;
                self.conclude(since);
            }
            if !outcome? {
                break;
            }
        }
        Ok(())
    }

    fn conclude(&mut self, since: Option<CpuTime>) {
        let Some(spent) = since.as_ref().map(CpuTime::spent) else { return };
        self.result.generator_cpu = spent.cpu;
        self.result.elapsed = spent.elapsed;
        self.result.idle = spent.idle();
    }

    /// One loop; false when the run is to end.
    fn run_until(&mut self, end: Instant, stop: &AtomicBool) -> Result<bool, LoadFailure> {
        let mut next_check = Instant::now() + CHECK;
        loop {
            let now = Instant::now();
            if now >= end {
                return Ok(true);
            }
            let timeout = next_check.min(end).saturating_duration_since(now);
            for index in 0..self.poll.wait(Some(timeout))? {
                let ready = self.poll.ready(index);
                self.visit(ready)?;
            }
            if Instant::now() >= next_check {
                next_check += CHECK;
                self.check()?;
            }
            if stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
        }
    }

    /// Deadlines, and switches that found no port.
    fn check(&mut self) -> Result<(), LoadFailure> {
        let deadline = self.load.handshake_deadline;
        for place in 0..self.switches.len() {
            let switch = &self.switches[place];
            let is_late = switch.since.elapsed() > deadline;
            match switch.stage {
                HandshakeStage::Waiting => self.connect(place)?,
                HandshakeStage::Closing if is_late => self.connect(place)?,
                HandshakeStage::Connecting
                | HandshakeStage::ShakingHands
                | HandshakeStage::Echoing
                    if is_late =>
                {
                    let (switch, awaits) = (switch.replies.number, switch.awaits());
                    return Err(LoadFailure::Handshake { switch, awaits, after: deadline });
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Begins a handshake; what was before it is closed.
    fn connect(&mut self, place: usize) -> Result<(), LoadFailure> {
        let (switch, controller) = (&mut self.switches[place], self.load.controller);
        let number = switch.replies.number;
        let failed =
            |error: Errno| LoadFailure::Connect { switch: number, controller, error: error.into() };
        switch.wire = None;
        let socket = stream::socket(controller, self.load.switches_in_all()).map_err(failed)?;
        switch.since = Instant::now();
        match rustix::net::connect(&socket, &controller) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(Errno::ADDRNOTAVAIL | Errno::ADDRINUSE) => {
                switch.stage = HandshakeStage::Waiting;
                self.result.port_waits += 1;
                return Ok(());
            }
            Err(error) => return Err(failed(error)),
        }
        let wire = SwitchWire::new(TcpStream::from(socket), self.load.secure.as_ref(), number)?;
        self.poll.add(&wire, switch.key, Interest::Both)?;
        (switch.stage, switch.greeted) = (HandshakeStage::Connecting, false);
        switch.tail.keep(&[]);
        switch.unsent.clear();
        switch.wire = Some(wire);
        Ok(())
    }

    fn visit(&mut self, ready: Ready) -> Result<(), LoadFailure> {
        let place = ready.key as usize;
        let switch = &mut self.switches[place];
        self.outbox.clear();
        match switch.visit(self.load, ready, &mut self.inbox, &mut self.outbox, &self.poll) {
            Ok(HandshakeVisit::Nothing) => Ok(()),
            Ok(HandshakeVisit::Closed) => self.connect(place),
            Ok(HandshakeVisit::Done) => {
                let delay = u64::try_from(switch.since.elapsed().as_nanos()).unwrap_or(u64::MAX);
                self.result.delay.saturating_record(delay);
                self.done += 1;
                switch.failed = 0;
                switch.close();
                Ok(())
            }
            Err(failure @ LoadFailure::Closed { .. }) => {
                self.result.failed += 1;
                switch.failed += 1;
                if switch.failed >= FAILED_MAX { Err(failure) } else { self.connect(place) }
            }
            Err(failure) => Err(failure),
        }
    }
}

impl HandshakeSwitch {
    fn visit(
        &mut self,
        load: &Load,
        ready: Ready,
        inbox: &mut ReceiveBuffer,
        outbox: &mut Vec<u8>,
        poll: &Poll,
    ) -> Result<HandshakeVisit, LoadFailure> {
        let Some(mut wire) = self.wire.take() else { return Ok(HandshakeVisit::Nothing) };
        let visit = self.visit_wire(&mut wire, load, ready, inbox, outbox);
        if matches!(visit, Ok(HandshakeVisit::Nothing)) {
            let waits = !self.unsent.is_empty() || wire.is_behind();
            let interest = if waits { Interest::Both } else { Interest::Read };
            poll.modify(&wire, self.key, interest)?;
        }
        self.wire = Some(wire);
        visit
    }

    fn visit_wire(
        &mut self,
        wire: &mut SwitchWire,
        load: &Load,
        ready: Ready,
        inbox: &mut ReceiveBuffer,
        outbox: &mut Vec<u8>,
    ) -> Result<HandshakeVisit, LoadFailure> {
        let switch = self.replies.number;
        let closed = |error| LoadFailure::Closed { switch, during: "the handshake", error };
        if self.stage == HandshakeStage::Connecting {
            let peer = wire.socket().take_error().and_then(|error| error.map_or(Ok(()), Err));
            let controller = load.controller;
            peer.map_err(|error| LoadFailure::Connect { switch, controller, error })?;
            self.stage = HandshakeStage::ShakingHands;
            self.replies.hello(outbox);
        } else if ready.readable {
            match inbox.read_wire(wire, &self.tail, READ_MAX) {
                Ok(None) => {}
                Ok(Some(_)) if self.stage == HandshakeStage::Closing => {}
                Err(_) if self.stage == HandshakeStage::Closing => {
                    return Ok(HandshakeVisit::Closed);
                }
                Err(error) => return Err(closed(error)),
                Ok(Some(bytes)) => {
                    if self.hear(bytes, outbox)? {
                        return Ok(HandshakeVisit::Done);
                    }
                }
            }
        }
        if self.stage != HandshakeStage::Closing {
            self.unsent.extend_from_slice(outbox);
            let written = wire.write(&self.unsent).map_err(closed)?;
            self.unsent.drain(..written);
        }
        Ok(HandshakeVisit::Nothing)
    }

    /// Answers what was read; whether the echo was among it.
    fn hear(&mut self, bytes: &[u8], outbox: &mut Vec<u8>) -> Result<bool, LoadFailure> {
        let (switch, ours) = (self.replies.number, self.replies.version);
        let garbage = |malformed| LoadFailure::Garbage { switch, malformed };
        let mut chop = Chop::new(bytes);
        for message in chop.by_ref() {
            let message = message.map_err(garbage)?;
            let is_echo = message.header.kind == kind::ECHO_REPLY && message.header.xid == ECHO_XID;
            if is_echo && self.stage == HandshakeStage::Echoing {
                return Ok(true);
            }
            match self.replies.answer(&message, outbox).map_err(garbage)? {
                ControllerMessage::Hello(theirs) if theirs < ours.wire() => {
                    return Err(LoadFailure::Version { switch, ours, theirs });
                }
                ControllerMessage::Hello(_) => self.greeted = true,
                ControllerMessage::Error(error) => {
                    return Err(LoadFailure::Refused { switch, error });
                }
                ControllerMessage::FeaturesRequest
                    if self.stage == HandshakeStage::ShakingHands =>
                {
                    self.stage = HandshakeStage::Echoing;
                    let (version, kind) = (ours.wire(), kind::ECHO_REQUEST);
                    let echo = Header { version, kind, length: 8, xid: ECHO_XID };
                    outbox.extend_from_slice(&echo.to_bytes());
                }
                ControllerMessage::FeaturesRequest | ControllerMessage::Other => {}
            }
        }
        self.tail.keep(chop.rest());
        Ok(false)
    }

    /// Closes its end, so that the controller sees it and closes the other.
    fn close(&mut self) {
        self.stage = HandshakeStage::Closing;
        self.since = Instant::now();
        self.tail.keep(&[]);
        self.unsent.clear();
        if let Some(wire) = &mut self.wire {
            wire.finish();
        }
    }

    fn awaits(&self) -> &'static str {
        match (self.stage, self.greeted) {
            (HandshakeStage::Echoing, _) => "the answer to its ECHO_REQUEST",
            (HandshakeStage::ShakingHands, true) => "the controller's FEATURES_REQUEST",
            (HandshakeStage::ShakingHands, false) => "the controller's HELLO",
            _ => "its connection",
        }
    }
}
