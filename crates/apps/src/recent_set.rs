//! Duplicate suppression: a bounded set of what happened a moment ago. Its members leave by
//! themselves, and several workers share it without a lock.
//!
//! Asking whether a key is new notes it in the same step, so that of two workers that ask at once
//! exactly one is told yes. The set is an array of rows of eight words: a row is one cache line, so
//! that a look-up costs one miss of the cache. A word is a member:
//!
//! ```text
//! hash 32 | times 4 | tick 28        0 where there is none
//! ```
//!
//! A tick is 2²⁴ ns (17 ms). `times` is how often the member was noted since it came, less one: a
//! caller may let a key come several times before it is known ([`RecentSet::note_times`]). A key
//! has one row, and in it the place of the oldest member is the next to be taken: whatever the
//! clocks of the workers say, all choose the same place, and one of them wins it.
//!
//! Two keys are taken for one another once in five hundred million look-ups. A member whose row
//! nothing was noted in for 52 days may seem young again, for as long as a young one stays.
//! Modelled with loom.

use core::hash::{BuildHasher, Hash};
use core::sync::atomic::AtomicU64;
use core::time::Duration;
use std::sync::OnceLock;

use foldhash::quality::RandomState;

use aldis_control::Time;

use crate::learning_switch::simd::prefetch;
use crate::sync::AtomicWord;

/// Members of a row: a cache line.
const ROW: usize = 8;

/// Bits of a time in nanoseconds that a tick leaves out.
const TICK: u32 = 24;

/// Bits of a word that are its tick.
const TICK_BITS: u32 = 28;

/// One of the times that a word counts.
const ONCE: u64 = 1 << TICK_BITS;

/// The most times that a word can count.
pub const TIMES_MAX: u64 = 16;

/// Ticks that the clocks of two workers may be apart: a member from further ahead is one from long
/// ago.
const APART_MAX: u32 = 64;

/// Members that left their places by themselves a while after they came.
#[derive(Debug)]
pub struct RecentSet {
    /// Made when the first key is noted: a controller without switches needs none of them.
    rows: OnceLock<Box<[Row]>>,
    /// How many they are: a power of two.
    row_count: usize,
    // In ticks, and as much as clocks may be apart.
    stay: u32,
    hasher: RandomState,
}

#[derive(Debug, Default)]
#[repr(align(64))]
struct Row([AtomicU64; ROW]);

/// What a set says of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Recency {
    /// It was not there; now it is.
    New,
    /// It came a moment ago.
    Known,
    /// It was not there, and there is no room for it.
    Full,
}

impl RecentSet {
    /// Of members that stay for `stay`, rounded up to ticks and at most 12 days, with room for
    /// about `room` of them: rounded up to a power of two, and at the least eight. A row may be
    /// full while others are not.
    pub fn new(room: usize, stay: Duration) -> RecentSet {
        let row_count = room.div_ceil(ROW).max(1).next_power_of_two();
        let ticks = (stay.as_nanos() >> TICK) + 1;
        let stay = u32::try_from(ticks).unwrap_or(u32::MAX).min(1 << (TICK_BITS - 2)) + APART_MAX;
        let hasher = RandomState::default();
        RecentSet { rows: OnceLock::new(), row_count, stay, hasher }
    }

    /// The hash of a key, by a function that this set alone has.
    #[inline]
    pub fn hash(&self, key: impl Hash) -> u64 {
        self.hasher.hash_one(key)
    }

    /// Starts to bring what is known of a hash.
    #[inline]
    pub fn ask_for(&self, hash: u64) {
        if let Some(rows) = self.rows.get() {
            prefetch(row(rows, hash));
        }
    }

    /// Whether the key with this hash is new, and notes it if so. A known key is not noted again:
    /// it leaves when it would have left. The sender of a packet cannot foresee the hash function.
    #[inline]
    pub fn note(&self, now: Time, hash: u64) -> Recency {
        self.note_times(now, hash, 1)
    }

    /// The same, where a key may come so many times, [`TIMES_MAX`] at most, before it is known. All
    /// of them leave together, when the first would have left.
    #[inline]
    pub fn note_times(&self, now: Time, hash: u64, times: u64) -> Recency {
        note(&row(self.rows(), hash).0, self.stay, Tick::of(now).0, (hash, times)).0
    }

