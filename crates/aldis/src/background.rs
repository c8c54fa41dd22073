//! What runs in the background: threads that take no processor away from a worker in its batch.
//!
//! There are as many workers as cores, and so the thread of the HTTP server shares one with a
//! worker. When a request comes in, the kernel would stop the worker at once to run that thread,
//! some ten times for the installation of an application. In the background a thread waits until
//! the worker sleeps, or for the end of the worker's turn, 4 ms at most on most kernels. It has its
//! share of the processor all the same.

use crate::c_calls::{sched_getscheduler, sched_setscheduler};

/// `SCHED_OTHER` and `SCHED_BATCH` of `sched(7)`.
const OTHER: i32 = 0;
const BATCH: i32 = 3;

/// The threads that `start` starts, and those that they start, run in the background, and this one
/// does not. Where the system does not allow it, or the process was started with a policy of its
/// own, all is left as it is.
pub(crate) fn in_background<T>(start: impl FnOnce() -> T) -> T {
    let changed = sched_getscheduler(0) == OTHER && sched_setscheduler(0, BATCH, &0) == 0;
    let started = start();
    if changed {
        sched_setscheduler(0, OTHER, &0);
    }
    started
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn threads_that_are_started_in_the_background_stay_there_with_those_that_they_start() {
        let policy = || sched_getscheduler(0);
        let of_child = move || (policy(), thread::spawn(policy).join().unwrap());
        let started = in_background(|| thread::spawn(of_child)).join().unwrap();
        assert_eq!((started, policy()), ((BATCH, BATCH), OTHER));
    }

    #[test]
    fn a_policy_that_the_process_was_started_with_stays() {
        let started = thread::spawn(|| {
            assert_eq!(sched_setscheduler(0, BATCH, &0), 0);
            in_background(|| ());
            sched_getscheduler(0)
        });
        assert_eq!(started.join().unwrap(), BATCH);
    }
}
