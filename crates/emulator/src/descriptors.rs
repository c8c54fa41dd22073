//! File descriptors: a socket for each switch, and a limit that was made for programs with a few of
//! them.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io;

/// Raises this process's own limit so that `wanted` descriptors may be open, as far as the system
/// lets it without privileges. Returns how many may be.
///
/// # Errors
/// The system refuses what it had promised.
pub(crate) fn allow(wanted: u64) -> io::Result<u64> {
    let limit = getrlimit(Resource::Nofile);
    let current = limit.current.unwrap_or(u64::MAX);
    if current >= wanted {
        return Ok(current);
    }
    let allowed = limit.maximum.unwrap_or(u64::MAX).min(wanted).max(current);
    setrlimit(Resource::Nofile, Rlimit { current: Some(allowed), ..limit })?;
    Ok(allowed)
}
