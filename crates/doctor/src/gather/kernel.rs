//! The kernel: what listens, the process of the controller, processors and their time.

use std::collections::HashMap;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::facts::{ListenerFacts, MachineFacts, ProcessFacts};

/// The state of a socket that listens, in the kernel's tables.
const LISTENS: &str = "0A";

/// Processes that are looked at for the sockets that they have open.
const PROCESSES_MAX: usize = 20_000;

/// Threads of the controller that are looked at.
const THREADS_MAX: usize = 1024;

/// Bytes of a file of the kernel that are read.
const FILE_MAX: usize = 16 * 1024 * 1024;

/// What is counted, at the begin of the time that is watched.
#[derive(Clone, Debug)]
pub(super) struct Begin {
    at: Instant,
    /// The process of the controller.
    pid: Option<u32>,
    cpu: Option<CpuTime>,
    throttled_us: Option<u64>,
    waited_ns: Option<u64>,
}

/// The time of all processors together, in ticks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct CpuTime {
    all: u64,
    stolen: u64,
}

/// Counts at the begin. The controller is the process that listens on this port.
pub(super) fn begin(http_port: Option<u16>) -> Begin {
    let listeners = http_port.map(|port| (port, listeners()));
    let pid = listeners.and_then(|(port, listeners)| {
        let listener = listeners.into_iter().find(|listener| listener.port == port)?;
        listener.process.map(|(pid, _)| pid)
    });
    Begin {
        at: Instant::now(),
        pid,
        cpu: cpu_time(&file("/proc/stat")),
        throttled_us: throttled_us(pid),
        waited_ns: pid.and_then(waited_ns),
    }
}

/// What the kernel says now.
pub(super) fn machine(begin: &Begin) -> MachineFacts {
    let listeners = listeners();
    let watched_s = begin.at.elapsed().as_secs_f64().max(0.001);
    let part_of = |before: Option<u64>, now: Option<u64>, per_s: f64| {
        let (before, now) = before.zip(now)?;
        Some(now.saturating_sub(before) as f64 / per_s / watched_s)
    };
    let (governor, frequency) = frequency(Path::new("/sys/devices/system/cpu"));
    let clock = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = cpu_time(&file("/proc/stat"));
    MachineFacts {
        process: begin.pid.map(|pid| process(pid, &listeners)),
        listeners,
        stolen: begin.cpu.zip(now).map(|(begin, now)| part(begin, now)),
        throttled: part_of(begin.throttled_us, throttled_us(begin.pid), 1e6),
        waited: part_of(begin.waited_ns, begin.pid.and_then(waited_ns), 1e9),
        governor,
        frequency,
        clock_s: Some(clock.map_or(0.0, |since| since.as_secs_f64())),
    }
}

/// Nanoseconds for which the threads of a process were ready and waited for a processor.
fn waited_ns(pid: u32) -> Option<u64> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    let waited = |account: String| account.split_whitespace().nth(1)?.parse::<u64>().ok();
    let all = threads.take(THREADS_MAX).flatten();
    Some(all.filter_map(|thread| waited(file(thread.path().join("schedstat")))).sum())
}

/// A file of the kernel; empty where it cannot be read.
fn file(path: impl AsRef<Path>) -> String {
    let mut text = fs::read(path).unwrap_or_default();
    text.truncate(FILE_MAX);
    String::from_utf8_lossy(&text).into_owned()
}

/// The first line of `/proc/stat`: user, nice, system, idle, iowait, irq, softirq, steal; what
/// guests had is in user time already.
fn cpu_time(stat: &str) -> Option<CpuTime> {
    let fields = stat.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Vec<u64> =
        fields.split_whitespace().take(8).map_while(|field| field.parse().ok()).collect();
    Some(CpuTime { all: ticks.iter().sum(), stolen: *ticks.get(7)? })
}

/// The part of the time between two moments that was stolen.
fn part(begin: CpuTime, now: CpuTime) -> f64 {
    let all = now.all.saturating_sub(begin.all);
    let stolen = now.stolen.saturating_sub(begin.stolen);
    if all == 0 { 0.0 } else { stolen as f64 / all as f64 }
}

