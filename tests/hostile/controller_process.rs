//! The attackers' view of the controller: where it listens, what it says, what it holds.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::WITHIN;
use crate::served::{SETTINGS, Said, Settings, State};

/// Memory that may stay in use after an attack: room in lists and tables that were longer for a
/// while.
const HEAP_SLACK: usize = 1024 * 1024;

/// Physical memory that may stay with the process: what its allocator keeps for the next time.
const RESIDENT_SLACK: usize = 16 * 1024 * 1024;

/// A controller in a process of its own, which ends with this.
pub(crate) struct Controller {
    process: Child,
    stdin: Option<ChildStdin>,
    address: SocketAddr,
    heard: Arc<Heard>,
}

/// What the controller said and was not asked for yet.
#[derive(Default)]
struct Heard {
    news: Mutex<News>,
    more: Condvar,
}

#[derive(Default)]
struct News {
    listening: Option<SocketAddr>,
    up: HashSet<SocketAddr>,
    ended: HashMap<SocketAddr, String>,
    ends: usize,
    state: Option<State>,
}

impl Heard {
    fn note(&self, said: Said) {
        let mut news = self.news.lock().expect("no panic while it is held");
        match said {
            Said::Listening(address) => news.listening = Some(address),
            Said::Up(peer) => drop(news.up.insert(peer)),
            Said::Ended(peer, why) => {
                news.ends += 1;
                news.ended.insert(peer, why);
            }
            Said::State(state) => news.state = Some(state),
            Said::Other(_) => {}
        }
        self.more.notify_all();
    }

    /// Waits until `ask` finds what it looks for.
    fn wait<T>(
        &self,
        what: &str,
        within: Duration,
        mut ask: impl FnMut(&mut News) -> Option<T>,
    ) -> T {
        let deadline = Instant::now() + within;
        let mut news = self.news.lock().expect("no panic while it is held");
        loop {
            if let Some(found) = ask(&mut news) {
                return found;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                drop(news);
                panic!("the controller did not say {what} within {within:?}");
            }
            news = self.more.wait_timeout(news, left).expect("no panic while it is held").0;
        }
    }
}

impl Controller {
    /// Starts a controller and waits until it listens.
    pub(crate) fn start(settings: Settings) -> Controller {
        let program = std::env::current_exe().expect("this program");
        let mut process = Command::new(program)
            .args(["--exact", "controller", "--nocapture"])
            .env(SETTINGS, settings.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("this program starts again");
        let lines = BufReader::new(process.stdout.take().expect("piped")).lines();
        let heard = Arc::new(Heard::default());
        let listener = Arc::clone(&heard);
        std::thread::spawn(move || {
            lines.map_while(Result::ok).for_each(|line| listener.note(Said::read(&line)));
        });
        let address = heard.wait("where it listens", WITHIN, |news| news.listening);
        Controller { stdin: process.stdin.take(), process, address, heard }
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The process gets no time of its machine for so long.
    pub(crate) fn is_away_for(&self, time: Duration) {
        let pid = Pid::from_child(&self.process);
        kill_process(pid, Signal::STOP).expect("it runs");
        std::thread::sleep(time);
        kill_process(pid, Signal::CONT).expect("it runs");
    }

    /// It runs a sixtieth of the time, until what is returned is dropped.
    pub(crate) fn slowed(&self) -> Slowed {
        let pid = Pid::from_child(&self.process);
        let over = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&over);
        let thread = std::thread::spawn(move || {
            while !seen.load(Ordering::Relaxed) {
                kill_process(pid, Signal::STOP).expect("it runs");
                std::thread::sleep(Duration::from_millis(59));
                kill_process(pid, Signal::CONT).expect("it runs");
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        Slowed { over, thread: Some(thread) }
    }

    /// Waits until the connection from `peer` has a switch behind it.
    pub(crate) fn await_up(&self, peer: SocketAddr) {
        self.heard.wait("that a switch is up", WITHIN, |news| news.up.remove(&peer).then_some(()));
    }

    /// Waits until the connection from `peer` has ended: the reason.
    pub(crate) fn await_end(&self, peer: SocketAddr) -> String {
        self.await_end_within(peer, WITHIN)
    }

    /// The same with a patience of its own.
    pub(crate) fn await_end_within(&self, peer: SocketAddr, within: Duration) -> String {
        let why =
            self.heard.wait("why a connection ended", within, |news| news.ended.remove(&peer));
        assert!(!why.is_empty() && !why.contains('\n'), "{why:?}");
        why
    }

    /// Waits until so many connections have ended since the start. The one wait for many: it may
    /// take longer.
    pub(crate) fn await_ends(&self, count: usize) {
        let what = format!("that {count} connections ended");
        self.heard.wait(&what, 3 * WITHIN, |news| (news.ends >= count).then_some(()));
    }

    /// How many connections have ended since the start.
    pub(crate) fn ends(&self) -> usize {
        self.heard.wait("anything", WITHIN, |news| Some(news.ends))
    }

    /// What it holds now.
    pub(crate) fn state(&mut self) -> State {
        let stdin = self.stdin.as_mut().expect("open until the end");
        stdin.write_all(b"?\n").expect("the controller runs");
        self.heard.wait("its state", WITHIN, |news| news.state.take())
    }

    /// Waits until the controller comes back to what it held `before`, and fails where it does not.
    pub(crate) fn expect_as_before(&mut self, before: State) {
        let deadline = Instant::now() + WITHIN;
        loop {
            let after = self.state();
            if after.descriptors <= before.descriptors
                && after.heap <= before.heap + HEAP_SLACK
                && after.resident <= before.resident + RESIDENT_SLACK
            {
                return;
            }
            assert!(Instant::now() < deadline, "{before:?} before, {after:?} after");
        }
    }
}

/// A controller is slow as long as this lasts.
pub(crate) struct Slowed {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Slowed {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let deadline = Instant::now() + WITHIN;
        while Instant::now() < deadline {
            if let Ok(Some(_)) = self.process.try_wait() {
                return;
            }
            std::thread::yield_now();
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
