//! How the read designs scale over real cores where neither load nor kernel needs them: requests a
//! second of 1 worker and of as many as there are cores.
//!
//! ```text
//! cargo bench -p aldis-engine --bench scaling [-- [DESIGN…] [ROUNDS]]
//! ```
//!
//! Without names it measures the designs of the papers and the default, without a number 12 rounds.
//! 79 switches in memory ([`aldis_engine::sim::in_memory`]) of 1,000 hosts are always full, and the
//! learning switch answers. A round of a design measures one worker on each core in turn, then for
//! each number of cores from 2 on that many workers of one controller, and as many controllers of
//! one worker each, side by side, which divide the switches; every other round goes backwards. Each
//! starts anew and is measured for half a second. The ideal is what one worker did on each of these
//! cores, added up. What controllers side by side lose the machine takes (caches, memory, other
//! tenants), so the rest is what workers share. An I/O thread comes on top of the workers and
//! shares their cores. Medians are printed, with the lower and upper quartiles.

use std::fmt;
use std::thread;
use std::time::{Duration, Instant};

use aldis_apps::LearningSwitch;
use aldis_apps::learning_switch::{LearningConfig, Seed};
use aldis_control::AppSet;
use aldis_engine::sim::in_memory::{InMemory, MemoryPlan};
use aldis_engine::{Design, pin};

#[allow(unused_imports, reason = "its tests do not run here")]
#[path = "../../../src/allocator.rs"]
mod memory;

/// As in `aldis run`.
#[global_allocator]
static MEMORY: memory::Pages = memory::Pages;

const DESIGNS: [&str; 5] = [
    "fair-rounds",
    "maestro-static-partition",
    "maestro-round-robin",
    "maestro-dynamic-partition",
    "maestro-shared-queue",
];
const ROUNDS: usize = 12;
const SWITCHES: usize = 79;
const HOSTS: u32 = 1_000;
const WARM_UP: Duration = Duration::from_millis(100);
const MEASURED: Duration = Duration::from_millis(500);
/// How long switches may take to connect and to tell of their hosts.
const LEARNT_WITHIN: Duration = Duration::from_secs(10);

fn main() {
    let (mut designs, mut rounds) = (Vec::<Design>::new(), ROUNDS);
    // Cargo says `--bench`.
    for arg in std::env::args().skip(1).filter(|arg| !arg.starts_with("--")) {
        match (arg.parse(), arg.parse()) {
            (Ok(design), _) => designs.push(design),
            (_, Ok(number)) => rounds = number,
            _ => {
                refuse(&format!("{arg}: neither a design that `aldis designs` lists nor a number"));
            }
        }
    }
    if designs.is_empty() {
        designs.extend(DESIGNS.map(|name| name.parse::<Design>().expect("it is one")));
    }
    let cores = pin::cores();
    if cores.len() < 2 || rounds == 0 {
        refuse("two cores and a round are needed at least");
    }
    let mut found: Vec<Vec<DesignRates>> = designs.iter().map(|_| vec![]).collect();
    for number in 0..rounds {
        for (design, found) in designs.iter().zip(&mut found) {
            found.push(DesignRates::measure(*design, &cores, number % 2 == 1));
        }
    }
    println!(
        "{:<26} {:>5}  {:<26}  {:<26}  {:<22}  {:<22}  {:>6}  {:>6}",
        "design",
        "cores",
        "one worker, M/s",
        "together, M/s",
        "to ideal",
        "side by side to ideal",
        "helped",
        "waited"
    );
    for (design, rounds) in designs.iter().zip(&found) {
        (0..cores.len() - 1).for_each(|at| print(design, rounds, at));
    }
}

fn refuse(why: &str) -> ! {
    eprintln!("scaling: {why}");
    std::process::exit(2)
}

