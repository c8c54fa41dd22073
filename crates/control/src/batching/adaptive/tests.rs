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
        let sizes = (LOWEST..=IBT_MAX).step_by(STEP);
        sizes.max_by(|a, b| self.rate(*a).total_cmp(&self.rate(*b))).unwrap()
    }
}

fn adaptive(bdu_us: u64) -> Adaptive {
    Adaptive::new(Bdu::new(Duration::from_micros(bdu_us)).unwrap())
}

/// A batch whose gathering was a third of its time.
fn batch(requests: usize, took: Duration, drained: bool) -> Ran {
    Ran { requests, gathered: took / 3, took, drained }
}

/// Runs a batch as a worker that always has something to read does: 20 requests are gathered at a
/// time, until they are enough or the batch is due. Returns how long it took, `factor` times what
/// the machine says.
fn run(adaptive: &mut Adaptive, machine: Machine, factor: f64) -> (usize, Duration) {
    let gathered = |requests| machine.time(requests).mul_f64(factor / 3.0);
    let mut requests = 0;
    while requests < adaptive.threshold() && !adaptive.is_due(requests, gathered(requests)) {
        requests += 20.min(adaptive.threshold() - requests);
    }
    let took = machine.time(requests).mul_f64(factor);
    adaptive.ran(batch(requests, took, false));
    (requests, took)
}

/// Runs so many batches, and returns the thresholds that they had.
fn saturate(adaptive: &mut Adaptive, machine: Machine, batches: usize) -> Vec<usize> {
    let step = |_| {
        let threshold = adaptive.threshold();
        run(adaptive, machine, 1.0);
        threshold
    };
    (0..batches).map(step).collect()
}

/// So many pairs of full batches, in which a request takes `own` nanoseconds, and `larger` in the
/// larger batch of a pair.
fn pairs(adaptive: &mut Adaptive, count: usize, own: u64, larger: u64) {
    for each in [own, larger].into_iter().cycle().take(2 * count) {
        let requests = adaptive.threshold();
        adaptive.ran(batch(requests, Duration::from_nanos(each * requests as u64), false));
    }
}

#[test]
fn it_takes_a_step_when_a_gain_is_certain() {
    let mut it = adaptive(3000);
    assert_eq!(it.threshold(), 10);
    pairs(&mut it, 3 * PAIRS, 1000, 900);
    assert_eq!(it.threshold, 10);
    pairs(&mut it, PAIRS, 1000, 900);
    assert_eq!(it.threshold, 20);
    // A step is an eighth: 10 up to 159.
    pairs(&mut it, 4 * 15 * PAIRS, 1000, 900);
    assert_eq!(it.threshold, 180);
    // What costs more is not worth its delay; noise says nothing.
    pairs(&mut it, 4 * PAIRS, 1000, 1001);
    assert_eq!(it.threshold, 160);
    pairs(&mut it, 2 * PAIRS, 1000, 900);
    pairs(&mut it, 2 * PAIRS, 1000, 1100);
    assert_eq!(it.threshold, 160);
    // 140 µs are too long for 150, whatever is gained.
    it.set_bdu(Bdu::new(Duration::from_micros(150)).unwrap());
    pairs(&mut it, PAIRS, 1000, 900);
    assert_eq!(it.threshold, 140);
}

#[test]
fn of_two_sizes_that_achieve_the_same_it_takes_the_larger_in_the_end() {
    let mut it = adaptive(3000);
    pairs(&mut it, 7 * PAIRS, 1000, 1000);
    assert_eq!(it.threshold, 10);
    pairs(&mut it, PAIRS, 1000, 1000);
    assert_eq!(it.threshold, 20);
}

#[test]
fn nothing_left_to_read_takes_ten_off_and_never_goes_below_ten() {
    let mut it = adaptive(150);
    pairs(&mut it, 8 * PAIRS, 1000, 900);
    assert_eq!(it.threshold, 30);
    let drained = |it: &mut Adaptive, requests| {
        it.ran(batch(requests, Duration::from_micros(1), true));
        it.threshold
    };
    assert_eq!([drained(&mut it, 7), drained(&mut it, 30), drained(&mut it, 7)], [20, 10, 10]);
}

#[test]
fn an_interrupted_batch_decides_nothing() {
    let after = |interrupted: usize| {
        let mut it = adaptive(150);
        pairs(&mut it, 4 * PAIRS, 1000, 900);
        for at in 0..2 * PAIRS {
            let us = if at / 2 < interrupted { 9000 } else { 10 };
            it.ran(batch(it.threshold(), Duration::from_micros(us), false));
        }
        it.threshold
    };
    assert_eq!(after(PAIRS / 2), 20);
    assert_eq!(after(PAIRS / 2 + 1), 10);
}

#[test]
fn a_batch_that_a_fence_closed_changes_nothing() {
    let mut it = adaptive(3000);
    saturate(&mut it, MACHINE, 50 * PAIRS);
    let before = (it.threshold(), it.gains.count, it.sizes.clone().map(|size| size.batches));
    for _ in 0..9 * PAIRS {
        it.ran(batch(it.threshold() - 1, Duration::from_micros(20), false));
    }
    let after = (it.threshold(), it.gains.count, it.sizes.clone().map(|size| size.batches));
    assert_eq!(after, before);
}

