//! A replay: the workers of a controller, driven by a recording of its control channel.
//!
//! ```text
//!   recording ──events──▶ Replay ──▶ worker: visit, batch, tell, tick … ──▶ bytes for each switch
//! ```
//!
//! The same workers, sessions and applications as in a controller that runs, without threads,
//! sockets and clocks. What a worker read, when it ran its batch, which version of the World it
//! had, and what it told its applications stands in the recording, and so does the time. What
//! comes out is what the switches would have been sent.
//!
//! Not played again: what came over HTTP and is no message to a switch, as new rules; shedding; the
//! handing on of batches in designs with a queue; sockets that were full.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use aldis_control::controller_event::{ControllerEvent, EventSink};
use aldis_control::world::{TakenReports, WorldBuilder};
use aldis_control::{AppSet, Event, Time, World};
use aldis_recording::{ConnKey, Endpoints, Mark, PlayedEvent, WholeEvent};
use aldis_wire::{Chop, DatapathId};

use crate::command::reply_slot::ReplySlot;
use crate::command::{answer, awaits_reply_of};
use crate::conn::{Conn, ConnId};
use crate::design::{self, Design};
use crate::engine::assemble::WorkerPlan;
use crate::engine::{Config, StartError};
use crate::guard::guard;
use crate::limits::{
    READ_LARGEST, REPLAY_BATCH_MAX, REPLAY_REPLIES_MAX, REPLAY_WORLDS, WORKERS_MAX,
};
use crate::messages::QueuedCommand;
use crate::net::Net;
use crate::shared::Shared;
use crate::shared::inbox::Inbox;
use crate::worker::ReplayWorker;

mod net;

use net::{ReplayNet, ReplaySocket, ReplayedWrites};

/// Whether batches of a design run where they were read, which a replay needs.
pub fn can_replay(design: &Design) -> bool {
    design.request_binding && !matches!(design.read, design::Read::SharedQueue { .. })
}

/// Why an event cannot be played.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unplayable {
    /// It is of a worker that there is not.
    Worker(u16),
    /// It makes a batch longer than any worker gathers.
    Batch,
}

impl fmt::Display for Unplayable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unplayable::Worker(worker) => {
                write!(f, "it is of worker {worker}, which the head does not have")
            }
            Unplayable::Batch => f.write_str("no worker gathers a batch that long"),
        }
    }
}

impl std::error::Error for Unplayable {}

/// A controller that a recording drives.
pub struct Replay {
    workers: Vec<ReplayWorker<ReplayNet>>,
    shared: Arc<Shared<ReplayNet>>,
    now: Rc<Cell<Time>>,
    written: Rc<RefCell<ReplayedWrites>>,
    world_builder: WorldBuilder,
    /// The newest Worlds, by their versions in the recording.
    worlds: VecDeque<(u64, Arc<World>)>,
    conns: HashMap<ConnKey, Arc<Conn<ReplaySocket>>>,
    opened: u64,
    /// For each worker, replies to its applications that other workers read.
    replies: Vec<VecDeque<(Arc<Conn<ReplaySocket>>, Event)>>,
    /// For each worker, the poll in which it told of seconds and did not send yet.
    telling: Vec<Option<u64>>,
}

impl fmt::Debug for Replay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replay").field("conns", &self.conns.len()).finish_non_exhaustive()
    }
}

impl Replay {
    /// With the sessions and the workers of the configuration, and these applications. What it says
    /// of listening and of the design does not count.
    ///
    /// # Errors
    /// Applications that cannot work together.
    pub fn start(config: &Config, app_set: AppSet) -> Result<Replay, StartError> {
        let design = Design { read_max: READ_LARGEST, shed: false, ..Design::default() };
        let workers = config.workers.clamp(1, WORKERS_MAX);
        let config = Config { design, workers, ..config.clone() };
        let pipelines = app_set.build().map_err(StartError::Apps)?.guarded(guard);
        let (now, written) = (Rc::default(), Rc::default());
        let net = |worker| ReplayNet {
            worker: worker as u16,
            now: Rc::clone(&now),
            written: Rc::clone(&written),
        };
        let nets: Vec<_> = (0..workers).map(net).collect();
        let plan = WorkerPlan::of(&design, workers);
        let inboxes = nets.iter().map(|net| Inbox::new(net.bell())).collect();
        let shared = plan.shared(&config, inboxes, &pipelines);
        let event_sink: Arc<dyn EventSink> = Arc::new(Untold);
        let builders = plan.builders(&config, &shared, nets, &pipelines, &event_sink);
        let world = pipelines.world();
        let worker = |parts| ReplayWorker::for_replay(parts, Arc::clone(&world));
        Ok(Replay {
            workers: builders.into_iter().map(|builder| worker(builder.into_parts())).collect(),
            shared,
            now,
            written,
            world_builder: pipelines.world_builder(),
            worlds: [(world.version(), world)].into(),
            conns: HashMap::new(),
            opened: 0,
            replies: (0..workers).map(|_| VecDeque::new()).collect(),
            telling: vec![None; workers],
        })
    }