    /// As [`RecentSet::note`], and since when a known key is there; of another key, now.
    #[inline]
    pub(crate) fn note_since(&self, now: Time, hash: u64) -> (Recency, Tick) {
        let (verdict, tick) =
            note(&row(self.rows(), hash).0, self.stay, Tick::of(now).0, (hash, 1));
        (verdict, Tick(tick))
    }

    /// Whether the key with this hash came a moment ago. Nothing is noted.
    pub fn knows(&self, now: Time, hash: u64) -> bool {
        let Tick(tick) = Tick::of(now);
        let Some(rows) = self.rows.get() else { return false };
        let words = row(rows, hash).0.iter().map(AtomicWord::load);
        words
            .filter(|word| *word != 0)
            .any(|word| (word >> 32) as u32 == name_of(hash) && age(word, tick) < self.stay)
    }
}

/// A time as a set keeps it: in ticks, modulo 52 days.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tick(u32);

impl Tick {
    /// The tick of a time.
    #[inline]
    pub(crate) fn of(now: Time) -> Tick {
        Tick((now.0 >> TICK) as u32 & (ONCE as u32 - 1))
    }

    /// The same in two bytes.
    #[inline]
    pub(crate) fn short(self) -> ShortTick {
        ShortTick(self.0 as u16)
    }
}

/// A [`Tick`] modulo 18 minutes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct ShortTick(u16);

impl ShortTick {
    /// Whether a member that came then is still in a set whose members stay for `stay`. One from a
    /// multiple of 18 minutes ago seems to be.
    #[inline]
    pub(crate) fn is_young(self, stay: Duration, now: Tick) -> bool {
        let age = now.short().0.wrapping_sub(self.0);
        u128::from(age) <= stay.as_nanos() >> TICK
    }
}

impl RecentSet {
    #[inline]
    fn rows(&self) -> &[Row] {
        self.rows.get_or_init(|| make_rows(self.row_count))
    }
}

/// So many rows without a member.
#[cold]
fn make_rows(count: usize) -> Box<[Row]> {
    (0..count).map(|_| Row::default()).collect()
}

/// The row of a hash. There is a power of two of them.
#[inline]
fn row(rows: &[Row], hash: u64) -> &Row {
    &rows[hash as usize & (rows.len() - 1)]
}

/// [`RecentSet::note_times`] in one row, of eight places at most, and the tick of the member.
#[inline]
fn note<W: AtomicWord, const N: usize>(
    row: &[W; N],
    stay: u32,
    tick: u32,
    (hash, times): (u64, u64),
) -> (Recency, u32) {
    debug_assert!((1..=TIMES_MAX).contains(&times), "{times} times");
    let name = name_of(hash);
    loop {
        // All of it is decided on one look at the row: what another worker changes meanwhile makes
        // the replacement fail.
        let found = row.each_ref().map(AtomicWord::load);
        // Without a branch for each place: where a member is cannot be foreseen.
        let mut known = 0;
        for (at, word) in found.iter().enumerate() {
            known |= u32::from((word >> 32) as u32 == name) << at;
        }
        // One that came too long ago keeps its place until another takes it, so that a name may
        // stand there twice: once young.
        let mut known = Bits(known).map(|at| (at, found[at]));
        let is_young =
            |(_, word): &(usize, u64)| (*word >> 32) as u32 == name && age(*word, tick) < stay;
        if let Some((at, word)) = known.find(is_young) {
            if (word >> TICK_BITS) % TIMES_MAX + 1 >= times {
                return (Recency::Known, word as u32 & (ONCE as u32 - 1));
            }
            if row[at].replace(word, word + ONCE).is_ok() {
                return (Recency::New, tick);
            }
            continue;
        }
        let (at, word) = oldest(&found, tick);
        if word != 0 && age(word, tick) < stay {
            return (Recency::Full, tick);
        }
        if row[at].replace(word, u64::from(name) << 32 | u64::from(tick)).is_ok() {
            return (Recency::New, tick);
        }
    }
}

/// What a key is called in its row: never 0, by which a place is free.
#[inline]
fn name_of(hash: u64) -> u32 {
    ((hash >> 32) as u32).max(1)
}

