//! The designs by name: how switches are shared among workers, when a batch is large enough, when
//! replies are sent.
//!
//! The knobs are independent of each other; the papers' systems are names for some settings of
//! them. The choice is made once, at start-up.

use core::fmt;
use core::str::FromStr;
use core::time::Duration;

use aldis_control::batching::{self, Bdu, Ibt};
use aldis_control::weights::Weights;

use crate::limits::{
    DIVIDE_EVERY, DIVIDE_GAIN, READ_LARGEST, READ_MAX, READ_MAX_MAESTRO, READ_MAX_NOX, WORKERS_MAX,
};

/// Which worker reads which switch (Maestro §3.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Read {
    /// Each worker its own switches first, then what others have left, in rounds that all keep
    /// together (`read/fair_rounds.rs`).
    FairRounds,
    /// Each worker its own switches (`read/static_partition.rs`).
    StaticPartition,
    /// Each worker its own switches, divided anew every period by their rates
    /// (`read/dynamic_partition.rs`).
    DynamicPartition {
        /// How often.
        period: Duration,
        /// What the busiest worker has to get rid of before anything moves, in percent of what it
        /// has: 0 to 100.
        hysteresis: u32,
    },
    /// Every worker every ready switch, a little at a time (`read/round_robin.rs`).
    RoundRobin,
    /// Some threads read, the workers work (`read/shared_queue.rs`).
    SharedQueue {
        /// How many threads read.
        io_threads: usize,
        /// Whether each switch has a queue of its own, served in turn by weight.
        per_switch: bool,
    },
}

impl Read {
    /// Whether a switch's weight makes a difference.
    pub fn weighs(&self) -> bool {
        match self {
            Read::FairRounds | Read::RoundRobin | Read::SharedQueue { .. } => true,
            Read::StaticPartition | Read::DynamicPartition { .. } => false,
        }
    }

    /// Whether it knows the share of a switch now, above which a port that floods is shed.
    pub fn sheds(&self) -> bool {
        matches!(self, Read::FairRounds)
    }
}

/// When a batch is large enough (Maestro §3.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Batching {
    /// With what one read brings.
    PerRead,
    /// With so many requests (IBT).
    Fixed(Ibt),
    /// With as many as serve throughput best, within a batching delay upper bound (BDU).
    Adaptive(Bdu),
}

/// When replies are written to the socket (Beacon §5.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Write {
    /// Together (`write/batched.rs`).
    Batched,
    /// Each by itself (`write/immediate.rs`).
    Immediate,
    /// The first of a worker's I/O loop by itself, the others of it together in the next
    /// (`write/per_loop.rs`).
    PerLoop,
}

/// A workload distribution: independent knobs under one name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Design {
    /// The name by which it is chosen.
    pub name: &'static str,
    /// What it is, and where it comes from.
    pub source: &'static str,
    /// Which worker reads which switch.
    pub read: Read,
    /// The most bytes that one read may take ("maximum read size").
    pub read_max: usize,
    /// When a batch is large enough.
    pub batching: Batching,
    /// When replies are written.
    pub write: Write,
    /// Whether a worker never leaves its core.
    pub core_binding: bool,
    /// Whether one worker does all of a request from parsing on: the worker that read it, or, with
    /// a shared queue, the one that pulled it.
    pub request_binding: bool,
    /// Whether all replies of a batch to one switch are written together; else those to each visit
    /// of it are.
    pub output_batching: bool,
    /// Above so many waiting requests reading pauses (PRT); only where requests wait between
    /// reading and work.
    pub prt: Option<usize>,
    /// Whether a port that floods is shed above the share of its switch; only where the read design
    /// [sheds](Read::sheds).
    pub shed: bool,
    /// Whether what is urgent of a switch passes what waits of it: in its output, by class; and,
    /// with a shared queue, before its requests.
    pub priorities: bool,
}

/// The paper's PRT (earlier Maestro paper, figure 6).
const PRT: Option<usize> = Some(400);

/// A start: the paper's 3 ms is for requests that cost microseconds, and today's cost tens of
/// nanoseconds.
const BDU: Batching = match Bdu::new(Duration::from_micros(150)) {
    Ok(bdu) => Batching::Adaptive(bdu),
    Err(_) => panic!("150 µs is a batching delay bound"),
};

/// Reads that bring less share a batch: 512 requests are less than what 64 KB hold, and more than
/// half of it.
const SHORT_READS_TOGETHER: Batching = match Ibt::new(512) {
    Ok(ibt) => Batching::Fixed(ibt),
    Err(_) => panic!("512 requests are a batching threshold"),
};

