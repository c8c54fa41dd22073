//! The adaptation against machines that exist on paper only.

use super::*;
use alloc::vec::Vec;
use proptest::prelude::*;

/// What a batch costs: `fixed` for itself, `each` for every request, and a penalty that grows with
/// every request for which the cache has no room any more. In nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Machine {
    fixed: f64,
    each: f64,
    roomy: usize,
    penalty: f64,
}

const MACHINE: Machine = Machine { fixed: 20_000.0, each: 500.0, roomy: 700, penalty: 1.0 };

impl Machine {
    fn time(&self, requests: usize) -> Duration {
        let crowded = requests.saturating_sub(self.roomy) as f64;
        let nanos =
            self.fixed + self.each * requests as f64 + self.penalty * crowded * crowded / 2.0;
        Duration::from_nanos(nanos as u64)
    }

    fn rate(&self, requests: usize) -> f64 {
        requests as f64 / self.time(requests).as_secs_f64()
    }

    /// The best batch size, tried out.
    fn best(&self) -> usize {
        let sizes = (IBT_MIN..=IBT_MAX).step_by(STEP);
        sizes.max_by(|a, b| self.rate(*a).total_cmp(&self.rate(*b))).unwrap()
    }
}

fn adaptive(bdu_us: u64) -> Adaptive {
    Adaptive::new(Bdu::new(Duration::from_micros(bdu_us)).unwrap())
}

/// Runs full batches, and returns the thresholds that they had.
fn saturate(adaptive: &mut Adaptive, machine: Machine, batches: usize) -> Vec<usize> {
    let step = |_| {
        let size = adaptive.threshold();
        adaptive.ran(size, machine.time(size), false);
        size
    };
    (0..batches).map(step).collect()
}

#[test]
fn figure_4_step_by_step() {
    let mut it = adaptive(150);
    let us = Duration::from_micros;
    assert_eq!(it.threshold(), 10);
    it.ran(10, us(10), false); // 1.0 a µs, the first
    assert_eq!(it.threshold(), 20);
    it.ran(20, us(16), false); // 1.25: better
    assert_eq!(it.threshold(), 30);
    it.ran(30, us(30), false); // 1.0: worse, so down
    assert_eq!(it.threshold(), 20);
    it.ran(20, us(20), false); // 0.8 * 1.25 + 0.2 * 1.0 = 1.2: better than 1.0, so on
    assert_eq!(it.threshold(), 10);
    it.ran(10, us(10), false); // 1.0: worse, so up
    assert_eq!(it.threshold(), 20);
    it.ran(20, us(151), false); // too long, whatever the score
    assert_eq!(it.threshold(), 10);
    it.ran(7, us(1), true); // nothing left to read: never below 10
    assert_eq!((it.threshold(), it.trend), (10, Trend::Decreasing));
}

#[test]
fn an_equal_score_reverses_too() {
    let mut it = adaptive(150);
    let us = Duration::from_micros;
    it.ran(10, us(10), false);
    it.ran(20, us(20), false);
    assert_eq!(it.threshold(), 10);
}

#[test]
fn a_batch_that_a_fence_closed_changes_nothing() {
    let mut it = adaptive(150);
    saturate(&mut it, MACHINE, 5);
    let before = (it.threshold(), it.trend, it.last);
    it.ran(before.0 - 1, Duration::from_secs(1), false);
    assert_eq!((it.threshold(), it.trend, it.last), before);
}

#[test]
fn a_full_batch_that_was_all_there_was_turns_it_down() {
    let mut it = adaptive(150);
    it.ran(10, Duration::from_micros(10), false);
    it.ran(20, Duration::from_micros(10), true);
    assert_eq!((it.threshold(), it.trend), (20, Trend::Decreasing));
}

#[test]
fn it_stays_near_the_best_size() {
    let best = MACHINE.best();
    let mut it = adaptive(900_000);
    saturate(&mut it, MACHINE, best / STEP);
    let sizes = saturate(&mut it, MACHINE, 1000);
    assert!(sizes.iter().all(|size| size.abs_diff(best) <= 5 * STEP), "{best}: {sizes:?}");
}

#[test]
fn the_bound_on_delay_is_met_and_can_change() {
    let mut it = adaptive(200);
    saturate(&mut it, MACHINE, 100);
    // (200 - 20) / 0.5 = 360 requests take 200 µs.
    let sizes = saturate(&mut it, MACHINE, 200);
    assert!(sizes.iter().all(|size| (330..=370).contains(size)), "{sizes:?}");
    it.set_bdu(Bdu::new(Duration::from_micros(100)).unwrap());
    saturate(&mut it, MACHINE, 30);
    let sizes = saturate(&mut it, MACHINE, 200);
    assert!(sizes.iter().all(|size| (130..=170).contains(size)), "{sizes:?}");
    it.set_bdu(Bdu::new(Duration::from_micros(200)).unwrap());
    saturate(&mut it, MACHINE, 30);
    assert!(saturate(&mut it, MACHINE, 200).iter().all(|size| (330..=370).contains(size)));
}

