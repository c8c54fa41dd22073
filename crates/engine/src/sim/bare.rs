//! What workers share, without workers: the words that a visit takes and lets go of, and the queue
//! between workers that read and workers that answer. For loops on two cores, which show what it
//! costs that the other core had them last.
//!
//! These are the connections and the queue of the engine themselves. A visit makes the same steps
//! as a worker's (`worker/read.rs`, `worker/chop.rs`, `worker/write.rs`), and nothing between them:
//! no socket, no applications.

use std::sync::Arc;
use std::time::Duration;

use aldis_control::session::{self, Close, Session};
use aldis_control::stats::WorkerStats;
use aldis_control::switch::SwitchInfo;
use aldis_control::{AppSet, RequestHeader, Time};
use aldis_wire::{DatapathId, Version};

use super::stream::REQUEST_LEN;
use crate::conn::outgoing::Outgoing;
use crate::conn::{Conn, ConnId, Member};
use crate::read::batch_buf::{BatchBuf, visit_bytes};
use crate::read::ready_set::ReadySet;
use crate::read::shared_queue::queue::{BatchQueue, Pulled};
use crate::shared::parking::Parking;

/// What is left of a message at the end of a read.
const CARRIED: [u8; REQUEST_LEN / 2] = [0; REQUEST_LEN / 2];

/// Bytes between two of which each is on another cache line.
const LINE: usize = 64;

/// Connections that always have more to say, with nothing behind them.
#[derive(Debug)]
pub struct BareConns {
    conns: Vec<Arc<Conn<()>>>,
    ready: ReadySet,
}

impl BareConns {
    /// So many.
    pub fn new(count: usize) -> BareConns {
        let pipelines = AppSet::default().build().expect("no application contradicts itself");
        let mut pipeline = pipelines.pipeline(0);
        let config = Arc::new(session::Config::default());
        let conn = |number: usize| {
            let session = Session::new(Arc::clone(&config), Time::START, 0, &mut Vec::new());
            let peer = ([127, 0, 0, 1], 1).into();
            let outgoing = Outgoing::new(1, Duration::ZERO);
            let conn = Conn::new((ConnId(number as u64), number), (), peer, 0, session, outgoing);
            let info = SwitchInfo {
                dpid: DatapathId(number as u64 + 1),
                version: Version::V10,
                buffers: 256,
                tables: 1,
                ports: Vec::new(),
            };
            let switch = pipeline.join(Time::START, info);
            conn.join(Member { switch, lock: None }, false, Time::START);
            assert!(conn.claim.release(true), "it has more to say");
            Arc::new(conn)
        };
        let conns: Vec<_> = (0..count).map(conn).collect();
        let ready = ReadySet::new(count);
        (0..count).for_each(|number| ready.set(number));
        BareConns { conns, ready }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.conns.len()
    }

    /// A visit of one of them at a moment in nanoseconds, from its claim to its release, that finds
    /// so many requests. Returns false where another worker has the claim.
    #[inline]
    pub fn read(&self, at: usize, now_ns: u64, requests: u64) -> bool {
        let conn = &self.conns[at];
        let Some(events) = conn.claim.claim() else { return false };
        let (waited, bytes) = (now_ns.saturating_sub(conn.queued_at().0), requests * 82);
        let mut state = conn.state();
        state.note(events);
        conn.stats.visits.add(1);
        conn.stats.queue_wait_ns.add(waited);
        conn.stats.queue_wait_ns_max.raise(waited);
        if let Some(spreads) = conn.spreads() {
            spreads.queue_waits_ns.record(waited);
            spreads.batch_size.record(requests);
        }
        let _ = conn.in_flight.start();
        let mut room = [0; REQUEST_LEN];
        state.restore_carry(&mut room);
        state.session.was_read(bytes as usize);
        conn.stats.full_visits.add(1);
        conn.stats.bytes_in.add(bytes);
        drop(state);
        let mut state = conn.state();
        state.keep_carry(&CARRIED);
        state.readable = true;
        conn.stats.requests.add(requests);
        conn.stats.batches.add(1);
        let _ = conn.timer.set(state.deadline(&conn.outgoing));
        drop(state);
        conn.set_queued_at(Time(now_ns));
        if conn.claim.release(true) {
            self.ready.set(at);
        }
        true
    }

    /// The answers to such a visit are written.
    #[inline]
    pub fn write(&self, at: usize, now_ns: u64, requests: u64) {
        wrote(&self.conns[at], now_ns, requests);
    }

    /// Whether another connection behind it is ready, as a worker of round robin looks.
    #[inline]
    pub fn is_ready(&self, at: usize) -> bool {
        self.ready.next(at, self.conns.len()) == Some(at)
    }
}