const FAIR_ROUNDS: Design = Design {
    name: "fair-rounds",
    source: "ours: deficit round robin in common rounds, a worker's own switches first",
    read: Read::FairRounds,
    read_max: READ_MAX,
    batching: SHORT_READS_TOGETHER,
    write: Write::Batched,
    core_binding: true,
    request_binding: true,
    output_batching: true,
    prt: None,
    shed: true,
    priorities: false,
};

const STATIC_PARTITION: Design = Design {
    name: "maestro-static-partition",
    source: "Maestro §3.2.2: each worker its own switches, reads of 64 KB",
    read: Read::StaticPartition,
    batching: Batching::PerRead,
    ..FAIR_ROUNDS
};

const SHARED_QUEUE: Design = Design {
    name: "maestro-shared-queue",
    source: "Maestro §3.2.1: one thread reads and chops, all workers pull from one queue",
    read: Read::SharedQueue { io_threads: 1, per_switch: false },
    read_max: READ_MAX_MAESTRO,
    batching: BDU,
    prt: PRT,
    ..FAIR_ROUNDS
};

const BEACON: Design = Design {
    name: "beacon",
    source: "Beacon §5.2 run-to-completion, §5.3 algorithms 2 and 3",
    ..STATIC_PARTITION
};

const BEACON_QUEUE: Design = Design {
    name: "beacon-queue",
    source: "Beacon §5.2 shared queue: two I/O threads, each with its own switches, and one queue",
    read: Read::SharedQueue { io_threads: 2, per_switch: false },
    read_max: READ_MAX,
    batching: Batching::PerRead,
    // Its I/O threads deserialise.
    request_binding: false,
    prt: None,
    ..SHARED_QUEUE
};

const QUEUE_PER_SWITCH: Read = Read::SharedQueue { io_threads: 2, per_switch: true };

impl Design {
    /// Every design that has a name; the first is the default.
    pub const ALL: [Design; 12] = [
        FAIR_ROUNDS,
        Design {
            name: "maestro-round-robin",
            source: "Maestro §3.2.4: every worker visits every switch, 2 KB at a time, \
                     adaptive batches",
            read: Read::RoundRobin,
            read_max: READ_MAX_MAESTRO,
            batching: BDU,
            ..FAIR_ROUNDS
        },
        Design {
            name: "maestro-dynamic-partition",
            source: "Maestro §3.2.3: own switches, divided anew by their rates (figure 3)",
            read: Read::DynamicPartition { period: DIVIDE_EVERY, hysteresis: DIVIDE_GAIN },
            read_max: READ_MAX_MAESTRO,
            batching: BDU,
            ..FAIR_ROUNDS
        },
        STATIC_PARTITION,
        SHARED_QUEUE,
        Design {
            name: "maestro-plain",
            source: "earlier Maestro paper §III: one queue, and every feature off",
            batching: Batching::PerRead,
            write: Write::Immediate,
            core_binding: false,
            request_binding: false,
            output_batching: false,
            ..SHARED_QUEUE
        },
        BEACON,
        BEACON_QUEUE,
        Design {
            name: "beacon-queue-per-switch",
            source: "Beacon §5.2.1: a queue for each switch, served in turn, by weight",
            read: QUEUE_PER_SWITCH,
            ..BEACON_QUEUE
        },
        Design {
            name: "beacon-queue-priorities",
            source: "Beacon §5.2.1: several queues for each switch, by priority; signs of life first",
            read: QUEUE_PER_SWITCH,
            priorities: true,
            ..BEACON_QUEUE
        },
        Design {
            name: "beacon-immediate",
            source: "Beacon §5.3 algorithm 1: a socket write for every message",
            write: Write::Immediate,
            output_batching: false,
            ..BEACON
        },
        Design {
            name: "nox",
            source: "Maestro §4: static partition as NOX has it, with reads of 512 KB",
            read_max: READ_MAX_NOX,
            ..BEACON
        },
    ];

    /// Whether requests wait between reading and work: in a shared queue, or for any worker where
    /// they are not bound to the one that read them.
    pub fn queues_requests(&self) -> bool {
        !self.request_binding || matches!(self.read, Read::SharedQueue { .. })
    }

    /// Whether signs of life and answers to commands pass the requests of their switch that wait.
    pub fn passes_requests(&self) -> bool {
        self.priorities && matches!(self.read, Read::SharedQueue { .. })
    }