fn print(design: &Design, rounds: &[DesignRates], at: usize) {
    let cores = at + 2;
    let all = |of: &dyn Fn(&DesignRates) -> f64| Quartiles::of(rounds.iter().map(of).collect());
    let ideal = |round: &DesignRates| round.alone[..cores].iter().sum::<f64>();
    println!(
        "{:<26} {:>5}  {:<26}  {:<26}  {:<22}  {:<22}  {:>6.3}  {:>6.3}",
        design.name,
        cores,
        all(&|round| ideal(round) / cores as f64 / 1e6).to_string(),
        all(&|round| round.together[at].rate / 1e6).to_string(),
        all(&|round| round.together[at].rate / ideal(round)).to_string(),
        all(&|round| round.apart[at] / ideal(round)).to_string(),
        all(&|round| round.together[at].helped).median,
        all(&|round| round.together[at].waited).median,
    );
}

/// Requests a second of one design.
struct DesignRates {
    /// One worker on each core.
    alone: Vec<f64>,
    /// With 2 cores, 3, and so on: a worker on each.
    together: Vec<Shared>,
    /// The same with a controller on each.
    apart: Vec<f64>,
}

/// Workers of one controller.
struct Shared {
    rate: f64,
    /// Visits to switches of others, of all.
    helped: f64,
    /// Time that they waited for locks, of all.
    waited: f64,
}

impl DesignRates {
    fn measure(design: Design, cores: &[usize], backwards: bool) -> DesignRates {
        let alone = |core: &usize| measure(&[plan(design, &[*core], SWITCHES)]).rate;
        let counts = || 2..=cores.len();
        let together = |count: usize| measure(&[plan(design, &cores[..count], SWITCHES)]);
        let apart = |count: usize| {
            let part = |at: usize| (at + 1) * SWITCHES / count - at * SWITCHES / count;
            let plans = (0..count).map(|at| plan(design, &cores[at..=at], part(at)));
            measure(&plans.collect::<Vec<_>>()).rate
        };
        if backwards {
            let apart = counts().map(apart).collect();
            let together = counts().map(together).collect();
            let mut alone: Vec<f64> = cores.iter().rev().map(alone).collect();
            alone.reverse();
            return DesignRates { alone, together, apart };
        }
        DesignRates {
            alone: cores.iter().map(alone).collect(),
            together: counts().map(together).collect(),
            apart: counts().map(apart).collect(),
        }
    }
}

fn plan(design: Design, cores: &[usize], switches: usize) -> MemoryPlan {
    let cores = cores.to_vec();
    MemoryPlan { design, workers: cores.len(), cores, switches, hosts: HOSTS, limit: None }
}

/// Controllers side by side, and what the first of them counted of its workers.
fn measure(plans: &[MemoryPlan]) -> Shared {
    let config = LearningConfig::new(Seed::new(*b"0123456789abcdef"));
    let app_set = AppSet::default().with(move || LearningSwitch::new(config));
    let start = |plan| InMemory::start(plan, &app_set).expect("it starts");
    let running: Vec<InMemory> = plans.iter().map(start).collect();
    let deadline = Instant::now() + LEARNT_WITHIN;
    while !running.iter().all(InMemory::is_learnt) {
        assert!(Instant::now() < deadline, "not all switches told of their hosts");
        thread::sleep(Duration::from_millis(1));
    }
    thread::sleep(WARM_UP);
    let answered = || running.iter().flat_map(InMemory::answered).sum::<u64>();
    let (begun, before) = (Instant::now(), answered());
    thread::sleep(MEASURED);
    let (took, after) = (begun.elapsed(), answered());
    let total = running[0].snapshot().total;
    running.into_iter().for_each(InMemory::stop);
    Shared {
        rate: (after - before) as f64 / took.as_secs_f64(),
        helped: total.helped_visits as f64 / total.visits as f64,
        waited: total.lock_wait_ns as f64 / total.run_time_ns as f64,
    }
}

struct Quartiles {
    lower: f64,
    median: f64,
    upper: f64,
}

impl Quartiles {
    fn of(mut all: Vec<f64>) -> Quartiles {
        all.sort_by(f64::total_cmp);
        let at = |part: f64| all[((all.len() - 1) as f64 * part).round() as usize];
        Quartiles { lower: at(0.25), median: at(0.5), upper: at(0.75) }
    }
}

impl fmt::Display for Quartiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Quartiles { lower, median, upper } = self;
        write!(f, "{median:.3} ({lower:.3} to {upper:.3})")
    }
}
