//! Switches in memory: sockets that always have the next request and take every answer.
//! The very same workers as over `epoll` serve them, on real threads and cores, by the real clock.
//!
//! It shows how the engine itself scales where the load needs no core: claims, rounds, queues
//! between threads, what workers share, and the caches. The switches shake hands, tell where their
//! hosts live, and then say the same round of requests again and again; every switch says it from
//! another place on.
//!
//! Not here: the kernel. There are no system calls but a sleeping worker's, no TCP, no interrupts
//! and no segments, so a request costs about two thirds of what it costs over sockets, and what
//! workers share weighs half as much again; what they share in the kernel weighs nothing. And all
//! switches read their requests from the same memory, which is never written.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use aldis_control::controller_event::{ControllerEvent, EventSink};
use aldis_control::{AppSet, Time, session};

use crate::clock::Clock;
use crate::conn::claim::Events;
use crate::design::{Design, Knobs};
use crate::engine::assemble::WorkerPlan;
use crate::engine::threads::Threads;
use crate::engine::{Config, StartError};
use crate::messages::WorkerMessage;
use crate::metrics::{self, Snapshot, WorkerStats};
use crate::net::{Bell, Net, Readiness};
use crate::shared::Shared;
use crate::shared::inbox::Inbox;
use script::MemoryScript;
use switch::MemorySwitch;

mod ends;
mod script;
mod switch;

pub use ends::MemoryEnds;

/// The workers, and the switches in memory.
#[derive(Clone, Debug)]
pub struct MemoryPlan {
    /// How switches are shared among workers.
    pub design: Design,
    /// Number of workers, at least 1; threads that only read come on top.
    pub workers: usize,
    /// The cores that threads are bound to, in turn; to none where there are none.
    pub cores: Vec<usize>,
    /// Switches, 1 to 10,000.
    pub switches: usize,
    /// Hosts of each, 2 to 65,536.
    pub hosts: u32,
    /// Requests that each makes, the first of which tell where its hosts live; without a limit it
    /// makes them for ever.
    pub limit: Option<u64>,
}

/// Running workers over switches in memory. Dropping it without [`InMemory::stop`] leaves its
/// threads running.
#[derive(Debug)]
pub struct InMemory {
    hosts: u64,
    clock: Clock,
    shared: Arc<Shared<MemoryNet>>,
    switches: Vec<Arc<MemorySwitch>>,
    stats: Vec<Arc<WorkerStats>>,
    threads: Threads,
}

impl InMemory {
    /// Starts the workers, with the applications of `app_set`, and connects all switches.
    ///
    /// # Errors
    /// Knobs that do not go together, applications that cannot work together, or a machine without
    /// threads to spare.
    pub fn start(plan: &MemoryPlan, app_set: &AppSet) -> Result<InMemory, StartError> {
        plan.design.check().map_err(StartError::Design)?;
        let program = app_set.build().map_err(StartError::Apps)?;
        let config = Config {
            listen: vec![],
            workers: plan.workers,
            design: plan.design,
            spin: false,
            session: session::Config::default(),
            knobs: Knobs::default(),
        };
        let (clock, worker_plan) = (Clock::start(), WorkerPlan::of(&plan.design, plan.workers));
        let nets: Vec<_> = (0..worker_plan.threads)
            .map(|_| MemoryNet { clock, post: WakeReason::default() })
            .collect();
        let inboxes = nets.iter().map(|net| Inbox::new(net.bell())).collect();
        let shared = worker_plan.shared(&config, inboxes, &program);
        let event_sink: Arc<dyn EventSink> = Arc::new(Unheard);
        let builders = worker_plan.builders(&config, &shared, nets, &program, &event_sink);
        let script = Arc::new(MemoryScript::new(plan.hosts));
        let limit = plan.limit.unwrap_or(u64::MAX);
        let switch = |number| Arc::new(MemorySwitch::new(number, Arc::clone(&script), limit));
        let mut in_memory = InMemory {
            hosts: plan.hosts.into(),
            clock,
            shared,
            switches: (1..=plan.switches as u64).map(switch).collect(),
            stats: builders.iter().map(|seat| Arc::clone(seat.stats())).collect(),
            threads: Threads::default(),
        };
        in_memory.connect();
        let threads = &mut in_memory.threads;
        let started = threads.start_workers(&plan.cores, builders).and_then(|()| {
            let started = threads.start_publisher(program, clock, &in_memory.shared);
            started.map_err(|error| (0, error))
        });
        match started {
            Ok(()) => Ok(in_memory),
            Err((index, error)) => {
                in_memory.stop();
                Err(StartError::Worker { index, error })
            }
        }
    }

