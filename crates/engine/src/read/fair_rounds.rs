//! Fair rounds: each worker serves its own switches first and then those that others have left, in
//! rounds that all keep together. The default.
//!
//! Deficit round robin ([`aldis_control::fair::Rounds`]): in each round a switch may use its weight
//! times the quantum, in requests; what a visit takes beyond that is a debt. A switch that was idle
//! and asked for little the last time comes before those that never stop, so that one that asks
//! rarely waits for the batch in progress, and not for the round. Visits are as long as static
//! partition's.
//!
//! A batch is one visit to a switch that has more to say than was read. Where switches say less at
//! a time, it is several: reads that follow each other, and writes, find the kernel's code in the
//! cache, and the applications more to look ahead at. It is closed after some 20 µs, so that no
//! reply waits for the visits of many other switches; and by a switch that said very little, whose
//! replies wait for none.
//!
//! A worker that is through with its own takes what others have left of theirs, and no worker
//! begins the next round before all have come to the end of this one: the shares are max-min over
//! all workers, and yet a switch is nearly always served where its tables are in the cache.

mod common_round;

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use aldis_control::Time;
use aldis_control::fair::{Id, Rounds};
use aldis_control::stats::WorkerStats;

use super::{Read, Visit};
use crate::conn::Conn;
use crate::limits::{
    AGAIN_EVERY, CROWD, GATHER_MAX, GATHER_MIN, HELP_AFTER, QUANTUM, QUANTUM_MAX, QUANTUM_MIN,
    REQUEST_BYTES, ROUND_LONG, ROUND_SHORT, SHED_AHEAD, TURN_LONG, TURN_SHORT,
};
use crate::sync::lock;

use common_round::{CommonRound, Turned};

/// What the workers share.
#[derive(Debug)]
pub(crate) struct Shared<S> {
    homes: Box<[Home<S>]>,
    /// The round that all are in.
    round: CommonRound,
    /// When it began, in nanoseconds.
    began: AtomicU64,
    quantum: AtomicU32,
}

/// A worker's own switches. Locked for a moment before and after a visit; by others only while they
/// have nothing else to do. On cache lines of its own.
#[derive(Debug)]
#[repr(align(128))]
struct Home<S>(Mutex<Turns<S>>);

#[derive(Debug)]
struct Turns<S> {
    rounds: Rounds,
    /// By their place in the home's slab.
    conns: Vec<Option<Arc<Conn<S>>>>,
    /// How many there are.
    members: usize,
    /// When some that ask for little were last let come first again.
    let_again_at: Time,
}

impl<S> Turns<S> {
    #[inline]
    fn let_again(&mut self, now: Time) {
        if now >= self.let_again_at + AGAIN_EVERY {
            let times = now.since(self.let_again_at).as_nanos() / AGAIN_EVERY.as_nanos();
            self.rounds.let_again(u32::try_from(times).unwrap_or(u32::MAX));
            self.let_again_at = now;
        }
    }
}

impl<S> Shared<S> {
    pub(crate) fn new(workers: usize) -> Self {
        let home = |_| {
            let rounds = Rounds::new(QUANTUM);
            let (conns, let_again_at) = (Vec::new(), Time::START);
            Home(Mutex::new(Turns { rounds, conns, members: 0, let_again_at }))
        };
        Shared {
            homes: (0..workers).map(home).collect(),
            round: CommonRound::default(),
            began: AtomicU64::new(0),
            quantum: AtomicU32::new(QUANTUM),
        }
    }

