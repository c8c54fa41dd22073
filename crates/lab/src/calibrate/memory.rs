//! Visits to switches in memory: what a worker does with them where neither kernel nor load takes
//! part, in a bare loop with nothing of the engine in it.
//!
//! It is `visit.rs` without sockets, for comparisons with workers over switches in memory
//! (`simulate/check.rs`), on one core or on several at once. A lap over all switches reads; the
//! next one also parses; the next one also has the learning switch answer; the last one also
//! writes. Whole laps are timed, so that the clock does not show in visits of some hundred
//! nanoseconds, and what one lap takes more than another is what its further step costs.
//!
//! Each core has switches of its own. What cores cost each other then is what they share of the
//! machine: caches and memory, not a lock or a line that both change.

use std::sync::Arc;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use aldis_apps::LearningSwitch;
use aldis_apps::learning_switch::{LearningConfig, Seed};
use aldis_control::switch::SwitchInfo;
use aldis_control::world::View;
use aldis_control::{
    AppSet, Batch, EventKind, Output, Pipeline, RequestHeader, Run, Switch, Time, parse,
};
use aldis_engine::limits::READ_MAX;
use aldis_engine::sim::Costs;
use aldis_engine::sim::in_memory::MemoryEnds;
use aldis_wire::{DatapathId, Version};

use super::clock::CalibratedClock;
use super::cores::pin;
use super::line::StraightLine;
use super::rounds::median;
use super::shared::MemoryLoad;

/// Bytes that a visit reads, as in `visit.rs`.
const SIZES: [usize; 4] = [2 * 1024, 8 * 1024, 32 * 1024, READ_MAX];

/// Laps of each kind at a time.
const LAPS: usize = 4;

/// What a lap does at each switch, each kind with what those before it do.
const KINDS: usize = 4;

/// What visits to switches in memory cost one core, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct MemoryVisits {
    /// A read, over the bytes.
    read: StraightLine,
    /// Parsing what it brought, over the requests.
    parse: StraightLine,
    /// The applications, over the requests.
    answer: StraightLine,
    /// A write, over the bytes.
    write: StraightLine,
    /// By how much a lap of the smallest visits takes more or less than the mean, at most, in
    /// percent.
    waver_pct: f64,
    /// The mean of all laps: what a core was away for is in it, and it in the speed of a worker.
    lap_ns: f64,
}

/// One bare loop on each of `cores`, all for `length`, behind half of that. Each has its part of
/// the `switches`, of so many hosts each; or, where they are `shared`, all have the same.
pub(crate) fn visits(
    cores: &[usize],
    MemoryLoad { switches, hosts }: MemoryLoad,
    shared: bool,
    length: Duration,
) -> Vec<MemoryVisits> {
    let app_set = learning_switch();
    let pipelines = app_set.build().expect("it works alone");
    let joined = shared.then(|| join(&mut pipelines.pipeline(0), switches));
    let joined = joined.as_ref();
    let (together, running) = (Barrier::new(cores.len()), AtomicUsize::new(cores.len()));
    let part = |at: usize| match shared {
        true => switches,
        false => (at + 1) * switches / cores.len() - at * switches / cores.len(),
    };
    let (together, running) = (&together, &running);
    thread::scope(|scope| {
        let measure = |(at, core): (usize, &usize)| {
            let (core, switches) = (*core, part(at).max(1));
            let pipeline = pipelines.pipeline(at as u8);
            scope.spawn(move || {
                pin(Some(core));
                let mut bare = BareLoop::new(pipeline, switches, hosts, joined);
                together.wait();
                bare.measure(length / 2);
                let visits = bare.measure(length);
                // The others are not to be measured beside an idle core.
                running.fetch_sub(1, Ordering::Relaxed);
                while running.load(Ordering::Relaxed) > 0 {
                    bare.lap(KINDS - 1, SIZES[0]);
                }
                visits
            })
        };
        let threads: Vec<_> = cores.iter().enumerate().map(measure).collect();
        threads.into_iter().map(|thread| thread.join().expect("it does not panic")).collect()
    })
}

