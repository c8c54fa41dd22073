//! Prefetching: the lines of the tables that a request will need are fetched while the requests
//! before it are answered.
//!
//! A host's word is a cache miss, and often an address translation too; one after the other they
//! would cost more than everything else. So requests go by in blocks, and each block twice: its
//! frames are read, and the lines of its hosts asked for; two blocks later the requests are
//! answered, in order, and the lines are there. A table in which at most half of the words are in
//! use keeps all but one host in a hundred in the first line of its way; those are looked for when
//! they are needed ([`super::hosts::SwitchHosts::find`]).

use core::sync::atomic::AtomicU64;

use aldis_control::{Batch, RequestHeader};

use super::hosts::{SwitchTables, UNTAGGED, Vlan};
use super::simd::prefetch;
use super::table::{EMPTY, MacKey, Router, TableLine, WordTable};

/// Requests of a block. A line is asked for one to two blocks before it is needed, which has to be
/// longer than memory takes to bring it, and some have to be on their way at once: with 16 switches
/// of 100,000 hosts a request cost 13.3 ns in blocks of 8, 10.2 of 16, 9.9 of 32 and as much of 64
/// (`cargo bench -p aldis-apps --bench learning_switch`, an AMD EPYC).
pub(super) const BLOCK: usize = 32;

const TYPE_VLAN: u16 = 0x8100;
const TYPE_PROVIDER_VLAN: u16 = 0x88a8;
const TYPE_LLDP: u16 = 0x88cc;

/// The addresses that bridges keep to themselves, but for their last four bits (IEEE 802.1D-2004,
/// table 7-10).
const BRIDGES: u64 = 0x0180_c200_0000;

/// Length of an Ethernet header in bytes.
const HEADER_LEN: usize = 14;

/// What a frame is to a bridge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FrameKind {
    /// Shorter than its header.
    Short,
    /// LLDP: bridges talk to each other by it.
    Lldp,
    /// One that is sent on, in this VLAN.
    Data(Vlan),
}

/// The destination and source of a frame, and then its type.
#[inline(always)]
fn addresses(header: &[u8; HEADER_LEN]) -> (MacKey, MacKey, u16) {
    let [dst, src] = [header.first_chunk(), header.last_chunk()];
    let [dst, src] = [dst, src].map(|eight| u64::from_be_bytes(*eight.expect("of fourteen")));
    (MacKey::of_first_six(dst), MacKey::of_first_six(src), src as u16)
}

/// The destination and source of a frame, and what it is.
pub(super) fn header(frame: &[u8]) -> (MacKey, MacKey, FrameKind) {
    let Some(header) = frame.first_chunk() else {
        return (MacKey::NOBODY, MacKey::NOBODY, FrameKind::Short);
    };
    let (dst, src, ethertype) = addresses(header);
    let kind = match ethertype {
        TYPE_VLAN | TYPE_PROVIDER_VLAN => tagged(frame),
        TYPE_LLDP => FrameKind::Lldp,
        _ => FrameKind::Data(UNTAGGED),
    };
    (dst, src, kind)
}

fn tagged(frame: &[u8]) -> FrameKind {
    match frame.get(HEADER_LEN..HEADER_LEN + 2) {
        Some(tag) => FrameKind::Data(u16::from_be_bytes([tag[0], tag[1]]) & 0x0fff),
        None => FrameKind::Short,
    }
}

/// Whether bridges keep frames to this address to themselves.
pub(super) fn is_for_bridges(dst: MacKey) -> bool {
    dst.mac().to_u64() & !0xf == BRIDGES
}

/// A request, and the lines of the table that it needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lookahead<'m> {
    /// Where the frame goes.
    pub(super) dst: MacKey,
    /// Where it comes from.
    pub(super) src: MacKey,
    /// The first line of the destination's way; one without hosts if the frame needs a closer look.
    pub(super) dst_line: &'m TableLine<AtomicU64>,
    /// The first line of the source's way; likewise.
    pub(super) src_line: &'m TableLine<AtomicU64>,
    /// Its VLAN.
    pub(super) vlan: Vlan,
}

