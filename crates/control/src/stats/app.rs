//! What one worker counts of one application, from its start. The worker alone writes it.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::{Counter, Gauge};
use crate::app::EventKind;
use crate::limits::APP_COUNTS_MAX;
use crate::pipeline::{AppState, LineUp};

/// What one application did on one worker, on cache lines of its own. It is added to once a batch
/// or once an event, and never once a request.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct AppStats {
    seen: [Counter; EventKind::ALL.len()],
    bytes_out: Counter,
    failed: Counter,
    names: &'static [&'static str],
    /// As many of them as there are names.
    own: [Gauge; APP_COUNTS_MAX],
}

impl AppStats {
    /// Of an application that counts these itself ([`crate::App::COUNTS`]).
    pub(crate) fn new(names: &'static [&'static str]) -> AppStats {
        AppStats { names, ..AppStats::default() }
    }

    /// The names of what it counts itself.
    pub(crate) fn names(&self) -> &'static [&'static str] {
        self.names
    }

    /// It was handed so many events, or flow requests, of this kind, and wrote so many bytes.
    #[inline]
    pub(crate) fn saw(&self, kind: EventKind, count: u64, bytes: usize) {
        self.seen[kind as usize].add(count);
        if bytes > 0 {
            self.bytes_out.add(bytes as u64);
        }
    }

    /// It failed. One worker counts that.
    pub(crate) fn failed(&self) {
        self.failed.add(1);
    }

    /// What it counts itself, in the order of its names.
    #[inline]
    pub(crate) fn own(&self) -> &[Gauge] {
        &self.own[..self.names.len()]
    }
}

/// What one application did, on all workers together, until a moment.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct AppSnapshot {
    /// Its name.
    pub app: &'static str,
    /// What it does: `running`, `stopped`, `waiting` or `failed` ([`AppState`]).
    pub state: &'static str,
    /// Why it does not run, where there is more to say than that it was stopped.
    pub reason: Option<String>,
    /// Whether it failed, and is left out since then.
    pub failed: bool,
    /// How often it failed since the start.
    pub failures: u64,
    /// Events that it was handed, by their kind ([`EventKind::name`]), those among them that an
    /// application before it had stopped; of flow requests each counts. Kinds that did not come yet
    /// are not there.
    pub events: BTreeMap<&'static str, u64>,
    /// Bytes of the messages that it wrote, to whichever switch.
    pub bytes_out: u64,
    /// What it counts itself, by the names that it gives.
    pub own: BTreeMap<&'static str, u64>,
}

impl AppSnapshot {
    /// Adds up what the workers count of the applications of a line-up.
    pub fn all(line_up: &LineUp, workers: &[Vec<Arc<AppStats>>]) -> Vec<AppSnapshot> {
        let of = |(place, app, state): (usize, &'static str, AppState)| {
            let failed = matches!(state, AppState::Failed(_));
            let (state, reason) = (state.name(), state.reason());
            let mut all = AppSnapshot { app, failed, state, reason, ..AppSnapshot::default() };
            let stats = workers.iter().filter_map(|worker| worker.get(place));
            stats.for_each(|stats| all.add(stats));
            all
        };
        line_up.apps().map(of).collect()
    }

    fn add(&mut self, stats: &AppStats) {
        for (kind, count) in EventKind::ALL.into_iter().zip(stats.seen.iter()) {
            let count = count.get();
            if count > 0 {
                *self.events.entry(kind.name()).or_default() += count;
            }
        }
        self.failures += stats.failed.get();
        self.bytes_out += stats.bytes_out.get();
        for (name, level) in stats.names.iter().zip(stats.own()) {
            *self.own.entry(*name).or_default() += level.get();
        }
    }
}
