//! What a run measured.

use super::Load;
use super::answer::AnswerForm;
use super::fairness::{Fairness, Sharing};
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The longest delay told apart from longer ones, in nanoseconds: ten minutes.
const DELAY_NS_MAX: u64 = 600_000_000_000;

/// How often each delay was seen, in nanoseconds, to three digits.
pub type Delays = Histogram<u64>;

/// Requests by what became of them, since the run's start, warm-up included, teaching excluded.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct RequestCounts {
    /// Sent.
    pub offered: u64,
    /// Answered; each at most once.
    pub answered: u64,
    /// Of those, the ones whose answer came when they had been given up already: many later ones
    /// had overtaken them.
    #[serde(default)]
    pub late: u64,
    /// Given up, and not answered since: overtaken by many later ones, or unanswered for too long
    /// ([`super::Load::patience`]).
    pub lost: u64,
    /// FLOW_MODs and PACKET_OUTs that answered nothing: second answers, a controller's own.
    pub strays: u64,
}

impl std::ops::AddAssign for RequestCounts {
    fn add_assign(&mut self, other: RequestCounts) {
        self.offered += other.offered;
        self.answered += other.answered;
        self.late += other.late;
        self.lost += other.lost;
        self.strays += other.strays;
    }
}

/// Answered requests by what the answer named them by, since the run's start, warm-up included,
/// teaching excluded.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Forms {
    /// The buffer id of a FLOW_MOD or PACKET_OUT.
    pub buffer_id: u64,
    /// The frame that a PACKET_OUT carries.
    pub frame: u64,
    /// The source address that a FLOW_MOD matches on.
    pub matched: u64,
    /// The xid.
    pub xid: u64,
}

impl Forms {
    pub(super) fn unbuffered(&self) -> u64 {
        self.frame + self.matched + self.xid
    }

    pub(super) fn count(&mut self, form: AnswerForm) {
        *match form {
            AnswerForm::Frame => &mut self.frame,
            AnswerForm::Match => &mut self.matched,
            AnswerForm::Xid => &mut self.xid,
        } += 1;
    }
}

impl std::ops::AddAssign for Forms {
    fn add_assign(&mut self, other: Forms) {
        self.buffer_id += other.buffer_id;
        self.frame += other.frame;
        self.matched += other.matched;
        self.xid += other.xid;
    }
}

/// The figures of a run. Unless they say otherwise they cover the measured loops only, and only the
/// switches that count ([`super::Load::switches_that_count`]).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LoadReport {
    /// From the first connection to the last handshake's end, of all switches.
    pub connected_in: Duration,
    /// Answers a second in each measured loop, in order.
    pub loops: Vec<f64>,
    /// Answers in all measured loops, by switch; switch 1 is the first.
    pub per_switch: Vec<u64>,
    /// The whole run's counts.
    pub counts: RequestCounts,
    /// By what the answers among them named their requests.
    pub forms: Forms,
    /// Delays in nanoseconds, from just before the write that carried a request to the read that
    /// brought its answer: of every request in latency mode, otherwise of one in 64 at most; those
    /// of the normal switches.
    #[serde(with = "histogram")]
    pub delay: Delays,
    /// How long was measured.
    pub elapsed: Duration,
    /// The phases: one for each step of the rate, or only one. Fewer when the run ended before.
    pub phases: Vec<ReportPhase>,
    /// What the probing switches saw.
    pub probes: Probes,
    /// The ports of switch 1 where one of them is hot, port 1 first.
    pub ports: Vec<PortCounts>,
    /// What became of the switches that read slowly.
    pub slow: SlowReaders,
    /// What became of those that never read.
    pub dead: SlowReaders,
    /// CPU time that the generator's threads used, user and system, those beside the load excluded.
    pub generator_cpu: Duration,
    /// The share of time, 0 to 1, in which the busiest of these threads had nothing to do: it
    /// neither ran nor waited for a processor.
    pub idle: f64,
}

/// A part of the measured time with one rate.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ReportPhase {
    /// The rate of all switches together, those that storm excluded, where there is one.
    pub rate: Option<f64>,
    /// How long it was.
    pub elapsed: Duration,
    /// Requests that were due and not answered when it began, by switch.
    #[serde(with = "demands")]
    pub waiting: Vec<f64>,
    /// Its loops, in order.
    pub laps: Vec<Lap>,
    /// The share of it, 0 to 1, in which the busiest thread of the generator had nothing to do, as
    /// in [`LoadReport::idle`].
    pub idle: f64,
    /// Delays, as in [`LoadReport::delay`].
    #[serde(with = "histogram")]
    pub delay: Delays,
    /// Delays, as in [`Probes::delay`].
    #[serde(with = "histogram")]
    pub probe_delay: Delays,
}

