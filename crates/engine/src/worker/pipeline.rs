//! Phase 5, pipeline: runs the applications over the batch, and tells them of events between
//! batches.

use std::mem;
use std::sync::Arc;

use aldis_control::output::taker;
use aldis_control::switch::SwitchInfo;
use aldis_control::world::View;
use aldis_control::{Batch, Event, EventKind, Switch, Time, World};

use super::{Forward, Worker};
use crate::conn::switch_lock::SwitchLock;
use crate::conn::{Conn, ConnId, Member, State};
use crate::messages::Signal;
use crate::net::Net;
use crate::read::Read;
use crate::read::batch_buf::BatchBuf;

impl<N: Net, R: Read<N::Socket>> Worker<N, R> {
    /// Runs the applications over the batch.
    #[inline]
    pub(super) fn run_batch(&mut self) {
        let received = mem::take(&mut self.batch.received);
        self.run_over(EventKind::FlowRequest, &received);
        self.batch.received = received;
    }

    #[inline]
    pub(super) fn run_over(&mut self, kind: EventKind, bytes: &[u8]) {
        if self.batch.requests.is_empty() {
            return;
        }
        self.enter_world();
        let BatchBuf { requests, runs, visits, visit_of, .. } = &mut *self.batch;
        let mut switches = recycled(mem::take(&mut self.switches));
        let switch_of = |visit: &usize| &**visits[*visit].switch().expect("it is served");
        switches.extend(visit_of.iter().map(switch_of));
        self.stats.batches.add(1);
        self.stats.batch_size.record(requests.len() as u64);
        self.stats.requests.add(requests.len() as u64);
        let world = View::of(&self.world, &[]);
        let mut batch =
            Batch { kind, now: self.now, world, bytes, switches: &switches, runs, requests };
        self.pipeline.packet_ins(&mut batch, &mut self.output);
        self.switches = recycled(switches);
        self.add_spans();
        self.batch.clear_requests();
    }

    /// Applications run from here on, or the switches change that they find, until their output is
    /// sent. Where a recording wants it, no other worker does that meanwhile.
    #[inline]
    pub(super) fn lock_apps(&mut self) {
        if let Some(alone) = self.tap.lock_apps(&self.stats) {
            let began = self.net.now();
            self.tap.apps_began(self.now, began, alone);
        }
    }

    /// The same for the batch in hand. Returns when it begins to run, which its mark in a recording
    /// says.
    #[inline]
    pub(super) fn lock_apps_for_batch(&mut self) -> Time {
        let runs = !self.batch.requests.is_empty();
        if runs && self.tap.lock_apps(&self.stats) == Some(false) {
            self.tap.apps_began(self.now, self.now, false);
        }
        self.net.now()
    }

    /// Enters the worker as a reader of the newest World, unless the batch has one already.
    #[inline]
    pub(super) fn enter_world(&mut self) {
        self.lock_apps();
        if self.has_world && !self.reads_world {
            if self.shared.world.enter(self.index, &mut self.world) {
                self.tap.entered(self.now, self.world.version());
            }
            self.reads_world = true;
        }
    }

    /// All output of the batch is sent: nothing more is done with its World.
    #[inline]
    pub(super) fn exit_world(&mut self) {
        if self.reads_world {
            self.reads_world = false;
            self.shared.world.exit(self.index);
            if self.output.commands().take_reported() {
                self.shared.world.wake_publisher();
            }
        }
    }

    /// Takes the switch lock, where an application is exclusive. Where it is held, the connection
    /// is signalled when it is free.
    #[inline]
    pub(super) fn lock_switch(&mut self, conn: &Conn<N::Socket>, state: &mut State) -> bool {
        let Some(lock) = conn.switch_lock() else { return true };
        let locked = lock.try_lock_or_wait(conn.id);
        if locked {
            self.batch.locks.push(Arc::clone(lock));
        } else {
            state.parked = true;
        }
        locked
    }

    /// The batch is answered: releases its switch locks.
    #[cold]
    pub(super) fn unlock_switches(&mut self) {
        for lock in mem::take(&mut self.batch.locks) {
            self.signal_unlocked(lock.unlock());
        }
    }

