//! A simulated network, simulated cores and simulated time: the very same workers as over `epoll`,
//! stepped one at a time on one thread, from a seed.
//!
//! It is for what a small machine cannot show: fairness, order, starvation and lost wake-ups with
//! up to 64 cores, and how the designs scale. What a step costs is measured elsewhere (`aldis lab
//! calibrate`) and charged here ([`Costs`]): system calls when they are made, requests when the
//! applications have run, cache lines when a connection, or the requests of a switch, go from one
//! core to another.
//!
//! Not simulated: waiting for a lock that another holds, memory that all cores share, the kernel's
//! own locks, and other processes. A simulation is therefore too kind to many cores;
//! no claim rests on it alone.

use std::cell::RefCell;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aldis_control::controller_event::{ControllerEvent, EventSink};
use aldis_control::session::{self, Close};
use aldis_control::stats::{Snapshot, WorkerStats};
use aldis_control::{AppSet, EventKind, Pipelines, Time};
use aldis_wire::DatapathId;

use crate::engine::Config;
use crate::engine::assemble::{Spawn, WorkerBuilder, WorkerPlan};
use crate::engine::publisher::Publisher;
use crate::messages::WorkerMessage;
use crate::metrics;
use crate::net::{Bell, Net, Readiness};
use crate::read::Read;
use crate::shared::Shared;
use crate::shared::inbox::Inbox;
use crate::worker::{Next, Worker};
use costs::Ps;
use world::{Bells, SimWorld, StepWork};

pub mod bare;
mod costs;
mod dice;
mod handshake;
pub mod in_memory;
mod outcome;
mod plan;
mod responder;
mod stream;
mod switch;
mod world;

pub use costs::{COST_MAX, CROWD, Costs};
pub use outcome::{SimOutcome, SimServed};
pub use plan::{
    Offer, ReadSpeed, SIMULATED_SWITCHES_MAX, SIMULATED_WORKERS_MAX, SimPlan, SimPlanError,
    SimulatedSwitch,
};
pub use responder::SimResponder;

/// Simulates what `plan` says, with the applications of `app_set`.
///
/// # Errors
/// What cannot be simulated about the plan.
pub fn run(plan: &SimPlan, app_set: &AppSet) -> Result<SimOutcome, SimPlanError> {
    run_and_watch(plan, app_set, Duration::MAX, &mut |_, _| {})
}

/// The same, and shows the engine's counters when measuring begins and each time that `every` has
/// passed since, with how long that is ago; and at the end.
///
/// # Errors
/// Those of [`run`].
pub fn run_and_watch(
    plan: &SimPlan,
    app_set: &AppSet,
    every: Duration,
    watch: &mut dyn FnMut(Duration, &Snapshot),
) -> Result<SimOutcome, SimPlanError> {
    plan.check()?;
    let mut stage = SimStage::set(plan, app_set.build().map_err(SimPlanError::Apps)?);
    let mut next = Duration::ZERO;
    while stage.step() {
        if let Some(since) = stage.measured_for().filter(|since| *since >= next) {
            watch(since, &stage.snapshot());
            next = since.saturating_add(every);
        }
    }
    let outcome = stage.outcome(plan);
    watch(plan.duration, &outcome.snapshot);
    Ok(outcome)
}

/// The simulated socket of one switch, at the controller's end.
#[derive(Debug)]
pub(crate) struct Socket {
    switch: usize,
    closed: Arc<AtomicBool>,
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.closed.store(true, Ordering::Relaxed);
    }
}

/// Wakes a simulated core.
#[derive(Clone, Debug)]
pub(crate) struct SimBell {
    core: usize,
    bells: Arc<Bells>,
}

impl Bell for SimBell {
    fn ring(&self) {
        self.bells.ring(self.core);
    }
}

/// The sockets and the clock of one simulated core.
#[derive(Debug)]
pub(crate) struct Sim {
    world: Rc<RefCell<SimWorld>>,
    bell: SimBell,
}

impl Net for Sim {
    type Socket = Socket;
    type Bell = SimBell;

    fn now(&self) -> Time {
        self.world.borrow().now(self.bell.core)
    }

    fn linger(&mut self) {
        self.world.borrow_mut().linger(self.bell.core);
    }

    fn bell(&self) -> SimBell {
        self.bell.clone()
    }

    fn register(&mut self, socket: &Socket, token: u64) -> io::Result<()> {
        self.world.borrow_mut().register(self.bell.core, socket.switch, token);
        Ok(())
    }

    fn deregister(&mut self, socket: &Socket) -> io::Result<()> {
        self.world.borrow_mut().deregister(self.bell.core, socket.switch);
        Ok(())
    }

    fn close(&mut self, socket: &Socket) {
        socket.closed.store(true, Ordering::Relaxed);
    }

    /// The worker said before this step that it would sleep, and the step was put off until there
    /// was a reason.
    fn poll(&mut self, _: Time, ready: &mut Vec<Readiness>) -> io::Result<()> {
        self.world.borrow_mut().poll(self.bell.core, ready);
        Ok(())
    }

