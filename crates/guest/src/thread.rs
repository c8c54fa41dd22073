//! The guest's thread: it serves the connections of one guest, one for each of its switches, and
//! waits in one place.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use aldis_control::controller_event::{ControllerEvent, EventSink};
use aldis_wire::DatapathId;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use tracing::{info, warn};

use crate::allowance::Allowance;
use crate::conn::{Ended, GuestConn};
use crate::datapath::Datapath;
use crate::guest::Guest;
use crate::limits::{HELD_RETRY, READ_MAX};
use crate::status::GuestState;
use crate::trial::Trial;

/// Sockets that one wait may report.
const READY_MAX: usize = 256;

/// How often deadlines are looked at.
const TICK: Duration = Duration::from_millis(100);

/// How often a change of what the guest does is told at most.
const TELL_EVERY: Duration = Duration::from_millis(500);

/// The key of the bell; no switch has this datapath id, which is reserved.
const BELL: u64 = u64::MAX;

/// Triggered by its edge: the thread wakes once for each ring, and need not read the bell.
const BELL_FLAGS: EventFlags = EventFlags::IN.union(EventFlags::ET);

/// Sockets that are read before the workers are told of what the guest said: a worker is told once
/// for several of them, and what came by the first does not wait for all.
const READ_TOGETHER: usize = 32;

/// Serves a guest until it is removed.
pub(crate) struct GuestThread {
    guest: Arc<Guest>,
    epoll: OwnedFd,
    conns: HashMap<DatapathId, GuestConn>,
    room: Vec<u8>,
    /// Whether it was served when this was last looked at.
    served: bool,
    allowance: Allowance,
    /// Whether more of the guest may be read.
    may_read: bool,
    /// Whether the bell wakes it. While nothing is read of a guest that floods, each reply that
    /// comes back for it would: the ticks are soon enough.
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

impl GuestThread {
    /// # Errors
    /// No descriptor is left.
    pub(crate) fn new(
        guest: Arc<Guest>,
        event_sink: Arc<dyn EventSink>,
    ) -> io::Result<GuestThread> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, guest.bell(), EventData::new_u64(BELL), BELL_FLAGS)?;
        let room = vec![0; READ_MAX];
        let (conns, now) = (HashMap::new(), Instant::now());
        Ok(GuestThread {
            guest,
            epoll,
            conns,
            room,
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

    /// Serves.
    pub(crate) fn run(mut self) {
        let nothing = Event { flags: EventFlags::empty(), data: EventData::new_u64(0) };
        let mut events = vec![nothing; READY_MAX];
        let mut ready = vec![];
        let mut next_tick = Instant::now();
        while !self.guest.is_ended() {
            let wakes = if self.held.is_empty() { next_tick } else { next_tick.min(self.retry_at) };
            let wait = wakes.saturating_duration_since(Instant::now());
            let wait = Timespec { tv_sec: wait.as_secs() as _, tv_nsec: wait.subsec_nanos() as _ };
            let count = match epoll::wait(&self.epoll, &mut events[..], Some(&wait)) {
                Ok(count) => count,
                Err(rustix::io::Errno::INTR) => 0,
                Err(error) => {
                    warn!("{}: its thread cannot wait any more: {error}", self.guest.name());
                    return;
                }
            };
            let now = Instant::now();
            for together in events[..count].chunks(READ_TOGETHER) {
                for event in together {
                    match event.data.u64() {
                        BELL => self.guest.take_ready(&mut ready),
                        dpid => self.served(DatapathId(dpid), event.flags, now),
                    }
                }
                self.guest.rouse_workers();
            }
            if next_tick <= now && !self.hears_bell {
                self.guest.take_ready(&mut ready);
            }
            for dpid in ready.drain(..) {
                self.look_at(dpid, now);
            }
            if next_tick <= now {
                next_tick = now + TICK;
                self.tick(now);
            }
            self.heed_bell();
            self.retry_held(now);
        }
        for conn in self.conns.values_mut() {
            conn.end(None, Instant::now());
        }
    }

    /// A socket can go on.
    fn served(&mut self, dpid: DatapathId, flags: EventFlags, now: Instant) {
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
            done = conn.read(&mut self.room, now);
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
        self.guest.rouse_workers();
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
            conn.watched = EventFlags::OUT;
            done = added.map_err(|error| io::Error::from(error).into());
        }
        self.settle(dpid, done, now);
    }

    /// Ends a connection that failed; otherwise has the kernel report what it waits for.
    fn settle(&mut self, dpid: DatapathId, done: Result<(), Ended>, now: Instant) {
        let Some(conn) = self.conns.get_mut(&dpid) else { return };
        let guest = &self.guest;
        if done.is_err() {
            self.trial.ended(dpid, conn.open_for(now), now);
        }
        match done {
            Ok(()) => {
                let Some(wire) = &conn.wire else { return };
                let mut flags = EventFlags::empty();
                if conn.takes_more() && self.may_read {
                    flags |= EventFlags::IN | EventFlags::RDHUP;
                }
                if conn.wants_to_write() {
                    flags |= EventFlags::OUT;
                }
                if conn.watched != flags {
                    let key = EventData::new_u64(dpid.0);
                    // It is registered since it was opened.
                    let _ = epoll::modify(&self.epoll, wire.as_fd(), key, flags);
                    conn.watched = flags;
                }
            }
            Err(Ended::Lost(why)) => {
                if conn.datapath.version().is_some() {
                    info!("{}: switch {dpid}: {why}", guest.name());
                }
                conn.end(Some(&why), now);
            }
            Err(Ended::Fault(why)) => {
                warn!("{}: switch {dpid}: {why}; it is connected again later", guest.name());
                guest.fault(1, &why);
                conn.end(Some(&why), now);
            }
        }
    }
}