/// The place of the oldest member, of several as old the first, and what is there.
#[inline]
fn oldest<const N: usize>(row: &[u64; N], tick: u32) -> (usize, u64) {
    // The age above, and the places below in the order in which they are taken: one number to
    // compare.
    const PLACE_BITS: u32 = u32::BITS - TICK_BITS - 1;
    const { assert!(N <= 1 << PLACE_BITS) };
    let mut oldest = 0;
    for (at, &word) in row.iter().enumerate() {
        // A free place is as old as can be.
        let age = if word == 0 { ONCE as u32 - 1 } else { age(word, tick) };
        oldest = oldest.max(age << PLACE_BITS | (N - 1 - at) as u32);
    }
    let at = N - 1 - (oldest as usize & ((1 << PLACE_BITS) - 1));
    (at, row[at])
}

/// Ticks since a member came, and [`APART_MAX`] more: one that a worker noted whose clock was read
/// later is as young as can be.
#[inline]
fn age(member: u64, tick: u32) -> u32 {
    (tick + APART_MAX).wrapping_sub(member as u32) & (ONCE as u32 - 1)
}

/// The places of the bits of a word that are set, from the lowest on.
struct Bits(u32);

impl Iterator for Bits {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        let at = self.0.trailing_zeros();
        self.0 &= self.0.wrapping_sub(1);
        (at < u32::BITS).then_some(at as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::sync::atomic::{AtomicUsize, Ordering};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    const SECOND: Duration = Duration::from_secs(1);

    fn hash(of: u64) -> u64 {
        of.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
    }

    #[test]
    fn what_came_a_moment_ago_is_known_and_later_it_is_new() {
        let recent = RecentSet::new(64, SECOND);
        let at = |milliseconds| Time::START + Duration::from_millis(milliseconds);
        assert_eq!(recent.note(at(100), hash(1)), Recency::New);
        assert_eq!(recent.note(at(100), hash(2)), Recency::New);
        assert_eq!(recent.note(at(1090), hash(1)), Recency::Known);
        assert_eq!(recent.note(at(60), hash(1)), Recency::Known);
        assert_eq!(recent.note(at(1140), hash(1)), Recency::New);
        assert_eq!(recent.note(at(1140), hash(1)), Recency::Known);
    }

    #[test]
    fn whether_a_key_is_known_can_be_asked_without_noting_it() {
        let recent = RecentSet::new(64, SECOND);
        let at = |milliseconds| Time::START + Duration::from_millis(milliseconds);
        assert!(!recent.knows(at(100), hash(1)) && !recent.knows(at(100), hash(1)));
        assert_eq!(recent.note(at(100), hash(1)), Recency::New);
        assert!(recent.knows(at(1000), hash(1)) && !recent.knows(at(1000), hash(2)));
        assert!(!recent.knows(at(1140), hash(1)));
    }

    #[test]
    fn a_set_takes_no_memory_before_a_key_is_noted() {
        let recent = RecentSet::new(1 << 16, SECOND);
        recent.ask_for(hash(1));
        assert!(!recent.knows(Time::START, hash(1)) && recent.rows.get().is_none());
        assert_eq!(recent.note(Time::START, hash(1)), Recency::New);
        assert_eq!(recent.rows.get().map(|rows| rows.len()), Some(1 << 13));
    }

    #[test]
    fn a_full_row_takes_nobody_until_somebody_left() {
        let recent = RecentSet::new(1, SECOND);
        let late = Time::START + 2 * SECOND;
        assert!((1..=8).all(|key| recent.note(Time::START, hash(key)) == Recency::New));
        assert_eq!(recent.note(Time::START, hash(9)), Recency::Full);
        assert_eq!(recent.note(Time::START, hash(8)), Recency::Known);
        assert!((9..=16).all(|key| recent.note(late, hash(key)) == Recency::New));
        assert_eq!(recent.note(late, hash(1)), Recency::Full);
    }

    /// Every interleaving of two workers that ask for the same, by clocks that are apart, while a
    /// third takes the place that is next.
    #[test]
    fn whoever_else_comes_one_of_two_who_ask_is_told_yes() {
        use loom::sync::Arc;
        use loom::sync::atomic::AtomicU64 as Watched;
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(2);
        builder.check(|| {
            let row = Arc::new([Watched::new(0), Watched::new(hash(7) >> 32 << 32)]);
            let asks = |tick, key| {
                let row = Arc::clone(&row);
                loom::thread::spawn(move || note(&row, 60 + APART_MAX, tick, (hash(key), 1)).0)
            };
            let others = [asks(101, 1), asks(100, 2)];
            let mine = note(&row, 60 + APART_MAX, 100, (hash(1), 1)).0;
            let [same, third] = others.map(|other| other.join().unwrap());
            assert!((mine == Recency::New) != (same == Recency::New), "{mine:?} and {same:?}");
            assert_eq!(third, Recency::New);
            let again = [1, 2].map(|key| note(&row, 60 + APART_MAX, 101, (hash(key), 1)).0);
            assert_eq!(again, [Recency::Known; 2]);
        });
    }

    /// Every interleaving of three workers that note one key which may come twice.
    #[test]
    fn a_key_that_may_come_twice_comes_twice_whichever_workers_ask() {
        use loom::sync::Arc;
        use loom::sync::atomic::AtomicU64 as Watched;
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(2);
        builder.check(|| {
            let row = Arc::new([Watched::new(0), Watched::new(0)]);
            let others = [100, 101].map(|tick| {
                let row = Arc::clone(&row);
                loom::thread::spawn(move || note(&row, 60 + APART_MAX, tick, (hash(1), 2)).0)
            });
            let mine = note(&row, 60 + APART_MAX, 100, (hash(1), 2)).0;
            let verdicts = others.map(|other| other.join().unwrap());
            let new = verdicts.iter().chain([&mine]).filter(|&&verdict| verdict == Recency::New);
            assert_eq!(new.count(), 2, "{mine:?}, {verdicts:?}");
        });
    }

    #[test]
    fn a_key_that_may_come_several_times_leaves_when_its_first_time_would() {
        let recent = RecentSet::new(64, SECOND);
        let at = |milliseconds| Time::START + Duration::from_millis(milliseconds);
        let note = |milliseconds| recent.note_times(at(milliseconds), hash(1), 3);
        assert_eq!([0, 300, 900].map(note), [Recency::New; 3]);
        assert_eq!(note(950), Recency::Known);
        assert_eq!(note(1100), Recency::New);
        let all = (0..TIMES_MAX + 4).map(|_| recent.note_times(at(0), hash(2), TIMES_MAX));
        assert_eq!(all.filter(|&verdict| verdict == Recency::New).count(), TIMES_MAX as usize);
        // It takes one place of its row, however often it came.
        let row = RecentSet::new(1, SECOND);
        (0..8).for_each(|_| assert_eq!(row.note_times(at(0), hash(9), 8), Recency::New));
        assert!((1..=7).all(|key| row.note(at(0), hash(key)) == Recency::New));
    }

    #[test]
    fn a_member_from_long_ago_does_not_hold_its_place() {
        const DAY: Duration = Duration::from_secs(24 * 3600);
        for days in [1, 12, 25, 27, 40, 51, 53, 100, 1000] {
            let recent = RecentSet::new(1, SECOND);
            let all = |now| (1..=8).all(|key| recent.note(now, hash(key)) == Recency::New);
            assert!(all(Time::START) && all(Time::START + days * DAY), "{days} days");
        }
    }

    #[test]
    fn of_many_who_ask_at_once_one_is_told_yes() {
        const KEYS: u64 = 500;
        let recent = RecentSet::new(4096, SECOND);
        let new: Vec<AtomicUsize> = (0..KEYS).map(|_| AtomicUsize::new(0)).collect();
        std::thread::scope(|scope| {
            for worker in 0..4 {
                let (recent, new) = (&recent, &new);
                scope.spawn(move || {
                    for key in 0..KEYS {
                        // Their clocks are a little apart.
                        let now = Time(key << 14 | worker);
                        if recent.note(now, hash(key)) == Recency::New {
                            new[key as usize].fetch_add(1, Ordering::Relaxed);
                        }
                    }
                });
            }
        });
        assert!(new.iter().all(|new| new.load(Ordering::Relaxed) == 1));
    }

    proptest! {
        #[test]
        fn it_says_what_a_map_would_say(asks in prop::collection::vec((0..40u64, 0..400u64), 1..200)) {
            let recent = RecentSet::new(1 << 12, SECOND);
            let (mut now, mut map) = (Time::START, BTreeMap::new());
            for (key, pause) in asks {
                now = now + Duration::from_millis(pause);
                let tick = now.0 >> TICK;
                let stays = |since: &u64| tick - since < 60;
                let expected =
                    if map.get(&key).is_some_and(stays) { Recency::Known } else { Recency::New };
                if expected == Recency::New {
                    map.insert(key, tick);
                }
                prop_assert_eq!(recent.note(now, hash(key)), expected);
            }
        }
    }
}
