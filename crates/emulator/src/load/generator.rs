//! A generator thread: its switches, one loop, and what it measured.

mod connect;

use super::Load;
use super::cpu_time::Spent;
use super::failure::LoadFailure;
use super::pace::Pace;
use super::packet_in::{Purpose, Sheet};
use super::phase::{PhaseBarrier, PhaseStep};
use super::report::{Lap, LoadReport, ReportPhase, delays};
use super::roles::{Crew, SwitchRole};
use super::sequence::SequenceRounds;
use super::slow_readers::TRICKLE;
use super::switch::{LESSONS_AHEAD, LoadStage, LoadSwitch, OFFERS_MAX, READ_MAX, ThreadState};
use crate::poll::Poll;
use crate::stream::ReceiveBuffer;
use rustix::process::setpriority_process;
use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant};

/// How often a thread that waits for others looks whether it may go on.
const PAUSE: Duration = Duration::from_millis(2);

/// How often lost requests are looked for, and whether another thread has failed.
const CHECK: Duration = Duration::from_millis(50);

/// The most urgent of the niceness values.
const PRIORITY_MAX: i32 = -20;

pub(super) struct Generator<'a> {
    load: &'a Load,
    phases: &'a PhaseBarrier,
    crew: Crew,
    rounds: SequenceRounds,
    /// The numbers of its switches.
    numbers: Vec<u32>,
    pace: Option<Pace>,
    poll: Poll,
    /// The processor's time that it looked for answers in vain, where it does not sleep.
    looked: Duration,
    desk: ThreadState,
    switches: Vec<LoadSwitch>,
}

/// Where the measurement of a thread stands at one instant.
#[derive(Clone)]
struct MeasureMark {
    at: Instant,
    /// Answers so far, by switch.
    answered: Vec<u64>,
    /// Requests that have become due so far, each up to the switch's last turn, by switch.
    demands: Vec<f64>,
    /// Requests on their way, by switch.
    outstanding: Vec<u32>,
    /// Those and what may be offered at once, by switch; infinite where there is no rate.
    waiting: Vec<f64>,
    /// Requests so far that became due and will not be offered, by switch.
    forgone: Vec<u64>,
    /// CPU time of this thread, user and system, without that of looking in vain.
    cpu: Duration,
    /// How long this thread could have run and had no processor, and how often it got one.
    delayed: Duration,
    slices: u64,
}

impl MeasureMark {
    /// Answers since `earlier`, by switch.
    fn answered_since<'m>(&'m self, earlier: &'m MeasureMark) -> impl Iterator<Item = u64> + 'm {
        self.answered.iter().zip(&earlier.answered).map(|(now, before)| now - before)
    }

    /// Requests that became due since `earlier`, by switch; infinite where there is no rate.
    fn due_since<'m>(&'m self, earlier: &'m MeasureMark) -> impl Iterator<Item = f64> + 'm {
        let since = |(&now, before): (&f64, &f64)| if now.is_finite() { now - before } else { now };
        self.demands.iter().zip(&earlier.demands).map(since)
    }

    /// The share of the time since `earlier` in which this thread neither ran nor waited for a
    /// processor.
    fn idle_since(&self, earlier: &MeasureMark) -> f64 {
        let elapsed = self.at - earlier.at;
        let cpu = self.cpu.saturating_sub(earlier.cpu);
        let delayed = self.delayed.saturating_sub(earlier.delayed);
        Spent { elapsed, cpu, delayed }.idle()
    }

    /// Answers a second since `earlier`.
    fn rate_since(&self, earlier: &MeasureMark) -> f64 {
        let answered: u64 = self.answered_since(earlier).sum();
        answered as f64 / (self.at - earlier.at).as_secs_f64().max(f64::MIN_POSITIVE)
    }
}

impl<'a> Generator<'a> {
    pub(super) fn new(
        load: &'a Load,
        phases: &'a PhaseBarrier,
        rounds: SequenceRounds,
        crew: Crew,
        numbers: Vec<u32>,
    ) -> Result<Self, LoadFailure> {
        let sheet = |purpose, count| Sheet::new(load.version, load.buffered, purpose, count);
        let desk = ThreadState {
            inbox: ReceiveBuffer::new(READ_MAX),
            outbox: Vec::new(),
            lessons: sheet(Purpose::Teach, LESSONS_AHEAD as usize),
            offers: sheet(Purpose::Offer, OFFERS_MAX),
            delays: delays(),
        };
        Ok(Generator {
            load,
            phases,
            crew,
            rounds,
            pace: Pace::new(load, crew, &numbers),
            numbers,
            poll: Poll::new()?,
            looked: Duration::ZERO,
            desk,
            switches: Vec::new(),
        })
    }

