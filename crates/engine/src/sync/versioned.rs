//! A versioned value: it changes seldom, and every worker keeps what it made of it.
//!
//! A version number says whether a worker's copy is of the newest value.
//!
//! ```text
//!   writer:    value ← another, under its lock │ version ← the next
//!   follower:  is the version another than mine? │ mine ← it │ value, under its lock
//! ```
//!
//! So a follower that reads a number finds the value that it stands for, or a later one, and then
//! the number changes once more. While nothing changes, to follow is to read one word. Modelled
//! with loom.

use crate::sync::{Atomic, Lock, Primitives, Std};

/// A value, and how often it changed.
#[derive(Debug)]
pub(crate) struct Versioned<T, M: Primitives = Std> {
    value: M::Lock<T>,
    version: M::U64,
}

/// The version of a follower that has seen none.
pub(crate) const UNSEEN: u64 = 0;

impl<T, M: Primitives> Versioned<T, M> {
    /// The first version.
    pub(crate) fn new(value: T) -> Self {
        Versioned { value: value.into(), version: (UNSEEN + 1).into() }
    }

    /// Changes the value, for all followers.
    pub(crate) fn change(&self, act: impl FnOnce(&mut T)) {
        act(&mut self.value.take());
        self.version.add(1);
    }

    /// The value. While its lock is held, it does not change.
    pub(crate) fn value(&self) -> &M::Lock<T> {
        &self.value
    }

    /// Whether there is another version than the one `seen`.
    #[inline]
    pub(crate) fn differs(&self, seen: u64) -> bool {
        self.version.load() != seen
    }

    /// The same, and the caller follows: it takes the value now.
    #[inline]
    pub(crate) fn follow(&self, seen: &mut u64) -> bool {
        let version = self.version.load();
        std::mem::replace(seen, version) != version
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::models::Loom;
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicU32 as Watched;

    /// The weight of a switch, as it is configured, and that of its connection, once it said which
    /// switch it is.
    struct Shared {
        configured: Versioned<u32, Loom>,
        is_known: Watched,
        weight: Watched,
    }

    impl Shared {
        /// Its home does what is new.
        fn follow(&self, seen: &mut u64) {
            if self.configured.follow(seen) {
                let weight = *self.configured.value().take();
                if Atomic::load(&self.is_known) == 1 {
                    Atomic::store(&self.weight, weight);
                }
            }
        }

        /// It says which switch it is, to a worker that may be another one.
        fn join(&self) {
            Atomic::store(&self.is_known, 1);
            let configured = self.configured.value().take();
            Atomic::store(&self.weight, *configured);
        }
    }

    /// A switch joins while its weight changes, twice: it has the last one when its home has
    /// followed.
    #[test]
    fn the_last_change_counts() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let [is_known, weight] = [0, 0].map(Watched::new);
            let shared = Arc::new(Shared { configured: Versioned::new(1), is_known, weight });
            let [joins, changes] = [0; 2].map(|_| Arc::clone(&shared));
            let joins = loom::thread::spawn(move || joins.join());
            let changes = loom::thread::spawn(move || {
                changes.configured.change(|weight| *weight = 2);
                changes.configured.change(|weight| *weight = 3);
            });
            let mut seen = UNSEEN;
            shared.follow(&mut seen);
            shared.follow(&mut seen);
            joins.join().unwrap();
            changes.join().unwrap();
            shared.follow(&mut seen);
            assert_eq!(Atomic::load(&shared.weight), 3);
        });
    }
}