    pub(super) fn signal_unlocked(&mut self, conns: Vec<ConnId>) {
        self.signals.extend(conns.into_iter().map(|conn| (conn, Signal::SwitchUnlocked)));
    }

    /// The switch of this connection joins. The applications' initialisers run before another
    /// worker can find it. Returns whether one of them holds it back; else it has joined.
    #[must_use]
    pub(super) fn join(&mut self, conn: &Arc<Conn<N::Socket>>, info: SwitchInfo) -> bool {
        self.enter_world();
        let switch = self.pipeline.join(self.now, info);
        self.pipeline.event(self.now, &self.world, &switch, &Event::Joining, &mut self.output);
        let lock = self.pipeline.is_exclusive().then(Arc::<SwitchLock>::default);
        // The visit in hand is the first holder.
        if let Some(lock) = lock.as_ref().filter(|lock| lock.try_lock()) {
            self.batch.locks.push(Arc::clone(lock));
        }
        let member = Member { switch, lock };
        let holders = self.output.holds().take_holders();
        let is_held = !holders.is_empty();
        match is_held {
            true => conn.hold(member, holders),
            false => self.enter(conn, member),
        }
        is_held
    }

    /// The switch of this connection is served from now on, and can be found.
    pub(super) fn enter(&self, conn: &Arc<Conn<N::Socket>>, member: Member) {
        self.registry.up(conn.id, &member);
        self.shared.switches.enter(member.switch.info.dpid, conn);
        conn.stats.evictions.add(self.registry.evictions(member.switch.info.dpid));
        conn.join(member, false, self.now);
    }

    /// Runs the applications over an event of a switch.
    pub(super) fn event(&mut self, conn: &Conn<N::Socket>, event: &Event) {
        if let Some(switch) = conn.known_switch()
            && self.pipeline.starts_on(event.kind())
        {
            self.enter_world();
            self.pipeline.event(self.now, &self.world, switch, event, &mut self.output);
            self.release_switch(conn);
        }
    }

    /// Sends a signal where the last application released a switch that was held back.
    fn release_switch(&mut self, conn: &Conn<N::Socket>) {
        let released = self.output.holds().take_released();
        if !released.is_empty() && conn.held().is_some_and(|held| held.release(&released)) {
            self.signals.push((conn.id, Signal::Released));
        }
    }

    /// Delivers a reply to the applications of the worker that asked; to those of this worker where
    /// none did.
    pub(super) fn deliver_reply(&mut self, conn: &Arc<Conn<N::Socket>>, xid: u32, event: Event) {
        match taker(xid).filter(|taker| *taker != self.index) {
            Some(worker) => {
                self.forwards.push(Forward { worker, conn: Arc::clone(conn), event });
            }
            None => self.event(conn, &event),
        }
    }

    /// Fires the applications' timers whose time has come. Between two batches.
    pub(super) fn tick(&mut self) {
        self.enter_world();
        if self.tap.is_on() {
            self.tap.ticked(self.now);
        }
        self.pipeline.tick(self.now, &self.world, self.output.commands());
    }

    /// Another thread roused the applications. Between two batches.
    pub(super) fn roused(&mut self) {
        self.enter_world();
        if self.tap.is_on() {
            self.tap.roused(self.now);
        }
        self.pipeline.roused(self.now, &self.world, self.output.commands());
    }

    /// The World changed: the applications act on it. Between two batches.
    pub(super) fn published(&mut self, before: &World, after: &World) {
        self.enter_world();
        if self.tap.is_on() {
            self.tap.acted(self.now, before.version(), after.version());
        }
        self.pipeline.published(self.now, before, after, self.output.commands());
    }
}

/// The same room, for references that live otherwise. An application is handed a list of
/// references; a count of each switch's owners, raised with every run, would go from core to core
/// with each switch that is served by several workers.
#[inline]
fn recycled<'s>(mut switches: Vec<&Switch>) -> Vec<&'s Switch> {
    switches.clear();
    switches.into_iter().map(|_| unreachable!("there are none")).collect()
}