    /// Whether the knobs go together.
    ///
    /// # Errors
    /// The sentence that says which do not, and why.
    pub fn check(&self) -> Result<(), Contradiction> {
        match self {
            Design { write: Write::Immediate, output_batching: true, .. } => {
                Err(Contradiction::ImmediateAndTogether)
            }
            Design { prt: Some(_), .. } if !self.queues_requests() => {
                Err(Contradiction::ThresholdOfNothing)
            }
            Design { prt: Some(0), .. } => Err(Contradiction::NothingMayWait),
            Design { read: Read::SharedQueue { per_switch: true, .. }, batching, .. }
                if *batching != Batching::PerRead =>
            {
                Err(Contradiction::QueueOfSeveral)
            }
            Design { read: Read::SharedQueue { io_threads, .. }, .. }
                if !(1..=WORKERS_MAX).contains(io_threads) =>
            {
                Err(Contradiction::IoThreads(*io_threads))
            }
            Design { read: Read::DynamicPartition { hysteresis, .. }, .. } if *hysteresis > 100 => {
                Err(Contradiction::Hysteresis(*hysteresis))
            }
            Design { read: Read::DynamicPartition { period, .. }, .. }
                if *period < Duration::from_millis(10) =>
            {
                Err(Contradiction::Period(*period))
            }
            Design { read_max, .. }
                if !(READ_MAX_MAESTRO / 2..=READ_LARGEST).contains(read_max) =>
            {
                Err(Contradiction::ReadMax(*read_max))
            }
            _ => Ok(()),
        }
    }
}

impl Default for Design {
    fn default() -> Self {
        FAIR_ROUNDS
    }
}

/// Why a set of knobs is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Contradiction {
    /// Immediate writes and output batching.
    ImmediateAndTogether,
    /// A PRT where nothing waits.
    ThresholdOfNothing,
    /// A PRT of 0.
    NothingMayWait,
    /// Queues for each switch, and batches of several.
    QueueOfSeveral,
    /// No I/O thread, or too many.
    IoThreads(usize),
    /// A period that is too short.
    Period(Duration),
    /// More than all of what a worker has.
    Hysteresis(u32),
    /// A maximum read size out of range.
    ReadMax(usize),
}

impl fmt::Display for Contradiction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Contradiction::ImmediateAndTogether => f.write_str(
                "immediate writes send every message by itself, and output batching sends them \
                 together: choose one",
            ),
            Contradiction::ThresholdOfNothing => f.write_str(
                "a pending request threshold needs requests that wait between reading and work: turn \
                 request binding \
                 off, or leave the threshold out",
            ),
            Contradiction::NothingMayWait => {
                f.write_str(
                    "with a pending request threshold of 0 nothing would be read: give 1 or more",
                )
            }
            Contradiction::QueueOfSeveral => f.write_str(
                "a queue for each switch holds the requests of that switch only: choose per-read \
                 batching with it",
            ),
            Contradiction::IoThreads(threads) => {
                write!(f, "{threads} I/O threads: give 1 to {WORKERS_MAX}")
            }
            Contradiction::Period(period) => {
                write!(f, "switches cannot be divided anew every {period:?}: give 10 ms or more")
            }
            Contradiction::Hysteresis(percent) => {
                write!(f, "a hysteresis of {percent} % of what a worker has: give 0 to 100")
            }
            Contradiction::ReadMax(bytes) => write!(
                f,
                "a maximum read size of {bytes} bytes: give {} to {READ_LARGEST}",
                READ_MAX_MAESTRO / 2
            ),
        }
    }
}

impl core::error::Error for Contradiction {}

/// What can be changed while the engine runs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Knobs {
    /// The weights of the switches.
    pub weights: Weights,
    /// The batching delay upper bound of adaptive batching; what the design says when absent.
    pub bdu: Option<Bdu>,
    /// The threshold of fixed batching; what the design says when absent.
    pub ibt: Option<Ibt>,
    /// The pending request threshold; what the design says when absent.
    pub prt: Option<usize>,
    /// Whether a port that floods is shed; what the design says when absent.
    pub shed: Option<bool>,
    /// Bytes that the kernel may hold of what all switches sent, as
    /// [`crate::limits::RECEIVE_BUFFER_OF_ALL`], where there is less memory; counts at the start.
    pub received_max: Option<usize>,
}

