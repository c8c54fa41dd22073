//! The plan_of_workers: how many workers a design has, what each of them does, and what they share.
//!
//! Here the choice of a design becomes a type: each [`WorkerBuilder`] makes one monomorphic worker,
//! and whoever owns it says what is done with that, on a thread or in a simulation.

use std::ops::Range;
use std::sync::Arc;

use aldis_control::fact::Facts;
use aldis_control::{Program, World};

use crate::conn::Conn;
use crate::design::{self, Batching, Design};
use crate::engine::Config;
use crate::limits::{BATCH_BYTES, SHED_AHEAD};
use crate::metrics::WorkerStats;
use crate::net::Net;
use crate::read::Read;
use crate::read::dynamic_partition::{self, DynamicPartition};
use crate::read::fair_rounds::{self, FairRounds};
use crate::read::round_robin::{self, RoundRobin};
use crate::read::shared_queue::SharedQueue;
use crate::read::shared_queue::queue::BatchQueue;
use crate::read::static_partition::StaticPartition;
use crate::shared::Shared;
use crate::shared::inbox::Inbox;
use crate::shared::registry::Registry;
use crate::worker::phases::{PhaseParts, Phases};
use crate::worker::{Post, Role, Worker};
use crate::write::Write;
use crate::write::batched::Batched;
use crate::write::immediate::Immediate;
use aldis_control::stats::AppStats;

/// How many workers there are, and what each does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WorkerPlan {
    pub(crate) threads: usize,
    /// The first of them, which have connections.
    readers: usize,
    bound: bool,
}

impl WorkerPlan {
    pub(crate) fn of(design: &Design, workers: usize) -> WorkerPlan {
        let workers = workers.max(1);
        match design.read {
            design::Read::SharedQueue { io_threads, .. } => {
                WorkerPlan { threads: io_threads + workers, readers: io_threads, bound: false }
            }
            _ => WorkerPlan { threads: workers, readers: workers, bound: design.request_binding },
        }
    }

    /// Those who answer requests.
    fn workers(&self) -> Range<usize> {
        if self.readers == self.threads { 0..self.threads } else { self.readers..self.threads }
    }

    pub(crate) fn role(&self, index: usize) -> Role {
        match self {
            WorkerPlan { bound: true, .. } => Role::Both,
            WorkerPlan { readers, threads, .. } if readers == threads => Role::Share,
            WorkerPlan { readers, .. } if index < *readers => Role::Read,
            _ => Role::Work,
        }
    }

    /// Where they meet.
    pub(crate) fn shared<N: Net>(
        &self,
        config: &Config,
        inboxes: Box<[Inbox<N>]>,
        world: Arc<World>,
    ) -> Arc<Shared<N>> {
        let Config { design, knobs, session, .. } = config;
        let knobs = knobs.clone().over(design);
        let prt = knobs.prt.unwrap_or(usize::MAX);
        let per_switch = matches!(design.read, design::Read::SharedQueue { per_switch: true, .. });
        let batches = BatchQueue::new(prt, per_switch);
        let (readers, workers) = (self.readers, self.workers());
        Arc::new(Shared::new(inboxes, readers, workers, session.clone(), batches, knobs, world))
    }

    /// A seat for each, with what is needed there.
    pub(crate) fn seats<N: Net>(
        self,
        config: &Config,
        shared: &Arc<Shared<N>>,
        nets: Vec<N>,
        program: &Program<'_>,
        facts: &Arc<dyn Facts>,
    ) -> Vec<WorkerBuilder<N>> {
        let design = config.design;
        let registry = Arc::new(Registry::default());
        let sharing = Arc::new(DesignState::new(&design, self.threads));
        let seat = |(index, net)| {
            let role = self.role(index);
            let per_read = design.batching == Batching::PerRead;
            let parts: PhaseParts<N::Socket> = PhaseParts {
                index,
                pipeline: program.pipeline(index as u8),
                output: program.output(index as u8),
                newest: Arc::clone(&shared.world),
                switches: Arc::clone(&shared.switches),
                has_world: program.world().version() > 0,
                read_max: design.read_max,
                ahead: if design.read == design::Read::FairRounds { SHED_AHEAD } else { 0 },
                batch_bytes: if per_read { 0 } else { BATCH_BYTES },
                runs_here: role == Role::Both,
                together: design.output_batching,
                registry: Arc::clone(&registry),
                facts: Arc::clone(facts),
                stats: Arc::default(),
            };
            let post = Post { index, shared: Arc::clone(shared), role, spin: config.spin };
            WorkerBuilder { post, net, parts, design, sharing: Arc::clone(&sharing) }
        };
        nets.into_iter().enumerate().map(seat).collect()
    }
}

