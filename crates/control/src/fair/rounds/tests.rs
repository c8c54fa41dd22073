//! The laws of the rounds, and a conversation with them.

use super::*;
use crate::fair::{Demand, max_min};
use alloc::collections::BTreeSet;
use proptest::prelude::*;

const QUANTUM: u32 = 100;

fn weight(number: u32) -> Weight {
    Weight::new(number).unwrap()
}

/// Entries 0, 1, … of these weights, all of them ready.
fn rounds(weights: &[u32]) -> Rounds {
    let mut rounds = Rounds::new(QUANTUM);
    for (id, number) in (0..).zip(weights) {
        rounds.join(Id(id), weight(*number));
        rounds.arrive(Id(id));
    }
    rounds
}

fn pick(rounds: &mut Rounds) -> (u32, u32) {
    let visit = rounds.pick_or_turn().expect("somebody waits");
    (visit.id.0, visit.allowance)
}

#[test]
fn a_conversation() {
    let mut rounds = rounds(&[1, 2]);
    assert_eq!((rounds.pick(), rounds.left_of_round()), (None, 0));
    assert!(rounds.turn());
    assert_eq!((rounds.round(), rounds.left_of_round()), (1, 2));
    assert_eq!(rounds.pick(), Some(Visit { id: Id(0), allowance: 100 }));
    rounds.done(Id(0), 60, true);
    assert_eq!(pick(&mut rounds), (1, 200));
    rounds.done(Id(1), 250, true);
    assert!(!rounds.turn(), "0 has something left of this round");
    assert_eq!(pick(&mut rounds), (0, 40));
    rounds.done(Id(0), 40, true);
    assert_eq!(rounds.pick(), None);
    assert_eq!(rounds.next_round(), Some(2));
    assert_eq!(pick(&mut rounds), (1, 150));
    rounds.done(Id(1), 10, false);
    assert_eq!(pick(&mut rounds), (0, 100));
    rounds.done(Id(0), 100, false);
    assert_eq!(rounds.pick_or_turn(), None);
    assert_eq!(rounds.round(), 2);
}

#[test]
fn who_is_parked_keeps_what_it_had_and_goes_on_before_others() {
    let mut rounds = rounds(&[1, 1, 1]);
    assert_eq!(pick(&mut rounds), (0, 100));
    rounds.park(Id(0), 60);
    for id in [1, 2] {
        assert_eq!(pick(&mut rounds), (id, 100));
        rounds.done(Id(id), 100, true);
    }
    assert!(rounds.turn(), "nobody waits for one that cannot be served");
    rounds.arrive(Id(0));
    assert_eq!(pick(&mut rounds), (0, 140));
    rounds.arrive(Id(0));
    rounds.park(Id(0), 150);
    assert_eq!(pick(&mut rounds), (1, 100));
    rounds.leave(Id(0));
    rounds.park(Id(0), 1);
    rounds.park(Id(7), 1);
}

#[test]
fn who_was_idle_is_served_before_the_backlogged_once() {
    let mut rounds = rounds(&[1; 50]);
    rounds.join(Id(50), weight(1));
    let (first, _) = pick(&mut rounds);
    rounds.done(Id(first), 100, true);
    rounds.arrive(Id(50));
    assert_eq!(pick(&mut rounds), (50, 100));
    rounds.done(Id(50), 99, false);
    rounds.arrive(Id(50));
    for _ in 0..49 {
        let (id, _) = pick(&mut rounds);
        assert!(id < 50 && rounds.round() == 1, "who came with much waits as they do");
        rounds.done(Id(id), 100, true);
    }
    assert_eq!(pick(&mut rounds), (50, 1), "what is left of the round, and no more");
    rounds.done(Id(50), 1, false);
    rounds.arrive(Id(50));
    assert_eq!(rounds.left_of_round(), 0);
}

