//! Words and locks, as the protocols between workers use them: the standard library's, or those
//! that loom watches.
//!
//! A protocol is written once, over a [`Atomic`] or, where it has several words or a lock, over a
//! [`Primitives`]. Its model makes the same steps with the same orderings, in every order in which
//! the steps of several workers may come.

use std::ops::DerefMut;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

pub(crate) mod lock;
pub(crate) mod versioned;

/// An atomic word.
pub(crate) trait Atomic<N: Copy = u32>: Default + From<N> {
    fn load(&self) -> N;
    fn store(&self, to: N);
    /// Replaces `from` by `to`, or says what is there instead.
    fn replace(&self, from: N, to: N) -> Result<(), N>;
    /// Replaces whatever is there, in one step, and returns what was there.
    fn swap(&self, to: N) -> N;
    /// Adds to what is there, in one step and wrapping around, and returns what was there.
    fn add(&self, more: N) -> N;
    /// Everything before it in program order comes before everything behind it, for whoever fences
    /// too.
    fn fence();
    /// Replaces whatever is there by what `change` makes of it, and returns what was there.
    #[inline(always)]
    fn update(&self, mut change: impl FnMut(N) -> N) -> N {
        let mut there = self.load();
        loop {
            match self.replace(there, change(there)) {
                Ok(()) => return there,
                Err(other) => there = other,
            }
        }
    }
}

// Letting go publishes what the holder did, and taking over reads it: AcqRel. What needs more says
// so by a fence.
macro_rules! word {
    ($word:ty, $number:ty, $fence:path) => {
        impl Atomic<$number> for $word {
            #[inline]
            fn load(&self) -> $number {
                self.load(Ordering::Acquire)
            }

            #[inline]
            fn store(&self, to: $number) {
                self.store(to, Ordering::Release);
            }

            #[inline]
            fn replace(&self, from: $number, to: $number) -> Result<(), $number> {
                self.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire).map(drop)
            }

            #[inline]
            fn swap(&self, to: $number) -> $number {
                self.swap(to, Ordering::AcqRel)
            }

            #[inline]
            fn add(&self, more: $number) -> $number {
                self.fetch_add(more, Ordering::AcqRel)
            }

            #[inline]
            fn fence() {
                $fence(Ordering::SeqCst);
            }
        }
    };
}

word!(AtomicU32, u32, fence);
word!(AtomicU64, u64, fence);
word!(AtomicUsize, usize, fence);

/// A lock around a `T`.
pub(crate) trait Lock<T>: From<T> {
    type Guard<'l>: DerefMut<Target = T>
    where
        Self: 'l;

    /// Takes it, and waits for who has it. Nothing between lock and unlock may panic half-way
    /// through a change.
    fn take(&self) -> Self::Guard<'_>;
    /// Takes it, unless somebody has it.
    fn take_if_free(&self) -> Option<Self::Guard<'_>>;
}

macro_rules! lock {
    ($lock:ident, $guard:ident) => {
        impl<T> Lock<T> for $lock<T> {
            type Guard<'l>
                = $guard<'l, T>
            where
                T: 'l;

            #[inline]
            fn take(&self) -> $guard<'_, T> {
                self.lock().unwrap_or_else(PoisonError::into_inner)
            }

            #[inline]
            fn take_if_free(&self) -> Option<$guard<'_, T>> {
                match self.try_lock() {
                    Ok(there) => Some(there),
                    Err(TryLockError::Poisoned(there)) => Some(there.into_inner()),
                    Err(TryLockError::WouldBlock) => None,
                }
            }
        }
    };
}

lock!(Mutex, MutexGuard);

/// Words of several kinds, and locks, that belong together.
pub(crate) trait Primitives {
    type U32: Atomic;
    type U64: Atomic<u64>;
    type Usize: Atomic<usize>;
    type Lock<T>: Lock<T>;
}

/// The one that the engine runs on.
#[derive(Debug)]
pub(crate) struct Std;

impl Primitives for Std {
    type U32 = AtomicU32;
    type U64 = AtomicU64;
    type Usize = AtomicUsize;
    type Lock<T> = Mutex<T>;
}

#[cfg(test)]
pub(crate) mod models {
    //! The one of models.

    use loom::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, fence};
    use loom::sync::{Mutex, MutexGuard};

    use super::*;

    word!(AtomicU32, u32, fence);
    word!(AtomicU64, u64, fence);
    word!(AtomicUsize, usize, fence);
    lock!(Mutex, MutexGuard);

    #[derive(Debug)]
    pub(crate) struct Loom;

    impl Primitives for Loom {
        type U32 = AtomicU32;
        type U64 = AtomicU64;
        type Usize = AtomicUsize;
        type Lock<T> = Mutex<T>;
    }
}
