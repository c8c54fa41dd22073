//! Where the hosts of one VLAN of one switch are: a lock-free table of 64-bit words, one for each
//! MAC.
//!
//! ```text
//! word   MAC 48 | port slot 12 | epoch 4          0 where there is none yet
//! line   8 words, one cache line
//! ```
//!
//! A MAC's way through the table is its home line and then lines of the same page, in an order of
//! its own. It sits in the first word of its way that was free when it came, and **stays there**: a
//! word never changes its MAC. Therefore a MAC that comes to two workers at once is written once,
//! by the one that wins the free word; a search may stop at the first free word; and what changes
//! about a host, its port and epoch, changes in one compare-and-swap.
//!
//! Room is made by moving on to another table. The worker that found this one full makes the
//! [`next`](WordTable::next), then *freezes* this one word by word (a bit that no host's MAC has)
//! and carries what is worth keeping across, unless it is there already. A worker that meets a
//! frozen word goes on in the next table. A host is thus written in one place only at any time:
//! here while its word is not frozen, there from then on; a port learnt meanwhile is never lost.

use core::fmt;
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::{Arc, OnceLock};

use aldis_wire::MacAddr;

use super::age::Epoch;
use super::ports::PortSlot;
#[cfg(target_arch = "x86_64")]
use super::simd;
use crate::sync::AtomicWord;

/// Words of a line.
pub(super) const WORDS: usize = 8;

/// Lines of a page of 4 KiB. A way does not leave its page, so that its second line costs no
/// address translation.
const PAGE: usize = 64;

/// Lines of a way. With four words of five in use, one way in two million is full.
const WAY: usize = 16;

/// Lines of a new table: 1 KiB.
pub(super) const LINES_MIN: usize = 16;

/// The bit that freezes a word: the one that tells a group of hosts, which are never learnt.
const FROZEN: u64 = 1 << 56;

/// The bits of a word that are its port slot and epoch.
const SEEN: u64 = 0xffff;

/// An odd number without a pattern: 2⁶⁴ divided by the golden ratio.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// A MAC in a word's place: in the upper 48 bits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct MacKey(u64);

impl MacKey {
    /// The key of no host.
    pub(super) const NOBODY: MacKey = MacKey(0);

    /// The MAC in the upper six bytes of `bytes`.
    #[inline]
    pub(super) fn of_first_six(bytes: u64) -> MacKey {
        MacKey(bytes & !SEEN)
    }

    /// The MAC.
    #[inline]
    pub(super) fn mac(self) -> MacAddr {
        MacAddr::from_u64(self.bits())
    }

    /// The MAC in the lower 48 bits.
    #[inline]
    pub(super) fn bits(self) -> u64 {
        self.0 >> 16
    }

    /// Whether it can be a host: neither a group nor the zero address.
    #[inline]
    pub(super) fn is_host(self) -> bool {
        self.0 & FROZEN == 0 && self.0 != 0
    }

    /// Whether this or `other` tells a group of hosts.
    #[inline]
    pub(super) fn is_group_or(self, other: MacKey) -> bool {
        (self.0 | other.0) & FROZEN != 0
    }

    /// What `word` says of this MAC, if it is this MAC's and not frozen.
    #[inline]
    pub(super) fn seen_in(self, word: u64) -> Option<LastSeen> {
        let bits = word ^ self.0;
        (bits <= SEEN).then_some(LastSeen(bits as u16))
    }

    #[inline]
    fn with(self, seen: LastSeen) -> u64 {
        self.0 | u64::from(seen.0)
    }
}

impl From<MacAddr> for MacKey {
    fn from(mac: MacAddr) -> MacKey {
        MacKey(mac.to_u64() << 16)
    }
}

impl fmt::Debug for MacKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.mac().fmt(f)
    }
}

/// Where and when a host was last seen: port slot 12 | epoch 4.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LastSeen(u16);

impl LastSeen {
    /// Nowhere.
    pub(super) const NOWHERE: LastSeen = LastSeen(0);

    #[inline]
    pub(super) fn new(slot: PortSlot, epoch: Epoch) -> LastSeen {
        LastSeen(slot.0 << 4 | epoch.bits())
    }

    #[inline]
    pub(super) fn slot(self) -> PortSlot {
        PortSlot(self.0 >> 4)
    }

