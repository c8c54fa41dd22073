//! The table against a map, and how full it gets.

use std::collections::HashMap;

use arc_swap::ArcSwap;
use proptest::prelude::*;

use super::*;
#[cfg(target_arch = "x86_64")]
use crate::learning_switch::simd::Width;

const HOST: u64 = 0x0200_0000_0099;

fn seed() -> Seed {
    Seed::new(*b"\x1b\x8f\x35\xd2\x6c\xe0\x47\xa9\x53\xf1\x0d\x96\x7e\x2b\xc4\x68")
}

fn key(host: u64) -> MacKey {
    MacKey::from(MacAddr::from_u64(host))
}

fn seen(slot: u16) -> LastSeen {
    LastSeen::new(PortSlot(slot), Epoch::from_bits(slot))
}

fn table(lines: usize) -> WordTable {
    WordTable::new(seed(), lines)
}

fn put(table: &WordTable, host: u64, slot: u16) {
    assert_ne!(table.put(key(host), seen(slot)), Put::Full);
}

proptest! {
    #[test]
    fn it_says_what_a_map_would_say(puts in prop::collection::vec((1u64..200, 1u16..4096), 0..400)) {
        let (table, mut map) = (table(64), HashMap::new());
        for (host, slot) in puts {
            let before = map.insert(host, seen(slot));
            prop_assert_eq!(table.put(key(host), seen(slot)), before.map_or(Put::New, Put::Known));
        }
        for host in 1..200 {
            prop_assert_eq!(table.find(key(host)), map.get(&host).copied());
        }
        prop_assert_eq!(table.each().count(), map.len());
    }

    #[test]
    fn moving_on_loses_nothing_that_is_kept(puts in prop::collection::vec((1u64..400, 1u16..4096), 0..100)) {
        let (old, mut map) = (table(16), HashMap::new());
        for (host, slot) in puts {
            if old.put(key(host), seen(slot)) != Put::Full {
                map.insert(host, seen(slot));
            }
        }
        let next = Arc::new(table(32));
        prop_assert_eq!(old.move_to(Arc::clone(&next), |seen| seen.slot().0 % 2 == 0), 0);
        for (host, seen) in map {
            let kept = (seen.slot().0 % 2 == 0).then_some(seen);
            prop_assert_eq!(next.find(key(host)), kept);
            // A worker that still holds the old table is led on.
            prop_assert_eq!(old.put(key(host), LastSeen::new(PortSlot(9), seen.epoch())), Put::Known(seen));
            prop_assert_eq!(next.find(key(host)).map(LastSeen::slot), Some(PortSlot(9)));
        }
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn many_words_at_a_time_are_as_good_as_one_by_one() {
    let width = Width::here();
    for place in 0..=WORDS {
        for near in [0, 1 << 16, 1 << 47, 1 << 63, FROZEN] {
            let line = TableLine::default();
            for (at, word) in line.0.iter().enumerate() {
                let host = if at == place { key(HOST).0 } else { near & !FROZEN | 1 << 40 };
                AtomicU64::store(word, host | near & FROZEN | (at as u64 + 1), Ordering::Relaxed);
            }
            for at in [place, (place + 1) % WORDS] {
                let (key, there) = (key(HOST), LastSeen(at as u16 + 1));
                let found = (line.holds(key, there), line.seen(key));
                assert!(near == FROZEN || found.0 == (at == place && place < WORDS));
                if width >= Width::Four {
                    // SAFETY: the processor has what the functions ask for.
                    let by_four =
                        unsafe { (line.holds_by_four(key, there), line.seen_by_four(key)) };
                    assert_eq!(by_four, found);
                }
                if width >= Width::Eight {
                    // SAFETY: likewise.
                    let by_eight =
                        unsafe { (line.holds_by_eight(key, there), line.seen_by_eight(key)) };
                    assert_eq!(by_eight, found);
                }
            }
            let here = if place < WORDS && near != FROZEN { place as u16 + 1 } else { 0 };
            assert_eq!(line.seen(key(HOST)), LastSeen(here));
        }
    }
}

/// Ways in which networks number their hosts.
const NUMBERINGS: [fn(u64) -> u64; 5] = [
    |host| 0x0200_0000_0000 + host,
    |host| host << 8,
    |host| host << 22,
    |host| (host % 1000) << 24 | (host / 1000) << 4,
    |host| (host & 0x7f) << 41 | host >> 7,
];

#[test]
fn four_words_of_five_are_used_and_no_host_is_lost() {
    for lines in [LINES_MIN, 64, 16_384] {
        for number in NUMBERINGS {
            let table = table(lines);
            let mut hosts = 1;
            while !table.is_crowded() {
                assert_eq!(table.put(key(number(hosts)), seen(1)), Put::New);
                hosts += 1;
            }
            assert_eq!(hosts - 1, (lines * 8 - lines * 8 / 5) as u64);
            assert!((1..hosts).all(|host| table.find(key(number(host))) == Some(seen(1))));
        }
    }
}

#[test]
fn most_hosts_are_at_home() {
    for number in NUMBERINGS {
        let table = table(32_768);
        let hosts = 1..=131_072;
        hosts.clone().for_each(|host| put(&table, number(host), 1));
        let at_home = |host: &u64| {
            let key = key(number(*host));
            table.router().home(key).seen(key) != LastSeen::NOWHERE
        };
        assert!(hosts.filter(at_home).count() > 129_000);
    }
}

#[test]
fn a_full_table_says_so() {
    let table = table(LINES_MIN);
    (1..=128).for_each(|host| assert_eq!(table.put(key(host), seen(1)), Put::New));
    assert_eq!(table.put(key(129), seen(1)), Put::Full);
    assert_eq!(table.find(key(129)), None);
    assert_eq!(table.put(key(128), seen(2)), Put::Known(seen(1)));
}

#[test]
fn a_refresh_yields_to_a_move() {
    assert!(yields(seen(1), seen(2), seen(1)));
    assert!(!yields(seen(1), seen(1), seen(1)));
    assert!(!yields(seen(1), seen(2), seen(3)));
    assert!(!yields(seen(1), LastSeen::NOWHERE, seen(1)));
}

#[test]
fn the_sweep_forgets_and_a_pass_is_whole() {
    let table = table(64);
    (1..=300).for_each(|host| put(&table, host, host as u16));
    for part in 0..7 {
        table.sweep(part, 7, |seen| seen.slot().0 % 3 == 0);
    }
    for host in 1..=300 {
        let expected = if host % 3 == 0 { LastSeen::NOWHERE } else { seen(host) };
        assert_eq!(table.find(key(host.into())), Some(expected));
    }
    assert_eq!(table.put(key(3), seen(5)), Put::Known(LastSeen::NOWHERE));
}

#[test]
fn a_frozen_word_is_no_groups() {
    let host = 0x0200_0000_0001;
    let old = table(16);
    old.put(key(host), seen(1));
    old.move_to(Arc::new(table(16)), |_| true);
    assert_eq!(old.router().home(key(host)).seen(key(host)), LastSeen::NOWHERE);
    assert!(!key(host | 1 << 40).is_host());
}

#[test]
fn a_host_without_room_in_the_next_table_is_said_to_be_where_it_was() {
    let (old, next) = (table(LINES_MIN), table(LINES_MIN));
    put(&old, 1_000, 1);
    (1..=128).for_each(|host| put(&next, host, 1));
    assert_eq!(old.move_to(Arc::new(next), |_| true), 1);
    assert_eq!(old.put(key(1_000), seen(2)), Put::Full);
    assert_eq!(old.find(key(1_000)), Some(seen(1)));
}

/// Threads that learn, move and look up over many growths; each host is one thread's, so what it
/// said last is known.
///
/// A thread that is put aside in the middle of a growth may leave the others a full table. Hosts
/// may be forgotten then, and that is counted: a thread that comes with an older table finds what
/// was said of them before. Where none was, what is remembered is never older than what was said
/// last.
#[test]
fn a_moved_host_stays_moved_whoever_grows_the_table() {
    const THREADS: u64 = 3;
    const HOSTS: u64 = 600;
    for round in 0..30 {
        let shared = Shared::default();
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let (shared, hosts) = (&shared, (1..HOSTS).map(move |at| at * THREADS + thread));
                scope.spawn(move || shared.move_hosts(hosts, round));
            }
        });
        (THREADS..HOSTS * THREADS).for_each(|host| shared.expect(&shared.table.load(), host, 3));
        let [lost, missed] = [shared.lost, shared.missed].map(AtomicUsize::into_inner);
        assert!(missed == 0 || lost > 0, "{missed} hosts were forgotten, and none counted");
    }
}

