//! What it costs that another core read what is answered here.
//!
//! The queue is the engine's own, and the words of a visit are those of its connections
//! ([`aldis_engine::sim::bare`]). One core hands batches to another, or to itself: the difference
//! is what moves. For batches and visits nothing else is done. For bytes they are read and parsed
//! on the one side, and answered by the learning switch on the other: it waits for them otherwise
//! than a loop that only adds them up.

use std::hint::black_box;
use std::io;
use std::thread;
use std::time::Instant;

use aldis_control::stats::WorkerStats;
use aldis_control::{Output, Pipeline};
use aldis_engine::sim::bare::{BareBatch, BareQueue};
use aldis_engine::sim::in_memory::MemoryEnds;

use super::cores::{CorePair, pin};
use super::memory::{REQUEST_LEN, learning_switch};
use super::rounds::{CostQuartiles, StepPace, median};

/// Connections: as many as the papers' networks have switches.
const CONNECTIONS: usize = 79;

/// Batches that are timed together: where nothing else is done, and where they are answered.
const BATCHES: usize = 400;
const ANSWERED: usize = 100;

/// Hosts of a switch.
const HOSTS: u32 = 1_000;

/// Batches that are handed on: so many visits of so many requests each. The large ones, of 64 KB,
/// go through as many cache lines.
const SHAPES: [(usize, usize); 3] = [(1, 25), (32, 25), (4, 200)];

/// What moves from core to core.
#[derive(Clone, Copy)]
pub(super) struct Moved {
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
    let (queue, mut answering) = (BareQueue::new(CONNECTIONS), Answering::new());
    let costs = pace.rounds(|| {
        let gather = |into: &mut BareBatch, at, bytes| queue.gather(into, at, at as u64, bytes);
        let answer = |batch: &mut BareBatch| {
            black_box(queue.answer(batch, 1));
        };
        let two = SHAPES.map(|shape| between(pace, far, (&queue, BATCHES, shape), gather, answer));
        let one = SHAPES.map(|shape| alone(pace, (&queue, BATCHES, shape), gather, answer));
        let Answering { queue, ends, pipeline, out } = &mut answering;
        let gather = |into: &mut BareBatch, at, bytes| queue.read(into, at, bytes, ends);
        let mut answer = |batch: &mut BareBatch| queue.answer_by(batch, pipeline, out, ends);
        let two_answering =
            SHAPES.map(|shape| between(pace, far, (queue, ANSWERED, shape), gather, &mut answer));
        let one_answering =
            SHAPES.map(|shape| alone(pace, (queue, ANSWERED, shape), gather, &mut answer));
        let mut alone = [0.0; 2];
        let [hand, pull] = [0, 1].map(|side| {
            let of = |shapes: [[f64; 2]; 3]| Batches::of(shapes.map(|both| both[side]));
            let (two, one) = (of(two), of(one));
            alone[side] = one.visit.max(0.0);
            let byte = of(two_answering).byte - of(one_answering).byte;
            [two.batch, two.visit - one.visit, byte * 1e3]
        });
        let [read, answered] = alone;
        let finish = answered / (read + answered).max(1e-3) * 100.0;
        Ok([hand[0], hand[1], hand[2], pull[0], pull[1], pull[2], finish])
    })?;
    let [hand, handed, handed_byte, pull, pulled, pulled_byte, finish] = costs;
    let (hand, pull) = ([hand, handed, handed_byte], [pull, pulled, pulled_byte]);
    Ok(Some(Moved { hand, pull, finish }))
}

/// What answers batches: the learning switch, for switches in memory all of whose hosts are known.
struct Answering {
    queue: BareQueue,
    ends: MemoryEnds,
    pipeline: Pipeline,
    out: Output,
}

impl Answering {
    fn new() -> Answering {
        let app_set = learning_switch();
        let mut pipeline = app_set.build().expect("it works alone").pipeline(0);
        let queue = BareQueue::of(&mut pipeline, CONNECTIONS);
        let (ends, mut out) = (MemoryEnds::new(CONNECTIONS, HOSTS), Output::default());
        let bytes = HOSTS as usize * REQUEST_LEN as usize;
        let mut batch = BareBatch::new(bytes);
        for at in 0..CONNECTIONS {
            queue.read(&mut batch, at, bytes, &ends);
            queue.answer_by(&mut batch, &mut pipeline, &mut out, &ends);
        }
        Answering { queue, ends, pipeline, out }
    }
}

/// Batches of a shape, so many, and the queue that they go through.
type Handed<'q> = (&'q BareQueue, usize, (usize, usize));

/// Nanoseconds of what a batch takes the core that reads it, and the one that answers it.
fn between(
    pace: &StepPace<'_>,
    far: usize,
    (queue, batches, (visits, requests)): Handed<'_>,
    gather: impl Fn(&mut BareBatch, usize, usize),
    mut answer: impl FnMut(&mut BareBatch) + Send,
) -> [f64; 2] {
    let bytes = requests * REQUEST_LEN as usize;
    thread::scope(|scope| {
        let answers = scope.spawn(move || {
            pin(Some(far));
            let (stats, mut batch) = (WorkerStats::default(), BareBatch::new(visits * bytes));
            let mut took = Vec::with_capacity(2 * batches);
            while took.len() < 2 * batches {
                let begun = Instant::now();
                let (spent, answered) =
                    pace.clock.time(|| queue.pull(&mut batch, &stats).then(|| answer(&mut batch)));
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
        let mut took = Vec::with_capacity(2 * batches);
        let mut at = 0;
        while took.len() < 2 * batches {
            let (filled, ()) = pace.clock.time(|| {
                for visit in 0..visits {
                    gather(&mut batch, (at + visit) % CONNECTIONS, bytes);
                }
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
fn alone(
    pace: &StepPace<'_>,
    (queue, batches, (visits, requests)): Handed<'_>,
    gather: impl Fn(&mut BareBatch, usize, usize),
    mut answer: impl FnMut(&mut BareBatch),
) -> [f64; 2] {
    let (bytes, stats) = (requests * REQUEST_LEN as usize, WorkerStats::default());
    let [mut read, mut run] = [(); 2].map(|()| BareBatch::new(visits * bytes));
    let mut took = [(); 2].map(|()| Vec::with_capacity(2 * batches));
    for number in 0..2 * batches {
        let (spent, _) = pace.clock.time(|| {
            for visit in 0..visits {
                gather(&mut read, (number * visits + visit) % CONNECTIONS, bytes);
            }
            queue.hand(&mut read, &stats)
        });
        took[0].push(spent);
        let (spent, _) = pace.clock.time(|| queue.pull(&mut run, &stats).then(|| answer(&mut run)));
        took[1].push(spent);
    }
    took.map(second_half)
}

/// The median of what came when everything had been touched once.
fn second_half(mut took: Vec<f64>) -> f64 {
    median(&mut took.split_off(took.len() / 2))
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
        let request = (large - small - (few - one) as f64 * visit) / more;
        let batch = small - visit - request * short as f64;
        Batches { batch, visit, byte: request / REQUEST_LEN }
    }
}

#[cfg(test)]
mod tests {
    use super::super::clock::CalibratedClock;
    use super::super::rounds::Middle;
    use super::*;
    use std::sync::atomic::AtomicBool;
    use std::time::Duration;

    #[test]
    fn batches_are_taken_apart_into_what_they_were_made_of() {
        let took = SHAPES
            .map(|(visits, requests)| 100.0 + visits as f64 * (30.0 + 20.5 * requests as f64));
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
            finish && moved.hand.iter().all(sane) && moved.pull.iter().all(sane)
        }));
    }
}
