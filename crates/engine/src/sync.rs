//! Atomics and locks, as the protocols between workers use them: the standard library's, or loom's.
//!
//! A protocol is written once, over an [`Atomic`] or, where it has several words or a lock, over
//! [`Primitives`]. Its model makes the same steps with the same orderings, in every order in which
//! the steps of several workers may come.

use std::ops::DerefMut;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

mod lock;
pub(crate) mod versioned;

pub(crate) use lock::lock;

/// An atomic number.
pub(crate) trait Atomic<N: Copy = u32>: Default + From<N> {
    fn load(&self) -> N;
    fn store(&self, to: N);
    /// Replaces `from` by `to`, or says what is there instead.
    fn replace(&self, from: N, to: N) -> Result<(), N>;
    /// Replaces whatever is there, in one step, and returns what was there.
    fn swap(&self, to: N) -> N;
    /// Adds to what is there, in one step and wrapping around, and returns what was there.
    fn add(&self, more: N) -> N;
    /// Everything before it in program order comes before everything behind it, for other fences
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
macro_rules! atomic {
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

atomic!(AtomicU32, u32, fence);
atomic!(AtomicU64, u64, fence);
atomic!(AtomicUsize, usize, fence);

/// A lock around a `T`.
pub(crate) trait Lock<T>: From<T> {
    type Guard<'l>: DerefMut<Target = T>
    where
        Self: 'l;

    /// Takes it, and waits while it is held. Nothing between lock and unlock may panic half-way
    /// through a change.
    fn take(&self) -> Self::Guard<'_>;
    /// Takes it, if it is free.
    fn take_if_free(&self) -> Option<Self::Guard<'_>>;
}

macro_rules! impl_lock {
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

impl_lock!(Mutex, MutexGuard);

/// A family of atomics and locks.
pub(crate) trait Primitives {
    type U32: Atomic;
    type U64: Atomic<u64>;
    type Usize: Atomic<usize>;
    type Lock<T>: Lock<T>;
}

/// The standard library's, on which the engine runs.
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
    //! Those of loom, on which models run.

    use loom::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, fence};
    use loom::sync::{Mutex, MutexGuard};

    use super::*;

    atomic!(AtomicU32, u32, fence);
    atomic!(AtomicU64, u64, fence);
    atomic!(AtomicUsize, usize, fence);
    impl_lock!(Mutex, MutexGuard);

    #[derive(Debug)]
    pub(crate) struct Loom;

    impl Primitives for Loom {
        type U32 = AtomicU32;
        type U64 = AtomicU64;
        type Usize = AtomicUsize;
        type Lock<T> = Mutex<T>;
    }
}
