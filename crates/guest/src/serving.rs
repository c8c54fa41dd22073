//! What serves the connections of one guest, one for each of its switches.
//!
//! The guest's thread does, and a worker where the guest says little at a switch of that worker:
//! the worker reads it itself, which spares waking the thread, and being woken by it. So a reply
//! has one thread to pass through on its way to the switch. Both have the lock while they read.

use std::collections::HashMap;
use std::io;
use std::mem::{self, MaybeUninit};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use aldis_control::controller_event::{ControllerEvent, EventSink};
use aldis_wire::DatapathId;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use tracing::{info, warn};

use crate::allowance::Allowance;
use crate::conn::{Ended, GuestConn, Watched};
use crate::datapath::Datapath;
use crate::guest::Guest;
use crate::limits::{HELD_RETRY, READ_LITTLE, READ_MAX};
use crate::status::GuestState;
use crate::trial::Trial;

/// How often deadlines are looked at.
const TICK: Duration = Duration::from_millis(100);

/// How often a change of what the guest does is told at most.
const TELL_EVERY: Duration = Duration::from_millis(500);

/// The key of the bell; no switch has this datapath id, which is reserved.
const BELL: u64 = u64::MAX;

/// Triggered by its edge: the thread wakes once for each ring, and need not read the bell.
const BELL_FLAGS: EventFlags = EventFlags::IN.union(EventFlags::ET);

/// What is waited for where there is nothing to write.
const READS: EventFlags = EventFlags::IN.union(EventFlags::RDHUP);

/// Sockets that are read before the workers are told of what the guest said: a worker is told once
/// for several of them, and what came by the first does not wait for all.
pub(crate) const READ_TOGETHER: usize = 32;

/// Sockets that a worker reads at once, before it goes on with its switches.
const READ_AT_ONCE: usize = 16;

/// Does not wait.
const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// Serves a guest until it is removed.
pub(crate) struct Serving {
    guest: Arc<Guest>,
    /// What the guest's thread waits for.
    epoll: Arc<OwnedFd>,
    /// For each worker the sockets that it reads; none where it cannot.
    lent: HashMap<usize, Option<OwnedFd>>,
    conns: HashMap<DatapathId, GuestConn>,
    room: Vec<u8>,
    /// Switches that are to be looked at.
    ready: Vec<DatapathId>,
    next_tick: Instant,
    /// Whether it was served when this was last looked at.
    served: bool,
    allowance: Allowance,
    /// Whether more of the guest may be read.
    may_read: bool,
    /// Whether the bell wakes the thread. While nothing is read of a guest that floods, each reply
    /// that comes back for it would: the ticks are soon enough.
    hears_bell: bool,
    /// Switches that had no room for something that the guest said.
    held: HashMap<DatapathId, Arc<Datapath>>,
    /// When their workers try again.
    retry_at: Instant,
    trial: Trial,
    event_sink: Arc<dyn EventSink>,
    /// What was last told that the guest does, if anything.
    told: Option<GuestState>,
    /// When this is looked at next.
    tells_at: Instant,
}

