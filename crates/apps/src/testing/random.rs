//! Numbers from a seed, for tests: the same each time.

/// A stream of numbers (xorshift64*, S. Vigna, 2016).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    /// One of `0..below`.
    pub(crate) fn below(&mut self, below: u64) -> u64 {
        self.next() % below
    }
}
