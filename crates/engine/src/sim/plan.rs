//! What is to be simulated.

use core::fmt;
use core::time::Duration;

use aldis_control::pipeline::AppSetError;

use super::Costs;
use crate::design::{Contradiction, Design, Knobs};

/// Workers that are simulated at most.
pub const SIMULATED_WORKERS_MAX: usize = 64;

/// Switches that are simulated at most: what the inboxes hold when all connect at once.
pub const SIMULATED_SWITCHES_MAX: usize = 16_384;

/// The least time from one turn of a switch to its next.
const TURNS_MIN: Duration = Duration::from_micros(1);

/// A simulation. The same plan has the same outcome, bit for bit.
#[derive(Clone, PartialEq, Debug)]
pub struct SimPlan {
    /// How switches are shared among workers.
    pub design: Design,
    /// Workers, each on a core of its own: 1 to [`SIMULATED_WORKERS_MAX`]; I/O threads, where the
    /// design has them, on further cores.
    pub workers: usize,
    /// Weights, by datapath id, and what else can be changed while an engine runs.
    pub knobs: Knobs,
    /// The switches; their datapath ids count from 1. Together they offer nothing until all of them
    /// are up.
    pub switches: Vec<SimulatedSwitch>,
    /// How long they offer requests before anything is measured.
    pub warm_up: Duration,
    /// How long is measured.
    pub duration: Duration,
    /// What things cost.
    pub costs: Costs,
    /// Whether workers poll without ever sleeping.
    pub spin: bool,
    /// How much the cost of a step wavers at least, as a part of it: 0 as the costs say, 1 from
    /// nothing to twice as much. With it, one step in a thousand takes 100 µs more, as when the
    /// core is taken away.
    pub jitter: f64,
    /// What all chance follows from.
    pub seed: u64,
}

/// An emulated switch.
#[derive(Clone, PartialEq, Debug)]
pub struct SimulatedSwitch {
    /// When it asks.
    pub offer: Offer,
    /// How many requests it makes in all; no end where none.
    pub limit: Option<u32>,
    /// After so many requests each it sends an echo request, which is a fence; never where none.
    pub fence_every: Option<u32>,
    /// How fast it reads what it is sent.
    pub reads: ReadSpeed,
}

/// When a switch asks.
#[derive(Clone, PartialEq, Debug)]
pub enum Offer {
    /// Always as much as its socket takes.
    Full,
    /// So many requests a second, at equal distances; its first at a moment of chance within the
    /// first distance.
    Periodic(f64),
    /// So many requests a second on average, at moments of chance.
    Poisson(f64),
    /// At one rate after another, and what has become due is sent in turns: as a load generator
    /// does it, which goes round all of its switches.
    Turns {
        /// Requests a second, and for how long; the last one stays. At least one.
        steps: Vec<(f64, Duration)>,
        /// From the beginning to the first turn.
        first: Duration,
        /// From one turn to the next: a microsecond or more.
        every: Duration,
        /// It makes up for what it could not send in so long at its highest rate. What is more is
        /// forgotten, the oldest first, as if it had never been due.
        makes_up_for: Duration,
    },
    /// At equal distances, at one rate after another; the last one stays. At least one.
    Steps(Vec<(f64, Duration)>),
}

/// How fast a switch reads.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum ReadSpeed {
    /// At once.
    AtOnce,
    /// So many bytes a second.
    BytesPerSecond(f64),
    /// Not at all, from the end of its handshake on.
    Never,
}

impl SimulatedSwitch {
    /// One that offers this, without end, and reads at once.
    pub fn new(offer: Offer) -> SimulatedSwitch {
        SimulatedSwitch { offer, limit: None, fence_every: None, reads: ReadSpeed::AtOnce }
    }
}

impl SimPlan {
    /// Of these switches: a tenth of a second of warm-up and a second that is measured, at the
    /// default costs.
    pub fn new(design: Design, workers: usize, switches: Vec<SimulatedSwitch>) -> SimPlan {
        SimPlan {
            design,
            workers,
            knobs: Knobs::default(),
            switches,
            warm_up: Duration::from_millis(100),
            duration: Duration::from_secs(1),
            costs: Costs::default(),
            spin: false,
            jitter: 0.0,
            seed: 1,
        }
    }

    /// Whether it can be simulated.
    ///
    /// # Errors
    /// What it has too many of, or too few, or what contradicts itself.
    pub fn check(&self) -> Result<(), SimPlanError> {
        self.design.check().map_err(SimPlanError::Design)?;
        if !(1..=SIMULATED_WORKERS_MAX).contains(&self.workers) {
            return Err(SimPlanError::Workers(self.workers));
        }
        if !(1..=SIMULATED_SWITCHES_MAX).contains(&self.switches.len()) {
            return Err(SimPlanError::Switches(self.switches.len()));
        }
        if !(0.0..=1.0).contains(&self.jitter) {
            return Err(SimPlanError::Jitter(self.jitter));
        }
        let turns = self.switches.iter().find_map(|switch| match switch.offer {
            Offer::Turns { every, .. } if every < TURNS_MIN => Some(every),
            _ => None,
        });
        if let Some(every) = turns {
            return Err(SimPlanError::Turns(every));
        }
        let mut rates = self.switches.iter().flat_map(|switch| switch.offer.rates());
        rates
            .find(|rate| !(1e-3..=1e9).contains(rate))
            .map_or(Ok(()), |rate| Err(SimPlanError::Rate(rate)))
    }
}

impl Offer {
    fn rates(&self) -> Vec<f64> {
        match self {
            Offer::Full => vec![],
            Offer::Periodic(rate) | Offer::Poisson(rate) => vec![*rate],
            Offer::Steps(steps) | Offer::Turns { steps, .. } if steps.is_empty() => vec![f64::NAN],
            Offer::Steps(steps) | Offer::Turns { steps, .. } => {
                steps.iter().map(|(rate, _)| *rate).collect()
            }
        }
    }
}

/// Why a plan cannot be simulated.
#[derive(Clone, PartialEq, Debug)]
pub enum SimPlanError {
    /// The design's knobs do not go together.
    Design(Contradiction),
    /// The applications cannot work together.
    Apps(AppSetError),
    /// No worker, or too many.
    Workers(usize),
    /// No switch, or too many.
    Switches(usize),
    /// No jitter.
    Jitter(f64),
    /// No rate.
    Rate(f64),
    /// Turns that are too close.
    Turns(Duration),
}

impl fmt::Display for SimPlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SimPlanError::Design(why) => write!(f, "{why}"),
            SimPlanError::Apps(why) => write!(f, "{why}"),
            SimPlanError::Workers(workers) => {
                write!(f, "{workers} simulated workers: give 1 to {SIMULATED_WORKERS_MAX}")
            }
            SimPlanError::Switches(switches) => {
                write!(f, "{switches} simulated switches: give 1 to {SIMULATED_SWITCHES_MAX}")
            }
            SimPlanError::Jitter(jitter) => write!(f, "a jitter of {jitter}: give 0 to 1"),
            SimPlanError::Rate(rate) => {
                write!(f, "{rate} requests a second: give 0.001 to 1,000,000,000")
            }
            SimPlanError::Turns(every) => {
                write!(f, "a turn every {every:?}: give {TURNS_MIN:?} or more")
            }
        }
    }
}

impl core::error::Error for SimPlanError {}