fn wrote(conn: &Conn<()>, now_ns: u64, requests: u64) {
    let bytes = requests as usize * 80;
    let sent: Result<(), Close> = conn.outgoing.send(&[], |outbox, _| {
        conn.stats.bytes_out.add(bytes as u64);
        outbox.passed(bytes);
        if let Some(spreads) = conn.spreads() {
            spreads.handling_time_ns.record(now_ns & 0xffff);
            spreads.write_time_ns.record(now_ns & 0xfff);
            spreads.batching_delay_ns.record(now_ns & 0xfffff);
        }
        Ok(())
    });
    debug_assert!(sent.is_ok());
    let _ = conn.in_flight.finish();
}

/// The queue between a worker that reads and one that answers.
#[derive(Debug)]
pub struct BareQueue {
    conns: BareConns,
    queue: BatchQueue<()>,
    parking: Parking,
}

/// A batch that is being filled, or answered.
#[derive(Debug)]
pub struct BareBatch(Box<BatchBuf<()>>);

impl BareBatch {
    /// An empty one, with room for visits of so many bytes.
    pub fn new(read_max: usize) -> BareBatch {
        BareBatch(Box::new(BatchBuf::new(visit_bytes(read_max))))
    }
}

impl BareQueue {
    /// Between a reader of so many connections and a worker.
    pub fn new(conns: usize) -> BareQueue {
        BareQueue {
            conns: BareConns::new(conns),
            queue: BatchQueue::new(usize::MAX, false),
            parking: Parking::new(2),
        }
    }

    /// The reader visits one of them and adds so many bytes to its batch.
    #[inline]
    pub fn gather(&self, into: &mut BareBatch, at: usize, now_ns: u64, bytes: usize) {
        let (batch, requests) = (&mut *into.0, bytes / REQUEST_LEN);
        if !self.conns.read(at, now_ns, requests as u64) {
            return;
        }
        let conn = &self.conns.conns[at];
        batch.visits.push(Arc::clone(conn));
        let begin = batch.filled;
        batch.received[begin..begin + bytes].fill(now_ns as u8);
        batch.filled += bytes;
        let first = batch.requests.len();
        let request = |number| RequestHeader {
            frame_at: (begin + number * REQUEST_LEN) as u32,
            head_len: 18,
            frame_len: 64,
            total_len: 64,
            reason: 0,
            stopped: false,
            in_port: 1,
            buffer_id: 0,
            xid: number as u32,
        };
        batch.requests.extend((0..requests).map(request));
        batch.add_run(first..first + requests);
    }

    /// The reader hands its batch on. Returns false where the queue is full.
    #[inline]
    pub fn hand(&self, batch: &mut BareBatch, stats: &WorkerStats) -> bool {
        !self.queue.is_over()
            && self.queue.hand(&mut batch.0, stats)
            && self.parking.unpark_one(0..2).is_none()
    }

    /// The worker takes one. Returns false where there is none.
    #[inline]
    pub fn pull(&self, into: &mut BareBatch, stats: &WorkerStats) -> bool {
        self.queue.pull(&mut into.0, stats) != Pulled::Nothing
    }

    /// The worker looks at every line of the batch, and finishes its visits.
    #[inline]
    pub fn answer(&self, batch: &mut BareBatch, now_ns: u64) -> u64 {
        let batch = &mut *batch.0;
        let bytes = batch.received[..batch.filled].iter().step_by(LINE);
        let seen: u64 = bytes.map(|byte| u64::from(*byte)).sum();
        let asked: u64 = batch.requests.iter().map(|request| u64::from(request.xid)).sum();
        let runs = batch.runs.iter().map(|run| run.requests.len() as u64);
        for (conn, requests) in batch.visits.iter().zip(runs) {
            wrote(conn, now_ns, requests);
        }
        batch.visits.clear();
        batch.clear_requests();
        batch.filled = 0;
        seen + asked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_visit_takes_and_lets_go_of_everything() {
        let conns = BareConns::new(40);
        for now in 1..4 {
            assert!(conns.is_ready(33));
            assert!(conns.read(33, now, 25));
            conns.write(33, now, 25);
        }
        let conn = &conns.conns[33];
        assert!(conn.in_flight.is_clear(0) && conn.claim.is_queued());
        assert_eq!((conn.stats.visits.get(), conn.stats.bytes_out.get()), (3, 6_000));
        let _ = conn.claim.claim();
        assert!(!conns.read(33, 5, 25), "it is claimed");
    }

    #[test]
    fn what_is_handed_on_is_pulled_and_answered() {
        let (queue, stats) = (BareQueue::new(3), WorkerStats::default());
        let [mut read, mut run] = [(); 2].map(|()| BareBatch::new(4096));
        assert!(!queue.pull(&mut run, &stats));
        (0..3).for_each(|at| queue.gather(&mut read, at, 1, 2048));
        assert!(queue.hand(&mut read, &stats) && queue.pull(&mut run, &stats));
        assert_eq!((run.0.visits.len(), run.0.requests.len()), (3, 72));
        assert!(queue.answer(&mut run, 2) > 0);
        assert!(queue.conns.conns.iter().all(|conn| conn.in_flight.is_clear(0)));
    }
}
