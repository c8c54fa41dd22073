//! Cores and descriptors: what this process may use of the machine.

use rustix::process::{Resource, getrlimit, setrlimit};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The cores that this process may run on.
pub fn cores() -> Vec<usize> {
    let set = sched_getaffinity(None).unwrap_or_else(|_| CpuSet::new());
    (0..CpuSet::MAX_CPU).filter(|&core| set.is_set(core)).collect()
}

/// How many workers there are unless told otherwise: a core each, and where there are more than two
/// cores, one core is left to the rest (Maestro's rule).
pub fn workers_default() -> usize {
    match cores().len() {
        0 | 1 => 1,
        2 => 2,
        cores => cores - 1,
    }
}

/// Binds the calling thread to `core`. Where the kernel refuses, the thread runs on, unbound.
pub(crate) fn pin(core: usize) {
    let mut set = CpuSet::new();
    set.set(core);
    let _ = sched_setaffinity(None, &set);
}

/// Raises the limit of open descriptors as far as it may go, and returns it.
pub(crate) fn descriptors() -> usize {
    let mut limit = getrlimit(Resource::Nofile);
    let hard = limit.maximum;
    if setrlimit(Resource::Nofile, rustix::process::Rlimit { current: hard, maximum: hard }).is_ok()
    {
        limit.current = hard;
    }
    limit.current.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX))
}
