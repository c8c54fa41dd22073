//! The phases of a visit: read, chop, run, write.
//!
//! The receive buffer, the requests and the send buffer belong to the worker and not to the switch: one of each, always
//! the same, so that they stay in the cache. The read designs ([`crate::read`]) call the phases in their own order.

use std::io;
use std::marker::PhantomData;
use std::mem;
use std::ops::Range;
use std::slice;
use std::sync::Arc;

use aldis_control::fact::{Fact, Facts};
use aldis_control::session::{Close, Step};
use aldis_control::{Batch, Event, Output, Pipeline, Request, Run, Session, Time, gather};
use aldis_wire::header::MESSAGE_LEN_MAX;
use aldis_wire::header::kind::PACKET_IN;
use aldis_wire::{Chop, Raw, Version};

use crate::conn::Conn;
use crate::limits::{EARLY_MAX, OUTBOX_PER_READ};
use crate::metrics::Counters;
use crate::net::Net;
use crate::registry::{Errand, Registry};
use crate::write::Write;

/// A worker's tools for serving one connection at a time.
pub(crate) struct Desk<W> {
    pub(crate) now: Time,
    pub(crate) counters: Arc<Counters>,
    pub(crate) errands: Vec<Errand>,
    received: Box<[u8]>,
    read_max: usize,
    requests: Vec<Request>,
    output: Output,
    pipeline: Pipeline,
    registry: Arc<Registry>,
    facts: Arc<dyn Facts>,
    write: PhantomData<W>,
}

impl<W: Write> Desk<W> {
    pub(crate) fn new(
        pipeline: Pipeline,
        read_max: usize,
        registry: Arc<Registry>,
        facts: Arc<dyn Facts>,
        counters: Arc<Counters>,
    ) -> Self {
        Desk {
            now: Time::START,
            counters,
            errands: Vec::new(),
            received: vec![0; MESSAGE_LEN_MAX + read_max].into(),
            read_max,
            requests: Vec::with_capacity(read_max / 32),
            output: Output::default(),
            pipeline,
            registry,
            facts,
            write: PhantomData,
        }
    }

    /// Bytes that may wait for a switch that does not read.
    pub(crate) fn outbox_max(&self) -> usize {
        self.read_max * OUTBOX_PER_READ
    }

    /// Reads once. Returns how many bytes of the receive buffer hold something, the beginning of a message from the last
    /// visit included.
    #[inline]
    pub(crate) fn read<N: Net>(
        &mut self,
        net: &mut N,
        conn: &mut Conn<N::Socket>,
    ) -> Result<usize, Close> {
        let carried = conn.restore_carry(&mut self.received);
        let room = &mut self.received[carried..carried + self.read_max];
        let count = match net.read(&conn.socket, room) {
            Ok(0) => return Err(Close::PeerClosed),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(error) => return Err(Close::Failed(error.to_string())),
        };
        // Less than was asked for: the socket is empty, and the next byte will be announced. The end is announced once, and
        // perhaps it was together with these bytes.
        conn.readable = count == self.read_max || conn.ended;
        self.counters.reads.add(1);
        self.counters.bytes_in.add(count as u64);
        Ok(carried + count)
    }

    /// Takes the first `filled` bytes of the receive buffer apart: flow requests become batches and go through the
    /// applications; every other message is a fence and goes to the session.
    #[inline]
    pub(crate) fn handle<S>(&mut self, conn: &mut Conn<S>, filled: usize) -> Result<(), Close> {
        let received = mem::take(&mut self.received);
        let handled = self.handle_bytes(conn, &received[..filled]);
        self.received = received;
        handled
    }

    /// Ends the visit: what the applications and the session have to say is written.
    #[inline]
    pub(crate) fn write<N: Net>(
        &mut self,
        net: &mut N,
        conn: &mut Conn<N::Socket>,
    ) -> Result<(), Close> {
        let bytes = self.output.bytes();
        if !bytes.is_empty() {
            self.counters.writes.add(1);
            self.counters.bytes_out.add(bytes.len() as u64);
        }
        let written = W::flush(net, conn, self.now, bytes);
        self.output.clear();
        written
    }

    /// What waits for the socket may go on.
    pub(crate) fn drain<N: Net>(
        &mut self,
        net: &mut N,
        conn: &mut Conn<N::Socket>,
    ) -> Result<(), Close> {
        W::writable(net, conn, self.now)
    }

    /// Lets the session do something outside of its messages: a timer, an admission, a probe.
    pub(crate) fn session<S>(
        &mut self,
        conn: &mut Conn<S>,
        act: impl FnOnce(&mut Session, Time, &mut Vec<u8>) -> Result<Step, Close>,
    ) -> Result<(), Close> {
        let step = self.output.append_with(|out| act(&mut conn.session, self.now, out))?;
        self.advance(conn, step)
    }

    /// Tells the applications that time passed at this connection's switch.
    pub(crate) fn second<S>(&mut self, conn: &mut Conn<S>) {
        self.event(conn, &Event::Second);
    }

