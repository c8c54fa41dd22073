//! Whether a link is what it seems: a silent relay, two hosts that hand probes on between their
//! ports, takes longer than a cable.
//!
//! A link's latency is what a probe took on its way, less half of the round trip between controller
//! and switch at both ends. Switches and threads that were busy only ever make it longer, so of the
//! last [`SAMPLES`] the lower quartile is taken: it moves when the link gets slower, and not when
//! some probes had to wait. A link is suspected when its quartile stands out from those of all
//! links that are believed: by more than [`SPREADS`] times their spread (the median of the
//! distances from their median), and by [`MARGIN`] at least.
//!
//! What this finds, and how often it is wrong, is in the last test of this file, which prints it:
//!
//! ```text
//! cargo test -p aldis-apps relays -- --nocapture
//! ```

use core::time::Duration;

/// Probes that a judgement rests on. At the steady interval they are 80 seconds.
pub const SAMPLES: usize = 16;

/// Fewer say nothing yet.
pub const SAMPLES_MIN: usize = 8;

/// Links that there have to be before one can stand out from them.
const LINKS_MIN: usize = 4;

/// By how many times their spread a link has to be slower than the others. Twelve medians of
/// distances are eight standard deviations where latencies are normal; those of real links have a
/// longer tail.
pub const SPREADS: u32 = 12;

/// By how much it has to be slower in any case: what the best relay, a host with two network cards,
/// needs is some tens of microseconds, and no one can tell those from a busy switch.
pub const MARGIN: Duration = Duration::from_micros(300);

/// The last samples of something that takes time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    samples_ns: [u64; SAMPLES],
    taken: usize,
}

impl Window {
    pub(super) const EMPTY: Window = Window { samples_ns: [0; SAMPLES], taken: 0 };

    pub(super) fn add(&mut self, sample: Duration) {
        self.samples_ns[self.taken % SAMPLES] =
            u64::try_from(sample.as_nanos()).unwrap_or(u64::MAX);
        // Once around, the count stays in the second round: only its place and that it is full
        // matter.
        self.taken = if self.taken + 1 == 2 * SAMPLES { SAMPLES } else { self.taken + 1 };
    }

    /// How many samples there are.
    pub(super) fn len(&self) -> usize {
        self.taken.min(SAMPLES)
    }

    /// The lower quartile; `None` without samples.
    pub(super) fn quartile(&self) -> Option<Duration> {
        let mut sorted = self.samples_ns;
        let sorted = &mut sorted[..self.len()];
        sorted.sort_unstable();
        sorted.get(sorted.len() / 4).map(|&ns| Duration::from_nanos(ns))
    }
}

/// What links are like that are believed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Baseline {
    limit: Option<Duration>,
}

impl Baseline {
    /// Of the latencies of links that are believed, in any order.
    pub(super) fn of(mut links: Vec<Duration>) -> Baseline {
        if links.len() < LINKS_MIN {
            return Baseline::default();
        }
        let median = median(&mut links);
        let mut distances: Vec<_> = links.iter().map(|link| link.abs_diff(median)).collect();
        let spread = self::median(&mut distances);
        Baseline { limit: Some(median + (spread * SPREADS).max(MARGIN)) }
    }

    /// Whether a link with these samples stands out; `None` where that cannot be said yet.
    pub(super) fn stands_out(&self, window: &Window) -> Option<bool> {
        let limit = self.limit?;
        let quartile = window.quartile().filter(|_| window.len() >= SAMPLES_MIN)?;
        Some(quartile > limit)
    }
}

