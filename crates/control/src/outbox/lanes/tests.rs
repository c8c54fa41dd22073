//! The laws of the order in which messages leave, whatever waits and however little a socket takes.

use alloc::vec;
use core::ops::Range;

use aldis_wire::Raw;
use proptest::prelude::*;

use super::super::Outbox;
use super::*;
use crate::time::Time;

/// Kinds of every class, and one that nothing knows.
const KINDS: [u8; 12] = [0, 2, 3, 4, 7, 9, 13, 14, 18, 20, 24, 77];

const MAX: usize = 4096;

#[derive(Clone, Debug)]
enum Move {
    /// These messages, as kinds and lengths, are written; of what does not wait the socket takes so
    /// many bytes.
    Write(Vec<(u8, u16)>, usize),
    /// The socket takes so many bytes of what waits.
    Take(usize),
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let message = (proptest::sample::select(&KINDS[..]), 8..40_u16);
    let write = (proptest::collection::vec(message, 1..6), 0..120_usize);
    let one = prop_oneof![
        2 => write.prop_map(|(messages, takes)| Move::Write(messages, takes)),
        1 => (1..90_usize).prop_map(Move::Take),
    ];
    proptest::collection::vec(one, 1..40)
}

/// A message that was written.
#[derive(Clone, Debug)]
struct WrittenMessage {
    class: PriorityClass,
    bytes: Vec<u8>,
    /// Bytes that the socket had taken when it came to wait.
    came_at: usize,
}

/// Makes the moves, and then takes what is left. Returns what was written and what was sent.
fn played(moves: &[Move]) -> (Vec<WrittenMessage>, Vec<u8>) {
    let (mut outbox, mut written, mut sent) = (Outbox::new(MAX).by_priority(), vec![], vec![]);
    for one in moves {
        match one {
            Move::Take(most) => take(&mut outbox, &mut sent, *most),
            Move::Write(messages, takes) => {
                let number = |at: usize| (written.len() + at) as u32;
                let encoded = messages.iter().enumerate();
                let encoded: Vec<_> =
                    encoded.map(|(at, (kind, len))| message(*kind, *len, number(at))).collect();
                let fresh = encoded.concat();
                let count = if outbox.is_empty() { fresh.len().min(*takes) } else { 0 };
                if outbox.push_rest(Time(0), &fresh, count).is_err() {
                    // Full: nothing of it was added, and nothing was taken.
                    continue;
                }
                sent.extend_from_slice(&fresh[..count]);
                written.extend(encoded.into_iter().map(|bytes| WrittenMessage {
                    class: PriorityClass::of(&first(&bytes).header),
                    bytes,
                    came_at: sent.len(),
                }));
            }
        }
    }
    while !outbox.is_empty() {
        take(&mut outbox, &mut sent, 7);
    }
    (written, sent)
}

fn take(outbox: &mut Outbox, sent: &mut Vec<u8>, most: usize) {
    let count = outbox.waiting().len().min(most);
    sent.extend_from_slice(&outbox.waiting()[..count]);
    outbox.taken(Time(0), count);
}

fn message(kind: u8, length: u16, xid: u32) -> Vec<u8> {
    let mut bytes = Header { version: 4, kind, length, xid }.to_bytes().to_vec();
    bytes.resize(usize::from(length), xid as u8);
    bytes
}

fn first(bytes: &[u8]) -> Raw<'_> {
    Chop::new(bytes).next().unwrap().unwrap()
}

/// Where each message stands in what was sent, by its number.
fn places(sent: &[u8]) -> Vec<Range<usize>> {
    let (mut places, mut at) = (vec![], 0);
    for message in Chop::new(sent) {
        let message = message.unwrap();
        places.push((message.header.xid, at..at + message.bytes.len()));
        at += message.bytes.len();
    }
    assert_eq!(at, sent.len(), "the stream ends with a whole message");
    places.sort_by_key(|(xid, _)| *xid);
    places.into_iter().map(|(_, place)| place).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn every_message_is_sent_once_whole_and_in_an_order_that_openflow_allows(moves in moves()) {
        let (written, sent) = played(&moves);
        let places = places(&sent);
        prop_assert_eq!(places.len(), written.len());
        for (one, place) in written.iter().zip(&places) {
            prop_assert_eq!(&one.bytes, &sent[place.clone()]);
        }
        for (later, two) in written.iter().enumerate() {
            // Classes of what came between, both ends included.
            let mut between = two.class;
            for earlier in (0..later).rev() {
                let one = &written[earlier];
                between = between.max(one.class);
                let passed = places[later].start < places[earlier].start;
                let may_pass = two.class < one.class
                    && match two.class {
                        PriorityClass::Urgent => between < PriorityClass::Hello,
                        _ => between < PriorityClass::Fence,
                    };
                prop_assert!(!passed || may_pass, "{two:?} passed {one:?}");
                // What had not begun when the other one came is passed wherever it may be.
                let had_begun = places[earlier].start < two.came_at;
                prop_assert!(passed || !may_pass || had_begun, "{two:?} waits behind {one:?}");
            }
        }
    }

    /// Without lanes everything leaves as it came.
    #[test]
    fn what_has_no_lanes_keeps_its_order(lens in proptest::collection::vec(8..40_u16, 1..9)) {
        let mut outbox = Outbox::new(MAX);
        let all: Vec<_> = lens.iter().map(|len| message(KINDS[usize::from(*len) % 12], *len, 1)).collect();
        for bytes in &all {
            outbox.push_rest(Time(0), bytes, 0).unwrap();
        }
        prop_assert_eq!(outbox.waiting(), all.concat());
    }
}

#[test]
fn an_echo_passes_all_but_the_message_that_has_begun() {
    let mut outbox = Outbox::new(MAX).by_priority();
    let [stats, flow, barrier, echo] =
        [(18, 16), (14, 24), (20, 8), (3, 8)].map(|(kind, len)| message(kind, len, kind.into()));
    let fresh = [stats.clone(), flow.clone(), barrier.clone()].concat();
    outbox.push_rest(Time(0), &fresh, 3).unwrap();
    // The question has begun; else the flow would go before it.
    assert_eq!(outbox.waiting(), &fresh[3..]);
    outbox.push_rest(Time(0), &[flow.clone(), stats.clone()].concat(), 0).unwrap();
    outbox.push_rest(Time(0), &flow, 0).unwrap();
    outbox.push_rest(Time(0), &echo, 0).unwrap();
    let rest = stats[3..].to_vec();
    let order = [rest, echo, flow.clone(), barrier, flow.clone(), flow, stats].concat();
    assert_eq!(outbox.waiting(), order);
}

#[test]
fn classes_are_those_of_the_version() {
    let class = |version, kind| PriorityClass::of(&Header { version, kind, length: 8, xid: 0 });
    // 1.0: statistics, barrier, port mod; 1.3: port mod, table mod; barrier, role, meter mod.
    for (version, kind, expected) in [
        (1, 16, PriorityClass::Late),
        (1, 18, PriorityClass::Fence),
        (1, 15, PriorityClass::Usual),
        (4, 16, PriorityClass::Usual),
        (4, 18, PriorityClass::Late),
        (4, 20, PriorityClass::Fence),
        (4, 24, PriorityClass::Fence),
        (4, 29, PriorityClass::Usual),
        (1, 29, PriorityClass::Fence),
        (6, 14, PriorityClass::Fence),
        (6, 2, PriorityClass::Urgent),
    ] {
        assert_eq!(class(version, kind), expected, "{version} {kind}");
    }
}
