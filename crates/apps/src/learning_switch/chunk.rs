//! Cutting a batch into chunks: runs are cut where they are longer and put together where they are shorter.

use core::ops::Range;
use std::sync::Arc;

use aldis_control::app::Slots;
use aldis_control::{Batch, Time};
use arc_swap::Guard;

use super::ahead::CHUNK;
use super::hosts::{Hosts, Map};

/// The part of a run that is in a chunk.
#[derive(Debug)]
pub(super) struct Piece {
    /// The run, by its place in the batch.
    pub(super) run: usize,
    /// The switch of the run, by its place in the batch.
    pub(super) switch: usize,
    /// The requests, by their places in the batch.
    pub(super) requests: Range<usize>,
    /// The place of the first of them in the chunk.
    pub(super) first: usize,
    /// The switch's ports and tables.
    pub(super) map: Guard<Arc<Map>>,
}

/// How far a batch has been cut.
#[derive(Debug)]
pub(super) struct Chunks {
    run: usize,
    at: usize,
    now: Time,
}

impl Chunks {
    /// The first chunk of a batch is next.
    pub(super) fn of(batch: &Batch<'_>) -> Chunks {
        Chunks { run: 0, at: 0, now: batch.now }
    }

    /// Puts the pieces of the next chunk into `pieces`, or says that there is none.
    pub(super) fn next(
        &mut self,
        pieces: &mut Vec<Piece>,
        batch: &Batch<'_>,
        slots: Slots<'_, Hosts>,
    ) -> bool {
        pieces.clear();
        let mut room = CHUNK;
        while let Some(run) = batch.runs.get(self.run).filter(|_| room > 0) {
            let from = run.requests.start + self.at;
            let to = run.requests.end.min(from + room);
            if from < to {
                let map = slots.of(run.switch).map(self.now);
                let (run, switch) = (self.run, run.switch);
                let first = CHUNK - room;
                pieces.push(Piece { run, switch, requests: from..to, first, map });
            }
            room -= to - from;
            self.at += to - from;
            if to == run.requests.end {
                (self.run, self.at) = (self.run + 1, 0);
            }
        }
        !pieces.is_empty()
    }
}
