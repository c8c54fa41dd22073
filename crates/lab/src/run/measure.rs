//! One measured point: a controller on its cores, the load on the others, and what both say of it.

use super::controller_process::{self, ControllerProcess};
use super::controller_stats::ControllerCounters;
use super::cores::{self, MeasureCores};
use super::process;
use crate::plan::expand::{PlanPoint, PointSubject};
use crate::plan::{OfferedRate, PlanForm, PlanRun};
use aldis_emulator::load::{self, Load, LoadReport, Mode, Moment};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::{Duration, Instant};

/// Warm-up and measurement are loops of this length.
const LOOP: Duration = Duration::from_millis(50);

/// Loops that the load goes on for behind what is measured: memory and counters are looked at
/// meanwhile. Switches that leave take their tables with them.
const COOL_DOWN: u32 = 2;

/// How often counters are read where they are drawn over time.
pub(super) const SAMPLE_EVERY: Duration = Duration::from_millis(200);

/// How long the queues are kept full to learn what a controller can do, and how long before:
/// adaptive batching begins with ten requests and climbs for a second and more.
pub(super) const CAPACITY_LENGTH: Duration = Duration::from_millis(1500);
pub(super) const CAPACITY_WARM_UP: Duration = Duration::from_millis(1500);

/// What a point may take beyond its estimate: a machine that is busy with other things.
const SPARE: Duration = Duration::from_secs(60);

/// How often is looked whether to stop.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// What a measurement needs beside its point.
pub(super) struct MeasureBench<'a> {
    /// Our own program.
    pub(super) aldis: &'a Path,
    pub(super) run: &'a PlanRun,
    pub(super) form: &'a PlanForm,
    pub(super) seed: u64,
    /// When the plan has had its time: what runs then is ended.
    pub(super) until: Instant,
    /// Set when everything is to end.
    pub(super) stop: &'a AtomicBool,
}

/// What was measured.
pub(super) struct MeasuredPoint {
    pub(super) report: LoadReport,
    pub(super) load: Load,
    /// Counters at the beginning of the measurement and from then on, with the time since; none of
    /// other controllers.
    pub(super) counters: Vec<(Duration, ControllerCounters)>,
    /// Resident memory before the switches came and at the end of the measurement, in bytes.
    pub(super) memory: Option<[u64; 2]>,
    /// CPU time in the measurement, in nanoseconds.
    pub(super) cpu_ns: Option<u64>,
}

