//! How a batch is answered: it is cut into chunks of a run, and while one of them is answered, the
//! lines of those after it are being fetched ([`super::prefetch`]).

use core::ops::Range;
use std::sync::Arc;

use aldis_control::app::{Parallel, Slots};
use aldis_control::{Batch, Output, Run};
use aldis_wire::Version;
use arc_swap::Guard;

use super::age::Epoch;
use super::app::LearningSwitch;
use super::hosts::{SwitchHosts, SwitchTables};
use super::lookup::HostLookup;
use super::prefetch::{BLOCK, Lookahead, RequestBlock};
use super::removal::Removal;
use super::replies::Responder;
#[cfg(target_arch = "x86_64")]
use super::simd::Width;
use super::table::TableLine;

/// Blocks on their way at once: one being read, one waiting, and one being answered.
const STAGES: usize = 3;

/// What is known of the switch of a run before its requests are answered.
#[derive(Debug)]
pub(super) struct SwitchView {
    /// Its ports and tables.
    pub(super) map: Guard<Arc<SwitchTables>>,
    /// The epoch of the switch.
    pub(super) epoch: Epoch,
}

/// A batch, and where its switches' hosts are kept.
#[derive(Clone, Copy)]
struct Work<'b> {
    batch: &'b Batch<'b>,
    slots: Slots<'b, Parallel<SwitchHosts>>,
}

/// A chunk: some requests of a run, by their indices in the batch.
#[derive(Clone, Debug)]
struct Chunk {
    /// The run, of those in hand.
    run: usize,
    /// The requests.
    requests: Range<usize>,
}

impl Chunk {
    /// No requests.
    const NONE: Chunk = Chunk { run: 0, requests: 0..0 };
}

/// Runs whose tables are held at once. A thread that holds more pointers of `arc-swap` than it has
/// places for (8) counts itself among the owners instead, and with every switch that several
/// workers serve that count goes from core to core. One place is left for a closer look.
const HELD: usize = 7;

/// The chunks of these runs, in order, each short enough for a block.
fn chunks(runs: &[Run]) -> impl Iterator<Item = Chunk> {
    runs.iter().enumerate().flat_map(|(run, Run { requests, .. })| {
        let starts = requests.clone().step_by(BLOCK);
        starts.map(move |at| Chunk { run, requests: at..requests.end.min(at + BLOCK) })
    })
}

impl LearningSwitch {
    /// Answers a batch, by the instructions that the processor has.
    pub(super) fn answer(
        &mut self,
        batch: &Batch<'_>,
        slots: Slots<'_, Parallel<SwitchHosts>>,
        out: &mut Output,
    ) {
        #[cfg(target_arch = "x86_64")]
        match Width::here() {
            // SAFETY: the processor has what the function asks for.
            Width::Eight => return unsafe { self.answer_by_eight(batch, slots, out) },
            // SAFETY: likewise.
            Width::Four => return unsafe { self.answer_by_four(batch, slots, out) },
            Width::One => {}
        }
        self.answer_by(batch, slots, out, (TableLine::holds, TableLine::seen));
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2,movbe")]
    fn answer_by_four(
        &mut self,
        batch: &Batch<'_>,
        slots: Slots<'_, Parallel<SwitchHosts>>,
        out: &mut Output,
    ) {
        let holds = |line: &TableLine<_>, key, seen| line.holds_by_four(key, seen);
        self.answer_by(
            batch,
            slots,
            out,
            (holds, |line: &TableLine<_>, key| line.seen_by_four(key)),
        );
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,avx512f,avx512dq,bmi1,bmi2,movbe")]
    fn answer_by_eight(
        &mut self,
        batch: &Batch<'_>,
        slots: Slots<'_, Parallel<SwitchHosts>>,
        out: &mut Output,
    ) {
        let holds = |line: &TableLine<_>, key, seen| line.holds_by_eight(key, seen);
        self.answer_by(
            batch,
            slots,
            out,
            (holds, |line: &TableLine<_>, key| line.seen_by_eight(key)),
        );
    }

    #[inline(always)]
    fn answer_by(
        &mut self,
        batch: &Batch<'_>,
        slots: Slots<'_, Parallel<SwitchHosts>>,
        out: &mut Output,
        lookup: impl HostLookup,
    ) {
        for first in (0..batch.runs.len()).step_by(HELD) {
            let runs = first..batch.runs.len().min(first + HELD);
            self.answer_runs(Work { batch, slots }, runs, lookup, out);
        }
    }

    /// Answers some runs of a batch, at most [`HELD`].
    #[inline(always)]
    fn answer_runs(
        &mut self,
        work: Work<'_>,
        runs: Range<usize>,
        lookup: impl HostLookup,
        out: &mut Output,
    ) {
        let Work { batch, slots } = work;
        let (first, runs) = (runs.start, &batch.runs[runs]);
        let mut views = core::mem::take(&mut self.views);
        views.extend(runs.iter().map(|run| slots.of(run.switch).view(batch.now)));
        let mut chunks = chunks(runs);
        let mut ring = [const { Chunk::NONE }; STAGES];
        let mut blocks = [const { RequestBlock::EMPTY }; STAGES];
        let (mut read, mut idle) = (0, 0);
        while idle < STAGES {
            ring[read] = chunks.next().unwrap_or(Chunk::NONE);
            let chunk = &ring[read];
            idle = if chunk.requests.is_empty() { idle + 1 } else { 0 };
            if !chunk.requests.is_empty() {
                let requests = &batch.requests[chunk.requests.clone()];
                blocks[read].read(batch, requests, &views[chunk.run].map);
            }
            read = (read + 1) % STAGES;
            let chunk = &ring[read];
            if !chunk.requests.is_empty() {
                out.select(first + chunk.run);
                let (view, lookaheads) = (&views[chunk.run], blocks[read].lookaheads());
                let switch = runs[chunk.run].switch;
                self.answer_chunk(work, (switch, chunk), view, lookaheads, lookup, out);
            }
        }
        views.clear();
        self.views = views;
    }

    /// Answers requests of one run, in order.
    #[inline(always)]
    fn answer_chunk(
        &mut self,
        Work { batch, slots }: Work<'_>,
        (switch, chunk): (usize, &Chunk),
        view: &SwitchView,
        lookaheads: &[Lookahead<'_>],
        lookup: impl HostLookup,
        out: &mut Output,
    ) {
        let info = &batch.switches[switch].info;
        let version = info.version;
        let responder = Responder {
            encoder: &(),
            hosts: slots.of(switch),
            ports: &view.map.ports,
            epoch: view.epoch,
            batch,
            removal: Removal { version, cookie: self.config.cookie, scratch: &mut self.scratch },
            out,
            counters: &mut self.counters,
        };
        let requests = &batch.requests[chunk.requests.clone()];
        match version {
            Version::V10 => responder.of(&self.v10).answer_all(requests, lookaheads, lookup),
            Version::V13 if self.config.tables.are_guarded(info) => {
                responder.of(&self.guarded).answer_all(requests, lookaheads, lookup);
            }
            Version::V13 => responder.of(&self.v13).answer_all(requests, lookaheads, lookup),
        }
    }
}
