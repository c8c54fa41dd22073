//! An atomic word, of which lock-free shared state is made: the standard library's, or, in models,
//! one that loom watches.

use core::sync::atomic::{AtomicU64, Ordering};

pub(crate) trait AtomicWord: Default + Send + Sync + 'static {
    fn load(&self) -> u64;
    /// Replaces `from` by `to`, or says what is there instead.
    fn replace(&self, from: u64, to: u64) -> Result<(), u64>;
    /// Sets `bits` and says what was there.
    fn set(&self, bits: u64) -> u64;
}

// A reader of a word sees what was done before it was written: with a frozen one of a table, the
// next table.
macro_rules! word {
    ($word:ty) => {
        impl AtomicWord for $word {
            #[inline]
            fn load(&self) -> u64 {
                self.load(Ordering::Acquire)
            }

            #[inline]
            fn replace(&self, from: u64, to: u64) -> Result<(), u64> {
                self.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire).map(drop)
            }

            #[inline]
            fn set(&self, bits: u64) -> u64 {
                self.fetch_or(bits, Ordering::AcqRel)
            }
        }
    };
}

word!(AtomicU64);
#[cfg(test)]
word!(loom::sync::atomic::AtomicU64);
