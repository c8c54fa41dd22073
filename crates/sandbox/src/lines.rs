//! What an application says: lines of its log.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use crate::limits::{LINE_LEN_MAX, LINES_MAX, LINES_PER_CALL_MAX};

/// How a line begins that Rust writes behind a panic: it speaks of an environment that a component
/// does not have, and would hide the reason.
const USELESS: &str = "note: run with `RUST_BACKTRACE";

/// A line of an application's log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// How much it matters.
    pub level: Level,
    /// What it says, without control characters, [`LINE_LEN_MAX`] bytes at most.
    pub text: String,
}

/// How much a line matters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    /// Good to know.
    Info,
    /// Something is wrong.
    Warning,
}

impl Line {
    /// A line of what a stranger says: cut, and without control characters.
    pub(crate) fn new(level: Level, text: &str) -> Line {
        let plain = text.trim_end().chars().map(|c| if c.is_control() { ' ' } else { c });
        let mut line = String::new();
        for c in plain {
            if line.len() + c.len_utf8() > LINE_LEN_MAX {
                break;
            }
            line.push(c);
        }
        Line { level, text: line }
    }
}

/// The lines that an instance wrote since they were last taken.
#[derive(Default)]
pub(crate) struct LineBuffer {
    lines: Vec<Line>,
    dropped: u64,
    last: String,
    /// The beginning of a line of the standard output, and of the standard error.
    begun: [Vec<u8>; 2],
}

impl LineBuffer {
    pub(crate) fn push(&mut self, level: Level, text: &str) {
        if self.lines.len() == LINES_PER_CALL_MAX {
            self.dropped += 1;
            return;
        }
        let line = Line::new(level, text);
        if !line.text.is_empty() && !line.text.starts_with(USELESS) {
            self.last.clone_from(&line.text);
            self.lines.push(line);
        }
    }

    /// Adds bytes to a line that ends where they say so, or where it is `longest` bytes long.
    pub(crate) fn print(&mut self, level: Level, bytes: &[u8], longest: usize) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let begun = &mut self.begun[level as usize];
            let room = longest - begun.len().min(longest);
            begun.extend_from_slice(&part[..part.len().min(room)]);
            if part.ends_with(b"\n") {
                let line = std::mem::take(begun);
                self.push(level, &String::from_utf8_lossy(&line));
            }
        }
    }

    pub(crate) fn has_some(&self) -> bool {
        !self.lines.is_empty()
    }

    pub(crate) fn last(&self) -> Option<&str> {
        Some(self.last.as_str()).filter(|last| !last.is_empty())
    }

    pub(crate) fn take(&mut self) -> impl Iterator<Item = Line> {
        let dropped = std::mem::take(&mut self.dropped);
        let more = (dropped > 0).then(|| {
            Line::new(Level::Warning, &format!("{dropped} more lines of one call were dropped"))
        });
        self.lines.drain(..).chain(more)
    }
}

/// The last lines of an application, to be shown.
#[derive(Default)]
pub(crate) struct LineHistory(Mutex<VecDeque<Line>>);

impl LineHistory {
    pub(crate) fn push(&self, line: Line) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == LINES_MAX {
            lines.pop_front();
        }
        lines.push_back(line);
    }

    pub(crate) fn all(&self) -> Vec<Line> {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_and_counted() {
        let mut lines = LineBuffer::default();
        lines.push(Level::Info, &"é".repeat(LINE_LEN_MAX));
        lines.print(Level::Warning, b"a\x1b[31mb", LINE_LEN_MAX);
        assert_eq!(lines.lines.len(), 1);
        lines.print(Level::Warning, b"c\nsecond\nthird", LINE_LEN_MAX);
        let said: Vec<_> = lines.take().map(|line| line.text).collect();
        assert_eq!(said[0].len(), LINE_LEN_MAX);
        assert_eq!(said[1..], ["a [31mbc", "second"]);
        (0..LINES_PER_CALL_MAX + 3).for_each(|_| lines.push(Level::Info, "again"));
        let said: Vec<_> = lines.take().collect();
        assert_eq!(said.len(), LINES_PER_CALL_MAX + 1);
        assert!(said.last().unwrap().text.starts_with("3 more lines"));
        assert_eq!(lines.last(), Some("again"));
    }

    #[test]
    fn the_last_lines_are_kept() {
        let history = LineHistory::default();
        (0..LINES_MAX + 2).for_each(|n| history.push(Line::new(Level::Info, &n.to_string())));
        let all = history.all();
        assert_eq!((all.len(), all[0].text.as_str()), (LINES_MAX, "2"));
    }
}