/// What the threads share: the table, how many hosts found no room in it, and how often one was not
/// there.
struct Shared {
    table: ArcSwap<WordTable>,
    lost: AtomicUsize,
    missed: AtomicUsize,
}

impl Default for Shared {
    fn default() -> Shared {
        Shared {
            table: ArcSwap::from_pointee(table(LINES_MIN)),
            lost: AtomicUsize::new(0),
            missed: AtomicUsize::new(0),
        }
    }
}

impl Shared {
    fn move_hosts(&self, hosts: impl Iterator<Item = u64> + Clone, round: usize) {
        let first = self.table.load_full();
        for slot in [1, 2, 3] {
            for (at, host) in hosts.clone().enumerate() {
                // Some workers are late: the first table is all they know.
                let late = at % 5 == round % 5;
                let table = if late { first.clone() } else { self.table.load_full() };
                self.put(&table, host, slot);
                self.grow();
                self.expect(&first, host, slot);
            }
        }
    }

    fn put(&self, table: &WordTable, host: u64, slot: u16) {
        match table.put(key(host), seen(slot)) {
            Put::New if slot > 1 => count(&self.missed, 1),
            Put::New => {}
            Put::Known(before) => self.agree(before, host, slot - 1),
            Put::Full => count(&self.lost, 1),
            Put::Yielded => panic!("host {host} is in one place only"),
        }
    }

    fn grow(&self) {
        let table = self.table.load_full();
        if table.is_crowded() && table.claim() {
            let next = Arc::new(WordTable::new(seed(), table.lines() * 2));
            let lost = table.move_to(next.clone(), |_| true);
            count(&self.lost, lost);
            self.table.store(next);
        }
    }

    fn expect(&self, table: &WordTable, host: u64, slot: u16) {
        match table.find(key(host)) {
            Some(found) => self.agree(found, host, slot),
            None => count(&self.missed, 1),
        }
    }

    fn agree(&self, found: LastSeen, host: u64, slot: u16) {
        let lost = self.lost.load(Ordering::Relaxed);
        assert!(found == seen(slot) || lost > 0, "host {host}: {found:?}, not slot {slot}");
    }
}

fn count(counter: &AtomicUsize, more: usize) {
    counter.fetch_add(more, Ordering::Relaxed);
}
