//! The laws of shedding.

use super::*;
use crate::fair::{Demand, Weight, max_min};
use crate::limits::SHED_PORTS_MAX;
use alloc::collections::BTreeMap;
use proptest::prelude::*;

/// Sheds a stream of requests, each given as its port: those that are kept.
fn shed(shed: &mut Shed, stream: &[u32], share: usize) -> Vec<u32> {
    let dropped = shed.weigh(stream.iter().copied(), share);
    let kept: Vec<u32> = stream.iter().copied().filter(|port| shed.keep(*port)).collect();
    assert_eq!(kept.len() + dropped, stream.len());
    kept
}

fn counts(stream: &[u32]) -> BTreeMap<u32, usize> {
    stream.iter().fold(BTreeMap::new(), |mut counts, port| {
        *counts.entry(*port).or_default() += 1;
        counts
    })
}

/// Eight ports, of which number 8 asks ten times as often as each of the others, in turn.
fn storm(each: usize) -> Vec<u32> {
    let once: Vec<u32> = (1..=7).chain([8; 10]).collect();
    once.repeat(each)
}

#[test]
fn a_switch_within_its_share_loses_nothing() {
    let mut it = Shed::new(7);
    assert_eq!(it.weigh([1, 1, 1, 2].into_iter(), 4), 0);
    assert!([1, 1, 1, 2].iter().all(|port| it.keep(*port)) && it.ports().is_empty());
}

#[test]
fn the_port_above_its_share_loses_the_excess() {
    let mut it = Shed::new(7);
    assert_eq!(shed(&mut it, &[9, 9, 9, 1, 9, 9, 2, 9], 5), [9, 9, 9, 1, 2]);
    let seen: Vec<_> = it.ports().iter().map(|it| (it.number, it.request, it.dropped)).collect();
    assert_eq!(seen, [(9, 6, 3), (1, 1, 0), (2, 1, 0)]);
}

#[test]
fn seven_ports_beside_a_storming_one_keep_all_they_ask_for() {
    let mut it = Shed::new(7);
    let stream = storm(100);
    let kept = counts(&shed(&mut it, &stream, 800));
    assert!((1..=7).all(|port| kept[&port] == 100), "{kept:?}");
    assert_eq!(kept[&8], 100);
}

/// Alone, the seven could have the whole share; with an eighth they are due seven parts of eight at
/// least.
#[test]
fn seven_ports_that_fill_the_share_alone_lose_no_more_than_is_due_to_the_eighth() {
    let mut it = Shed::new(7);
    let kept = counts(&shed(&mut it, &storm(100), 700));
    assert!((1..=7).all(|port| kept[&port] >= 87), "{kept:?}");
    assert!(kept[&8] <= 88, "{kept:?}");
}

#[test]
fn what_cannot_be_divided_goes_round() {
    let mut it = Shed::new(7);
    let mut kept = Vec::new();
    for _ in 0..30 {
        kept.extend(shed(&mut it, &[1, 2, 3, 1, 2, 3], 4));
        kept.extend(shed(&mut it, &[1, 2, 3], 1));
    }
    assert_eq!(counts(&kept).into_values().collect::<Vec<_>>(), [50, 50, 50]);
}

#[test]
fn drops_are_counted_by_port_within_a_bound() {
    let (mut it, mut tally) = (Shed::new(7), Tally::default());
    for _ in 0..2 {
        shed(&mut it, &[9, 9, 9, 9, 1], 3);
        tally.add(it.ports());
    }
    assert_eq!((tally.ports(), tally.others()), (&[(9, 4)][..], 0));
    let many: Vec<u32> = (1000..2000).collect();
    shed(&mut it, &many, 0);
    tally.add(it.ports());
    shed(&mut it, &[9, 9], 0);
    tally.add(it.ports());
    assert_eq!(tally.ports().len(), SHED_PORTS_MAX);
    assert_eq!(tally.ports()[0], (9, 6));
    assert_eq!((tally.others(), tally.total()), (1001 - SHED_PORTS_MAX as u64, 1006));
}

