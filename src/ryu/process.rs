//! The process of the applications: started, listened to, and started again where it ends.

use std::env;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tracing::{info, warn};

/// Between the end of the process and its next start; twice as long each time.
const AGAIN_FIRST: Duration = Duration::from_millis(500);

/// The longest of these pauses.
const AGAIN_MAX: Duration = Duration::from_secs(30);

/// A process that ran so long begins with the shortest pause.
const RAN_WELL: Duration = Duration::from_secs(60);

/// What it is given to end by itself.
const END_WITHIN: Duration = Duration::from_secs(3);

/// How often it is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Bytes of one line of its log; longer ones are cut.
const LINE_MAX: u64 = 4096;

/// The time that Python may take to say whether it has the package.
const CHECK_WITHIN: Duration = Duration::from_secs(20);

/// A Python that has the package aldis-ryu.
pub(super) struct Interpreter(PathBuf);

/// The process, with the thread that looks after it.
pub(super) struct RyuProcess {
    stop: Sender<()>,
    thread: JoinHandle<()>,
}

impl Interpreter {
    /// The one that was named, that of the active virtual environment, or the system's.
    ///
    /// # Errors
    /// It cannot be run, or lacks the package.
    pub(super) fn find(named: Option<PathBuf>) -> Result<Interpreter, String> {
        let active =
            || env::var_os("VIRTUAL_ENV").map(|root| PathBuf::from(root).join("bin/python3"));
        let python = named.or_else(active).unwrap_or_else(|| "python3".into());
        let name = python.display().to_string();
        let mut child = Command::new(&python)
            .args([
                "-c",
                "import importlib.util as u; raise SystemExit(u.find_spec('aldis_ryu') is None)",
            ])
            .stdin(Stdio::null())
            .spawn()
            .map_err(|error| format!("{name}: cannot be run: {error}"))?;
        match end_of(&mut child, CHECK_WITHIN) {
            Some(status) if status.success() => Ok(Interpreter(python)),
            Some(_) => Err(format!(
                "{name} has no package aldis-ryu: \"python3 -m venv ryu && ryu/bin/pip install ./sdk/ryu\" in a clone of Aldis, \
                 and --python ryu/bin/python"
            )),
            None => {
                let _ = child.kill();
                Err(format!("{name} does not answer"))
            }
        }
    }

    /// Starts the applications with these words.
    pub(super) fn start(self, words: Vec<String>) -> RyuProcess {
        let (stop, stopped) = mpsc::channel();
        let thread = thread::spawn(move || self.keep(&words, &stopped));
        RyuProcess { stop, thread }
    }

    fn keep(&self, words: &[String], stopped: &Receiver<()>) {
        let mut pause = AGAIN_FIRST;
        loop {
            let began = Instant::now();
            let why = match self.begin(words) {
                Ok(child) => match until_end(child, stopped) {
                    Some(status) => format!("it ended: {status}"),
                    None => return,
                },
                Err(error) => format!("it cannot be started: {error}"),
            };
            if began.elapsed() > RAN_WELL {
                pause = AGAIN_FIRST;
            }
            warn!("ryu: {why}; it is started again in {:.1} s", pause.as_secs_f32());
            if stopped.recv_timeout(pause) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            pause = (pause * 2).min(AGAIN_MAX);
        }
    }

    fn begin(&self, words: &[String]) -> std::io::Result<Child> {
        let mut command = Command::new(&self.0);
        command.args(["-u", "-m", "aldis_ryu"]).args(words);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        if let Some(out) = child.stdout.take() {
            thread::spawn(move || tell(out));
        }
        if let Some(error) = child.stderr.take() {
            thread::spawn(move || tell(error));
        }
        Ok(child)
    }
}

impl RyuProcess {
    /// Ends the applications.
    pub(super) fn stop(self) {
        drop(self.stop);
        // It ends within a few seconds.
        let _ = self.thread.join();
    }
}

/// Each line is one of the log.
fn tell(from: impl Read) {
    let mut from = BufReader::new(from);
    let mut line = vec![];
    loop {
        line.clear();
        match from.by_ref().take(LINE_MAX).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {
                let text = String::from_utf8_lossy(line.trim_ascii_end());
                // A line of the log stays one, and moves no cursor.
                let text: String = text.chars().filter(|c| !c.is_control()).collect();
                if !text.is_empty() {
                    info!("ryu: {text}");
                }
            }
        }
    }
}

/// How the process ended; nothing where it was to be stopped, and is.
fn until_end(mut child: Child, stopped: &Receiver<()>) -> Option<ExitStatus> {
    loop {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
        if stopped.recv_timeout(LOOK_EVERY) != Err(RecvTimeoutError::Timeout) {
            break;
        }
    }
    let _ = kill_process(Pid::from_child(&child), Signal::TERM);
    if end_of(&mut child, END_WITHIN).is_none() {
        let _ = child.kill();
        let _ = child.wait();
    }
    None
}

/// How it ended, where it did within this time.
fn end_of(child: &mut Child, within: Duration) -> Option<ExitStatus> {
    let by = Instant::now() + within;
    while Instant::now() < by {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
        thread::sleep(LOOK_EVERY);
    }
    None
}