impl MeasureBench<'_> {
    /// Measures a point. `capacity` is what the controller serves with queues always full, in
    /// requests a second, where the point's rates are parts of it.
    ///
    /// # Errors
    /// What went wrong, without the plan and the point.
    pub(super) fn measure(
        &self,
        point: &PlanPoint,
        capacity: f64,
    ) -> Result<MeasuredPoint, String> {
        let cores = MeasureCores::divide(point.workers, point.io_threads());
        let mut running =
            ControllerProcess::start(self.aldis, point, self.run.poll, &cores.controller)?;
        let load = self.load(point, capacity, &running, &cores);
        self.under(load, &mut running, &cores, self.samples())
    }

    /// What the controller of a point serves with queues always full, in requests a second, and
    /// whether the load was its limit.
    ///
    /// # Errors
    /// Those of [`MeasureBench::measure`].
    pub(super) fn capacity(&self, point: &PlanPoint) -> Result<(f64, bool), String> {
        let cores = MeasureCores::divide(point.workers, point.io_threads());
        let full = point.at_full();
        let mut running =
            ControllerProcess::start(self.aldis, &full, self.run.poll, &cores.controller)?;
        let load = Load {
            probes: 0,
            mode: Mode::Full,
            loops: loops(CAPACITY_LENGTH),
            warm_up: loops(CAPACITY_WARM_UP),
            ..self.load(&full, 0.0, &running, &cores)
        };
        let measured = self.under(load, &mut running, &cores, Samples::None)?;
        let capacity = throughput(&measured.report);
        match capacity > 0.0 {
            true => Ok((capacity, measured.report.is_generator_limited())),
            false => Err("it answered nothing while its capacity was measured".into()),
        }
    }

    /// Puts a controller under a load and watches both.
    fn under(
        &self,
        load: Load,
        running: &mut ControllerProcess,
        cores: &MeasureCores,
        samples: Samples,
    ) -> Result<MeasuredPoint, String> {
        let pid = running.pid();
        let begun = Instant::now();
        let deadline = (begun + seconds_of(&load) + SPARE).min(self.until);
        let (phase, over, late) =
            (AtomicU8::new(0), AtomicBool::new(false), AtomicBool::new(false));
        let before = process::memory(pid);
        let watch =
            ControllerWatch { pid, stats: running.stats.as_deref(), phase: &phase, over: &over };
        let (report, watched) = std::thread::scope(|scope| {
            let guard = scope.spawn(|| {
                while !over.load(Ordering::Acquire) {
                    if self.stop.load(Ordering::Relaxed) || Instant::now() >= deadline {
                        late.store(!self.stop.load(Ordering::Relaxed), Ordering::Relaxed);
                        // Without the controller the load ends by itself.
                        controller_process::kill(pid);
                        return;
                    }
                    std::thread::sleep(LOOK_EVERY);
                }
            });
            let watcher = scope.spawn(|| watch.run(samples));
            let report = cores::with(&cores.load, || {
                load::run_and_tell(&load, &mut |moment| match moment {
                    Moment::MeasureBegins => phase.store(1, Ordering::Release),
                    Moment::MeasureEnds => phase.store(2, Ordering::Release),
                    Moment::Connected(_) | Moment::Taught(_) | Moment::PhaseEnds(_) => {}
                })
            });
            over.store(true, Ordering::Release);
            let join = "watching does not panic";
            guard.join().expect(join);
            (report, watcher.join().expect(join))
        });
        if self.stop.load(Ordering::Relaxed) {
            return Err(STOPPED.into());
        }
        if late.load(Ordering::Relaxed) {
            let given = deadline.saturating_duration_since(begun).as_secs_f64();
            return Err(format!("it did not get through within {given:.1} s and was ended"));
        }
        let report = report.map_err(|failure| self.explain(&failure, running))?;
        let watched = watched?;
        let memory = before.zip(watched.memory).map(|(before, after)| [before, after]);
        Ok(MeasuredPoint {
            report,
            load,
            counters: watched.counters,
            memory,
            cpu_ns: watched.cpu_ns,
        })
    }

    /// A failure of the load, and what became of the controller.
    fn explain(&self, failure: &load::LoadFailure, running: &mut ControllerProcess) -> String {
        let deadline = Instant::now() + Duration::from_secs(1);
        while !running.has_ended() && Instant::now() < deadline {
            std::thread::sleep(LOOK_EVERY);
        }
        match running.has_ended() {
            true => format!("{failure}; the controller ended{}", running.end_words()),
            false => failure.to_string(),
        }
    }

    fn samples(&self) -> Samples {
        let metrics = &self.run.metrics;
        if metrics.iter().any(|metric| metric.needs_steps()) {
            Samples::OverTime
        } else if metrics.iter().any(|metric| metric.is_internal()) {
            Samples::Ends
        } else {
            Samples::None
        }
    }

    fn load(
        &self,
        point: &PlanPoint,
        capacity: f64,
        running: &ControllerProcess,
        cores: &MeasureCores,
    ) -> Load {
        let run = self.run;
        let length = Duration::from_millis(self.form.measure_ms.into());
        let rps = |rate: &OfferedRate| match rate {
            OfferedRate::Full => f64::INFINITY,
            OfferedRate::Rps(rps) => *rps,
            OfferedRate::Times(times) => (times * capacity).clamp(1.0, load::RATE_MAX),
        };
        let rate = match point.rates.as_slice() {
            [] | [OfferedRate::Full] => load::DemandRate::Unlimited,
            [rate] => load::DemandRate::Total(rps(rate)),
            steps => {
                let step = |rate| load::RateStep { rate: rps(rate), length };
                load::DemandRate::Steps(steps.iter().map(step).collect())
            }
        };
        let probes = run.probes_in(self.form);
        let foreign = matches!(point.subject, PointSubject::Foreign(_));
        Load {
            switches: point.switches,
            macs: point.macs,
            teach: !run.no_teach,
            mode: match (run.latency, run.outstanding) {
                (true, _) => Mode::Latency,
                (false, Some(window)) => Mode::Window(window),
                (false, None) => Mode::Full,
            },
            rate,
            spread: point.spread,
            seed: self.seed,
            // Another controller may have no room for one more.
            probes: if foreign && room(point) == Some(0) { 0 } else { probes },
            probe_rate: run.probe_rate,
            threads: cores.load.len().min(point.switches as usize),
            // A thread that sleeps has to be woken, at the controller's cost. Probes are sent by
            // threads that share these cores.
            poll: !cores.shared() && probes == 0 && !run.latency,
            warm_up: loops(Duration::from_millis(self.form.warm_up_ms.into())),
            loops: loops(length),
            loop_length: LOOP,
            cool_down: COOL_DOWN,
            connect_group: run.connect_group.unwrap_or(load::SWITCHES_MAX),
            connect_pause: Duration::from_millis(run.connect_pause_ms.into()),
            patience: PATIENCE,
            ..Load::new(running.address)
        }
    }
}