/// Microseconds for which the control group of a process, or else of this one, was held back by a
/// quota.
fn throttled_us(pid: Option<u32>) -> Option<u64> {
    let own = match pid {
        Some(pid) => file(format!("/proc/{pid}/cgroup")),
        None => file("/proc/self/cgroup"),
    };
    let paths = quota_files(&own);
    throttled(&paths.iter().map(file).find(|text| text.contains("throttled"))?)
}

/// The files that may say how the quota of a control group acts, by what a process says of its
/// groups: version 2, where all is one tree, and version 1, where the processors have one of their
/// own. In a container the path may be that of the host, and its own group is the root.
fn quota_files(own: &str) -> Vec<PathBuf> {
    let of = |line: &str| {
        let (controllers, folder) = line.split_once(':')?.1.split_once(":/")?;
        let root = match controllers {
            "" => "/sys/fs/cgroup",
            _ if controllers.split(',').any(|name| name == "cpu") => "/sys/fs/cgroup/cpu",
            _ => return None,
        };
        Some([Path::new(root).join(folder).join("cpu.stat"), Path::new(root).join("cpu.stat")])
    };
    own.lines().filter_map(of).flatten().collect()
}

/// Microseconds, of version 2, or of version 1, which counts nanoseconds.
fn throttled(stat: &str) -> Option<u64> {
    let of = |name| stat.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    of("throttled_usec ").or_else(|| of("throttled_time ").map(|ns: u64| ns / 1000))
}

/// The governor that all processors have, and the frequency of the first as a part of its highest.
fn frequency(cpus: &Path) -> (Option<String>, Option<f64>) {
    let of = |name: &str| file(cpus.join("cpu0/cpufreq").join(name)).trim().to_owned();
    let number = |name: &str| of(name).parse::<f64>().ok();
    let part = number("scaling_cur_freq").zip(number("cpuinfo_max_freq"));
    let part = part.filter(|(_, most)| *most > 0.0).map(|(now, most)| now / most);
    (Some(of("scaling_governor")).filter(|name| !name.is_empty()), part)
}

/// Sockets that listen, with their processes where these can be seen.
fn listeners() -> Vec<ListenerFacts> {
    let mut found: Vec<(IpAddr, u16, u64)> = Vec::new();
    // The kernel hands a table out in pieces, and misses a socket that moves meanwhile, as others
    // come and go: two readings are united.
    for table in ["/proc/net/tcp", "/proc/net/tcp6"].repeat(2) {
        found.extend(file(table).lines().skip(1).filter_map(listener));
    }
    found.sort_unstable();
    found.dedup();
    let owners = owners(&found.iter().map(|(.., inode)| *inode).collect::<Vec<_>>());
    let facts = found.into_iter().map(|(address, port, inode)| ListenerFacts {
        address,
        port,
        process: owners
            .get(&inode)
            .map(|pid| (*pid, file(format!("/proc/{pid}/comm")).trim().to_owned())),
    });
    facts.collect()
}

/// A line of `/proc/net/tcp`, where its socket listens: address, port and inode.
fn listener(line: &str) -> Option<(IpAddr, u16, u64)> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let (address, port) = fields.get(1)?.split_once(':')?;
    if *fields.get(3)? != LISTENS {
        return None;
    }
    let port = u16::from_str_radix(port, 16).ok()?;
    Some((ip(address)?, port, fields.get(9)?.parse().ok()?))
}

/// An address as the kernel prints it: words of four bytes, each in the order of the machine.
fn ip(text: &str) -> Option<IpAddr> {
    let word = |at: usize| {
        let word = u32::from_str_radix(text.get(at * 8..at * 8 + 8)?, 16).ok()?;
        Some(u32::from_be_bytes(word.to_ne_bytes()))
    };
    match text.len() {
        8 => word(0).map(|word| Ipv4Addr::from(word).into()),
        32 => {
            let words = [word(0)?, word(1)?, word(2)?, word(3)?].map(u128::from);
            let all = words.iter().fold(0, |all, word| all << 32 | word);
            Some(Ipv6Addr::from(all).into())
        }
        _ => None,
    }
}

