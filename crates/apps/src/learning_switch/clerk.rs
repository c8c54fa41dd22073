//! The way of a batch: it is cut into stretches of a run, and while one of them is answered, the
//! lines of those after it are on their way ([`super::ahead`]).

use core::ops::Range;
use std::sync::Arc;

use aldis_control::app::{Parallel, Slots};
use aldis_control::{Batch, Output, Run};
use aldis_wire::Version;
use aldis_wire::msg::TableNo;
use arc_swap::Guard;

use super::age::Epoch;
use super::ahead::{BLOCK, Block, Sight};
use super::answer::{Desk, V10, V13};
use super::config::Config;
use super::counters::Counters;
use super::hosts::{Hosts, Map};
use super::look::Look;
#[cfg(target_arch = "x86_64")]
use super::machine::Width;
use super::removal::Removal;
use super::table::Line;

/// The table of flows that forward where the first belongs to rules ([`aldis_control::Tables`]).
const BEHIND_RULES: TableNo = TableNo(1);

/// Blocks on their way at once: one being read, one waiting, and one being answered.
const STAGES: usize = 3;

/// What is known of the switch of a run before its requests are looked at.
#[derive(Debug)]
pub(super) struct Sheet {
    /// Its ports and tables.
    pub(super) map: Guard<Arc<Map>>,
    /// The epoch it is there.
    pub(super) epoch: Epoch,
}

/// A batch, and where its switches' hosts are kept.
#[derive(Clone, Copy)]
struct Work<'b> {
    batch: &'b Batch<'b>,
    slots: Slots<'b, Parallel<Hosts>>,
}

/// Some requests of a run, by their places in the batch.
#[derive(Clone, Debug)]
pub(super) struct Stretch {
    /// The run.
    pub(super) run: usize,
    /// The requests.
    pub(super) requests: Range<usize>,
}

impl Stretch {
    /// No requests.
    pub(super) const NONE: Stretch = Stretch { run: 0, requests: 0..0 };
}

/// The stretches of a batch, in order, each short enough for a block.
pub(super) fn stretches(runs: &[Run]) -> impl Iterator<Item = Stretch> {
    runs.iter().enumerate().flat_map(|(run, Run { requests, .. })| {
        let starts = requests.clone().step_by(BLOCK);
        starts.map(move |at| Stretch { run, requests: at..requests.end.min(at + BLOCK) })
    })
}

/// The application: one instance for each worker.
#[derive(Debug)]
pub struct LearningSwitch {
    pub(super) config: Config,
    v10: V10,
    v13: V13,
    /// For switches whose first table belongs to rules.
    guarded: V13,
    counters: Counters,
    sheets: Vec<Sheet>,
    scratch: Vec<u8>,
}

impl LearningSwitch {
    /// An instance; those of other workers get the same settings.
    pub fn new(config: Config) -> LearningSwitch {
        let flows = config.flows();
        LearningSwitch {
            config,
            v10: V10::new(&flows),
            v13: V13::new(&flows),
            guarded: V13::new(&flows).in_table(BEHIND_RULES),
            counters: Counters::default(),
            sheets: Vec::new(),
            scratch: Vec::new(),
        }
    }

    /// What this instance did so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// How it removes flows from switches of a version.
    pub(super) fn removal(&mut self, version: Version) -> Removal<'_> {
        Removal { version, cookie: self.config.cookie, scratch: &mut self.scratch }
    }

    /// Answers a batch, by the instructions that the processor has.
    pub(super) fn answer(
        &mut self,
        batch: &Batch<'_>,
        slots: Slots<'_, Parallel<Hosts>>,
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
        self.answer_by(batch, slots, out, (Line::holds, Line::seen));
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2,movbe")]
    fn answer_by_four(
        &mut self,
        batch: &Batch<'_>,
        slots: Slots<'_, Parallel<Hosts>>,
        out: &mut Output,
    ) {
        let holds = |line: &Line<_>, key, seen| line.holds_by_four(key, seen);
        self.answer_by(batch, slots, out, (holds, |line: &Line<_>, key| line.seen_by_four(key)));
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,avx512f,avx512dq,bmi1,bmi2,movbe")]
    fn answer_by_eight(
        &mut self,
        batch: &Batch<'_>,
        slots: Slots<'_, Parallel<Hosts>>,
        out: &mut Output,
    ) {
        let holds = |line: &Line<_>, key, seen| line.holds_by_eight(key, seen);
        self.answer_by(batch, slots, out, (holds, |line: &Line<_>, key| line.seen_by_eight(key)));
    }

    #[inline(always)]
    fn answer_by(
        &mut self,
        batch: &Batch<'_>,
        slots: Slots<'_, Parallel<Hosts>>,
        out: &mut Output,
        look: impl Look,
    ) {
        let mut sheets = core::mem::take(&mut self.sheets);
        sheets.extend(batch.runs.iter().map(|run| slots.of(run.switch).sheet(batch.now)));
        let mut stretches = stretches(batch.runs);
        let mut way = [const { Stretch::NONE }; STAGES];
        let mut blocks = [const { Block::EMPTY }; STAGES];
        let (mut read, mut idle) = (0, 0);
        while idle < STAGES {
            way[read] = stretches.next().unwrap_or(Stretch::NONE);
            let stretch = &way[read];
            idle = if stretch.requests.is_empty() { idle + 1 } else { 0 };
            if !stretch.requests.is_empty() {
                let requests = &batch.requests[stretch.requests.clone()];
                blocks[read].read(batch, requests, &sheets[stretch.run].map);
            }
            read = (read + 1) % STAGES;
            let stretch = &way[read];
            if !stretch.requests.is_empty() {
                out.select(stretch.run);
                let sights = blocks[read].sights();
                let work = Work { batch, slots };
                self.answer_stretch(work, stretch, &sheets[stretch.run], sights, look, out);
            }
        }
        sheets.clear();
        self.sheets = sheets;
    }

    /// Answers requests of one run, in order.
    #[inline(always)]
    fn answer_stretch(
        &mut self,
        Work { batch, slots }: Work<'_>,
        stretch: &Stretch,
        sheet: &Sheet,
        sights: &[Sight<'_>],
        look: impl Look,
        out: &mut Output,
    ) {
        let switch = batch.runs[stretch.run].switch;
        let info = &batch.switches[switch].info;
        let version = info.version;
        let desk = Desk {
            dialect: &(),
            hosts: slots.of(switch),
            ports: &sheet.map.ports,
            epoch: sheet.epoch,
            batch,
            removal: Removal { version, cookie: self.config.cookie, scratch: &mut self.scratch },
            out,
            counters: &mut self.counters,
        };
        let requests = &batch.requests[stretch.requests.clone()];
        match version {
            Version::V10 => desk.of(&self.v10).answer_all(requests, sights, look),
            Version::V13 if self.config.tables.are_guarded(info) => {
                desk.of(&self.guarded).answer_all(requests, sights, look);
            }
            Version::V13 => desk.of(&self.v13).answer_all(requests, sights, look),
        }
    }
}
