//! The lanes of the tap, merged by time.
//!
//! Within a lane events stand in the order in which its worker saw them. Between lanes the earlier
//! comes first; of two of the same time, that of the worker with the lower number.

use std::collections::VecDeque;

use aldis_engine::limits::TAP_CHUNKS;
use aldis_engine::tap::{Chunk, Tap};
use aldis_recording::TimedEvent;

/// What was taken from the tap and is not merged yet.
pub(super) struct Lanes {
    tap: Tap,
    lanes: Vec<LaneQueue>,
}

/// The chunks of a lane, oldest first.
#[derive(Default)]
struct LaneQueue {
    chunks: VecDeque<Chunk>,
    /// The first byte of the first chunk that is not merged.
    at: usize,
    /// Chunks that are merged.
    done: Vec<Chunk>,
}

impl Lanes {
    pub(super) fn new(tap: Tap) -> Lanes {
        let lanes = (0..tap.lanes()).map(|_| LaneQueue::default()).collect();
        Lanes { tap, lanes }
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.lanes.iter_mut().for_each(|lane| *lane = LaneQueue::default());
    }

    /// Takes what is there.
    pub(super) fn fill(&mut self) {
        for (index, lane) in self.lanes.iter_mut().enumerate() {
            while let Some(chunk) = self.tap.take(index) {
                lane.chunks.push_back(chunk);
            }
        }
    }

    /// When the oldest event was seen of the lanes that hold most of their chunks.
    pub(super) fn oldest_of_full(&self) -> Option<u64> {
        let full = self.lanes.iter().filter(|lane| lane.chunks.len() > TAP_CHUNKS / 2);
        full.filter_map(LaneQueue::next_time).min()
    }

    /// Hands out all events up to this time, in order.
    pub(super) fn merge(&mut self, until: u64, mut to: impl FnMut(&TimedEvent<'_>)) {
        let last = (until, usize::MAX);
        loop {
            let nexts = self.lanes.iter().enumerate();
            let nexts = nexts.filter_map(|(index, lane)| Some((lane.next_time()?, index)));
            // The first one, and where the next one begins.
            let mut ahead = [last; 2];
            for next in nexts.filter(|next| *next < last) {
                let [first, second] = ahead;
                ahead = if next < first { [next, first] } else { [first, second.min(next)] };
            }
            let [first, next] = ahead;
            if first == last {
                return;
            }
            self.lanes[first.1].hand_out(|at_ns| (at_ns, first.1) < next, &mut to);
        }
    }

    /// Passes over everything, which no client wants: the ring sorts it when it is asked for.
    pub(super) fn pass_over(&mut self) {
        for lane in &mut self.lanes {
            lane.done.extend(lane.chunks.drain(..));
            lane.at = 0;
        }
    }

    /// Gives away the chunks that are merged.
    pub(super) fn done(&mut self, mut to: impl FnMut(Chunk)) {
        self.lanes.iter_mut().for_each(|lane| lane.done.drain(..).for_each(&mut to));
    }
}

impl LaneQueue {
    fn next_time(&self) -> Option<u64> {
        let (event, _) = self.chunks.front()?.event_at(self.at)?;
        Some(event.at_ns)
    }

    /// Hands out the events of the first chunk that come by these times.
    fn hand_out(&mut self, comes: impl Fn(u64) -> bool, to: &mut impl FnMut(&TimedEvent<'_>)) {
        let Some(chunk) = self.chunks.front() else { return };
        let mut at = self.at;
        // The pieces of a record belong together, though another lane may have something between.
        let mut joins = false;
        while let Some((event, next)) = chunk.event_at(at)
            && (joins || comes(event.at_ns))
        {
            to(&event);
            joins = super::client::has_more(&event);
            at = next;
        }
        self.at = at;
        if at >= chunk.len() {
            self.finish_chunk();
        }
    }

    fn finish_chunk(&mut self) {
        self.done.extend(self.chunks.pop_front());
        self.at = 0;
    }
}
