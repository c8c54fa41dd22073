//! The threshold that finds itself: Maestro's IBT adaptation (figure 4).
//!
//! The worker climbs the hill of its own throughput: larger batches, as long as they do not achieve
//! less. Batches that take as long as the operator allows turn it downhill, whatever they achieve.
//! So does finding nothing more to read: a worker that keeps up with the load needs no larger
//! batches.
//!
//! How two sizes are compared is not the paper's. It takes a step after every batch, by a score
//! that is smoothed over five. Where a request costs a tenth of a microsecond the top of the hill
//! is flat: an interrupted batch outweighs ten requests more, and the threshold wandered from 70 to
//! 560. So:
//!
//! 1. Full batches take turns: one of the threshold's size, one that is a step larger. What the
//!    machine does meanwhile (other programs, the clock of the processor) happens to both.
//! 2. A *gain* is what the larger ones save a request, by the median of [`PAIRS`] each: a batch
//!    that was interrupted counts no more than another. The threshold follows the mean of the gains
//!    once it is certain ([`Gains::judge`]). Of two sizes between which nothing is decided after
//!    [`GAINS_MAX`] gains it takes the larger, up to the BDU: behind a flat piece the hill may go
//!    on, as where a batch is so large that two visits of a switch are answered together.
//! 3. A step is an eighth of the threshold, and ten requests at least: the paper's ten are too few
//!    to be told apart at 500.
//!
//! The BDU is kept besides by each batch itself: one that would last longer is run before it is
//! full ([`Batching::is_due`]).

use core::time::Duration;

use super::{Batching, Bdu, Ran};
use crate::limits::IBT_MAX;

/// The threshold is never lower, in requests (figure 4: "always lower bound by 10").
const LOWEST: usize = 10;

/// Requests by which the threshold changes at least (Maestro §3.3), and in multiples of which.
const STEP: usize = 10;

/// A step is this part of the threshold.
const STEP_PART: usize = 8;

/// Full batches of each of two sizes that are compared at a time.
const PAIRS: usize = 31;

/// Gains that are known before anything is judged by them.
const GAINS_MIN: f32 = 4.0;

/// After so many gains by which nothing is certain the larger size is taken.
const GAINS_MAX: f32 = 8.0;

/// A mean is certain within so many standard errors.
const ERRORS: f32 = 3.0;

/// What the newest batch counts for in what a request takes after gathering, against all before it.
const NEWEST_REST: f32 = 0.125;

/// A batch is run when it will have taken this part of the BDU: what is left is for a read that
/// brings more than others, and for a batch that costs more.
const DUE: f32 = 0.875;

/// One worker's IBT adaptation.
#[derive(Clone, Debug)]
pub struct Adaptive {
    bdu: Bdu,
    /// The IBT, in requests: a multiple of ten between [`LOWEST`] and [`IBT_MAX`].
    threshold: usize,
    /// Whether the next batch is the larger one of a pair.
    larger: bool,
    sizes: [Size; 2],
    gains: Gains,
    /// What a request takes from the end of gathering to the last write, in nanoseconds, smoothed.
    rest: f32,
}

/// Batches of one size since the last gain.
#[derive(Clone, Debug)]
struct Size {
    /// What a request of each took, in nanoseconds.
    each: [f32; PAIRS],
    batches: usize,
    /// How many of them took as long as a batch may.
    late: usize,
}

impl Size {
    const EMPTY: Size = Size { each: [0.0; PAIRS], batches: 0, late: 0 };

    /// Takes a batch into account. Sizes take turns, so that none has more than [`PAIRS`].
    #[inline]
    fn count(&mut self, each: f32, late: bool) {
        let place = self.batches.min(PAIRS - 1);
        self.each[place] = each;
        self.batches = place + 1;
        self.late += usize::from(late);
    }

    fn is_complete(&self) -> bool {
        self.batches == PAIRS
    }

    fn is_late(&self) -> bool {
        self.late > PAIRS / 2
    }

    /// What a request took in the batch in the middle, in nanoseconds.
    fn median(&mut self) -> f32 {
        *self.each.select_nth_unstable_by(PAIRS / 2, f32::total_cmp).1
    }
}

/// What larger batches saved a request: mean and spread (Welford).
#[derive(Clone, Copy, Debug, Default)]
struct Gains {
    count: f32,
    mean: f32,
    squares: f32,
}

/// What gains say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    Larger,
    Smaller,
    NotYet,
}

