//! Functions of the C library that no crate among our dependencies has.

use core::ffi::c_int;

unsafe extern "C" {
    /// `malloc_trim(3)` of glibc: gives back what lies free.
    #[cfg(target_env = "gnu")]
    pub(crate) safe fn malloc_trim(pad: usize) -> c_int;

    /// `sched_getscheduler(2)`: the policy of a thread, 0 for this one.
    #[cfg(feature = "http")]
    pub(crate) safe fn sched_getscheduler(thread: c_int) -> c_int;

    /// `sched_setscheduler(2)`: gives a thread, 0 for this one, a policy. What it is lent has one
    /// field on Linux, the priority, and is read alone.
    #[cfg(feature = "http")]
    pub(crate) safe fn sched_setscheduler(thread: c_int, policy: c_int, priority: &c_int) -> c_int;
}
