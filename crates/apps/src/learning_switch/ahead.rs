//! Looking ahead: what a chunk of requests will need of the tables is on its way before the first of them is answered.
//!
//! A host's word is a cache miss, and an address translation beside it; one after the other they would cost more than
//! everything else. So a chunk is gone through three times: its frames are read and the lines of both hosts asked for;
//! the words are found in the lines, and where one is not, the next line of its way is asked for; then the requests are
//! answered in order. What was found is a hint: the answer reads the word again and looks whose it is, for an
//! earlier request of the same chunk may have changed it.

use core::sync::atomic::AtomicU64;

use super::hosts::{Map, UNTAGGED, Vlan};
use super::prefetch::prefetch;
use super::table::{Key, Line, Seen, Table, WORDS};

/// Requests of a chunk: enough to keep the memory busy, and few enough that the lines stay in the innermost cache.
pub(super) const CHUNK: usize = 64;

const TYPE_VLAN: u16 = 0x8100;
const TYPE_PROVIDER_VLAN: u16 = 0x88a8;
const TYPE_LLDP: u16 = 0x88cc;

/// The addresses that bridges keep to themselves, but for their last four bits (IEEE 802.1D-2004, table 7-10).
const BRIDGES: u64 = 0x0180_c200_0000;

/// Length of an Ethernet header in bytes.
const HEADER_LEN: usize = 14;

/// What a frame is to a bridge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// Shorter than its header.
    Short,
    /// LLDP: bridges talk to each other by it.
    Lldp,
    /// One that is sent on, in this VLAN.
    Data(Vlan),
}

/// The Ethernet header of `frame`: its destination, source, and what it is.
#[inline]
fn header(frame: &[u8]) -> (Key, Key, Kind) {
    let whole = frame.first_chunk::<HEADER_LEN>();
    let Some((dst, src)) = whole.and_then(|head| head.first_chunk().zip(head.last_chunk())) else {
        return (Key::NOBODY, Key::NOBODY, Kind::Short);
    };
    let (dst, src) = (u64::from_be_bytes(*dst), u64::from_be_bytes(*src));
    let kind = match src as u16 {
        TYPE_VLAN | TYPE_PROVIDER_VLAN => tagged(frame),
        TYPE_LLDP => Kind::Lldp,
        _ => Kind::Data(UNTAGGED),
    };
    (Key::of_first_six(dst), Key::of_first_six(src), kind)
}

fn tagged(frame: &[u8]) -> Kind {
    match frame.get(HEADER_LEN..HEADER_LEN + 2) {
        Some(tag) => Kind::Data(u16::from_be_bytes([tag[0], tag[1]]) & 0x0fff),
        None => Kind::Short,
    }
}

/// Whether bridges keep frames to this address to themselves.
pub(super) fn is_for_bridges(dst: Key) -> bool {
    dst.mac().to_u64() & !0xf == BRIDGES
}

/// A chunk of requests, looked ahead.
pub(super) struct Ahead<'m> {
    kinds: [Kind; CHUNK],
    // Destination and source of each request.
    hosts: [[Sight<'m>; 2]; CHUNK],
    places: [[u8; 2]; CHUNK],
    tables: [Option<&'m Table>; CHUNK],
    len: usize,
}

/// A host, and the line where its word may be.
#[derive(Clone, Copy)]
struct Sight<'m> {
    key: Key,
    line: Option<&'m Line<AtomicU64>>,
}

/// One request of a chunk, looked ahead.
#[derive(Clone, Copy)]
pub(super) struct Foreseen {
    /// What its frame is.
    pub(super) kind: Kind,
    /// Where the frame goes.
    pub(super) dst: Key,
    /// Where it comes from.
    pub(super) src: Key,
    /// What the word of `dst` says, if it was found.
    pub(super) dst_seen: Option<Seen>,
    /// What the word of `src` says, if it was found.
    pub(super) src_seen: Option<Seen>,
}

impl<'m> Ahead<'m> {
    /// An empty chunk.
    #[inline]
    pub(super) fn new() -> Ahead<'m> {
        Ahead {
            kinds: [Kind::Short; CHUNK],
            hosts: [[Sight { key: Key::NOBODY, line: None }; 2]; CHUNK],
            places: [[0; 2]; CHUNK],
            tables: [None; CHUNK],
            len: 0,
        }
    }

    /// Reads the frames of more requests, as many as there is room for, and asks for the lines of their hosts.
    #[inline]
    pub(super) fn read<'f>(&mut self, frames: impl Iterator<Item = &'f [u8]>, map: &'m Map) {
        let (from, mut read) = (self.len, 0);
        let hosts = self.hosts[from..].iter_mut();
        let places = hosts.zip(&mut self.kinds[from..]).zip(&mut self.tables[from..]);
        let untagged = map.untagged();
        for (((hosts, kind), place), frame) in places.zip(frames) {
            let (dst, src, what) = header(frame);
            (*kind, read) = (what, read + 1);
            let table = match what {
                Kind::Data(UNTAGGED) => untagged,
                Kind::Data(vlan) => map.table(vlan).unwrap_or(untagged),
                Kind::Lldp | Kind::Short => continue,
            };
            *place = Some(table);
            *hosts = [dst, src].map(|key| {
                let line = table.home(key);
                prefetch(line);
                Sight { key, line: Some(line) }
            });
        }
        self.len += read;
    }

    /// Finds the words in the lines asked for.
    #[inline]
    pub(super) fn locate(&mut self) {
        let hosts = self.hosts[..self.len].as_flattened_mut();
        let places = self.places[..self.len].as_flattened_mut();
        let mut elsewhere = [0u8; 2 * CHUNK];
        let mut count = 0;
        for (at, (host, place)) in hosts.iter().zip(&mut *places).enumerate() {
            let Some(line) = host.line else { continue };
            *place = line.place_of(host.key);
            elsewhere[count % (2 * CHUNK)] = at as u8;
            count += usize::from(usize::from(*place) == WORDS);
        }
        for &at in &elsewhere[..count] {
            let host = &mut hosts[usize::from(at)];
            let Some(table) = self.tables[usize::from(at) / 2] else { continue };
            let line = table.second(host.key);
            prefetch(line);
            host.line = Some(line);
        }
        for &at in &elsewhere[..count] {
            let host = &hosts[usize::from(at)];
            let Some(line) = host.line else { continue };
            places[usize::from(at)] = line.place_of(host.key);
        }
    }

    /// A request, by its place in the chunk.
    #[inline]
    pub(super) fn foreseen(&self, at: usize) -> Foreseen {
        let ([dst, src], [dst_place, src_place]) = (self.hosts[at], self.places[at]);
        Foreseen {
            kind: self.kinds[at],
            dst: dst.key,
            src: src.key,
            dst_seen: dst.seen(dst_place),
            src_seen: src.seen(src_place),
        }
    }
}

impl Sight<'_> {
    /// What the word in this place of the line says of the host, if it is the host's.
    #[inline]
    fn seen(&self, place: u8) -> Option<Seen> {
        self.key.seen_in(self.line?.word(place))
    }
}
