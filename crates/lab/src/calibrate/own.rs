//! What the engine itself does around a visit, a batch and a write: its claims and lists, clocks
//! and counters; and what of it costs more where another core did it last.
//!
//! Workers of static partition, which share nothing, serve switches in memory: with short reads,
//! with short reads of which many make a batch, and with a write for each answer. What they take
//! more than a bare loop (`memory.rs`), a visit, is the engine's; the three ways tell what of it
//! comes with a visit, with a batch, and with a write. No other core has a part in that.
//!
//! Workers of round robin visit each other's connections. What they take more than those of static
//! partition, with the same reads and batches, is what a visit costs whose words another core
//! changed last. A bare loop over these words does not tell it: it waits for all of them at once,
//! and a worker does not.

use std::io;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use aldis_control::batching::Ibt;
use aldis_engine::Design;
use aldis_engine::design::Batching;
use aldis_engine::limits::READ_MAX_MAESTRO;
use aldis_engine::sim::in_memory::{InMemory, MemoryPlan};

use super::cores::CorePair;
use super::memory::{self, ANSWER_LEN, MemoryVisits, REQUEST_LEN, learning_switch};
use super::rounds::{CostQuartiles, Middle, StepPace};
use super::shared::MemoryLoad;

/// How often each is measured in a sitting, and how long.
const TIMES: usize = 3;
const EACH: Duration = Duration::from_millis(30);

/// How long switches may take to connect and to tell of their hosts.
const LEARNT_WITHIN: Duration = Duration::from_secs(30);

/// Batches that one has to have seen, and how long that may take: where other processes have the
/// cores, none may end in so short a time.
const BATCHES_MIN: u64 = 8;
const SEEN_WITHIN: Duration = Duration::from_secs(10);

/// Requests that make a batch of many short visits.
const MANY: usize = 1_000;

/// Requests that make a batch of workers whose connections move, or do not.
const SOME: usize = 400;

/// How often either is measured, in turn.
const PAIRS: u32 = 2;

/// `moved_visit_ns`: what a visit takes more where another worker made the last one, the lines of
/// its socket in memory among them. Measured for `length`, over half of the switches.
pub(crate) fn moved_visit(load: MemoryLoad, cores: &[usize], length: Duration) -> io::Result<f64> {
    let batching = Batching::Fixed(Ibt::new(SOME).expect("it is a threshold"));
    let load = MemoryLoad { switches: load.switches.div_ceil(2).max(cores.len()), ..load };
    let each = length / (2 * PAIRS);
    let ns = |name| {
        let design = Design { batching, read_max: READ_MAX_MAESTRO, ..named(name) };
        Ok::<_, io::Error>(OwnVisit::of(design, load, cores, each)?.ns)
    };
    let mut more = 0.0;
    for _ in 0..PAIRS {
        more += ns("maestro-round-robin")? - ns("maestro-static-partition")?;
    }
    Ok((more / f64::from(PAIRS)).max(0.0))
}

fn named(name: &str) -> Design {
    name.parse().expect("it is a design")
}

/// `visit_ns`, `run_ns` and `send_ns`.
pub(super) fn measure(pace: &StepPace<'_>, cores: CorePair) -> io::Result<[CostQuartiles; 3]> {
    let load = MemoryLoad::default();
    let cores: Vec<usize> = [Some(cores.near), cores.far].into_iter().flatten().collect();
    let mut costs = [(); 3].map(|()| Vec::with_capacity(TIMES));
    for _ in 0..TIMES {
        if pace.stop.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let bare = MemoryVisits::mean(&memory::visits(&cores, load, false, EACH));
        let own = OwnCosts::beyond(&bare, load, &cores, EACH)?;
        for (list, cost) in costs.iter_mut().zip([own.visit, own.run, own.send]) {
            list.push(cost);
        }
    }
    Ok(costs.map(|costs| CostQuartiles::of(costs, Middle::Median)))
}

/// `moved_visit_ns`, where there are two cores.
pub(super) fn moved_visits(
    pace: &StepPace<'_>,
    CorePair { near, far }: CorePair,
) -> io::Result<Option<CostQuartiles>> {
    let Some(far) = far else { return Ok(None) };
    let costs = (0..TIMES).map(|_| match pace.stop.load(Ordering::Relaxed) {
        true => Err(io::ErrorKind::Interrupted.into()),
        false => moved_visit(MemoryLoad::default(), &[near, far], EACH * 2 * PAIRS),
    });
    let costs: Vec<f64> = costs.collect::<io::Result<_>>()?;
    Ok(Some(CostQuartiles::of(costs, Middle::Median)))
}

/// What is the engine's own, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct OwnCosts {
    pub(crate) visit: f64,
    pub(crate) run: f64,
    pub(crate) send: f64,
}

