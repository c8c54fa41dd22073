//! Which cores the controller has, and which the load.

use aldis_engine::pin;
use rustix::thread::{CpuSet, sched_setaffinity};

/// The most cores of the load: more threads than that are no use to it.
const LOAD_MAX: usize = 8;

/// The cores of a measurement.
pub(super) struct MeasureCores {
    /// The controller's: one a worker, and one for each of its other threads where there are so
    /// many.
    pub(super) controller: Vec<usize>,
    /// The load's: those that are left, up to [`LOAD_MAX`]. The only core of a machine is shared.
    pub(super) load: Vec<usize>,
}

impl MeasureCores {
    /// For a controller of so many workers, and other threads beside. These have cores of their own
    /// if one is left for the load.
    pub(super) fn divide(workers: usize, others: usize) -> MeasureCores {
        let mut controller = pin::cores();
        let most = controller.len();
        let wanted = (workers + others).min((most - 1).max(workers));
        let mut load = controller.split_off(wanted.min(most));
        if load.is_empty() {
            load.clone_from(&controller);
        }
        load.truncate(LOAD_MAX);
        MeasureCores { controller, load }
    }

    /// Whether controller and load take turns.
    pub(super) fn shared(&self) -> bool {
        self.load.iter().any(|core| self.controller.contains(core))
    }
}

/// Binds the calling thread, and with it what it starts, to these cores. Where the kernel refuses,
/// it runs on, unbound.
pub(super) fn bind(cores: &[usize]) {
    let mut set = CpuSet::new();
    cores.iter().filter(|core| **core < CpuSet::MAX_CPU).for_each(|core| set.set(*core));
    let _ = sched_setaffinity(None, &set);
}

/// Does something on a thread that is bound to these cores, as are the threads that it starts.
pub(super) fn with<T: Send>(cores: &[usize], task: impl FnOnce() -> T + Send) -> T {
    let bound = || {
        bind(cores);
        task()
    };
    std::thread::scope(|scope| {
        scope.spawn(bound).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_without_a_core_and_nobody_shares_unless_there_is_one() {
        let all = pin::cores();
        for workers in 1..=all.len() + 1 {
            let cores = MeasureCores::divide(workers, 0);
            assert_eq!(cores.controller.len(), workers.min(all.len()));
            // Threads beside take no worker's core away.
            let with = MeasureCores::divide(workers, 1);
            let spare = usize::from(workers + 1 < all.len());
            assert_eq!(with.controller.len(), cores.controller.len() + spare);
            assert!(!cores.load.is_empty() && cores.shared() == (workers >= all.len()));
        }
    }

    #[test]
    fn a_task_has_the_cores_that_it_was_given() {
        let before = pin::cores();
        let one = vec![*before.last().unwrap()];
        assert_eq!(with(&one, pin::cores), one);
        assert_eq!(pin::cores(), before);
    }
}
