//! Look-up in a line of the table, by the instructions that the processor has.

use core::sync::atomic::AtomicU64;

use super::table::{Key, LastSeen, Line};

/// A look-up: whether one of the words says just this, and what is said of a host.
///
/// It is a pair of closures, made and handed on by value where the instructions may be used: a
/// function would not be compiled into the loop around it.
pub(super) trait Lookup: Copy {
    /// As [`Line::holds`].
    fn holds(self, line: &Line<AtomicU64>, key: Key, seen: LastSeen) -> bool;

    /// As [`Line::seen`].
    fn seen(self, line: &Line<AtomicU64>, key: Key) -> LastSeen;
}

impl<H, S> Lookup for (H, S)
where
    H: Fn(&Line<AtomicU64>, Key, LastSeen) -> bool + Copy,
    S: Fn(&Line<AtomicU64>, Key) -> LastSeen + Copy,
{
    #[inline(always)]
    fn holds(self, line: &Line<AtomicU64>, key: Key, seen: LastSeen) -> bool {
        self.0(line, key, seen)
    }

    #[inline(always)]
    fn seen(self, line: &Line<AtomicU64>, key: Key) -> LastSeen {
        self.1(line, key)
    }
}