/// What one loop brought, by switch. Shares are reckoned loop by loop: how much there is to share
/// changes with time.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize)]
pub struct Lap {
    /// Answers.
    pub answered: Vec<u64>,
    /// Requests that became due by the rate: infinite where there is none.
    #[serde(with = "demands")]
    pub due: Vec<f64>,
    /// Requests of which more could not wait at its end: what becomes due beyond that is not
    /// offered any more. Infinite where there is no rate.
    #[serde(with = "demands")]
    pub rooms: Vec<f64>,
}

/// What probing switches saw.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Probes {
    /// The whole run's counts.
    pub counts: RequestCounts,
    /// Delays of every request in nanoseconds, from just before its write to the read that brought
    /// its answer.
    #[serde(with = "histogram")]
    pub delay: Delays,
    /// How long on average the probing thread waited for a processor before it could look at its
    /// clock: what the delays have of the generator's own machine.
    pub processor_wait: Duration,
}

/// Requests of one port since the run's start, warm-up included, teaching excluded.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct PortCounts {
    /// Sent.
    pub offered: u64,
    /// Answered.
    pub answered: u64,
}

/// What became of switches that read badly, since offering began.
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
pub struct SlowReaders {
    /// The whole run's counts; of those that never read only what they offered.
    pub counts: RequestCounts,
    /// How long each lasted that the controller disconnected.
    pub evicted_after: Vec<Duration>,
}

/// The least part of the time that a generator has to be idle, or it was the limit and not the
/// controller.
pub const IDLE_MIN: f64 = 0.05;

/// How one switch was served.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Served {
    /// Its datapath id.
    pub dpid: u32,
    /// How much it counts.
    pub weight: f64,
    /// Requests that became due by the rate; infinite where there is none.
    pub demand: f64,
    /// Answers.
    pub answered: u64,
    /// Its weighted max-min share of all answers, reckoned loop by loop.
    pub share: f64,
}

impl Served {
    /// (answered − share) ÷ share; none for one that has no share.
    pub fn deviation(&self) -> Option<f64> {
        (self.share > 0.0).then(|| (self.answered as f64 - self.share) / self.share)
    }
}

impl LoadReport {
    /// Whether the generator was the limit: it was idle for less than [`IDLE_MIN`] of the time, or
    /// of one phase's, which the others must not hide. What was measured then says little about the
    /// controller and meets no goal.
    pub fn is_generator_limited(&self) -> bool {
        self.idle < IDLE_MIN || self.phases.iter().any(ReportPhase::is_generator_limited)
    }

    /// Whether anything was measured.
    pub fn is_empty(&self) -> bool {
        self.elapsed.is_zero()
    }

    /// How each switch that counts was served in all measured loops together, switch 1 first.
    pub fn served(&self, load: &Load) -> Vec<Served> {
        let shares = shares(load, &self.phases, self.per_switch.len());
        let mut demands = vec![0.0; self.per_switch.len()];
        self.phases.iter().for_each(|phase| add(&mut demands, &phase.demands()));
        let switches = (1..).zip(demands).zip(shares.iter().zip(&self.per_switch));
        let served = |((number, demand), (&share, &answered)): ((u32, f64), (&f64, &u64))| Served {
            dpid: load.dpid(number),
            weight: load.weight(number),
            demand,
            answered,
            share,
        };
        switches.map(served).collect()
    }

    /// Answers in all measured loops.
    pub fn answered(&self) -> u64 {
        self.per_switch.iter().sum()
    }

    /// How fairly all measured loops together were divided.
    pub fn fairness(&self, load: &Load) -> Fairness {
        Fairness::new(&shares(load, &self.phases, self.per_switch.len()), &self.per_switch)
    }

