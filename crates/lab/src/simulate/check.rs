//! How well a simulation predicts several workers: each design simulated, and run by real workers
//! on cores of their own.
//!
//! Switches and sockets are in memory ([`aldis_engine::sim::in_memory`]), so that the load takes no
//! core: two real workers have both cores of a small machine, and their rates can be compared.
//! Nothing of these runs goes into the costs. Those come from workers that share nothing, measured
//! before each round of runs, and from bare loops and what moves between two cores, measured before
//! and after each run: of moved visits by workers of round robin, with other batches and over half
//! of the switches. Each run is simulated with what was measured around it: where cores are near
//! each other and far apart by turns, the mean of the rates is not the rate at the mean of the
//! costs. A thread that only reads counts as one of the workers: a design with a queue has one of
//! them here.

use std::fs;
use std::io;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use aldis_control::AppSet;
use aldis_engine::design::Read;
use aldis_engine::sim::{self, Costs, Offer, SimOutcome, SimPlan, SimResponder, SimulatedSwitch};
use aldis_engine::{Design, pin};

use crate::calibrate::own;
use crate::calibrate::shared::SharedCosts;
use crate::run::check::{Checked, CheckedRun};

pub use crate::calibrate::shared::MemoryLoad;

/// How much longer a run goes on before it is measured: adaptive batching climbs.
const WARM_UP: u32 = 2;

/// Runs of real workers, and what was measured between them.
#[derive(Debug)]
pub struct SharedCheck<'a> {
    load: MemoryLoad,
    designs: Vec<Design>,
    cores: Vec<usize>,
    /// How long a run is measured.
    length: Duration,
    /// Around each run of a design.
    costs: Vec<Vec<Costs>>,
    runs: Vec<Vec<CheckedRun>>,
    stop: &'a AtomicBool,
}

impl<'a> SharedCheck<'a> {
    /// Of these designs, with a worker on each core of this machine.
    ///
    /// # Errors
    /// A sentence: there is one core only.
    pub fn new(
        load: MemoryLoad,
        designs: &[Design],
        length: Duration,
        stop: &'a AtomicBool,
    ) -> Result<SharedCheck<'a>, String> {
        let cores = pin::cores();
        if cores.len() < 2 {
            return Err("two cores are needed, and this machine has one".into());
        }
        let designs: Vec<Design> = designs.iter().copied().map(with_one_reader).collect();
        let (costs, runs) = (vec![Vec::new(); designs.len()], vec![Vec::new(); designs.len()]);
        Ok(SharedCheck { load, designs, cores, length, costs, runs, stop })
    }

    /// How many threads each design has.
    pub fn threads(&self) -> usize {
        self.cores.len()
    }

    /// Measures the costs, and runs each design, another one first each time; `progress` is told
    /// what comes now.
    ///
    /// # Errors
    /// A sentence: what failed, or that it was told to stop.
    pub fn round(&mut self, progress: &mut dyn FnMut(&str)) -> Result<(), String> {
        let first = self.runs.first().map_or(0, Vec::len);
        progress("costs");
        let SharedCheck { load, ref cores, length, stop, .. } = *self;
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::Interrupted => "stopped".to_owned(),
            _ => error.to_string(),
        };
        let costs = SharedCosts::measure(load, cores, length, stop).map_err(failed)?;
        let mut before = costs;
        for place in (first..).take(self.designs.len()) {
            if self.stop.load(std::sync::atomic::Ordering::Relaxed) {
                return Err("stopped".into());
            }
            let at = place % self.designs.len();
            progress(self.designs[at].name);
            let run = self.run(self.designs[at])?;
            let after = costs.now(load, cores, length, stop).map_err(failed)?;
            self.costs[at].push(SharedCosts::costs(&[before, after]));
            self.runs[at].push(run);
            before = after;
        }
        Ok(())
    }

    /// Simulates each. At least one round has to be over.
    ///
    /// # Errors
    /// A sentence: what cannot be simulated.
    pub fn compare(mut self, progress: &mut dyn FnMut(&str)) -> Result<Vec<Checked>, String> {
        let mut checked = Vec::with_capacity(self.designs.len());
        for at in 0..self.designs.len() {
            let (design, costs) = (self.designs[at], &self.costs[at]);
            progress(&format!("{}, simulated", design.name));
            let simulated: Result<Vec<SimOutcome>, String> =
                (1..).zip(costs).map(|(seed, costs)| self.simulate(design, *costs, seed)).collect();
            checked.push(Checked::new(design.name.into(), &mut self.runs[at], &simulated?));
        }
        Ok(checked)
    }

    fn workers(&self, design: &Design) -> usize {
        match design.read {
            Read::SharedQueue { io_threads, .. } => (self.cores.len() - io_threads).max(1),
            _ => self.cores.len(),
        }
    }

    fn run(&self, design: Design) -> Result<CheckedRun, String> {
        let running = own::start(design, self.workers(&design), self.load, &self.cores)?;
        thread::sleep(self.length * WARM_UP);
        let look = || (Instant::now(), running.answered().collect::<Vec<u64>>());
        let ((begun, before), used) = (look(), ThreadTimes::now());
        thread::sleep(self.length);
        let ((ended, after), using) = (look(), ThreadTimes::now());
        running.stop();
        let answered: Vec<f64> =
            before.iter().zip(&after).map(|(before, after)| (after - before) as f64).collect();
        let all: f64 = answered.iter().sum();
        // What other processes took of the cores is not the workers'.
        let taken = (using.waited - used.waited) as f64 / 1e9 / self.cores.len() as f64;
        let took = ended.duration_since(begun).as_secs_f64();
        Ok(CheckedRun {
            rps: all / (took - taken).max(took / 2.0),
            deviation: deviation(&answered),
            cpu_ns: Some((using.ran - used.ran) as f64 / all.max(1.0)),
            generator_limited: false,
        })
    }

    fn simulate(&self, design: Design, costs: Costs, seed: u64) -> Result<SimOutcome, String> {
        let switches = vec![SimulatedSwitch::new(Offer::Full); self.load.switches];
        let (warm_up, duration) = (self.length * WARM_UP, self.length);
        // Either core may be the slower one.
        let uneven_pct = if seed.is_multiple_of(2) { -costs.uneven_pct } else { costs.uneven_pct };
        let plan = SimPlan {
            warm_up,
            duration,
            seed,
            costs: Costs { uneven_pct, ..costs },
            ..SimPlan::new(design, self.workers(&design), switches)
        };
        let app_set = AppSet::default().with(SimResponder::default);
        sim::run(&plan, &app_set).map_err(|refused| refused.to_string())
    }
}

