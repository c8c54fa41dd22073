//! What people are told while the controller runs: events become lines of the log, on a thread of
//! their own.
//!
//! Workers hand events over and never wait: when the log cannot keep up, events are dropped and
//! their number is logged. Lines that a machine outside can cause at will, about strangers and
//! about what switches refuse, are limited.

mod crowd;
mod full;
mod limit;
mod lines;
mod watchlist;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use aldis_control::controller_event::{ControllerEvent, EventSink, Found};
use aldis_control::session::Close;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, unbounded};
use tracing::{debug, info, warn};

use crate::config::{LogFormat, LogLevel};
use crate::outlet::OutputLines;
use crowd::Crowd;
use full::FullTables;
use limit::{LINES_MAX, LINES_PER, Limit, Warnings};
pub(crate) use lines::format_of_stderr;
#[cfg(feature = "http")]
pub(crate) use watchlist::Watchlist;

/// Events that wait to be logged: a few more where several workers emit one at the same moment. The
/// channel itself has no bound, because one that has takes the memory of all from the start.
const EVENTS_MAX: usize = 16_384;

/// Lines of news, which are no warnings: so many that none is left out when a rack is plugged in.
const NEWS_MAX: u32 = 100;

/// How often it is said how many events were dropped, which costs more than to drop one.
const MISSING_EVERY: Duration = Duration::from_secs(1);

/// The thread that writes the log.
pub(crate) struct Reporter {
    sender: Sender<ControllerEvent>,
    dropped: Arc<AtomicU64>,
    #[cfg(feature = "http")]
    watchlist: Watchlist,
    thread: JoinHandle<()>,
}

/// The workers' end.
pub(crate) struct ReportSender {
    sender: Sender<ControllerEvent>,
    dropped: Arc<AtomicU64>,
}

impl EventSink for ReportSender {
    fn emit(&self, event: ControllerEvent) {
        if self.sender.len() >= EVENTS_MAX || self.sender.send(event).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Reporter {
    /// Starts the log at the given level and in this format. It never waits for its readers. What
    /// is written is kept for those over HTTP, too.
    ///
    /// # Errors
    /// When the system has no thread to spare.
    pub(crate) fn start(
        level: LogLevel,
        format: LogFormat,
        to: &OutputLines,
        #[cfg(feature = "http")] kept: aldis_http::log::LogLines,
    ) -> Result<Reporter, String> {
        // Where the program has a log of its own already, lines go there.
        let _ = tracing_subscriber::fmt()
            .with_max_level(level.0)
            .with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr()))
            .event_format(lines::Lines::new(
                format,
                #[cfg(feature = "http")]
                kept,
            ))
            .with_writer(to.clone())
            .try_init();
        let (sender, receiver) = unbounded();
        let dropped = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&dropped);
        let watched = watchlist::Watchlist::default();
        #[cfg(feature = "http")]
        let watchlist = watched.clone();
        let thread = std::thread::Builder::new().name("log".into());
        let thread = thread.spawn(move || LogState::new(count, watched).run(&receiver));
        Ok(Reporter {
            sender,
            dropped,
            #[cfg(feature = "http")]
            watchlist,
            thread: thread.map_err(|error| format!("cannot start the log: {error}"))?,
        })
    }

    /// What is known to be wrong.
    #[cfg(feature = "http")]
    pub(crate) fn watchlist(&self) -> Watchlist {
        self.watchlist.clone()
    }

    /// An end for the workers.
    pub(crate) fn sink(&self) -> ReportSender {
        ReportSender { sender: self.sender.clone(), dropped: Arc::clone(&self.dropped) }
    }

    /// Writes what is left. To be called when every taker is gone.
    pub(crate) fn finish(self) {
        drop(self.sender);
        // Should a taker live on, the log ends with the process all the same.
        let _ = self.thread.join();
    }
}

struct LogState {
    dropped: Arc<AtomicU64>,
    missing_told: Instant,
    strangers: Limit,
    refusals: Limit,
    full: FullTables,
    crowd: Crowd,
    failures: Limit,
    warnings: Warnings,
    news: Limit,
    watchlist: watchlist::Watchlist,
}

impl LogState {
    fn new(dropped: Arc<AtomicU64>, watchlist: watchlist::Watchlist) -> Self {
        LogState {
            dropped,
            missing_told: Instant::now(),
            strangers: Limit::new("lines about connections that are no switches", LINES_MAX),
            refusals: Limit::new("lines about what switches refused", LINES_MAX),
            full: FullTables::default(),
            crowd: Crowd::default(),
            failures: Limit::new("failures of applications", LINES_MAX),
            warnings: Warnings::default(),
            news: Limit::new("news of applications", NEWS_MAX),
            watchlist,
        }
    }

    fn run(mut self, events: &Receiver<ControllerEvent>) {
        // The clock is read once for each event: a million hosts may be learnt in a second.
        let mut now = Instant::now();
        while let Some(event) = self.next(now, events) {
            now = Instant::now();
            self.tell_counted(now);
            if let Some(event) = event {
                let begins = self.watchlist.notice(now, &event);
                self.write(now, event);
                if let Some(known) = begins {
                    warn!("{}: {} (`aldis doctor` says more)", known.id, known.what_to_do);
                }
            }
            if now.saturating_duration_since(self.missing_told) >= MISSING_EVERY {
                self.missing_told = now;
                self.tell_missing();
            }
        }
        if let Some(words) = self.crowd.end() {
            info!("{words}");
        }
        self.tell_missing();
    }

