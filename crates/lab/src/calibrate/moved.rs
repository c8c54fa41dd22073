//! What it costs that another core had a connection last, or read what is answered here.
//!
//! A visit's words are those of the engine's own connections, and the queue is its own queue
//! ([`aldis_engine::sim::bare`]); nothing else is done. Two cores visit the same connections in
//! turn, each the next one that the other has not claimed; or each visits its own: the difference
//! is what moves. In the same way one core hands batches to another, or to itself.

use std::hint::black_box;
use std::io;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use aldis_control::stats::WorkerStats;
use aldis_engine::sim::bare::{BareBatch, BareConns, BareQueue};
use aldis_engine::sim::in_memory::MemoryEnds;
use aldis_wire::Header;
use aldis_wire::header::kind::FLOW_MOD;

use super::cores::{CorePair, pin};
use super::rounds::{CostQuartiles, Middle, StepPace, median};

/// Connections: as many as the papers' networks have switches.
const CONNECTIONS: usize = 79;

/// Requests of a visit: what 2 KB hold.
const REQUESTS: u64 = 25;

/// Bytes of a flow, and hosts of a switch in memory.
const FLOW_LEN: usize = 80;
const HOSTS: u32 = 1_000;

/// Laps over all connections, and batches, that are timed together.
const LAPS: usize = 20;
const BATCHES: usize = 400;

/// Batches that are handed on: so many visits of so many bytes each. The large ones, of 64 KB, are
/// those of some 800 requests, and go through as many cache lines.
const SHAPES: [(usize, usize); 3] = [(1, 2 * 1024), (32, 2 * 1024), (4, 16 * 1024)];

/// What moves from core to core.
#[derive(Clone, Copy)]
pub(super) struct Moved {
    /// `moved_visit_ns`.
    pub(super) visit: CostQuartiles,
    /// `hand_ns`, `handed_visit_ns` and `handed_byte_ps`.
    pub(super) hand: [CostQuartiles; 3],
    /// `pull_ns`, `pulled_visit_ns` and `pulled_byte_ps`.
    pub(super) pull: [CostQuartiles; 3],
    /// `finish_pct`.
    pub(super) finish: CostQuartiles,
}

/// All of that, where there are two cores.
pub(super) fn measure(pace: &StepPace<'_>, cores: CorePair) -> io::Result<Option<Moved>> {
    let Some(far) = cores.far else { return Ok(None) };
    // Whether the cores meet at a connection or pass each other is chance: a run has both.
    let mean = StepPace { middle: Middle::Mean, ..*pace };
    let [visit] = mean.rounds(|| Ok([visits(pace, far, true) - visits(pace, far, false)]))?;
    let costs = pace.rounds(|| {
        let two = SHAPES.map(|shape| between(pace, far, shape));
        let one = SHAPES.map(|shape| alone(pace, shape));
        let mut alone = [0.0; 2];
        let [hand, pull] = [0, 1].map(|side| {
            let [two, one] = [two, one].map(|shapes| Batches::of(shapes.map(|both| both[side])));
            alone[side] = one.visit.max(0.0);
            [two.batch, two.visit - one.visit, (two.byte - one.byte) * 1e3]
        });
        let [read, answered] = alone;
        let finish = answered / (read + answered).max(1e-3) * 100.0;
        Ok([hand[0], hand[1], hand[2], pull[0], pull[1], pull[2], finish])
    })?;
    let [hand, handed, handed_byte, pull, pulled, pulled_byte, finish] = costs;
    let (hand, pull) = ([hand, handed, handed_byte], [pull, pulled, pulled_byte]);
    Ok(Some(Moved { visit, hand, pull, finish }))
}

