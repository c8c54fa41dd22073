//! The writer: events to blocks.
//!
//! It keeps the sequence numbers of each connection, and nothing else. A connection that began
//! before the recording begins with sequence number 1, without the handshake of TCP.

use std::collections::HashMap;
use std::net::SocketAddr;

use crate::block::{self, code, kind};
use crate::event::{ConnKey, Endpoints, Mark, RecordedEvent, TimedEvent};
use crate::frame::{ACK, FIN, FrameHead, PUSH, SYN, TcpSegment};
use crate::limits::{FORMAT, PACKET_BYTES_MAX};

/// Kinds of packets, in their custom option.
pub(crate) mod packet {
    /// A packet without meaning for Aldis: a part of TCP's handshake.
    pub(crate) const FILLER: u8 = 0;
    pub(crate) const OPENED: u8 = 1;
    pub(crate) const READ: u8 = 2;
    pub(crate) const WRITTEN: u8 = 3;
    pub(crate) const CLOSED: u8 = 4;

    /// The next piece belongs to this one.
    pub(crate) const MORE: u8 = 1;
    /// A command from outside.
    pub(crate) const OUTSIDE: u8 = 2;
}

/// Kinds of custom blocks.
pub(crate) mod custom {
    pub(crate) const HEAD: u8 = 1;
    pub(crate) const KNOWN: u8 = 2;
    pub(crate) const GAP: u8 = 3;
    pub(crate) const BATCH: u8 = 4;
    pub(crate) const PUBLISHED: u8 = 6;
    pub(crate) const SHED: u8 = 7;
    /// Nothing happened, and the recording goes on.
    pub(crate) const ALIVE: u8 = 8;
    /// A visit that brought no message.
    pub(crate) const VISITED: u8 = 9;
    pub(crate) const ENTERED: u8 = 10;
    pub(crate) const SECOND: u8 = 11;
    pub(crate) const HEARD: u8 = 12;
    pub(crate) const TICKED: u8 = 13;
    pub(crate) const ROUSED: u8 = 14;
    pub(crate) const ACTED: u8 = 15;
    pub(crate) const LINE_UP: u8 = 16;
    pub(crate) const APPS: u8 = 17;
}

/// Writes a recording, piece by piece, into buffers of the caller.
#[derive(Debug)]
pub struct RecordingWriter {
    /// When the controller started, in nanoseconds since 1970.
    started_ns: u64,
    streams: HashMap<ConnKey, StreamState>,
    /// What was lost since the last packet.
    lost: u64,
}

#[derive(Clone, Copy, Debug)]
struct StreamState {
    /// What stands in front of the bytes, the switch's first.
    heads: [FrameHead; 2],
    /// The next sequence numbers, the switch's first.
    next: [u32; 2],
}

impl StreamState {
    fn new(ends: Endpoints, next: u32) -> StreamState {
        let Endpoints { peer, local } = ends;
        let heads = [FrameHead::new(peer, local, true), FrameHead::new(local, peer, false)];
        StreamState { heads, next: [next; 2] }
    }
}

/// What is said of a packet.
#[derive(Clone, Copy)]
struct PacketTag {
    kind: u8,
    flags: u8,
    worker: u16,
    conn: ConnKey,
}

impl RecordingWriter {
    /// Begins a recording with its head: `about` is a text for its readers, 512 KiB at most;
    /// Aldis writes JSON. The controller started at this time since 1970.
    pub fn begin(started_ns: u64, about: &str, out: &mut Vec<u8>) -> RecordingWriter {
        block::block(out, kind::SECTION, |out| {
            out.extend_from_slice(&block::BYTE_ORDER.to_le_bytes());
            out.extend_from_slice(&[1, 0, 0, 0]);
            out.extend_from_slice(&u64::MAX.to_le_bytes());
            let by = concat!("Aldis ", env!("CARGO_PKG_VERSION"));
            block::option(out, code::APPLICATION, &[by.as_bytes()]);
            block::option(out, code::END, &[]);
        });
        block::block(out, kind::INTERFACE, |out| {
            // Ethernet, and packets of any length.
            out.extend_from_slice(&[1, 0, 0, 0, 0, 0, 0, 0]);
            block::option(out, code::NAME, &[b"control channel"]);
            block::option(out, code::RESOLUTION, &[&[9]]);
            block::option(out, code::END, &[]);
        });
        block::custom(out, custom::HEAD, |out| {
            out.extend_from_slice(&FORMAT.to_le_bytes());
            out.extend_from_slice(&[0; 2]);
            out.extend_from_slice(&started_ns.to_le_bytes());
            out.extend_from_slice(&(about.len() as u32).to_le_bytes());
            out.extend_from_slice(about.as_bytes());
        });
        RecordingWriter { started_ns, streams: HashMap::new(), lost: 0 }
    }

