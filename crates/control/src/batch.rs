//! A batch of flow requests: what a worker gathered, from one switch or many, before it runs the
//! applications once over all of it.
//!
//! The bytes stay where they were received; a [`RequestHeader`] only says where its frame begins.
//! Nothing here is allocated per request: the worker reuses the same vectors for every batch.

mod request;

use core::ops::Range;

use crate::app::EventKind;
use crate::switch::Switch;
use crate::time::Time;
use crate::world::View;

pub use request::Request;

/// One flow request: a PACKET_IN, parsed as far as every application needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequestHeader {
    /// Where the frame begins in [`Batch::bytes`].
    pub frame_at: u32,
    /// How many bytes of the frame the switch sent.
    pub frame_len: u16,
    /// Where the frame begins in its message: [`Batch::message`].
    pub head_len: u16,
    /// Full length of the packet in bytes: more than `frame_len` where the switch sent only its
    /// beginning.
    pub total_len: u16,
    /// Why the switch asks, as its version numbers it.
    pub reason: u8,
    /// Whether an application stopped it: those that come later pass it over.
    pub stopped: bool,
    /// The port that the packet came in on, numbered as OpenFlow 1.3 does.
    pub in_port: u32,
    /// The switch's buffer that holds the packet, or [`aldis_wire::types::NO_BUFFER`].
    pub buffer_id: u32,
    /// The transaction id; replies carry it.
    pub xid: u32,
}

/// The requests of one switch in a batch, in the order in which they came.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Run {
    /// The switch's place in [`Batch::switches`].
    pub switch: usize,
    /// Its requests in [`Batch::requests`].
    pub requests: Range<usize>,
}

/// A batch, as it is handed to one application after the other.
#[derive(Debug)]
pub struct Batch<'b> {
    /// What the requests are: [`EventKind::FlowRequest`], or [`EventKind::Lldp`].
    pub kind: EventKind,
    /// When the batch was closed.
    pub now: Time,
    /// The World, the same for the whole batch.
    pub world: View<'b>,
    /// The received bytes that the requests point into.
    pub bytes: &'b [u8],
    /// The switches that have requests here.
    pub switches: &'b [&'b Switch],
    /// The runs, one or more for each switch.
    pub runs: &'b [Run],
    /// The requests of all runs.
    pub requests: &'b mut [RequestHeader],
}

impl Batch<'_> {
    /// The frame of a request, as far as the switch sent it.
    #[inline]
    pub fn frame(&self, request: &RequestHeader) -> &[u8] {
        let at = request.frame_at as usize;
        &self.bytes[at..at + request.frame_len as usize]
    }
}