    fn read(&mut self, socket: &Socket, into: &mut [u8]) -> io::Result<usize> {
        let read = self.world.borrow_mut().read(self.bell.core, socket.switch, into);
        read.ok_or(io::ErrorKind::WouldBlock.into())
    }

    fn write(&mut self, socket: &Socket, bytes: &[u8]) -> io::Result<usize> {
        let written = self.world.borrow_mut().write(self.bell.core, socket.switch, bytes);
        written.ok_or(io::ErrorKind::WouldBlock.into())
    }
}

/// A worker of any design.
trait StepWorker {
    fn step(&mut self) -> Next;
    fn lists(&self) -> usize;
    fn gathered(&self) -> usize;
}

impl<R: Read<Socket>> StepWorker for Worker<Sim, R> {
    fn step(&mut self) -> Next {
        Worker::step(self)
    }

    fn lists(&self) -> usize {
        Worker::lists(self)
    }

    fn gathered(&self) -> usize {
        Worker::gathered(self)
    }
}

struct Boxed;

impl Spawn<Sim> for Boxed {
    type Outcome = Box<dyn StepWorker>;

    fn spawn<R: Read<Socket> + 'static>(self, worker: Worker<Sim, R>) -> Box<dyn StepWorker> {
        Box::new(worker)
    }
}

/// Workers and the world, and what of them has been charged.
struct SimStage {
    world: Rc<RefCell<SimWorld>>,
    shared: Arc<Shared<Sim>>,
    actors: Vec<Actor>,
    ends: Arc<EndedConnections>,
    /// The publisher, where an application publishes a part of the World. It makes its steps when a
    /// core does.
    publisher: Option<Publisher>,
    publishes_at: Time,
    steps: u64,
    /// When the last step began.
    reached: Ps,
}

struct Actor {
    worker: Box<dyn StepWorker>,
    stats: Arc<WorkerStats>,
    /// Visits in the batch in hand.
    gathered: u64,
    /// What it had done before its last step.
    before: StepWork,
    /// Whether it runs what others read, and whether others run what it reads.
    pulls: bool,
    hands: bool,
    /// Lists of other workers that it looks into when its own has nothing for it.
    lists: u64,
}

impl SimStage {
    /// All connect at the same moment.
    fn set(plan: &SimPlan, pipelines: Pipelines) -> SimStage {
        let config = Config {
            listen: vec![],
            workers: plan.workers,
            design: plan.design,
            spin: plan.spin,
            session: session::Config::default(),
            knobs: plan.knobs.clone(),
        };
        let workers = WorkerPlan::of(&plan.design, plan.workers);
        let bells = Arc::new(Bells::new(workers.threads));
        let world = Rc::new(RefCell::new(SimWorld::new(plan, Arc::clone(&bells))));
        let net = |core| {
            let bell = SimBell { core, bells: Arc::clone(&bells) };
            Sim { world: Rc::clone(&world), bell }
        };
        let nets: Vec<Sim> = (0..workers.threads).map(net).collect();
        let inboxes = nets.iter().map(|net| Inbox::new(net.bell())).collect();
        let shared = workers.shared(&config, inboxes, &pipelines);
        let ends = Arc::<EndedConnections>::default();
        let event_sink: Arc<dyn EventSink> = ends.clone();
        let builders = workers.builders(&config, &shared, nets, &pipelines, &event_sink);
        let actor = |(core, builder): (usize, WorkerBuilder<Sim>)| {
            let stats = Arc::clone(builder.stats());
            let worker = builder.build(Boxed);
            Actor {
                stats,
                gathered: 0,
                before: StepWork::default(),
                pulls: workers.pulls(core),
                hands: workers.hands(core),
                lists: worker.lists() as u64 - 1,
                worker,
            }
        };
        let actors: Vec<Actor> = builders.into_iter().enumerate().map(actor).collect();
        for (core, _) in actors.iter().enumerate().filter(|(_, actor)| actor.hands) {
            world.borrow_mut().set_hands(core);
        }
        let acts = pipelines.line_up().may_start_on(EventKind::Publication);
        let publisher = Some(Publisher::new(pipelines.world_builder(), acts))
            .filter(|publisher| !publisher.is_idle());
        let stage = SimStage {
            world,
            shared,
            actors,
            ends,
            publisher,
            publishes_at: Time::START,
            steps: 0,
            reached: 0,
        };
        (0..plan.switches.len()).for_each(|switch| stage.connect(switch));
        stage
    }

    /// As the acceptor does it.
    fn connect(&self, switch: usize) {
        let socket = Socket { switch, closed: self.world.borrow().closed(switch) };
        let peer = SocketAddr::from((Ipv4Addr::LOCALHOST, (switch % 60_000) as u16 + 1));
        self.shared.connections.fetch_add(1, Ordering::Relaxed);
        let reader = (switch + 1) % self.shared.readers;
        let posted = self.shared.inboxes[reader].post(WorkerMessage::Adopt(socket, peer));
        posted.expect("an inbox holds all switches of a plan");
    }

