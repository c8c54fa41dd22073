//! Looking ahead: what a request will need of the tables is on its way while those before it are answered.
//!
//! A host's word is a cache miss, and often an address translation too; one after the other they would cost more than
//! everything else. So requests go by in blocks, and each block twice: its frames are read, and the lines of its hosts
//! asked for; two blocks later the requests are answered, in order, and the lines are there. A table in which at most
//! half of the words are in use keeps all but one host in a hundred in the first line of its way; those are looked for
//! when they are needed ([`super::hosts::Hosts::find`]).

use core::sync::atomic::AtomicU64;

use super::hosts::{Map, UNTAGGED, Vlan};
use super::machine::prefetch;
use super::table::{EMPTY, Key, Line, Table};

/// Requests of a block. Two blocks of them keep the memory busy and do not crowd the innermost cache.
pub(super) const BLOCK: usize = 8;

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

/// One request, looked ahead.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sight<'m> {
    /// Where the frame goes.
    pub(super) dst: Key,
    /// Where it comes from.
    pub(super) src: Key,
    /// The first line of the destination's way.
    pub(super) dst_line: &'m Line<AtomicU64>,
    /// The first line of the source's way.
    pub(super) src_line: &'m Line<AtomicU64>,
    /// What the frame is.
    pub(super) kind: Kind,
}

impl<'m> Sight<'m> {
    /// Of nothing.
    const NONE: Sight<'m> = Sight {
        dst: Key::NOBODY,
        src: Key::NOBODY,
        dst_line: &EMPTY,
        src_line: &EMPTY,
        kind: Kind::Short,
    };
}

/// Requests of one run, looked ahead.
#[derive(Debug)]
pub(super) struct Block<'m> {
    sights: [Sight<'m>; BLOCK],
    len: usize,
}

impl<'m> Block<'m> {
    /// An empty block.
    pub(super) const EMPTY: Block<'m> = Block { sights: [Sight::NONE; BLOCK], len: 0 };

    /// Reads frames, at most [`BLOCK`], in place of those before, and asks for the lines of their hosts.
    #[inline(always)]
    pub(super) fn read<'f>(&mut self, frames: impl Iterator<Item = &'f [u8]>, map: &'m Map) {
        let untagged = map.untagged().router();
        self.len = 0;
        for (sight, frame) in self.sights.iter_mut().zip(frames) {
            self.len += 1;
            let (dst, src, kind) = header(frame);
            let (dst_line, src_line) = match kind {
                Kind::Data(UNTAGGED) => (untagged.home(dst), untagged.home(src)),
                Kind::Data(vlan) => homes(map, vlan, dst, src),
                Kind::Short | Kind::Lldp => (&EMPTY, &EMPTY),
            };
            prefetch(dst_line);
            prefetch(src_line);
            *sight = Sight { dst, src, dst_line, src_line, kind };
        }
    }

    /// The requests, in order.
    #[inline(always)]
    pub(super) fn sights(&self) -> &[Sight<'m>] {
        &self.sights[..self.len]
    }
}

#[inline(never)]
fn homes(map: &Map, vlan: Vlan, dst: Key, src: Key) -> (&Line<AtomicU64>, &Line<AtomicU64>) {
    let Some(router) = map.table(vlan).map(Table::router) else { return (&EMPTY, &EMPTY) };
    (router.home(dst), router.home(src))
}
