//! Playing: event by event, with what came out beside what was recorded.

use std::collections::HashMap;
use std::fmt;
use std::io::{self, BufRead};
use std::path::Path;
use std::time::{Duration, Instant};

use aldis_engine::replay::Replay;
use aldis_recording::{ConnKey, Mark, PlayOrder, PlayedEvent, WholeEvent};
use aldis_wire::{Chop, DatapathId};

use super::compare::{Comparison, Difference, Side};
use super::{look, told, words};

/// How often it is looked for what is on one side alone, in events.
const LOOK_EVERY: u64 = 4096;

/// What comes out so short before the end may have been written behind it.
const LAST_MOMENT_NS: u64 = 100_000_000;

/// Differences that are printed; the others are counted.
const PRINTED_MAX: u64 = 1000;

/// What is done with what comes out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PlayMode {
    /// It has to be what was recorded.
    Compare,
    /// It is printed, batch by batch; and has to be what was recorded.
    Step,
    /// What is different is printed.
    Diff,
}

/// How a replay ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum PlayEnd {
    /// The same came out.
    Same,
    /// Something else: the first of it, in words.
    Other(String),
    /// So many differences were printed.
    Listed(u64),
    /// It was to end.
    Stopped,
}

/// What was played.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct PlayCounts {
    /// Messages of switches.
    pub(super) messages: u64,
    /// Messages to switches that came out.
    pub(super) commands: u64,
    /// Nanoseconds of the recording.
    recorded_ns: u64,
    took: Duration,
}

impl fmt::Display for PlayCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (recorded, took) = (self.recorded_ns as f64 / 1e9, self.took.as_secs_f64());
        write!(
            f,
            "{} messages played, {} commands came out; {recorded:.2} s in {took:.2} s, {:.1} times \
             as fast",
            self.messages,
            self.commands,
            recorded / took.max(1e-6)
        )
    }
}

/// A replay in the making.
pub(super) struct Player {
    replay: Replay,
    mode: PlayMode,
    begin_ns: u64,
    until_ns: u64,
    comparison: Comparison,
    dpids: HashMap<ConnKey, DatapathId>,
    counts: PlayCounts,
    listed: u64,
    /// What came out since the last step, where it is played step by step.
    step: Vec<(ConnKey, Vec<u8>)>,
    /// Messages of switches since then.
    heard: u64,
    stopped: bool,
}

impl Player {
    pub(super) fn new(replay: Replay, mode: PlayMode, begin_ns: u64, until: Option<u64>) -> Player {
        Player {
            replay,
            mode,
            begin_ns,
            until_ns: until.unwrap_or(u64::MAX),
            comparison: Comparison::default(),
            dpids: HashMap::new(),
            counts: PlayCounts::default(),
            listed: 0,
            step: Vec::new(),
            heard: 0,
            stopped: false,
        }
    }

    /// What was played so far.
    pub(super) fn counts(&self) -> PlayCounts {
        self.counts
    }

    /// Plays the file.
    ///
    /// # Errors
    /// One sentence that begins with the file: an event that cannot be played.
    pub(super) fn run(&mut self, file: &Path) -> Result<PlayEnd, String> {
        let (begun, mut order) = (Instant::now(), PlayOrder::new(look::open(file)?));
        let (mut now_ns, mut events, mut different) = (self.begin_ns, 0u64, None);
        while different.is_none() && !self.stopped {
            // What is wrong behind the end was said before.
            let Ok(Some(played)) = order.next_event() else { break };
            if played.at_ns > self.until_ns {
                break;
            }
            now_ns = now_ns.max(played.at_ns);
            events += 1;
            different = self.event(file, &played)?;
            if events.is_multiple_of(LOOK_EVERY) && self.mode != PlayMode::Diff {
                different = different.or_else(|| self.comparison.overdue(now_ns));
            }
        }
        self.counts.recorded_ns = now_ns - self.begin_ns;
        if different.is_none() && !self.stopped {
            different = self.end(now_ns);
        }
        self.counts.took = begun.elapsed();
        Ok(match (different, self.mode) {
            (Some(first), _) => PlayEnd::Other(self.words(&first)),
            _ if self.stopped => PlayEnd::Stopped,
            (None, PlayMode::Diff) => PlayEnd::Listed(self.listed),
            (None, _) => PlayEnd::Same,
        })
    }

