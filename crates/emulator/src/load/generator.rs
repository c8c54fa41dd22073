//! A generator thread: its switches, one loop, and what it measured.

use super::Load;
use super::course::{Course, Step};
use super::failure::Failure;
use super::packet_in::{Purpose, Sheet};
use super::report::{Report, delays};
use super::sequence::Round;
use super::switch::{Desk, LESSONS_AHEAD, OFFERS_MAX, Stage, Switch};
use crate::poll::{Interest, Poll};
use crate::stream::Inbox;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};
use rustix::time::{ClockId, clock_gettime};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Most bytes one visit reads.
const READ_MAX: usize = 256 * 1024;

/// How often a thread that waits for others looks whether it may go on.
const PAUSE: Duration = Duration::from_millis(2);

/// How often requests that have become due by the rate are sent.
const TICK: Duration = Duration::from_millis(1);

/// How often lost requests are looked for, and whether another thread has failed.
const CHECK: Duration = Duration::from_millis(50);

pub(super) struct Generator<'a> {
    load: &'a Load,
    course: &'a Course,
    round: Round,
    /// The numbers of its switches: every `load.threads`th.
    numbers: Vec<u32>,
    poll: Poll,
    desk: Desk,
    switches: Vec<Switch>,
}

/// Where the measurement of a thread stands at one instant.
#[derive(Clone)]
struct Mark {
    at: Instant,
    /// Answers so far, by switch.
    answered: Vec<u64>,
    /// CPU time of this thread, user and system.
    cpu: Duration,
    /// How long this thread could have run and had no processor.
    delayed: Duration,
}

impl Mark {
    /// Answers a second since `earlier`.
    fn rate_since(&self, earlier: &Mark) -> f64 {
        let answered = self.answered.iter().sum::<u64>() - earlier.answered.iter().sum::<u64>();
        answered as f64 / (self.at - earlier.at).as_secs_f64()
    }
}

impl<'a> Generator<'a> {
    pub(super) fn new(
        load: &'a Load,
        course: &'a Course,
        round: Round,
        index: usize,
    ) -> Result<Self, Failure> {
        let numbers = (1..=load.switches).skip(index).step_by(load.threads).collect();
        let sheet = |purpose, count| Sheet::new(load.version, load.buffered, purpose, count);
        let desk = Desk {
            inbox: Inbox::new(READ_MAX),
            outbox: Vec::new(),
            lessons: sheet(Purpose::Teach, LESSONS_AHEAD as usize),
            offers: sheet(Purpose::Offer, OFFERS_MAX),
            delays: delays(),
        };
        Ok(Generator {
            load,
            course,
            round,
            numbers,
            poll: Poll::new()?,
            desk,
            switches: Vec::new(),
        })
    }

    pub(super) fn run(mut self) -> Result<Report, Failure> {
        self.connect()?;
        if !self.pause_until(|course| course.allows(Step::Taught))? {
            return Ok(Report::empty(self.load.switches));
        }
        self.teach()?;
        if !self.pause_until(|course| course.start().is_some())? {
            return Ok(Report::empty(self.load.switches));
        }
        self.offer()
    }

    /// Waits for the sockets and serves them; returns the time.
    #[inline]
    fn turn(&mut self, timeout: Duration) -> Result<Instant, Failure> {
        for index in 0..self.poll.wait(Some(timeout))? {
            let ready = self.poll.ready(index);
            self.switches[ready.key as usize].visit(ready, &mut self.desk, &self.poll)?;
        }
        Ok(Instant::now())
    }

    /// Serves the sockets until the course says so; false when the run has ended instead.
    fn pause_until(&mut self, go: impl Fn(&Course) -> bool) -> Result<bool, Failure> {
        while !go(self.course) {
            if self.course.is_stopped() {
                return Ok(false);
            }
            self.turn(PAUSE)?;
        }
        Ok(true)
    }

    /// Connects all switches, a group after another, and serves them until their handshakes are over.
    fn connect(&mut self) -> Result<(), Failure> {
        let mut reported = 0;
        let mut deadline = Instant::now();
        // Groups are cut from all switches, whichever thread they belong to.
        let numbers = std::mem::take(&mut self.numbers);
        let connect_group = self.load.connect_group;
        let group = |number: u32| (number - 1) / connect_group;
        for group in numbers.chunk_by(|&a, &b| group(a) == group(b)) {
            for &number in group {
                self.open(number)?;
            }
            deadline = Instant::now() + self.load.connect_pause;
            while Instant::now() < deadline && !self.course.is_stopped() {
                self.turn(PAUSE)?;
            }
            self.report_connected(&mut reported);
        }
        deadline += self.load.handshake_deadline;
        while reported < self.switches.len() && !self.course.is_stopped() {
            if self.turn(CHECK)? > deadline {
                return Err(self.late());
            }
            self.report_connected(&mut reported);
        }
        Ok(())
    }

