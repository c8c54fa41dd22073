//! One guest: what its application on the workers, its thread and what is shown of it share.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Instant;

use aldis_control::Time;
use aldis_wire::DatapathId;
use rustix::event::{EventfdFlags, eventfd};
use tracing::warn;

use crate::bounds::GuestBounds;
use crate::cookie::Cookies;
use crate::datapath::Datapath;
use crate::grant::Grant;
use crate::limits::{FAULTS_MAX, FAULTS_WITHIN, FLOODS_QUEUE, RELAY_MAX};
use crate::relay::Relay;
use crate::serving::Serving;
use crate::shares::{GuestInbox, WaitingWeights};
use crate::spec::GuestSpec;
use crate::status::{GuestCounts, GuestState, GuestStatus, GuestSwitch};
use crate::tls::GuestTls;

/// Workers have numbers below this.
const WORKERS_MAX: usize = 128;

/// Has workers look after guests.
pub trait Rouse: Send + Sync + 'static {
    /// Has a worker, by its number, call `App::roused` of its applications soon.
    fn rouse(&self, worker: usize);

    /// Has it do so each time there is more to read of this descriptor, until that is closed.
    ///
    /// # Errors
    /// It cannot: the guest's thread reads everything then.
    fn rouse_when_readable(&self, worker: usize, descriptor: BorrowedFd<'_>) -> io::Result<()>;
}

/// Workers of a guest that is not served.
#[cfg(any(test, fuzzing))]
pub(crate) struct NoWorkers;

#[cfg(any(test, fuzzing))]
impl Rouse for NoWorkers {
    fn rouse(&self, _: usize) {}

    fn rouse_when_readable(&self, _: usize, _: BorrowedFd<'_>) -> io::Result<()> {
        Ok(())
    }
}

/// What all guests of a controller have of its workers.
#[derive(Clone)]
pub(crate) struct Workers {
    pub(crate) rouse: Arc<dyn Rouse>,
    /// How they are shared among guests.
    pub(crate) weights: Arc<WaitingWeights>,
}

impl Workers {
    /// With nothing that waits.
    pub(crate) fn new(rouse: impl Rouse) -> Workers {
        let weights = Arc::new(WaitingWeights::new(WORKERS_MAX));
        Workers { rouse: Arc::new(rouse), weights }
    }
}

/// A guest.
pub(crate) struct Guest {
    pub(crate) grant: Grant,
    pub(crate) cookies: Cookies,
    pub(crate) counts: GuestCounters,
    pub(crate) bounds: GuestBounds,
    rate: Rate,
    /// For each worker, what the guest has to say to switches.
    inboxes: Box<[Mutex<GuestInbox>]>,
    /// Workers that were handed something, and not told of it yet.
    to_rouse: Mutex<Vec<usize>>,
    /// What serves it, from its thread's begin to its end.
    serving: Mutex<Option<Serving>>,
    /// For each worker, how many sockets it reads itself.
    lent: Box<[AtomicUsize]>,
    /// Workers that found it served by another thread, and are to come again.
    missed: Mutex<Vec<usize>>,
    pub(crate) workers: Workers,
    tls: Mutex<Option<GuestTls>>,
    datapaths: Mutex<BTreeMap<DatapathId, Arc<Datapath>>>,
    /// Switches that its thread is to look at.
    ready: Mutex<Vec<DatapathId>>,
    bell: OwnedFd,
    rung: AtomicBool,
    paused: AtomicBool,
    ended: AtomicBool,
    faults: Mutex<Faults>,
    added: Instant,
    /// When a request was last shed, as far as its thread has looked, and how many were then.
    shed_at: LastTime,
    shed_seen: AtomicU64,
    /// When it last had more to say than it was asked for.
    flooded_at: LastTime,
    /// Whether nothing is read of it for that.
    floods: AtomicBool,
}

#[derive(Debug, Default)]
struct Faults {
    recent: VecDeque<Instant>,
    quarantine: Option<String>,
}