    /// The turns of a worker's switches, in the round that all are in. A wait for them counts in
    /// `stats`.
    #[inline]
    fn home(&self, worker: usize, stats: &WorkerStats) -> MutexGuard<'_, Turns<S>> {
        let mut turns = lock(&self.homes[worker].0, stats);
        self.round.follow(&mut turns.rounds, || self.quantum.load(Ordering::Relaxed));
        turns
    }

    /// Claims whose turn it is among a worker's switches.
    #[inline]
    fn pick(&self, worker: usize, now: Time, stats: &WorkerStats) -> Option<Visit<S>> {
        let mut turns = self.home(worker, stats);
        turns.let_again(now);
        while let Some(visit) = turns.rounds.pick() {
            let conn = turns.conns[visit.id.0 as usize].clone();
            if let Some(conn) = conn
                && let Some(events) = conn.claim.claim()
            {
                // A whole quantum even where less is left of it: what came at once is served at
                // once, and the rest of it is a debt.
                let most = visit.allowance.max(turns.rounds.quantum());
                let read_max = (most as usize).saturating_mul(REQUEST_BYTES);
                let share = Some(visit.allowance);
                return Some(Visit { conn, events, read_max, share });
            }
            turns.rounds.done(visit.id, 0, false);
        }
        None
    }

    /// Begins the next round, where all have come to the end of this one. Returns whether there is
    /// anything to be served: because the round turned, or because it was not at its end.
    fn turn(&self, now: Time, stats: &WorkerStats) -> bool {
        let mut members = 0;
        let turned = self.round.turn(self.homes.len(), |worker| {
            let turns = self.home(worker, stats);
            members += turns.members;
            (turns.rounds.left_of_round(), turns.rounds.next_round())
        });
        if let Turned::By(rounds) = turned {
            self.follow(now, rounds, members);
        }
        turned != Turned::Idle
    }

    /// The quantum follows the time that rounds take: smaller where they are long, so that no
    /// switch's next turn is far. Where they are long because the switches are many, with short
    /// turns, it stays: reading and writing would cost as much for fewer requests, and the round
    /// take as long. In a crowd it is two reads while the round allows it, so that switches that
    /// ask for less than their share, and have one visit a round, bring more with it.
    fn follow(&self, now: Time, rounds: u64, members: usize) {
        let began = Time(self.began.swap(now.0, Ordering::Relaxed));
        let round = now.since(began) / u32::try_from(rounds).unwrap_or(u32::MAX);
        let workers = self.homes.len();
        let turn = round * workers as u32 / u32::try_from(members.max(1)).unwrap_or(u32::MAX);
        let quantum = self.quantum.load(Ordering::Relaxed);
        let is_crowd = members >= CROWD * workers;
        let short = if quantum < QUANTUM {
            round < ROUND_SHORT || turn < TURN_SHORT
        } else {
            is_crowd && round < ROUND_LONG / 2
        };
        let long = round > ROUND_LONG && (quantum > QUANTUM || turn > TURN_LONG);
        let next = match (short, long) {
            (true, _) => quantum * 2,
            (_, true) => quantum / 2,
            _ => quantum,
        };
        let most = if is_crowd { QUANTUM_MAX } else { QUANTUM };
        self.quantum.store(next.clamp(QUANTUM_MIN, most), Ordering::Relaxed);
    }
}

/// The design.
#[derive(Debug)]
pub(crate) struct FairRounds<S> {
    worker: usize,
    shared: Arc<Shared<S>>,
    stats: Arc<WorkerStats>,
}

impl<S> FairRounds<S> {
    pub(crate) fn new(worker: usize, shared: Arc<Shared<S>>, stats: Arc<WorkerStats>) -> Self {
        FairRounds { worker, shared, stats }
    }

    /// What another worker has left.
    fn help(&self, now: Time) -> Option<Visit<S>> {
        let workers = self.shared.homes.len();
        let mut others = (1..workers).map(|on| (self.worker + on) % workers);
        let visit = others.find_map(|other| self.shared.pick(other, now, &self.stats));
        if visit.is_some() {
            self.stats.helped_visits.add(1);
        }
        visit
    }
}

fn id<S>(conn: &Conn<S>) -> Id {
    Id(conn.token() as u32)
}

impl<S> Read<S> for FairRounds<S> {
    const READ_AHEAD: usize = SHED_AHEAD;

    fn join(&mut self, conn: &Arc<Conn<S>>) {
        let mut turns = self.shared.home(self.worker, &self.stats);
        let at = id(conn).0 as usize;
        if turns.conns.len() <= at {
            turns.conns.resize(at + 1, None);
        }
        turns.conns[at] = Some(Arc::clone(conn));
        turns.members += 1;
        turns.rounds.join(id(conn), conn.weight());
    }

    fn leave(&mut self, conn: &Arc<Conn<S>>) {
        let mut turns = self.shared.home(self.worker, &self.stats);
        turns.rounds.leave(id(conn));
        turns.conns[id(conn).0 as usize] = None;
        turns.members -= 1;
        if turns.members == 0 {
            // The memory of a crowd goes with it.
            turns.conns = Vec::new();
            turns.rounds.clear();
        }
    }

    fn weigh(&mut self, conn: &Arc<Conn<S>>) {
        self.shared.home(conn.home(), &self.stats).rounds.set_weight(id(conn), conn.weight());
    }

    #[inline]
    fn queue(&mut self, conn: Arc<Conn<S>>) -> Result<(), Arc<Conn<S>>> {
        self.shared.home(conn.home(), &self.stats).rounds.arrive(id(&conn));
        Ok(())
    }

    #[inline]
    fn next(&mut self, now: Time) -> Option<Visit<S>> {
        loop {
            let own = self.shared.pick(self.worker, now, &self.stats);
            if let Some(visit) = own.or_else(|| self.help(now)) {
                return Some(visit);
            }
            if !self.shared.turn(now, &self.stats) {
                return None;
            }
        }
    }

    /// By a switch that has more to say than was read, by one that said little, and when the batch
    /// has gathered for long.
    #[inline]
    fn closes_batch(&self, used: usize, queued: bool, gathering: Duration) -> bool {
        queued || used < GATHER_MIN || gathering >= GATHER_MAX
    }

    #[inline]
    fn wants_help(&self, busy: Duration) -> bool {
        busy > HELP_AFTER
    }

    fn lists(&self) -> usize {
        self.shared.homes.len()
    }

    #[inline]
    fn done(&mut self, conn: &Arc<Conn<S>>, used: u32, queued: bool) {
        self.shared.home(conn.home(), &self.stats).rounds.done(id(conn), used, queued);
    }

