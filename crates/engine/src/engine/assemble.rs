//! Assembling workers: how many a design has, what each of them does, and what they share.
//!
//! Here the choice of a design becomes a type. A [`WorkerBuilder`] makes one monomorphic worker,
//! and gives it to a [`Spawn`], which runs it on a thread or in a simulation.

use std::ops::Range;
use std::sync::Arc;

use aldis_control::Pipelines;
use aldis_control::controller_event::EventSink;

use super::Config;
use crate::conn::Conn;
use crate::design::{self, Design};
use crate::metrics::WorkerStats;
use crate::net::Net;
use crate::read::Read;
use crate::read::dynamic_partition::{self, DynamicPartition};
use crate::read::fair_rounds::{self, FairRounds};
use crate::read::round_robin::{self, RoundRobin};
use crate::read::shared_queue::SharedQueue;
use crate::read::shared_queue::handoff::{Handoff, Role};
use crate::read::shared_queue::queue::BatchQueue;
use crate::read::static_partition::StaticPartition;
use crate::shared::Shared;
use crate::shared::inbox::Inbox;
use crate::shared::registry::Registry;
use crate::worker::{Worker, WorkerParts};

/// How many workers there are, and what each does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WorkerPlan {
    /// All workers, each on its thread.
    pub(crate) threads: usize,
    /// The first of them, which have connections.
    readers: usize,
    /// Whether a request is answered by the worker that read it.
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

    /// The workers that answer requests.
    fn answerers(&self) -> Range<usize> {
        if self.readers == self.threads { 0..self.threads } else { self.readers..self.threads }
    }

    /// The role of a worker in the handoff, where there is one.
    fn role(&self, index: usize) -> Option<Role> {
        match self {
            WorkerPlan { bound: true, .. } => None,
            WorkerPlan { readers, threads, .. } if readers == threads => Some(Role::Both),
            WorkerPlan { readers, .. } if index < *readers => Some(Role::Read),
            _ => Some(Role::Answer),
        }
    }

    /// Whether a worker may run what others read.
    pub(crate) fn pulls(&self, index: usize) -> bool {
        matches!(self.role(index), Some(Role::Answer | Role::Both))
    }

    /// Whether a worker hands on what it read.
    pub(crate) fn hands(&self, index: usize) -> bool {
        matches!(self.role(index), Some(Role::Read | Role::Both))
    }

    /// What all workers share.
    pub(crate) fn shared<N: Net>(
        &self,
        config: &Config,
        inboxes: Box<[Inbox<N>]>,
        pipelines: &Pipelines,
    ) -> Arc<Shared<N>> {
        let Config { design, knobs, session, .. } = config;
        let knobs = knobs.clone().over(design);
        let prt = knobs.prt.unwrap_or(usize::MAX);
        let per_switch = matches!(design.read, design::Read::SharedQueue { per_switch: true, .. });
        let batches = Arc::new(BatchQueue::new(prt, per_switch));
        let (readers, answerers) = (self.readers, self.answerers());
        let session = session.clone();
        Arc::new(Shared::new(inboxes, readers, answerers, session, batches, knobs, pipelines))
    }

    /// A builder for each worker.
    pub(crate) fn builders<N: Net + 'static>(
        self,
        config: &Config,
        shared: &Arc<Shared<N>>,
        nets: Vec<N>,
        pipelines: &Pipelines,
        event_sink: &Arc<dyn EventSink>,
    ) -> Vec<WorkerBuilder<N>> {
        let registry = Arc::new(Registry::default());
        let state = Arc::new(DesignState::new(&config.design, self.threads));
        let builder = |(index, net)| {
            let (mut output, rooms) = (pipelines.output(index as u8), Arc::clone(shared));
            // One that is not connected gets nothing, whatever is said to it.
            output.ask_room(move |switch| {
                rooms.switches.find(switch).map_or(usize::MAX, |conn| conn.outgoing.room())
            });
            let handoff = |role| Handoff::new(role, Arc::clone(&shared.batches));
            let parts = WorkerParts {
                index,
                net,
                shared: Arc::clone(shared),
                registry: Arc::clone(&registry),
                event_sink: Arc::clone(event_sink),
                stats: Arc::default(),
                pipeline: pipelines.pipeline(index as u8),
                output,
                design: config.design,
                handoff: self.role(index).map(handoff),
                spin: config.spin,
                has_world: pipelines.world().version() > 0,
            };
            WorkerBuilder { parts, state: Arc::clone(&state) }
        };
        nets.into_iter().enumerate().map(builder).collect()
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
            design::Read::DynamicPartition { period, hysteresis } => {
                let shared = dynamic_partition::Shared::new(workers, period, hysteresis);
                DesignState::DynamicPartition(Arc::new(shared))
            }
            design::Read::RoundRobin => {
                DesignState::RoundRobin(Arc::new(round_robin::Shared::new()))
            }
            design::Read::SharedQueue { .. } => DesignState::SharedQueue,
        }
    }
}

/// Takes a worker of any design.
pub(crate) trait Spawn<N: Net> {
    /// What comes of it.
    type Outcome;

    /// Runs the worker, or keeps it to be run.
    fn spawn<R: Read<N::Socket> + 'static>(self, worker: Worker<N, R>) -> Self::Outcome;
}

/// Makes one worker, on the thread where it will run.
pub(crate) struct WorkerBuilder<N: Net> {
    parts: WorkerParts<N>,
    state: Arc<DesignState<N::Socket>>,
}

impl<N: Net> WorkerBuilder<N> {
    /// The counters of the worker.
    pub(crate) fn stats(&self) -> &Arc<WorkerStats> {
        &self.parts.stats
    }

    /// What the worker would be made of.
    pub(crate) fn into_parts(self) -> WorkerParts<N> {
        self.parts
    }

    /// Makes the worker.
    pub(crate) fn build<O: Spawn<N>>(self, spawn: O) -> O::Outcome {
        let WorkerBuilder { parts, state } = self;
        let index = parts.index;
        let stats = Arc::clone(&parts.stats);
        match &*state {
            DesignState::FairRounds(shared) => {
                let read = FairRounds::new(index, Arc::clone(shared), stats);
                spawn.spawn(Worker::new(parts, read))
            }
            DesignState::StaticPartition => {
                spawn.spawn(Worker::new(parts, StaticPartition::new(index)))
            }
            DesignState::DynamicPartition(shared) => {
                let read = DynamicPartition::new(index, Arc::clone(shared));
                spawn.spawn(Worker::new(parts, read))
            }
            DesignState::RoundRobin(shared) => {
                let read = RoundRobin::new(Arc::clone(shared), parts.design.read_max, stats);
                spawn.spawn(Worker::new(parts, read))
            }
            DesignState::SharedQueue => {
                let read = SharedQueue::new(index, &parts.design);
                spawn.spawn(Worker::new(parts, read))
            }
        }
    }
}
