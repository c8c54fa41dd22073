//! How much memory there is, and what of it each table gets.
//!
//! What there is, is what the machine has, or less where a cgroup says so (a container, a service
//! with `MemoryMax`): the kernel ends a process that goes beyond. Tables have their usual sizes
//! where there is room for them, and smaller ones where there is not.

use std::fs;
use std::path::Path;

/// Where there is nothing to be read: as much as is never too little.
const UNKNOWN: u64 = 4 << 30;

/// Bytes of a host in the table, its addresses, its places and the index included.
const HOST_BYTES: u64 = 512;

/// Bytes of a path that is remembered.
const PATH_BYTES: u64 = 512;

/// Bytes of a frame that was flooded.
const FRAME_BYTES: u64 = 8;

/// Memory in bytes, to be divided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct MemoryBudget(u64);

impl MemoryBudget {
    /// So many bytes.
    pub(crate) fn of(bytes: u64) -> MemoryBudget {
        MemoryBudget(bytes)
    }

    /// What this process may have.
    pub(crate) fn here() -> MemoryBudget {
        let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| total(&text));
        MemoryBudget(machine.into_iter().chain(limit_here()).min().unwrap_or(UNKNOWN))
    }

    /// Hosts, of which there are usually so many at most: an eighth of it.
    pub(crate) fn hosts(self, usual: u64) -> u64 {
        (self.0 / 8 / HOST_BYTES).clamp(1, usual)
    }

    /// Paths, likewise: an eighth of it.
    pub(crate) fn paths(self, usual: u32) -> u32 {
        u32::try_from(self.0 / 8 / PATH_BYTES).unwrap_or(u32::MAX).min(usual)
    }

    /// Frames that were flooded a moment ago, likewise: a sixty-fourth of it.
    pub(crate) fn frames(self, usual: usize) -> usize {
        usize::try_from(self.0 / 64 / FRAME_BYTES).unwrap_or(usize::MAX).min(usual)
    }

    /// Bytes that the kernel may hold of what switches sent: an eighth of it, for it counts twice
    /// as many.
    pub(crate) fn received(self) -> usize {
        usize::try_from(self.0 / 8).unwrap_or(usize::MAX)
    }

    /// Bytes that are kept on account of one switch, likewise: a sixteenth of it.
    pub(crate) fn switch_bytes(self, usual: usize) -> usize {
        usize::try_from(self.0 / 16).unwrap_or(usize::MAX).min(usual)
    }
}

/// Above so many bytes the kernel ends this process; nothing where no cgroup says so.
pub(crate) fn limit_here() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    limit(&groups, Path::new("/sys/fs/cgroup"))
}

/// The machine's memory, as `/proc/meminfo` says it.
fn total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find(|line| line.starts_with("MemTotal:"))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024)
}

/// The lowest limit of the groups that this process is in (`/proc/self/cgroup`), of either version.
fn limit(groups: &str, mounted: &Path) -> Option<u64> {
    let limits = groups.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        match controllers {
            "" => lowest(&mounted.join(""), path, "memory.max"),
            some if some.split(',').any(|one| one == "memory") => {
                lowest(&mounted.join("memory"), path, "memory.limit_in_bytes")
            }
            _ => None,
        }
    });
    limits.min()
}

/// The lowest limit of a group and of those that it is in. In a container the path may be one of
/// the host's: what is not there is no limit.
fn lowest(mounted: &Path, path: &str, file: &str) -> Option<u64> {
    let inside = Path::new(path.trim_start_matches('/'));
    let limits = inside.ancestors().filter_map(|group| {
        let text = fs::read_to_string(mounted.join(group).join(file)).ok()?;
        // "max" where there is none.
        text.trim().parse::<u64>().ok()
    });
    limits.min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_says_its_kilobytes() {
        assert_eq!(total("MemFree: 7 kB\nMemTotal:       16384 kB\n"), None.or(Some(16384 * 1024)));
        assert_eq!(total("nothing"), None);
    }

    #[test]
    fn the_lowest_limit_of_all_groups_counts_in_both_versions() {
        let folder = std::env::temp_dir().join(format!("aldis-room-{}", std::process::id()));
        let write = |path: &str, text: &str| {
            let file = folder.join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        };
        write("memory.max", "max\n");
        write("a/memory.max", "2000\n");
        write("a/b/memory.max", "3000\n");
        write("memory/c/memory.limit_in_bytes", "1500\n");
        write("memory/memory.limit_in_bytes", "9223372036854771712\n");
        let of = |groups: &str| limit(groups, &folder);
        assert_eq!(of("0::/a/b\n"), Some(2000));
        assert_eq!(of("0::/\n"), None);
        assert_eq!(of("9:cpu:/x\n4:memory:/c\n0::/a/b\n"), Some(1500));
        assert_eq!(of("4:hugetlb,memory:/c/of/the/host\n"), Some(1500));
        assert_eq!(of("4:memory:/\n"), Some(9_223_372_036_854_771_712));
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn tables_are_as_usual_where_there_is_room_and_smaller_where_there_is_not() {
        let (much, little) = (MemoryBudget::of(16 << 30), MemoryBudget::of(256 << 20));
        assert_eq!((much.hosts(1_000_000), little.hosts(1_000_000)), (1_000_000, 65_536));
        assert_eq!((much.paths(200_000), little.paths(200_000)), (200_000, 65_536));
        assert_eq!((much.frames(1 << 20), little.frames(1 << 20)), (1 << 20, 1 << 19));
        assert_eq!(
            (much.switch_bytes(16 << 20), little.switch_bytes(16 << 20)),
            (16 << 20, 16 << 20)
        );
        assert_eq!(MemoryBudget::of(64 << 20).switch_bytes(16 << 20), 4 << 20);
        assert_eq!(little.received(), 32 << 20);
    }
}
