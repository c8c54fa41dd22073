//! The newest lines of the controller's log, for the page and for scripts.
//!
//! What writes the log hands each line over as well. Lines are kept as text: what a switch or a
//! host calls itself may stand in one, and is only ever shown.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::api::log::{LineLevel, LogLine};
use crate::limits::{LINE_MAX, LINE_OVERHEAD, LOG_BYTES_MAX};
use crate::newest::{Newest, RingItem};
use crate::routes::Shared;
use crate::timestamp::rfc3339;

/// A line as it is sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct EncodedLine {
    pub(crate) line: LogLine,
    pub(crate) json: String,
}

impl EncodedLine {
    fn new(line: LogLine) -> EncodedLine {
        let json = serde_json::to_string(&line).unwrap_or_default();
        EncodedLine { line, json }
    }
}

impl RingItem for EncodedLine {
    const COST_MAX: usize = LOG_BYTES_MAX;
    const NAME: &'static str = "line";

    /// Its bytes, in both forms.
    fn cost(&self) -> usize {
        self.line.text.len() + self.json.len() + LINE_OVERHEAD
    }

    fn sent(&self) -> String {
        format!("id: {}\ndata: {}\n\n", self.line.id, self.json)
    }

    fn gap(id: String, at: &str, missed: u64, restarted: bool) -> EncodedLine {
        let text = match restarted {
            true => {
                format!("the controller started anew; {missed} of its lines since are not kept")
            }
            false => format!("{missed} lines are missing here: only the newest are kept"),
        };
        EncodedLine::new(LogLine { id, at: at.to_owned(), level: LineLevel::Warn, text })
    }

    fn all(shared: &Shared) -> &Newest<EncodedLine> {
        &shared.log.0
    }
}

/// The newest lines. Clones are the same.
#[derive(Clone, Debug)]
pub struct LogLines(Arc<Newest<EncodedLine>>);

impl LogLines {
    /// None yet, of a controller that starts now.
    pub fn new() -> LogLines {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        LogLines(Arc::new(Newest::new(format!("{:x}", since_1970.as_millis()))))
    }

    /// Keeps a line, as written now. Of one that is longer than 4 KiB the beginning is kept.
    pub fn push(&self, level: LineLevel, mut text: String) {
        if text.len() > LINE_MAX {
            text.truncate(text.floor_char_boundary(LINE_MAX));
            text.push('…');
        }
        let at = rfc3339(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default());
        self.0.push(|id| EncodedLine::new(LogLine { id, at, level, text }));
    }
}

impl Default for LogLines {
    fn default() -> LogLines {
        LogLines::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_lines_are_kept_within_their_bytes() {
        let log = LogLines::new();
        for number in 0..20_000 {
            log.push(LineLevel::Info, format!("line {number} \u{1b}[31m<b>"));
        }
        let mut place = log.0.place(Some("oldest")).unwrap();
        let all = log.0.read(&mut place, usize::MAX, "");
        let bytes: usize = all.iter().map(|line| line.cost()).sum();
        assert!(bytes <= LOG_BYTES_MAX && bytes > LOG_BYTES_MAX - 1000, "{bytes}");
        assert_eq!(all.last().unwrap().line.text, "line 19999 \u{1b}[31m<b>");
        let ids: std::collections::HashSet<_> = all.iter().map(|line| &line.line.id).collect();
        assert_eq!(ids.len(), all.len());
    }

    #[test]
    fn of_a_line_without_an_end_the_beginning_is_kept() {
        let log = LogLines::new();
        log.push(LineLevel::Warn, "ä".repeat(1 << 20));
        let mut place = log.0.place(Some("oldest")).unwrap();
        let [line] = &log.0.read(&mut place, 9, "")[..] else { panic!("one line") };
        assert_eq!(line.line.text, "ä".repeat(LINE_MAX / 2) + "…");
    }
}
