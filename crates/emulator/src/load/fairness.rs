//! How fairly a controller's throughput was divided among switches: the weighted max-min shares,
//! and how far from its share each switch was (Maestro §4.1).
//!
//! Max-min by water-filling: all switches are filled at once, each as fast as its weight says; one
//! that has what it asked for drops out, and what is left goes on to the others. None can then get
//! more without another, which has no more for its weight, getting less.

/// What a switch asks for.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ShareClaim {
    /// Requests that it offers, or a second, in the unit of the capacity; infinite for queues that
    /// are always full.
    pub demand: f64,
    /// How much it counts beside the others; above 0.
    pub weight: f64,
}

/// The weighted max-min shares of `capacity`, in the order of the claims. They add up to the
/// capacity, or to all that is asked for where that is less.
pub fn shares(claims: &[ShareClaim], capacity: f64) -> Vec<f64> {
    let fill = |claim: &ShareClaim| claim.demand / claim.weight;
    let mut order: Vec<usize> = (0..claims.len()).collect();
    order.sort_by(|&a, &b| fill(&claims[a]).total_cmp(&fill(&claims[b])));
    let mut shares = vec![0.0; claims.len()];
    let mut left = capacity.max(0.0);
    for (index, weight_left) in order.iter().zip(weights_from(claims, &order)) {
        let claim = &claims[*index];
        let share = claim.demand.min(left * claim.weight / weight_left);
        shares[*index] = share;
        left = (left - share).max(0.0);
    }
    shares
}

/// The weight of each claim and all behind it in `order`. Added up from the end: taking away from
/// the sum of all would leave its rounding to the last.
fn weights_from(claims: &[ShareClaim], order: &[usize]) -> Vec<f64> {
    let mut sums: Vec<f64> = order.iter().map(|&index| claims[index].weight).collect();
    for index in (0..sums.len().saturating_sub(1)).rev() {
        sums[index] += sums[index + 1];
    }
    sums
}

/// Max-min sharing of what there is to share from time to time: what was asked for and not had goes
/// on waiting, as far as it has room. A switch that asks for nearly its share is due all of it in
/// the end where the capacity falls for a moment and rises again, and no more than its share
/// meanwhile; over the whole time at once that could not be told.
#[derive(Clone, PartialEq, Debug)]
pub struct Sharing {
    claims: Vec<ShareClaim>,
    shares: Vec<f64>,
}

impl Sharing {
    /// Among switches of these weights, of whose requests so many wait.
    pub fn new(weights: impl IntoIterator<Item = f64>, waiting: &[f64]) -> Sharing {
        let claims = waiting.iter().zip(weights);
        let claims: Vec<_> =
            claims.map(|(&demand, weight)| ShareClaim { demand, weight }).collect();
        Sharing { shares: vec![0.0; claims.len()], claims }
    }

    /// For a while: what becomes due, what there is to share of it and of what waits, and how much
    /// can go on waiting.
    pub fn share(&mut self, due: &[f64], capacity: f64, rooms: &[f64]) {
        self.claims.iter_mut().zip(due).for_each(|(claim, due)| claim.demand += due);
        let now = shares(&self.claims, capacity);
        let shared = self.claims.iter_mut().zip(&mut self.shares).zip(rooms).zip(now);
        for (((claim, share), room), now) in shared {
            claim.demand = (claim.demand - now).min(*room);
            *share += now;
        }
    }

    /// The shares of all so far.
    pub fn shares(&self) -> &[f64] {
        &self.shares
    }
}

/// The deviations of all switches that have a share: (received − share) ÷ share.
#[derive(Clone, PartialEq, Debug)]
pub struct Fairness {
    sorted: Vec<f64>,
}

impl Fairness {
    /// Holds what the switches received against their shares.
    pub fn new(shares: &[f64], received: &[u64]) -> Fairness {
        let shared = received.iter().zip(shares).filter(|&(_, &share)| share > 0.0);
        let mut sorted: Vec<f64> =
            shared.map(|(&received, share)| (received as f64 - share) / share).collect();
        sorted.sort_by(f64::total_cmp);
        Fairness { sorted }
    }

    /// All deviations, the lowest first: the CDF. −1 is a switch that starved, 1 one that received
    /// twice its share.
    pub fn sorted(&self) -> &[f64] {
        &self.sorted
    }