impl MemoryVisits {
    /// The mean of several, one at least.
    pub(crate) fn mean(all: &[MemoryVisits]) -> MemoryVisits {
        let mean =
            |of: &dyn Fn(&MemoryVisits) -> f64| all.iter().map(of).sum::<f64>() / all.len() as f64;
        let line = |of: &dyn Fn(&MemoryVisits) -> StraightLine| StraightLine {
            base: mean(&|it| of(it).base),
            each: mean(&|it| of(it).each),
        };
        MemoryVisits {
            read: line(&|it| it.read),
            parse: line(&|it| it.parse),
            answer: line(&|it| it.answer),
            write: line(&|it| it.write),
            waver_pct: mean(&|it| it.waver_pct),
            lap_ns: mean(&|it| it.lap_ns),
        }
    }

    /// How far cores are from their mean, at most, in percent of it: of all laps.
    pub(crate) fn uneven_pct(cores: &[MemoryVisits]) -> f64 {
        let mean = MemoryVisits::mean(cores).lap_ns;
        cores.iter().map(|it| (it.lap_ns / mean - 1.0).abs()).fold(0.0, f64::max) * 100.0
    }

    /// What a visit takes that brings so many requests, of `request` bytes each and with answers of
    /// `answer` bytes.
    pub(crate) fn visit_ns(&self, requests: f64, request: f64, answer: f64) -> f64 {
        let of = |line: StraightLine, x: f64| line.base + line.each * x;
        of(self.read, requests * request)
            + of(self.parse, requests)
            + of(self.answer, requests)
            + of(self.write, requests * answer)
    }

    /// What a request takes the applications.
    pub(crate) fn request_ns(&self) -> f64 {
        self.answer.each
    }

    /// The costs of a simulation whose sockets are in memory.
    pub(crate) fn costs(&self, costs: Costs) -> Costs {
        let MemoryVisits { read, parse, answer, write, .. } = *self;
        let read_ns = read.base + parse.base;
        Costs {
            poll_event_ns: 0.0,
            read_ns,
            read_byte_ps: read.each * 1e3,
            full_read_ns: read_ns,
            full_read_byte_ps: read.each * 1e3,
            write_ns: write.base,
            write_byte_ps: write.each * 1e3,
            full_write_ns: write.base,
            full_write_byte_ps: write.each * 1e3,
            joined_ns: 0.0,
            batch_ns: answer.base,
            gather_ns: parse.each,
            request_ns: answer.each,
            round_trip_ns: 0.0,
            waver_pct: self.waver_pct,
            away_pct: 0.0,
            ..costs
        }
    }
}

/// A controller with nothing of the engine in it.
struct BareLoop {
    clock: CalibratedClock,
    ends: MemoryEnds,
    pipeline: Pipeline,
    switches: Vec<Arc<Switch>>,
    /// What was read of a message of which the rest was not.
    carries: Vec<Vec<u8>>,
    room: Vec<u8>,
    requests: Vec<RequestHeader>,
    out: Output,
}

impl BareLoop {
    /// All hosts are known. The switches are those that have `joined`, or new ones.
    fn new(
        mut pipeline: Pipeline,
        count: usize,
        hosts: u32,
        joined: Option<&Vec<Arc<Switch>>>,
    ) -> BareLoop {
        let switches = joined.map_or_else(|| join(&mut pipeline, count), Vec::clone);
        let mut bare = BareLoop {
            clock: CalibratedClock::new(),
            ends: MemoryEnds::new(count, hosts),
            pipeline,
            switches,
            carries: vec![Vec::new(); count],
            room: vec![0; 2 * READ_MAX],
            requests: Vec::new(),
            out: Output::default(),
        };
        while (0..count).any(|at| bare.ends.answered(at) < hosts.into()) {
            bare.lap(KINDS - 1, READ_MAX);
        }
        bare
    }

