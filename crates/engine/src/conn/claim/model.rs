//! Every interleaving of workers that announce and workers that claim.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use super::*;

/// A connection, where it stands to be served, and what is in its socket.
#[derive(Default)]
struct Shared {
    claim: Claim<AtomicU32>,
    queued: AtomicUsize,
    claimants: AtomicUsize,
    bytes: AtomicUsize,
    served: AtomicUsize,
}

impl Shared {
    fn announce(&self) {
        self.bytes.fetch_add(1, Ordering::Relaxed);
        if self.claim.announce(Events::READABLE) {
            self.queued.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Serves until nothing is queued.
    fn serve(&self) {
        while self.queued.load(Ordering::Acquire) > 0 {
            let Some(_) = self.claim.claim() else { return };
            self.queued.fetch_sub(1, Ordering::AcqRel);
            assert_eq!(self.claimants.fetch_add(1, Ordering::AcqRel), 0, "one claimant at a time");
            let bytes = self.bytes.swap(0, Ordering::Relaxed);
            self.served.fetch_add(bytes, Ordering::Relaxed);
            self.claimants.fetch_sub(1, Ordering::AcqRel);
            if self.claim.release(false) {
                self.queued.fetch_add(1, Ordering::AcqRel);
            }
        }
    }
}

fn check(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(model);
}

#[test]
fn nothing_that_was_announced_is_left_unserved() {
    check(|| {
        let shared = Arc::new(Shared::default());
        let poller = Arc::clone(&shared);
        let worker = Arc::clone(&shared);
        let poller = loom::thread::spawn(move || {
            poller.announce();
            poller.announce();
        });
        let worker = loom::thread::spawn(move || worker.serve());
        shared.serve();
        poller.join().unwrap();
        worker.join().unwrap();
        // What was queued after both had looked is found by the next look.
        shared.serve();
        assert_eq!(shared.served.load(Ordering::Relaxed), 2);
    });
}
