//! What two cores cost each other: a cache line that goes from one to the other, and a word that
//! both change.
//!
//! A claim or a lock between workers is a compare-and-swap on such a word, and is seldom better or
//! worse than between these extremes: no other core wants it, or one does nothing but take it.

use std::hint::black_box;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use super::cores::{CorePair, pin, spin_until};
use super::rounds::{CostQuartiles, StepPace};

/// Transfers, or swaps, that are timed together.
const TIMES: u64 = 10_000;

/// The far core looks after so many swaps whether to go on.
const SWAPS: usize = 64;

/// A word that shares its cache line, and the one that is fetched with it, with nothing.
#[derive(Default)]
#[repr(align(128))]
struct PaddedWord(AtomicU64);

/// `cas_ns`.
pub(super) fn alone(pace: &StepPace<'_>) -> io::Result<[CostQuartiles; 1]> {
    let line = PaddedWord::default();
    pace.rounds(|| Ok([swaps(pace, &line)]))
}

/// `line_transfer_ns` and `contended_cas_ns`, where there are two cores.
pub(super) fn between(
    pace: &StepPace<'_>,
    cores: CorePair,
) -> io::Result<Option<[CostQuartiles; 2]>> {
    let Some(far) = cores.far else { return Ok(None) };
    pace.rounds(|| Ok([transfers(pace, far), contended(pace, far)])).map(Some)
}

/// Nanoseconds from a store on one core until the other has seen it.
fn transfers(pace: &StepPace<'_>, far: usize) -> f64 {
    let ball = PaddedWord::default();
    let hit = |sees: u64| {
        spin_until(|| ball.0.load(Ordering::Acquire) == sees);
        ball.0.store(sees + 1, Ordering::Release);
    };
    let (spent, ()) = thread::scope(|scope| {
        scope.spawn(|| {
            pin(Some(far));
            (0..=TIMES).for_each(|time| hit(2 * time + 1));
        });
        // Once there and back until the other side has begun.
        hit(0);
        spin_until(|| ball.0.load(Ordering::Acquire) == 2);
        pace.clock.time(|| {
            (1..=TIMES).for_each(|time| hit(2 * time));
            spin_until(|| ball.0.load(Ordering::Acquire) == 2 * TIMES + 2);
        })
    });
    spent / (2 * TIMES) as f64
}

/// Nanoseconds of a swap on a word that another core swaps without end.
fn contended(pace: &StepPace<'_>, far: usize) -> f64 {
    let (line, over) = (PaddedWord::default(), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            pin(Some(far));
            while !over.load(Ordering::Relaxed) {
                (0..SWAPS).for_each(|_| swap(&line.0));
            }
        });
        spin_until(|| line.0.load(Ordering::Relaxed) > 0);
        let spent = swaps(pace, &line);
        over.store(true, Ordering::Relaxed);
        spent
    })
}

fn swaps(pace: &StepPace<'_>, line: &PaddedWord) -> f64 {
    let (spent, ()) = pace.clock.time(|| (0..TIMES).for_each(|_| swap(black_box(&line.0))));
    spent / TIMES as f64
}

/// Changes the word, as often as it takes for one change to succeed.
#[inline]
fn swap(word: &AtomicU64) {
    let mut seen = word.load(Ordering::Relaxed);
    while let Err(other) =
        word.compare_exchange(seen, seen + 1, Ordering::AcqRel, Ordering::Relaxed)
    {
        seen = other;
    }
}
