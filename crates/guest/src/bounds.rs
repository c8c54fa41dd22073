//! Bounds of a guest that may change while it is served: its rate, its queue, its weight, and what
//! becomes of a request that it cannot take.

use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU32, AtomicUsize, Ordering};

use crate::spec::{GuestSpec, Otherwise};

/// Each counts from when it is set. Workers read them for each batch or request.
#[derive(Debug)]
pub(crate) struct GuestBounds {
    /// 0: no limit.
    rate: AtomicU32,
    queue: AtomicUsize,
    weight: AtomicU16,
    drops: AtomicBool,
}

impl GuestBounds {
    pub(crate) fn of(spec: &GuestSpec) -> GuestBounds {
        GuestBounds {
            rate: AtomicU32::new(spec.rate.unwrap_or(0)),
            queue: AtomicUsize::new(spec.queue),
            weight: AtomicU16::new(spec.weight),
            drops: AtomicBool::new(spec.otherwise == Otherwise::Drop),
        }
    }

    /// As the spec says.
    pub(crate) fn set(&self, spec: &GuestSpec) {
        self.rate.store(spec.rate.unwrap_or(0), Ordering::Relaxed);
        self.queue.store(spec.queue, Ordering::Relaxed);
        self.weight.store(spec.weight, Ordering::Relaxed);
        self.drops.store(spec.otherwise == Otherwise::Drop, Ordering::Relaxed);
    }

    /// The spec with these in the place of its own.
    pub(crate) fn over(&self, spec: &GuestSpec) -> GuestSpec {
        GuestSpec {
            rate: self.rate(),
            queue: self.queue(),
            weight: self.weight(),
            otherwise: self.otherwise(),
            ..spec.clone()
        }
    }

    #[inline]
    pub(crate) fn rate(&self) -> Option<u32> {
        Some(self.rate.load(Ordering::Relaxed)).filter(|rate| *rate > 0)
    }

    #[inline]
    pub(crate) fn queue(&self) -> usize {
        self.queue.load(Ordering::Relaxed)
    }

    pub(crate) fn weight(&self) -> u16 {
        self.weight.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn otherwise(&self) -> Otherwise {
        if self.drops.load(Ordering::Relaxed) { Otherwise::Drop } else { Otherwise::Next }
    }
}
