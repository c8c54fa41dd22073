//! The CPU time of a local controller: whose socket it is, and what that process has used.
//!
//! The total comes from `/proc/PID/task/*/schedstat`, in nanoseconds. User and system time come
//! from `/proc/PID/stat`, whose ticks are 10 ms and whose split between the two is sampled once a
//! tick: over ten seconds it is good to about 1 %, over a fraction of a second it means little. The
//! split is applied to the exact total.

use std::collections::HashSet;
use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

/// `LISTEN` in the fourth column of `/proc/net/tcp`.
const STATE_LISTEN: &str = "0A";

/// A controller on this machine, and what it had used at two instants.
pub(super) struct BenchController {
    pid: u32,
    name: String,
    begin: Option<Used>,
    end: Option<Used>,
}

/// CPU time since a process began.
#[derive(Clone, Copy)]
struct Used {
    total_ns: u64,
    user_ticks: u64,
    system_ticks: u64,
}

/// What it held at one instant.
#[derive(Clone, Copy, Debug)]
pub(super) struct UsageSample {
    /// Memory in use, as the kernel counts it (`VmRSS`).
    pub(super) resident_bytes: u64,
    /// Open file descriptors.
    pub(super) descriptors: usize,
}

/// CPU time between the two instants.
pub(super) struct Usage {
    /// Whose.
    pub(super) pid: u32,
    /// The name of its program.
    pub(super) name: String,
    /// User and system time, in nanoseconds.
    pub(super) total_ns: f64,
    /// User time alone, in nanoseconds.
    pub(super) user_ns: f64,
}

impl BenchController {
    /// The process `pid`.
    pub(super) fn with_pid(pid: u32) -> Result<BenchController, String> {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).map_err(|error| {
            format!("there is no process {pid} to take the CPU time of: {error}")
        })?;
        Ok(BenchController { pid, name: name.trim_end().into(), begin: None, end: None })
    }

    /// The process that listens on `address`, if it is on this machine and ours to look at.
    pub(super) fn listening_on(address: SocketAddr) -> Option<BenchController> {
        if !is_local(address.ip()) {
            return None;
        }
        let inodes = listening_inodes(address.port());
        let pids = fs::read_dir("/proc").ok()?.flatten();
        let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.into_iter()
            .find(|&pid| holds_any(pid, &inodes))
            .and_then(|pid| BenchController::with_pid(pid).ok())
    }

    /// The measurement begins.
    pub(super) fn begin(&mut self) {
        self.begin = used(self.pid);
    }

    /// The measurement ends.
    pub(super) fn end(&mut self) {
        self.end = used(self.pid);
    }

    /// What it holds now; nothing when it is gone.
    pub(super) fn sample(&self) -> Option<UsageSample> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid)).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
        let descriptors = fs::read_dir(format!("/proc/{}/fd", self.pid)).ok()?.count();
        Some(UsageSample { resident_bytes: kib * 1024, descriptors })
    }

    /// What it used in between; nothing when it was gone at either instant.
    pub(super) fn usage(self) -> Option<Usage> {
        let (begin, end) = (self.begin?, self.end?);
        let total_ns = end.total_ns.saturating_sub(begin.total_ns) as f64;
        let user = end.user_ticks.saturating_sub(begin.user_ticks) as f64;
        let system = end.system_ticks.saturating_sub(begin.system_ticks) as f64;
        let share = if user + system > 0.0 { user / (user + system) } else { 0.0 };
        Some(Usage { pid: self.pid, name: self.name, total_ns, user_ns: total_ns * share })
    }
}

/// Whether an address is one of this machine's: one can be bound to it.
fn is_local(address: IpAddr) -> bool {
    address.is_loopback() || std::net::UdpSocket::bind((address, 0)).is_ok()
}

fn listening_inodes(port: u16) -> HashSet<String> {
    let port = format!(":{port:04X}");
    let listens = |line: &str| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let is = columns.get(1)?.ends_with(&port) && *columns.get(3)? == STATE_LISTEN;
        is.then(|| format!("socket:[{}]", columns[9]))
    };
    ["/proc/net/tcp", "/proc/net/tcp6"]
        .iter()
        .filter_map(|table| fs::read_to_string(table).ok())
        .flat_map(|table| table.lines().filter_map(listens).collect::<Vec<_>>())
        .collect()
}

fn holds_any(pid: u32, inodes: &HashSet<String>) -> bool {
    let Ok(descriptors) = fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
    descriptors
        .flatten()
        .filter_map(|descriptor| fs::read_link(descriptor.path()).ok())
        .any(|target| target.to_str().is_some_and(|target| inodes.contains(target)))
}

fn used(pid: u32) -> Option<Used> {
    let process = format!("/proc/{pid}");
    let tasks = fs::read_dir(Path::new(&process).join("task")).ok()?.flatten();
    let total_ns = tasks.filter_map(|task| run_time(&task.path())).sum();
    let stat = fs::read_to_string(Path::new(&process).join("stat")).ok()?;
    // The program's name, in brackets, may hold anything; utime and stime are the 12th and 13th
    // behind it.
    let mut figures = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let user_ticks = figures.next()?.parse().ok()?;
    let system_ticks = figures.next()?.parse().ok()?;
    Some(Used { total_ns, user_ticks, system_ticks })
}

fn run_time(task: &Path) -> Option<u64> {
    fs::read_to_string(task.join("schedstat")).ok()?.split_whitespace().next()?.parse().ok()
}
