//! What happened a moment ago: a bounded set whose members leave by themselves, shared by several workers without a lock.
//!
//! Who asks whether something is new notes it in the same step, so that of two workers who ask at once exactly one is told
//! yes. The set is an array of rows of eight words. A word is a member: 32 bits of its hash, and when it came in ticks of
//! 2²⁴ ns (17 ms). A key has one row, and in it the place of the oldest member is the next to be taken: whatever time it is
//! to whoever asks, all choose the same place, and one of them wins it.
//!
//! Two keys are taken for one another once in five hundred million look-ups. After 1.1 years without a look at its row a
//! member may seem young again, and hold its place for as long. Modelled with loom.

use core::hash::{BuildHasher, Hash};
use core::sync::atomic::AtomicU64;
use core::time::Duration;

use foldhash::quality::RandomState;

use aldis_control::Time;

use crate::learning_switch::machine::prefetch;
use crate::word::Word;

/// Members of a row: a cache line.
const ROW: usize = 8;

/// Bits of a time in nanoseconds that a tick leaves out.
const TICK: u32 = 24;

/// Members that left their places by themselves a while after they came.
#[derive(Debug)]
pub struct Recent {
    rows: Box<[Row]>,
    // In ticks.
    stay: i32,
    hasher: RandomState,
}

#[derive(Debug, Default)]
#[repr(align(64))]
struct Row([AtomicU64; ROW]);

/// What a set says of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It was not there; now it is.
    New,
    /// It came a moment ago.
    Known,
    /// It was not there, and there is no room for it.
    Full,
}

impl Recent {
    /// Of members that stay for `stay`, rounded up to ticks and at most a year, with room for about `room` of them: rounded up
    /// to a power of two, and at the least eight. A row may be full while others are not.
    pub fn new(room: usize, stay: Duration) -> Recent {
        let rows = room.div_ceil(ROW).max(1).next_power_of_two();
        let ticks = (stay.as_nanos() >> TICK) + 1;
        let stay = i32::try_from(ticks).unwrap_or(i32::MAX).min(i32::MAX / 2);
        let hasher = RandomState::default();
        Recent { rows: (0..rows).map(|_| Row::default()).collect(), stay, hasher }
    }

    /// The hash of a key, by a function that this set alone has.
    #[inline]
    pub fn hash(&self, key: impl Hash) -> u64 {
        self.hasher.hash_one(key)
    }

    /// Starts to bring what is known of a hash.
    #[inline]
    pub fn ask_for(&self, hash: u64) {
        prefetch(self.row(hash));
    }

    /// Whether what has this hash is new, and notes it if so. What is known is not noted again: it leaves when it would
    /// have left. The hash is of a function that whoever sends packets cannot foresee.
    pub fn note(&self, now: Time, hash: u64) -> Verdict {
        note(&self.row(hash).0, self.stay, (now.0 >> TICK) as u32, hash)
    }
}

impl Recent {
    #[inline]
    fn row(&self, hash: u64) -> &Row {
        &self.rows[hash as usize & (self.rows.len() - 1)]
    }
}

/// [`Recent::note`] in one row, of eight places at most.
#[inline]
fn note<W: Word, const N: usize>(row: &[W; N], stay: i32, tick: u32, hash: u64) -> Verdict {
    // Never 0, which is nobody.
    let member = hash >> 32 << 32 | u64::from(tick);
    let member = if member >> 32 == 0 { member | 1 << 32 } else { member };
    loop {
        let found = row.each_ref().map(Word::load);
        // Without a branch for each place: where a member is nobody can foresee.
        let (mut is_known, mut oldest) = (false, i64::MIN);
        for (at, &found) in found.iter().enumerate() {
            let age = if found == 0 { i32::MAX } else { age(found, tick) };
            is_known |= (found >> 32 == member >> 32) & (age < stay);
            // Of several as old the first.
            oldest = oldest.max(i64::from(age) << 3 | (N - 1 - at) as i64);
        }
        if is_known {
            return Verdict::Known;
        }
        if oldest >> 3 < i64::from(stay) {
            return Verdict::Full;
        }
        let at = N - 1 - (oldest & 7) as usize;
        if row[at].replace(found[at], member).is_ok() {
            return Verdict::New;
        }
    }
}

/// Ticks since a member came; negative where a worker whose clock was read later noted it.
fn age(member: u64, tick: u32) -> i32 {
    tick.wrapping_sub(member as u32) as i32
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
        let recent = Recent::new(64, SECOND);
        let at = |milliseconds| Time::START + Duration::from_millis(milliseconds);
        assert_eq!(recent.note(at(100), hash(1)), Verdict::New);
        assert_eq!(recent.note(at(100), hash(2)), Verdict::New);
        assert_eq!(recent.note(at(1090), hash(1)), Verdict::Known);
        assert_eq!(recent.note(at(60), hash(1)), Verdict::Known);
        assert_eq!(recent.note(at(1140), hash(1)), Verdict::New);
        assert_eq!(recent.note(at(1140), hash(1)), Verdict::Known);
    }

    #[test]
    fn a_full_row_takes_nobody_until_somebody_left() {
        let recent = Recent::new(1, SECOND);
        let late = Time::START + 2 * SECOND;
        assert!((1..=8).all(|key| recent.note(Time::START, hash(key)) == Verdict::New));
        assert_eq!(recent.note(Time::START, hash(9)), Verdict::Full);
        assert_eq!(recent.note(Time::START, hash(8)), Verdict::Known);
        assert!((9..=16).all(|key| recent.note(late, hash(key)) == Verdict::New));
        assert_eq!(recent.note(late, hash(1)), Verdict::Full);
    }

    /// Every interleaving of two who ask for the same, by clocks that are apart, while a third takes the place that is next.
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
                loom::thread::spawn(move || note(&row, 60, tick, hash(key)))
            };
            let others = [asks(101, 1), asks(100, 2)];
            let mine = note(&row, 60, 100, hash(1));
            let [same, third] = others.map(|other| other.join().unwrap());
            assert!((mine == Verdict::New) != (same == Verdict::New), "{mine:?} and {same:?}");
            assert_eq!(third, Verdict::New);
            assert_eq!([1, 2].map(|key| note(&row, 60, 101, hash(key))), [Verdict::Known; 2]);
        });
    }

    #[test]
    fn of_many_who_ask_at_once_one_is_told_yes() {
        const KEYS: u64 = 500;
        let recent = Recent::new(4096, SECOND);
        let new: Vec<AtomicUsize> = (0..KEYS).map(|_| AtomicUsize::new(0)).collect();
        std::thread::scope(|scope| {
            for worker in 0..4 {
                let (recent, new) = (&recent, &new);
                scope.spawn(move || {
                    for key in 0..KEYS {
                        // Their clocks are a little apart.
                        let now = Time(key << 14 | worker);
                        if recent.note(now, hash(key)) == Verdict::New {
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
            let recent = Recent::new(1 << 12, SECOND);
            let (mut now, mut map) = (Time::START, BTreeMap::new());
            for (key, pause) in asks {
                now = now + Duration::from_millis(pause);
                let tick = now.0 >> TICK;
                let stays = |since: &u64| tick - since < 60;
                let expected =
                    if map.get(&key).is_some_and(stays) { Verdict::Known } else { Verdict::New };
                if expected == Verdict::New {
                    map.insert(key, tick);
                }
                prop_assert_eq!(recent.note(now, hash(key)), expected);
            }
        }
    }
}
