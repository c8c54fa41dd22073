//! Standard output: what commands print, for people and scripts.
//!
//! `print!` and `println!` in this program are the two of [`main`](crate), which come here. A
//! reader that has seen enough and goes (`| head`) is no error. What else keeps something from
//! being printed, as a full disk, is one: the command goes on, as it may have results to save yet,
//! and says so at its end.

use std::fmt::Arguments;
use std::io::{self, Write};
use std::sync::OnceLock;

/// Since nothing can be printed any more: why, unless the reader went.
static LOST: OnceLock<Option<String>> = OnceLock::new();

/// Prints a text and what ends it, unless something before could not be printed.
pub(crate) fn print(text: Arguments<'_>, end: &str) {
    if LOST.get().is_some() {
        return;
    }
    let mut out = io::stdout().lock();
    let printed =
        out.write_fmt(text).and_then(|()| out.write_all(end.as_bytes())).and_then(|()| out.flush());
    if let Err(error) = printed {
        let why = match error.kind() {
            io::ErrorKind::BrokenPipe => None,
            _ => Some(format!("cannot write to standard output: {error}")),
        };
        // A second error says the same.
        let _ = LOST.set(why);
    }
}

/// Why not everything could be printed: one sentence, if there is anything to be said.
pub(crate) fn lost() -> Option<&'static str> {
    LOST.get()?.as_deref()
}