/// Which processes have these sockets open, as far as this user may see that.
fn owners(inodes: &[u64]) -> HashMap<u64, u32> {
    let names: HashMap<PathBuf, u64> =
        inodes.iter().map(|inode| (format!("socket:[{inode}]").into(), *inode)).collect();
    let mut owners = HashMap::new();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    for pid in pids.take(PROCESSES_MAX) {
        let files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        for target in files.filter_map(|file| fs::read_link(file.path()).ok()) {
            if let Some(inode) = names.get(&target) {
                owners.insert(*inode, pid);
            }
        }
        if owners.len() == names.len() {
            break;
        }
    }
    owners
}

/// What the kernel says of a process.
fn process(pid: u32, listeners: &[ListenerFacts]) -> ProcessFacts {
    let files = fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count);
    let limits = file(format!("/proc/{pid}/limits"));
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    let soft = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    let own = listeners
        .iter()
        .filter(|listener| listener.process.as_ref().is_some_and(|(owner, _)| *owner == pid));
    ProcessFacts {
        pid,
        files,
        files_max: soft.unwrap_or(usize::MAX),
        ports: own.map(|listener| listener.port).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn a_socket_that_listens_is_found_with_its_process() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let machine = machine(&begin(Some(port)));
        let process = machine.process.unwrap();
        assert_eq!(process.pid, std::process::id());
        assert!(process.ports.contains(&port));
        assert!(process.files > 2 && process.files < process.files_max);
        let found = machine.listeners.iter().find(|found| found.port == port).unwrap();
        assert_eq!(found.address, "127.0.0.1".parse::<IpAddr>().unwrap());
        assert!(machine.stolen.is_some_and(|part| (0.0..=1.0).contains(&part)));
    }

    #[test]
    fn threads_that_wait_for_a_processor_are_counted() {
        let begin = begin(None);
        let begin = Begin { pid: Some(std::process::id()), waited_ns: Some(0), ..begin };
        assert!(waited_ns(std::process::id()).is_some());
        assert!(machine(&begin).waited.is_some_and(|part| part >= 0.0));
    }

    #[test]
    fn a_quota_and_a_frequency_are_read() {
        assert_eq!(throttled("usage_usec 7\nthrottled_usec 1234\nnr_bursts 0\n"), Some(1234));
        assert_eq!(throttled("nr_throttled 3\nthrottled_time 1234567\n"), Some(1234));
        assert_eq!(throttled("usage_usec 7\n"), None);
        let own = "12:cpuset:/a\n7:cpu,cpuacct:/docker/b\n0::/c/d.service\nodd";
        let files = quota_files(own).into_iter().map(|path| path.display().to_string());
        let wanted = [
            "/sys/fs/cgroup/cpu/docker/b/cpu.stat",
            "/sys/fs/cgroup/cpu/cpu.stat",
            "/sys/fs/cgroup/c/d.service/cpu.stat",
            "/sys/fs/cgroup/cpu.stat",
        ];
        assert_eq!(files.collect::<Vec<_>>(), wanted);
        let name = format!("aldis-doctor-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let cpu = folder.join("cpu0/cpufreq");
        fs::create_dir_all(&cpu).unwrap();
        assert_eq!(frequency(&folder), (None, None));
        for (name, text) in [
            ("scaling_governor", "powersave\n"),
            ("scaling_cur_freq", "800000\n"),
            ("cpuinfo_max_freq", "3200000\n"),
        ] {
            fs::write(cpu.join(name), text).unwrap();
        }
        assert_eq!(frequency(&folder), (Some("powersave".into()), Some(0.25)));
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn addresses_of_the_kernel_are_read() {
        if cfg!(target_endian = "little") {
            assert_eq!(ip("0100007F"), "127.0.0.1".parse().ok());
            assert_eq!(ip("00000000000000000000000001000000"), "::1".parse().ok());
        }
        for odd in ["", "0100007", "zz00007F", "€€€"] {
            assert_eq!(ip(odd), None, "{odd}");
        }
    }

    #[test]
    fn time_that_was_stolen_is_a_part_of_all() {
        let of = |text| cpu_time(text).unwrap();
        let begin = of("cpu  10 0 10 80 0 0 0 0 0 0\ncpu0 …");
        assert_eq!(part(begin, of("cpu  10 0 10 130 0 0 0 50 0 0")), 0.5);
        assert_eq!(part(begin, begin), 0.0);
        assert_eq!(cpu_time("cpu  1 2 3"), None);
    }
}