/// What the workers of each read design share.
enum DesignState<S> {
    FairRounds(Arc<fair_rounds::Shared<S>>),
    StaticPartition,
    DynamicPartition(Arc<dynamic_partition::Shared<S>>),
    RoundRobin(Arc<round_robin::Shared<Conn<S>>>),
    SharedQueue,
}

impl<S> DesignState<S> {
    fn new(design: &Design, workers: usize) -> Self {
        match design.read {
            design::Read::FairRounds => {
                DesignState::FairRounds(Arc::new(fair_rounds::Shared::new(workers)))
            }
            design::Read::StaticPartition => DesignState::StaticPartition,
            design::Read::DynamicPartition { period } => DesignState::DynamicPartition(Arc::new(
                dynamic_partition::Shared::new(workers, period),
            )),
            design::Read::RoundRobin => {
                DesignState::RoundRobin(Arc::new(round_robin::Shared::new()))
            }
            design::Read::SharedQueue { .. } => DesignState::SharedQueue,
        }
    }
}

/// What becomes of a worker once it is made, whatever its design.
pub(crate) trait Spawn<N: Net> {
    /// What comes of it.
    type Outcome;

    /// Does it.
    fn spawn<R: Read<N::Socket> + 'static, W: Write>(
        self,
        worker: Worker<N, R, W>,
    ) -> Self::Outcome;
}

/// Everything that a worker needs where it works.
pub(crate) struct WorkerBuilder<N: Net> {
    post: Post<N>,
    net: N,
    parts: PhaseParts<N::Socket>,
    design: Design,
    sharing: Arc<DesignState<N::Socket>>,
}

impl<N: Net> WorkerBuilder<N> {
    /// What the worker counts.
    pub(crate) fn stats(&self) -> &Arc<WorkerStats> {
        &self.parts.stats
    }

    /// What it counts of the applications.
    pub(crate) fn counted(&self) -> Arc<[AppStats]> {
        Arc::clone(self.parts.pipeline.counted())
    }

    /// Makes the worker.
    pub(crate) fn take<O: Spawn<N>>(self, then: O) -> O::Outcome {
        let index = self.post.index;
        let stats = Arc::clone(self.stats());
        match &*Arc::clone(&self.sharing) {
            DesignState::FairRounds(shared) => {
                self.read(FairRounds::new(index, Arc::clone(shared), stats), then)
            }
            DesignState::StaticPartition => self.read(StaticPartition::new(index), then),
            DesignState::DynamicPartition(shared) => {
                self.read(DynamicPartition::new(index, Arc::clone(shared)), then)
            }
            DesignState::RoundRobin(shared) => {
                let read_max = self.design.read_max;
                self.read(RoundRobin::new(Arc::clone(shared), read_max, stats), then)
            }
            DesignState::SharedQueue => self.read(SharedQueue::new(index), then),
        }
    }

    fn read<R: Read<N::Socket> + 'static, O: Spawn<N>>(self, read: R, then: O) -> O::Outcome {
        match self.design.write {
            design::Write::Batched => self.write::<R, Batched, O>(read, then),
            design::Write::Immediate => self.write::<R, Immediate, O>(read, then),
        }
    }

    fn write<R: Read<N::Socket> + 'static, W: Write, O: Spawn<N>>(
        self,
        read: R,
        then: O,
    ) -> O::Outcome {
        let WorkerBuilder { post, net, parts, design, .. } = self;
        let phases: Phases<N, W> = Phases::new(parts);
        then.spawn(Worker::new(post, net, phases, read, design.batching.start()))
    }
}