#[test]
fn it_stays_near_the_best_size() {
    let best = MACHINE.best();
    let mut it = adaptive(900_000);
    saturate(&mut it, MACHINE, 400 * PAIRS);
    let sizes = saturate(&mut it, MACHINE, 2000 * PAIRS);
    let rate = MACHINE.rate(best);
    assert!(sizes.iter().all(|size| MACHINE.rate(*size) > 0.98 * rate), "{best}: {sizes:?}");
}

/// Where nothing is gained by larger batches, and one in ten is interrupted: after twenty seconds
/// half of the thresholds of a minute lie within a fifth of their median.
#[test]
fn on_a_flat_hill_it_settles() {
    let machine = Machine { fixed: 2_000.0, each: 300.0, roomy: usize::MAX, penalty: 0.0 };
    let mut it = adaptive(3000);
    let mut dice = 1u32;
    let mut noise = || {
        dice = dice.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let part = f64::from(dice >> 8) / f64::from(1 << 24);
        if part > 0.9 { 4.0 } else { 0.9 + part / 5.0 }
    };
    let (mut spent, mut sizes) = (Duration::ZERO, Vec::new());
    while spent < Duration::from_secs(80) {
        let threshold = it.threshold();
        spent += run(&mut it, machine, noise()).1;
        if spent > Duration::from_secs(20) {
            sizes.push(threshold);
        }
    }
    sizes.sort_unstable();
    let quartile = |quarters: usize| sizes[sizes.len() * quarters / 4] as f64;
    let (first, median, third) = (quartile(1), quartile(2), quartile(3));
    assert!(first >= 0.8 * median && third <= 1.2 * median, "{first} {median} {third}");
}

#[test]
fn the_bound_on_delay_is_met_and_can_change() {
    let mut it = adaptive(200);
    saturate(&mut it, MACHINE, 400 * PAIRS);
    // (175 - 20) / 0.5 = 310 requests take seven eighths of 200 µs.
    let sizes = saturate(&mut it, MACHINE, 40 * PAIRS);
    assert!(sizes.iter().all(|size| (250..=350).contains(size)), "{sizes:?}");
    it.set_bdu(Bdu::new(Duration::from_micros(100)).unwrap());
    // From the next batch on, long before the threshold follows.
    let (requests, took) = run(&mut it, MACHINE, 1.0);
    assert!(took <= Duration::from_micros(100), "{requests} took {took:?}");
    saturate(&mut it, MACHINE, 60 * PAIRS);
    let sizes = saturate(&mut it, MACHINE, 40 * PAIRS);
    assert!(sizes.iter().all(|size| (100..=160).contains(size)), "{sizes:?}");
    it.set_bdu(Bdu::new(Duration::from_micros(200)).unwrap());
    saturate(&mut it, MACHINE, 400 * PAIRS);
    let sizes = saturate(&mut it, MACHINE, 40 * PAIRS);
    assert!(sizes.iter().all(|size| (250..=350).contains(size)), "{sizes:?}");
}

#[test]
fn a_bound_that_nothing_can_meet_leaves_the_smallest_batches() {
    let mut it = adaptive(1);
    saturate(&mut it, MACHINE, 10 * PAIRS);
    assert!(saturate(&mut it, MACHINE, 10 * PAIRS).iter().all(|size| *size <= LOWEST + STEP));
    assert_eq!(it.threshold, LOWEST);
}

#[test]
fn the_threshold_is_bounded_above() {
    let mut it = adaptive(1_000_000);
    pairs(&mut it, 4 * 100 * PAIRS, 90, 80);
    assert_eq!((it.threshold, it.threshold()), (IBT_MAX, IBT_MAX));
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
        adaptive.ran(batch(size, took, pending < 1.0));
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

/// Figures 10 and 11: 4, 1.4, 0.2, 1.4 and 4 million requests a second, of which this machine can
/// do about 1.8.
#[test]
fn it_follows_the_load_down_and_up_again() {
    let mut it = adaptive(3000);
    let medians: Vec<usize> = [4.0, 1.4, 0.2, 1.4, 4.0]
        .iter()
        .map(|rate| offered(&mut it, MACHINE, rate * 1e6, 4.0))
        .collect();
    let [full, half, light, half_again, full_again] = medians[..] else { unreachable!() };
    let best = MACHINE.rate(MACHINE.best());
    assert!(
        MACHINE.rate(full) > 0.99 * best && MACHINE.rate(full_again) > 0.99 * best,
        "{medians:?}"
    );
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
        saturate(&mut it, machine, 400 * PAIRS);
        let (mut requests, mut spent) = (0, 0.0);
        for factor in noise {
            let (size, took) = run(&mut it, machine, factor);
            requests += size;
            spent += took.as_secs_f64() / factor;
        }
        let earned = requests as f64 / spent;
        prop_assert!(earned >= 0.85 * machine.rate(machine.best()), "{}", earned / machine.rate(machine.best()));
    }

    /// Whatever it is told, the threshold is a multiple of ten within its bounds, and moves by a
    /// sixteenth and a step at most.
    #[test]
    fn the_threshold_keeps_its_bounds(
        runs in prop::collection::vec((any::<u16>(), any::<u64>(), any::<bool>()), 0..300),
    ) {
        let mut it = adaptive(150);
        for (requests, nanos, drained) in runs {
            let before = it.threshold();
            it.ran(batch(requests.into(), Duration::from_nanos(nanos), drained));
            prop_assert!((LOWEST..=IBT_MAX).contains(&it.threshold()));
            let most = before / STEP_PART * 2 + 2 * STEP;
            prop_assert!(it.threshold().is_multiple_of(STEP) && it.threshold().abs_diff(before) <= most);
        }
    }
}
