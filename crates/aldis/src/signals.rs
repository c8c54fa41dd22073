//! What a running controller is told by signals.
//!
//! SIGINT and SIGTERM stop it, and the second of them ends it at once. SIGHUP has it read its
//! settings again, unless it comes from a terminal that was closed: then it stops too. SIGUSR1 asks
//! for the counters.

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator;

/// Signals that wait. A signal that is repeated meanwhile counts once.
const SIGNALS_MAX: usize = 16;

/// One thing that it is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ProcessSignal {
    /// Stop, because of this.
    Stop(&'static str),
    /// Read the settings again.
    Reread,
    /// Write the counters.
    Count,
}

/// The receiver.
pub(crate) struct Signals(Receiver<ProcessSignal>);

impl Signals {
    /// Listens from now on.
    ///
    /// # Errors
    /// When the system has no thread or no handler to spare.
    pub(crate) fn listen() -> Result<Signals, String> {
        let cannot = |error: io::Error| format!("cannot watch for signals: {error}");
        let signals = iterator::Signals::new([SIGINT, SIGTERM, SIGHUP, SIGUSR1]).map_err(cannot)?;
        let (sender, receiver) = bounded(SIGNALS_MAX);
        let at_terminal = io::stderr().is_terminal();
        let thread = std::thread::Builder::new().name("signals".into());
        thread.spawn(move || pass_on(signals, at_terminal, &sender)).map_err(cannot)?;
        Ok(Signals(receiver))
    }

    /// The next told; none before the deadline.
    pub(crate) fn next(&self, deadline: Option<Instant>) -> Option<ProcessSignal> {
        let told = match deadline {
            Some(deadline) => self.0.recv_deadline(deadline),
            None => self.0.recv().map_err(RecvTimeoutError::from),
        };
        match told {
            Ok(told) => Some(told),
            Err(RecvTimeoutError::Timeout) => None,
            // Without its ears it could only be killed.
            Err(RecvTimeoutError::Disconnected) => {
                Some(ProcessSignal::Stop("the end of its signals"))
            }
        }
    }
}

fn pass_on(mut signals: iterator::Signals, at_terminal: bool, to: &Sender<ProcessSignal>) {
    for signal in signals.forever() {
        let told = match signal {
            SIGUSR1 => ProcessSignal::Count,
            SIGHUP if at_terminal && !io::stderr().is_terminal() => {
                ProcessSignal::Stop("SIGHUP: the terminal is gone")
            }
            SIGHUP => ProcessSignal::Reread,
            other => ProcessSignal::Stop(
                signal_hook::low_level::signal_name(other).unwrap_or("a signal"),
            ),
        };
        let full = to.try_send(told).is_err();
        if let ProcessSignal::Stop(_) = told {
            end_at_the_next();
            if full {
                // It comes behind what waits.
                let _ = to.send(told);
            }
        }
    }
}

/// A second signal ends the process at once, should anything hang.
fn end_at_the_next() {
    let again = Arc::new(AtomicBool::new(true));
    for number in [SIGINT, SIGTERM] {
        let _ = signal_hook::flag::register_conditional_shutdown(number, 1, Arc::clone(&again));
    }
}
