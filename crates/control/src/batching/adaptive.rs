//! The threshold that finds itself: Maestro's IBT adaptation (figure 4).
//!
//! The worker climbs the hill of its own throughput in steps of ten requests. After each full batch
//! it compares what it achieved with what it achieved in the full batch before; if that was no
//! less, it turns round. A batch that took longer than the operator allows turns it downhill,
//! whatever was achieved. So does finding nothing more to read: a worker that keeps up with the
//! load needs no larger batches.

use alloc::boxed::Box;
use core::time::Duration;

use super::{Batching, Bdu, IBT_MIN};
use crate::limits::IBT_MAX;

/// Requests by which the threshold changes at a time (Maestro §3.3).
const STEP: usize = 10;

/// What the newest score counts for, against all before it (Maestro §3.3: "w").
const NEWEST: f32 = 0.2;

/// Batch sizes that have a score of their own, a step apart.
const SIZES: usize = IBT_MAX / STEP;

/// One worker's IBT adaptation.
#[derive(Clone, Debug)]
pub struct Adaptive {
    bdu: Bdu,
    /// The IBT, in requests: a multiple of the step between [`IBT_MIN`] and [`IBT_MAX`].
    threshold: usize,
    trend: Trend,
    /// The smoothed score of each batch size ("Sn"), in requests a nanosecond; 0 for a size never
    /// met.
    scores: Box<[f32]>,
    /// The smoothed score of the last full batch ("S'"); 0 before the first.
    last: f32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Trend {
    Increasing,
    Decreasing,
}

impl Trend {
    fn reversed(self) -> Trend {
        match self {
            Trend::Increasing => Trend::Decreasing,
            Trend::Decreasing => Trend::Increasing,
        }
    }
}

impl Adaptive {
    /// Starts at [`IBT_MIN`], increasing.
    pub fn new(bdu: Bdu) -> Adaptive {
        Adaptive {
            bdu,
            threshold: IBT_MIN,
            trend: Trend::Increasing,
            scores: alloc::vec![0.0; SIZES].into_boxed_slice(),
            last: 0.0,
        }
    }

    /// "After finishing one full IBT-sized batch".
    #[inline]
    fn full(&mut self, requests: usize, took: Duration) {
        let score = self.smoothed(requests, took);
        if score <= self.last {
            self.trend = self.trend.reversed();
        }
        self.last = score;
        if took > self.bdu.longest() {
            self.trend = Trend::Decreasing;
        }
        self.follow();
    }

    /// "When no pending bytes left in any socket buffer".
    #[inline]
    fn idle(&mut self) {
        self.trend = Trend::Decreasing;
        self.follow();
    }

    #[inline]
    fn follow(&mut self) {
        self.threshold = match self.trend {
            Trend::Increasing => (self.threshold + STEP).min(IBT_MAX),
            Trend::Decreasing => (self.threshold - STEP).max(IBT_MIN),
        };
    }

    /// The score of this batch, smoothed with those of its size. The last read may bring more than
    /// was asked for, so sizes less than a step apart count as one.
    #[inline]
    fn smoothed(&mut self, requests: usize, took: Duration) -> f32 {
        let score = requests as f32 / took.as_nanos().max(1) as f32;
        let size = (requests / STEP).clamp(1, SIZES) - 1;
        let smoothed = &mut self.scores[size];
        *smoothed =
            if *smoothed == 0.0 { score } else { (1.0 - NEWEST) * *smoothed + NEWEST * score };
        *smoothed
    }
}

impl Batching for Adaptive {
    #[inline]
    fn threshold(&self) -> usize {
        self.threshold
    }

    /// A batch that is neither full nor the last of what was pending (a fence closed it) says
    /// nothing about batch sizes, and changes nothing. One that is both counts as both, in the
    /// order of figure 4.
    #[inline]
    fn ran(&mut self, requests: usize, took: Duration, drained: bool) {
        if requests >= self.threshold {
            self.full(requests, took);
        }
        if drained {
            self.idle();
        }
    }

    fn set_bdu(&mut self, bdu: Bdu) {
        self.bdu = bdu;
    }
}

#[cfg(test)]
mod tests;