/// How long a switch waits for any answer: ten thousand that tell their addresses at once keep the
/// last of them waiting.
const PATIENCE: Duration = Duration::from_secs(20);

/// What an error says of a run that was told to stop.
pub(super) const STOPPED: &str = "it was told to stop";

/// How many more switches another controller serves; any number where nothing is said.
fn room(point: &PlanPoint) -> Option<u32> {
    let PointSubject::Foreign(controller) = &point.subject else { return None };
    controller.switches_max.map(|most| most.saturating_sub(point.switches))
}

/// Answers a second.
pub(super) fn throughput(report: &LoadReport) -> f64 {
    report.answered() as f64 / report.elapsed.as_secs_f64().max(1e-9)
}

fn loops(length: Duration) -> u32 {
    u32::try_from(length.as_millis().div_ceil(LOOP.as_millis())).unwrap_or(u32::MAX)
}

/// How long a load takes, about, and what it may take to connect and to tell its addresses.
fn seconds_of(load: &Load) -> Duration {
    let addresses = f64::from(load.switches) * f64::from(load.macs);
    let teach = if load.teach { addresses / 100_000.0 } else { 0.0 };
    let unmeasured = load.loop_length * (load.warm_up + load.cool_down);
    load.measured_length() + unmeasured + Duration::from_secs_f64(teach)
}

/// How often counters are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Samples {
    None,
    Ends,
    OverTime,
}

/// Looks at the controller while it is measured.
struct ControllerWatch<'a> {
    pid: rustix::process::Pid,
    stats: Option<&'a Path>,
    /// 0 before, 1 in and 2 behind the measurement.
    phase: &'a AtomicU8,
    over: &'a AtomicBool,
}

#[derive(Default)]
struct WatchedFigures {
    counters: Vec<(Duration, ControllerCounters)>,
    memory: Option<u64>,
    cpu_ns: Option<u64>,
}

impl ControllerWatch<'_> {
    fn run(&self, samples: Samples) -> Result<WatchedFigures, String> {
        let mut watched = WatchedFigures::default();
        if !self.wait_for(1, None) {
            return Ok(watched);
        }
        let (begun, cpu) = (Instant::now(), process::cpu_ns(self.pid));
        if samples != Samples::None {
            self.sample(begun, &mut watched)?;
        }
        let mut next = begun + SAMPLE_EVERY;
        while samples == Samples::OverTime && !self.wait_for(2, Some(next)) {
            if self.over.load(Ordering::Acquire) {
                return Ok(watched);
            }
            self.sample(begun, &mut watched)?;
            next = (next + SAMPLE_EVERY).max(Instant::now());
        }
        if !self.wait_for(2, None) {
            return Ok(watched);
        }
        let used = process::cpu_ns(self.pid).zip(cpu);
        watched.cpu_ns = used.map(|(after, before)| after.saturating_sub(before));
        watched.memory = process::memory(self.pid);
        if samples != Samples::None {
            self.sample(begun, &mut watched)?;
        }
        Ok(watched)
    }

    fn sample(&self, begun: Instant, watched: &mut WatchedFigures) -> Result<(), String> {
        let Some(stats) = self.stats else { return Ok(()) };
        let before = watched.counters.last().map(|(_, before)| before.clone()).unwrap_or_default();
        let at = begun.elapsed();
        controller_process::ask_for_counters(self.pid);
        match ControllerCounters::after(stats, &before) {
            Ok(counters) => watched.counters.push((at, counters)),
            // A controller that is gone writes nothing; the load says so better.
            Err(_) if self.over.load(Ordering::Acquire) => {}
            Err(why) => return Err(why),
        }
        Ok(())
    }

    /// Waits for a phase, until a moment; whether it has come.
    fn wait_for(&self, phase: u8, until: Option<Instant>) -> bool {
        while self.phase.load(Ordering::Acquire) < phase {
            let late = until.is_some_and(|until| Instant::now() >= until);
            if late || self.over.load(Ordering::Acquire) {
                return self.phase.load(Ordering::Acquire) >= phase;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        true
    }
}