/// With one thread that only reads, where the design has several.
fn with_one_reader(design: Design) -> Design {
    match design.read {
        Read::SharedQueue { per_switch, .. } => {
            Design { read: Read::SharedQueue { io_threads: 1, per_switch }, ..design }
        }
        _ => design,
    }
}

/// The largest, without its sign, of switches whose shares are alike.
fn deviation(answered: &[f64]) -> f64 {
    let share = answered.iter().sum::<f64>() / answered.len() as f64;
    answered.iter().map(|it| (it / share - 1.0).abs()).fold(0.0, f64::max)
}

/// What the kernel counts of the workers' threads, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct ThreadTimes {
    /// On a core.
    ran: u64,
    /// Ready, while another thread had the core.
    waited: u64,
}

impl ThreadTimes {
    fn now() -> ThreadTimes {
        let mut all = ThreadTimes::default();
        for task in fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
            let read = |name| fs::read_to_string(task.path().join(name)).unwrap_or_default();
            if read("comm").starts_with("worker-") {
                let times = read("schedstat");
                let mut times = times.split_whitespace().map_while(|it| it.parse::<u64>().ok());
                all.ran += times.next().unwrap_or(0);
                all.waited += times.next().unwrap_or(0);
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deviation_is_that_of_the_farthest_switch() {
        assert_eq!(deviation(&[8.0, 8.0, 4.0, 12.0]), 0.5);
    }

    #[test]
    fn designs_are_run_simulated_and_compared() {
        let stop = AtomicBool::new(false);
        let designs = ["fair-rounds", "beacon-queue"].map(|name| name.parse().unwrap());
        let load = MemoryLoad { switches: 8, hosts: 50 };
        let Ok(mut check) = SharedCheck::new(load, &designs, Duration::from_millis(20), &stop)
        else {
            return;
        };
        let mut told = Vec::new();
        check.round(&mut |what| told.push(what.to_owned())).unwrap();
        assert_eq!(told, ["costs", "fair-rounds", "beacon-queue"]);
        let rows = check.compare(&mut |_| {}).unwrap();
        assert_eq!(rows.len(), 2);
        assert!(rows.iter().all(|row| row.measured_rps > 0.0 && row.simulated_rps > 0.0));
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        let mut stopped =
            SharedCheck::new(load, &designs, Duration::from_millis(20), &stop).unwrap();
        assert!(stopped.round(&mut |_| {}).is_err());
    }
}