impl<'m> Lookahead<'m> {
    /// Of a frame that needs a closer look.
    const NONE: Lookahead<'m> = Lookahead {
        dst: MacKey::NOBODY,
        src: MacKey::NOBODY,
        dst_line: &EMPTY,
        src_line: &EMPTY,
        vlan: UNTAGGED,
    };

    /// Of a frame from one host to another and without a tag, as nearly all are.
    #[inline(always)]
    fn of_usual(frame: &[u8], untagged: Router<'m>) -> Option<Lookahead<'m>> {
        let (dst, src, ethertype) = addresses(frame.first_chunk()?);
        if matches!(ethertype, TYPE_VLAN | TYPE_PROVIDER_VLAN | TYPE_LLDP) || src.is_group_or(dst) {
            return None;
        }
        let (dst_line, src_line) = (untagged.home(dst), untagged.home(src));
        Some(Lookahead { dst, src, dst_line, src_line, vlan: UNTAGGED })
    }

    #[inline(never)]
    fn of_other(frame: &[u8], map: &'m SwitchTables) -> Lookahead<'m> {
        let (dst, src, FrameKind::Data(vlan)) = header(frame) else { return Lookahead::NONE };
        if src.is_group_or(dst) {
            return Lookahead::NONE;
        }
        let Some(router) = map.table(vlan).map(WordTable::router) else { return Lookahead::NONE };
        let (dst_line, src_line) = (router.home(dst), router.home(src));
        prefetch(dst_line);
        prefetch(src_line);
        Lookahead { dst, src, dst_line, src_line, vlan }
    }
}

/// Requests of one run, and the lines that they need.
#[derive(Debug)]
pub(super) struct RequestBlock<'m> {
    lookaheads: [Lookahead<'m>; BLOCK],
    len: usize,
}

impl<'m> RequestBlock<'m> {
    /// An empty block.
    pub(super) const EMPTY: RequestBlock<'m> =
        RequestBlock { lookaheads: [Lookahead::NONE; BLOCK], len: 0 };

    /// Reads the frames of requests, at most [`BLOCK`], in place of those before, and asks for the
    /// lines of their hosts.
    #[inline(always)]
    pub(super) fn read(
        &mut self,
        batch: &Batch<'_>,
        requests: &[RequestHeader],
        map: &'m SwitchTables,
    ) {
        let untagged = map.untagged().router();
        self.len = requests.len().min(BLOCK);
        for (place, request) in self.lookaheads.iter_mut().zip(requests) {
            let frame = batch.frame(request);
            match Lookahead::of_usual(frame, untagged) {
                Some(lookahead) => {
                    prefetch(lookahead.dst_line);
                    prefetch(lookahead.src_line);
                    *place = lookahead;
                }
                None => *place = Lookahead::of_other(frame, map),
            }
        }
    }

    /// The requests, in order.
    #[inline(always)]
    pub(super) fn lookaheads(&self) -> &[Lookahead<'m>] {
        &self.lookaheads[..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::{LINES_MIN, Seed};
    use super::*;

    /// A frozen word of a host is, bit for bit, what an unfrozen one of its group would be.
    #[test]
    fn what_is_not_from_one_host_to_another_is_looked_at_closely() {
        let table = WordTable::new(Seed::new([7; 16]), LINES_MIN);
        let is_usual = |dst, src, ethertype: [u8; 2]| {
            let frame = [&[dst, 0, 0, 0, 0, 1, src, 0, 0, 0, 0, 2], &ethertype[..], &[0; 46]];
            Lookahead::of_usual(&frame.concat(), table.router()).is_some()
        };
        assert!(is_usual(2, 2, [0x08, 0x00]) && is_usual(2, 2, [0x86, 0xdd]));
        assert!(!is_usual(3, 2, [0x08, 0x00]) && !is_usual(2, 3, [0x08, 0x00]));
        for ethertype in [TYPE_VLAN, TYPE_PROVIDER_VLAN, TYPE_LLDP] {
            assert!(!is_usual(2, 2, ethertype.to_be_bytes()));
        }
        assert!(Lookahead::of_usual(&[2; HEADER_LEN - 1], table.router()).is_none());
    }
}