/// The middle one; there is one at least.
fn median(values: &mut [Duration]) -> Duration {
    let middle = values.len() / 2;
    *values.select_nth_unstable(middle).1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::random::Random;

    #[test]
    fn a_window_forgets_what_is_old_and_passes_over_what_waited() {
        let mut window = Window::EMPTY;
        assert_eq!(window.quartile(), None);
        (0..100).for_each(|_| window.add(Duration::from_micros(900)));
        for sample in 0..SAMPLES as u64 {
            window.add(Duration::from_micros(if sample % 2 == 0 { 100 } else { 5000 }));
        }
        assert_eq!((window.len(), window.quartile()), (SAMPLES, Some(Duration::from_micros(100))));
    }

    #[test]
    fn nothing_is_said_of_few_samples_or_few_links() {
        let us = Duration::from_micros;
        let mut window = Window::EMPTY;
        (0..SAMPLES_MIN - 1).for_each(|_| window.add(us(50_000)));
        let baseline = Baseline::of([100, 90, 110, 120].map(us).to_vec());
        assert_eq!(baseline.stands_out(&window), None);
        window.add(us(50_000));
        assert_eq!(baseline.stands_out(&window), Some(true));
        assert_eq!(Baseline::of([100, 90, 110].map(us).to_vec()).stands_out(&window), None);
    }

    /// A network as a seed makes it: what its links and control channels take, and how long things
    /// wait.
    struct Network {
        random: Random,
        wait_us: f64,
    }

    impl Network {
        /// A wait that is short nearly always (exponential), and long once in twenty times.
        fn wait(&mut self) -> f64 {
            let uniform =
                |random: &mut Random| (random.below(1 << 40) + 1) as f64 / (1u64 << 40) as f64;
            let long = if self.random.below(20) == 0 { 20.0 } else { 1.0 };
            -uniform(&mut self.random).ln() * self.wait_us * long
        }

        /// The samples of a link of this latency, between switches whose control channels take this
        /// long.
        fn window(&mut self, latency_us: f64, control_us: [f64; 2]) -> Window {
            let control = control_us.map(|us| {
                let mut window = Window::EMPTY;
                (0..SAMPLES).for_each(|_| window.add(from_us(us + self.wait() + self.wait())));
                window.quartile().unwrap_or_default()
            });
            let mut window = Window::EMPTY;
            for _ in 0..SAMPLES {
                let way = latency_us + (control_us[0] + control_us[1]) / 2.0;
                let took = from_us(way + (0..4).map(|_| self.wait()).sum::<f64>());
                window.add(took.saturating_sub((control[0] + control[1]) / 2));
            }
            window
        }
    }

    fn from_us(us: f64) -> Duration {
        Duration::from_nanos((us * 1000.0) as u64)
    }

    /// Of so many networks of 60 links each with one relay in it: in how many the relay is found,
    /// and how many of all the other links are suspected.
    fn rates(wait_us: f64, relay_us: f64) -> (f64, f64) {
        const NETWORKS: u64 = 100;
        const LINKS: usize = 60;
        let (mut found, mut wrong) = (0, 0);
        for seed in 0..NETWORKS {
            let mut network = Network { random: Random::new(seed + 1), wait_us };
            let control: Vec<f64> =
                (0..LINKS).map(|_| 100.0 + network.random.below(900) as f64).collect();
            let real: Vec<Window> = (0..LINKS)
                .map(|link| {
                    let latency = 20.0 + network.random.below(80) as f64;
                    network.window(latency, [control[link], control[(link + 7) % LINKS]])
                })
                .collect();
            let relay = network.window(60.0 + relay_us, [control[0], control[1]]);
            let baseline = Baseline::of(real.iter().filter_map(Window::quartile).collect());
            found += usize::from(baseline.stands_out(&relay) == Some(true));
            wrong += real.iter().filter(|link| baseline.stands_out(link) == Some(true)).count();
        }
        (found as f64 / NETWORKS as f64, wrong as f64 / (NETWORKS as f64 * LINKS as f64))
    }

    /// The figures of docs/performance.md.
    #[test]
    fn relays_are_found_and_links_are_not_suspected() {
        for wait_us in [10.0, 50.0, 200.0] {
            for relay_us in [100.0, 250.0, 500.0, 1000.0, 2000.0, 5000.0, 20_000.0] {
                let (found, wrong) = rates(wait_us, relay_us);
                println!(
                    "wait {wait_us:>3} µs  relay {relay_us:>5} µs  found {found:.2}  false {wrong:.4}"
                );
                assert!(wrong <= 0.002, "{wrong} of the links suspected, waits of {wait_us} µs");
                let should = relay_us >= 10.0 * wait_us && relay_us >= 500.0;
                assert!(found >= if should { 0.99 } else { 0.0 }, "{found} at {relay_us} µs");
            }
        }
    }
}