impl Knobs {
    /// With what the design says, where nothing is said. Without a PRT any number of requests may
    /// wait.
    pub(crate) fn over(self, design: &Design) -> Knobs {
        let (bdu, ibt) = match design.batching {
            Batching::PerRead => (None, None),
            Batching::Fixed(ibt) => (None, Some(ibt)),
            Batching::Adaptive(bdu) => (Some(bdu), None),
        };
        Knobs {
            weights: self.weights,
            bdu: self.bdu.or(bdu),
            ibt: self.ibt.or(ibt),
            prt: self.prt.or(design.prt).or(Some(usize::MAX)),
            shed: self.shed.or(Some(design.shed)),
            received_max: self.received_max,
        }
    }
}

impl Batching {
    /// Adaptive, with the BDU of the designs that are.
    pub const ADAPTIVE: Batching = BDU;

    /// One worker's.
    pub(crate) fn start(self) -> Box<dyn batching::Batching + Send> {
        match self {
            Batching::PerRead => Box::new(batching::PerRead),
            Batching::Fixed(ibt) => Box::new(batching::Fixed::new(ibt)),
            Batching::Adaptive(bdu) => Box::new(batching::Adaptive::new(bdu)),
        }
    }
}

/// No design has this name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownDesign(pub String);

impl fmt::Display for UnknownDesign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Design::ALL.map(|design| design.name).join(", ");
        write!(f, "there is no design \"{}\"; the designs are: {names}", self.0)
    }
}

impl core::error::Error for UnknownDesign {}

impl FromStr for Design {
    type Err = UnknownDesign;

    fn from_str(name: &str) -> Result<Self, UnknownDesign> {
        let known = Design::ALL.into_iter().find(|design| design.name == name);
        known.ok_or_else(|| UnknownDesign(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_design_is_found_by_its_name_and_makes_sense() {
        for design in Design::ALL {
            assert_eq!(design.name.parse(), Ok(design));
            assert_eq!(design.check(), Ok(()), "{}", design.name);
        }
    }

    #[test]
    fn requests_wait_in_a_shared_queue_and_where_they_are_not_bound() {
        for request_binding in [false, true] {
            let queue = Design { request_binding, ..SHARED_QUEUE };
            assert!(queue.queues_requests() && queue.check().is_ok());
            let own = Design { request_binding, prt: PRT, ..BEACON };
            assert_eq!(own.check().is_ok(), !request_binding);
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        let error = "beacom".parse::<Design>().unwrap_err().to_string();
        assert!(error.contains("beacom") && error.contains("fair-rounds"), "{error}");
    }

    #[test]
    fn a_knob_of_which_nothing_is_said_is_the_designs() {
        let ibt = Ibt::new(70).unwrap();
        let fixed = Design { batching: Batching::Fixed(ibt), ..SHARED_QUEUE };
        let knobs = Knobs::default().over(&fixed);
        assert_eq!((knobs.bdu, knobs.ibt, knobs.prt), (None, Some(ibt), PRT));
        let more = Ibt::new(80).unwrap();
        let knobs = Knobs { ibt: Some(more), prt: Some(9), ..Knobs::default() }.over(&fixed);
        assert_eq!((knobs.ibt, knobs.prt), (Some(more), Some(9)));
        let knobs = Knobs::default().over(&Design::ALL[1]);
        assert_eq!((BDU, knobs.ibt), (Batching::Adaptive(knobs.bdu.unwrap()), None));
        assert_eq!(knobs.prt, Some(usize::MAX));
    }

    #[test]
    fn knobs_that_contradict_each_other_are_refused() {
        let refused = [
            (Design { write: Write::Immediate, ..BEACON }, Contradiction::ImmediateAndTogether),
            (Design { prt: Some(9), ..BEACON }, Contradiction::ThresholdOfNothing),
            (Design { prt: Some(0), ..SHARED_QUEUE }, Contradiction::NothingMayWait),
            (Design { batching: BDU, ..Design::ALL[8] }, Contradiction::QueueOfSeveral),
            (Design { read_max: 1, ..BEACON }, Contradiction::ReadMax(1)),
            (
                Design {
                    read: Read::SharedQueue { io_threads: 0, per_switch: false },
                    ..BEACON_QUEUE
                },
                Contradiction::IoThreads(0),
            ),
            (
                Design {
                    read: Read::DynamicPartition { period: Duration::ZERO, hysteresis: 5 },
                    ..BEACON
                },
                Contradiction::Period(Duration::ZERO),
            ),
            (
                Design {
                    read: Read::DynamicPartition { period: DIVIDE_EVERY, hysteresis: 101 },
                    ..BEACON
                },
                Contradiction::Hysteresis(101),
            ),
        ];
        for (design, why) in refused {
            assert_eq!(design.check(), Err(why));
        }
    }
}
