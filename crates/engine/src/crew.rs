//! The crew: how many workers a design has, what each of them does, and what they share.
//!
//! Here the choice of a design becomes a type: each [`Seat`] makes one monomorphic worker, and whoever owns it says what
//! is done with that, on a thread or in a simulation.

use std::ops::Range;
use std::sync::Arc;

use aldis_control::fact::Facts;
use aldis_control::{Program, World};

use crate::conn::Conn;
use crate::design::{self, Batching, Design};
use crate::desk::{Desk, Supplies};
use crate::engine::Config;
use crate::hall::Hall;
use crate::inbox::Inbox;
use crate::jobs::Jobs;
use crate::limits::{BATCH_BYTES, SHED_AHEAD};
use crate::metrics::WorkerStats;
use crate::net::Net;
use crate::read::Read;
use crate::read::dynamic_partition::{self, DynamicPartition};
use crate::read::fair_rounds::{self, FairRounds};
use crate::read::round_robin::{self, RoundRobin};
use crate::read::shared_queue::SharedQueue;
use crate::read::static_partition::StaticPartition;
use crate::registry::Registry;
use crate::worker::{Duty, Post, Worker};
use crate::write::Write;
use crate::write::batched::Batched;
use crate::write::immediate::Immediate;
use aldis_control::stats::AppStats;

/// How many workers there are, and what each does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Crew {
    pub(crate) threads: usize,
    /// The first of them, which have connections.
    readers: usize,
    bound: bool,
}

impl Crew {
    pub(crate) fn of(design: &Design, workers: usize) -> Crew {
        let workers = workers.max(1);
        match design.read {
            design::Read::SharedQueue { io_threads, .. } => {
                Crew { threads: io_threads + workers, readers: io_threads, bound: false }
            }
            _ => Crew { threads: workers, readers: workers, bound: design.request_binding },
        }
    }

    /// Those who answer requests.
    fn workers(&self) -> Range<usize> {
        if self.readers == self.threads { 0..self.threads } else { self.readers..self.threads }
    }

    pub(crate) fn duty(&self, index: usize) -> Duty {
        match self {
            Crew { bound: true, .. } => Duty::Both,
            Crew { readers, threads, .. } if readers == threads => Duty::Share,
            Crew { readers, .. } if index < *readers => Duty::Read,
            _ => Duty::Work,
        }
    }

    /// Where they meet.
    pub(crate) fn hall<N: Net>(
        &self,
        config: &Config,
        inboxes: Box<[Inbox<N>]>,
        world: Arc<World>,
    ) -> Arc<Hall<N>> {
        let Config { design, knobs, session, .. } = config;
        let knobs = knobs.clone().over(design);
        let prt = knobs.prt.unwrap_or(usize::MAX);
        let per_switch = matches!(design.read, design::Read::SharedQueue { per_switch: true, .. });
        let jobs = Jobs::new(prt, per_switch);
        let (readers, workers) = (self.readers, self.workers());
        Arc::new(Hall::new(inboxes, readers, workers, session.clone(), jobs, knobs, world))
    }

    /// A seat for each, with what is needed there.
    pub(crate) fn seats<N: Net>(
        self,
        config: &Config,
        hall: &Arc<Hall<N>>,
        nets: Vec<N>,
        program: &Program<'_>,
        facts: &Arc<dyn Facts>,
    ) -> Vec<Seat<N>> {
        let design = config.design;
        let registry = Arc::new(Registry::default());
        let sharing = Arc::new(Sharing::new(&design, self.threads));
        let seat = |(index, net)| {
            let duty = self.duty(index);
            let per_read = design.batching == Batching::PerRead;
            let supplies: Supplies<N::Socket> = Supplies {
                index,
                pipeline: program.pipeline(index as u8),
                output: program.output(index as u8),
                newest: Arc::clone(&hall.newest),
                roster: Arc::clone(&hall.roster),
                has_world: program.world().version() > 0,
                read_max: design.read_max,
                ahead: if design.read == design::Read::FairRounds { SHED_AHEAD } else { 0 },
                batch_bytes: if per_read { 0 } else { BATCH_BYTES },
                runs_here: duty == Duty::Both,
                together: design.output_batching,
                registry: Arc::clone(&registry),
                facts: Arc::clone(facts),
                stats: Arc::default(),
            };
            let post = Post { index, hall: Arc::clone(hall), duty, spin: config.spin };
            Seat { post, net, supplies, design, sharing: Arc::clone(&sharing) }
        };
        nets.into_iter().enumerate().map(seat).collect()
    }
}

