//! What goes in comes out, in order; and what is lost is counted.

use std::time::{Duration, Instant};

use aldis_control::Time;
use aldis_control::stats::WorkerStats;
use aldis_recording::{Mark, RecordedEvent};

use super::*;
use crate::conn::ConnId;
use crate::limits::TAP_FLUSH_EVERY;

fn tap() -> (Tap, TapWriter) {
    let shared = Arc::new(TapShared::new(1));
    let writer = TapWriter::new(Arc::clone(&shared), 0);
    (Tap(shared), writer)
}

/// All bytes read from a connection, and the gaps.
fn drained(tap: &Tap) -> (Vec<u8>, u64, u64) {
    let (mut all, mut lost, mut lost_bytes) = (vec![], 0, 0);
    while let Some(chunk) = tap.take(0) {
        let mut held = ChunkTally::default();
        for timed in chunk.events() {
            held.last_ns = timed.at_ns;
            match timed.event {
                RecordedEvent::Read { conn: 7, bytes, more } => {
                    all.extend_from_slice(bytes);
                    held.events += u64::from(!more);
                    held.bytes += bytes.len() as u64;
                }
                RecordedEvent::Gap { events, bytes } => {
                    lost += events;
                    lost_bytes += bytes;
                    held.events += events;
                    held.bytes += bytes;
                }
                other => {
                    assert_eq!(other, RecordedEvent::Marked(Mark::Batch { ran_ns: 7 }));
                }
            }
        }
        assert_eq!(*chunk.tally(), held);
        tap.give_back(chunk);
    }
    (all, lost, lost_bytes)
}

#[test]
fn what_is_copied_comes_out_whole_and_in_order() {
    let (tap, mut writer) = tap();
    assert!(!writer.is_on());
    tap.turn_on();
    let mut all = vec![];
    for number in 0..400u32 {
        let len = (number as usize * 7919) % (TAP_CHUNK + 3000);
        let bytes: Vec<u8> = (0..len).map(|at| (at as u32 ^ number) as u8).collect();
        writer.read(Time(number.into()), ConnId(7), &bytes);
        writer.ran(Time(number.into()), Time(7));
        all.extend(bytes);
        if number % 20 == 19 {
            writer.flush(Time::NEVER);
            let (some, lost, _) = drained(&tap);
            assert_eq!(lost, 0);
            assert!(all == some, "{number}");
            all.clear();
        }
    }
}

#[test]
fn what_finds_no_chunk_is_counted_in_front_of_what_comes_next() {
    let (tap, mut writer) = tap();
    tap.turn_on();
    let message = [1; 5000];
    let mut given = 0;
    for _ in 0..2_000 {
        writer.read(Time::START, ConnId(7), &message);
        given += message.len() as u64;
    }
    writer.flush(Time::NEVER);
    let (some, lost, _) = drained(&tap);
    assert_eq!(lost, 0, "nothing came behind what was lost");
    assert!(some.len() > TAP_CHUNKS * TAP_CHUNK * 9 / 10 && (some.len() as u64) < given);
    writer.ran(Time::START, Time(7));
    writer.flush(Time::NEVER);
    let (_, lost, bytes) = drained(&tap);
    assert_eq!(some.len() as u64 + bytes, given);
    assert!(lost > 500);
}

#[test]
fn a_worker_that_does_not_run_holds_back_what_is_complete() {
    let (tap, mut writer) = tap();
    tap.turn_on();
    assert_eq!(tap.complete_until(Time(90)), Time(90), "all lanes sleep");
    // It wakes, and the kernel stops it before it has looked at the clock.
    writer.wake();
    assert_eq!(tap.complete_until(Time(90)), Time::START);
    writer.woke(Time(50));
    assert_eq!(tap.complete_until(Time(90)), Time(50));
    writer.read(Time(60), ConnId(7), &[1; 100]);
    writer.read(Time(70), ConnId(7), &[1; 100]);
    assert_eq!(writer.flush(Time(80)), Time(60) + TAP_FLUSH_EVERY);
    assert_eq!(tap.complete_until(Time(90)), Time(60), "it has that in hand");
    let later = Time(60) + TAP_FLUSH_EVERY;
    writer.flush(later);
    assert_eq!(tap.complete_until(later), later);
    assert_eq!(drained(&tap).0.len(), 200);
}