    fn measure(&mut self, length: Duration) -> MemoryVisits {
        let count = self.carries.len() as f64;
        let mut laps: [[Vec<f64>; SIZES.len()]; KINDS] = Default::default();
        let until = Instant::now() + length;
        while laps[0][0].is_empty() || Instant::now() < until {
            for (index, size) in SIZES.into_iter().enumerate() {
                for (kind, laps) in laps.iter_mut().enumerate() {
                    for _ in 0..LAPS {
                        let clock = self.clock;
                        laps[index].push(clock.time(|| self.lap(kind, size)).0 / count);
                    }
                }
            }
        }
        let all: Vec<f64> = laps.iter().flatten().flatten().copied().collect();
        let lap_ns = all.iter().sum::<f64>() / all.len() as f64;
        let [read, parse, answer, write] = [0, 1, 2, 3].map(|kind| {
            let at = |index: usize| {
                let middle = |laps: &[f64]| median(&mut laps.to_vec());
                let before = if kind > 0 { middle(&laps[kind - 1][index]) } else { 0.0 };
                let requests = SIZES[index] as f64 / REQUEST_LEN;
                let x = [SIZES[index] as f64, requests, requests, requests * ANSWER_LEN][kind];
                (x, middle(&laps[kind][index]) - before)
            };
            StraightLine::through(&[0, 1, 2, 3].map(at))
        });
        let waver_pct = waver(&laps[KINDS - 1][0]);
        MemoryVisits { read, parse, answer, write, waver_pct, lap_ns }
    }

    #[inline]
    fn lap(&mut self, kind: usize, size: usize) {
        (0..self.carries.len()).for_each(|at| self.visit(at, kind, size));
    }

    fn visit(&mut self, at: usize, kind: usize, size: usize) {
        let carry = &mut self.carries[at];
        let len = carry.len() + size;
        self.room[..carry.len()].copy_from_slice(carry);
        self.ends.read(at, &mut self.room[carry.len()..len]);
        self.requests.clear();
        let end = match kind {
            // As all requests are of one length, it is known where the last one ends.
            0 => len - len % REQUEST_LEN as usize,
            _ => parse::parse(Version::V10, &self.room[..len], 0, &mut self.requests),
        };
        carry.clear();
        carry.extend_from_slice(&self.room[end..len]);
        if kind > 1 {
            let mut batch = Batch {
                kind: EventKind::FlowRequest,
                now: Time::START,
                world: View::nothing(),
                bytes: &self.room[..len],
                switches: &[&self.switches[at]],
                runs: &[Run { switch: 0, requests: 0..self.requests.len() }],
                requests: &mut self.requests,
            };
            self.out.clear();
            self.pipeline.packet_ins(&mut batch, &mut self.out);
        }
        if kind > 2 {
            self.ends.write(at, self.out.bytes());
        }
    }
}

/// The learning switch alone, with the same seed everywhere.
pub(super) fn learning_switch() -> AppSet {
    let config = LearningConfig::new(Seed::new(*b"0123456789abcdef"));
    AppSet::default().with(move || LearningSwitch::new(config))
}

/// So many switches, known to the applications.
fn join(pipeline: &mut Pipeline, count: usize) -> Vec<Arc<Switch>> {
    let info = |dpid| SwitchInfo {
        dpid: DatapathId(dpid),
        version: Version::V10,
        buffers: 256,
        tables: 1,
        ports: Vec::new(),
    };
    (1..=count as u64).map(|dpid| pipeline.join(Time::START, info(dpid))).collect()
}

/// Bytes of a request, and of its answer.
pub(crate) const REQUEST_LEN: f64 = 82.0;
pub(crate) const ANSWER_LEN: f64 = 80.0;

/// As in `visit.rs`: how far apart two laps are that follow each other.
fn waver(laps: &[f64]) -> f64 {
    let apart: f64 = laps.windows(2).map(|two| (two[1] - two[0]).abs()).sum();
    let (between, mean) = (laps.len() - 1, laps.iter().sum::<f64>() / laps.len() as f64);
    apart / between as f64 * 1.5 / mean * 100.0
}
