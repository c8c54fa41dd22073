//! The threads of an engine: how they begin, and how they end together.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use aldis_control::{EventKind, Pipelines};

use crate::clock::Clock;
use crate::engine::assemble::{Spawn, WorkerBuilder};
use crate::engine::publisher::Publisher;
use crate::limits::STOP_WITHIN;
use crate::net::Net;
use crate::pin;
use crate::read::Read;
use crate::shared::Shared;
use crate::shared::inbox::Inbox;
use crate::worker::Worker;

/// Threads that run until they are stopped.
#[derive(Debug, Default)]
pub(crate) struct Threads {
    stop: Arc<AtomicBool>,
    running: Vec<JoinHandle<()>>,
}

impl Threads {
    /// Set when they are to end.
    pub(crate) fn stop_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    /// Starts the workers, bound to these cores in turn; to none where there are none.
    ///
    /// # Errors
    /// Which one did not start, and what the kernel says.
    pub(crate) fn start_workers<N: Net + Send + 'static>(
        &mut self,
        cores: &[usize],
        builders: Vec<WorkerBuilder<N>>,
    ) -> Result<(), (usize, io::Error)> {
        let leaving = Arc::new(AtomicUsize::new(builders.len()));
        for (index, builder) in builders.into_iter().enumerate() {
            let core = cores.get(index % cores.len().max(1)).copied();
            let exit = Exit { stop: self.stop_flag(), leaving: Arc::clone(&leaving) };
            let work = move || {
                core.into_iter().for_each(pin::pin);
                builder.build(exit);
            };
            self.spawn(format!("worker-{index}"), work).map_err(|error| (index, error))?;
        }
        Ok(())
    }

    /// Starts the publisher, where an application publishes a part of the World.
    ///
    /// # Errors
    /// What the kernel says.
    pub(crate) fn start_publisher<N: Net + 'static>(
        &mut self,
        pipelines: Pipelines,
        clock: Clock,
        shared: &Arc<Shared<N>>,
    ) -> io::Result<()> {
        let acts = pipelines.line_up().may_start_on(EventKind::Publication);
        let publisher = Publisher::new(pipelines.world_builder(), acts);
        if publisher.is_idle() {
            return Ok(());
        }
        let (shared, stop) = (Arc::clone(shared), self.stop_flag());
        self.spawn("publisher".into(), move || publisher.run(clock, &shared, &stop))
    }

    /// Another one, which looks at the stop sign itself.
    ///
    /// # Errors
    /// What the kernel says.
    pub(crate) fn spawn(
        &mut self,
        name: String,
        work: impl FnOnce() + Send + 'static,
    ) -> io::Result<()> {
        self.running.push(thread::Builder::new().name(name).spawn(work)?);
        Ok(())
    }

    /// Ends them all. From then on the shared takes no commands.
    pub(crate) fn stop<N: Net>(self, shared: &Shared<N>) {
        self.stop.store(true, Ordering::Relaxed);
        shared.inboxes.iter().for_each(Inbox::ring);
        shared.world.wake_publisher();
        for thread in self.running {
            // A worker that panicked said so already; the others still end in order.
            let _ = thread.join();
        }
        shared.close();
    }
}

/// How a worker's thread ends.
struct Exit {
    stop: Arc<AtomicBool>,
    /// Workers that may still serve any connection.
    leaving: Arc<AtomicUsize>,
}

impl Exit {
    /// Waits until every worker has done its last step; not for ever, for one may have panicked.
    fn wait_for_all(&self) {
        self.leaving.fetch_sub(1, Ordering::AcqRel);
        let deadline = Instant::now() + STOP_WITHIN;
        while self.leaving.load(Ordering::Acquire) > 0 && Instant::now() < deadline {
            thread::yield_now();
        }
    }
}

/// A worker steps on its thread until the engine stops.
impl<N: Net> Spawn<N> for Exit {
    type Outcome = ();

    fn spawn<R: Read<N::Socket> + 'static>(self, mut worker: Worker<N, R>) {
        while !self.stop.load(Ordering::Relaxed) {
            // Where it has to wait, its next step does.
            let _ = worker.step();
        }
        self.wait_for_all();
        worker.stop();
    }
}
