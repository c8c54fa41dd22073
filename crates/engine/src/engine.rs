//! Starting and stopping: listeners, workers, and the threads they run on.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use aldis_control::controller_event::EventSink;
use aldis_control::pipeline::AppSetError;
use aldis_control::{AppSet, session};

use crate::clock::Clock;
use crate::design::{Contradiction, Design, Knobs};
use crate::handle::Handle;
use crate::limits::{CONNECTIONS_MAX, DESCRIPTORS_SPARE, RECEIVE_BUFFER_OF_ALL};
use crate::metrics::{Snapshot, WorkerStats};
use crate::net::Net;
use crate::net::epoll::Epoll;
use crate::net::tls::Identity;
use crate::pin;
use crate::shared::inbox::Inbox;

pub(crate) mod assemble;
mod listen;
pub(crate) mod publisher;
pub(crate) mod threads;

use crate::guard::guard;
use assemble::WorkerPlan;
use listen::{Acceptor, listen};
use threads::Threads;

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
    /// What can be changed later.
    pub knobs: Knobs,
}

/// Where switches connect over TLS, and the controller's identity there.
#[derive(Clone, Debug)]
pub struct Secure {
    /// The addresses to listen on.
    pub listen: Vec<SocketAddr>,
    /// The controller's certificate and key, and the authorities that it trusts.
    pub identity: Identity,
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
    /// The design's knobs do not go together.
    Design(Contradiction),
    /// The applications cannot work together.
    Apps(AppSetError),
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
                    "cannot listen on {addr}: the port is taken, perhaps by another \
                     controller; stop it, or choose another \
                 port with --listen"
                )
            }
            StartError::Listen { addr, error } => write!(f, "cannot listen on {addr}: {error}"),
            StartError::Design(why) => write!(f, "{why}"),
            StartError::Apps(why) => write!(f, "{why}"),
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
    listening_tls: Vec<SocketAddr>,
    handle: Handle,
    threads: Threads,
}

impl Engine {
    /// Starts to listen and to serve.
    ///
    /// # Errors
    /// Applications that cannot work together, a busy port, or a machine without descriptors or
    /// threads to spare. Nothing is left behind.
    pub fn start(
        config: &Config,
        app_set: AppSet,
        event_sink: Arc<dyn EventSink>,
    ) -> Result<Engine, StartError> {
        Engine::start_secure(config, None, app_set, event_sink)
    }

    /// Likewise, also for switches over TLS.
    ///
    /// # Errors
    /// As [`Engine::start`].
    pub fn start_secure(
        config: &Config,
        secure: Option<&Secure>,
        app_set: AppSet,
        event_sink: Arc<dyn EventSink>,
    ) -> Result<Engine, StartError> {
        config.design.check().map_err(StartError::Design)?;
        let pipelines = app_set.build().map_err(StartError::Apps)?.guarded(guard);
        let plain = config.listen.iter().map(|addr| (*addr, None));
        let secure = secure.into_iter().flat_map(|Secure { listen, identity }| {
            listen.iter().map(|addr| (*addr, Some(identity.clone())))
        });
        let listener = |(addr, identity)| match listen(addr) {
            Ok(listener) => Ok((listener, identity)),
            Err(error) => Err(StartError::Listen { addr, error }),
        };
        let listeners = plain.chain(secure).map(listener).collect::<Result<Vec<_>, _>>()?;
        let listening = |over_tls: bool| {
            let those = listeners.iter().filter(|(_, identity)| identity.is_some() == over_tls);
            those.filter_map(|(listener, _)| listener.local_addr().ok()).collect()
        };
        let clock = Clock::start();
        let worker = |index| Epoll::new(clock).map_err(|error| StartError::Worker { index, error });
        let plan = WorkerPlan::of(&config.design, config.workers);
        let nets = (0..plan.threads).map(worker).collect::<Result<Vec<_>, _>>()?;
        let inboxes = nets.iter().map(|net| Inbox::new(net.bell())).collect();
        let shared = plan.shared(config, inboxes, &pipelines);
        let builders = plan.builders(config, &shared, nets, &pipelines, &event_sink);
        let stats: Vec<_> = builders.iter().map(|builder| Arc::clone(builder.stats())).collect();
        let mut engine = Engine {
            listening: listening(false),
            listening_tls: listening(true),
            handle: Handle {
                clock,
                design: config.design,
                shared: Arc::clone(&shared),
                stats: stats.into(),
                queues: pipelines.queues(),
                changing: Arc::default(),
            },
            threads: Threads::default(),
        };
        let acceptor = Acceptor {
            listeners,
            shared,
            connections_max: CONNECTIONS_MAX
                .min(pin::descriptors().saturating_sub(DESCRIPTORS_SPARE)),
            received_max: received_max(&config.knobs),
            event_sink: Arc::clone(&event_sink),
            stop: engine.threads.stop_flag(),
        };
        let threads = &mut engine.threads;
        let cores = if config.design.core_binding { pin::cores() } else { vec![] };
        let started = threads.start_workers(&cores, builders);
        let rest = |error| (0, error);
        let started = started
            .and_then(|()| threads.spawn("acceptor".into(), move || acceptor.run()).map_err(rest));
        let started = started.and_then(|()| {
            threads.start_publisher(pipelines, clock, &engine.handle.shared).map_err(rest)
        });
        match started {
            Ok(()) => Ok(engine),
            Err((index, error)) => {
                engine.stop();
                Err(StartError::Worker { index, error })
            }
        }
    }

    /// The addresses it listens on; where port 0 was asked for, the one it got.
    pub fn listening(&self) -> &[SocketAddr] {
        &self.listening
    }

    /// Where it listens for those that speak TLS.
    pub fn listening_tls(&self) -> &[SocketAddr] {
        &self.listening_tls
    }

    /// The counters of each worker; I/O threads, where the design has them, come first.
    pub fn stats(&self) -> &[Arc<WorkerStats>] {
        &self.handle.stats
    }

    /// What the outside may hold, from any thread and as long as it likes.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// All counters, now.
    pub fn snapshot(&self) -> Snapshot {
        self.handle.snapshot()
    }

    /// Closes every connection and ends every thread. Flows stay on the switches.
    pub fn stop(self) {
        self.threads.stop(&self.handle.shared);
    }
}

/// Bytes that the kernel may hold of what all switches sent.
fn received_max(knobs: &Knobs) -> usize {
    knobs.received_max.map_or(RECEIVE_BUFFER_OF_ALL, |most| most.min(RECEIVE_BUFFER_OF_ALL))
}