#[test]
fn a_port_floods_when_it_asks_for_more_than_twice_what_the_others_do() {
    let look = |counts: &[(u32, usize)]| {
        let ports = counts.iter().flat_map(|(port, request)| core::iter::repeat_n(*port, *request));
        Shed::new(7).look(ports).is_some()
    };
    assert!(look(&[(1, 94), (2, 94), (3, 940)]));
    assert!(look(&[(1, 100), (2, 217)]) && !look(&[(1, 100), (2, 216)]));
    assert!(!look(&[]) && !look(&[(7, 900)]), "there is nobody to be saved");
    assert!(!look(&[(1, 100), (2, 120), (3, 80), (4, 130)]), "they ask alike");
    let crowd: Vec<_> = (0..800).map(|port| (port, 1 + port as usize % 7)).collect();
    assert!(!look(&crowd));
}

#[test]
fn counts_of_two_connections_add_up() {
    let (mut it, mut one, mut other) = (Shed::new(7), Tally::default(), Tally::default());
    shed(&mut it, &[9, 9, 9, 4, 4], 1);
    one.add(it.ports());
    shed(&mut it, &[9, 9, 9, 4], 2);
    other.add(it.ports());
    one.merge(&other);
    assert_eq!((one.total(), one.ports().len()), (6, 2));
}

#[test]
fn nothing_is_allocated_the_second_time() {
    let mut it = Shed::new(7);
    let stream: Vec<u32> = (0..3000).map(|n| n * 4096).collect();
    shed(&mut it, &stream, 2000);
    let room = |it: &Shed| (it.ports.capacity(), it.slots.capacity(), it.heights.capacity());
    let before = room(&it);
    (0..50).for_each(|share| _ = shed(&mut it, &stream, share * 40));
    assert_eq!(room(&it), before);
    assert!(it.slots.iter().filter(|place| **place > 0).count() == it.ports.len());
}

fn streams() -> impl Strategy<Value = Vec<u32>> {
    let port = prop_oneof![6 => 0..4u32, 3 => 0..40u32, 1 => any::<u32>()];
    prop::collection::vec(port, 0..400)
}

proptest! {
    /// Never below the share; each port's first requests, in order; and max-min over the ports.
    #[test]
    fn the_share_is_divided_max_min(streams in prop::collection::vec((streams(), 0..300usize), 1..4), seed: u64) {
        let mut it = Shed::new(seed);
        for (stream, share) in streams {
            let (request, kept) = (counts(&stream), shed(&mut it, &stream, share));
            prop_assert_eq!(kept.len(), stream.len().min(share));
            let demand = |request: &usize| Demand { rate: *request as f64, weight: Weight::ONE };
            let demands: Vec<Demand> = request.values().map(demand).collect();
            let got = counts(&kept);
            for (port, fair) in request.keys().zip(max_min(share as f64, &demands)) {
                let got = got.get(port).copied().unwrap_or(0) as f64;
                prop_assert!((got - fair).abs() < 1.0 + 1e-9, "{port}: {got} of {fair}");
            }
            let mut rest = got.clone();
            let firsts = stream.iter().copied().filter(|port| match rest.get_mut(port) {
                Some(left @ 1..) => { *left -= 1; true }
                _ => false,
            });
            prop_assert!(firsts.eq(kept));
        }
    }

    /// The goal: a port at ten times the rate of seven others costs them a tenth at most, wherever
    /// the seven leave the eighth its part.
    #[test]
    fn a_storming_port_costs_the_others_little(each in 1..200usize, spare in 0..100usize, noise: u64) {
        let share = 8 * each + spare;
        let mut stream = storm(each);
        let len = stream.len();
        (0..len).for_each(|at| stream.swap(at, (noise.wrapping_mul(at as u64 | 1) >> 17) as usize % len));
        let kept = counts(&shed(&mut Shed::new(noise), &stream, share));
        prop_assert!((1..=7).all(|port| 10 * kept[&port] >= 9 * each), "{:?}", kept);
    }
}
