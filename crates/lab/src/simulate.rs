//! Designs over workers, simulated: throughput, fairness and the delay of a probing switch, on
//! cores that need not exist.
//!
//! A thin plan around [`aldis_engine::sim`]: the same switches for every design and number of
//! workers, one row each. The application is a canned answer; what the learning switch costs is in
//! the costs.

pub mod check;

use std::time::Duration;

use aldis_control::AppSet;
use aldis_engine::Design;
use aldis_engine::sim::{
    self, Offer, SimOutcome, SimPlan, SimPlanError, SimResponder, SimulatedSwitch,
};
use serde::Serialize;

use crate::calibrate;

/// Emulators of scenario 1, and how far from the mean one of them may be (Maestro's figure 6).
const EMULATORS: usize = 4;
const EMULATOR_BIAS: f64 = 0.1;

/// What is simulated.
#[derive(Clone, PartialEq, Debug)]
pub struct SimulatedExperiment {
    /// The designs.
    pub designs: Vec<Design>,
    /// The numbers of workers.
    pub workers: Vec<usize>,
    /// Switches beside the probing one.
    pub switches: usize,
    /// What they offer.
    pub load: SimulatedLoad,
    /// Requests a second of the probing switch, at moments of chance.
    pub probe_rate: f64,
    /// How long is measured, of simulated time; a quarter as long is warm-up.
    pub length: Duration,
    /// What all chance follows from.
    pub seed: u64,
    /// What things cost.
    pub costs: sim::Costs,
}

/// What the switches offer.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum SimulatedLoad {
    /// Queues that are always full.
    Full,
    /// So many requests a second, of all together, at moments of chance: nearly uniform (Maestro's
    /// scenario 1).
    NearUniform(f64),
    /// The same, the switch of rank r in proportion to 1/r (scenarios 2 to 4).
    Skewed(f64),
}

/// What came of one design with one number of workers.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SimulatedRow {
    /// The design.
    pub design: &'static str,
    /// Workers; I/O threads, where the design has them, come on top.
    pub workers: usize,
    /// Answers a second.
    pub throughput_rps: f64,
    /// The largest fairness deviation of a switch, without its sign; the probing one does not
    /// count.
    pub deviation_max: f64,
    /// The probing switch's delay in microseconds: median, 99th percentile, mean.
    pub probe_us_p50: f64,
    /// 99th percentile of the probes' delay, µs.
    pub probe_us_p99: f64,
    /// Mean of the probes' delay, µs.
    pub probe_us_mean: f64,
}

/// Simulates everything, in order, and hands each row to `row` as soon as it is there.
///
/// # Errors
/// What cannot be simulated.
pub fn run(
    experiment: &SimulatedExperiment,
    mut row: impl FnMut(SimulatedRow),
) -> Result<(), SimPlanError> {
    let app_set = AppSet::default().with(SimResponder::default);
    let plans = experiment.plans();
    plans.iter().try_for_each(SimPlan::check)?;
    for plan in &plans {
        row(SimulatedRow::new(plan, sim::run(plan, &app_set)?));
    }
    Ok(())
}

impl SimulatedExperiment {
    fn plans(&self) -> Vec<SimPlan> {
        let mut switches: Vec<SimulatedSwitch> =
            self.offers().into_iter().map(SimulatedSwitch::new).collect();
        switches.push(SimulatedSwitch::new(Offer::Poisson(self.probe_rate)));
        let of = |design: Design, workers| SimPlan {
            warm_up: self.length / 4,
            duration: self.length,
            seed: self.seed,
            costs: self.costs,
            ..SimPlan::new(design, workers, switches.clone())
        };
        let designs = self.designs.iter();
        designs
            .flat_map(|design| self.workers.iter().map(|workers| of(*design, *workers)))
            .collect()
    }

    fn offers(&self) -> Vec<Offer> {
        let (count, mut rng) = (self.switches, PhaseDraws(self.seed));
        let divide = |total: f64, parts: Vec<f64>| {
            let sum: f64 = parts.iter().sum();
            parts.into_iter().map(|part| Offer::Poisson(total * part / sum)).collect()
        };
        match self.load {
            SimulatedLoad::Full => vec![Offer::Full; count],
            SimulatedLoad::NearUniform(total) => {
                let bias = |_| 1.0 + EMULATOR_BIAS * (2.0 * rng.unit() - 1.0);
                let speeds: [f64; EMULATORS] = std::array::from_fn(bias);
                divide(total, (0..count).map(|index| speeds[index % EMULATORS]).collect())
            }
            SimulatedLoad::Skewed(total) => {
                let mut parts: Vec<f64> = (1..=count).map(|rank| 1.0 / rank as f64).collect();
                for index in (1..count).rev() {
                    parts.swap(index, (rng.unit() * (index + 1) as f64) as usize);
                }
                divide(total, parts)
            }
        }
    }
}

impl SimulatedRow {
    fn new(plan: &SimPlan, mut outcome: SimOutcome) -> SimulatedRow {
        let probe = outcome.switches.pop().map(|probe| probe.delay_ns).unwrap_or_default();
        let us = |ns: u64| ns as f64 / 1000.0;
        SimulatedRow {
            design: plan.design.name,
            workers: plan.workers,
            throughput_rps: outcome.throughput(),
            deviation_max: outcome.deviation_max(),
            probe_us_p50: us(probe.quantile(500)),
            probe_us_p99: us(probe.quantile(990)),
            probe_us_mean: us(probe.sum()) / probe.count().max(1) as f64,
        }
    }
}