#[test]
fn who_asks_for_little_again_waits_for_the_round_where_others_wait() {
    let mut rounds = rounds(&[1; 2]);
    rounds.join(Id(2), weight(1));
    assert_eq!(pick(&mut rounds), (0, 100));
    rounds.arrive(Id(2));
    assert_eq!(pick(&mut rounds), (2, 100));
    rounds.done(Id(2), 1, false);
    rounds.arrive(Id(2));
    assert_eq!(pick(&mut rounds), (1, 100));
    for id in [0, 1] {
        rounds.done(Id(id), 100, false);
    }
    assert_eq!(pick(&mut rounds), (2, 199), "in the next one, with what was left of its own");
    for left in (100..199).rev() {
        rounds.done(Id(2), 1, false);
        rounds.arrive(Id(2));
        assert_eq!((pick(&mut rounds), rounds.round()), ((2, left), 2), "nobody waits");
    }
    rounds.arrive(Id(0));
    rounds.arrive(Id(1));
    rounds.done(Id(2), 1, false);
    assert_eq!(pick(&mut rounds), (0, 100));
    rounds.let_again(1);
    rounds.arrive(Id(2));
    assert_eq!(pick(&mut rounds), (2, 99), "there is time");
    rounds.done(Id(2), 1, false);
    rounds.arrive(Id(2));
    assert_eq!(pick(&mut rounds), (1, 100), "and no more than that");
}

/// An entry that asks for much in small pieces does not use up the times of those that ask for
/// little.
#[test]
fn who_used_much_of_the_round_does_not_come_first_again() {
    let mut rounds = rounds(&[1; 2]);
    for id in [2, 3] {
        rounds.join(Id(id), weight(1));
    }
    assert_eq!(pick(&mut rounds), (0, 100));
    rounds.let_again(1);
    rounds.arrive(Id(2));
    assert_eq!(pick(&mut rounds), (2, 100));
    rounds.done(Id(2), 50, true);
    assert_eq!(pick(&mut rounds), (1, 100));
    assert_eq!(pick(&mut rounds), (2, 50));
    rounds.done(Id(0), 100, true);
    rounds.done(Id(2), 1, false);
    rounds.arrive(Id(2));
    assert_eq!(rounds.pick(), None, "it waits for the next round");
    for used in [1, 0] {
        rounds.arrive(Id(3));
        assert_eq!(pick(&mut rounds).0, 3, "the time is left for it");
        rounds.done(Id(3), used, false);
    }
}

/// A turn more for what comes while the others are served is a visit more for the same.
#[test]
fn who_comes_again_for_less_than_half_has_one_turn_a_round() {
    let turns_in_32_rounds = |again: u32| {
        let mut rounds = rounds(&[1; 3]);
        let mut turns = 0;
        for _ in 0..32 {
            assert!(rounds.turn());
            let mut uses = 40;
            while let Some(Visit { id, .. }) = rounds.pick() {
                if id == Id(2) {
                    turns += 1;
                    rounds.done(id, core::mem::replace(&mut uses, again), false);
                    rounds.arrive(id);
                } else {
                    rounds.done(id, 100, true);
                }
            }
        }
        turns
    };
    assert!(turns_in_32_rounds(20) >= 3 * 32, "all that it is due");
    assert_eq!(turns_in_32_rounds(19), 32 + 3, "tried once in fifteen rounds");
}

#[test]
fn whose_early_turns_brought_little_joins_the_next_round_behind_who_waits() {
    let mut rounds = rounds(&[1; 3]);
    for id in [0, 1] {
        assert_eq!(pick(&mut rounds).0, id);
        rounds.done(Id(id), 100, true);
    }
    for used in [40, 10] {
        assert_eq!((pick(&mut rounds).0, rounds.round()), (2, 1));
        rounds.done(Id(2), used, false);
        rounds.arrive(Id(2));
    }
    assert!(rounds.turn());
    for (id, more) in [(0, true), (1, true), (2, false), (0, true)] {
        assert_eq!(pick(&mut rounds).0, id);
        rounds.done(Id(id), 100, more);
    }
    rounds.arrive(Id(2));
    assert_eq!((pick(&mut rounds).0, rounds.round()), (1, 3));
    assert_eq!(rounds.pick(), None, "2 had no turn in this round, and has none");
    assert!(rounds.turn());
    assert_eq!([pick(&mut rounds), pick(&mut rounds)], [(0, 100), (2, 200)], "and loses nothing");
}

