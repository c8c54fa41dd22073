//! Look-up in a line of the table, by the instructions that the processor has.

use core::sync::atomic::AtomicU64;

use super::table::{LastSeen, MacKey, TableLine};

/// A look-up: whether one of the words says just this, and what is said of a host.
///
/// It is a pair of closures, made and handed on by value where the instructions may be used: a
/// function would not be compiled into the loop around it.
pub(super) trait HostLookup: Copy {
    /// As [`TableLine::holds`].
    fn holds(self, line: &TableLine<AtomicU64>, key: MacKey, seen: LastSeen) -> bool;

    /// As [`TableLine::seen`].
    fn seen(self, line: &TableLine<AtomicU64>, key: MacKey) -> LastSeen;
}

impl<H, S> HostLookup for (H, S)
where
    H: Fn(&TableLine<AtomicU64>, MacKey, LastSeen) -> bool + Copy,
    S: Fn(&TableLine<AtomicU64>, MacKey) -> LastSeen + Copy,
{
    #[inline(always)]
    fn holds(self, line: &TableLine<AtomicU64>, key: MacKey, seen: LastSeen) -> bool {
        self.0(line, key, seen)
    }

    #[inline(always)]
    fn seen(self, line: &TableLine<AtomicU64>, key: MacKey) -> LastSeen {
        self.1(line, key)
    }
}