impl OwnCosts {
    /// What workers on these cores take beyond a bare loop, measured for three times `length`.
    pub(crate) fn beyond(
        bare: &MemoryVisits,
        load: MemoryLoad,
        cores: &[usize],
        length: Duration,
    ) -> io::Result<OwnCosts> {
        let short = Design { read_max: READ_MAX_MAESTRO, ..named("maestro-static-partition") };
        let many = Ibt::new(MANY).expect("it is a threshold");
        let gathered = Design { batching: Batching::Fixed(many), ..short };
        let own = |design| {
            let visit = OwnVisit::of(design, load, cores, length)?;
            let bare = bare.visit_ns(visit.requests, REQUEST_LEN, ANSWER_LEN);
            Ok::<_, io::Error>(OwnVisit { ns: visit.ns - bare, ..visit })
        };
        let [short, gathered, single] =
            [own(short)?, own(gathered)?, own(named("beacon-immediate"))?];
        Ok(OwnCosts::between(short, gathered, single))
    }

    /// Of a visit that is a batch with one write; one of several in a batch, with a write each;
    /// and one with a write for each request. The last two have twice of what the first has at the
    /// least, or they tell nothing.
    fn between(short: OwnVisit, gathered: OwnVisit, single: OwnVisit) -> OwnCosts {
        let send = (single.ns - short.ns) / (single.requests - 1.0).max(1.0);
        let run = (short.ns - gathered.ns) / (1.0 - 1.0 / gathered.of_batch).max(0.5);
        OwnCosts { visit: short.ns - run - send, run, send }
    }
}

/// A visit of real workers.
#[derive(Clone, Copy, Debug)]
struct OwnVisit {
    ns: f64,
    /// Requests of it.
    requests: f64,
    /// Visits that make a batch with it.
    of_batch: f64,
}

impl OwnVisit {
    fn of(
        design: Design,
        load: MemoryLoad,
        cores: &[usize],
        length: Duration,
    ) -> io::Result<OwnVisit> {
        let running = start(design, cores.len(), load, cores).map_err(io::Error::other)?;
        thread::sleep(length / 2);
        let look = || (Instant::now(), running.snapshot().total);
        let (begun, before) = look();
        thread::sleep(length);
        let (mut ended, mut after) = look();
        while after.batches - before.batches < BATCHES_MIN {
            if ended.duration_since(begun) >= SEEN_WITHIN {
                running.stop();
                return Err(io::Error::other(format!(
                    "{}: the workers made {} batches in {} s: other processes have the cores",
                    design.name,
                    after.batches - before.batches,
                    SEEN_WITHIN.as_secs()
                )));
            }
            thread::sleep(Duration::from_millis(1));
            (ended, after) = look();
        }
        running.stop();
        let visits = (after.visits - before.visits).max(1) as f64;
        let batches = (after.batches - before.batches) as f64;
        Ok(OwnVisit {
            ns: ended.duration_since(begun).as_nanos() as f64 * cores.len() as f64 / visits,
            requests: (after.requests - before.requests) as f64 / visits,
            of_batch: visits / batches,
        })
    }
}

/// Workers on these cores, one a core, whose switches are connected and have told of their hosts.
pub(crate) fn start(
    design: Design,
    workers: usize,
    load: MemoryLoad,
    cores: &[usize],
) -> Result<InMemory, String> {
    let app_set = learning_switch();
    let MemoryLoad { switches, hosts } = load;
    let cores = cores.to_vec();
    let plan = MemoryPlan { design, workers, cores, switches, hosts, limit: None };
    let running = InMemory::start(&plan, &app_set).map_err(|error| error.to_string())?;
    let deadline = Instant::now() + LEARNT_WITHIN;
    while !running.is_learnt() {
        if Instant::now() >= deadline {
            running.stop();
            return Err(format!("{}: not all switches told of their hosts", design.name));
        }
        thread::sleep(Duration::from_millis(1));
    }
    Ok(running)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn visits_of_round_robin_are_held_against_those_of_static_partition() {
        let CorePair { near, far } = CorePair::choose();
        let Some(far) = far else { return };
        let load = MemoryLoad { switches: 8, hosts: 50 };
        let more = moved_visit(load, &[near, far], Duration::from_millis(40)).unwrap();
        assert!((0.0..1e7).contains(&more), "{more}");
    }

    #[test]
    fn three_ways_tell_visits_batches_and_writes_apart() {
        let (visit, run, send) = (100.0, 40.0, 7.0);
        let way = |requests, of_batch, writes| OwnVisit {
            ns: visit + run / of_batch + send * writes,
            requests,
            of_batch,
        };
        let found =
            OwnCosts::between(way(25.0, 1.0, 1.0), way(25.0, 40.0, 1.0), way(799.0, 1.0, 799.0));
        for (found, is) in [(found.visit, visit), (found.run, run), (found.send, send)] {
            assert!((found - is).abs() < 1e-6, "{found} for {is}");
        }
        let alike = OwnCosts::between(way(1.0, 1.0, 1.0), way(1.0, 1.0, 1.0), way(1.0, 1.0, 1.0));
        assert_eq!((alike.run, alike.send), (0.0, 0.0), "nothing is told apart");
    }
}
