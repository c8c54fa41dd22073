//! Memory that the process does not use any more goes back to the system.
//!
//! The system's allocator keeps what was freed, for the next time. This looks now and then whether
//! that is much.

use std::fs;

/// What may lie free in the process before it is given back to the system. For example, 5,000
/// switches that connected at once left 17 MB behind, a quarter of what they need.
const IDLE_MAX: usize = 8 * 1024 * 1024;

/// Gives memory back that the process does not use any more.
///
/// The system's allocator keeps what was freed, for the next time: after one switch had the
/// controller keep a gigabyte, the process would have that for as long as it runs. Nothing is asked
/// for on a hot path, so that what is given back is not missed.
#[derive(Debug, Default)]
pub(crate) struct GiveBack {
    /// Bytes that the process had after the last time, and the least so far.
    last: usize,
    least: Option<usize>,
    /// How many looks are left out, and how many of these are to come: what is in use cannot be
    /// given back.
    pause: u32,
    skip: u32,
}

/// Looks that are left out at most: a minute of them.
const PAUSE_MAX: u32 = 5;

impl GiveBack {
    /// Gives back what is free where the process is larger than it once was.
    pub(crate) fn look(&mut self) {
        let Some(before) = resident() else { return };
        let least = self.least.map_or(0, |least| least + IDLE_MAX);
        if before <= least || self.skip > 0 && before < self.last + IDLE_MAX {
            self.skip = self.skip.saturating_sub(1);
            return;
        }
        trim();
        let after = resident().unwrap_or(before);
        let gave_little = before.saturating_sub(after) < IDLE_MAX;
        self.pause = if gave_little { (2 * self.pause + 1).min(PAUSE_MAX) } else { 0 };
        self.skip = self.pause;
        self.least = Some(self.least.map_or(after, |least| least.min(after)));
        self.last = after;
    }
}

/// Bytes of physical memory of this process.
pub(crate) fn resident() -> Option<usize> {
    let pages = fs::read_to_string("/proc/self/statm").ok()?;
    let pages: usize = pages.split(' ').nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size())
}

#[cfg(target_env = "gnu")]
fn trim() {
    crate::c_calls::malloc_trim(0);
}

/// Other allocators give back by themselves.
#[cfg(not(target_env = "gnu"))]
fn trim() {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_many_small_pieces_took_is_given_back() {
        let mut memory = GiveBack::default();
        memory.look();
        // The last piece stays, and so the heap cannot shrink by itself.
        let mut pieces: Vec<Box<[u8; 1000]>> = (0..200_000).map(|_| Box::new([7; 1000])).collect();
        let full = resident().unwrap();
        let last = pieces.pop();
        drop(pieces);
        memory.look();
        let after = resident().unwrap();
        assert!(after + 150_000_000 < full, "{full} bytes, then {after}");
        assert_eq!(last.map(|piece| piece[0]), Some(7));
    }
}
