//! The table against a list of flows that is searched from its beginning to its end.

use super::*;
use crate::datapath::action::ActionProgram;
use crate::datapath::fields::*;
use crate::datapath::flow::{Flags, FlowCounters, FlowModText};
use aldis_wire::v10;
use proptest::prelude::*;
use std::time::Duration;

fn flow(pattern: Pattern, priority: u16, cookie: u64) -> DatapathFlow {
    DatapathFlow {
        pattern,
        priority,
        cookie,
        idle_timeout: 0,
        hard_timeout: 0,
        flags: Flags::EMPTY,
        program: ActionProgram::default(),
        said: FlowModText::V10 { match_: v10::Match::ANY, actions: Box::default() },
        created: Duration::ZERO,
        modified: Duration::ZERO,
        used: Duration::ZERO,
        counters: FlowCounters::default(),
    }
}

/// Few values in few fields, so that flows meet.
fn pattern() -> impl Strategy<Value = Pattern> {
    let part = || prop::option::of(0..3_u64);
    let prefix = prop::option::of((0..4_u128, 0..3_u32));
    (part(), part(), part(), prefix).prop_map(|(port, kind, mac, prefix)| {
        let mut pattern = Pattern::ANY;
        for (field, value) in [(IN_PORT, port), (ETH_TYPE, kind), (ETH_DST, mac)] {
            if let Some(value) = value {
                pattern.exactly(field, value);
            }
        }
        if let Some((value, shift)) = prefix {
            pattern.with_wide(SOURCE, value, u128::MAX << shift);
        }
        pattern
    })
}

fn packet() -> impl Strategy<Value = FieldKey> {
    (0..3_u64, 0..3_u64, 0..3_u64, 0..4_u128).prop_map(|(port, kind, mac, address)| {
        let mut key = FieldKey::default();
        key.set(IN_PORT, port);
        key.set(ETH_TYPE, kind);
        key.set(ETH_DST, mac);
        key.set_wide(SOURCE, address);
        key
    })
}

#[derive(Clone, Debug)]
enum TableStep {
    Add(Pattern, u16),
    Remove(usize),
    LookUp(FieldKey),
}

fn step() -> impl Strategy<Value = TableStep> {
    prop_oneof![
        3 => (pattern(), 0..5_u16).prop_map(|(pattern, priority)| TableStep::Add(pattern, priority)),
        2 => any::<prop::sample::Index>().prop_map(|at| TableStep::Remove(at.index(64))),
        4 => packet().prop_map(TableStep::LookUp),
    ]
}

proptest! {
    /// Every look-up finds a flow that matches and whose priority is the highest of those that do;
    /// no flow is lost.
    #[test]
    fn a_table_is_a_list_of_flows(steps in prop::collection::vec(step(), 1..120)) {
        let mut table = Table::default();
        let mut list: Vec<(FlowSlot, Pattern, u16, u64)> = Vec::new();
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                TableStep::Add(pattern, priority) => {
                    let there = list.iter().find(|known| known.1 == pattern && known.2 == priority);
                    prop_assert_eq!(table.exact(&pattern, priority), there.map(|known| known.0));
                    if there.is_none() {
                        let cookie = number as u64;
                        let slot = table.insert(flow(pattern, priority, cookie), cookie).unwrap();
                        list.push((slot, pattern, priority, cookie));
                    }
                }
                TableStep::Remove(at) => {
                    if at < list.len() {
                        let (slot, _, _, cookie) = list.swap_remove(at);
                        prop_assert_eq!(table.remove(slot).map(|flow| flow.cookie), Some(cookie));
                    }
                }
                TableStep::LookUp(packet) => {
                    let matching = list.iter().filter(|known| known.1.matches(&packet));
                    let best = matching.map(|known| known.2).max();
                    let found = table.look_up(&packet);
                    prop_assert_eq!(found.as_ref().map(|flow| flow.priority), best);
                    prop_assert!(found.is_none_or(|flow| flow.pattern.matches(&packet)));
                }
            }
            prop_assert_eq!(table.len() as usize, list.len());
            prop_assert_eq!(table.iter().count(), list.len());
        }
    }
}

#[test]
fn there_are_only_so_many_masks() {
    let mut table = Table::default();
    for number in 0..MASKS_MAX as u64 {
        let mut pattern = Pattern::ANY;
        pattern.with(ETH_DST, 0, number + 1);
        assert!(table.insert(flow(pattern, 1, number), number).is_ok());
    }
    let mut pattern = Pattern::ANY;
    pattern.exactly(IN_PORT, 1_u64);
    assert_eq!(table.insert(flow(pattern, 1, 0), 0), Err(TooManyMasks));
}

/// A hash table looks at the low bits first: addresses that follow each other must not share
/// theirs.
#[test]
fn neighbouring_addresses_have_different_low_bits() {
    const ADDRESSES: u64 = 4096;
    for field in [ETH_DST, ETH_SRC, METADATA] {
        let mut pattern = Pattern::ANY;
        pattern.exactly(field, 0x0200_0000_0000_u64);
        let tuple = Tuple::new(pattern.mask);
        let low = |address| {
            let mut key = pattern.key;
            key.set(field, 0x0200_0000_0000_u64 | address);
            tuple.hash(&key) % ADDRESSES
        };
        let different: std::collections::HashSet<u64> = (0..ADDRESSES).map(low).collect();
        // Of so many by chance 63 % differ.
        assert!(different.len() as u64 > ADDRESSES / 2, "{field:?}: {}", different.len());
    }
}