/// What the workers of each read design share.
enum Sharing<S> {
    FairRounds(Arc<fair_rounds::Shared<S>>),
    StaticPartition,
    DynamicPartition(Arc<dynamic_partition::Shared<S>>),
    RoundRobin(Arc<round_robin::Shared<Conn<S>>>),
    SharedQueue,
}

impl<S> Sharing<S> {
    fn new(design: &Design, workers: usize) -> Self {
        match design.read {
            design::Read::FairRounds => {
                Sharing::FairRounds(Arc::new(fair_rounds::Shared::new(workers)))
            }
            design::Read::StaticPartition => Sharing::StaticPartition,
            design::Read::DynamicPartition { period } => {
                Sharing::DynamicPartition(Arc::new(dynamic_partition::Shared::new(workers, period)))
            }
            design::Read::RoundRobin => Sharing::RoundRobin(Arc::new(round_robin::Shared::new())),
            design::Read::SharedQueue { .. } => Sharing::SharedQueue,
        }
    }
}

/// What becomes of a worker once it is made, whatever its design.
pub(crate) trait Occupy<N: Net> {
    /// What comes of it.
    type Outcome;

    /// Does it.
    fn occupy<R: Read<N::Socket> + 'static, W: Write>(
        self,
        worker: Worker<N, R, W>,
    ) -> Self::Outcome;
}

/// Everything that a worker needs where it works.
pub(crate) struct Seat<N: Net> {
    post: Post<N>,
    net: N,
    supplies: Supplies<N::Socket>,
    design: Design,
    sharing: Arc<Sharing<N::Socket>>,
}

impl<N: Net> Seat<N> {
    /// What the worker counts.
    pub(crate) fn stats(&self) -> &Arc<WorkerStats> {
        &self.supplies.stats
    }

    /// What it counts of the applications.
    pub(crate) fn counted(&self) -> Arc<[AppStats]> {
        Arc::clone(self.supplies.pipeline.counted())
    }

    /// Makes the worker.
    pub(crate) fn take<O: Occupy<N>>(self, then: O) -> O::Outcome {
        let index = self.post.index;
        let stats = Arc::clone(self.stats());
        match &*Arc::clone(&self.sharing) {
            Sharing::FairRounds(shared) => {
                self.read(FairRounds::new(index, Arc::clone(shared), stats), then)
            }
            Sharing::StaticPartition => self.read(StaticPartition::new(index), then),
            Sharing::DynamicPartition(shared) => {
                self.read(DynamicPartition::new(index, Arc::clone(shared)), then)
            }
            Sharing::RoundRobin(shared) => {
                let read_max = self.design.read_max;
                self.read(RoundRobin::new(Arc::clone(shared), read_max, stats), then)
            }
            Sharing::SharedQueue => self.read(SharedQueue::new(index), then),
        }
    }

    fn read<R: Read<N::Socket> + 'static, O: Occupy<N>>(self, read: R, then: O) -> O::Outcome {
        match self.design.write {
            design::Write::Batched => self.write::<R, Batched, O>(read, then),
            design::Write::Immediate => self.write::<R, Immediate, O>(read, then),
        }
    }

    fn write<R: Read<N::Socket> + 'static, W: Write, O: Occupy<N>>(
        self,
        read: R,
        then: O,
    ) -> O::Outcome {
        let Seat { post, net, supplies, design, .. } = self;
        let desk: Desk<N, W> = Desk::new(supplies);
        then.occupy(Worker::new(post, net, desk, read, design.batching.start()))
    }
}
