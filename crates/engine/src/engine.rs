//! Starting and stopping: listeners, workers, and the threads they run on.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};

use aldis_control::fact::Facts;
use aldis_control::{Recipe, session};

use crate::clock::Clock;
use crate::design::{self, Design};
use crate::desk::Desk;
use crate::inbox::Inbox;
use crate::limits::{CONNECTIONS_MAX, DESCRIPTORS_SPARE};
use crate::listen::{Acceptor, listen};
use crate::metrics::Counters;
use crate::net::epoll::Epoll;
use crate::pin;
use crate::read::Read;
use crate::read::static_partition::StaticPartition;
use crate::registry::Registry;
use crate::worker::{Post, Worker};
use crate::write::Write;
use crate::write::batched::Batched;
use crate::write::immediate::Immediate;

/// How an engine is to run.
#[derive(Clone, Debug)]
pub struct Config {
    /// The addresses to listen on.
    pub listen: Vec<SocketAddr>,
    /// Number of workers, at least 1; see [`pin::workers_default`].
    pub workers: usize,
    /// How switches are shared among workers.
    pub design: Design,
    /// Whether workers poll without ever sleeping: less delay for a core that is always busy.
    pub spin: bool,
    /// How sessions are held.
    pub session: session::Config,
}

/// Why an engine did not start.
#[derive(Debug)]
pub enum StartError {
    /// An address cannot be listened on.
    Listen {
        /// The address.
        addr: SocketAddr,
        /// What the kernel says.
        error: io::Error,
    },
    /// A worker could not be made.
    Worker {
        /// Which one, from 0.
        index: usize,
        /// What the kernel says.
        error: io::Error,
    },
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::Listen { addr, error } if error.kind() == io::ErrorKind::AddrInUse => {
                write!(
                    f,
                    "cannot listen on {addr}: the port is taken, perhaps by another controller; stop it, or choose another \
                 port with --listen"
                )
            }
            StartError::Listen { addr, error } => write!(f, "cannot listen on {addr}: {error}"),
            StartError::Worker { index, error } => {
                write!(f, "cannot start worker {index}: {error}")
            }
        }
    }
}

impl std::error::Error for StartError {}

/// A running engine. Dropping it without [`Engine::stop`] leaves its threads running.
#[derive(Debug)]
pub struct Engine {
    listening: Vec<SocketAddr>,
    stop: Arc<AtomicBool>,
    inboxes: Arc<[Inbox]>,
    counters: Vec<Arc<Counters>>,
    threads: Vec<JoinHandle<()>>,
}

impl Engine {
    /// Starts to listen and to serve.
    ///
    /// # Errors
    /// A busy port, or a machine without descriptors or threads to spare. Nothing is left behind.
    pub fn start(
        config: &Config,
        recipe: Recipe,
        facts: Arc<dyn Facts>,
    ) -> Result<Engine, StartError> {
        let listener = |&addr| listen(addr).map_err(|error| StartError::Listen { addr, error });
        let listeners = config.listen.iter().map(listener).collect::<Result<Vec<_>, _>>()?;
        let listening =
            listeners.iter().filter_map(|listener| listener.local_addr().ok()).collect();
        let worker = |index| Epoll::new().map_err(|error| StartError::Worker { index, error });
        let nets = (0..config.workers.max(1)).map(worker).collect::<Result<Vec<_>, _>>()?;
        let inboxes: Arc<[Inbox]> = nets.iter().map(|net| Inbox::new(net.bell())).collect();
        let mut engine =
            Engine { listening, stop: Arc::default(), inboxes, counters: vec![], threads: vec![] };
        let connections = Arc::new(AtomicUsize::new(0));
        let acceptor = Acceptor {
            listeners,
            inboxes: Arc::clone(&engine.inboxes),
            connections: Arc::clone(&connections),
            connections_max: CONNECTIONS_MAX
                .min(pin::descriptors().saturating_sub(DESCRIPTORS_SPARE)),
            facts: Arc::clone(&facts),
            stop: Arc::clone(&engine.stop),
        };
        let started = engine.start_workers(config, nets, &recipe, &facts, &connections);
        let started =
            started.and_then(|()| engine.spawn(0, "acceptor".into(), move || acceptor.run()));
        match started {
            Ok(()) => Ok(engine),
            Err(error) => {
                engine.stop();
                Err(error)
            }
        }
    }

    /// The addresses it listens on; where port 0 was asked for, the one it got.
    pub fn listening(&self) -> &[SocketAddr] {
        &self.listening
    }

    /// The counters of each worker.
    pub fn counters(&self) -> &[Arc<Counters>] {
        &self.counters
    }

    /// Closes every connection and ends every thread. Flows stay on the switches.
    pub fn stop(self) {
        self.stop.store(true, Ordering::Relaxed);
        self.inboxes.iter().for_each(Inbox::ring);
        for thread in self.threads {
            // A worker that panicked said so already; the others still end in order.
            let _ = thread.join();
        }
    }

    fn start_workers(
        &mut self,
        config: &Config,
        nets: Vec<Epoll>,
        recipe: &Recipe,
        facts: &Arc<dyn Facts>,
        connections: &Arc<AtomicUsize>,
    ) -> Result<(), StartError> {
        let registry = Arc::new(Registry::default());
        let cores = pin::cores();
        let clock = Clock::start();
        for (index, net) in nets.into_iter().enumerate() {
            let counters = Arc::new(Counters::default());
            self.counters.push(Arc::clone(&counters));
            let post = Post {
                index,
                clock,
                inboxes: Arc::clone(&self.inboxes),
                connections: Arc::clone(connections),
                session: Arc::new(config.session.clone()),
                spin: config.spin,
            };
            let (registry, facts) = (Arc::clone(&registry), Arc::clone(facts));
            let (pipeline, read_max) = (recipe.pipeline(), config.design.read_max);
            let core = cores.get(index % cores.len().max(1)).copied();
            let stop = Arc::clone(&self.stop);
            let run = match (config.design.read, config.design.write) {
                (design::Read::StaticPartition, design::Write::Batched) => {
                    run::<StaticPartition, Batched>
                }
                (design::Read::StaticPartition, design::Write::Immediate) => {
                    run::<StaticPartition, Immediate>
                }
            };
            let work = move || {
                core.into_iter().for_each(pin::pin);
                run(post, net, Bench { pipeline, read_max, registry, facts, counters }, &stop);
            };
            self.spawn(index, format!("worker-{index}"), work)?;
        }
        Ok(())
    }

    fn spawn(
        &mut self,
        index: usize,
        name: String,
        work: impl FnOnce() + Send + 'static,
    ) -> Result<(), StartError> {
        let thread = thread::Builder::new().name(name).spawn(work);
        self.threads.push(thread.map_err(|error| StartError::Worker { index, error })?);
        Ok(())
    }
}

/// What a worker's desk is made of.
struct Bench {
    pipeline: aldis_control::Pipeline,
    read_max: usize,
    registry: Arc<Registry>,
    facts: Arc<dyn Facts>,
    counters: Arc<Counters>,
}

fn run<R: Read, W: Write>(post: Post, net: Epoll, bench: Bench, stop: &AtomicBool) {
    let Bench { pipeline, read_max, registry, facts, counters } = bench;
    let desk: Desk<W> = Desk::new(pipeline, read_max, registry, facts, counters);
    let mut worker = Worker::new(post, net, desk);
    while !stop.load(Ordering::Relaxed) {
        worker.step::<R>();
    }
    worker.stop();
}