/// When something last happened, in milliseconds since the guest was added, and one more; 0 before.
#[derive(Debug, Default)]
struct LastTime(AtomicU64);

impl LastTime {
    fn set(&self, since: Instant) {
        self.0.store(since.elapsed().as_millis() as u64 + 1, Ordering::Relaxed);
    }

    /// Whether that is less than a second ago.
    fn is_recent(&self, since: Instant) -> bool {
        let last = self.0.load(Ordering::Relaxed);
        last > 0 && since.elapsed().as_millis() as u64 + 1 - last < 1000
    }
}

/// What is counted, by workers and by the guest's thread.
#[derive(Debug, Default)]
pub(crate) struct GuestCounters {
    pub(crate) requests: Count,
    pub(crate) shed: Count,
    pub(crate) missed: Count,
    pub(crate) messages: Count,
    pub(crate) refused: Count,
    pub(crate) faults: Count,
    pub(crate) replies: Count,
    pub(crate) connections: Count,
}

/// A number that several threads count up.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    pub(crate) fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    pub(crate) fn now(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Requests in a second, where there is a limit: the second in the upper half, the count in the
/// lower.
#[derive(Debug, Default)]
struct Rate {
    counted: AtomicU64,
}

impl Rate {
    /// Whether another request may be handed over in this second, of so many.
    fn allows(&self, now: Time, most: u32) -> bool {
        let second = now.0 / 1_000_000_000;
        let count = |counted: u64| match counted >> 32 == second & u64::from(u32::MAX) {
            true if counted as u32 >= most => None,
            true => Some(counted + 1),
            false => Some(second << 32 | 1),
        };
        self.counted.fetch_update(Ordering::Relaxed, Ordering::Relaxed, count).is_ok()
    }
}

