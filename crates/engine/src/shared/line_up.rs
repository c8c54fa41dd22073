//! The line-up cell: which applications run, and how far the workers have taken that.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use aldis_control::pipeline::LineUp;
use aldis_control::stats::{AppSnapshot, AppStats};

use crate::sync::Lock;
use crate::sync::versioned::Versioned;

/// The newest line-up, which every worker follows between two batches.
#[derive(Debug)]
pub(crate) struct LineUpCell {
    newest: Versioned<Arc<LineUp>>,
    workers: Box<[Taken]>,
}

/// What one worker has taken.
#[derive(Debug)]
struct Taken {
    /// The version of the line-up that it calls, and whose applications it has told of all its
    /// switches.
    version: AtomicU64,
    /// Its counters of the applications, by the numbers of their places.
    counted: Mutex<Vec<Arc<AppStats>>>,
}

impl LineUpCell {
    pub(crate) fn new(workers: usize, line_up: Arc<LineUp>) -> LineUpCell {
        let taken = |_| Taken { version: AtomicU64::new(0), counted: Mutex::default() };
        LineUpCell { newest: Versioned::new(line_up), workers: (0..workers).map(taken).collect() }
    }

    /// The newest.
    pub(crate) fn newest(&self) -> Arc<LineUp> {
        Arc::clone(&self.newest.value().take())
    }

    /// This is the newest.
    pub(crate) fn change(&self, line_up: LineUp) {
        self.newest.change(|there| *there = Arc::new(line_up));
    }

    /// The newest, if it is another than that of the version `seen`, which the caller followed.
    #[inline]
    pub(crate) fn changed(&self, seen: &mut u64) -> Option<Arc<LineUp>> {
        self.newest.follow(seen).then(|| self.newest())
    }

    /// The worker counts here from now on.
    pub(crate) fn count(&self, worker: usize, counted: Vec<Arc<AppStats>>) {
        *self.workers[worker].counted.lock().unwrap_or_else(PoisonError::into_inner) = counted;
    }

    /// The worker has taken this version, and has told its switches to what was started with it.
    pub(crate) fn set_taken(&self, worker: usize, version: u64) {
        self.workers[worker].version.store(version, Ordering::Release);
    }

    /// The first worker that has not taken this version yet.
    pub(crate) fn behind(&self, version: u64) -> Option<usize> {
        self.workers.iter().position(|taken| taken.version.load(Ordering::Acquire) < version)
    }

    /// How many workers there are.
    pub(crate) fn workers(&self) -> usize {
        self.workers.len()
    }

    /// What all workers together counted of each application until now.
    pub(crate) fn counted(&self) -> Vec<AppSnapshot> {
        let of =
            |taken: &Taken| taken.counted.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let counted: Vec<_> = self.workers.iter().map(of).collect();
        AppSnapshot::all(&self.newest(), &counted)
    }
}
