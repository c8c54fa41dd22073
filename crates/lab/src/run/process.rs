//! What a process used: its memory and its CPU time, as `/proc` has them.

use rustix::process::Pid;
use std::fs;

/// Resident memory, in bytes.
pub(super) fn memory(pid: Pid) -> Option<u64> {
    let statm = fs::read_to_string(format!("/proc/{}/statm", pid.as_raw_nonzero())).ok()?;
    let pages: u64 = statm.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}

/// CPU time of all its threads that are there now, in nanoseconds.
pub(super) fn cpu_ns(pid: Pid) -> Option<u64> {
    let tasks = fs::read_dir(format!("/proc/{}/task", pid.as_raw_nonzero())).ok()?;
    let used = |task: fs::DirEntry| {
        let schedstat = fs::read_to_string(task.path().join("schedstat")).ok()?;
        schedstat.split_whitespace().next()?.parse::<u64>().ok()
    };
    Some(tasks.flatten().filter_map(used).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_works_uses_something() {
        let me = rustix::process::getpid();
        let before = cpu_ns(me).unwrap();
        let mut sum = 0u64;
        while cpu_ns(me).unwrap() == before {
            sum = std::hint::black_box(sum.wrapping_mul(31) + 1);
        }
        assert!(memory(me).unwrap() > 1 << 16);
        let nobody = Pid::from_raw(i32::MAX).unwrap();
        assert_eq!((memory(nobody), cpu_ns(nobody)), (None, None));
    }
}
