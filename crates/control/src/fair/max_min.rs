//! Weighted max-min fair shares, by filling with water.
//!
//! Water rises equally high, by weight, in every vessel; a vessel that is full takes no more; it
//! stops when there is no more water. (Bertsekas and Gallager, *Data Networks*, §6.5.2.) This is
//! what measured shares are compared with (Maestro §4.1): a switch's fairness deviation is what it
//! received, less this share, over this share.

use alloc::vec::Vec;

use super::Weight;

/// What one switch asks for.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Demand {
    /// Its offered rate, in any unit; infinite for a switch whose queue is always full. What is
    /// below zero, or no number, counts as nothing.
    pub rate: f64,
    /// What it is due against others.
    pub weight: Weight,
}

/// Divides a finite `capacity`, in the unit of the demands: the share of each demand, in their
/// order.
pub fn max_min(capacity: f64, demands: &[Demand]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..demands.len()).collect();
    order.sort_by(|a, b| fill(&demands[*a]).total_cmp(&fill(&demands[*b])));
    let mut shares = alloc::vec![0.0; demands.len()];
    let mut left = if capacity > 0.0 { capacity.min(f64::MAX) } else { 0.0 };
    let mut weights: u64 = demands.iter().map(|demand| u64::from(demand.weight.number())).sum();
    for place in order {
        let weight = demands[place].weight.number();
        let due = left * (f64::from(weight) / weights as f64);
        shares[place] = demands[place].rate.max(0.0).min(due);
        left -= shares[place];
        weights -= u64::from(weight);
    }
    shares
}

/// How high the water stands when the demand is met.
fn fill(demand: &Demand) -> f64 {
    demand.rate.max(0.0) / f64::from(demand.weight.number())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn demand(rate: f64, weight: u32) -> Demand {
        Demand { rate, weight: Weight::new(weight).unwrap() }
    }

    #[test]
    fn what_one_does_not_use_the_others_get() {
        let equal = [1.0, 10.0, 4.0].map(|rate| demand(rate, 1));
        assert_eq!(max_min(9.0, &equal), [1.0, 4.0, 4.0]);
        assert_eq!(max_min(90.0, &equal), [1.0, 10.0, 4.0]);
        assert_eq!(max_min(0.0, &equal), [0.0; 3]);
        assert_eq!(max_min(-1.0, &equal), [0.0; 3]);
        assert_eq!(max_min(f64::NAN, &equal), [0.0; 3]);
    }

    #[test]
    fn always_full_queues_share_by_weight() {
        let full = [1, 2, 4].map(|weight| demand(f64::INFINITY, weight));
        assert_eq!(max_min(7.0, &full), [1.0, 2.0, 4.0]);
        assert_eq!(max_min(f64::INFINITY, &[demand(3.0, 1)]), [3.0]);
    }

    #[test]
    fn what_is_no_rate_counts_as_nothing() {
        assert_eq!(
            max_min(4.0, &[demand(f64::NAN, 9), demand(-3.0, 1), demand(9.0, 1)]),
            [0.0, 0.0, 4.0]
        );
        assert!(max_min(1.0, &[]).is_empty());
    }

    fn demands() -> impl Strategy<Value = Vec<Demand>> {
        let rate = prop_oneof![8 => 0.0..1e6f64, 1 => Just(0.0), 1 => Just(f64::INFINITY)];
        prop::collection::vec(
            (rate, 1..20u32).prop_map(|(rate, weight)| demand(rate, weight)),
            1..80,
        )
    }

    proptest! {
        /// The three laws that have max-min shares as their only solution.
        #[test]
        fn shares_are_max_min(demands in demands(), capacity in 0.0..1e7f64) {
            let shares = max_min(capacity, &demands);
            let wanted: f64 = demands.iter().map(|demand| demand.rate).sum();
            let given: f64 = shares.iter().sum();
            let close = 1e-6 * capacity.max(1.0);
            prop_assert!((given - wanted.min(capacity)).abs() <= close, "work is conserved");
            for (demand, share) in demands.iter().zip(&shares) {
                prop_assert!(*share <= demand.rate, "nobody gets more than was asked for");
            }
            let height = |(demand, share): (&Demand, &f64)| share / f64::from(demand.weight.number());
            let heights = || demands.iter().zip(&shares).map(height);
            let highest = heights().fold(0.0, f64::max);
            for ((demand, share), height) in demands.iter().zip(&shares).zip(heights()) {
                let met = *share == demand.rate;
                prop_assert!(met || height >= highest - close, "no one gains at the cost of a poorer one");
            }
        }

        #[test]
        fn more_capacity_is_less_for_no_one(demands in demands(), capacity in 0.0..1e6f64, more in 0.0..1e6f64) {
            let (before, after) = (max_min(capacity, &demands), max_min(capacity + more, &demands));
            prop_assert!(before.iter().zip(&after).all(|(before, after)| *after >= before - 1e-3));
        }

        #[test]
        fn a_weight_is_worth_as_many_switches(weight in 1..20u32, others in 0..20usize, capacity in 1.0..1e6f64) {
            let full = |weight| demand(f64::INFINITY, weight);
            let mut one = alloc::vec![full(1); others];
            let many = alloc::vec![full(1); others + weight as usize];
            one.push(full(weight));
            let together: f64 = max_min(capacity, &many)[others..].iter().sum();
            prop_assert!((max_min(capacity, &one)[others] - together).abs() <= 1e-6 * capacity);
        }
    }
}
