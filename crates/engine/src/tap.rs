//! The tap: what workers read, write and do, copied aside for a recorder.
//!
//! ```text
//!   worker ──▶ chunk in hand ──full──▶ queue of full chunks ──▶ recorder (a thread outside)
//!      ▲                                                            │
//!      └────────────── queue of free chunks ◀───────────────────────┘
//! ```
//!
//! Each worker has a *lane* of its own: chunks of one size, allocated when the tap is turned on,
//! and two bounded queues. A visit, or the output of a batch for one switch, is copied in one
//! piece. No lane is shared by workers, and nothing is allocated. The recorder looks at the lanes
//! from time to time. A worker that has a quarter of its chunks left before that wakes the
//! recorder, once until it has more: that is the one system call. Where no free chunk is left, the
//! recorder does not keep up, or wants no more: what is lost is counted, and the count stands in
//! front of what comes next. Turned off, the tap costs a test for each visit and each write.
//!
//! Deliberately absent: files and formats. [`Chunk::events`] says what a chunk holds.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::Thread;

use aldis_control::Time;
use aldis_recording::Endpoints;
use crossbeam_queue::ArrayQueue;

use crate::limits::{TAP_CHUNK, TAP_CHUNK_SMALL, TAP_CHUNKS};

mod app_lock;
mod chunk;
mod past_caches;
mod writer;

use app_lock::AppLock;
pub use chunk::{Chunk, ChunkTally};
pub(crate) use writer::TapWriter;

/// What all lanes share.
#[derive(Debug)]
pub(crate) struct TapShared {
    on: AtomicBool,
    app_lock: AppLock,
    lanes: Box<[TapLane]>,
    /// The recorder's thread.
    recorder: OnceLock<Thread>,
}

/// The chunks of one worker, or of the publisher.
#[derive(Debug)]
struct TapLane {
    full: ArrayQueue<Chunk>,
    free: ArrayQueue<Chunk>,
    /// Bytes of each chunk.
    chunk: usize,
    /// No event is older that was not given away yet, in nanoseconds since the controller's start:
    /// never while there is none and the lane sleeps.
    since: AtomicU64,
}

impl TapShared {
    /// Turned off, with a lane for each worker and one for the publisher.
    pub(crate) fn new(workers: usize) -> TapShared {
        let lane = |index| TapLane {
            full: ArrayQueue::new(2 * TAP_CHUNKS),
            free: ArrayQueue::new(2 * TAP_CHUNKS),
            chunk: if index < workers { TAP_CHUNK } else { TAP_CHUNK_SMALL },
            since: AtomicU64::new(Time::NEVER.0),
        };
        let (on, app_lock, recorder) = Default::default();
        TapShared { on, app_lock, lanes: (0..=workers).map(lane).collect(), recorder }
    }

    fn wake_recorder(&self) {
        if let Some(thread) = self.recorder.get() {
            thread.unpark();
        }
    }

    #[inline]
    fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }
}

/// A connection that is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TappedConn {
    /// Its key in the chunks.
    pub conn: u64,
    /// Its ends.
    pub ends: Endpoints,
    /// The switch that it says it is, once it said so.
    pub dpid: Option<u64>,
}

/// The recorder's end of the tap. Clones are the same.
#[derive(Clone, Debug)]
pub struct Tap(pub(crate) Arc<TapShared>);

impl Tap {
    /// How many lanes there are: one for each worker, and one for the publisher.
    pub fn lanes(&self) -> usize {
        self.0.lanes.len()
    }

    /// Workers wake the calling thread (`Thread::unpark`) where it has to take chunks before it
    /// would by itself. The first call of this counts.
    pub fn wakes_me(&self) {
        self.0.recorder.get_or_init(std::thread::current);
    }

    /// Turns it on, with empty chunks.
    pub fn turn_on(&self) {
        for (index, lane) in self.0.lanes.iter().enumerate() {
            while self.take(index).is_some() {}
            for _ in lane.free.len()..TAP_CHUNKS {
                // There is room for twice as many.
                let _ = lane.free.push(Chunk::empty(index, lane.chunk));
            }
        }
        self.0.on.store(true, Ordering::Relaxed);
    }

    /// Whether workers run applications one after the other, in an order that the recording tells:
    /// else two of them that use one table in the same moment may be played back in another order.
    /// One worker needs no such order.
    pub fn want_app_lock(&self, wanted: bool) {
        let workers = self.lanes() - 1;
        self.0.app_lock.want(wanted && workers > 1);
    }

    /// Turns it off. Workers give away the chunk in hand with their next poll.
    pub fn turn_off(&self) {
        self.0.on.store(false, Ordering::Relaxed);
        self.want_app_lock(false);
        for lane in &self.0.lanes {
            while lane.free.pop().is_some() {}
        }
    }

    /// Up to when all that happened was given away, if that is before `now`: a worker that the
    /// kernel stopped in between may have something that is older than what others gave away since.
    /// What is taken after this is asked is complete up to then.
    pub fn complete_until(&self, now: Time) -> Time {
        let since = self.0.lanes.iter().map(|lane| lane.since.load(Ordering::Acquire)).min();
        now.min(Time(since.unwrap_or(now.0)))
    }

    /// The oldest full chunk of a lane.
    pub fn take(&self, lane: usize) -> Option<Chunk> {
        self.0.lanes.get(lane)?.full.pop()
    }

    /// Gives a chunk back, to be filled again. Where the recorder keeps it, it gives an empty one.
    pub fn give_back(&self, chunk: Chunk) {
        let index = chunk.lane();
        let Some(lane) = self.0.lanes.get(index) else { return };
        if self.0.is_on() && lane.free.len() < TAP_CHUNKS {
            let has_room = chunk.capacity() >= lane.chunk;
            let empty =
                if has_room { chunk.emptied(index) } else { Chunk::empty(index, lane.chunk) };
            let _ = lane.free.push(empty);
        }
    }
}

/// Both ends as IPv6, with their ports.
type EndBytes = [u8; 36];

fn end_bytes(ends: &Endpoints) -> EndBytes {
    let mut bytes = [0; 36];
    for (half, end) in bytes.chunks_exact_mut(18).zip([ends.peer, ends.local]) {
        let ip = match end.ip() {
            std::net::IpAddr::V4(ip) => ip.to_ipv6_mapped(),
            std::net::IpAddr::V6(ip) => ip,
        };
        half[..16].copy_from_slice(&ip.octets());
        half[16..].copy_from_slice(&end.port().to_be_bytes());
    }
    bytes
}

fn ends_of(bytes: &[u8]) -> Option<Endpoints> {
    let end = |at: usize| {
        let ip: [u8; 16] = *bytes.get(at..)?.first_chunk()?;
        let port: [u8; 2] = *bytes.get(at + 16..)?.first_chunk()?;
        let ip = std::net::IpAddr::from(ip).to_canonical();
        Some(SocketAddr::new(ip, u16::from_be_bytes(port)))
    };
    Some(Endpoints { peer: end(0)?, local: end(18)? })
}

#[cfg(test)]
mod tests;