    /// The next event; none of them where it is time to say what was counted first, and nothing at
    /// all when every taker is gone.
    fn next(
        &self,
        now: Instant,
        events: &Receiver<ControllerEvent>,
    ) -> Option<Option<ControllerEvent>> {
        let Some(wait) = self.wait(now) else {
            return events.recv().ok().map(Some);
        };
        match events.recv_timeout(wait) {
            Ok(event) => Some(Some(event)),
            Err(RecvTimeoutError::Timeout) => Some(None),
            Err(RecvTimeoutError::Disconnected) => None,
        }
    }

    /// Says what was counted in place of being told, where it is time for it.
    fn tell_counted(&mut self, now: Instant) {
        if let Some(words) = self.crowd.due(now) {
            info!("{words}");
        }
        let limits = [&mut self.strangers, &mut self.refusals, &mut self.failures, &mut self.news];
        let of_limits = limits.into_iter().filter_map(|limit| limit.due(now));
        for words in of_limits.chain(self.warnings.due(now)) {
            warn!("{words}");
        }
    }

    /// How long until there is something of that.
    fn wait(&self, now: Instant) -> Option<Duration> {
        let limits = [&self.strangers, &self.refusals, &self.failures, &self.news];
        let of_limits = limits.into_iter().filter_map(|limit| limit.wait(now));
        of_limits.chain(self.crowd.wait(now)).chain(self.warnings.wait(now)).min()
    }

    fn tell_missing(&mut self) {
        let dropped = self.dropped.swap(0, Ordering::Relaxed);
        if dropped > 0 {
            warn!("{dropped} lines are missing here: the log could not keep up");
        }
    }

    fn write(&mut self, now: Instant, event: ControllerEvent) {
        match event {
            ControllerEvent::Up { .. } => info!("{event}"),
            ControllerEvent::Port { .. } => debug!("{event}"),
            ControllerEvent::Down { why: Close::Refused(_) | Close::Insecure(_), .. } => {
                if self.strangers.allows(now) {
                    warn!("{event}");
                }
            }
            ControllerEvent::Down { why: Close::Stopping | Close::PeerClosed, .. } => {
                info!("{event}")
            }
            ControllerEvent::Down { .. } => warn!("{event}"),
            // Mininet, port scanners and health checks connect, say a byte or nothing, and leave.
            ControllerEvent::NeverJoined {
                peer,
                why: why @ (Close::PeerClosed | Close::Failed(_) | Close::Stopping),
            } => {
                debug!("a connection from {peer} ended before it became a switch: {why}");
            }
            ControllerEvent::NeverJoined { .. } | ControllerEvent::NoRoom { .. } => {
                if self.strangers.allows(now) {
                    warn!("{event}");
                }
            }
            // Nothing is broken there: what has no flow goes by the controller.
            ControllerEvent::Refused { dpid, error } if error.is_table_full() => {
                if let Some(words) = self.full.refuses(now, dpid, &error) {
                    warn!("{words}");
                }
            }
            ControllerEvent::Refused { error, .. } => {
                if self.refusals.allows(now) {
                    warn!("{error}");
                }
            }
            // Behind a limit of their own: an application that says much hides no failure.
            ControllerEvent::Failed { words } => {
                if self.failures.allows(now) {
                    warn!("{words}");
                }
            }
            ControllerEvent::Noted { words, warns: true } => {
                if self.warnings.allows(now, &words) {
                    warn!("{words}");
                }
            }
            ControllerEvent::Found { found: Found::Host { now: did, .. }, .. } => {
                if self.crowd.lists(now, did) {
                    info!("{event}");
                }
            }
            ControllerEvent::Found { found: Found::Link { .. }, .. } => {
                if self.news.allows(now) {
                    info!("{event}");
                }
            }
            // What led to it stands in the log already, with the switch.
            ControllerEvent::Guest { .. } => debug!("{event}"),
            ControllerEvent::NotTold { count } => self.crowd.not_told(now, count),
            ControllerEvent::Noted { words, warns: false } => {
                if self.news.allows(now) {
                    info!("{words}");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{self, Write};
    use std::sync::Mutex;

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn an_application_that_says_much_hides_neither_a_failure_nor_another() {
        let written = Written::default();
        let to = written.clone();
        let log = tracing_subscriber::fmt().with_writer(move || to.clone()).finish();
        tracing::subscriber::with_default(log, || {
            let mut state = LogState::new(Arc::default(), watchlist::Watchlist::default());
            let now = Instant::now();
            for _ in 0..2 * LINES_MAX {
                state.write(now, ControllerEvent::Noted { words: "echo: odd".into(), warns: true });
            }
            state.write(
                now,
                ControllerEvent::Noted { words: "topology: a link".into(), warns: true },
            );
            state.write(now, ControllerEvent::Failed { words: "echo: quarantined".into() });
            state.tell_counted(now + LINES_PER);
        });
        let text = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
        assert_eq!(text.matches("echo: odd").count(), LINES_MAX as usize, "{text}");
        assert!(text.contains("echo: quarantined") && text.contains("topology: a link"), "{text}");
        assert!(text.contains("20 more warnings of echo"), "{text}");
    }
}
