//! The phases and what is larger than its batch: the World, the turns of switches, timers, and what
//! comes back to whoever asked.

use std::sync::Arc;

use aldis_control::output::taker;
use aldis_control::switch::Info;
use aldis_control::{Event, Time, World};

use super::phases::{Forward, Phases};
use crate::conn::switch_lock::SwitchLock;
use crate::conn::{Conn, ConnId, Member, State};
use crate::messages::Signal;
use crate::net::Net;
use crate::write::Write;

impl<N: Net, W: Write> Phases<N, W> {
    /// Takes the newest World in hand, unless the batch has one already.
    #[inline]
    pub(super) fn enter(&mut self) {
        if self.has_world && !self.sits {
            self.newest.enter(self.index, &mut self.world);
            self.sits = true;
        }
    }

    /// All that the batch had to say is on its way: nothing more is done with its World.
    #[inline]
    pub(super) fn exit(&mut self) {
        if self.sits {
            self.sits = false;
            self.newest.exit(self.index);
            if self.output.far().take_reported() {
                self.newest.ring();
            }
        }
    }

    /// Whether there is something to be sent to switches that are not in hand.
    #[inline]
    pub(super) fn has_far(&self) -> bool {
        self.output.has_far()
    }

    /// Takes the turn of the switch, where an application wants to be alone with it. Where somebody
    /// else has it, the connection is called when it is free.
    #[inline]
    pub(super) fn lock_switch(&mut self, conn: &Conn<N::Socket>, state: &mut State) -> bool {
        let Some(turn) = conn.switch_lock() else { return true };
        let taken = turn.try_lock_or_wait(conn.id);
        if taken {
            self.batch.locks.push(Arc::clone(turn));
        } else {
            state.parked = true;
        }
        taken
    }

    /// The batch has landed: others may be with its switches.
    #[cold]
    pub(super) fn unlock_switches(&mut self) {
        for turn in std::mem::take(&mut self.batch.locks) {
            self.signal_unlocked(turn.unlock());
        }
    }

    pub(super) fn signal_unlocked(&mut self, conns: Vec<ConnId>) {
        self.signals.extend(conns.into_iter().map(|conn| (conn, Signal::SwitchUnlocked)));
    }

    /// The switch of this connection joins: its initialisers run before anybody else sees it.
    pub(super) fn join(&mut self, conn: &Arc<Conn<N::Socket>>, info: Info) {
        self.enter();
        let switch = self.pipeline.join(self.now, info);
        self.pipeline.event(self.now, &self.world, &switch, &Event::Joining, &mut self.output);
        let lock = self.pipeline.is_exclusive().then(Arc::<SwitchLock>::default);
        // The visit in hand has the first turn.
        if let Some(lock) = lock.as_ref().filter(|lock| lock.try_lock()) {
            self.batch.locks.push(Arc::clone(lock));
        }
        let member = Member { switch, lock };
        self.registry.up(conn.id, &member);
        self.switches.enter(member.switch.info.dpid, conn);
        conn.stats.evictions.add(self.registry.evictions(member.switch.info.dpid));
        conn.join(member, false, self.now);
    }

    /// Tells the applications what happened at a switch.
    pub(super) fn event(&mut self, conn: &Conn<N::Socket>, event: &Event) {
        if let Some(switch) = conn.switch()
            && self.pipeline.starts_on(event.on())
        {
            self.enter();
            self.pipeline.event(self.now, &self.world, switch, event, &mut self.output);
        }
    }

    /// Tells what a switch said to the applications of the worker whose applications asked for it;
    /// where none did, to those that are here.
    pub(super) fn deliver_reply(&mut self, conn: &Arc<Conn<N::Socket>>, xid: u32, event: Event) {
        match taker(xid).filter(|taker| *taker != self.index) {
            Some(worker) => {
                self.forwards.push(Forward { worker, conn: Arc::clone(conn), event });
            }
            None => self.event(conn, &event),
        }
    }

    /// When a timer of an application has to be looked at.
    #[inline]
    pub(crate) fn next_tick(&self) -> Time {
        self.pipeline.next_tick()
    }

    /// Fires the timers whose time has come. Between two batches.
    pub(crate) fn tick(&mut self) {
        self.enter();
        self.pipeline.tick(self.now, &self.world, self.output.far());
    }

    /// The World is another one: the applications act on it. Between two batches.
    pub(crate) fn published(&mut self, before: &World, after: &World) {
        self.enter();
        self.pipeline.published(self.now, before, after, self.output.far());
    }
}
