//! The line-up: the worker takes it between two batches, and tells applications that were started
//! of the switches that are there already.

use std::sync::Arc;

use aldis_control::pipeline::LineUp;

use super::Worker;
use crate::conn::Conn;
use crate::limits::TOLD_PER_POLL;
use crate::net::Net;
use crate::read::Read;

/// Applications are told of the switches of a worker that joined before they were started: of a few
/// at each poll, so that no request waits for all of them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Greeting {
    /// The applications: those that run since this version of the line-up or a later one.
    since: u64,
    /// The switches: those that joined before this version.
    version: u64,
    /// The slot of the next connection.
    from: usize,
}

impl<N: Net, R: Read<N::Socket>> Worker<N, R> {
    /// Takes the newest line-up, where there is another than before. Between two batches.
    #[inline]
    pub(super) fn follow_line_up(&mut self) {
        let changed = self.shared.line_up.changed(&mut self.line_up_version);
        if changed.is_some() || self.greets {
            self.finish_batch();
            self.pause_for_line_up(changed);
        }
    }

    /// Takes a line-up, tells applications of the next switches, and counts how long that keeps the
    /// worker from its switches.
    #[cold]
    fn pause_for_line_up(&mut self, changed: Option<Arc<LineUp>>) {
        let began = self.net.now();
        if let Some(line_up) = changed {
            self.take_line_up(line_up);
        }
        if self.greets {
            self.greet_some();
        }
        let paused = self.net.now().since(began);
        self.stats.line_up_pause_ns.record(u64::try_from(paused.as_nanos()).unwrap_or(u64::MAX));
    }

    fn take_line_up(&mut self, line_up: Arc<LineUp>) {
        let (version, started) = (line_up.version(), line_up.started_in());
        if self.pipeline.line_up().version() != version {
            self.tap.lined_up(self.now, version);
        }
        self.pipeline.take(line_up);
        self.shared.line_up.count(self.index, self.pipeline.counted());
        if let Some(since) = started {
            self.greeting = Greeting { since, version, from: 0 };
            self.greets = true;
        }
        if !self.greets {
            self.shared.line_up.set_taken(self.index, version);
        }
    }

    /// Tells applications of the next switches.
    fn greet_some(&mut self) {
        let from = self.greeting.from;
        let conns = self.conns.range(from, from + TOLD_PER_POLL);
        let conns: Vec<_> = conns.map(Arc::clone).collect();
        // Where another worker holds the switch lock, all of them again at the next poll: those
        // that were told are passed over.
        if conns.iter().all(|conn| self.greet_apps(conn)) {
            self.greeting.from += TOLD_PER_POLL;
        }
        if self.greeting.from >= self.conns.slots() {
            self.greets = false;
            self.shared.line_up.set_taken(self.index, self.pipeline.line_up().version());
        }
        self.poll_at = self.now;
    }

    /// Tells applications of the switch of a connection, unless they know it. Returns whether that
    /// is done.
    pub(super) fn greet_apps(&mut self, conn: &Arc<Conn<N::Socket>>) -> bool {
        let Greeting { since, version, .. } = self.greeting;
        let Some(switch) = conn.main_of().filter(|_| !conn.is_gone()) else { return true };
        if switch.since() >= version || !conn.greet(version) {
            return true;
        }
        self.finish_batch();
        let told = self.tell_by(conn, |worker| {
            worker.enter_world();
            let Worker { pipeline, world, output, now, .. } = worker;
            pipeline.greet(*now, world, (switch, since), output);
        });
        match told {
            Some(false) => {}
            Some(true) => self.queue(Arc::clone(conn)),
            None => conn.ungreet(),
        }
        self.send();
        self.deliver_signals();
        told.is_some()
    }
}
