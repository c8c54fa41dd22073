//! Which cores measure, and waiting without sleeping.

use std::fs;
use std::thread;

use aldis_engine::pin;
use rustix::thread::{CpuSet, sched_setaffinity};

/// How often a waiting thread looks before it lets others have the core for once.
const LOOKS: u32 = 1_000;

/// The core that measures, and the one at the other end, if there is another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct CorePair {
    pub(super) near: usize,
    pub(super) far: Option<usize>,
}

impl CorePair {
    /// Two of the cores that this process may use; not two threads of one core where that can be
    /// avoided.
    pub(super) fn choose() -> CorePair {
        let cores = pin::cores();
        let near = cores.last().copied().unwrap_or_default();
        let path = format!("/sys/devices/system/cpu/cpu{near}/topology/thread_siblings_list");
        choose(&cores, &list(&fs::read_to_string(path).unwrap_or_default()))
    }
}

fn choose(cores: &[usize], siblings: &[usize]) -> CorePair {
    let Some((&near, others)) = cores.split_last() else {
        return CorePair { near: 0, far: None };
    };
    let apart = others.iter().rev().find(|core| !siblings.contains(core));
    CorePair { near, far: apart.or(others.last()).copied() }
}

/// The numbers of a list as the kernel writes it: `0-1,8`.
fn list(text: &str) -> Vec<usize> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.trim().parse::<usize>().ok()?..=last.trim().parse().ok()?)
    };
    text.split(',').filter_map(range).flatten().collect()
}

/// Binds the calling thread to a core. Where the kernel refuses, the thread runs on, unbound.
pub(super) fn pin(core: Option<usize>) {
    let Some(core) = core else { return };
    let mut set = CpuSet::new();
    set.set(core);
    let _ = sched_setaffinity(None, &set);
}

/// Waits until `done`, looking again and again.
#[inline]
pub(super) fn spin_until(mut done: impl FnMut() -> bool) {
    let mut looks = 0;
    while !done() {
        looks += 1;
        if looks % LOOKS == 0 {
            thread::yield_now();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_lists_are_read() {
        assert_eq!(list("0-2,8\n"), [0, 1, 2, 8]);
        assert_eq!(list("7\n"), [7]);
        assert!(list("").is_empty() && list("x-3").is_empty());
    }

    #[test]
    fn the_other_end_is_another_core_rather_than_a_thread_of_the_same() {
        let far = |cores: &[usize], siblings: &[usize]| choose(cores, siblings).far;
        assert_eq!(far(&[0, 1, 2, 3], &[2, 3]), Some(1));
        assert_eq!(far(&[2, 3], &[2, 3]), Some(2));
        assert_eq!(far(&[3], &[2, 3]), None);
        assert_eq!(choose(&[], &[]), CorePair { near: 0, far: None });
    }
}