    /// Appends that the recording went on until this time, for a client that waits.
    pub fn alive(at_ns: u64, out: &mut Vec<u8>) {
        block::custom(out, custom::ALIVE, |out| out.extend_from_slice(&at_ns.to_le_bytes()));
    }

    /// Appends an event. One of a connection that was neither opened nor known is left out.
    pub fn put(&mut self, timed: &TimedEvent<'_>, out: &mut Vec<u8>) {
        match timed.event {
            RecordedEvent::Opened { conn, ends } => self.open(timed, conn, ends, out),
            RecordedEvent::Known { conn, ends, dpid } => {
                self.streams.insert(conn, StreamState::new(ends, 1));
                stamped(out, custom::KNOWN, timed, |out| {
                    out.extend_from_slice(&conn.to_le_bytes());
                    out.extend_from_slice(&dpid.to_le_bytes());
                    [ends.peer, ends.local].iter().for_each(|end| address(*end, out));
                });
            }
            RecordedEvent::Read { conn, bytes: [], more: false } => {
                stamped(out, custom::VISITED, timed, |out| {
                    out.extend_from_slice(&conn.to_le_bytes())
                });
            }
            RecordedEvent::Read { conn, bytes, more } => {
                let tag = tag(packet::READ, conn, timed.worker).with(packet::MORE, more);
                self.data(timed.at_ns, tag, bytes, true, out);
            }
            RecordedEvent::Written { conn, bytes, more, outside } => {
                let tag = tag(packet::WRITTEN, conn, timed.worker)
                    .with(packet::MORE, more)
                    .with(packet::OUTSIDE, outside);
                self.data(timed.at_ns, tag, bytes, false, out);
            }
            RecordedEvent::Closed { conn } => self.close(timed, conn, out),
            RecordedEvent::Gap { events, bytes } => {
                self.lost = self.lost.saturating_add(events);
                stamped(out, custom::GAP, timed, |out| {
                    out.extend_from_slice(&events.to_le_bytes());
                    out.extend_from_slice(&bytes.to_le_bytes());
                });
            }
            RecordedEvent::Published { began_ns, version, taken } => {
                stamped(out, custom::PUBLISHED, timed, |out| {
                    [began_ns, version].iter().for_each(|it| out.extend(it.to_le_bytes()));
                    out.extend_from_slice(&(taken.len() as u32).to_le_bytes());
                    out.extend_from_slice(taken);
                });
            }
            RecordedEvent::Marked(mark) => put_mark(timed, mark, out),
        }
    }

    fn open(&mut self, timed: &TimedEvent<'_>, conn: ConnKey, ends: Endpoints, out: &mut Vec<u8>) {
        self.streams.insert(conn, StreamState::new(ends, 0));
        let opened = tag(packet::OPENED, conn, timed.worker);
        self.packet(timed.at_ns, opened, SYN, &[], true, out);
        let filler = tag(packet::FILLER, conn, timed.worker);
        self.packet(timed.at_ns, filler, SYN | ACK, &[], false, out);
        self.packet(timed.at_ns, filler, ACK, &[], true, out);
    }

    fn close(&mut self, timed: &TimedEvent<'_>, conn: ConnKey, out: &mut Vec<u8>) {
        let closed = tag(packet::CLOSED, conn, timed.worker);
        self.packet(timed.at_ns, closed, FIN | ACK, &[], true, out);
        let filler = tag(packet::FILLER, conn, timed.worker);
        self.packet(timed.at_ns, filler, FIN | ACK, &[], false, out);
        self.packet(timed.at_ns, filler, ACK, &[], true, out);
        self.streams.remove(&conn);
    }

    /// Bytes, in as many packets as they need.
    fn data(
        &mut self,
        at_ns: u64,
        tag: PacketTag,
        bytes: &[u8],
        by_switch: bool,
        out: &mut Vec<u8>,
    ) {
        let mut rest = bytes;
        loop {
            let (piece, behind) = rest.split_at(rest.len().min(PACKET_BYTES_MAX));
            rest = behind;
            let tag = tag.with(packet::MORE, !rest.is_empty());
            self.packet(at_ns, tag, PUSH | ACK, piece, by_switch, out);
            if rest.is_empty() {
                return;
            }
        }
    }

