//! Round robin: every worker visits every ready switch in turn (Maestro §3.2.4).
//!
//! A worker's round passes over all switches that are ready, and reads a little from each, the same
//! number of bytes. A switch that another worker is reading is skipped, remembered, and visited
//! before the round ends; one of weight *w* is visited *w* times. So every switch has the same part
//! of every worker: max-min fair, however busy the workers are.
//!
//! Which switches are ready is a set of bits that all workers see; idle switches are not looked at.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use aldis_control::Time;
use aldis_control::stats::WorkerStats;

use super::ready_set::ReadySet;
use super::{Read, Visit};
use crate::conn::Conn;
use crate::limits::{CONNECTIONS_MAX, HELP_AFTER};
use crate::sync::lock;
use crate::sync::versioned::{self, Versioned};
use crate::sync::{Primitives, Std};

/// What the workers share.
pub(crate) struct Shared<C, M: Primitives = Std> {
    ready: ReadySet<M::U32>,
    switches: Versioned<ByNumber<C>, M>,
}

type ByNumber<C> = Vec<Option<Arc<C>>>;

/// What a worker knows of the switches.
#[derive(Debug)]
struct Known<C> {
    switches: ByNumber<C>,
    version: u64,
}

impl<C, M: Primitives> Shared<C, M> {
    pub(crate) fn new() -> Self {
        Shared::with_room(CONNECTIONS_MAX)
    }

    fn with_room(numbers: usize) -> Self {
        Shared { ready: ReadySet::new(numbers), switches: Versioned::new(Vec::new()) }
    }

    fn enter(&self, number: usize, conn: &Arc<C>) {
        self.switches.change(|switches| {
            if switches.len() <= number {
                switches.resize(number + 1, None);
            }
            switches[number] = Some(Arc::clone(conn));
        });
    }

    fn erase(&self, number: usize) {
        self.switches.change(|switches| switches[number] = None);
        self.ready.clear(number, || false);
    }

    /// Brings what a worker knows up to date. A wait for it counts in `stats`.
    #[inline]
    fn refresh(&self, known: &mut Known<C>, stats: &WorkerStats) {
        if self.switches.follow(&mut known.version) {
            known.switches.clone_from(&lock(self.switches.value(), stats));
        }
    }

    /// Forgets that a switch is ready, unless it is; or unless others know more of the switches
    /// than this worker, for then the number may be another switch's by now.
    fn forget(&self, known: &Known<C>, number: usize, is_queued: impl FnOnce(&C) -> bool) {
        self.ready.clear(number, || {
            self.switches.differs(known.version) || known.at(number).is_some_and(|it| is_queued(it))
        });
    }
}

impl<C> Known<C> {
    fn at(&self, number: usize) -> Option<&Arc<C>> {
        self.switches.get(number).and_then(Option::as_ref)
    }
}

/// The design.
pub(crate) struct RoundRobin<S> {
    shared: Arc<Shared<Conn<S>>>,
    read_max: usize,
    stats: Arc<WorkerStats>,
    known: Known<Conn<S>>,
    /// The round has come so far.
    at: usize,
    /// Switches that are visited before the round ends: they were skipped, or have weight.
    remembered: VecDeque<Due>,
    /// The switch in hand, and how many visits it is due after this one.
    in_hand: (usize, u32),
}

/// A switch that is visited before the round ends.
#[derive(Clone, Copy, Debug)]
struct Due {
    number: usize,
    /// How often.
    visits: u32,
    /// How often it was skipped before its next visit.
    skipped: u32,
}

impl<S> RoundRobin<S> {
    pub(crate) fn new(
        shared: Arc<Shared<Conn<S>>>,
        read_max: usize,
        stats: Arc<WorkerStats>,
    ) -> Self {
        RoundRobin {
            shared,
            read_max,
            stats,
            known: Known { switches: Vec::new(), version: versioned::UNSEEN },
            at: 0,
            remembered: VecDeque::new(),
            in_hand: (0, 0),
        }
    }

    fn refresh(&mut self) {
        self.shared.refresh(&mut self.known, &self.stats);
    }

    /// Tries to visit a switch.
    #[inline]
    fn visit(&mut self, due: Due) -> Result<Visit<S>, Why> {
        let Due { number, visits, skipped } = due;
        let Some(conn) = self.known.at(number) else { return Err(Why::Idle) };
        let Some(events) = conn.claim.claim() else {
            return Err(if conn.claim.is_claimed() { Why::BeingRead } else { Why::Idle });
        };
        self.in_hand = (number, visits - 1);
        if skipped > 0 {
            conn.stats.skips.add(skipped.into());
            conn.stats.revisits.add(1);
        }
        Ok(Visit { conn: Arc::clone(conn), events, read_max: self.read_max, share: None })
    }

    /// A switch is being read by another worker: it is visited later in the round.
    #[inline]
    fn skip(&mut self, due: Due) {
        self.stats.skips.add(1);
        self.remembered.push_back(Due { skipped: due.skipped + 1, ..due });
    }

    fn forget(&self, number: usize) {
        self.shared.forget(&self.known, number, |conn| conn.claim.is_queued());
    }

    /// The next of those that were ready when the round came by.
    #[inline]
    fn next_in_turn(&mut self) -> Option<Visit<S>> {
        // A switch with a number beyond these came a moment ago; the next look knows it.
        while let Some(number) = self.shared.ready.next(self.at, self.known.switches.len()) {
            self.at = number + 1;
            let visits = self.known.at(number).map_or(1, |conn| conn.weight().number());
            let due = Due { number, visits, skipped: 0 };
            match self.visit(due) {
                Ok(visit) => return Some(visit),
                Err(Why::BeingRead) => self.skip(due),
                Err(Why::Idle) => self.forget(number),
            }
        }
        None
    }