    #[inline]
    pub(super) fn epoch(self) -> Epoch {
        Epoch::from_bits(self.0)
    }
}

/// A cache line.
#[derive(Default, Debug)]
#[repr(align(64))]
pub(super) struct TableLine<W>([W; WORDS]);

/// A line without hosts, for look-ups without a table.
pub(super) static EMPTY: TableLine<AtomicU64> = TableLine([const { AtomicU64::new(0) }; WORDS]);

impl<W: AtomicWord> TableLine<W> {
    /// Whether one of its words says just this of `key`.
    #[inline]
    pub(super) fn holds(&self, key: MacKey, seen: LastSeen) -> bool {
        self.0.iter().fold(false, |found, word| found | (word.load() == key.with(seen)))
    }

    /// What the line says of `key`; nowhere, if none of its words is that of `key` and not frozen.
    /// Without a branch on each word, which could not be predicted.
    #[inline]
    pub(super) fn seen(&self, key: MacKey) -> LastSeen {
        let words = self.0.iter().map(AtomicWord::load);
        words.fold(LastSeen::NOWHERE, |found, word| key.seen_in(word).unwrap_or(found))
    }
}

#[cfg(target_arch = "x86_64")]
impl TableLine<AtomicU64> {
    /// As [`TableLine::holds`], four words at a time.
    #[target_feature(enable = "avx2")]
    #[inline]
    pub(super) fn holds_by_four(&self, key: MacKey, seen: LastSeen) -> bool {
        simd::holds_by_four(&self.0, key.with(seen))
    }

    /// As [`TableLine::seen`], four words at a time.
    #[target_feature(enable = "avx2")]
    #[inline]
    pub(super) fn seen_by_four(&self, key: MacKey) -> LastSeen {
        LastSeen(simd::rest_by_four(&self.0, key.0) as u16)
    }

    /// As [`TableLine::holds`], eight words at a time.
    #[target_feature(enable = "avx512f,avx512dq")]
    #[inline]
    pub(super) fn holds_by_eight(&self, key: MacKey, seen: LastSeen) -> bool {
        simd::holds_by_eight(&self.0, key.with(seen))
    }

    /// As [`TableLine::seen`], eight words at a time.
    #[target_feature(enable = "avx512f,avx512dq")]
    #[inline]
    pub(super) fn seen_by_eight(&self, key: MacKey) -> LastSeen {
        LastSeen(simd::rest_by_eight(&self.0, key.0) as u16)
    }
}

/// What spreads MACs over the lines: random, made once for the process, so that no sender can aim
/// at a line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Seed(u64, u64);

impl Seed {
    /// One that cannot be known outside the process: of the keys that the standard library draws
    /// from the system for its hash maps.
    pub fn random() -> Seed {
        let draw = || RandomState::new().build_hasher().finish();
        Seed(draw(), draw() | 1)
    }

    /// The seed made of 16 random bytes.
    pub fn new(random: [u8; 16]) -> Seed {
        let [low, high] = [u128::from_le_bytes(random), u128::from_le_bytes(random) >> 64];
        Seed(low as u64, high as u64 | 1)
    }

    /// The hash of two words by two products, each folded: its upper bits depend on all of both.
    #[inline]
    pub(crate) fn mix(self, low: u64, high: u64) -> u64 {
        let fold = |a: u64, b: u64| {
            let product = u128::from(a) * u128::from(b);
            product as u64 ^ (product >> 64) as u64
        };
        let Seed(first, second) = self;
        let inner = fold(low ^ first, high ^ second.rotate_left(32) | 1);
        fold(inner ^ high.rotate_left(24) ^ second, first.rotate_left(32) | 1)
    }

    /// Well mixed in its upper bits and its lowest. One product alone would not do: its upper bits
    /// spread addresses in a row evenly with most seeds, and with one in ten very unevenly.
    #[inline(always)]
    fn spread(self, key: MacKey) -> u64 {
        let product = u128::from(key.0 ^ self.0) * u128::from(self.1);
        (product as u64 ^ (product >> 64) as u64).wrapping_mul(GOLDEN)
    }
}

impl fmt::Debug for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seed")
    }
}

/// What a table said of a host before it was told where the host is now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Put {
    /// Nothing.
    New,
    /// It was there already, and this was known of it.
    Known(LastSeen),
    /// This host was seen elsewhere at the same time, and that was kept.
    Yielded,
    /// Nothing, and there is no room for it.
    Full,
}

