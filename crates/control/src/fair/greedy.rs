//! Which worker serves which switch, by their rates: the greedy algorithm of Maestro's figure 3.
//!
//! Switches are taken from the highest rate to the lowest, and each is given to the worker that has
//! least so far. A switch stays where it is when that is as good, and nothing moves at all unless
//! the busiest worker gains by it: a move costs more than it brings where rates merely waver.

use alloc::collections::BinaryHeap;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;

/// A switch, as the algorithm sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Load {
    /// Requests that it sent since the last time.
    pub rate: u64,
    /// The worker that serves it now.
    pub worker: usize,
}

/// The worker of each switch from now on. Workers count from 0 to `workers`, at least 1; a switch
/// that is with none of them counts as new. Nothing moves unless the busiest worker gets rid of
/// more than `hysteresis` percent of what it has.
pub fn partition(switches: &[Load], workers: usize, hysteresis: u32) -> Vec<usize> {
    let workers = workers.max(1);
    let now: Vec<usize> = switches.iter().map(|switch| switch.worker).collect();
    let mut order: Vec<usize> = (0..switches.len()).collect();
    order.sort_by_key(|&at| Reverse(switches[at].rate));
    let mut heap: BinaryHeap<Reverse<(u64, usize)>> =
        (0..workers).map(|w| Reverse((0, w))).collect();
    let mut loads = vec![0u64; workers];
    let mut next = now.clone();
    for at in order {
        let Load { rate, worker } = switches[at];
        // Loads that lie in the heap and have grown since are passed over.
        let least = loop {
            let Some(&Reverse((load, least))) = heap.peek() else { return now };
            if load == loads[least] {
                break least;
            }
            heap.pop();
        };
        let stays = loads.get(worker).is_some_and(|load| *load == loads[least]);
        let chosen = if stays { worker } else { least };
        loads[chosen] = loads[chosen].saturating_add(rate);
        heap.push(Reverse((loads[chosen], chosen)));
        next[at] = chosen;
    }
    let homeless = now.iter().any(|worker| *worker >= workers);
    if homeless || gains(switches, &loads, hysteresis) { next } else { now }
}

/// Whether the busiest worker would have so many percent less.
fn gains(switches: &[Load], then: &[u64], hysteresis: u32) -> bool {
    let mut now = vec![0u64; then.len()];
    for switch in switches {
        now[switch.worker] = now[switch.worker].saturating_add(switch.rate);
    }
    let busiest = |loads: &[u64]| loads.iter().copied().max().unwrap_or(0);
    let (now, then) = (busiest(&now), busiest(then));
    now > then && u128::from(now - then) * 100 > u128::from(now) * u128::from(hysteresis)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn loads(rates: &[(u64, usize)]) -> Vec<Load> {
        rates.iter().map(|&(rate, worker)| Load { rate, worker }).collect()
    }

    #[test]
    fn the_largest_goes_to_the_least_loaded() {
        let switches = loads(&[(10, 0), (7, 0), (6, 0), (4, 0)]);
        // 10 | 7, then 6 to the 7, then 4 to the 10.
        assert_eq!(partition(&switches, 2, 5), [0, 1, 1, 0]);
    }

    #[test]
    fn nothing_moves_for_nothing() {
        let even = loads(&[(10, 1), (10, 0), (3, 1), (3, 0)]);
        assert_eq!(partition(&even, 2, 5), [1, 0, 1, 0]);
        let nearly = loads(&[(100, 0), (97, 1), (2, 0)]);
        assert_eq!(partition(&nearly, 2, 5), [0, 1, 0]);
        assert_eq!(partition(&loads(&[(0, 0), (0, 0)]), 4, 5), [0, 0]);
    }

    #[test]
    fn how_much_the_busiest_has_to_gain_is_said() {
        let nearly = loads(&[(100, 0), (97, 1), (2, 0)]);
        assert_eq!(partition(&nearly, 2, 0), [0, 1, 1]);
        let apart = loads(&[(60, 0), (40, 0), (50, 1)]);
        assert_eq!(partition(&apart, 2, 5), [0, 1, 1], "10 of 100 less");
        assert_eq!(partition(&apart, 2, 10), [0, 0, 1], "not more than 10 of 100");
    }

    proptest! {
        /// List scheduling from the largest down: no worker has more than 4/3 of the best, and so
        /// no more than 4/3 of the mean or of the largest switch and the mean together; and it is
        /// never worse than before.
        #[test]
        fn the_busiest_is_bounded(
            rates in prop::collection::vec((0..1_000_000u64, 0..8usize), 0..200), workers in 8..16usize,
        ) {
            let switches = loads(&rates);
            let next = partition(&switches, workers, 5);
            let busiest = |of: &dyn Fn(usize) -> usize| {
                let mut loads = vec![0u64; workers];
                switches.iter().enumerate().for_each(|(at, switch)| loads[of(at)] += switch.rate);
                loads.into_iter().max().unwrap_or(0)
            };
            let (then, now) = (busiest(&|at| next[at]), busiest(&|at| switches[at].worker));
            prop_assert!(then <= now);
            let total: u64 = rates.iter().map(|(rate, _)| rate).sum();
            let largest = rates.iter().map(|(rate, _)| *rate).max().unwrap_or(0);
            prop_assert!(then - then / 20 <= total / workers as u64 + largest + 1);
        }
    }
}