    fn packet(
        &mut self,
        at_ns: u64,
        tag: PacketTag,
        flags: u8,
        bytes: &[u8],
        by_switch: bool,
        out: &mut Vec<u8>,
    ) {
        let Some(state) = self.streams.get_mut(&tag.conn) else { return };
        let [own, others] = if by_switch { [0, 1] } else { [1, 0] };
        let acknowledged = if flags & ACK == 0 { 0 } else { state.next[others] };
        let sequence = state.next[own];
        let segment = TcpSegment { sequence, acknowledged, flags, bytes };
        // SYN and FIN count as one byte.
        let counted = bytes.len() as u32 + u32::from(flags & (SYN | FIN) != 0);
        state.next[own] = sequence.wrapping_add(counted);
        let lost = std::mem::take(&mut self.lost);
        let at_ns = self.started_ns.saturating_add(at_ns);
        put_packet(at_ns, tag, lost, &state.heads[own], &segment, out);
    }
}

fn tag(kind: u8, conn: ConnKey, worker: u16) -> PacketTag {
    PacketTag { kind, flags: 0, worker, conn }
}

impl PacketTag {
    /// With a flag more, if it is so.
    fn with(self, flag: u8, is_so: bool) -> PacketTag {
        PacketTag { flags: self.flags | if is_so { flag } else { 0 }, ..self }
    }
}

/// An enhanced packet block (§4.3).
fn put_packet(
    at_ns: u64,
    tag: PacketTag,
    lost: u64,
    head: &FrameHead,
    segment: &TcpSegment<'_>,
    out: &mut Vec<u8>,
) {
    let len = (head.len() + segment.bytes.len()) as u32;
    block::block(out, kind::PACKET, |out| {
        // The interface, the time, and the length, as recorded and as it was.
        let words = [0, (at_ns >> 32) as u32, at_ns as u32, len, len];
        words.iter().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
        let begin = out.len();
        head.write(segment, out);
        block::pad(out, begin);
        let PacketTag { kind, flags, worker, conn } = tag;
        let [low, high] = worker.to_le_bytes();
        let value: [&[u8]; 4] = [
            &block::ENTERPRISE.to_le_bytes(),
            &block::OURS,
            &[kind, flags, low, high],
            &conn.to_le_bytes(),
        ];
        block::option(out, code::CUSTOM, &value);
        if lost > 0 {
            let words = format!("{lost} reads and writes are missing before this one");
            block::option(out, code::COMMENT, &[words.as_bytes()]);
            block::option(out, code::DROPPED, &[&lost.to_le_bytes()]);
        }
        block::option(out, code::END, &[]);
    });
}

/// A custom block with a time and a worker.
fn stamped(out: &mut Vec<u8>, of: u8, timed: &TimedEvent<'_>, fill: impl FnOnce(&mut Vec<u8>)) {
    block::custom(out, of, |out| {
        out.extend_from_slice(&timed.at_ns.to_le_bytes());
        out.extend_from_slice(&u32::from(timed.worker).to_le_bytes());
        fill(out);
    });
}

fn put_mark(timed: &TimedEvent<'_>, mark: Mark, out: &mut Vec<u8>) {
    let (of, values) = match mark {
        Mark::Batch { ran_ns } => (custom::BATCH, [ran_ns, 0]),
        Mark::Apps { ran_ns, alone } => (custom::APPS, [ran_ns, alone.into()]),
        Mark::Entered { version } => (custom::ENTERED, [version, 0]),
        Mark::Told { conn, second: true } => (custom::SECOND, [conn, 0]),
        Mark::Told { conn, second: false } => (custom::HEARD, [conn, 0]),
        Mark::Ticked => (custom::TICKED, [0; 2]),
        Mark::Roused => (custom::ROUSED, [0; 2]),
        Mark::Acted { before, after } => (custom::ACTED, [before, after]),
        Mark::LineUp { version } => (custom::LINE_UP, [version, 0]),
        Mark::Shed { requests } => (custom::SHED, [requests, 0]),
    };
    stamped(out, of, timed, |out| {
        values.iter().for_each(|value| out.extend_from_slice(&value.to_le_bytes()));
    });
}

/// An address as 16 bytes of IPv6 and two of the port, and two to fill up.
fn address(of: SocketAddr, out: &mut Vec<u8>) {
    let ip = match of.ip() {
        std::net::IpAddr::V4(ip) => ip.to_ipv6_mapped(),
        std::net::IpAddr::V6(ip) => ip,
    };
    out.extend_from_slice(&ip.octets());
    out.extend_from_slice(&of.port().to_le_bytes());
    out.extend_from_slice(&[0; 2]);
}
