//! Phase 6, outbox: which bytes of the output go to which connection.
//!
//! All output of a batch stands in one buffer, in the order in which it was made. A [`Span`] is a
//! piece of it for the connection of one visit.

use super::Worker;
use crate::net::Net;
use crate::read::Read;

/// Output for the connection of one visit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    /// The visit's index in the batch.
    pub(super) visit: usize,
    pub(super) begin: usize,
    pub(super) end: usize,
}

impl<N: Net, R: Read<N::Socket>> Worker<N, R> {
    /// The output of the applications goes to the connections of the batch's runs.
    #[inline]
    pub(super) fn add_spans(&mut self) {
        let mut begin = self.spans.last().map_or(0, |span| span.end);
        for segment in self.output.take_segments() {
            let (visit, end) = (self.batch.visit_of[segment.run], segment.end);
            self.spans.push(Span { visit, begin, end });
            begin = end;
        }
    }

    /// The output since the last batch or fence goes to the connection of the visit in hand.
    pub(super) fn add_session_spans(&mut self) {
        let visit = self.batch.visits.len() - 1;
        let mut begin = self.spans.last().map_or(0, |span| span.end);
        for segment in self.output.take_segments() {
            self.spans.push(Span { visit, begin, end: segment.end });
            begin = segment.end;
        }
    }
}

/// The output of one connection. Where it is in several pieces, they are copied together.
#[inline]
pub(super) fn join<'a>(spans: &[Span], output: &'a [u8], joined: &'a mut Vec<u8>) -> &'a [u8] {
    let (first, last) = (spans[0].begin, spans[spans.len() - 1].end);
    if spans.windows(2).all(|pair| pair[0].end == pair[1].begin) {
        return &output[first..last];
    }
    joined.clear();
    for span in spans {
        joined.extend_from_slice(&output[span.begin..span.end]);
    }
    joined
}