    /// Plays its switches to the end of the run; when it ends before, what was measured by then and
    /// why.
    pub(super) fn run(mut self) -> (LoadReport, Option<LoadFailure>) {
        let mut report = LoadReport::empty(self.load);
        let failure = self.run_into(&mut report).err();
        (report, failure)
    }

    fn run_into(&mut self, report: &mut LoadReport) -> Result<(), LoadFailure> {
        if self.crew == Crew::Probes {
            hurry();
        }
        self.connect()?;
        if !self.pause_until(|phases| phases.allows(PhaseStep::Taught))? {
            return Ok(());
        }
        self.teach()?;
        if !self.pause_until(|phases| phases.start().is_some())? {
            return Ok(());
        }
        self.offer(report)
    }

    /// Waits for the sockets and serves them; returns the time.
    #[inline]
    fn turn(&mut self, timeout: Duration) -> Result<Instant, LoadFailure> {
        let ready = match self.load.poll && self.crew == Crew::Load {
            true => self.look(timeout)?,
            false => self.poll.wait(Some(timeout))?,
        };
        for index in 0..ready {
            let ready = self.poll.ready(index);
            self.switches[ready.key as usize].visit(ready, &mut self.desk, &self.poll)?;
        }
        Ok(Instant::now())
    }

    /// Waits for the sockets without sleeping; how many are ready.
    #[inline]
    fn look(&mut self, timeout: Duration) -> Result<usize, LoadFailure> {
        let ready = self.poll.wait(Some(Duration::ZERO))?;
        if ready > 0 {
            return Ok(ready);
        }
        // On a core that others use too, more time passes than it looks.
        let (began, spent) = (Instant::now(), thread_cpu());
        loop {
            let ready = self.poll.wait(Some(Duration::ZERO))?;
            if ready > 0 || began.elapsed() >= timeout {
                self.looked += thread_cpu().saturating_sub(spent);
                return Ok(ready);
            }
        }
    }

    /// Serves the sockets until the barrier says so; false when the run has ended instead.
    fn pause_until(&mut self, go: impl Fn(&PhaseBarrier) -> bool) -> Result<bool, LoadFailure> {
        while !go(self.phases) {
            if self.phases.is_stopped() {
                return Ok(false);
            }
            self.turn(PAUSE)?;
        }
        Ok(true)
    }

    /// Lets every switch tell where its addresses live.
    fn teach(&mut self) -> Result<(), LoadFailure> {
        self.enter(LoadStage::Teaching)?;
        let mut reported = 0;
        let mut next_check = Instant::now();
        loop {
            let taught =
                self.switches.iter().filter(|switch| switch.stage() == LoadStage::Taught).count();
            self.phases.arrive(PhaseStep::Taught, (taught - reported) as u32);
            reported = taught;
            if taught == self.switches.len() || self.phases.is_stopped() {
                return Ok(());
            }
            next_check += CHECK;
            while self.turn(CHECK)? < next_check {}
            self.check_progress(next_check)?;
        }
    }

    /// Offers requests, phase after phase, loop after loop.
    fn offer(&mut self, report: &mut LoadReport) -> Result<(), LoadFailure> {
        let start = self.phases.start().unwrap_or_else(Instant::now);
        self.enter(LoadStage::Offering)?;
        let laps = self.load.laps();
        let mut last = self.mark();
        let mut measured: Option<(MeasureMark, MeasureMark)> = None;
        let mut outcome = Ok(true);
        for laps in laps.chunk_by(|a, b| a.phase == b.phase) {
            let mut marks = vec![last.clone()];
            self.desk.delays.reset();
            for lap in laps {
                outcome = self.offer_until(start, start + lap.end);
                let mark = self.mark();
                if self.crew == Crew::Load && lap.phase.is_some() {
                    report.loops.push(mark.rate_since(&last));
                }
                last = mark.clone();
                marks.push(mark);
                if !matches!(outcome, Ok(true)) {
                    break;
                }
            }
            if let Some(phase) = laps[0].phase {
                let (rate, _) = self.load.phases()[phase];
                report.push(self.phase(rate, &marks));
                let begin = marks.swap_remove(0);
                measured = Some((measured.map_or(begin, |(begin, _)| begin), last.clone()));
            }
            if !matches!(outcome, Ok(true)) {
                break;
            }
        }
        if self.crew == Crew::SlowReaders && outcome.is_ok() {
            // What was disconnected by now counts.
            outcome = self.turn(Duration::ZERO).map(|_| true);
        }
        if let Some((begin, end)) = measured {
            self.conclude(&begin, &end, report);
        }
        outcome.map(|_| ())
    }