    /// Plays an event. What was written is passed over, but for commands from outside, which are
    /// sent again.
    ///
    /// # Errors
    /// It cannot have happened in a controller.
    pub fn play(&mut self, played: &PlayedEvent) -> Result<(), Unplayable> {
        let (at, index) = (Time(played.at_ns), usize::from(played.worker));
        match &played.event {
            WholeEvent::Known { .. }
            | WholeEvent::Gap { .. }
            | WholeEvent::Written { outside: false, .. } => return Ok(()),
            WholeEvent::Published { began_ns, version, taken } => {
                let taken = TakenReports::read(taken);
                let _ = self.world_builder.step_again(Time(*began_ns), &taken);
                let world = Arc::clone(self.world_builder.world());
                if self.worlds.len() == REPLAY_WORLDS {
                    self.worlds.pop_front();
                }
                self.worlds.push_back((*version, world));
                return Ok(());
            }
            _ => {}
        }
        if index >= self.workers.len() {
            return Err(Unplayable::Worker(played.worker));
        }
        let _ = self.prepare(played);
        self.now.set(at.max(self.now.get()));
        self.workers[index].set_now(at);
        self.play_at(index, played)?;
        self.pass_on();
        Ok(())
    }

    /// Finishes what came before an event, which is played next: seconds that were told in one poll
    /// are sent together. Returns whether nothing more comes of what was played before.
    pub fn prepare(&mut self, played: &PlayedEvent) -> bool {
        let Some(telling) = self.telling.get_mut(usize::from(played.worker)) else { return true };
        let goes_on = match played.event {
            WholeEvent::Written { outside: false, .. }
            | WholeEvent::Marked(Mark::Entered { .. }) => return false,
            WholeEvent::Marked(Mark::Told { second: true, .. }) => *telling == Some(played.at_ns),
            _ => false,
        };
        if !goes_on && telling.take().is_some() {
            self.workers[usize::from(played.worker)].play_sent();
        }
        !goes_on
    }

    fn play_at(&mut self, index: usize, played: &PlayedEvent) -> Result<(), Unplayable> {
        let worker = &mut self.workers[index];
        match &played.event {
            WholeEvent::Opened { conn, ends } => self.open(index, *conn, ends),
            WholeEvent::Read { conn, bytes } => return self.read(index, *conn, bytes),
            WholeEvent::Written { conn, bytes, .. } => self.command(index, *conn, bytes),
            WholeEvent::Closed { conn } => {
                if let Some(conn) = self.conns.remove(conn) {
                    worker.play_closed(&conn);
                }
            }
            WholeEvent::Marked(mark) => self.marked(index, *mark, played.at_ns),
            WholeEvent::Known { .. } | WholeEvent::Gap { .. } | WholeEvent::Published { .. } => {}
        }
        Ok(())
    }

    fn open(&mut self, index: usize, key: ConnKey, ends: &Endpoints) {
        let id = ConnId(self.opened);
        self.opened += 1;
        self.workers[index].play_opened(ReplaySocket(key), ends.peer);
        let conn = self.shared.directory().get(&id).map(Arc::clone);
        self.conns.extend(conn.map(|conn| (key, conn)));
    }