#[test]
fn one_worker_alone_has_nothing_to_wait_for() {
    let (tap, mut writer) = tap();
    tap.turn_on();
    tap.want_app_lock(true);
    assert_eq!(writer.lock_apps(&WorkerStats::default()), None);
    let shared = Arc::new(TapShared::new(2));
    let [mut one, mut other] = [0, 1].map(|lane| TapWriter::new(Arc::clone(&shared), lane));
    let (tap, stats) = (Tap(shared), WorkerStats::default());
    tap.turn_on();
    tap.want_app_lock(true);
    assert_eq!(one.lock_apps(&stats), Some(true));
    assert_eq!(one.lock_apps(&stats), None, "it has it");
    assert_eq!(other.lock_apps(&stats), Some(false), "it waited long enough");
    other.unlock_apps();
    one.unlock_apps();
    assert_eq!(other.lock_apps(&stats), Some(true));
    // What was locked is unlocked, also where it is not wanted any more.
    tap.turn_off();
    other.unlock_apps();
    tap.turn_on();
    tap.want_app_lock(true);
    assert_eq!(one.lock_apps(&stats), Some(true));
}

#[test]
fn chunks_of_a_lane_are_put_together_with_what_they_hold_in_all() {
    let (tap, mut writer) = tap();
    tap.turn_on();
    let ends = Endpoints {
        peer: "192.0.2.1:40000".parse().unwrap(),
        local: "192.0.2.2:6653".parse().unwrap(),
    };
    let mut joined = Chunk::resident(0, 500);
    writer.opened(Time(3), ConnId(7), &ends);
    writer.read(Time(4), ConnId(7), &[1; 100]);
    writer.flush(Time::NEVER);
    assert!(joined.append(&tap.take(0).unwrap()));
    writer.wrote(Time(5), ConnId(7), &[2; 200]);
    writer.flush(Time::NEVER);
    assert!(joined.append(&tap.take(0).unwrap()));
    let held = ChunkTally { last_ns: 5, events: 2, bytes: 300, has_ends: true };
    assert_eq!((joined.events().count(), *joined.tally()), (3, held));
    writer.wrote(Time(6), ConnId(7), &[2; 200]);
    writer.flush(Time::NEVER);
    assert!(!joined.append(&tap.take(0).unwrap()), "there is no room");
    let empty = joined.emptied(1);
    assert_eq!((empty.lane(), empty.len(), *empty.tally()), (1, 0, ChunkTally::default()));
    assert!(empty.capacity() >= 500);
}

#[test]
fn a_worker_that_fills_most_of_its_lane_wakes_the_recorder_once() {
    let (tap, mut writer) = tap();
    tap.turn_on();
    tap.wakes_me();
    let is_woken = |within| {
        let began = Instant::now();
        std::thread::park_timeout(within);
        began.elapsed() < within
    };
    let message = [1; TAP_CHUNK - 100];
    (0..TAP_CHUNKS * 3 / 4 - 1).for_each(|_| writer.read(Time::START, ConnId(7), &message));
    assert!(!is_woken(Duration::from_millis(20)), "nothing is urgent yet");
    (0..2).for_each(|_| writer.read(Time::START, ConnId(7), &message));
    assert!(is_woken(Duration::from_secs(10)));
    (0..TAP_CHUNKS).for_each(|_| writer.read(Time::START, ConnId(7), &message));
    assert!(!is_woken(Duration::from_millis(20)), "it knows already");
    drained(&tap);
    (0..TAP_CHUNKS).for_each(|_| writer.read(Time::START, ConnId(7), &message));
    assert!(is_woken(Duration::from_secs(10)));
}

#[test]
fn addresses_come_out_as_they_went_in() {
    let ends = Endpoints {
        peer: "192.0.2.1:40000".parse().unwrap(),
        local: "[2001:db8::1]:6653".parse().unwrap(),
    };
    assert_eq!(ends_of(&end_bytes(&ends)), Some(ends));
}
