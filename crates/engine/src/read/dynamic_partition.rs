//! Dynamic partition: as static partition, but a switch moves to another worker when the rates say
//! so (Maestro §3.2.3).
//!
//! Each worker serves its own switches. Every *period* the first worker estimates what each switch
//! offered since the last time and divides the switches anew, by the greedy algorithm of figure 3.
//! A switch that has to move gets a signal. Its claimant answers what is on its way, and its claim
//! goes with it to the new home, so that nothing is lost and nothing changes places.
//!
//! Figure 3 sorts by *input rates*, and what was served is not one: a worker that is too busy
//! serves its switches as much together as any other, so that no division would ever look wrong.
//! So a switch counts with what was read of it only if some visit left nothing to read. One that
//! always had more to say offers as much as the most that any such switch got.

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
    /// In percent.
    hysteresis: u32,
    switches: Mutex<Vec<Counted<S>>>,
}

/// A switch, and what it had sent when it was last looked at.
#[derive(Debug)]
struct Counted<S> {
    conn: Arc<Conn<S>>,
    then: u64,
}

impl<S> Shared<S> {
    pub(crate) fn new(workers: usize, period: Duration, hysteresis: u32) -> Self {
        Shared { workers, period, hysteresis, switches: Mutex::default() }
    }

    fn with<R>(&self, act: impl FnOnce(&mut Vec<Counted<S>>) -> R) -> R {
        act(&mut self.switches.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The connections that have to move, by what they offered since the last time.
    fn divide(&self, signals: &mut Vec<(ConnId, Signal)>) {
        self.with(|switches| {
            let served: Vec<(u64, bool)> = switches.iter_mut().map(Counted::take).collect();
            let offered = offered(&served);
            let loads: Vec<Load> = switches
                .iter()
                .zip(offered)
                .map(|(counted, rate)| Load { rate, worker: counted.conn.home() })
                .collect();
            let next = partition(&loads, self.workers, self.hysteresis);
            for (counted, worker) in switches.iter().zip(next) {
                if worker != counted.conn.home() {
                    signals.push((counted.conn.id, Signal::Move(worker)));
                }
            }
        });
    }
}

impl<S> Counted<S> {
    /// How many requests were read since the last time, and whether nothing was left at some time.
    fn take(&mut self) -> (u64, bool) {
        let now = self.conn.stats.requests.get();
        let read = now - std::mem::replace(&mut self.then, now);
        (read, self.conn.emptied.take() || read == 0)
    }
}

/// What each switch offered, of what was read of it and whether it had nothing more to say.
fn offered(served: &[(u64, bool)]) -> Vec<u64> {
    let full = served.iter().filter(|(_, emptied)| !emptied);
    let most = full.map(|(read, _)| *read).max().unwrap_or(0);
    served.iter().map(|&(read, emptied)| if emptied { read } else { most }).collect()
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
        } else {
            conn.emptied.set();
        }
    }

    /// There may be more to read: the next visit says so.
    fn park(&mut self, _: &Arc<Conn<S>>, _: u32) {}

    fn tick(&mut self, now: Time, signals: &mut Vec<(ConnId, Signal)>) {
        if self.divides && self.divide_at <= now {
            self.divide_at = now + self.shared.period;
            self.shared.divide(signals);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::offered;

    #[test]
    fn a_switch_that_always_had_more_to_say_offers_as_much_as_any_such_got() {
        // Three full ones share a worker, one has another for itself; one asks for little.
        let served = [(100, false), (100, false), (100, false), (300, false), (7, true)];
        assert_eq!(offered(&served), [300, 300, 300, 300, 7]);
        // What kept up counts as it is, though it is more.
        assert_eq!(offered(&[(500, true), (80, false), (0, true)]), [500, 80, 0]);
    }
}
