//! Leading the threads of a run through its phases, and telling what happens.

use super::Load;
use super::failure::LoadFailure;
use super::generator::Generator;
use super::phase::{PhaseBarrier, PhaseStep};
use super::report::LoadReport;
use super::sequence::SequenceRounds;
use crate::descriptors;
use std::time::{Duration, Instant};

/// Descriptors beside the switches' sockets.
const DESCRIPTORS_SPARE: u64 = 64;

/// How often [`Moment`]s that count are told, and [`Watch::is_stopped`] is asked.
pub(super) const TELL_EVERY: Duration = Duration::from_millis(200);

/// What a run tells while it runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Moment {
    /// So many switches have shaken hands.
    Connected(u32),
    /// So many switches have told where their addresses live.
    Taught(u32),
    /// The measured loops begin now.
    MeasureBegins,
    /// A phase of them ends now, the first being 0.
    PhaseEnds(usize),
    /// The measured loops ended now.
    MeasureEnds,
}

/// Where a part of a run waits for the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gate {
    /// Its switches have shaken hands; behind it they tell where their addresses live.
    Connected,
    /// They have told it; behind it they begin to offer.
    Taught,
}

/// An observer of a run, on the thread that started it.
pub trait Watch {
    /// Something has happened.
    fn tell(&mut self, _moment: Moment) {}

    /// Whether the run is to end before its time; asked several times a second.
    fn is_stopped(&mut self) -> bool {
        false
    }

    /// Waits until the other parts of the run, where there are any, are at the gate as well. The
    /// switches are served meanwhile.
    ///
    /// # Errors
    /// [`LoadFailure::Parts`]: they do not come.
    fn pass(&mut self, _gate: Gate) -> Result<(), LoadFailure> {
        Ok(())
    }
}

/// A run at its end.
#[derive(Debug)]
pub struct LoadOutcome {
    /// What was measured; empty if it failed before the first measured loop.
    pub report: LoadReport,
    /// Why it ended before its time, if it did.
    pub failure: Option<LoadFailure>,
}

/// Runs the load to its end.
///
/// # Errors
/// See [`LoadFailure`]; every switch is disconnected by then.
pub fn run(load: &Load) -> Result<LoadReport, LoadFailure> {
    run_and_tell(load, &mut |_| {})
}

/// Like [`run`]; `tell` is called on this thread as the run goes on.
///
/// # Errors
/// Those of [`run`].
pub fn run_and_tell(load: &Load, tell: &mut dyn FnMut(Moment)) -> Result<LoadReport, LoadFailure> {
    let LoadOutcome { report, failure } = measure(load, &mut Listener(tell));
    failure.map_or(Ok(report), Err)
}

struct Listener<'a>(&'a mut dyn FnMut(Moment));

impl Watch for Listener<'_> {
    fn tell(&mut self, moment: Moment) {
        (self.0)(moment);
    }
}

/// Like [`run`]; keeps what was measured when the run ends before its time. Every switch is
/// disconnected by then.
pub fn measure(load: &Load, watch: &mut dyn Watch) -> LoadOutcome {
    let failed = |failure| LoadOutcome { report: LoadReport::empty(load), failure: Some(failure) };
    match prepare(load) {
        Ok(()) => play(load, watch).unwrap_or_else(failed),
        Err(failure) => failed(failure),
    }
}

/// Whether the run can be.
pub(super) fn prepare(load: &Load) -> Result<(), LoadFailure> {
    load.check()?;
    let needed = u64::from(load.switches_here()) + DESCRIPTORS_SPARE;
    let allowed = descriptors::allow(needed)?;
    if allowed < needed {
        return Err(LoadFailure::Descriptors { needed, allowed });
    }
    Ok(())
}

