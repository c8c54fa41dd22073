//! What goes in comes out, in order; and what is lost is counted.

use aldis_control::Time;
use aldis_recording::{Mark, RecordedEvent};

use super::*;
use crate::conn::ConnId;

fn tap() -> (Tap, TapWriter) {
    let shared = Arc::new(TapShared::new(1));
    let writer = TapWriter::new(Arc::clone(&shared), 0);
    (Tap(shared), writer)
}

/// All bytes read from a connection, and the gaps.
fn drained(tap: &Tap) -> (Vec<u8>, u64, u64) {
    let (mut all, mut lost, mut lost_bytes) = (vec![], 0, 0);
    while let Some(chunk) = tap.take(0) {
        for timed in chunk.events() {
            match timed.event {
                RecordedEvent::Read { conn: 7, bytes, .. } => all.extend_from_slice(bytes),
                RecordedEvent::Gap { events, bytes } => {
                    lost += events;
                    lost_bytes += bytes;
                }
                other => {
                    assert_eq!(other, RecordedEvent::Marked(Mark::Batch { ran_ns: 7 }));
                }
            }
        }
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
fn addresses_come_out_as_they_went_in() {
    let ends = Endpoints {
        peer: "192.0.2.1:40000".parse().unwrap(),
        local: "[2001:db8::1]:6653".parse().unwrap(),
    };
    assert_eq!(ends_of(&end_bytes(&ends)), Some(ends));
}