impl Gains {
    fn add(&mut self, gain: f32) {
        self.count += 1.0;
        let off = gain - self.mean;
        self.mean += off / self.count;
        self.squares += off * (gain - self.mean);
    }

    /// A larger size achieves more, or a smaller one, where three standard errors leave no doubt.
    /// Compared are squares, which need no root.
    fn judge(&self) -> Verdict {
        if self.count < GAINS_MIN {
            return Verdict::NotYet;
        }
        let error = ERRORS * ERRORS * self.squares / (self.count * (self.count - 1.0));
        match self.mean * self.mean > error {
            true if self.mean < 0.0 => Verdict::Smaller,
            true => Verdict::Larger,
            false if self.count >= GAINS_MAX => Verdict::Larger,
            false => Verdict::NotYet,
        }
    }
}

impl Adaptive {
    /// Starts at a threshold of 10 requests, below which it never goes.
    pub fn new(bdu: Bdu) -> Adaptive {
        Adaptive {
            bdu,
            threshold: LOWEST,
            larger: false,
            sizes: [Size::EMPTY; 2],
            gains: Gains::default(),
            rest: 0.0,
        }
    }

    /// When a batch has to run, in nanoseconds after its first read, were nothing left to be done.
    #[inline]
    fn due(&self) -> f32 {
        nanos(self.bdu.longest()) * DUE
    }

    fn step(&self) -> usize {
        (self.threshold / STEP_PART / STEP * STEP).max(STEP)
    }

    /// "After finishing one full IBT-sized batch": a batch that was run early so that it ends
    /// within the BDU is as full as one can be.
    #[inline]
    fn full(&mut self, batch: Ran, late: bool) {
        let each = nanos(batch.took).max(1.0) / batch.requests.max(1) as f32;
        self.sizes[usize::from(self.larger)].count(each, late);
        self.larger = !self.larger;
        if self.sizes.iter().all(Size::is_complete) {
            self.compare();
        }
    }

    /// Compares both sizes, and goes to the better one.
    #[cold]
    fn compare(&mut self) {
        let [own, larger] = &mut self.sizes;
        let is_late = [own.is_late(), larger.is_late()];
        self.gains.add(1.0 - larger.median() / own.median());
        self.sizes = [Size::EMPTY; 2];
        match (is_late, self.gains.judge()) {
            ([true, _], _) | (_, Verdict::Smaller) => self.shrink(self.step()),
            ([_, false], Verdict::Larger) => self.go_to(self.threshold + self.step()),
            ([_, true], Verdict::Larger) => self.gains = Gains::default(),
            (_, Verdict::NotYet) => {}
        }
    }

    fn shrink(&mut self, by: usize) {
        self.go_to(self.threshold.saturating_sub(by));
    }

    /// Another threshold, with batches of its own.
    fn go_to(&mut self, threshold: usize) {
        self.threshold = threshold.clamp(LOWEST, IBT_MAX);
        self.sizes = [Size::EMPTY; 2];
        self.gains = Gains::default();
    }
}

#[inline]
fn nanos(time: Duration) -> f32 {
    time.as_nanos() as f32
}

impl Batching for Adaptive {
    #[inline]
    fn threshold(&self) -> usize {
        match self.larger {
            true => (self.threshold + self.step()).min(IBT_MAX),
            false => self.threshold,
        }
    }

    #[inline]
    fn is_due(&self, requests: usize, gathered: Duration) -> bool {
        requests > 0 && nanos(gathered) + self.rest * requests as f32 >= self.due()
    }

    /// A batch that is neither full, nor late, nor the last of what was pending (a fence closed it)
    /// says nothing about batch sizes, and changes nothing. One that is full and the last counts as
    /// both, in the order of figure 4: "when no pending bytes left in any socket buffer", the
    /// threshold is ten less.
    #[inline]
    fn ran(&mut self, batch: Ran) {
        let rest = nanos(batch.took.saturating_sub(batch.gathered).min(self.bdu.longest()))
            / batch.requests.max(1) as f32;
        self.rest += NEWEST_REST * (rest - self.rest);
        let late = nanos(batch.took) >= self.due();
        if late || batch.requests >= self.threshold() {
            self.full(batch, late);
        }
        if batch.drained && self.threshold > LOWEST {
            self.shrink(STEP);
        }
    }

    fn set_bdu(&mut self, bdu: Bdu) {
        self.bdu = bdu;
    }
}

#[cfg(test)]
mod tests;