/// A table of words; [`AtomicU64`] but in models.
pub(super) struct WordTable<W = AtomicU64> {
    lines: Box<[TableLine<W>]>,
    shift: u32,
    seed: Seed,
    used: AtomicUsize,
    growing: AtomicBool,
    next: OnceLock<Arc<WordTable<W>>>,
}

impl<W> fmt::Debug for WordTable<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table")
            .field("lines", &self.lines.len())
            .field("used", &self.used)
            .finish_non_exhaustive()
    }
}

impl<W: AtomicWord> WordTable<W> {
    /// An empty table of so many lines, a power of two.
    pub(super) fn new(seed: Seed, lines: usize) -> WordTable<W> {
        debug_assert!(lines.is_power_of_two() && lines >= LINES_MIN);
        WordTable {
            lines: (0..lines).map(|_| TableLine::default()).collect(),
            shift: u64::BITS - lines.trailing_zeros(),
            seed,
            used: AtomicUsize::new(0),
            growing: AtomicBool::new(false),
            next: OnceLock::new(),
        }
    }

    /// Its lines.
    pub(super) fn lines(&self) -> usize {
        self.lines.len()
    }

    /// Whether so many words are in use that some hosts are not in the first line of their way: one
    /// of two. Time to move on to a larger table, if there may be one.
    pub(super) fn is_half_full(&self) -> bool {
        self.used.load(Ordering::Relaxed) >= self.lines.len() * WORDS / 2
    }

    /// Whether so many words are in use that it is time to move on in any case: four of five.
    pub(super) fn is_crowded(&self) -> bool {
        let words = self.lines.len() * WORDS;
        self.used.load(Ordering::Relaxed) >= words - words / 5
    }

