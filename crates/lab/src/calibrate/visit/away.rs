//! Outliers: the longest steps of many visits, told from the others.

use super::LEFT_OUT;
use crate::calibrate::rounds::CostQuartiles;

/// What the longest steps took beyond the others, of all that was measured.
#[derive(Clone, Copy, Default)]
pub(super) struct Away {
    beyond_ns: f64,
    steps: usize,
    /// What the others took.
    others_ns: f64,
}

impl Away {
    /// Adds one step of many visits.
    pub(super) fn add(&mut self, mut steps: Vec<f64>) {
        steps.sort_by(f64::total_cmp);
        let longest = steps.split_off(steps.len() - steps.len() / LEFT_OUT);
        let others: f64 = steps.iter().sum();
        let mean = others / steps.len() as f64;
        self.others_ns += others + mean * longest.len() as f64;
        self.beyond_ns += longest.iter().map(|ns| ns - mean).sum::<f64>();
        self.steps += longest.len();
    }

    /// Percent of the others' time, and nanoseconds each.
    pub(super) fn costs(&self) -> [CostQuartiles; 2] {
        let part = self.beyond_ns / self.others_ns.max(1.0) * 100.0;
        [part, self.beyond_ns / self.steps.max(1) as f64].map(CostQuartiles::alone)
    }
}
