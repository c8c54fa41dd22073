//! The queue between workers that read and workers that answer, without workers: for loops on two
//! cores, which show what it costs that the other core had something last.
//!
//! The queue and the connections are those of the engine. A visit makes the same steps as a
//! worker's (`worker/read.rs`, `worker/chop.rs`, `worker/write.rs`), and nothing between them: no
//! socket, no applications; or with both, as far as they are in memory.

use std::sync::Arc;
use std::time::Duration;

use aldis_control::session::{self, Close, Session};
use aldis_control::stats::WorkerStats;
use aldis_control::switch::SwitchInfo;
use aldis_control::world::View;
use aldis_control::{
    AppSet, Batch, EventKind, Output, Pipeline, RequestHeader, Switch, Time, parse,
};
use aldis_wire::{DatapathId, Version};

use super::in_memory::MemoryEnds;
use super::stream::REQUEST_LEN;
use crate::conn::outgoing::Outgoing;
use crate::conn::{Conn, ConnId, Member};
use crate::read::batch_buf::{BatchBuf, visit_bytes};
use crate::read::shared_queue::queue::{BatchQueue, Pulled};
use crate::shared::parking::Parking;

/// What is left of a message at the end of a read.
const CARRIED: [u8; REQUEST_LEN / 2] = [0; REQUEST_LEN / 2];

/// Bytes between two of which each is on another cache line.
const LINE: usize = 64;

/// Connections that always have more to say, with nothing behind them.
#[derive(Debug)]
struct BareConns(Vec<Arc<Conn<()>>>);

impl BareConns {
    /// So many, of switches that join this pipeline.
    fn new(pipeline: &mut Pipeline, count: usize) -> BareConns {
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
        BareConns((0..count).map(conn).collect())
    }

    /// A visit of one of them at a moment in nanoseconds, from its claim to its release, that finds
    /// so many requests. Returns false where another worker has the claim.
    #[inline]
    fn read(&self, at: usize, now_ns: u64, requests: u64) -> bool {
        let conn = &self.0[at];
        let Some(events) = conn.claim.claim() else { return false };
        let (waited, bytes) =
            (now_ns.saturating_sub(conn.queued_at().0), requests * REQUEST_LEN as u64);
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
        conn.claim.release(true)
    }
}

/// The answers to a visit are written.
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

/// The batch is answered.
fn empty(batch: &mut BatchBuf<()>) {
    batch.visits.clear();
    batch.clear_requests();
    batch.filled = 0;
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
    /// Between a reader of so many connections and a worker without applications.
    pub fn new(conns: usize) -> BareQueue {
        let pipelines = AppSet::default().build().expect("no application contradicts itself");
        BareQueue::of(&mut pipelines.pipeline(0), conns)
    }

    /// Between a reader of so many connections and a worker that answers by this pipeline.
    pub fn of(pipeline: &mut Pipeline, conns: usize) -> BareQueue {
        BareQueue {
            conns: BareConns::new(pipeline, conns),
            queue: BatchQueue::new(usize::MAX, false),
            parking: Parking::new(2),
        }
    }

    /// The reader visits one of them and adds so many bytes to its batch.
    #[inline]
    pub fn gather(&self, into: &mut BareBatch, at: usize, now_ns: u64, bytes: usize) {
        let requests = bytes / REQUEST_LEN;
        let Some((begin, first)) = self.begin(into, at, now_ns, bytes) else { return };
        let batch = &mut *into.0;
        batch.received[begin..begin + bytes].fill(now_ns as u8);
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

    /// The same of so many bytes, whole requests, from what stands for the socket; it parses them.
    #[inline]
    pub fn read(&self, into: &mut BareBatch, at: usize, bytes: usize, ends: &MemoryEnds) {
        let Some((begin, first)) = self.begin(into, at, 1, bytes) else { return };
        let batch = &mut *into.0;
        ends.read(at, &mut batch.received[begin..begin + bytes]);
        let received = &batch.received[..begin + bytes];
        parse::parse(Version::V10, received, begin, &mut batch.requests);
        let end = batch.requests.len();
        batch.add_run(first..end);
    }

    /// Makes room for so many bytes of a visit. Where they begin, and the requests.
    fn begin(
        &self,
        into: &mut BareBatch,
        at: usize,
        now_ns: u64,
        bytes: usize,
    ) -> Option<(usize, usize)> {
        let batch = &mut *into.0;
        if !self.conns.read(at, now_ns, (bytes / REQUEST_LEN) as u64) {
            return None;
        }
        batch.visits.push(Arc::clone(&self.conns.0[at]));
        let begin = batch.filled;
        batch.filled += bytes;
        Some((begin, batch.requests.len()))
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
        empty(batch);
        seen + asked
    }

    /// The worker has the applications answer the batch, and writes to what stands for the sockets.
    #[inline]
    pub fn answer_by(
        &self,
        batch: &mut BareBatch,
        pipeline: &mut Pipeline,
        out: &mut Output,
        ends: &MemoryEnds,
    ) {
        let batch = &mut *batch.0;
        let BatchBuf { received, requests, runs, visits, visit_of, .. } = batch;
        let switch_of = |visit: &usize| visits[*visit].switch().map(|switch| &**switch);
        let switches: Vec<&Switch> = visit_of.iter().filter_map(switch_of).collect();
        out.clear();
        pipeline.packet_ins(
            &mut Batch {
                kind: EventKind::FlowRequest,
                now: Time::START,
                world: View::nothing(),
                bytes: received,
                switches: &switches,
                runs,
                requests,
            },
            out,
        );
        let segments: Vec<_> = out.take_segments().collect();
        let mut begin = 0;
        for segment in segments {
            let (conn, requests) = (&visits[visit_of[segment.run]], &runs[segment.run].requests);
            ends.write(conn.number(), &out.bytes()[begin..segment.end]);
            wrote(conn, 1, requests.len() as u64);
            begin = segment.end;
        }
        empty(batch);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_visit_takes_and_lets_go_of_everything() {
        let queue = BareQueue::new(40);
        let conn = &queue.conns.0[33];
        for now in 1..4 {
            assert!(queue.conns.read(33, now, 25));
            wrote(conn, now, 25);
        }
        assert!(conn.in_flight.is_clear(0) && conn.claim.is_queued());
        assert_eq!((conn.stats.visits.get(), conn.stats.bytes_out.get()), (3, 6_000));
        let _ = conn.claim.claim();
        assert!(!queue.conns.read(33, 5, 25), "it is claimed");
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
        assert!(queue.conns.0.iter().all(|conn| conn.in_flight.is_clear(0)));
    }

    #[test]
    fn what_switches_in_memory_say_is_answered_by_applications() {
        let app_set = AppSet::default().with(crate::sim::SimResponder::default);
        let mut pipeline = app_set.build().unwrap().pipeline(0);
        let (queue, ends) = (BareQueue::of(&mut pipeline, 3), MemoryEnds::new(3, 10));
        let (mut batch, mut out) = (BareBatch::new(4096), Output::default());
        (0..3).for_each(|at| queue.read(&mut batch, at, 10 * REQUEST_LEN, &ends));
        queue.answer_by(&mut batch, &mut pipeline, &mut out, &ends);
        assert!((0..3).all(|at| ends.answered(at) == 10));
        assert!(queue.conns.0.iter().all(|conn| conn.in_flight.is_clear(0)));
        assert!(batch.0.visits.is_empty() && batch.0.requests.is_empty());
    }
}
