//! How a line of the log looks: text for people, JSON for programs, or as journald takes it.
//!
//! Under systemd standard error is the journal's, and `JOURNAL_STREAM` says so (systemd.exec(5)). A
//! line there begins with its priority, as `<4>` (sd-daemon(3)), and has no time and no colours:
//! the journal has its own. A line break within a message would begin another line there, with a
//! priority of its own, and is shown as `\n`.

use std::fmt::{self, Debug, Display, Write as _};

#[cfg(feature = "http")]
use aldis_http::api::log::LineLevel;
#[cfg(feature = "http")]
use aldis_http::log::LogLines;
use serde::Serialize;
use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::{Format, Writer};
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

use crate::config::LogFormat;

/// The field that is the line, and has no name where it is shown.
const MESSAGE: &str = "message";

/// Makes lines.
pub(super) struct Lines {
    format: LogFormat,
    text: Format,
    /// Where each is kept for those that follow the log over HTTP.
    #[cfg(feature = "http")]
    kept: LogLines,
}

impl Lines {
    pub(super) fn new(format: LogFormat, #[cfg(feature = "http")] kept: LogLines) -> Lines {
        Lines {
            format,
            text: tracing_subscriber::fmt::format().with_target(false),
            #[cfg(feature = "http")]
            kept,
        }
    }
}

impl<S, N> FormatEvent<S, N> for Lines
where
    S: Subscriber + for<'span> LookupSpan<'span>,
    N: for<'writer> FormatFields<'writer> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut to: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut said = EventLine::default();
        event.record(&mut said);
        let level = *event.metadata().level();
        #[cfg(feature = "http")]
        self.kept.push(kept_level(level), said.plain());
        match self.format {
            LogFormat::Text => self.text.format_event(context, to, event),
            LogFormat::Json => {
                let mut time = String::new();
                SystemTime.format_time(&mut Writer::new(&mut time))?;
                writeln!(to, "{}", said.json(level, &time)?)
            }
            LogFormat::Journald => writeln!(to, "{}", said.for_journald(level)),
        }
    }
}

#[cfg(feature = "http")]
fn kept_level(level: Level) -> LineLevel {
    match level {
        Level::ERROR => LineLevel::Error,
        Level::WARN => LineLevel::Warn,
        Level::INFO => LineLevel::Info,
        Level::DEBUG => LineLevel::Debug,
        Level::TRACE => LineLevel::Trace,
    }
}

/// What an event says.
#[derive(Default)]
struct EventLine {
    message: String,
    fields: Map<String, Value>,
}

/// A line of JSON.
#[derive(Serialize)]
struct JsonLine<'a> {
    time: &'a str,
    level: String,
    message: &'a str,
    #[serde(skip_serializing_if = "Map::is_empty")]
    fields: &'a Map<String, Value>,
}

impl EventLine {
    fn json(&self, level: Level, time: &str) -> Result<String, fmt::Error> {
        // As `--log` has them.
        let level = level.as_str().to_ascii_lowercase();
        let line = JsonLine { time, level, message: &self.message, fields: &self.fields };
        serde_json::to_string(&line).map_err(|_| fmt::Error)
    }

    /// The message, and the fields behind it.
    fn plain(&self) -> String {
        let mut text = self.message.clone();
        for (name, value) in &self.fields {
            let _ = write!(text, " {name}={value}");
        }
        text
    }

    fn for_journald(&self, level: Level) -> String {
        let priority = match level {
            Level::ERROR => 3,
            Level::WARN => 4,
            Level::INFO => 6,
            Level::DEBUG | Level::TRACE => 7,
        };
        let mut line = format!("<{priority}>");
        for c in self.plain().chars() {
            match c.is_control() {
                true => line.extend(c.escape_default()),
                false => line.push(c),
            }
        }
        line
    }

    fn add(&mut self, field: &Field, value: Value) {
        match (field.name(), value) {
            (MESSAGE, Value::String(text)) => self.message = text,
            (MESSAGE, other) => self.message = other.to_string(),
            (name, value) => drop(self.fields.insert(name.into(), value)),
        }
    }
}

impl Visit for EventLine {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let mut text = String::new();
        let _ = write!(text, "{value:?}");
        self.add(field, text.into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field, value.into());
    }
}

/// The format where none is chosen: that of the journal, where standard error is its.
pub(crate) fn format_of_stderr() -> LogFormat {
    let stream = std::env::var("JOURNAL_STREAM").unwrap_or_default();
    let is_journal = rustix::fs::fstat(std::io::stderr())
        .is_ok_and(|file| names(&stream, file.st_dev, file.st_ino));
    if is_journal { LogFormat::Journald } else { LogFormat::Text }
}

/// Whether `JOURNAL_STREAM` names this file: a process may have sent its standard error elsewhere
/// since.
fn names(stream: &str, device: impl Display, inode: impl Display) -> bool {
    stream == format!("{device}:{inode}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct SharedBytes(Arc<Mutex<Vec<u8>>>);

    impl io::Write for SharedBytes {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// What is written while this is done.
    fn lines(format: LogFormat, does: impl FnOnce()) -> Vec<String> {
        let kept = SharedBytes::default();
        let to = kept.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(Level::TRACE)
            .with_ansi(false)
            .event_format(Lines::new(
                format,
                #[cfg(feature = "http")]
                LogLines::new(),
            ))
            .with_writer(move || to.clone())
            .finish();
        tracing::subscriber::with_default(subscriber, does);
        let bytes = kept.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap().lines().map(str::to_owned).collect()
    }

    fn some() {
        tracing::error!("one");
        tracing::warn!("a \"quoted\"\n<0>forged \u{1b}[31m line");
        tracing::info!(port = 7, name = "x", "three {}", 3);
        tracing::debug!("four");
        tracing::trace!("five");
    }

    #[test]
    fn a_line_of_json_is_one_object() {
        let lines = lines(LogFormat::Json, some);
        assert_eq!(lines.len(), 5, "{lines:?}");
        let all: Vec<Value> =
            lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        let levels: Vec<_> = all.iter().map(|line| line["level"].as_str().unwrap()).collect();
        assert_eq!(levels, ["error", "warn", "info", "debug", "trace"]);
        assert_eq!(all[1]["message"], "a \"quoted\"\n<0>forged \u{1b}[31m line");
        assert_eq!(all[2]["message"], "three 3");
        assert_eq!(all[2]["fields"], serde_json::json!({"port": 7, "name": "x"}));
        assert!(all[0].get("fields").is_none());
        let time = all[0]["time"].as_str().unwrap();
        assert!(time.ends_with('Z') && time.as_bytes()[10] == b'T', "{time}");
        assert!(lines[0].starts_with("{\"time\":"), "{}", lines[0]);
    }

    #[test]
    fn journald_gets_the_priority_and_one_line_each() {
        let expected = [
            "<3>one",
            "<4>a \"quoted\"\\n<0>forged \\u{1b}[31m line",
            "<6>three 3 name=\"x\" port=7",
            "<7>four",
            "<7>five",
        ];
        assert_eq!(lines(LogFormat::Journald, some), expected);
    }

    #[test]
    fn text_stays_as_it_was() {
        let lines = lines(LogFormat::Text, || tracing::warn!("one"));
        assert!(lines[0].ends_with("Z  WARN one"), "{lines:?}");
    }

    #[test]
    fn the_journal_is_known_by_its_file() {
        assert!(names("8:1234", 8, 1234));
        for other in ["", "8", "8:1235", "9:1234", "8:1234:5", "x:y"] {
            assert!(!names(other, 8, 1234), "{other}");
        }
    }
}