/// The costs of a calibration, as a simulation takes them. What needs two cores is the default
/// where there was one.
pub fn costs(measured: &calibrate::StepCosts) -> sim::Costs {
    let usual = sim::Costs::default();
    sim::Costs {
        poll_ns: measured.poll_ns,
        poll_event_ns: measured.poll_event_ns,
        read_ns: measured.read_ns,
        read_byte_ps: measured.read_byte_ps,
        empty_read_ns: measured.empty_read_ns,
        write_ns: measured.write_ns,
        write_byte_ps: measured.write_byte_ps,
        full_read_ns: measured.full_read_ns,
        full_read_byte_ps: measured.full_read_byte_ps,
        full_write_ns: measured.full_write_ns,
        full_write_byte_ps: measured.full_write_byte_ps,
        joined_ns: measured.joined_ns,
        wake_ns: measured.wake_ns,
        ring_ns: measured.ring_ns,
        batch_ns: measured.batch_ns,
        gather_ns: measured.gather_ns,
        request_ns: measured.request_ns,
        visit_ns: measured.visit_ns.unwrap_or(usual.visit_ns),
        finish_pct: measured.finish_pct.unwrap_or(usual.finish_pct),
        run_ns: measured.run_ns.unwrap_or(usual.run_ns),
        send_ns: measured.send_ns.unwrap_or(usual.send_ns),
        crowd_read_ns: measured.crowd_read_ns.unwrap_or(0.0),
        crowd_read_byte_ps: measured.crowd_read_byte_ps.unwrap_or(0.0),
        crowd_write_ns: measured.crowd_write_ns.unwrap_or(0.0),
        crowd_write_byte_ps: measured.crowd_write_byte_ps.unwrap_or(0.0),
        crowd_batch_ns: measured.crowd_batch_ns.unwrap_or(0.0),
        crowd_request_ns: measured.crowd_request_ns.unwrap_or(0.0),
        line_transfer_ns: measured.line_transfer_ns.unwrap_or(usual.line_transfer_ns),
        moved_visit_ns: measured.moved_visit_ns.unwrap_or(usual.moved_visit_ns),
        hand_ns: measured.hand_ns.unwrap_or(usual.hand_ns),
        handed_visit_ns: measured.handed_visit_ns.unwrap_or(usual.handed_visit_ns),
        handed_byte_ps: measured.handed_byte_ps.unwrap_or(usual.handed_byte_ps),
        pull_ns: measured.pull_ns.unwrap_or(usual.pull_ns),
        pulled_visit_ns: measured.pulled_visit_ns.unwrap_or(usual.pulled_visit_ns),
        pulled_byte_ps: measured.pulled_byte_ps.unwrap_or(usual.pulled_byte_ps),
        cas_ns: measured.cas_ns,
        moved_request_ns: 0.0,
        round_trip_ns: measured.round_trip_ns,
        waver_pct: measured.waver_pct,
        uneven_pct: 0.0,
        away_pct: measured.away_pct,
        away_ns: measured.away_ns,
    }
}

/// SplitMix64 (Steele, Lea and Flood, 2014).
struct PhaseDraws(u64);

impl PhaseDraws {
    /// 0 to 1, 1 excluded.
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn experiment(load: SimulatedLoad) -> SimulatedExperiment {
        SimulatedExperiment {
            designs: vec![Design::default(), "maestro-static-partition".parse().unwrap()],
            workers: vec![1, 2],
            switches: 8,
            load,
            probe_rate: 2_000.0,
            length: Duration::from_millis(40),
            seed: 1,
            costs: sim::Costs { request_ns: 2_000.0, ..sim::Costs::default() },
        }
    }

    fn rows(experiment: &SimulatedExperiment) -> Vec<SimulatedRow> {
        let mut rows = Vec::new();
        run(experiment, |row| rows.push(row)).unwrap();
        rows
    }

    #[test]
    fn there_is_a_row_for_each_design_and_number_of_workers() {
        let rows = rows(&experiment(SimulatedLoad::Full));
        let seen: Vec<_> = rows.iter().map(|row| (row.design, row.workers)).collect();
        let [fair, fixed] = ["fair-rounds", "maestro-static-partition"];
        assert_eq!(seen, [(fair, 1), (fair, 2), (fixed, 1), (fixed, 2)]);
        assert!(rows[1].throughput_rps > 1.8 * rows[0].throughput_rps, "{rows:?}");
        assert!(
            rows.iter().all(|row| row.probe_us_p50 > 0.0 && row.probe_us_p99 >= row.probe_us_p50)
        );
        // A new switch comes before those that never stop; in a static partition it waits for all
        // of them.
        assert!(rows[0].probe_us_p50 < 0.5 * rows[2].probe_us_p50, "{rows:?}");
    }

    #[test]
    fn what_is_offered_below_the_capacity_is_answered() {
        for load in [SimulatedLoad::NearUniform(1e5), SimulatedLoad::Skewed(1e5)] {
            for row in rows(&experiment(load)) {
                assert!((row.throughput_rps / 1e5 - 1.0).abs() < 0.06, "{load:?}: {row:?}");
            }
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused_before_anything_runs() {
        let none = SimulatedExperiment { workers: vec![1, 0], ..experiment(SimulatedLoad::Full) };
        assert_eq!(run(&none, |row| panic!("{row:?}")), Err(SimPlanError::Workers(0)));
    }
}