impl Serving {
    /// # Errors
    /// No descriptor is left.
    pub(crate) fn new(guest: Arc<Guest>, event_sink: Arc<dyn EventSink>) -> io::Result<Serving> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, guest.bell(), EventData::new_u64(BELL), BELL_FLAGS)?;
        let now = Instant::now();
        Ok(Serving {
            guest,
            epoll: Arc::new(epoll),
            lent: HashMap::new(),
            conns: HashMap::new(),
            room: vec![0; READ_MAX],
            ready: vec![],
            next_tick: now,
            served: true,
            allowance: Allowance::new(now),
            may_read: true,
            hears_bell: true,
            held: HashMap::new(),
            retry_at: now,
            trial: Trial::none(now),
            event_sink,
            told: None,
            tells_at: now + TELL_EVERY,
        })
    }

    /// What the guest's thread waits for.
    pub(crate) fn epoll(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.epoll)
    }

    /// The thread was woken by these.
    pub(crate) fn take(&mut self, events: &[Event], now: Instant) {
        for event in events {
            match event.data.u64() {
                BELL => self.guest.take_ready(&mut self.ready),
                dpid => self.served(DatapathId(dpid), event.flags, READ_MAX, now),
            }
        }
    }

    /// The thread looks at what it was woken for, and at the time. Until when it may wait then.
    pub(crate) fn look(&mut self, now: Instant) -> Instant {
        let ticks = self.next_tick <= now;
        if ticks && !self.hears_bell {
            self.guest.take_ready(&mut self.ready);
        }
        for dpid in mem::take(&mut self.ready) {
            self.look_at(dpid, now);
        }
        if ticks {
            self.next_tick = now + TICK;
            self.tick(now);
        }
        self.heed_bell();
        self.retry_held(now);
        if self.held.is_empty() { self.next_tick } else { self.next_tick.min(self.retry_at) }
    }

    /// A worker reads what the guest said at its switches. Whether more sockets may be ready.
    pub(crate) fn read_little(&mut self, worker: usize) -> bool {
        let Some(Some(lent)) = self.lent.get(&worker) else { return false };
        let mut room = [MaybeUninit::uninit(); READ_AT_ONCE];
        let Ok((events, _)) = epoll::wait(lent, &mut room, Some(&AT_ONCE)) else { return false };
        let now = Instant::now();
        for event in &*events {
            self.served(DatapathId(event.data.u64()), event.flags, READ_LITTLE, now);
        }
        events.len() == READ_AT_ONCE
    }

    /// It is served no more: its connections end.
    pub(crate) fn end(mut self) {
        for conn in self.conns.values_mut() {
            conn.end(None, Instant::now());
        }
    }

    /// A socket can go on; at most so many bytes of it are read.
    fn served(&mut self, dpid: DatapathId, flags: EventFlags, most: usize, now: Instant) {
        let Some(conn) = self.conns.get_mut(&dpid) else { return };
        let mut done = Ok(());
        if flags.intersects(EventFlags::OUT) {
            done = conn.writable(now);
        }
        // Where it failed or was closed, reading says why. The kernel reports that again and again,
        // also while nothing is to be read of the guest.
        let is_over = flags.intersects(EventFlags::HUP | EventFlags::ERR);
        let is_readable = !flags.difference(EventFlags::OUT).is_empty();
        if done.is_ok() && is_readable && (self.may_read || is_over) {
            done = conn.read(&mut self.room[..most], now);
            self.look_at_allowance(now);
        }
        self.settle(dpid, done, now);
    }

    /// Whether more of the guest may be read from now on.
    fn look_at_allowance(&mut self, now: Instant) {
        let (requests, messages) = self.guest.counted();
        let requests = if self.guest.grant.spec().observe { 0 } else { requests };
        self.may_read = self.allowance.is_left(now, requests, messages);
        self.guest.set_floods(!self.may_read);
    }

    /// Has the bell wake it where more of the guest may be read, and not where it floods.
    fn heed_bell(&mut self) {
        if self.hears_bell != self.may_read {
            let flags = if self.may_read { BELL_FLAGS } else { EventFlags::empty() };
            let key = EventData::new_u64(BELL);
            // Where that failed, the ticks go on taking what is there.
            if epoll::modify(&self.epoll, self.guest.bell(), key, flags).is_ok() {
                self.hears_bell = self.may_read;
            }
        }
    }

    /// Has the workers try again whether switches have room now for what the guest said.
    fn retry_held(&mut self, now: Instant) {
        if self.held.is_empty() || now < self.retry_at {
            return;
        }
        self.retry_at = now + HELD_RETRY;
        self.held.retain(|_, datapath| datapath.held_len() > 0 && !datapath.is_gone());
        self.held.values().for_each(|datapath| self.guest.retry(datapath));
    }

    /// A worker has something for the guest, or room for what it says; or the switch came or went.
    fn look_at(&mut self, dpid: DatapathId, now: Instant) {
        let datapath = self.guest.datapath(dpid);
        let is_other = |conn: &GuestConn| {
            datapath.as_ref().is_none_or(|datapath| !Arc::ptr_eq(&conn.datapath, datapath))
        };
        if let Some(conn) = self.conns.get_mut(&dpid).filter(|conn| is_other(conn)) {
            conn.datapath.unlist();
            conn.end(None, now);
            self.conns.remove(&dpid);
            self.trial.left(dpid);
        }
        let Some(datapath) = datapath else { return };
        datapath.unlist();
        if datapath.held_len() > 0 {
            self.held.insert(dpid, Arc::clone(&datapath));
        }
        let conn = self.conns.entry(dpid).or_insert_with(|| GuestConn::new(datapath, now));
        let done = conn.write(now);
        self.settle(dpid, done, now);
    }

    /// Looks at deadlines, and opens what is to be opened.
    fn tick(&mut self, now: Instant) {
        let is_served = self.guest.is_served();
        if is_served != std::mem::replace(&mut self.served, is_served) {
            self.trial = Trial::none(now);
            for conn in self.conns.values_mut() {
                match is_served {
                    true => conn.hurry(now),
                    false => conn.end(Some("the guest is not served"), now),
                }
            }
        }
        self.look_at_allowance(now);
        self.guest.look_at_shed();
        if self.tells_at <= now {
            self.tells_at = now + TELL_EVERY;
            self.tell();
        }
        let conns = &self.conns;
        self.trial.look(|dpid| conns.get(&dpid)?.open_for(now), now);
        let dpids: Vec<DatapathId> = self.conns.keys().copied().collect();
        for dpid in dpids {
            let Some(conn) = self.conns.get_mut(&dpid) else { continue };
            let done = conn.tick(now);
            self.settle(dpid, done, now);
            if is_served {
                self.open_due(dpid, now);
            }
        }
    }

    /// Tells what the guest does, where that is another thing than before.
    fn tell(&mut self) {
        let (state, reason) = self.guest.state();
        if self.told.replace(state) != Some(state) {
            let (name, state) = (self.guest.name().to_owned(), state.name());
            self.event_sink.emit(ControllerEvent::Guest { name, state, reason });
        }
    }

    fn open_due(&mut self, dpid: DatapathId, now: Instant) {
        let Some(conn) = self.conns.get_mut(&dpid).filter(|conn| conn.is_due(now)) else { return };
        if !self.trial.allows(dpid, now) {
            return;
        }
        let to = self.guest.grant.spec().connect.0.0;
        let mut done = conn.open(to, now);
        if let (Ok(()), Some(wire)) = (&done, &conn.wire) {
            let key = EventData::new_u64(dpid.0);
            let added = epoll::add(&self.epoll, wire.as_fd(), key, EventFlags::OUT);
            conn.set_watched(Watched { flags: EventFlags::OUT, by: None });
            done = added.map_err(|error| io::Error::from(error).into());
        }
        self.settle(dpid, done, now);
    }

    /// Ends a connection that failed; otherwise has the kernel report what it waits for.
    fn settle(&mut self, dpid: DatapathId, done: Result<(), Ended>, now: Instant) {
        let done = done.and_then(|()| self.watch(dpid, now));
        let Err(ended) = done else { return };
        let Some(conn) = self.conns.get_mut(&dpid) else { return };
        let guest = &self.guest;
        self.trial.ended(dpid, conn.open_for(now), now);
        match ended {
            Ended::Lost(why) => {
                if conn.datapath.version().is_some() {
                    info!("{}: switch {dpid}: {why}", guest.name());
                }
                conn.end(Some(&why), now);
            }
            Ended::Fault(why) => {
                warn!("{}: switch {dpid}: {why}; it is connected again later", guest.name());
                guest.fault(1, &why);
                conn.end(Some(&why), now);
            }
        }
    }

    /// Has the kernel report what a connection waits for: to its worker where it may read it.
    fn watch(&mut self, dpid: DatapathId, now: Instant) -> Result<(), Ended> {
        let Some(conn) = self.conns.get_mut(&dpid) else { return Ok(()) };
        if conn.wire.is_none() {
            return Ok(());
        }
        let mut flags = EventFlags::empty();
        if conn.takes_more() && self.may_read {
            flags |= READS;
        }
        if conn.wants_to_write() {
            flags |= EventFlags::OUT;
        }
        let worker = conn.datapath.worker();
        let lends = flags == READS && conn.says_little(now);
        let by = (lends && lent(&mut self.lent, &self.guest, worker).is_some()).then_some(worker);
        let before = conn.watched();
        if before == (Watched { flags, by }) {
            return Ok(());
        }
        let epoll_of = |by: Option<usize>| match by {
            Some(worker) => self.lent.get(&worker).and_then(Option::as_ref),
            None => Some(&*self.epoll),
        };
        let Some((from, to)) = epoll_of(before.by).zip(epoll_of(by)) else { return Ok(()) };
        // First, so that a worker that is woken at once finds it.
        conn.set_watched(Watched { flags, by });
        let Some(wire) = &conn.wire else { return Ok(()) };
        let (socket, key) = (wire.as_fd(), EventData::new_u64(dpid.0));
        let watched = if before.by == by {
            epoll::modify(to, socket, key, flags)
        } else {
            epoll::delete(from, socket).and_then(|()| epoll::add(to, socket, key, flags))
        };
        Ok(watched.map_err(io::Error::from)?)
    }
}

/// The sockets that a worker reads, where it can wait for them.
fn lent<'l>(
    lent: &'l mut HashMap<usize, Option<OwnedFd>>,
    guest: &Guest,
    worker: usize,
) -> Option<&'l OwnedFd> {
    let lend = || {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        guest.workers.rouse.rouse_when_readable(worker, epoll.as_fd())?;
        io::Result::Ok(epoll)
    };
    lent.entry(worker).or_insert_with(|| lend().ok()).as_ref()
}