#[test]
fn no_more_than_some_come_first_again_however_long_nobody_did() {
    let mut rounds = rounds(&[1; 2]);
    rounds.join(Id(2), weight(2));
    assert_eq!(pick(&mut rounds), (0, 100));
    rounds.let_again(u32::MAX);
    rounds.let_again(1);
    for _ in 0..=AGAIN_MAX {
        rounds.arrive(Id(2));
        assert_eq!(pick(&mut rounds).0, 2);
        rounds.done(Id(2), 1, false);
    }
    rounds.arrive(Id(2));
    assert_eq!(pick(&mut rounds), (1, 100));
}

#[test]
fn connecting_again_gains_nothing() {
    let mut rounds = rounds(&[1; 2]);
    assert_eq!(pick(&mut rounds), (0, 100));
    rounds.leave(Id(0));
    rounds.join(Id(0), weight(1));
    rounds.arrive(Id(0));
    assert_eq!(pick(&mut rounds), (1, 100));
    assert_eq!(rounds.pick(), None, "0 has nothing before the next round");
}

#[test]
fn an_arrival_during_the_visit_is_not_lost() {
    let mut rounds = rounds(&[1]);
    assert_eq!(pick(&mut rounds), (0, 100));
    rounds.arrive(Id(0));
    rounds.done(Id(0), 1, false);
    assert_eq!(pick(&mut rounds), (0, 99));
    rounds.done(Id(0), 1, false);
    assert_eq!(rounds.pick_or_turn(), None);
}

#[test]
fn a_large_debt_is_paid_without_a_loop_over_its_rounds() {
    let mut rounds = Rounds::new(1);
    for id in [0, 1] {
        rounds.join(Id(id), weight(1));
        rounds.arrive(Id(id));
    }
    for id in [0, 1] {
        assert_eq!(pick(&mut rounds), (id, 1));
        rounds.done(Id(id), u32::MAX - id, true);
    }
    assert!(rounds.turn());
    assert_eq!(pick(&mut rounds), (1, 1));
    assert!(u64::from(u32::MAX) - 2 <= rounds.round());
}

#[test]
fn what_is_unknown_is_passed_over() {
    let mut rounds = rounds(&[1]);
    rounds.arrive(Id(7));
    rounds.done(Id(7), 5, true);
    rounds.set_weight(Id(7), weight(2));
    rounds.leave(Id(7));
    assert_eq!(pick(&mut rounds), (0, 100));
    rounds.leave(Id(0));
    rounds.done(Id(0), 1, true);
    rounds.arrive(Id(0));
    assert_eq!(rounds.pick_or_turn(), None);
}

#[test]
fn a_visit_that_outlasts_its_round_is_owed_the_next() {
    let mut rounds = rounds(&[1; 3]);
    let slow = pick(&mut rounds).0;
    for _ in 0..2 {
        let (id, _) = pick(&mut rounds);
        rounds.done(Id(id), 100, true);
    }
    assert!(rounds.turn());
    rounds.done(Id(slow), 70, true);
    rounds.pick();
    rounds.pick();
    assert_eq!(rounds.pick(), Some(Visit { id: Id(slow), allowance: 130 }));
}

#[test]
fn weights_and_quantum_change_with_the_next_round() {
    let mut rounds = rounds(&[1, 1]);
    for (id, allowance) in [(0, 100), (1, 100)] {
        assert_eq!(pick(&mut rounds), (id, allowance));
        rounds.done(Id(id), allowance, true);
    }
    rounds.set_weight(Id(1), weight(3));
    rounds.set_quantum(10);
    assert_eq!(pick(&mut rounds), (0, 10));
    rounds.done(Id(0), 10, true);
    assert_eq!(pick(&mut rounds), (1, 30));
}

/// How a switch behaves: after so many visits it goes idle, for so many visits of others.
#[derive(Clone, Copy, Debug)]
struct Habit {
    weight: u32,
    busy: u32,
    idle: u32,
}

