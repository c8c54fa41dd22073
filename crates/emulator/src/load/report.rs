//! What a run measured.

use hdrhistogram::Histogram;
use std::time::Duration;

/// The longest delay told apart from longer ones, in nanoseconds: ten minutes.
const DELAY_NS_MAX: u64 = 600_000_000_000;

/// Requests by what became of them, since the run's start, warm-up included, teaching excluded.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counts {
    /// Sent.
    pub offered: u64,
    /// Answered; each at most once.
    pub answered: u64,
    /// Given up: overtaken by many later ones, or unanswered for too long ([`super::Load::patience`]).
    pub lost: u64,
    /// FLOW_MODs and PACKET_OUTs that answered nothing outstanding: second answers, late ones, a controller's own.
    pub strays: u64,
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        self.offered += other.offered;
        self.answered += other.answered;
        self.lost += other.lost;
        self.strays += other.strays;
    }
}

/// The figures of a run. Unless they say otherwise they cover the measured loops only.
#[derive(Clone, Debug)]
pub struct Report {
    /// From the first connection to the last handshake's end.
    pub connected_in: Duration,
    /// Answers a second in each measured loop, in order.
    pub loops: Vec<f64>,
    /// Answers in all measured loops, by switch; switch 1 is the first.
    pub per_switch: Vec<u64>,
    /// The whole run's counts.
    pub counts: Counts,
    /// Delays in nanoseconds, from just before the write that carried a request to the read that brought its answer: of
    /// every request in latency mode, otherwise of one in 64 at most.
    pub delay: Histogram<u64>,
    /// How long was measured.
    pub elapsed: Duration,
    /// CPU time that the generator's threads used, user and system.
    pub generator_cpu: Duration,
    /// The share of time, 0 to 1, in which the busiest generator thread had nothing to do: it neither ran nor waited for
    /// a processor.
    pub idle: f64,
}

impl Report {
    /// Answers in all measured loops.
    pub fn answered(&self) -> u64 {
        self.per_switch.iter().sum()
    }

    pub(super) fn empty(switches: u32) -> Report {
        Report {
            connected_in: Duration::ZERO,
            loops: Vec::new(),
            per_switch: vec![0; switches as usize],
            counts: Counts::default(),
            delay: delays(),
            elapsed: Duration::ZERO,
            generator_cpu: Duration::ZERO,
            idle: 1.0,
        }
    }

    /// Adds what another thread measured over other switches in the same loops.
    pub(super) fn merge(&mut self, other: &Report) {
        self.loops.resize(self.loops.len().max(other.loops.len()), 0.0);
        self.loops.iter_mut().zip(&other.loops).for_each(|(mine, theirs)| *mine += theirs);
        self.per_switch
            .iter_mut()
            .zip(&other.per_switch)
            .for_each(|(mine, theirs)| *mine += theirs);
        self.counts += other.counts;
        // Both have the same bounds.
        let _ = self.delay.add(&other.delay);
        self.elapsed = self.elapsed.max(other.elapsed);
        self.generator_cpu += other.generator_cpu;
        self.idle = self.idle.min(other.idle);
    }
}

/// An empty histogram of delays, to three digits.
pub(super) fn delays() -> Histogram<u64> {
    Histogram::new_with_bounds(1, DELAY_NS_MAX, 3)
        .expect("one to ten minutes at three digits are bounds")
}