    /// The next of those that are still due visits of this round.
    #[inline]
    fn next_remembered(&mut self) -> Option<Visit<S>> {
        // A switch that is being read again had a visit meanwhile, and is tried once more at the
        // end.
        for _ in 0..2 * self.remembered.len() {
            let due = self.remembered.pop_front()?;
            match self.visit(due) {
                Ok(visit) => {
                    self.stats.revisits.add(u64::from(due.skipped > 0));
                    return Some(visit);
                }
                Err(Why::BeingRead) => self.skip(due),
                Err(Why::Idle) => {}
            }
        }
        self.remembered.clear();
        None
    }
}

/// Why a switch cannot be visited.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Why {
    BeingRead,
    Idle,
}

impl<S> Read<S> for RoundRobin<S> {
    fn join(&mut self, conn: &Arc<Conn<S>>) {
        self.shared.enter(conn.number(), conn);
    }

    fn leave(&mut self, conn: &Arc<Conn<S>>) {
        self.shared.erase(conn.number());
    }

    #[inline]
    fn queue(&mut self, conn: Arc<Conn<S>>) -> Result<(), Arc<Conn<S>>> {
        self.shared.ready.set(conn.number());
        Ok(())
    }

    #[inline]
    fn next(&mut self, _: Time) -> Option<Visit<S>> {
        self.refresh();
        if let Some(visit) = self.next_in_turn().or_else(|| self.next_remembered()) {
            return Some(visit);
        }
        // The round is over, and the next one begins.
        self.at = 0;
        self.next_in_turn()
    }

    #[inline]
    fn wants_help(&self, busy: Duration) -> bool {
        busy > HELP_AFTER
    }

    #[inline]
    fn done(&mut self, conn: &Arc<Conn<S>>, _: u32, queued: bool) {
        let (number, visits) = std::mem::take(&mut self.in_hand);
        if !queued {
            self.forget(conn.number());
        } else {
            self.shared.ready.set(conn.number());
            if visits > 0 && number == conn.number() {
                self.remembered.push_back(Due { number, visits, skipped: 0 });
            }
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    use aldis_control::session::{self, Session};

    use crate::conn::ConnId;
    use crate::conn::outgoing::Outgoing;

    /// A connection that is queued.
    pub(in crate::read) fn conn(number: usize) -> Arc<Conn<()>> {
        let config = Arc::new(session::Config::default());
        let session = Session::new(config, Time::START, 0, &mut Vec::new());
        let peer = ([127, 0, 0, 1], 1).into();
        let outgoing = Outgoing::new(1, Duration::ZERO);
        let conn = Conn::new((ConnId(number as u64), number), (), peer, 0, session, outgoing);
        assert!(conn.claim.release(true));
        Arc::new(conn)
    }

    fn two_workers() -> [RoundRobin<()>; 2] {
        let shared = Arc::new(Shared::new());
        [0, 1].map(|_| RoundRobin::new(Arc::clone(&shared), 1, Arc::default()))
    }

    #[test]
    fn a_worker_that_does_not_know_a_newcomer_does_not_forget_it() {
        let [mut home, mut other] = two_workers();
        home.join(&conn(1));
        other.refresh();
        let newcomer = conn(0);
        home.join(&newcomer);
        home.queue(newcomer).unwrap();
        assert!(other.next_in_turn().is_none());
        assert!(other.next(Time::START).is_some(), "it is still ready");
    }

    /// Each time that it is put off counts as a skip, and the visit at last as one revisit; a
    /// further visit by weight is neither.
    #[test]
    fn a_skipped_switch_is_revisited_in_the_same_round_and_counted_once() {
        let [mut home, mut other] = two_workers();
        let (first, second) = (conn(0), conn(1));
        second.set_weight(aldis_control::fair::Weight::new(2).unwrap());
        for conn in [&first, &second] {
            home.join(conn);
            home.queue(Arc::clone(conn)).unwrap();
        }
        let counted = |stats: &WorkerStats| (stats.skips.get(), stats.revisits.get());
        let held = home.next(Time::START).unwrap();
        assert_eq!((held.conn.number(), held.conn.stats.skips.get()), (0, 0));
        let visit = other.next(Time::START).unwrap();
        assert_eq!(
            (visit.conn.number(), visit.conn.stats.skips.get(), counted(&other.stats)),
            (1, 0, (1, 0))
        );
        let queued = second.claim.release(true);
        other.done(&second, 1, queued);
        // The first is still being read.
        let visit = other.next(Time::START).unwrap();
        assert_eq!(
            (visit.conn.number(), visit.conn.stats.skips.get(), counted(&other.stats)),
            (1, 0, (2, 0))
        );
        let queued = second.claim.release(false);
        other.done(&second, 1, queued);
        let queued = first.claim.release(true);
        home.done(&first, 1, queued);
        let visit = other.next(Time::START).unwrap();
        assert_eq!(
            (visit.conn.number(), visit.conn.stats.skips.get(), counted(&other.stats)),
            (0, 2, (2, 1))
        );
    }

    #[test]
    fn a_switch_with_a_reused_number_is_not_forgotten() {
        let [mut home, mut other] = two_workers();
        let gone = conn(0);
        home.join(&gone);
        assert!(gone.claim.claim().is_some());
        assert!(!gone.claim.release(false));
        other.refresh();
        home.leave(&gone);
        let successor = conn(0);
        home.join(&successor);
        home.queue(Arc::clone(&successor)).unwrap();
        assert!(other.next_in_turn().is_none());
        let visit = home.next(Time::START).expect("it is still ready");
        assert!(Arc::ptr_eq(&visit.conn, &successor));
    }
}

#[cfg(test)]
mod model;