    /// What was measured between the first and the last of these instants, which bound its loops.
    fn phase(&self, rate: Option<f64>, marks: &[MeasureMark]) -> ReportPhase {
        let mut phase = ReportPhase::empty(self.load, rate);
        let [begin, .., end] = marks else { return phase };
        phase.elapsed = end.at - begin.at;
        let delays = match self.crew {
            Crew::Probes => &mut phase.probe_delay,
            Crew::Load | Crew::SlowReaders => &mut phase.delay,
        };
        // It grows as it has to.
        let _ = delays.add(&self.desk.delays);
        if self.crew == Crew::Load {
            phase.idle = end.idle_since(begin);
            self.place(begin.waiting.iter().copied(), &mut phase.waiting);
            for ends in marks.windows(2) {
                let mut lap = Lap::empty(phase.waiting.len());
                self.place(ends[1].answered_since(&ends[0]), &mut lap.answered);
                self.place(ends[1].due_since(&ends[0]), &mut lap.due);
                self.place(self.rooms(&ends[0], &ends[1]), &mut lap.rooms);
                phase.laps.push(lap);
            }
        }
        phase
    }

    /// How many requests of each switch could wait at the end of a loop: of one that had to forgo
    /// some, as many as did; of any other, what it may make up for and as many as the fullest had
    /// on their way. Infinite where there is no rate.
    fn rooms<'m>(
        &'m self,
        begin: &'m MeasureMark,
        end: &'m MeasureMark,
    ) -> impl Iterator<Item = f64> + 'm {
        let way = end.outstanding.iter().max().map_or(0.0, |&way| f64::from(way));
        let bursts = self.pace.iter().flat_map(Pace::bursts).chain(std::iter::repeat(0));
        self.switches.iter().zip(bursts).enumerate().map(move |(place, (switch, burst))| {
            let waited = end.waiting[place];
            match end.forgone[place] > begin.forgone[place] || waited.is_infinite() {
                true => waited,
                false => way + switch.credit_max(burst) as f64,
            }
        })
    }

    /// Puts figures of this thread's switches to their numbers.
    fn place<T>(&self, figures: impl Iterator<Item = T>, places: &mut [T]) {
        for (switch, figure) in self.switches.iter().zip(figures) {
            places[switch.number() as usize - 1] = figure;
        }
    }

    fn conclude(&self, begin: &MeasureMark, end: &MeasureMark, report: &mut LoadReport) {
        for switch in &self.switches {
            let counts = switch.counts();
            let stragglers = match switch.role() {
                SwitchRole::Normal | SwitchRole::Storm => {
                    report.counts += counts;
                    report.forms += switch.forms();
                    report.ports.extend(switch.ports());
                    continue;
                }
                SwitchRole::Probe => {
                    report.probes.counts += counts;
                    continue;
                }
                SwitchRole::Slow => &mut report.slow,
                SwitchRole::Dead => &mut report.dead,
            };
            stragglers.counts += counts;
            stragglers.evicted_after.extend(switch.evicted_after());
        }
        if self.crew == Crew::Probes {
            let delayed = end.delayed.saturating_sub(begin.delayed);
            let slices = end.slices.saturating_sub(begin.slices).max(1);
            report.probes.processor_wait = delayed.div_f64(slices as f64);
        }
        if self.crew == Crew::Load {
            report.generator_cpu = end.cpu.saturating_sub(begin.cpu);
            report.idle = end.idle_since(begin);
        }
    }

    /// One loop; false when there is no need for another.
    fn offer_until(&mut self, start: Instant, end: Instant) -> Result<bool, LoadFailure> {
        let mut now = Instant::now();
        let mut next_check = now + CHECK;
        let mut next_tick = now;
        loop {
            let wake = next_check.min(next_tick).min(end);
            now = self.turn(wake.saturating_duration_since(now))?;
            if now >= end {
                return Ok(true);
            }
            if now >= next_tick {
                next_tick = now + self.tick(start, now)?;
            }
            if now >= next_check || self.load.requests_per_switch.is_some() {
                next_check = now + CHECK;
                self.check_progress(now)?;
                if self.phases.is_stopped() || self.is_finished() {
                    return Ok(false);
                }
            }
        }
    }

    /// Whether there is nothing left to do.
    fn is_finished(&self) -> bool {
        match self.crew {
            Crew::Load => self.switches.iter().all(LoadSwitch::is_finished),
            Crew::Probes => {
                self.phases.is_over() && !self.switches.iter().any(LoadSwitch::awaits_answer)
            }
            Crew::SlowReaders => self.phases.is_over(),
        }
    }

    /// Does what is due by the clock; how long until more is.
    fn tick(&mut self, start: Instant, now: Instant) -> Result<Duration, LoadFailure> {
        let elapsed = now.duration_since(start);
        match (&mut self.pace, self.crew) {
            // What they have asked is waited for still.
            (_, Crew::Probes) if self.phases.is_over() => Ok(CHECK),
            (Some(pace), _) => {
                for (place, due, burst) in pace.turns(elapsed) {
                    let switch = &mut self.switches[place];
                    switch.allow_up_to(due, burst, &mut self.desk, &self.poll)?;
                }
                Ok(pace.wait(elapsed))
            }
            (None, Crew::SlowReaders) => {
                // Those that never read come behind these, and have nothing to do by the clock.
                let slow = |switch: &&mut LoadSwitch| switch.role() == SwitchRole::Slow;
                for switch in self.switches.iter_mut().take_while(slow) {
                    switch.trickle(now, &mut self.desk, &self.poll)?;
                }
                Ok(if self.load.slow > 0 { TRICKLE } else { CHECK })
            }
            (None, Crew::Load | Crew::Probes) => Ok(CHECK),
        }
    }

    fn enter(&mut self, stage: LoadStage) -> Result<(), LoadFailure> {
        for switch in &mut self.switches {
            switch.enter(stage, &mut self.desk, &self.poll)?;
        }
        Ok(())
    }

    fn check_progress(&mut self, now: Instant) -> Result<(), LoadFailure> {
        if self.crew == Crew::SlowReaders {
            return Ok(());
        }
        for switch in &mut self.switches {
            switch.check_progress(now, self.load, &mut self.desk, &self.poll)?;
        }
        Ok(())
    }

    fn mark(&self) -> MeasureMark {
        let [_, delayed, slices] = schedstat();
        MeasureMark {
            at: Instant::now(),
            answered: self.switches.iter().map(|switch| switch.counts().answered).collect(),
            demands: self.switches.iter().map(LoadSwitch::demand).collect(),
            outstanding: self.switches.iter().map(LoadSwitch::outstanding).collect(),
            waiting: self.switches.iter().map(LoadSwitch::waiting).collect(),
            forgone: self.switches.iter().map(LoadSwitch::forgone).collect(),
            cpu: thread_cpu().saturating_sub(self.looked),
            delayed: Duration::from_nanos(delayed),
            slices,
        }
    }
}

/// CPU time that this thread has used, user and system.
pub(super) fn thread_cpu() -> Duration {
    let cpu = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(cpu.tv_sec as u64, cpu.tv_nsec as u32)
}

/// The figures of this thread's `schedstat`: nanoseconds run, nanoseconds waited for a processor,
/// and how often it got one; zeros where the system keeps none.
pub(super) fn schedstat() -> [u64; 3] {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let mut figures = text.split_whitespace().map(|figure| figure.parse().unwrap_or(0));
    std::array::from_fn(|_| figures.next().unwrap_or(0))
}

/// Asks that this thread get a processor as soon as it wants one. Without the privilege it has to
/// wait like any other; [`super::Probes::processor_wait`] says how long.
fn hurry() {
    let _ = setpriority_process(None, PRIORITY_MAX);
}