impl Guest {
    /// # Errors
    /// No descriptor is left.
    pub(crate) fn new(
        spec: GuestSpec,
        workers: Workers,
        tls: Option<GuestTls>,
    ) -> io::Result<Arc<Guest>> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let cookies = Cookies::of(&spec.name);
        let bounds = GuestBounds::of(&spec);
        Ok(Arc::new(Guest {
            grant: Grant::of(spec),
            cookies,
            counts: GuestCounters::default(),
            bounds,
            rate: Rate::default(),
            inboxes: (0..WORKERS_MAX).map(|_| Mutex::default()).collect(),
            to_rouse: Mutex::default(),
            serving: Mutex::default(),
            lent: (0..WORKERS_MAX).map(|_| AtomicUsize::new(0)).collect(),
            missed: Mutex::default(),
            workers,
            tls: Mutex::new(tls),
            datapaths: Mutex::default(),
            ready: Mutex::default(),
            bell,
            rung: AtomicBool::new(false),
            paused: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            faults: Mutex::default(),
            added: Instant::now(),
            shed_at: LastTime::default(),
            shed_seen: AtomicU64::new(0),
            flooded_at: LastTime::default(),
            floods: AtomicBool::new(false),
        }))
    }

    pub(crate) fn name(&self) -> &str {
        &self.grant.spec().name
    }

    pub(crate) fn bell(&self) -> &OwnedFd {
        &self.bell
    }

    /// Whether a request may be handed over now, as far as its rate goes.
    #[inline]
    pub(crate) fn may_be_asked(&self, now: Time) -> bool {
        self.bounds.rate().is_none_or(|most| self.rate.allows(now, most))
    }

    /// What is said of it, as it counts now.
    pub(crate) fn spec(&self) -> GuestSpec {
        self.bounds.over(self.grant.spec())
    }

    /// How connections to it that are opened from now on are encrypted, where they are.
    pub(crate) fn tls(&self) -> Option<GuestTls> {
        lock(&self.tls).clone()
    }

    /// Connections that are opened from now on are encrypted so.
    pub(crate) fn set_tls(&self, tls: Option<GuestTls>) {
        *lock(&self.tls) = tls;
    }

    /// Its thread looks whether requests were shed: workers, which shed them, ask no clock.
    pub(crate) fn look_at_shed(&self) {
        let shed = self.counts.shed.now();
        if self.shed_seen.swap(shed, Ordering::Relaxed) != shed {
            self.shed_at.set(self.added);
        }
    }

    fn sheds(&self) -> bool {
        let is_newer = self.counts.shed.now() != self.shed_seen.load(Ordering::Relaxed);
        is_newer || self.shed_at.is_recent(self.added)
    }

    /// Whether it has more to say than it was asked for: nothing is read of it then.
    pub(crate) fn set_floods(&self, floods: bool) {
        if floods {
            self.flooded_at.set(self.added);
        }
        self.floods.store(floods, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn floods(&self) -> bool {
        self.floods.load(Ordering::Relaxed)
    }

    /// Bytes that may wait for it at one switch now.
    #[inline]
    pub(crate) fn queue(&self) -> usize {
        let most = if self.floods() { FLOODS_QUEUE } else { usize::MAX };
        self.bounds.queue().min(most)
    }

    /// Requests that it was handed, and messages that it sent.
    pub(crate) fn counted(&self) -> (u64, u64) {
        (self.counts.requests.now(), self.counts.messages.now())
    }

    /// A switch of the grant is up, served by this worker.
    pub(crate) fn enter(&self, datapath: &Arc<Datapath>, worker: usize) {
        datapath.set_worker(worker);
        let before = lock(&self.datapaths).insert(datapath.info.dpid, Arc::clone(datapath));
        if let Some(before) = before.filter(|before| !Arc::ptr_eq(before, datapath)) {
            before.set_gone();
        }
        Guest::look_at(datapath);
    }

    /// A switch is gone.
    pub(crate) fn leave(&self, datapath: &Arc<Datapath>) {
        datapath.set_gone();
        let mut datapaths = lock(&self.datapaths);
        let dpid = datapath.info.dpid;
        if datapaths.get(&dpid).is_some_and(|there| Arc::ptr_eq(there, datapath)) {
            datapaths.remove(&dpid);
        }
        drop(datapaths);
        Guest::look_at(datapath);
    }

    pub(crate) fn datapath(&self, dpid: DatapathId) -> Option<Arc<Datapath>> {
        lock(&self.datapaths).get(&dpid).cloned()
    }

    pub(crate) fn datapaths(&self) -> Vec<Arc<Datapath>> {
        lock(&self.datapaths).values().cloned().collect()
    }

    /// The guest's thread is to look at a switch.
    pub(crate) fn look_at(datapath: &Datapath) {
        if Guest::list(datapath) {
            datapath.guest.ring();
        }
    }

    /// The guest's thread is to look at a switch when it is next rung; whether it was not to.
    pub(crate) fn list(datapath: &Datapath) -> bool {
        let is_new = datapath.list();
        if is_new {
            lock(&datapath.guest.ready).push(datapath.info.dpid);
        }
        is_new
    }

    /// Wakes its thread.
    pub(crate) fn ring(&self) {
        if !self.rung.swap(true, Ordering::AcqRel) {
            // The counter is never read: the thread waits for a write to it, and 2⁶⁴ do not come.
            let _ = rustix::io::write(&self.bell, &1u64.to_ne_bytes());
        }
    }

    /// Its thread is awake: the switches that it is to look at.
    pub(crate) fn take_ready(&self, into: &mut Vec<DatapathId>) {
        self.rung.store(false, Ordering::Release);
        into.append(&mut lock(&self.ready));
    }

    /// Hands what the guest has to say to the worker of the switch, which is told at
    /// the end of [`Guest::serve`].
    pub(crate) fn send(&self, datapath: &Arc<Datapath>, relay: Relay) {
        let worker = datapath.worker().min(WORKERS_MAX - 1);
        let mut inbox = lock(&self.inboxes[worker]);
        // Looked at under the lock: nothing waits where it was ended.
        if self.is_ended() {
            return;
        }
        datapath.inbound_waits(relay.bytes.len());
        for part in relay.split(RELAY_MAX) {
            let waiting = (Arc::clone(datapath), part);
            inbox.push(waiting, self.bounds.weight(), (&self.workers.weights, worker));
        }
        drop(inbox);
        let mut to_rouse = lock(&self.to_rouse);
        if !to_rouse.contains(&worker) {
            to_rouse.push(worker);
        }
    }

    /// Its thread begins.
    pub(crate) fn begin_serving(&self, serving: Serving) {
        *lock(&self.serving) = Some(serving);
    }

    /// Its thread ends.
    pub(crate) fn end_serving(&self) {
        let serving = lock(&self.serving).take();
        serving.into_iter().for_each(Serving::end);
    }

    /// Its thread serves it, and tells the workers that were handed something.
    pub(crate) fn serve<T>(&self, serve: impl FnOnce(&mut Serving) -> T) -> Option<T> {
        let served = lock(&self.serving).as_mut().map(serve);
        self.rouse_workers(None);
        served
    }

    /// A worker reads what the guest said at its switches, where that is little. Where another
    /// thread serves the guest, the worker is told to come again by that.
    pub(crate) fn read_little(&self, worker: usize) {
        let has_some = |lent: &AtomicUsize| lent.load(Ordering::Relaxed) > 0;
        if !self.lent.get(worker).is_some_and(has_some) || self.try_read_little(worker) {
            return;
        }
        lock(&self.missed).push(worker);
        // That thread may have looked for those that missed it before.
        self.try_read_little(worker);
    }

    fn try_read_little(&self, worker: usize) -> bool {
        let mut serving = match self.serving.try_lock() {
            Ok(serving) => serving,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return false,
        };
        let may_be_more = serving.as_mut().is_some_and(|serving| serving.read_little(worker));
        drop(serving);
        if may_be_more {
            self.workers.rouse.rouse(worker);
        }
        self.rouse_workers(Some(worker));
        true
    }

    /// Tells the workers that were handed something, and those that missed it; not the one that
    /// takes what is there anyway.
    fn rouse_workers(&self, takes: Option<usize>) {
        for workers in [&self.to_rouse, &self.missed] {
            let is_other = |worker: &usize| Some(*worker) != takes;
            lock(workers).drain(..).filter(is_other).for_each(|at| self.workers.rouse.rouse(at));
        }
    }

    /// A worker is to read one more socket.
    pub(crate) fn lend(&self, worker: usize) {
        self.lent.get(worker).into_iter().for_each(|lent| _ = lent.fetch_add(1, Ordering::Relaxed));
    }

    /// A worker is to read one socket less.
    pub(crate) fn take_back(&self, worker: usize) {
        self.lent.get(worker).into_iter().for_each(|lent| _ = lent.fetch_sub(1, Ordering::Relaxed));
    }

    /// Has the worker of the switch try again whether there is room for what is held.
    pub(crate) fn retry(&self, datapath: &Arc<Datapath>) {
        if !datapath.set_retried(true) {
            self.send(datapath, Relay::default());
        }
    }

    /// Hands over what this worker takes at one poll of what waits for it, where there is room for
    /// so many bytes. `each` gets the room that is left, and returns what it used of it.
    pub(crate) fn take(
        &self,
        worker: usize,
        mut room: usize,
        mut each: impl FnMut(&Datapath, Relay, usize) -> usize,
    ) {
        let Some(inbox) = self.inboxes.get(worker) else { return };
        let at = (&*self.workers.weights, worker);
        let begins = lock(inbox).begin(at);
        // The lock is let go before each is handed over.
        let next = |room| if begins { lock(inbox).take(room, at) } else { None };
        while let Some((datapath, relay)) = next(room) {
            room -= each(&datapath, relay, room).min(room);
        }
        if lock(inbox).is_waiting() {
            // It is to come again.
            self.workers.rouse.rouse(worker);
        }
    }

    pub(crate) fn is_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// It is removed: its thread is to end.
    pub(crate) fn end(&self) {
        self.ended.store(true, Ordering::Release);
        for (worker, inbox) in self.inboxes.iter().enumerate() {
            lock(inbox).clear((&self.workers.weights, worker));
        }
        self.rung.store(false, Ordering::Release);
        self.ring();
    }

    /// Whether its switches are presented to it: it is neither paused nor quarantined.
    pub(crate) fn is_served(&self) -> bool {
        !self.paused.load(Ordering::Acquire) && !self.is_ended()
    }

    pub(crate) fn pause(&self) {
        self.paused.store(true, Ordering::Release);
        self.ring();
    }

    /// It may be served again, whatever it did.
    pub(crate) fn resume(&self) {
        *lock(&self.faults) = Faults::default();
        self.paused.store(false, Ordering::Release);
        self.ring();
    }

    /// It did something wrong, so many times; returns the reason where that was once too often.
    pub(crate) fn fault(&self, times: u64, what: &str) -> Option<String> {
        let (mut faults, now) = (lock(&self.faults), Instant::now());
        let times = times.min(FAULTS_MAX.into()) as usize;
        faults.recent.extend(std::iter::repeat_n(now, times));
        while faults.recent.front().is_some_and(|at| now - *at > FAULTS_WITHIN) {
            faults.recent.pop_front();
        }
        if faults.recent.len() < FAULTS_MAX as usize || faults.quarantine.is_some() {
            return None;
        }
        let why =
            format!("{FAULTS_MAX} faults within {} s, the last: {what}", FAULTS_WITHIN.as_secs());
        faults.quarantine = Some(why.clone());
        drop(faults);
        warn!("{0}: quarantined until \"aldis guest resume {0}\": {why}", self.name());
        self.pause();
        Some(why)
    }

    /// What it is doing, and why, where there is more to say.
    pub(crate) fn state(&self) -> (GuestState, Option<String>) {
        if let Some(why) = &lock(&self.faults).quarantine {
            return (GuestState::Quarantined, Some(why.clone()));
        }
        if !self.is_served() {
            return (GuestState::Paused, None);
        }
        let datapaths = lock(&self.datapaths);
        if datapaths.values().all(|datapath| datapath.version().is_none()) {
            let mut reasons = datapaths.values().map(|datapath| lock(&datapath.reason).clone());
            return (GuestState::Away, reasons.find_map(|reason| reason));
        }
        if self.flooded_at.is_recent(self.added) {
            let why = "it sends more messages than it is handed requests for, and is read slowly";
            return (GuestState::Flooding, Some(why.to_owned()));
        }
        if self.sheds() {
            let why = "it does not read as fast as requests come, or they come above its rate";
            return (GuestState::Shedding, Some(why.to_owned()));
        }
        (GuestState::Serving, None)
    }

    /// What is shown of it.
    pub(crate) fn status(&self) -> GuestStatus {
        let counts = &self.counts;
        let switch = |datapath: &Arc<Datapath>| GuestSwitch {
            dpid: datapath.info.dpid,
            version: datapath.version(),
            reason: lock(&datapath.reason).clone(),
        };
        let (state, reason) = self.state();
        GuestStatus {
            spec: self.spec(),
            state,
            reason,
            switches: self.datapaths().iter().map(switch).collect(),
            counts: GuestCounts {
                requests: counts.requests.now(),
                shed: counts.shed.now(),
                missed: counts.missed.now(),
                messages: counts.messages.now(),
                refused: counts.refused.now(),
                faults: counts.faults.now(),
                replies: counts.replies.now(),
                connections: counts.connections.now(),
            },
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is under these locks is whole between any two statements.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
