//! The `aldis` command as a person starts it, ended with the test.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, prlimit};

/// Longer than anything here takes on a machine that is busy with other things.
pub const WITHIN: Duration = Duration::from_secs(30);

/// The `aldis` command: that of `ALDIS=target/release/aldis`, which another build is measured by;
/// or else the one that Cargo built for the tests, whose path it tells them, and which lies two
/// folders above a test that is started without Cargo.
///
/// # Panics
/// Where the path of this process is not known.
pub fn program() -> OsString {
    let told = ["ALDIS", "CARGO_BIN_EXE_aldis"].into_iter().find_map(std::env::var_os);
    told.unwrap_or_else(|| {
        let test = std::env::current_exe().expect("this program has a path");
        let folder = test.ancestors().nth(2).expect("a test lies in target/PROFILE/deps");
        folder.join("aldis").into_os_string()
    })
}

fn aldis(args: &[&str]) -> Command {
    let mut command = Command::new(program());
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// What a command says that is wrong itself, or its configuration: nothing is begun.
///
/// # Panics
/// Where it is not refused.
pub fn refused(args: &[&str]) -> String {
    sentence(args, 2)
}

/// What a command says that fails in what it was asked.
///
/// # Panics
/// Where it does not fail.
pub fn failed(args: &[&str]) -> String {
    sentence(args, 1)
}

fn sentence(args: &[&str], code: i32) -> String {
    let Output { status, stdout, stderr } = aldis(args).output().unwrap();
    assert_eq!(status.code(), Some(code), "{args:?}");
    assert!(stdout.is_empty());
    String::from_utf8(stderr).unwrap()
}

/// A controller that is ended with the test.
pub struct Running {
    child: Child,
    /// What it said before it listened, that line included.
    pub said: Vec<String>,
    /// Where switches connect: `127.0.0.1:PORT`.
    pub address: String,
    lines: Receiver<String>,
    out: Lines<BufReader<ChildStdout>>,
}

impl Running {
    /// Starts it with these arguments, and waits until it listens.
    pub fn start(args: &[&str]) -> Running {
        // Tests run beside each other: one that wants HTTP takes any port that is free.
        let http = if args.contains(&"--http") { &[][..] } else { &["--http", "off"] };
        Running::of(aldis(&[&["run", "--listen", "127.0.0.1:0"], http, args].concat()))
    }

    /// One that a full disk says so instead of ending it: the limit of its files is its disk.
    pub fn start_with_limited_files(args: &[&str]) -> Running {
        let plain = aldis(&[&["run", "--listen", "127.0.0.1:0"], args].concat());
        let mut shell = Command::new("sh");
        shell.args(["-c", "trap '' XFSZ && exec \"$0\" \"$@\""]).arg(plain.get_program());
        shell.args(plain.get_args());
        shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Running::of(shell)
    }

    /// One that alone sees this folder as a file system in memory of so many KiB: needs root.
    pub fn start_in_memory_of(folder: &str, kib: usize, args: &[&str]) -> Running {
        let plain = aldis(&[&["run", "--listen", "127.0.0.1:0"], args].concat());
        let mut unshare = Command::new("unshare");
        let script = "mount -t tmpfs -o \"size=$1k\" tmpfs \"$0\" && shift && exec \"$@\"";
        unshare.args(["--mount", "sh", "-c", script, folder, &kib.to_string()]);
        unshare.arg(plain.get_program()).args(plain.get_args());
        unshare.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Running::of(unshare)
    }

    /// A file as it sees it.
    pub fn sees(&self, file: &str) -> String {
        format!("/proc/{}/root{file}", self.child.id())
    }

    /// Files longer than this it cannot write from now on, or any.
    pub fn limit_files(&self, to: Option<u64>) {
        let pid = Pid::from_child(&self.child);
        let limit = Rlimit { current: to, maximum: getrlimit(Resource::Fsize).maximum };
        prlimit(Some(pid), Resource::Fsize, limit).unwrap();
    }

    /// From now on it gets so many bytes of addresses beyond those that it has, or any.
    pub fn limit_memory(&self, more: Option<u64>) {
        let pid = Pid::from_child(&self.child);
        let pages = std::fs::read_to_string(format!("/proc/{}/statm", self.child.id())).unwrap();
        let pages: u64 = pages.split(' ').next().unwrap().parse().unwrap();
        let has = pages * rustix::param::page_size() as u64;
        let limit = more.map(|more| has + more);
        let limit = Rlimit { current: limit, maximum: getrlimit(Resource::As).maximum };
        prlimit(Some(pid), Resource::As, limit).unwrap();
    }

    fn of(mut command: Command) -> Running {
        let mut child = command.spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut said = Vec::new();
        while !said.iter().any(|line: &String| line.starts_with("Listening")) {
            said.push(lines.next().expect("it ended before it listened").unwrap());
        }
        let words = |line: &String| {
            line.split(' ').find(|word| word.starts_with("127.")).map(str::to_owned)
        };
        let address = said.last().and_then(words).unwrap();
        // What it says later is read away, so that it never waits for us.
        let (sender, receiver) = channel();
        std::thread::spawn(move || {
            lines.map_while(Result::ok).for_each(|line| drop(sender.send(line)));
        });
        Running { child, said, address, lines: receiver, out }
    }

    /// The next line of its log that holds these words.
    pub fn says(&mut self, words: &str) -> String {
        let deadline = Instant::now() + WITHIN;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left);
            let line =
                line.unwrap_or_else(|_| panic!("it did not say \"{words}\" within {WITHIN:?}"));
            if line.contains(words) {
                return line;
            }
        }
    }

    /// The names of its threads, 15 letters at most.
    pub fn threads(&self) -> Vec<String> {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap();
        let names = tasks.flatten().map(|task| std::fs::read_to_string(task.path().join("comm")));
        names.flatten().map(|name| name.trim_end().to_owned()).collect()
    }

    /// How the kernel schedules the threads of this name, by the numbers of `sched(7)`.
    pub fn policies(&self, thread: &str) -> Vec<u32> {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap();
        let stats = tasks.flatten().map(|task| std::fs::read_to_string(task.path().join("stat")));
        // Of proc_pid_stat(5) the second field is the name, the 41st the policy.
        let policy = |stat: String| {
            let (before, fields) = stat.rsplit_once(") ")?;
            let (_, name) = before.split_once('(')?;
            (name == thread).then(|| fields.split(' ').nth(38)?.parse().ok())?
        };
        stats.flatten().filter_map(policy).collect()
    }

    /// Bytes of physical memory that it has.
    pub fn memory(&self) -> usize {
        let pages = std::fs::read_to_string(format!("/proc/{}/statm", self.child.id())).unwrap();
        let pages = pages.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok());
        pages.unwrap() * rustix::param::page_size()
    }

    /// The next line of its standard output.
    pub fn line_out(&mut self) -> String {
        self.out.next().expect("it ended").unwrap()
    }

    /// Sends it a signal, in the words of `kill`: `-HUP`.
    pub fn signal(&mut self, signal: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
    }

    /// Has it run a quarter of the time at most, so that it is slower than any load, until what is
    /// returned is dropped.
    pub fn slowed(&self) -> Slowed {
        let pid = Pid::from_child(&self.child);
        let over = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&over);
        let thread = std::thread::spawn(move || {
            while !seen.load(Ordering::Relaxed) {
                kill_process(pid, Signal::STOP).unwrap();
                std::thread::sleep(Duration::from_millis(3));
                kill_process(pid, Signal::CONT).unwrap();
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        Slowed { over, thread: Some(thread) }
    }

    /// The exit code after a signal.
    pub fn end(&mut self, signal: &str) -> Option<i32> {
        self.signal(signal);
        let deadline = Instant::now() + WITHIN;
        while Instant::now() < deadline {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            std::thread::yield_now();
        }
        panic!("it did not stop on {signal} within {WITHIN:?}");
    }
}

/// Ends with it.
pub struct Slowed {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Slowed {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
