//! The place of an instance: one for all workers, or one for each.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use crate::instance::Instance;
use crate::limits::TRIAL_REQUESTS_MAX;

/// The place of an instance. Empty while the application is stopped, restarted or quarantined.
#[derive(Default)]
pub(crate) struct InstanceSlot {
    /// Whether it holds one: looked at without the lock, so that an application that does not run
    /// costs a worker one load.
    is_filled: AtomicBool,
    /// Whether its instance is on trial.
    on_trial: AtomicBool,
    /// What was begun before this generation of the application comes too late. It changes under
    /// the lock.
    generation: AtomicU64,
    running: Mutex<Option<Running>>,
}

/// An instance that takes events.
pub(crate) struct Running {
    pub(crate) instance: Instance,
    /// Whether it was told of the switches that were there before it.
    pub(crate) greeted: bool,
    /// The generation of the application that began it.
    generation: u64,
}

impl InstanceSlot {
    #[inline]
    pub(crate) fn is_filled(&self) -> bool {
        self.is_filled.load(Ordering::Relaxed)
    }

    /// The most requests of a batch for its instance.
    #[inline]
    pub(crate) fn requests_max(&self) -> u32 {
        if self.on_trial.load(Ordering::Relaxed) { TRIAL_REQUESTS_MAX } else { u32::MAX }
    }

    /// Notes whether the instance is on trial, which the caller has locked.
    #[inline]
    pub(crate) fn note_trial(&self, instance: &Instance) {
        if self.on_trial.load(Ordering::Relaxed) != instance.is_on_trial() {
            self.on_trial.store(instance.is_on_trial(), Ordering::Relaxed);
        }
    }

    /// Waits until no other worker holds it: for as long as one call takes at most.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Option<Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same where it is held by none now.
    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, Option<Running>>> {
        match self.running.try_lock() {
            Ok(running) => Some(running),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Puts an instance in that a generation of the application began. Gives back the one that was
    /// there, or this one where it comes too late.
    pub(crate) fn fill(&self, instance: Instance, generation: u64) -> Option<Running> {
        let mut running = self.lock();
        let new = Running { instance, greeted: false, generation };
        if self.generation.load(Ordering::Relaxed) > generation {
            return Some(new);
        }
        self.note_trial(&new.instance);
        self.is_filled.store(true, Ordering::Relaxed);
        running.replace(new)
    }

    /// Takes the instance out, for good: what an earlier generation began comes too late. One of a
    /// later generation stays.
    pub(crate) fn close(&self, generation: u64) -> Option<Running> {
        let mut running = self.lock();
        self.generation.fetch_max(generation, Ordering::Relaxed);
        match &*running {
            Some(Running { generation: begun, .. }) if *begun > generation => None,
            _ => self.take(&mut running),
        }
    }

    /// Takes the instance out of the slot, which the caller has locked.
    pub(crate) fn take(&self, running: &mut Option<Running>) -> Option<Running> {
        self.is_filled.store(false, Ordering::Relaxed);
        running.take()
    }
}