    /// The deviation farthest from 0; 0 when no switch has a share.
    pub fn worst(&self) -> f64 {
        let ends = [self.sorted.first(), self.sorted.last()].into_iter().flatten().copied();
        ends.max_by(|a, b| a.abs().total_cmp(&b.abs())).unwrap_or(0.0)
    }

    /// The deviation that the part `quantile` of the switches, 0 to 1, does not exceed; 0 when no
    /// switch has a share.
    pub fn at_quantile(&self, quantile: f64) -> f64 {
        let rank = (quantile * self.sorted.len() as f64).ceil() as usize;
        self.sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn claims(claims: &[(f64, f64)]) -> Vec<ShareClaim> {
        claims.iter().map(|&(demand, weight)| ShareClaim { demand, weight }).collect()
    }

    #[test]
    fn who_wants_less_than_an_equal_share_leaves_the_rest_to_the_others() {
        let full = f64::INFINITY;
        let wanted = claims(&[(2.0, 1.0), (full, 1.0), (9.0, 1.0), (full, 1.0)]);
        assert_eq!(shares(&wanted, 11.0), [2.0, 3.0, 3.0, 3.0]);
        assert_eq!(shares(&wanted, 35.0), [2.0, 12.0, 9.0, 12.0]);
        assert_eq!(shares(&wanted[..1], 35.0), [2.0]);
    }

    #[test]
    fn weights_divide_what_demands_do_not() {
        let full = f64::INFINITY;
        assert_eq!(shares(&claims(&[(full, 1.0), (full, 2.0), (full, 4.0)]), 7.0), [1.0, 2.0, 4.0]);
        assert_eq!(shares(&claims(&[(full, 1.0), (full, 2.0), (2.0, 4.0)]), 8.0), [2.0, 4.0, 2.0]);
        assert_eq!(shares(&[], 8.0), []);
    }

    #[test]
    fn deviations_are_of_the_share_and_sorted() {
        let fairness = Fairness::new(&[100.0; 4], &[100, 50, 200, 50]);
        assert_eq!(fairness.sorted(), [-0.5, -0.5, 0.0, 1.0]);
        assert_eq!((fairness.worst(), fairness.at_quantile(0.5)), (1.0, -0.5));
        assert_eq!((fairness.at_quantile(0.01), fairness.at_quantile(0.99)), (-0.5, 1.0));
        let starved = Fairness::new(&[1.0; 4], &[2, 0, 1, 1]);
        assert_eq!(starved.worst().abs(), 1.0);
    }

    #[test]
    fn where_nothing_was_received_nothing_deviates() {
        let fairness = Fairness::new(&[0.0, 0.0], &[0, 0]);
        assert_eq!(
            (fairness.sorted(), fairness.worst(), fairness.at_quantile(0.5)),
            (&[][..], 0.0, 0.0)
        );
    }

    #[test]
    fn who_waited_while_there_was_little_is_due_more_when_there_is_much() {
        let mut sharing = Sharing::new([1.0; 3], &[0.0, 2.0, f64::INFINITY]);
        let rooms = [f64::INFINITY; 3];
        sharing.share(&[4.0, 4.0, f64::INFINITY], 9.0, &rooms);
        assert_eq!(sharing.shares(), [3.0, 3.0, 3.0]);
        sharing.share(&[4.0, 4.0, f64::INFINITY], 21.0, &rooms);
        assert_eq!(sharing.shares(), [3.0 + 5.0, 3.0 + 7.0, 3.0 + 9.0]);
    }

    #[test]
    fn what_had_no_room_to_wait_is_nobodys_share() {
        let rooms = [2.0, f64::INFINITY];
        let mut sharing = Sharing::new([1.0; 2], &[0.0, f64::INFINITY]);
        sharing.share(&[9.0, f64::INFINITY], 8.0, &rooms);
        assert_eq!(sharing.shares(), [4.0, 4.0]);
        // Of the five that it did not have two waited.
        sharing.share(&[1.0, f64::INFINITY], 20.0, &rooms);
        assert_eq!(sharing.shares(), [4.0 + 3.0, 4.0 + 17.0]);
    }

    fn any_claim() -> impl Strategy<Value = ShareClaim> {
        let demand = prop_oneof![4 => 0.0..1e6, 1 => Just(f64::INFINITY), 1 => Just(100.0)];
        (demand, prop_oneof![Just(1.0), 0.1..10.0])
            .prop_map(|(demand, weight)| ShareClaim { demand, weight })
    }

    fn any_claims() -> impl Strategy<Value = Vec<ShareClaim>> {
        prop::collection::vec(any_claim(), 1..60)
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0)
    }