/// What a visit to a switch in memory takes more, besides, where another core made the last one:
/// the lines of what stands for its socket. None where there is one core.
pub(super) fn memory_socket(
    pace: &StepPace<'_>,
    cores: CorePair,
) -> io::Result<Option<CostQuartiles>> {
    let Some(far) = cores.far else { return Ok(None) };
    let mean = StepPace { middle: Middle::Mean, ..*pace };
    let [cost] = mean.rounds(|| Ok([sockets(pace, far, true) - sockets(pace, far, false)]))?;
    Ok(Some(cost))
}

/// Nanoseconds of a visit on one core, beside another that visits the same connections, or others.
fn visits(pace: &StepPace<'_>, far: usize, shared: bool) -> f64 {
    let both = [CONNECTIONS, CONNECTIONS].map(BareConns::new);
    beside(pace, far, |other: bool, at| {
        let conns = &both[usize::from(other && !shared)];
        let visits = conns.is_ready(at) && conns.read(at, at as u64, REQUESTS);
        if visits {
            conns.write(at, at as u64, REQUESTS);
        }
        visits
    })
}

/// The same of a read of 2 KB and a write to what stands for a socket in memory.
fn sockets(pace: &StepPace<'_>, far: usize, shared: bool) -> f64 {
    let both = [CONNECTIONS, CONNECTIONS].map(|count| MemoryEnds::new(count, HOSTS));
    let answer = Header { version: 1, kind: FLOW_MOD, length: FLOW_LEN as u16, xid: 0 };
    let mut answers = vec![0; FLOW_LEN * REQUESTS as usize];
    for flow in answers.chunks_exact_mut(FLOW_LEN) {
        flow[..8].copy_from_slice(&answer.to_bytes());
    }
    beside(pace, far, |other: bool, at| {
        let ends = &both[usize::from(other && !shared)];
        let mut room = [0; SHAPES[0].1];
        ends.read(at, &mut room);
        ends.write(at, &answers);
        black_box(&room);
        true
    })
}

/// Nanoseconds of what `visit` does at each connection in turn and says that it did, while it does
/// the same on the other core, half a lap ahead. It is told which of both it is.
fn beside(pace: &StepPace<'_>, far: usize, visit: impl Fn(bool, usize) -> bool + Sync) -> f64 {
    let (over, ready) = (AtomicBool::new(false), Barrier::new(2));
    let lap = |other: bool| {
        let first = if other { CONNECTIONS / 2 } else { 0 };
        (0..CONNECTIONS).filter(|step| visit(other, (first + step) % CONNECTIONS)).count()
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            pin(Some(far));
            ready.wait();
            while !over.load(Ordering::Relaxed) {
                lap(true);
            }
        });
        ready.wait();
        for _ in 0..LAPS {
            lap(false);
        }
        let laps = || (0..LAPS).map(|_| lap(false)).sum::<usize>();
        let (spent, made) = pace.clock.time(laps);
        over.store(true, Ordering::Relaxed);
        spent / made.max(1) as f64
    })
}

/// Nanoseconds of what a batch of this shape takes the core that reads it, and the one that
/// answers it.
fn between(pace: &StepPace<'_>, far: usize, (visits, bytes): (usize, usize)) -> [f64; 2] {
    let queue = BareQueue::new(CONNECTIONS);
    thread::scope(|scope| {
        let answers = scope.spawn(|| {
            pin(Some(far));
            let (stats, mut batch) = (WorkerStats::default(), BareBatch::new(visits * bytes));
            let mut took = Vec::with_capacity(2 * BATCHES);
            while took.len() < 2 * BATCHES {
                let begun = Instant::now();
                let (spent, answered) = pace
                    .clock
                    .time(|| queue.pull(&mut batch, &stats).then(|| queue.answer(&mut batch, 1)));
                if answered.is_some() {
                    took.push(spent);
                } else {
                    while begun.elapsed().as_nanos() < 200 {
                        std::hint::spin_loop();
                    }
                }
            }
            second_half(took)
        });
        let (stats, mut batch) = (WorkerStats::default(), BareBatch::new(visits * bytes));
        let mut took = Vec::with_capacity(2 * BATCHES);
        let mut at = 0;
        while took.len() < 2 * BATCHES {
            let (filled, ()) = pace.clock.time(|| {
                (0..visits).for_each(|visit| {
                    queue.gather(&mut batch, (at + visit) % CONNECTIONS, at as u64, bytes);
                });
            });
            at += visits;
            loop {
                let (handed, is_handed) = pace.clock.time(|| queue.hand(&mut batch, &stats));
                if is_handed {
                    took.push(filled + handed);
                    break;
                }
                thread::yield_now();
            }
        }
        [second_half(took), answers.join().expect("it does not panic")]
    })
}