    /// Plays an event; the first difference, where differences are none to be listed.
    fn event(&mut self, file: &Path, played: &PlayedEvent) -> Result<Option<Difference>, String> {
        if self.replay.prepare(played) && self.mode == PlayMode::Diff {
            let _ = self.take(played.at_ns);
            self.list(Some(played.worker));
        }
        if let WholeEvent::Written { conn, bytes, .. } = &played.event
            && let Some(different) =
                self.compare(Side::Recorded, (played.worker, *conn), played.at_ns, bytes)
        {
            return Ok(Some(different));
        }
        if let WholeEvent::Read { conn, bytes } = &played.event {
            let messages = Chop::new(bytes).map_while(Result::ok).count() as u64;
            self.counts.messages += messages;
            self.heard += messages;
            self.learn(*conn);
        }
        if let WholeEvent::Closed { conn } = &played.event {
            self.learn(*conn);
        }
        self.replay.play(played).map_err(|why| {
            let at = words::seconds(played.at_ns, self.begin_ns);
            told(file, &format!("at byte {}: what happened at {at}: {why}", played.offset))
        })?;
        let different = self.take(played.at_ns);
        if self.mode == PlayMode::Step {
            self.step(played);
        }
        Ok(different)
    }

    /// Takes what came out.
    fn take(&mut self, at_ns: u64) -> Option<Difference> {
        let mut came = vec![];
        self.replay.take_written(|worker, conn, bytes| came.push((worker, conn, bytes.to_vec())));
        let mut different = None;
        for (worker, conn, bytes) in came {
            self.learn(conn);
            self.counts.commands += Chop::new(&bytes).map_while(Result::ok).count() as u64;
            let here = self.compare(Side::Replayed, (worker, conn), at_ns, &bytes);
            different = different.or(here);
            if self.mode == PlayMode::Step {
                self.step.push((conn, bytes));
            }
        }
        different
    }

    fn compare(
        &mut self,
        side: Side,
        key: (u16, ConnKey),
        at_ns: u64,
        bytes: &[u8],
    ) -> Option<Difference> {
        match self.mode {
            PlayMode::Diff => {
                self.comparison.keep(side, key, at_ns, bytes);
                None
            }
            _ => self.comparison.add(side, key, at_ns, bytes).err(),
        }
    }

    /// Remembers which switch a connection is.
    fn learn(&mut self, conn: ConnKey) {
        if !self.dpids.contains_key(&conn) {
            self.dpids.extend(self.replay.dpid_of(conn).map(|dpid| (conn, dpid)));
        }
    }

    /// The last event was played.
    fn end(&mut self, end_ns: u64) -> Option<Difference> {
        self.replay.settle();
        let different = self.take(end_ns);
        if self.mode == PlayMode::Diff {
            self.list(None);
            return None;
        }
        different.or_else(|| self.comparison.rest(end_ns, LAST_MOMENT_NS))
    }

    /// Prints what is different of a worker, or of all.
    fn list(&mut self, worker: Option<u16>) {
        let mut differences = vec![];
        self.comparison.list(worker, |difference| differences.push(difference));
        for difference in differences {
            self.listed += 1;
            if self.listed <= PRINTED_MAX {
                print!("{}", self.words(&difference));
            } else if self.listed == PRINTED_MAX + 1 {
                println!("and more, which are counted");
            }
        }
    }

    fn words(&self, difference: &Difference) -> String {
        difference.words(self.begin_ns, self.dpids.get(&difference.conn).copied())
    }

    /// Prints what came of a step, and waits until the next one is wanted.
    fn step(&mut self, played: &PlayedEvent) {
        let what = match &played.event {
            WholeEvent::Marked(Mark::Batch { .. }) => {
                format!("a batch, of {} messages", self.heard)
            }
            WholeEvent::Marked(Mark::Told { second: true, .. }) => "a second passed".into(),
            WholeEvent::Marked(Mark::Acted { .. }) => "the World changed".into(),
            WholeEvent::Marked(Mark::Ticked) => "a timer of an application".into(),
            WholeEvent::Opened { .. } => "a switch connects".into(),
            _ => "what was due".into(),
        };
        let is_batch = matches!(played.event, WholeEvent::Marked(Mark::Batch { .. }));
        if self.step.is_empty() && !(is_batch && self.heard > 0) {
            return;
        }
        let at = words::seconds(played.at_ns, self.begin_ns);
        println!("{at}, worker {}: {what}", played.worker);
        for (conn, bytes) in std::mem::take(&mut self.step) {
            println!("  to {}:", words::switch(self.dpids.get(&conn).copied()));
            for raw in Chop::new(&bytes).map_while(Result::ok) {
                print!("{}", words::message(raw.bytes, "    "));
            }
        }
        self.heard = 0;
        let mut line = String::new();
        // Where standard input is closed, no step is wanted any more.
        let read = io::stdin().lock().read_line(&mut line);
        self.stopped = !read.is_ok_and(|count| count > 0) || line.trim() == "q";
    }
}
