//! A controller as a child process: started on cores of its own, found at its port, ended with all
//! that it started.

use super::folder::RunFolder;
use super::launcher;
use crate::plan::expand::{PlanPoint, PointSubject};
use crate::plan::{ControllerCommand, OURS};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::io::{BufRead, BufReader, Read};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a controller of ours may take until it listens: on a machine that is busy with other
/// things.
const READY_WITHIN: Duration = Duration::from_secs(30);

/// How long a controller may take to end when it is asked to; then it is killed.
const END_WITHIN: Duration = Duration::from_secs(5);

/// How long a check may take whether a controller is installed.
const PRESENT_WITHIN: Duration = Duration::from_secs(20);

/// The longest last words that are passed on, in bytes.
const LAST_WORDS_MAX: usize = 300;

/// How often is looked whether something has happened.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// A controller that runs. It ends when dropped.
pub(super) struct ControllerProcess {
    child: Child,
    /// Where it listens.
    pub(super) address: SocketAddr,
    /// Where it writes its counters, if it is Aldis.
    pub(super) stats: Option<PathBuf>,
    last_words: Arc<Mutex<String>>,
    /// Its files go with it.
    _folder: RunFolder,
}

impl ControllerProcess {
    /// Starts the subject of `point` on the cores `on`. `aldis` is our own program.
    ///
    /// # Errors
    /// It could not be started, did not listen in time, or ended before: a sentence without the
    /// plan and the point.
    pub(super) fn start(
        aldis: &Path,
        point: &PlanPoint,
        poll: bool,
        on: &[usize],
    ) -> Result<ControllerProcess, String> {
        let folder = RunFolder::new().map_err(|error| format!("cannot make a folder: {error}"))?;
        match &point.subject {
            PointSubject::Design(design) => {
                let stats = folder.path().join("stats.json");
                let mut command = Command::new(aldis);
                command.args(["run", "--listen", "127.0.0.1:0", "--http", "off", "--log", "error"]);
                // The papers' setting.
                command.args(["--apps", "learning-switch"]);
                command.args(["--workers", &point.workers.to_string(), "--design", design.name]);
                for setting in &point.settings {
                    command.args(["--set", setting]);
                }
                command.arg("--stats").arg(&stats);
                if poll {
                    command.arg("--poll");
                }
                ControllerProcess::ours(launcher::command(aldis, &command, on), folder, Some(stats))
            }
            PointSubject::Null => {
                let mut command = Command::new(aldis);
                command.args(["bench", "null", "--listen", "127.0.0.1:0"]);
                command.args(["--threads", &point.workers.to_string()]);
                ControllerProcess::ours(launcher::command(aldis, &command, on), folder, None)
            }
            PointSubject::Foreign(controller) => {
                ControllerProcess::foreign(controller, point.workers, folder, (aldis, on))
            }
        }
    }

    /// Ours say on stderr where they listen.
    fn ours(
        command: Command,
        folder: RunFolder,
        stats: Option<PathBuf>,
    ) -> Result<ControllerProcess, String> {
        let name = command.get_program().to_string_lossy().into_owned();
        let (child, last_words, lines) =
            spawn(command).map_err(|error| format!("{name} could not be started: {error}"))?;
        let nowhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let mut running =
            ControllerProcess { child, address: nowhere, stats, last_words, _folder: folder };
        let deadline = Instant::now() + READY_WITHIN;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match lines.recv_timeout(left) {
                Ok(line) => {
                    if let Some(address) = address_in(&line) {
                        running.address = address;
                        return Ok(running);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(format!("it ended before it listened{}", running.end_words()));
                }
                Err(RecvTimeoutError::Timeout) => {
                    return Err(format!("it did not say within {READY_WITHIN:?} where it listens"));
                }
            }
        }
    }

    /// Others are told a port, and it is tried until something listens there.
    fn foreign(
        controller: &ControllerCommand,
        workers: usize,
        folder: RunFolder,
        (aldis, on): (&Path, &[usize]),
    ) -> Result<ControllerProcess, String> {
        for (name, text) in &controller.files {
            std::fs::write(folder.path().join(name), text)
                .map_err(|error| format!("cannot write {name} for it: {error}"))?;
        }
        let port = free_port().map_err(|error| format!("there is no free port: {error}"))?;
        let fill = |word: &String| {
            let folder = folder.path().display().to_string();
            let word = word.replace(OURS, &aldis.display().to_string());
            let word = word.replace("{port}", &port.to_string());
            word.replace("{workers}", &workers.to_string()).replace("{folder}", &folder)
        };
        let words: Vec<String> = controller.command.iter().map(fill).collect();
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        let (child, last_words, _) = spawn(launcher::command(aldis, &command, on))
            .map_err(|error| format!("{} could not be started: {error}", words.join(" ")))?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let mut running =
            ControllerProcess { child, address, stats: None, last_words, _folder: folder };
        let within = Duration::from_secs(controller.ready_within_s.into());
        let deadline = Instant::now() + within;
        while TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_err() {
            if running.has_ended() {
                return Err(format!("it ended before it listened{}", running.end_words()));
            }
            if Instant::now() >= deadline {
                return Err(format!(
                    "nothing accepted a connection at {address} within {within:?}{}",
                    running.end_words()
                ));
            }
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(running)
    }

    /// Its process.
    pub(super) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Whether it is gone.
    pub(super) fn has_ended(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)) | Err(_))
    }

    /// How it ended, as far as it did, and what it said last.
    pub(super) fn end_words(&mut self) -> String {
        let status = match self.child.try_wait() {
            Ok(Some(status)) => format!(" with {status}"),
            _ => String::new(),
        };
        let last = self.last_words.lock().unwrap_or_else(PoisonError::into_inner);
        match last.trim() {
            "" => status,
            last => format!("{status}; its last words: {last}"),
        }
    }
}

