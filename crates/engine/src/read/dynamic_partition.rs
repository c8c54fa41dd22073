//! Dynamic partition: as static partition, but a switch moves to another worker when the rates say
//! so (Maestro §3.2.3).
//!
//! Each worker serves its own switches. Every *period* the first worker takes what each switch sent
//! since the last time and divides the switches anew, by the greedy algorithm of figure 3. A switch
//! that has to move gets a signal. Its claimant answers what is on its way, and its claim goes with
//! it to the new home, so that nothing is lost and nothing changes places.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aldis_control::Time;
use aldis_control::fair::{Load, partition};

use super::ready_list::ReadyList;
use super::{Read, Visit};
use crate::conn::{Conn, ConnId};
use crate::messages::Signal;

/// What the workers share.
#[derive(Debug)]
pub(crate) struct Shared<S> {
    workers: usize,
    period: Duration,
    switches: Mutex<Vec<Counted<S>>>,
}

/// A switch, and what it had sent when it was last looked at.
#[derive(Debug)]
struct Counted<S> {
    conn: Arc<Conn<S>>,
    then: u64,
}

impl<S> Shared<S> {
    pub(crate) fn new(workers: usize, period: Duration) -> Self {
        Shared { workers, period, switches: Mutex::default() }
    }

    fn with<R>(&self, act: impl FnOnce(&mut Vec<Counted<S>>) -> R) -> R {
        act(&mut self.switches.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The connections that have to move, by what came since the last time.
    fn divide(&self, signals: &mut Vec<(ConnId, Signal)>) {
        self.with(|switches| {
            let loads: Vec<Load> = switches
                .iter_mut()
                .map(|counted| {
                    let now = counted.conn.stats.requests.get();
                    let rate = now - std::mem::replace(&mut counted.then, now);
                    Load { rate, worker: counted.conn.home() }
                })
                .collect();
            for (counted, worker) in switches.iter().zip(partition(&loads, self.workers)) {
                if worker != counted.conn.home() {
                    signals.push((counted.conn.id, Signal::Move(worker)));
                }
            }
        });
    }
}

/// The design.
#[derive(Debug)]
pub(crate) struct DynamicPartition<S> {
    own: ReadyList<S>,
    shared: Arc<Shared<S>>,
    divides: bool,
    divide_at: Time,
}

impl<S> DynamicPartition<S> {
    pub(crate) fn new(worker: usize, shared: Arc<Shared<S>>) -> Self {
        let divide_at = Time::START + shared.period;
        DynamicPartition { own: ReadyList::new(worker), shared, divides: worker == 0, divide_at }
    }
}

impl<S> Read<S> for DynamicPartition<S> {
    fn join(&mut self, conn: &Arc<Conn<S>>) {
        let counted = Counted { conn: Arc::clone(conn), then: conn.stats.requests.get() };
        self.shared.with(|switches| switches.push(counted));
    }

    fn leave(&mut self, conn: &Arc<Conn<S>>) {
        self.shared.with(|switches| switches.retain(|counted| counted.conn.id != conn.id));
    }

    #[inline]
    fn queue(&mut self, conn: Arc<Conn<S>>) -> Result<(), Arc<Conn<S>>> {
        self.own.push(conn)
    }

    #[inline]
    fn next(&mut self, _: Time) -> Option<Visit<S>> {
        self.own.pop()
    }

    #[inline]
    fn done(&mut self, conn: &Arc<Conn<S>>, _: u32, queued: bool) {
        if queued {
            // Only its home serves it, and so it is at home here.
            let _ = self.own.push(Arc::clone(conn));
        }
    }

    fn tick(&mut self, now: Time, signals: &mut Vec<(ConnId, Signal)>) {
        if self.divides && self.divide_at <= now {
            self.divide_at = now + self.shared.period;
            self.shared.divide(signals);
        }
    }
}
