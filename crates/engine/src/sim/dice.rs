//! Numbers that look random and follow from a seed: SplitMix64 (Steele, Lea and Flood, 2014).

/// A sequence of them.
#[derive(Clone, Debug)]
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// 0 to 1, 1 excluded.
    pub(super) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// The time between two events of a Poisson process in which they are one apart on average.
    pub(super) fn gap(&mut self) -> f64 {
        -(1.0 - self.unit()).ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_splitmix() {
        // The first outputs for the seed 1234567, as the algorithm's authors publish them.
        let mut dice = Dice::new(1_234_567);
        let seen = [dice.next(), dice.next()];
        assert_eq!(seen, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
    }

    #[test]
    fn gaps_are_one_on_average() {
        let mut dice = Dice::new(1);
        let sum: f64 = (0..100_000).map(|_| dice.gap()).sum();
        assert!((sum / 100_000.0 - 1.0).abs() < 0.01, "{sum}");
    }
}