    proptest! {
        /// Everything is divided, or every switch has what it asked for; none gets more than that.
        #[test]
        fn all_is_divided_and_nothing_wasted(claims in any_claims(), capacity in 0.0..1e7) {
            let shares = shares(&claims, capacity);
            let asked: f64 = claims.iter().map(|claim| claim.demand).sum();
            prop_assert!(near(shares.iter().sum(), capacity.min(asked)));
            for (share, claim) in shares.iter().zip(&claims) {
                prop_assert!(*share >= 0.0 && *share <= claim.demand);
            }
        }

        /// A switch with less than it asked for has, for its weight, as much as any: the law of
        /// max-min.
        #[test]
        fn nobody_unsatisfied_has_less_than_another(claims in any_claims(), capacity in 0.0..1e7) {
            let shares = shares(&claims, capacity);
            let level = |index: usize| shares[index] / claims[index].weight;
            let highest = (0..claims.len()).map(level).fold(0.0, f64::max);
            for (index, claim) in claims.iter().enumerate() {
                let satisfied = near(shares[index], claim.demand);
                prop_assert!(satisfied || near(level(index), highest), "{index}: {shares:?}");
            }
        }

        /// More to divide takes nothing from any switch.
        #[test]
        fn more_is_less_for_nobody(claims in any_claims(), capacity in 0.0..1e6, more in 0.0..1e6) {
            let (before, after) = (shares(&claims, capacity), shares(&claims, capacity + more));
            for (before, after) in before.iter().zip(after) {
                prop_assert!(after > *before || near(after, *before));
            }
        }

        /// Neither the order of the claims nor the unit of the weights matters.
        #[test]
        fn neither_order_nor_unit_matters(claims in any_claims(), capacity in 0.0..1e6, unit in 0.01..100.0) {
            let mut other: Vec<ShareClaim> = claims.clone();
            other.reverse();
            other.iter_mut().for_each(|claim| claim.weight *= unit);
            let mut turned = shares(&other, capacity);
            turned.reverse();
            for (share, turned) in shares(&claims, capacity).into_iter().zip(turned) {
                prop_assert!(near(share, turned));
            }
        }

        /// A switch that receives its share deviates by nothing but what is lost in counting whole
        /// requests.
        #[test]
        fn shares_deviate_by_nothing(claims in any_claims(), capacity in 1.0..1e6) {
            let shares = shares(&claims, capacity);
            let received: Vec<u64> = shares.iter().map(|share| share.round() as u64).collect();
            let fairness = Fairness::new(&shares, &received);
            prop_assert_eq!(fairness.sorted().len(), shares.iter().filter(|&&share| share > 0.0).count());
            let least = shares.iter().copied().filter(|&share| share > 0.0).fold(f64::INFINITY, f64::min);
            prop_assert!(fairness.worst().abs() <= 0.5 / least + 1e-9, "{}", fairness.worst());
        }

        /// Where the capacity does not change, it makes no difference into how many pieces the time
        /// is cut.
        #[test]
        fn a_steady_capacity_can_be_cut(claims in any_claims(), capacity in 1.0..1e6, pieces in 1_u32..8) {
            let weights = || claims.iter().map(|claim| claim.weight);
            let rooms = vec![f64::INFINITY; claims.len()];
            let mut sharing = Sharing::new(weights(), &vec![0.0; claims.len()]);
            let part = |whole: f64| whole / f64::from(pieces);
            let due: Vec<f64> = claims.iter().map(|claim| part(claim.demand)).collect();
            (0..pieces).for_each(|_| sharing.share(&due, part(capacity), &rooms));
            for (cut, whole) in sharing.shares().iter().zip(shares(&claims, capacity)) {
                prop_assert!(near(*cut, whole), "{cut} {whole}");
            }
        }

        /// The CDF rises, within its ends.
        #[test]
        fn quantiles_rise(received in prop::collection::vec(0..1_000_000_u64, 1..60), a in 0.0..1.0, b in 0.0..1.0) {
            let fairness = Fairness::new(&vec![1e5; received.len()], &received);
            let (low, high) = (f64::min(a, b), f64::max(a, b));
            prop_assert!(fairness.at_quantile(low) <= fairness.at_quantile(high));
            prop_assert!(fairness.at_quantile(high).abs() <= fairness.worst().abs());
        }
    }
}