    /// The connection ends: everyone who should know is told.
    pub(crate) fn farewell<S>(&mut self, conn: &Conn<S>, why: Close) {
        if why == Close::NotReading {
            self.counters.evictions.add(1);
        }
        let Some(dpid) = conn.dpid else {
            return self.facts.tell(Fact::NeverJoined { peer: conn.peer, why });
        };
        if !conn.auxiliary {
            self.event(conn, &Event::Down);
            self.output.clear();
        }
        self.errands.extend(self.registry.gone(dpid, conn.place));
        self.facts.tell(Fact::Down { dpid, peer: conn.peer, why });
    }

    #[inline]
    fn handle_bytes<S>(&mut self, conn: &mut Conn<S>, bytes: &[u8]) -> Result<(), Close> {
        let mut at = 0;
        loop {
            if let Some(switch) = &conn.switch {
                at = gather::gather(switch.info.version, bytes, at, &mut self.requests);
                self.run(conn, bytes);
            }
            match Chop::new(&bytes[at..]).next() {
                Some(Ok(raw)) => {
                    self.fence(conn, bytes, at..at + raw.bytes.len(), raw)?;
                    at += raw.bytes.len();
                }
                Some(Err(malformed)) => return Err(Close::Framing(malformed)),
                None => break,
            }
        }
        conn.keep_carry(&bytes[at..]);
        Ok(())
    }

    /// Runs the applications over the requests gathered so far, if there are any.
    #[inline]
    fn run<S>(&mut self, conn: &mut Conn<S>, bytes: &[u8]) {
        let Some(switch) = conn.switch.as_ref().filter(|_| !self.requests.is_empty()) else {
            return;
        };
        conn.session.alive(self.now);
        self.counters.batches.add(1);
        self.counters.requests.add(self.requests.len() as u64);
        let mut batch = Batch {
            now: self.now,
            bytes,
            switches: slice::from_ref(switch),
            runs: &[Run { switch: 0, requests: 0..self.requests.len() }],
            requests: &mut self.requests,
        };
        self.pipeline.packet_ins(&mut batch, &mut self.output);
        self.requests.clear();
    }

    /// A message that has to be alone: a PACKET_IN with LLDP is a batch of one, the rest is the session's.
    fn fence<S>(
        &mut self,
        conn: &mut Conn<S>,
        bytes: &[u8],
        at: Range<usize>,
        raw: Raw<'_>,
    ) -> Result<(), Close> {
        if let Some(switch) = conn.switch.as_ref().filter(|_| raw.header.kind == PACKET_IN)
            && raw.header.version == switch.info.version.wire()
            && let Ok(request) = gather::request(switch.info.version, bytes, at.start, at.len())
        {
            self.requests.push(request);
            self.run(conn, bytes);
            return Ok(());
        }
        if is_early(conn, &raw) {
            conn.early.extend_from_slice(raw.bytes);
            return Ok(());
        }
        let step = self.output.append_with(|out| conn.session.receive(self.now, raw, out))?;
        self.advance(conn, step)
    }

    /// What came of the session, carried to those it concerns.
    fn advance<S>(&mut self, conn: &mut Conn<S>, step: Step) -> Result<(), Close> {
        match step {
            Step::Nothing | Step::Reply { .. } => {}
            Step::Identified { dpid, auxiliary_id } => {
                conn.dpid = Some(dpid);
                conn.auxiliary = auxiliary_id != 0;
                self.errands.extend(self.registry.identified(dpid, auxiliary_id, conn.place));
            }
            Step::Up(info) => {
                let switch = self.pipeline.join(self.now, info);
                self.registry.up(conn.place, &switch);
                conn.switch = Some(switch);
                self.tell_up(conn);
                self.event(conn, &Event::Up);
                return self.catch_up(conn);
            }
            Step::AuxiliaryUp { .. } => {
                self.tell_up(conn);
                return self.catch_up(conn);
            }
            Step::Event(event) => self.event(conn, &event),
            Step::SwitchError(error) => {
                if let Some(dpid) = conn.dpid {
                    self.facts.tell(Fact::Refused { dpid, error });
                }
            }
            Step::ProbeAnswered => {
                let refused = conn.dpid.and_then(|dpid| self.registry.answered(dpid, conn.place));
                self.errands.extend(refused);
            }
        }
        Ok(())
    }

    /// Serves what was asked while the handshake went on.
    fn catch_up<S>(&mut self, conn: &mut Conn<S>) -> Result<(), Close> {
        let early = mem::take(&mut conn.early);
        self.handle_bytes(conn, &early)
    }

    fn event<S>(&mut self, conn: &Conn<S>, event: &Event) {
        if let Some(switch) = &conn.switch {
            self.pipeline.event(self.now, switch, event, &mut self.output);
        }
    }

    fn tell_up<S>(&self, conn: &Conn<S>) {
        if let Some(switch) = &conn.switch {
            self.facts.tell(Fact::Up {
                dpid: switch.info.dpid,
                peer: conn.peer,
                version: switch.info.version,
                ports: switch.info.ports.len(),
                auxiliary: conn.auxiliary,
            });
        }
    }
}

/// Whether a message is a request that came before it could be served, and there is room to keep it.
fn is_early<S>(conn: &Conn<S>, raw: &Raw<'_>) -> bool {
    let version = conn.session.version().map(Version::wire);
    raw.header.kind == PACKET_IN
        && conn.switch.is_none()
        && version == Some(raw.header.version)
        && conn.early.len() + raw.bytes.len() <= EARLY_MAX
}