#[test]
fn a_bound_that_nothing_can_meet_leaves_the_smallest_batches() {
    let mut it = adaptive(1);
    saturate(&mut it, MACHINE, 10);
    assert!(saturate(&mut it, MACHINE, 100).iter().all(|size| *size == IBT_MIN));
}

#[test]
fn the_threshold_is_bounded_above() {
    let roomy = Machine { roomy: usize::MAX, ..MACHINE };
    let mut it = adaptive(1_000_000);
    let sizes = saturate(&mut it, roomy, 3 * SIZES);
    assert_eq!(sizes.iter().max(), Some(&IBT_MAX));
}

/// Requests arrive at `rate` a second, from always enough sockets. Returns the median threshold of
/// the second half.
fn offered(adaptive: &mut Adaptive, machine: Machine, rate: f64, seconds: f64) -> usize {
    let (mut now, mut pending, mut sizes) = (0.0, 0.0, Vec::new());
    while now < seconds {
        if pending < 1.0 {
            now += (1.0 - pending) / rate;
            pending = 1.0;
        }
        let size = adaptive.threshold().min(pending as usize);
        let took = machine.time(size);
        pending -= size as f64;
        adaptive.ran(size, took, pending < 1.0);
        now += took.as_secs_f64();
        // What a socket does not take waits at the switch.
        pending = (pending + rate * took.as_secs_f64()).min(50_000.0);
        sizes.push((now, adaptive.threshold()));
    }
    let mut late: Vec<usize> =
        sizes.iter().filter(|(at, _)| *at > seconds / 2.0).map(|it| it.1).collect();
    late.sort_unstable();
    late[late.len() / 2]
}

/// Figures 10 and 11: 4, 1.4, 0.85, 1.4 and 4 million requests a second, of which this machine can
/// do about 1.8.
#[test]
fn it_follows_the_load_down_and_up_again() {
    let mut it = adaptive(3000);
    let medians: Vec<usize> = [4.0, 1.4, 0.2, 1.4, 4.0]
        .iter()
        .map(|rate| offered(&mut it, MACHINE, rate * 1e6, 2.0))
        .collect();
    let [full, half, light, half_again, full_again] = medians[..] else { unreachable!() };
    assert!(full.abs_diff(MACHINE.best()) <= 50 && full.abs_diff(full_again) <= 20, "{medians:?}");
    assert!(half < full / 2 && half_again < full / 2, "{medians:?}");
    assert!(light <= 20, "{medians:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// On any such machine, and with measurements that are wrong by up to a twentieth, it earns
    /// nearly all that could be earned.
    #[test]
    fn it_earns_nearly_the_best_rate(
        fixed in 1_000.0..50_000f64,
        each in 50.0..1_000f64,
        roomy in 50..2_000usize,
        penalty in 0.5..5f64,
        noise in prop::collection::vec(0.95..1.05f64, 5_000),
    ) {
        let machine = Machine { fixed, each, roomy, penalty };
        let mut it = adaptive(900_000);
        saturate(&mut it, machine, 2 * machine.best() / STEP);
        let (mut requests, mut spent) = (0, Duration::ZERO);
        for factor in noise {
            let (size, took) = (it.threshold(), machine.time(it.threshold()));
            it.ran(size, took.mul_f64(factor), false);
            requests += size;
            spent += took;
        }
        let earned = requests as f64 / spent.as_secs_f64();
        prop_assert!(earned >= 0.85 * machine.rate(machine.best()), "{}", earned / machine.rate(machine.best()));
    }

    /// Whatever it is told, the threshold is a multiple of ten within its bounds, and moves by one
    /// step, or two.
    #[test]
    fn the_threshold_keeps_its_bounds(
        runs in prop::collection::vec((any::<u16>(), any::<u64>(), any::<bool>()), 0..300),
    ) {
        let mut it = adaptive(150);
        for (requests, nanos, drained) in runs {
            let before = it.threshold();
            it.ran(requests.into(), Duration::from_nanos(nanos), drained);
            prop_assert!((IBT_MIN..=IBT_MAX).contains(&it.threshold()));
            prop_assert!(it.threshold().is_multiple_of(STEP) && it.threshold().abs_diff(before) <= 2 * STEP);
        }
    }
}