impl Drop for ControllerProcess {
    fn drop(&mut self) {
        let pid = self.pid();
        let _ = kill_process_group(pid, Signal::TERM);
        let deadline = Instant::now() + END_WITHIN;
        while !self.has_ended() && Instant::now() < deadline {
            std::thread::sleep(LOOK_EVERY);
        }
        // What it may have left in its group goes too.
        let _ = kill_process_group(pid, Signal::KILL);
        let _ = self.child.wait();
    }
}

/// Ends a controller at once, from another thread than the one that has it.
pub(super) fn kill(pid: Pid) {
    let _ = kill_process_group(pid, Signal::KILL);
}

/// Asks Aldis for its counters.
pub(super) fn ask_for_counters(pid: Pid) {
    let _ = kill_process(pid, Signal::USR1);
}

/// Whether a controller of another project is here.
///
/// # Errors
/// The sentence that says that it is not, and how to have it.
pub(super) fn present(controller: &ControllerCommand) -> Result<(), String> {
    let missing = |why: String| {
        let ControllerCommand { name, install, .. } = controller;
        format!("{name} is not measured: {why}; install it with: {install}")
    };
    let program = &controller.command[0];
    if program != OURS && !is_program(program) {
        return Err(missing(format!("there is no program {program}")));
    }
    let Some((check, args)) = controller.present.split_first() else { return Ok(()) };
    let mut command = Command::new(check);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| missing(format!("{check}: {error}")))?;
    let deadline = Instant::now() + PRESENT_WITHIN;
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(None) if Instant::now() < deadline => std::thread::sleep(LOOK_EVERY),
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(missing(format!("`{}` fails", controller.present.join(" "))));
            }
        }
    }
}

fn is_program(name: &str) -> bool {
    if name.contains('/') {
        return Path::new(name).is_file();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
}

/// The child, what it said last on stderr, and its lines as they come. It has a process group of
/// its own, so that Ctrl-C on a terminal reaches us alone, and we end it then. This thread starts
/// it, which lives as long as the run: see `launcher.rs`.
fn spawn(mut command: Command) -> std::io::Result<(Child, Arc<Mutex<String>>, Receiver<String>)> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn()?;
    let last_words = Arc::new(Mutex::new(String::new()));
    let (sender, lines) = channel();
    if let Some(stderr) = child.stderr.take() {
        let last = Arc::clone(&last_words);
        std::thread::spawn(move || {
            let mut stderr = BufReader::new(stderr);
            let mut line = Vec::new();
            // A line is bounded: what comes from outside may have no end.
            while let Ok(1..) =
                stderr.by_ref().take(LAST_WORDS_MAX as u64).read_until(b'\n', &mut line)
            {
                let said = String::from_utf8_lossy(&line).trim_end().to_owned();
                line.clear();
                if !said.is_empty() {
                    last.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&said);
                    let _ = sender.send(said);
                }
            }
        });
    }
    Ok((child, last_words, lines))
}

/// The address in a line that ours say: `… on 127.0.0.1:40001; …`.
fn address_in(line: &str) -> Option<SocketAddr> {
    let words = line.split([' ', ';', ',']);
    words.filter(|word| word.starts_with("127.0.0.1:")).find_map(|word| word.parse().ok())
}

/// A port that was free a moment ago.
fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_found_in_what_ours_say() {
        for line in [
            "Listening for switches on 127.0.0.1:40001 (OpenFlow 1.0 and 1.3)",
            "the null controller listens on 127.0.0.1:40001; Ctrl-C ends it",
        ] {
            assert_eq!(address_in(line), Some(SocketAddr::from((Ipv4Addr::LOCALHOST, 40001))));
        }
        assert_eq!(address_in("Aldis 0.1.0: 2 workers on 2 cores"), None);
    }
}
