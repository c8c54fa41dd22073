//! Running a program of the system, with a deadline and an end to what it may say.

use std::fmt;
use std::io::{ErrorKind, Read};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Bytes of an answer: the flows of a large bridge are some megabytes.
const OUTPUT_MAX: u64 = 16 * 1024 * 1024;

/// How often it is looked whether the program has ended.
const POLL: Duration = Duration::from_millis(4);

/// Why a program said nothing of use.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RunError {
    /// There is none of this name.
    Missing,
    /// It did not end in time, and was ended.
    Late(Duration),
    /// It failed, and said this.
    Failed(String),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Missing => f.write_str("it is not installed"),
            RunError::Late(within) => write!(f, "no answer within {} ms", within.as_millis()),
            RunError::Failed(why) => f.write_str(why),
        }
    }
}

/// What a program prints on its standard output, 16 MiB of it at most, where it ends well and in
/// time.
///
/// # Errors
/// See [`RunError`].
pub fn output(program: &str, args: &[&str], within: Duration) -> Result<String, RunError> {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| match error.kind() {
        ErrorKind::NotFound => RunError::Missing,
        _ => RunError::Failed(error.to_string()),
    })?;
    let said = child.stdout.take().map(reader);
    let complained = child.stderr.take().map(reader);
    let ended = end(&mut child, within);
    let text = |reader: Option<thread::JoinHandle<String>>| {
        reader.and_then(|reader| reader.join().ok()).unwrap_or_default()
    };
    match ended {
        None => Err(RunError::Late(within)),
        Some(true) => Ok(text(said)),
        Some(false) => {
            let words = text(complained);
            Err(RunError::Failed(words.lines().last().unwrap_or("it failed").to_owned()))
        }
    }
}

/// Reads a pipe to its end on a thread, so that a program that says much does not wait.
fn reader(pipe: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.take(OUTPUT_MAX).read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Waits until it has ended: whether it did so well; nothing where it had to be ended.
fn end(child: &mut Child, within: Duration) -> Option<bool> {
    let deadline = Instant::now() + within;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status.success()),
            Ok(None) if Instant::now() < deadline => thread::sleep(POLL),
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                return None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_secs(20);

    #[test]
    fn what_a_program_prints_is_read_and_its_failure_told() {
        assert_eq!(output("sh", &["-c", "echo so"], SOON), Ok("so\n".into()));
        let failed = output("sh", &["-c", "echo why >&2; exit 3"], SOON);
        assert_eq!(failed, Err(RunError::Failed("why".into())));
        assert_eq!(output("no-such-program-anywhere", &[], SOON), Err(RunError::Missing));
    }

    #[test]
    fn a_program_that_does_not_end_is_ended() {
        let within = Duration::from_millis(50);
        let start = Instant::now();
        assert_eq!(output("sleep", &["60"], within), Err(RunError::Late(within)));
        assert!(start.elapsed() < SOON);
    }
}