fn play(load: &Load, watch: &mut dyn Watch) -> Result<LoadOutcome, LoadFailure> {
    let phases = PhaseBarrier::new(load);
    let rounds = SequenceRounds::new(load);
    std::thread::scope(|scope| {
        let spawn = |(index, (crew, numbers))| {
            let (phases, rounds) = (&phases, rounds.clone());
            let thread = std::thread::Builder::new().name(format!("load-{index}"));
            thread.spawn_scoped(scope, move || {
                let (report, failure) = match Generator::new(load, phases, rounds, crew, numbers) {
                    Ok(generator) => generator.run(),
                    Err(failure) => (LoadReport::empty(load), Some(failure)),
                };
                phases.left(crew, failure.is_some());
                (report, failure)
            })
        };
        let threads =
            load.crews().into_iter().enumerate().map(spawn).collect::<Result<Vec<_>, _>>();
        if threads.is_err() {
            phases.abort();
        }
        let mut report = LoadReport::empty(load);
        let mut coordinator = Coordinator { load, phases: &phases, watch };
        let led = coordinator.lead(&mut report);
        let mut failure = None;
        for thread in threads? {
            let outcome = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            report.merge(outcome.0);
            failure = failure.or(outcome.1);
        }
        Ok(LoadOutcome { report, failure: failure.or(led.err()) })
    })
}

/// Leads all threads through the phases.
struct Coordinator<'a> {
    load: &'a Load,
    phases: &'a PhaseBarrier,
    watch: &'a mut dyn Watch,
}

impl Coordinator<'_> {
    /// Until offering is over or a thread has failed, which is no error here.
    fn lead(&mut self, report: &mut LoadReport) -> Result<(), LoadFailure> {
        let led = self.lead_on(report);
        if led.is_err() {
            self.phases.abort();
        }
        led
    }

    fn lead_on(&mut self, report: &mut LoadReport) -> Result<(), LoadFailure> {
        let begun = Instant::now();
        let all = self.await_all(PhaseStep::Connected, Moment::Connected)?;
        report.connected_in = begun.elapsed();
        if !all {
            return Ok(());
        }
        self.watch.pass(Gate::Connected)?;
        self.pass(Instant::now() + self.load.settle)?;
        self.phases.begin(PhaseStep::Taught);
        if !self.await_all(PhaseStep::Taught, Moment::Taught)? {
            return Ok(());
        }
        self.watch.pass(Gate::Taught)?;
        let begin = self.phases.start_offering() + self.load.warm_up_length();
        if !self.pass(begin)? {
            return Ok(());
        }
        self.watch.tell(Moment::MeasureBegins);
        let mut end = begin;
        for (index, (_, length)) in self.load.phases().into_iter().enumerate() {
            end += length;
            // Threads that are through have left; their last phase has ended like those before.
            if self.pass(end)? || Instant::now() >= end {
                self.watch.tell(Moment::PhaseEnds(index));
            }
        }
        self.watch.tell(Moment::MeasureEnds);
        self.pass(end + self.load.loop_length * self.load.cool_down).map(drop)
    }

    /// Waits until every switch of this part has taken the step; whether all did.
    fn await_all(
        &mut self,
        step: PhaseStep,
        moment: fn(u32) -> Moment,
    ) -> Result<bool, LoadFailure> {
        let all = self.load.switches_here();
        loop {
            let done = self.phases.done(step);
            self.watch.tell(moment(done));
            if done == all {
                return Ok(true);
            }
            if !self.phases.await_change(step, done, TELL_EVERY) {
                return Ok(false);
            }
            self.look()?;
        }
    }

    /// Lets the time until `deadline` pass; false when the run ended before.
    fn pass(&mut self, deadline: Instant) -> Result<bool, LoadFailure> {
        loop {
            let next = deadline.min(Instant::now() + TELL_EVERY);
            if !self.phases.pass(next) {
                return Ok(false);
            }
            if next == deadline {
                return Ok(true);
            }
            self.look()?;
        }
    }

    fn look(&mut self) -> Result<(), LoadFailure> {
        if self.watch.is_stopped() { Err(LoadFailure::Stopped) } else { Ok(()) }
    }
}