    fn read(&mut self, index: usize, key: ConnKey, bytes: &[u8]) -> Result<(), Unplayable> {
        let (Some(conn), worker) = (self.conns.get(&key), &mut self.workers[index]) else {
            return Ok(());
        };
        if let Err(more) = worker.play_read(conn, bytes)
            && (!worker.make_room(more, REPLAY_BATCH_MAX) || worker.play_read(conn, bytes).is_err())
        {
            return Err(Unplayable::Batch);
        }
        Ok(())
    }

    fn command(&mut self, index: usize, key: ConnKey, bytes: &[u8]) {
        let Some(conn) = self.conns.get(&key) else { return };
        let Some(switch) = conn.main_of() else { return };
        let version = switch.info.version;
        let (sender, _answer) = answer::channel(switch.info.dpid, version);
        let messages = Chop::new(bytes).map_while(Result::ok);
        let mut slots: Vec<_> =
            messages.map(|raw| ReplySlot::new(awaits_reply_of(version, raw.header.kind))).collect();
        // The barrier behind the last message has none.
        slots.pop();
        let (conn, bytes, by) = (Arc::clone(conn), bytes.to_vec(), Time::NEVER);
        self.workers[index].play_command(QueuedCommand { conn, bytes, slots, by, sender });
    }

    fn marked(&mut self, index: usize, mark: Mark, at_ns: u64) {
        let world_of = |version| world_of(&self.worlds, version);
        let worker = &mut self.workers[index];
        match mark {
            Mark::Batch { .. } => {
                worker.play_batch();
                self.workers.iter_mut().for_each(ReplayWorker::play_left_over);
            }
            Mark::Entered { version } => worker.set_world(world_of(version)),
            Mark::Told { conn, second: true } => {
                if let Some(conn) = self.conns.get(&conn) {
                    worker.play_second(conn);
                    self.telling[index] = Some(at_ns);
                }
            }
            Mark::Told { conn, second: false } => {
                let replies = &mut self.replies[index];
                let Some(conn) = self.conns.get(&conn) else { return };
                let first = replies.iter().position(|(of, _)| Arc::ptr_eq(of, conn));
                if let Some((conn, event)) = first.and_then(|first| replies.remove(first)) {
                    worker.play_heard(&conn, &event);
                }
            }
            Mark::Ticked => worker.play_ticked(),
            Mark::Roused => worker.play_roused(),
            Mark::Acted { before, after } => {
                worker.play_acted(&world_of(before), &world_of(after));
            }
            Mark::Apps { .. } | Mark::LineUp { .. } | Mark::Shed { .. } => {}
        }
    }

    /// Takes the messages of the workers to each other.
    fn pass_on(&mut self) {
        for (worker, replies) in self.workers.iter_mut().zip(&mut self.replies) {
            worker.take_replies(|conn, event| {
                if replies.len() == REPLAY_REPLIES_MAX {
                    replies.pop_front();
                }
                replies.push_back((conn, event));
            });
        }
    }

    /// The recording ends: sends what was to be sent with the next event.
    pub fn settle(&mut self) {
        for (worker, telling) in self.workers.iter_mut().zip(&mut self.telling) {
            if telling.take().is_some() {
                worker.play_sent();
            }
        }
    }

    /// Hands out what was written since the last time, in order: by which worker, to which
    /// connection.
    pub fn take_written(&mut self, mut to: impl FnMut(u16, ConnKey, &[u8])) {
        let mut written = self.written.borrow_mut();
        let ReplayedWrites { bytes, writes } = &mut *written;
        let mut begin = 0;
        for (worker, conn, end) in writes.drain(..) {
            to(worker, conn, &bytes[begin..end]);
            begin = end;
        }
        bytes.clear();
    }

    /// The switch of a connection, once it said which one it is.
    pub fn dpid_of(&self, conn: ConnKey) -> Option<DatapathId> {
        self.conns.get(&conn).and_then(|conn| conn.dpid())
    }
}

/// The World that has this version in the recording, or the last before it.
fn world_of(worlds: &VecDeque<(u64, Arc<World>)>, version: u64) -> Arc<World> {
    let at = worlds.partition_point(|(there, _)| *there <= version);
    Arc::clone(&worlds[at.saturating_sub(1)].1)
}

/// Nothing that happens is told.
struct Untold;

impl EventSink for Untold {
    fn emit(&self, _: ControllerEvent) {}
}

#[cfg(test)]
mod tests;