fn habits() -> impl Strategy<Value = Vec<Habit>> {
    let habit = (1..8u32, 1..4u32, 0..30u32);
    let habit = habit.prop_map(|(weight, busy, idle)| Habit { weight, busy, idle });
    prop::collection::vec(habit, 1..12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// At every moment the shares of those whose queues are always full differ by a quantum at
    /// most, by weight, and by what their last visit used too much, also while the quantum changes;
    /// and none waits for longer than a round.
    #[test]
    fn full_queues_share_by_weight(
        weights in prop::collection::vec(1..8u32, 1..20),
        visits in prop::collection::vec((1..200u32, 0..40u32, 50..=QUANTUM), 500),
    ) {
        let mut rounds = rounds(&weights);
        let mut used = alloc::vec![0u32; weights.len()];
        let mut seen = alloc::vec![0u64; weights.len()];
        for (most, beyond, quantum) in visits {
            rounds.set_quantum(quantum);
            let (id, allowance) = pick(&mut rounds);
            let (at, use_now) = (id as usize, if most < allowance { most } else { allowance + beyond });
            prop_assert!(rounds.round() <= seen[at] + 1);
            seen[at] = rounds.round();
            used[at] += use_now;
            rounds.done(Id(id), use_now, true);
            let levels = || used.iter().zip(&weights).map(|(used, weight)| used / weight);
            let apart = levels().max().unwrap() - levels().min().unwrap();
            prop_assert!(apart <= QUANTUM + 40, "{used:?} for {weights:?}");
        }
    }

    /// However many come back with little as soon as they were served: the others wait for no more
    /// than a turn of each, and for those that may come again.
    #[test]
    fn little_again_and_again_keeps_nobody_waiting(
        little in prop::collection::vec(1..=QUANTUM / LIGHT, 1..40),
        full in 1..6usize,
        let_again in prop::collection::vec(prop::bool::weighted(0.1), 1000),
    ) {
        let mut rounds = rounds(&alloc::vec![1; little.len() + full]);
        let mut visits = alloc::vec![0u32; little.len() + full];
        let mut more = 0;
        for one in let_again {
            rounds.let_again(u32::from(one));
            more += u32::from(one);
            let (id, allowance) = pick(&mut rounds);
            visits[id as usize] += 1;
            let used = little.get(id as usize).copied().unwrap_or(allowance);
            rounds.done(Id(id), used, used == allowance);
            rounds.arrive(Id(id));
            let (light, full) = visits.split_at(little.len());
            let turns = little.len() as u32 * (1 + full.iter().min().unwrap());
            prop_assert!(light.iter().sum::<u32>() <= turns + more, "{visits:?}");
        }
    }

    /// An entry that flaps between idle and busy has, at every moment, a quantum at most more than
    /// those that are always busy.
    #[test]
    fn flapping_gains_nothing(habits in habits(), full in prop::collection::vec(1..8u32, 1..6)) {
        let flappers = habits.len();
        let weights: Vec<u32> = habits.iter().map(|habit| habit.weight).chain(full).collect();
        let mut rounds = rounds(&weights);
        let mut used = alloc::vec![0u32; weights.len()];
        let mut busy = alloc::vec![0u32; flappers];
        let mut back: Vec<(u32, u32)> = Vec::new();
        for now in 0..1000 {
            back.retain(|(at, id)| if *at <= now { rounds.arrive(Id(*id)); false } else { true });
            let (id, allowance) = pick(&mut rounds);
            let at = id as usize;
            used[at] += allowance;
            let more = habits.get(at).is_none_or(|habit| {
                busy[at] += 1;
                !busy[at].is_multiple_of(habit.busy)
            });
            rounds.done(Id(id), allowance, more);
            if !more {
                back.push((now + 1 + habits[at].idle, id));
            }
            let level = |at: usize| used[at] / weights[at];
            let least = (flappers..weights.len()).map(level).min().unwrap();
            prop_assert!((0..flappers).all(|at| level(at) <= least + QUANTUM), "{used:?} for {weights:?}");
        }
    }

    /// With any offered rates, some below and some above their share, every entry gets the share
    /// that filling with water says, though no rate was told.
    #[test]
    fn shares_are_max_min(
        offers in prop::collection::vec((1..2_000u32, 1..5u32), 2..16),
        capacity in 500..4_000u32,
    ) {
        const TICKS: u32 = 400;
        let weights: Vec<u32> = offers.iter().map(|offer| offer.1).collect();
        let mut rounds = rounds(&weights);
        let (mut queue, mut served) = (alloc::vec![0u32; offers.len()], alloc::vec![0u32; offers.len()]);
        let mut budget = 0i64;
        for _ in 0..TICKS {
            for (id, (offer, _)) in (0..).zip(&offers) {
                queue[id as usize] += offer;
                rounds.arrive(Id(id));
            }
            budget += i64::from(capacity);
            while budget > 0 && let Some(Visit { id, allowance }) = rounds.pick_or_turn() {
                let at = id.0 as usize;
                let use_now = allowance.min(queue[at]);
                queue[at] -= use_now;
                served[at] += use_now;
                budget -= i64::from(use_now);
                rounds.done(id, use_now, queue[at] > 0);
            }
            budget = budget.min(0);
        }
        let demand = |&(rate, number): &(u32, u32)| Demand { rate: rate.into(), weight: weight(number) };
        let demands: Vec<Demand> = offers.iter().map(demand).collect();
        for ((share, served), (_, number)) in max_min(capacity.into(), &demands).iter().zip(&served).zip(&offers) {
            let fair = share * f64::from(TICKS);
            let slack = 2.0 * f64::from(number * QUANTUM) + 0.01 * fair;
            prop_assert!((f64::from(*served) - fair).abs() <= slack, "{served} of {fair}");
        }
    }
}

/// A step of a test.
#[derive(Clone, Copy, Debug)]
enum Act {
    Join(u32, u32),
    Leave(u32),
    Arrive(u32),
    Pick,
    Done(u32, bool),
    Turn,
    TurnTo(u64),
    Quantum(u32),
    Weight(u32, u32),
}

fn act() -> impl Strategy<Value = Act> {
    let id = || 0..10u32;
    prop_oneof![
        2 => (id(), 1..5u32).prop_map(|(id, weight)| Act::Join(id, weight)),
        1 => id().prop_map(Act::Leave),
        6 => id().prop_map(Act::Arrive),
        6 => Just(Act::Pick),
        6 => (0..300u32, any::<bool>()).prop_map(|(used, more)| Act::Done(used, more)),
        2 => Just(Act::Turn),
        1 => (0..40u64).prop_map(Act::TurnTo),
        1 => (0..200u32).prop_map(Act::Quantum),
        1 => (id(), 1..5u32).prop_map(|(id, weight)| Act::Weight(id, weight)),
    ]
}

/// What must be true of the rounds, kept the simple way.
#[derive(Default)]
struct Model {
    joined: BTreeSet<u32>,
    waiting: BTreeSet<u32>,
    /// Being visited, oldest first, and whether it arrived meanwhile.
    visited: Vec<(u32, bool)>,
}

impl Model {
    fn act(&mut self, rounds: &mut Rounds, act: Act) {
        match act {
            Act::Join(id, number) => {
                self.leave(id);
                self.joined.insert(id);
                rounds.join(Id(id), weight(number));
            }
            Act::Leave(id) => {
                self.leave(id);
                rounds.leave(Id(id));
            }
            Act::Arrive(id) => {
                match self.visited.iter_mut().find(|visited| visited.0 == id) {
                    Some(visited) => visited.1 = true,
                    None if self.joined.contains(&id) => _ = self.waiting.insert(id),
                    None => {}
                }
                rounds.arrive(Id(id));
            }
            Act::Pick => _ = rounds.pick().map(|visit| self.pick(visit)),
            Act::Done(..) if self.visited.is_empty() => {}
            Act::Done(used, more) => {
                let (id, again) = self.visited.remove(0);
                if more || again {
                    self.waiting.insert(id);
                }
                rounds.done(Id(id), used, more);
            }
            Act::Turn => _ = rounds.turn(),
            Act::TurnTo(round) => rounds.turn_to(round),
            Act::Quantum(quantum) => rounds.set_quantum(quantum),
            Act::Weight(id, number) => rounds.set_weight(Id(id), weight(number)),
        }
    }

    fn pick(&mut self, visit: Visit) {
        assert!(visit.allowance > 0);
        assert!(self.waiting.remove(&visit.id.0), "{visit:?} did not wait");
        self.visited.push((visit.id.0, false));
    }

    fn leave(&mut self, id: u32) {
        self.joined.remove(&id);
        self.waiting.remove(&id);
        self.visited.retain(|visited| visited.0 != id);
    }
}

proptest! {
    /// No entry is visited twice at a time or without having arrived, and none that arrived is
    /// forgotten.
    #[test]
    fn nobody_is_lost_and_nobody_is_served_twice(acts in prop::collection::vec(act(), 0..300)) {
        let (mut rounds, mut model) = (Rounds::new(QUANTUM), Model::default());
        for act in acts {
            model.act(&mut rounds, act);
            let round = rounds.round();
            prop_assert!(rounds.left_of_round() <= model.waiting.len());
            prop_assert!(rounds.next_round().is_none_or(|next| next > round));
        }
        while let Some(visit) = rounds.pick_or_turn() {
            model.pick(visit);
        }
        prop_assert_eq!(model.waiting, BTreeSet::new());
        prop_assert_eq!(rounds.next_round(), None);
    }
}

/// Two workers, with five switches at home and two, all of them always full; one that is through
/// helps the other, and neither begins the next round before nothing is left of this one. A visit
/// takes as long as what it uses.
#[test]
fn workers_that_help_one_another_share_fairly() {
    let mut homes = [rounds(&[1; 5]), rounds(&[1; 2])];
    let mut used = [[0u64; 5]; 2];
    let mut free_at = [0u64; 2];
    let mut doing: [Option<(usize, Visit)>; 2] = [None; 2];
    let mut idle = 0;
    while free_at[0] < 1_000_000 {
        let worker = usize::from(free_at[1] < free_at[0]);
        if let Some((home, visit)) = doing[worker].take() {
            homes[home].done(visit.id, visit.allowance, true);
        }
        let order = [worker, 1 - worker];
        let next = |homes: &mut [Rounds; 2]| {
            order.iter().find_map(|home| Some((*home, homes[*home].pick()?)))
        };
        let visit = next(&mut homes).or_else(|| {
            let round = homes.iter().filter_map(Rounds::next_round).min()?;
            homes.iter_mut().for_each(|rounds| rounds.turn_to(round));
            next(&mut homes)
        });
        match visit {
            Some((home, visit)) => {
                used[home][visit.id.0 as usize] += u64::from(visit.allowance);
                free_at[worker] += u64::from(visit.allowance);
                doing[worker] = Some((home, visit));
            }
            None => {
                idle += 1;
                free_at[worker] = free_at[1 - worker];
            }
        }
    }
    let all: Vec<u64> = used[0].iter().chain(&used[1][..2]).copied().collect();
    let fair = all.iter().sum::<u64>() / 7;
    assert!(all.iter().all(|used| used.abs_diff(fair) <= 2 * u64::from(QUANTUM)), "{all:?}");
    assert_eq!(idle, 0);
}

#[test]
fn a_crowd_that_left_keeps_no_place_and_no_round_back() {
    let mut rounds = Rounds::new(10);
    rounds.join(Id(1000), Weight::ONE);
    rounds.turn_to(7);
    rounds.clear();
    rounds.arrive(Id(1000));
    assert_eq!((rounds.round(), rounds.pick_or_turn()), (7, None));
    rounds.join(Id(0), Weight::ONE);
    rounds.arrive(Id(0));
    assert_eq!(rounds.pick_or_turn(), Some(Visit { id: Id(0), allowance: 10 }));
}