    fn open(&mut self, number: u32) -> Result<(), Failure> {
        let controller = self.load.controller;
        let family = match controller.is_ipv4() {
            true => AddressFamily::INET,
            false => AddressFamily::INET6,
        };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let refused =
            |error: Errno| Failure::Connect { switch: number, controller, error: error.into() };
        let socket =
            rustix::net::socket_with(family, SocketType::STREAM, flags, None).map_err(refused)?;
        sockopt::set_tcp_nodelay(&socket, true).map_err(refused)?;
        match rustix::net::connect(&socket, &controller) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(error) => return Err(refused(error)),
        }
        let key = self.switches.len() as u64;
        self.poll.add(&socket, key, Interest::Both)?;
        self.switches.push(Switch::new(
            self.load,
            self.round.clone(),
            number,
            key,
            TcpStream::from(socket),
        ));
        Ok(())
    }

    fn report_connected(&self, reported: &mut usize) {
        let connecting =
            |switch: &&Switch| matches!(switch.stage(), Stage::Connecting | Stage::ShakingHands);
        let ready = self.switches.len() - self.switches.iter().filter(connecting).count();
        self.course.arrive(Step::Connected, (ready - *reported) as u32);
        *reported = ready;
    }

    fn late(&self) -> Failure {
        let late = self
            .switches
            .iter()
            .find(|switch| matches!(switch.stage(), Stage::Connecting | Stage::ShakingHands));
        let (switch, awaits) = late.map_or((0, "nothing"), |late| (late.number(), late.awaits()));
        Failure::Handshake { switch, awaits, after: self.load.handshake_deadline }
    }

    /// Lets every switch tell where its addresses live.
    fn teach(&mut self) -> Result<(), Failure> {
        self.enter(Stage::Teaching)?;
        let mut reported = 0;
        let mut next_check = Instant::now();
        loop {
            let taught =
                self.switches.iter().filter(|switch| switch.stage() == Stage::Taught).count();
            self.course.arrive(Step::Taught, (taught - reported) as u32);
            reported = taught;
            if taught == self.switches.len() || self.course.is_stopped() {
                return Ok(());
            }
            next_check += CHECK;
            while self.turn(CHECK)? < next_check {}
            self.check_progress(next_check)?;
        }
    }

    /// Offers requests, loop after loop.
    fn offer(&mut self) -> Result<Report, Failure> {
        let start = self.course.start().unwrap_or_else(Instant::now);
        let mut report = Report::empty(self.load.switches);
        self.enter(Stage::Offering)?;
        let mut last = self.mark();
        let mut begin = None;
        for index in 0..self.load.warm_up + self.load.loops {
            if index == self.load.warm_up {
                self.desk.delays.reset();
                begin = Some(last.clone());
            }
            let goes_on = self.offer_until(start, start + self.load.loop_length * (index + 1))?;
            let mark = self.mark();
            if begin.is_some() {
                report.loops.push(mark.rate_since(&last));
            }
            last = mark;
            if !goes_on {
                break;
            }
        }
        if let Some(begin) = begin {
            self.conclude(&begin, &last, &mut report);
        }
        Ok(report)
    }

    fn conclude(&mut self, begin: &Mark, end: &Mark, report: &mut Report) {
        let answered = end.answered.iter().zip(&begin.answered);
        for (switch, (end, begin)) in self.switches.iter().zip(answered) {
            report.per_switch[switch.number() as usize - 1] = end - begin;
            report.counts += switch.counts();
        }
        report.elapsed = end.at - begin.at;
        report.generator_cpu = end.cpu - begin.cpu;
        let busy = report.generator_cpu + end.delayed.saturating_sub(begin.delayed);
        report.idle = (1.0 - busy.as_secs_f64() / report.elapsed.as_secs_f64()).max(0.0);
        std::mem::swap(&mut report.delay, &mut self.desk.delays);
    }

    /// One loop; false when there is no need for another.
    fn offer_until(&mut self, start: Instant, end: Instant) -> Result<bool, Failure> {
        let rate = self.load.rate_per_switch();
        let timeout = if rate.is_some() { TICK } else { CHECK };
        let mut next_check = Instant::now() + CHECK;
        let mut next_tick = Instant::now();
        loop {
            let now = self.turn(timeout.min(end.saturating_duration_since(Instant::now())))?;
            if now >= end {
                return Ok(true);
            }
            if let Some(rate) = rate
                && now >= next_tick
            {
                self.allow(rate, start, now)?;
                next_tick = now + TICK;
            }
            if now >= next_check || self.load.requests_per_switch.is_some() {
                next_check = now + CHECK;
                self.check_progress(now)?;
                if self.course.is_stopped() || self.switches.iter().all(Switch::is_finished) {
                    return Ok(false);
                }
            }
        }
    }

    /// Allows the requests that have become due since the last time; switches are due one after another.
    fn allow(&mut self, rate: f64, start: Instant, now: Instant) -> Result<(), Failure> {
        let elapsed = now.duration_since(start).as_secs_f64() * rate;
        let switches = f64::from(self.load.switches);
        for switch in &mut self.switches {
            let phase = f64::from(switch.number() - 1) / switches;
            let due = (elapsed + phase) as u64;
            switch.allow_up_to(due, &mut self.desk, &self.poll)?;
        }
        Ok(())
    }

    fn enter(&mut self, stage: Stage) -> Result<(), Failure> {
        for switch in &mut self.switches {
            switch.enter(stage, &mut self.desk, &self.poll)?;
        }
        Ok(())
    }

    fn check_progress(&mut self, now: Instant) -> Result<(), Failure> {
        for switch in &mut self.switches {
            switch.check_progress(now, self.load, &mut self.desk, &self.poll)?;
        }
        Ok(())
    }

    fn mark(&self) -> Mark {
        let cpu = clock_gettime(ClockId::ThreadCPUTime);
        Mark {
            at: Instant::now(),
            answered: self.switches.iter().map(|switch| switch.counts().answered).collect(),
            cpu: Duration::new(cpu.tv_sec as u64, cpu.tv_nsec as u32),
            delayed: delayed_for_a_processor(),
        }
    }
}

/// The second figure of this thread's `schedstat`, nanoseconds; zero where the system keeps none.
fn delayed_for_a_processor() -> Duration {
    let schedstat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let delayed = schedstat.split_whitespace().nth(1).and_then(|figure| figure.parse().ok());
    Duration::from_nanos(delayed.unwrap_or(0))
}