    /// As the acceptor does it.
    fn connect(&self) {
        for (switch, reader) in self.switches.iter().zip((0..self.shared.readers).cycle()) {
            let peer = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
            self.shared.connections.fetch_add(1, Ordering::Relaxed);
            let posted =
                self.shared.inboxes[reader].post(WorkerMessage::Adopt(Arc::clone(switch), peer));
            posted.expect("an inbox holds all switches of a plan");
        }
    }

    /// Answers that each switch got: flows and packets sent out.
    pub fn answered(&self) -> impl Iterator<Item = u64> {
        self.switches.iter().map(|switch| switch.answered())
    }

    /// Whether every switch is connected and was answered about all of its hosts.
    pub fn is_learnt(&self) -> bool {
        self.shared.connections.load(Ordering::Relaxed) == self.switches.len()
            && self.answered().all(|answers| answers >= self.hosts)
    }

    /// Everything that is counted, now.
    pub fn snapshot(&self) -> Snapshot {
        metrics::snapshot(self.clock.now(), &self.stats, &self.shared)
    }

    /// Ends every thread.
    pub fn stop(self) {
        self.threads.stop(&self.shared);
    }
}

/// The sockets in memory that one worker polls, and the clock.
#[derive(Debug)]
pub(crate) struct MemoryNet {
    clock: Clock,
    post: WakeReason,
}

/// What a worker's poll returns for.
#[derive(Clone, Debug, Default)]
pub(crate) struct WakeReason(Arc<Letters>);

/// On cache lines of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Letters {
    writes: Mutex<Unread>,
    came: Condvar,
}

#[derive(Debug, Default)]
struct Unread {
    ready: Vec<u64>,
    rung: bool,
}

impl WakeReason {
    /// The socket that is registered as `token` became ready.
    fn announce(&self, token: u64) {
        lock(&self.0.writes).ready.push(token);
        self.0.came.notify_one();
    }
}

impl Bell for WakeReason {
    fn ring(&self) {
        lock(&self.0.writes).rung = true;
        self.0.came.notify_one();
    }
}

impl Net for MemoryNet {
    type Socket = Arc<MemorySwitch>;
    type Bell = WakeReason;

    #[inline]
    fn now(&self) -> Time {
        self.clock.now()
    }

    fn bell(&self) -> WakeReason {
        self.post.clone()
    }

    fn register(&mut self, socket: &Arc<MemorySwitch>, token: u64) -> io::Result<()> {
        socket.register(Some((self.post.clone(), token)));
        Ok(())
    }

    fn deregister(&mut self, socket: &Arc<MemorySwitch>) -> io::Result<()> {
        socket.register(None);
        Ok(())
    }

    fn poll(&mut self, until: Time, ready: &mut Vec<Readiness>) -> io::Result<()> {
        let Letters { writes, came } = &*self.post.0;
        let mut unread = lock(writes);
        while until > Time::START && !unread.rung && unread.ready.is_empty() {
            let left = until.since(self.clock.now());
            if left.is_zero() {
                break;
            }
            let waited = came.wait_timeout(unread, left);
            unread = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        unread.rung = false;
        let events = Events::READABLE.with(Events::WRITABLE);
        ready.extend(unread.ready.drain(..).map(|token| Readiness { token, events }));
        Ok(())
    }

    #[inline]
    fn read(&mut self, socket: &Arc<MemorySwitch>, into: &mut [u8]) -> io::Result<usize> {
        match socket.say(into) {
            0 => Err(io::ErrorKind::WouldBlock.into()),
            said => Ok(said),
        }
    }

    #[inline]
    fn write(&mut self, socket: &Arc<MemorySwitch>, bytes: &[u8]) -> io::Result<usize> {
        socket.hear(bytes);
        Ok(bytes.len())
    }
}

/// Drops all controller events.
struct Unheard;

impl EventSink for Unheard {
    fn emit(&self, _: ControllerEvent) {}
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