/// The same on one core, which answers each batch before it reads the next.
fn alone(pace: &StepPace<'_>, (visits, bytes): (usize, usize)) -> [f64; 2] {
    let (queue, stats) = (BareQueue::new(CONNECTIONS), WorkerStats::default());
    let [mut read, mut run] = [(); 2].map(|()| BareBatch::new(visits * bytes));
    let mut took = [(); 2].map(|()| Vec::with_capacity(2 * BATCHES));
    for number in 0..2 * BATCHES {
        let (spent, _) = pace.clock.time(|| {
            (0..visits).for_each(|visit| {
                let at = (number * visits + visit) % CONNECTIONS;
                queue.gather(&mut read, at, number as u64, bytes);
            });
            queue.hand(&mut read, &stats)
        });
        took[0].push(spent);
        let answered = || queue.pull(&mut run, &stats).then(|| queue.answer(&mut run, 1));
        took[1].push(pace.clock.time(answered).0);
    }
    took.map(second_half)
}

/// The median of what came when everything had been touched once.
fn second_half(mut took: Vec<f64>) -> f64 {
    median(&mut took.split_off(BATCHES))
}

/// What a batch takes, each visit of it, and each byte.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Batches {
    batch: f64,
    visit: f64,
    byte: f64,
}

impl Batches {
    /// From what batches of [`SHAPES`] take. The last two have as many bytes.
    fn of([small, several, large]: [f64; 3]) -> Batches {
        let [(one, short), (many, _), (few, long)] = SHAPES;
        let visit = (several - large) / (many - few) as f64;
        let more = (few * long - one * short) as f64;
        let byte = (large - small - (few - one) as f64 * visit) / more;
        Batches { batch: small - visit - byte * short as f64, visit, byte }
    }
}

#[cfg(test)]
mod tests {
    use super::super::clock::CalibratedClock;
    use super::*;
    use std::time::Duration;

    #[test]
    fn batches_are_taken_apart_into_what_they_were_made_of() {
        let took =
            SHAPES.map(|(visits, bytes)| 100.0 + visits as f64 * (30.0 + 0.25 * bytes as f64));
        let Batches { batch, visit, byte } = Batches::of(took);
        assert!((batch - 100.0).abs() < 1e-6 && (visit - 30.0).abs() < 1e-6, "{batch} {visit}");
        assert!((byte - 0.25).abs() < 1e-9, "{byte}");
    }

    #[test]
    fn everything_is_visited_handed_on_and_answered() {
        let (stop, middle) = (AtomicBool::new(false), Middle::Median);
        let [warm_up, length] = [Duration::ZERO; 2];
        let pace = StepPace { warm_up, length, middle, stop: &stop, clock: CalibratedClock::new() };
        let cores = CorePair::choose();
        let moved = measure(&pace, cores).unwrap();
        assert_eq!(moved.is_some(), cores.far.is_some());
        let sane = |cost: &CostQuartiles| (0.1..1e7).contains(&cost.value);
        assert!(moved.is_none_or(|moved| {
            let finish = (0.1..100.0).contains(&moved.finish.value);
            finish
                && sane(&moved.visit)
                && moved.hand.iter().all(sane)
                && moved.pull.iter().all(sane)
        }));
    }
}