    /// Of a load of which nothing has been measured.
    pub fn empty(load: &Load) -> LoadReport {
        LoadReport {
            connected_in: Duration::ZERO,
            loops: Vec::new(),
            per_switch: vec![0; load.switches_that_count() as usize],
            counts: RequestCounts::default(),
            forms: Forms::default(),
            delay: delays(),
            elapsed: Duration::ZERO,
            phases: Vec::new(),
            probes: Probes {
                counts: RequestCounts::default(),
                delay: delays(),
                processor_wait: Duration::ZERO,
            },
            ports: Vec::new(),
            slow: SlowReaders::default(),
            dead: SlowReaders::default(),
            generator_cpu: Duration::ZERO,
            idle: 1.0,
        }
    }

    /// Ends a phase.
    pub(super) fn push(&mut self, phase: ReportPhase) {
        add(&mut self.per_switch, &phase.per_switch());
        add_delays(&mut self.delay, &phase.delay);
        add_delays(&mut self.probes.delay, &phase.probe_delay);
        self.elapsed += phase.elapsed;
        self.phases.push(phase);
    }

    /// Adds what another thread or part measured over other switches in the same loops.
    pub fn merge(&mut self, other: LoadReport) {
        self.loops.resize(self.loops.len().max(other.loops.len()), 0.0);
        self.loops.iter_mut().zip(&other.loops).for_each(|(mine, theirs)| *mine += theirs);
        add(&mut self.per_switch, &other.per_switch);
        self.counts += other.counts;
        self.forms += other.forms;
        add_delays(&mut self.delay, &other.delay);
        self.elapsed = self.elapsed.max(other.elapsed);
        self.probes.counts += other.probes.counts;
        self.probes.processor_wait = self.probes.processor_wait.max(other.probes.processor_wait);
        add_delays(&mut self.probes.delay, &other.probes.delay);
        self.ports.extend(other.ports);
        self.slow.merge(other.slow);
        self.dead.merge(other.dead);
        self.generator_cpu += other.generator_cpu;
        self.idle = self.idle.min(other.idle);
        let mut phases = other.phases.into_iter();
        self.phases.iter_mut().zip(&mut phases).for_each(|(mine, theirs)| mine.merge(&theirs));
        self.phases.extend(phases);
    }
}

impl ReportPhase {
    /// Before anything has been measured in it, at `rate` requests a second, if there is one.
    pub fn empty(load: &Load, rate: Option<f64>) -> ReportPhase {
        let switches = load.switches_that_count() as usize;
        ReportPhase {
            rate,
            elapsed: Duration::ZERO,
            waiting: vec![0.0; switches],
            laps: Vec::new(),
            idle: 1.0,
            delay: few_delays(),
            probe_delay: few_delays(),
        }
    }

    /// Whether the generator was the limit in it: it was idle for less than [`IDLE_MIN`] of its
    /// time.
    pub fn is_generator_limited(&self) -> bool {
        self.idle < IDLE_MIN
    }

    /// Answers by switch.
    pub fn per_switch(&self) -> Vec<u64> {
        let mut sums = vec![0; self.waiting.len()];
        self.laps.iter().for_each(|lap| add(&mut sums, &lap.answered));
        sums
    }

    /// Requests that became due by the rate, by switch: infinite where there is none.
    pub fn demands(&self) -> Vec<f64> {
        let mut sums = vec![0.0; self.waiting.len()];
        self.laps.iter().for_each(|lap| add(&mut sums, &lap.due));
        sums
    }

    /// Answers in it.
    pub fn answered(&self) -> u64 {
        self.laps.iter().flat_map(|lap| &lap.answered).sum()
    }

    /// How fairly it was divided.
    pub fn fairness(&self, load: &Load) -> Fairness {
        let shares = shares(load, std::slice::from_ref(self), self.waiting.len());
        Fairness::new(&shares, &self.per_switch())
    }

    fn merge(&mut self, other: &ReportPhase) {
        self.elapsed = self.elapsed.max(other.elapsed);
        self.idle = self.idle.min(other.idle);
        add(&mut self.waiting, &other.waiting);
        self.laps.resize(self.laps.len().max(other.laps.len()), Lap::empty(self.waiting.len()));
        for (mine, theirs) in self.laps.iter_mut().zip(&other.laps) {
            add(&mut mine.answered, &theirs.answered);
            add(&mut mine.due, &theirs.due);
            add(&mut mine.rooms, &theirs.rooms);
        }
        add_delays(&mut self.delay, &other.delay);
        add_delays(&mut self.probe_delay, &other.probe_delay);
    }
}

impl SlowReaders {
    fn merge(&mut self, other: SlowReaders) {
        self.counts += other.counts;
        self.evicted_after.extend(other.evicted_after);
    }
}