    #[inline]
    fn park(&mut self, conn: &Arc<Conn<S>>, used: u32) {
        self.shared.home(conn.home(), &self.stats).rounds.park(id(conn), used);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::round_robin::tests::conn;

    /// The quantum after rounds that all took so long.
    fn quantum_after(rounds: u64, workers: usize, members: usize, took: Duration) -> u32 {
        let shared = Shared::<()>::new(workers);
        let mut now = Time::START;
        for _ in 0..rounds {
            now = now + took;
            shared.follow(now, 1, members);
        }
        shared.quantum.load(Ordering::Relaxed)
    }

    #[test]
    fn the_quantum_is_cut_where_rounds_and_turns_are_long() {
        let second = Duration::from_secs(1);
        assert_eq!(quantum_after(1, 1, 1000, second), QUANTUM / 2);
        assert_eq!(quantum_after(9, 1, 1000, second), QUANTUM_MIN);
        assert_eq!(quantum_after(9, 1, 10_000, second), QUANTUM, "they are many");
        assert_eq!(
            quantum_after(9, 2, 10_000, second),
            QUANTUM_MIN,
            "their turns are twice as long"
        );
        assert_eq!(quantum_after(9, 1, 1000, ROUND_LONG), QUANTUM, "it is not long");
    }

    #[test]
    fn a_crowd_is_read_twice_in_a_round_that_is_short() {
        let took = ROUND_LONG / 3;
        for (workers, members, quantum) in [
            (1, CROWD - 1, QUANTUM),
            (1, CROWD, QUANTUM_MAX),
            (2, 2 * CROWD - 1, QUANTUM),
            (2, 2 * CROWD, QUANTUM_MAX),
        ] {
            assert_eq!(quantum_after(9, workers, members, took), quantum, "{workers}, {members}");
        }
        let shared = Shared::<()>::new(1);
        shared.quantum.store(QUANTUM_MAX, Ordering::Relaxed);
        let mut now = Time::START;
        for (members, took, quantum) in [
            (CROWD, ROUND_LONG, QUANTUM_MAX),
            (CROWD, ROUND_LONG * 2, QUANTUM),
            (CROWD, ROUND_LONG / 2, QUANTUM),
            (CROWD, ROUND_LONG / 3, QUANTUM_MAX),
            (CROWD - 1, ROUND_LONG / 3, QUANTUM),
        ] {
            now = now + took;
            shared.follow(now, 1, members);
            assert_eq!(shared.quantum.load(Ordering::Relaxed), quantum, "{members}, {took:?}");
        }
    }

    /// Turns are reckoned from the members of all homes.
    #[test]
    fn a_round_that_turns_counts_the_switches() {
        for (members, quantum) in [(1000, QUANTUM / 2), (10_000, QUANTUM)] {
            let shared = Arc::new(Shared::new(1));
            let mut rounds = FairRounds::new(0, Arc::clone(&shared), Arc::default());
            let conn = conn(0);
            conn.set_token(0);
            rounds.join(&conn);
            rounds.queue(Arc::clone(&conn)).unwrap();
            rounds.next(Time::START).unwrap();
            shared.quantum.store(QUANTUM, Ordering::Relaxed);
            shared.homes[0].0.lock().unwrap().members = members;
            rounds.done(&conn, QUANTUM, conn.claim.release(true));
            assert!(shared.turn(Time::START + Duration::from_secs(1), &WorkerStats::default()));
            assert_eq!(shared.quantum.load(Ordering::Relaxed), quantum, "{members}");
        }
    }

    #[test]
    fn the_quantum_grows_where_rounds_or_turns_are_short() {
        for (members, took) in [(10, ROUND_SHORT / 2), (20_000, Duration::from_millis(300))] {
            let shared = Shared::<()>::new(1);
            shared.quantum.store(QUANTUM_MIN, Ordering::Relaxed);
            let mut now = Time::START;
            for quantum in [QUANTUM_MIN * 2, QUANTUM_MIN * 4, QUANTUM] {
                now = now + took;
                shared.follow(now, 1, members);
                assert_eq!(shared.quantum.load(Ordering::Relaxed), quantum, "{members}");
            }
        }
    }

    /// What came at once is not served in two visits for ever.
    #[test]
    fn a_visit_reads_a_whole_quantum_where_less_of_it_is_left() {
        let shared = Arc::new(Shared::new(1));
        let mut rounds = FairRounds::new(0, shared, Arc::default());
        let conn = conn(0);
        conn.set_token(0);
        rounds.join(&conn);
        rounds.queue(Arc::clone(&conn)).unwrap();
        let quantum = QUANTUM as usize * REQUEST_BYTES;
        for left in [QUANTUM, QUANTUM / 2] {
            let visit = rounds.next(Time::START).unwrap();
            assert_eq!((visit.share, visit.read_max), (Some(left), quantum));
            let queued = conn.claim.release(true);
            rounds.done(&conn, QUANTUM / 2, queued);
        }
    }
}

#[cfg(test)]
mod model;