    /// The next core makes a step. Returns false at the end.
    fn step(&mut self) -> bool {
        let Some(core) = self.world.borrow_mut().next_core() else { return false };
        self.steps += 1;
        let began = self.world.borrow().clock(core);
        self.reached = began;
        let actor = &mut self.actors[core];
        let next = actor.worker.step();
        let work = actor.work(next);
        self.publish(core);
        let until = match next {
            Next::Ready => None,
            Next::Until(until) => Some(until),
        };
        let mut world = self.world.borrow_mut();
        for (dpid, why) in self.ends.take() {
            world.note_end(dpid.0 as usize - 1, core, why);
        }
        world.stepped(core, began, work, until);
        true
    }

    /// Publishes what is new, at the time of this core.
    fn publish(&mut self, core: usize) {
        let now = self.world.borrow().now(core);
        if let Some(publisher) = &mut self.publisher
            && (self.shared.world.take_dirty() || self.publishes_at <= now)
        {
            self.publishes_at = publisher.step(now, &self.shared);
        }
    }

    /// How long has been measured, once that has begun.
    fn measured_for(&self) -> Option<Duration> {
        let begin = self.world.borrow().measures_from();
        self.reached.checked_sub(begin).map(|since| Duration::from_nanos(since / 1000))
    }

    /// The engine's counters as they are.
    fn snapshot(&self) -> Snapshot {
        let stats: Vec<_> = self.actors.iter().map(|actor| Arc::clone(&actor.stats)).collect();
        let world = self.world.borrow();
        let last = (0..stats.len()).map(|core| world.now(core)).max().unwrap_or(Time::START);
        metrics::snapshot(last, &stats, &self.shared)
    }

    fn outcome(self, plan: &SimPlan) -> SimOutcome {
        let snapshot = self.snapshot();
        let world = self.world.borrow();
        let served = |((dpid, (switch, unread)), planned): (
            (u64, (&switch::SimSwitch, usize)),
            &SimulatedSwitch,
        )| {
            let account = &switch.account;
            let rate = account.offered_measured as f64 / plan.duration.as_secs_f64();
            SimServed {
                weight: plan.knobs.weights.of(DatapathId(dpid)),
                demand: if planned.offer == Offer::Full { f64::INFINITY } else { rate },
                up: account.up,
                offered: account.offered,
                answered: account.answered,
                answered_measured: account.answered_measured,
                delay_ns: account.delay_ns.read(),
                fences: account.fences,
                disorder: account.disorder,
                strays: account.strays,
                unread,
                closed: account.closed.clone(),
            }
        };
        SimOutcome {
            measured: plan.duration,
            switches: (1..).zip(world.switches()).zip(&plan.switches).map(served).collect(),
            snapshot,
            steps: self.steps,
        }
    }
}

impl Actor {
    /// What it did in the step that it has just made.
    fn work(&mut self, next: Next) -> StepWork {
        let Actor { stats, before, .. } = self;
        let all = StepWork {
            batches: stats.batches.get(),
            requests: stats.requests.get(),
            visits: stats.visits.get(),
            // A worker that helped found its own list empty, and on average half of the others.
            lists: stats.helped_visits.get() * self.lists.div_ceil(2) + stats.skips.get(),
            ..StepWork::default()
        };
        let then = std::mem::replace(before, all);
        // A worker that goes to sleep has looked everywhere, twice.
        let in_vain = if next == Next::Ready { 0 } else { 2 * self.lists };
        let gathered = std::mem::replace(&mut self.gathered, self.worker.gathered() as u64);
        let (batches, requests) = (all.batches - then.batches, all.requests - then.requests);
        StepWork {
            batches,
            runs: if batches > 0 { gathered.max(batches) } else { 0 },
            requests,
            visits: all.visits - then.visits,
            lists: all.lists - then.lists + in_vain,
            pulled: self.pulls && batches > 0,
            handed: self.hands && batches == 0 && gathered > 0 && self.gathered == 0,
        }
    }
}

/// Connections that ended, and why.
#[derive(Debug, Default)]
struct EndedConnections {
    any: AtomicBool,
    ends: Mutex<Vec<(DatapathId, Close)>>,
}

impl EventSink for EndedConnections {
    fn emit(&self, event: ControllerEvent) {
        if let ControllerEvent::Down { dpid, why, .. } = event {
            self.any.store(true, Ordering::Relaxed);
            self.ends.lock().unwrap_or_else(PoisonError::into_inner).push((dpid, why));
        }
    }
}

impl EndedConnections {
    fn take(&self) -> Vec<(DatapathId, Close)> {
        if !self.any.swap(false, Ordering::Relaxed) {
            return vec![];
        }
        std::mem::take(&mut *self.ends.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests;
