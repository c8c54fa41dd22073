//! Looking ahead: what a request will need of the tables is on its way while those before it are answered.
//!
//! A host's word is a cache miss, and often an address translation too; one after the other they would cost more than
//! everything else. So requests go by in blocks, and each block three times. Its frames are read, and the lines of its
//! hosts asked for. Two blocks later the words are found in the lines, and where one is not, the next lines of its way are
//! asked for. One more block later the requests are answered, in order. What was found is a hint: the answer reads the
//! word again and looks whose it is, for a request before it may have changed it.

use core::sync::atomic::AtomicU64;

use super::hosts::{Map, UNTAGGED, Vlan};
use super::machine::prefetch;
use super::table::{EMPTY, Key, Line, Seen, Table, WORDS};

/// Requests of a block. Three blocks of them keep the memory busy and do not crowd the innermost cache.
pub(super) const BLOCK: usize = 16;

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
#[inline(always)]
fn header(frame: &[u8]) -> (Key, Key, Kind) {
    let whole = frame.first_chunk::<HEADER_LEN>();
    let Some((dst, src)) = whole.and_then(|head| head.first_chunk().zip(head.last_chunk())) else {
        return (Key::NOBODY, Key::NOBODY, Kind::Short);
    };
    let (dst, src) = (u64::from_be_bytes(*dst), u64::from_be_bytes(*src));
    let kind = match src as u16 {
        // Most frames, by one comparison.
        ..TYPE_VLAN => Kind::Data(UNTAGGED),
        TYPE_VLAN | TYPE_PROVIDER_VLAN => tagged(frame),
        TYPE_LLDP => Kind::Lldp,
        _ => Kind::Data(UNTAGGED),
    };
    (Key::of_first_six(dst), Key::of_first_six(src), kind)
}

#[cold]
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

/// A host, the line where its word may be, and which of the words there is its own.
#[derive(Clone, Copy, Debug)]
struct Spot<'m> {
    key: Key,
    line: &'m Line<AtomicU64>,
    place: u8,
}

impl<'m> Spot<'m> {
    const NOWHERE: Spot<'m> = Spot { key: Key::NOBODY, line: &EMPTY, place: 0 };

    /// What the word says now, if it is the host's.
    #[inline(always)]
    fn seen(&self) -> Option<Seen> {
        self.key.seen_in(self.line.word(self.place))
    }
}

/// Which of the two hosts of a frame.
const DST: usize = 0;
const SRC: usize = 1;

/// One request, looked ahead.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sight<'m> {
    hosts: [Spot<'m>; 2],
    table: Option<&'m Table>,
    /// What the frame is.
    pub(super) kind: Kind,
}

impl Sight<'_> {
    /// Where the frame goes.
    #[inline(always)]
    pub(super) fn dst(&self) -> Key {
        self.hosts[DST].key
    }

    /// Where it comes from.
    #[inline(always)]
    pub(super) fn src(&self) -> Key {
        self.hosts[SRC].key
    }

    /// What the word of the destination says now, if it was found.
    #[inline(always)]
    pub(super) fn dst_seen(&self) -> Option<Seen> {
        self.hosts[DST].seen()
    }

    /// What the word of the source says now, if it was found.
    #[inline(always)]
    pub(super) fn src_seen(&self) -> Option<Seen> {
        self.hosts[SRC].seen()
    }
}

/// Requests of one run, looked ahead.
#[derive(Debug)]
pub(super) struct Block<'m> {
    sights: [Sight<'m>; BLOCK],
    len: usize,
    // A bit for each host that is not in its first line: destinations, and BLOCK places further sources.
    elsewhere: u64,
}

impl<'m> Block<'m> {
    /// An empty block.
    pub(super) const EMPTY: Block<'m> = Block {
        sights: [Sight { hosts: [Spot::NOWHERE; 2], table: None, kind: Kind::Short }; BLOCK],
        len: 0,
        elsewhere: 0,
    };

    /// Reads frames, at most [`BLOCK`], in place of those before, and asks for the lines of their hosts.
    #[inline(always)]
    pub(super) fn read<'f>(&mut self, frames: impl Iterator<Item = &'f [u8]>, map: &'m Map) {
        let untagged = map.untagged().router();
        self.len = 0;
        for (sight, frame) in self.sights.iter_mut().zip(frames) {
            self.len += 1;
            let (dst, src, kind) = header(frame);
            sight.kind = kind;
            let (table, router) = match kind {
                Kind::Data(UNTAGGED) => (map.untagged(), untagged),
                Kind::Data(vlan) if let Some(table) = map.table(vlan) => (table, table.router()),
                _ => {
                    (sight.hosts, sight.table) =
                        ([dst, src].map(|key| Spot { key, ..Spot::NOWHERE }), None);
                    continue;
                }
            };
            sight.table = Some(table);
            sight.hosts = [dst, src].map(|key| {
                let line = router.home(key);
                prefetch(line);
                Spot { key, line, place: 0 }
            });
        }
    }

    /// Finds the words in the lines asked for; where one is not, asks for the next line of its way.
    #[inline(always)]
    pub(super) fn locate(&mut self, place_of: impl Fn(&Line<AtomicU64>, Key) -> u8) {
        self.elsewhere = 0;
        for (at, sight) in self.sights[..self.len].iter_mut().enumerate() {
            let [dst, src] = &mut sight.hosts;
            dst.place = place_of(dst.line, dst.key);
            src.place = place_of(src.line, src.key);
            let missed =
                u64::from(dst.place / WORDS as u8) | u64::from(src.place / WORDS as u8) << BLOCK;
            self.elsewhere |= missed << at;
        }
        for at in bits(self.elsewhere) {
            let sight = &mut self.sights[at % BLOCK];
            let Some(table) = sight.table else { continue };
            let host = &mut sight.hosts[at / BLOCK];
            host.line = table.second(host.key);
            prefetch(host.line);
        }
    }

    /// Finds the words that were not in their first lines, in the second or, one in a hundred, the third. Gives the requests, in order.
    #[inline(always)]
    pub(super) fn settle(
        &mut self,
        place_of: impl Fn(&Line<AtomicU64>, Key) -> u8,
    ) -> &[Sight<'m>] {
        for at in bits(self.elsewhere) {
            let sight = &mut self.sights[at % BLOCK];
            let host = &mut sight.hosts[at / BLOCK];
            host.place = place_of(host.line, host.key);
            if usize::from(host.place) == WORDS
                && let Some(table) = sight.table
            {
                host.line = table.third(host.key);
                host.place = place_of(host.line, host.key);
            }
        }
        &self.sights[..self.len]
    }
}

/// The places of the bits that are set, below twice [`BLOCK`].
#[inline(always)]
fn bits(mut bits: u64) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let lowest = bits.trailing_zeros() as usize;
        bits &= bits.wrapping_sub(1);
        (lowest < 2 * BLOCK).then_some(lowest)
    })
}
