//! What a link costs, by latency and by capacity.

/// Microseconds in a step of latency: less is lost in the noise of measuring it with a probe.
const LATENCY_STEP_US: u32 = 10;

/// Kilobits a second that cost one step of capacity: 400 Gbit/s. So 100 Gbit/s cost 4, and 10
/// Mbit/s cost 40,000.
const REFERENCE_KBPS: u32 = 400_000_000;

/// What a link costs in one direction. Sixteen bits each: then no way through
/// [`SWITCHES_MAX`](super::SWITCHES_MAX) switches costs more than 32 bits can say.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Metric {
    /// Latency in steps of 10 µs, rounded up: 1 to 65,535 (two thirds of a second and more).
    pub latency: u16,
    /// 400 Gbit/s over the capacity, rounded down: 1 to 65,535 (6 Mbit/s and less).
    pub capacity: u16,
}

impl Metric {
    /// Of a link that takes so many microseconds and carries so many kilobits a second; 0 where
    /// that is not known, which counts as the most that can be said.
    pub fn new(latency_us: u32, capacity_kbps: u32) -> Metric {
        let latency = match latency_us {
            0 => u16::MAX,
            _ => steps(latency_us.div_ceil(LATENCY_STEP_US)),
        };
        let capacity = match capacity_kbps {
            0 => u16::MAX,
            _ => steps(REFERENCE_KBPS / capacity_kbps),
        };
        Metric { latency, capacity }
    }
}

/// A link of unknown latency and capacity.
impl Default for Metric {
    fn default() -> Metric {
        Metric::new(0, 0)
    }
}

fn steps(count: u32) -> u16 {
    u16::try_from(count).unwrap_or(u16::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_in_steps_and_never_zero() {
        let cost = |latency, capacity| Metric { latency, capacity };
        assert_eq!(Metric::new(1, u32::MAX), cost(1, 1));
        assert_eq!(Metric::new(10, 100_000_000), cost(1, 4));
        assert_eq!(Metric::new(11, 1_000_000), cost(2, 400));
        assert_eq!(Metric::new(u32::MAX, 1), cost(u16::MAX, u16::MAX));
        assert_eq!(Metric::new(0, 0), cost(u16::MAX, u16::MAX));
    }
}