    /// What leads to the first lines.
    #[inline(always)]
    pub(super) fn router(&self) -> Router<'_, W> {
        Router { lines: &self.lines, shift: self.shift, seed: self.seed }
    }

    /// Line `k` of the way of `key`: its home, and then so many steps further, round the page. The
    /// number of steps is odd, so that the way comes by every line before it comes back.
    #[inline]
    fn line(&self, key: MacKey, k: usize) -> &TableLine<W> {
        let hash = self.seed.spread(key);
        let (all, page) = (self.lines.len() - 1, (self.lines.len() - 1) % PAGE);
        let home = (hash >> self.shift) as usize & all;
        let further = home.wrapping_add((hash as usize | 1).wrapping_mul(k));
        &self.lines[(home & !page | further & page) & all]
    }

    /// The words of the way of `key`.
    #[inline]
    fn way(&self, key: MacKey) -> impl Iterator<Item = &W> {
        let lines = WAY.min(self.lines.len());
        (0..lines).flat_map(move |k| &self.line(key, k).0)
    }

    /// Where the host was last seen.
    pub(super) fn find(&self, key: MacKey) -> Option<LastSeen> {
        let (mut table, mut frozen) = (self, None);
        loop {
            match table.spot(key) {
                Spot::Taken(_, word) if word & FROZEN == 0 => return Some(LastSeen(word as u16)),
                Spot::Taken(_, word) => frozen = Some(LastSeen(word as u16)),
                Spot::Free(_, 0) => return frozen,
                Spot::Free(..) | Spot::None => {}
            }
            match table.next.get() {
                Some(next) => table = next,
                None => return frozen,
            }
        }
    }

    /// Notes where the host was seen. Nothing is written if that is known.
    pub(super) fn put(&self, key: MacKey, seen: LastSeen) -> Put {
        let (mut table, mut known) = (self, None);
        loop {
            match table.spot(key) {
                Spot::Taken(word, bits) if bits & FROZEN == 0 => {
                    let there = LastSeen(bits as u16);
                    let first = *known.get_or_insert(there);
                    if yields(first, there, seen) {
                        return Put::Yielded;
                    }
                    if there == seen || word.replace(bits, key.with(seen)).is_ok() {
                        return Put::Known(there);
                    }
                    continue;
                }
                Spot::Taken(_, bits) => known = known.or(Some(LastSeen(bits as u16))),
                Spot::Free(word, 0) => {
                    if word.replace(0, key.with(seen)).is_ok() {
                        table.used.fetch_add(1, Ordering::Relaxed);
                        return known.map_or(Put::New, Put::Known);
                    }
                    continue;
                }
                Spot::Free(..) | Spot::None => {}
            }
            match table.next.get() {
                Some(next) => table = next,
                None => return Put::Full,
            }
        }
    }

    /// Claims the right to make the next table; one caller gets it.
    pub(super) fn claim(&self) -> bool {
        !self.growing.swap(true, Ordering::AcqRel)
    }

    /// Moves on to `next`: carries across what `keep` says, and answers how many hosts found no
    /// room there.
    pub(super) fn move_to(
        &self,
        next: Arc<WordTable<W>>,
        mut keep: impl FnMut(LastSeen) -> bool,
    ) -> usize {
        let next = self.next.get_or_init(|| next);
        let mut lost = 0;
        for word in self.lines.iter().flat_map(|line| &line.0) {
            let bits = word.set(FROZEN);
            let (key, seen) = (MacKey(bits & !(FROZEN | SEEN)), LastSeen(bits as u16));
            if key.0 != 0 && keep(seen) {
                lost += usize::from(!next.adopt(key, seen));
            }
        }
        lost
    }

    /// Forgets, in the `part`-th of `parts` of the table, the hosts of which `stale` says so.
    pub(super) fn sweep(&self, part: usize, parts: usize, stale: impl Fn(LastSeen) -> bool) {
        let lines = self.lines.len();
        let part = lines * part / parts..lines * (part + 1) / parts;
        for word in self.lines[part].iter().flat_map(|line| &line.0) {
            let bits = word.load();
            let seen = LastSeen(bits as u16);
            if bits & FROZEN == 0 && seen != LastSeen::NOWHERE && stale(seen) {
                // A word that changed meanwhile belongs to a host that was seen, or is frozen and
                // judged over there.
                let _ = word.replace(bits, bits & !SEEN);
            }
        }
    }

    /// Where and when each host was last seen, for counting.
    pub(super) fn each(&self) -> impl Iterator<Item = LastSeen> {
        let words = self.lines.iter().flat_map(|line| &line.0).map(AtomicWord::load);
        words.filter(|bits| bits & !(FROZEN | SEEN) != 0).map(|bits| LastSeen(bits as u16))
    }

    /// Takes over a host from the table before, unless it has come by itself. This table is not
    /// left before that is over, for only the latecomers of the one before have it yet.
    fn adopt(&self, key: MacKey, seen: LastSeen) -> bool {
        loop {
            match self.spot(key) {
                Spot::Taken(..) => return true,
                Spot::Free(word, bits) => {
                    if word.replace(bits, key.with(seen)).is_ok() {
                        self.used.fetch_add(1, Ordering::Relaxed);
                        return true;
                    }
                }
                Spot::None => return false,
            }
        }
    }

    /// The word of `key`, or the free one that would become it.
    fn spot(&self, key: MacKey) -> Spot<'_, W> {
        for word in self.way(key) {
            let bits = word.load();
            if bits & !(FROZEN | SEEN) == key.0 {
                return Spot::Taken(word, bits);
            }
            if bits & !FROZEN == 0 {
                return Spot::Free(word, bits);
            }
        }
        Spot::None
    }
}

/// Leads to the first line of a way. A copy of what that takes, so that it can stay in registers.
pub(super) struct Router<'t, W = AtomicU64> {
    lines: &'t [TableLine<W>],
    shift: u32,
    seed: Seed,
}

impl<W> Clone for Router<'_, W> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<W> Copy for Router<'_, W> {}

impl<'t, W> Router<'t, W> {
    /// The first line of the way of `key`.
    #[inline(always)]
    pub(super) fn home(&self, key: MacKey) -> &'t TableLine<W> {
        &self.lines[(self.seed.spread(key) >> self.shift) as usize]
    }
}

/// What a way leads to, and the bits that were there.
enum Spot<'t, W> {
    Taken(&'t W, u64),
    Free(&'t W, u64),
    None,
}

/// Whether a worker that only wanted to say "still there" has to keep quiet: the host was seen
/// elsewhere since it looked first.
fn yields(first: LastSeen, there: LastSeen, seen: LastSeen) -> bool {
    first.slot() == seen.slot() && there.slot() != seen.slot() && there.slot() != PortSlot::NONE
}

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;
