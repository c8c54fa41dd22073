//! What all workers of an engine share. None of it is touched per message.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aldis_control::Pipelines;
use aldis_control::pipeline::LineUp;
use aldis_control::session::{self, Close};

use crate::conn::{Conn, ConnId};
use crate::design::Knobs;
use crate::net::Net;
use crate::read::shared_queue::queue::BatchQueue;
use crate::shared::inbox::Inbox;
use crate::shared::line_up::LineUpCell;
use crate::shared::parking::Parking;
use crate::shared::switch_map::SwitchMap;
use crate::shared::world::WorldCell;
use crate::sync::Lock;
use crate::sync::versioned::Versioned;
use crate::tap::TapShared;

pub(crate) mod inbox;
pub(crate) mod line_up;
pub(crate) mod parking;
pub(crate) mod registry;
pub(crate) mod switch_map;
pub(crate) mod world;

/// The shared state of an engine.
#[derive(Debug)]
pub(crate) struct Shared<N: Net> {
    /// One for each worker.
    pub(crate) inboxes: Box<[Inbox<N>]>,
    /// Connections there are, and those on their way to a worker.
    pub(crate) connections: AtomicUsize,
    pub(crate) session: Arc<session::Config>,
    /// Batches that were read and wait for a worker.
    pub(crate) batches: Arc<BatchQueue<N::Socket>>,
    /// How many workers, from the first, have connections.
    pub(crate) readers: usize,
    /// The workers that answer requests.
    workers: Range<usize>,
    parking: Parking,
    directory: Mutex<Directory<N::Socket>>,
    /// The connections of each switch.
    pub(crate) switches: Arc<SwitchMap<N::Socket>>,
    /// The World.
    pub(crate) world: Arc<WorldCell>,
    /// Which applications run.
    pub(crate) line_up: LineUpCell,
    /// What is copied aside for a recorder.
    pub(crate) tap: Arc<TapShared>,
    next_id: AtomicU64,
    numbers: Mutex<Numbers>,
    knobs: Versioned<Knobs>,
    /// Whether no worker is left that could take a command.
    closed: AtomicBool,
}

type Directory<S> = HashMap<ConnId, Arc<Conn<S>>>;

/// Small numbers for connections: those that were given back, and the first that was never given
/// out.
#[derive(Debug, Default)]
struct Numbers {
    free: Vec<usize>,
    next: usize,
}

impl<N: Net> Shared<N> {
    pub(crate) fn new(
        inboxes: Box<[Inbox<N>]>,
        readers: usize,
        workers: Range<usize>,
        session: session::Config,
        batches: Arc<BatchQueue<N::Socket>>,
        knobs: Knobs,
        pipelines: &Pipelines,
    ) -> Self {
        Shared {
            readers,
            workers,
            parking: Parking::new(inboxes.len()),
            switches: Arc::default(),
            world: Arc::new(WorldCell::new(inboxes.len(), pipelines.world())),
            line_up: LineUpCell::new(inboxes.len(), pipelines.line_up()),
            tap: Arc::new(TapShared::new(inboxes.len())),
            inboxes,
            connections: AtomicUsize::new(0),
            session: Arc::new(session),
            batches,
            directory: Mutex::default(),
            next_id: AtomicU64::new(0),
            numbers: Mutex::default(),
            knobs: Versioned::new(knobs),
            closed: AtomicBool::new(false),
        }
    }

    /// An id that no connection had before, and a number that no other has now.
    pub(crate) fn new_id(&self) -> (ConnId, usize) {
        let id = ConnId(self.next_id.fetch_add(1, Ordering::Relaxed));
        let mut numbers = self.numbers.lock().unwrap_or_else(PoisonError::into_inner);
        let number = numbers.free.pop().unwrap_or_else(|| {
            numbers.next += 1;
            numbers.next - 1
        });
        (id, number)
    }

    /// The connection is gone, and no worker knows it by its number any more.
    pub(crate) fn forget(&self, id: ConnId, number: usize) {
        let mut directory = self.directory();
        directory.remove(&id);
        // The memory of a crowd goes with it.
        if directory.len() < directory.capacity() / 8 {
            directory.shrink_to_fit();
        }
        let everybody_left = directory.is_empty();
        drop(directory);
        let mut numbers = self.numbers.lock().unwrap_or_else(PoisonError::into_inner);
        numbers.free.push(number);
        if everybody_left && numbers.free.len() == numbers.next {
            *numbers = Numbers::default();
        }
    }

    /// What can be changed while the engine runs.
    pub(crate) fn knobs(&self) -> Knobs {
        self.knobs.value().take().clone()
    }

    /// Gives a connection the weight of its switch, once it said which one it is. The weights do
    /// not change meanwhile: a connection that gets an old weight gets the new one when its home
    /// follows.
    pub(crate) fn weigh(&self, conn: &Conn<N::Socket>) {
        let knobs = self.knobs.value().take();
        conn.dpid().into_iter().for_each(|dpid| conn.set_weight(knobs.weights.of(dpid)));
    }

    /// Changes it; every worker follows within a poll.
    pub(crate) fn set_knobs(&self, knobs: Knobs) {
        if let Some(prt) = knobs.prt {
            self.batches.set_prt(prt);
        }
        self.knobs.change(|there| *there = knobs);
        self.inboxes.iter().for_each(Inbox::ring);
    }

    /// The knobs, if they are others than those of the version `seen`, which the caller followed.
    #[inline]
    pub(crate) fn changed_knobs(&self, seen: &mut u64) -> Option<Knobs> {
        self.knobs.follow(seen).then(|| self.knobs())
    }

    /// Every worker is to take this line-up, between two batches.
    pub(crate) fn change_line_up(&self, line_up: LineUp) {
        self.line_up.change(line_up);
        self.inboxes.iter().for_each(Inbox::ring);
    }

    /// The connections, by id. Locked for a moment only: when one comes or goes, or gets a signal.
    pub(crate) fn directory(&self) -> MutexGuard<'_, Directory<N::Socket>> {
        self.directory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Every worker has ended: answers all commands that are open or still come.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        self.inboxes.iter().for_each(|inbox| inbox.refuse_commands(&Close::Stopping));
        self.directory().values().for_each(|conn| conn.open_commands.close(&Close::Stopping));
    }

    /// Whether that was said.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    /// The worker is about to sleep: see [`Parking::prepare`].
    pub(crate) fn prepare_parking(&self, worker: usize) {
        self.parking.prepare(worker);
    }

    /// The worker has nothing to do and looks again at once.
    pub(crate) fn linger(&self, worker: usize) {
        self.parking.linger(worker);
    }

    /// The worker works.
    pub(crate) fn cancel_parking(&self, worker: usize) {
        self.parking.cancel(worker);
    }

    /// There is work that the caller will not do at once: wakes one worker that sleeps, if any does
    /// and none lingers.
    #[inline]
    pub(crate) fn wake_one(&self) {
        if let Some(worker) = self.parking.unpark_one(self.workers.clone()) {
            self.inboxes[worker].ring();
        }
    }

    /// Reading may go on.
    pub(crate) fn wake_readers(&self) {
        for worker in (0..self.readers).filter(|worker| self.parking.unpark(*worker)) {
            self.inboxes[worker].ring();
        }
    }
}