impl Lap {
    pub(super) fn empty(switches: usize) -> Lap {
        Lap { answered: vec![0; switches], due: vec![0.0; switches], rooms: vec![0.0; switches] }
    }
}

/// The weighted max-min shares of all answers in these phases, which follow each other.
fn shares(load: &Load, phases: &[ReportPhase], switches: usize) -> Vec<f64> {
    let weights = (1..).take(switches).map(|number| load.weight(number));
    let waiting = phases.first().map_or_else(|| vec![0.0; switches], |phase| phase.waiting.clone());
    let mut sharing = Sharing::new(weights, &waiting);
    for lap in phases.iter().flat_map(|phase| &phase.laps) {
        sharing.share(&lap.due, lap.answered.iter().sum::<u64>() as f64, &lap.rooms);
    }
    sharing.shares().to_vec()
}

fn add<T: Copy + std::ops::AddAssign>(mine: &mut [T], theirs: &[T]) {
    mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine += *theirs);
}

/// Mine have the same bounds or grow, so that there is nothing to fail.
pub(crate) fn add_delays(mine: &mut Delays, theirs: &Delays) {
    let _ = mine.add(theirs);
}

/// An empty histogram of delays, to three digits.
pub(crate) fn delays() -> Delays {
    Histogram::new_with_bounds(1, DELAY_NS_MAX, 3)
        .expect("one to ten minutes at three digits are bounds")
}

/// The same, small until it is filled: there may be many phases.
fn few_delays() -> Delays {
    Histogram::new(3).expect("three digits are as many as there may be")
}

/// Delays as pairs: the highest that counts as the same, and how often it was seen.
pub(crate) mod histogram {
    use super::{Delays, few_delays};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(delays: &Delays, to: S) -> Result<S::Ok, S::Error> {
        let pairs =
            delays.iter_recorded().map(|seen| (seen.value_iterated_to(), seen.count_at_value()));
        pairs.collect::<Vec<(u64, u64)>>().serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Delays, D::Error> {
        let mut delays = few_delays();
        for (value, count) in Vec::<(u64, u64)>::deserialize(from)? {
            // It grows as it has to.
            let _ = delays.record_n(value, count);
        }
        Ok(delays)
    }
}

/// Demands, of which those without an end have no number in JSON.
mod demands {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(demands: &[f64], to: S) -> Result<S::Ok, S::Error> {
        let finite = demands.iter().map(|demand| demand.is_finite().then_some(*demand));
        finite.collect::<Vec<Option<f64>>>().serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<f64>, D::Error> {
        let demands = Vec::<Option<f64>>::deserialize(from)?;
        Ok(demands.into_iter().map(|demand| demand.unwrap_or(f64::INFINITY)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generator_that_is_hardly_idle_was_the_limit() {
        let load = Load::new(([127, 0, 0, 1], 1).into());
        let limited = |idle| LoadReport { idle, ..LoadReport::empty(&load) }.is_generator_limited();
        assert_eq!([0.0, 0.049, 0.05, 1.0].map(limited), [true, true, false, false]);
    }

    #[test]
    fn the_busiest_part_decides_whether_the_generator_was_the_limit() {
        let load = Load::new(([127, 0, 0, 1], 1).into());
        let mut report = LoadReport { idle: 0.5, ..LoadReport::empty(&load) };
        report.merge(LoadReport { idle: 0.049, ..LoadReport::empty(&load) });
        report.merge(LoadReport { idle: 0.9, ..LoadReport::empty(&load) });
        assert!(report.is_generator_limited());
    }

    #[test]
    fn a_phase_in_which_the_generator_was_the_limit_is_not_hidden_by_the_others() {
        let load = Load::new(([127, 0, 0, 1], 1).into());
        let phase = |idle| ReportPhase { idle, ..ReportPhase::empty(&load, None) };
        let of = |phases: [ReportPhase; 2]| LoadReport {
            idle: 0.5,
            phases: phases.into(),
            ..LoadReport::empty(&load)
        };
        let mut report = of([phase(0.05), phase(0.95)]);
        assert!(!report.is_generator_limited());
        // Another thread, which was busier in the second.
        report.merge(of([phase(0.9), phase(0.049)]));
        let limited: Vec<_> = report.phases.iter().map(ReportPhase::is_generator_limited).collect();
        assert_eq!((limited, report.is_generator_limited()), (vec![false, true], true));
    }
}
