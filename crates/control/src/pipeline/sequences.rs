//! Several sequences on one kind of event: branches and joins, as in Maestro's DAGs.
//!
//! For example, `a, b, d` and `a, c, d` branch behind `a` and join at `d`. One thread runs them, in
//! one order that keeps each sequence: `a, b, c, d`.

use alloc::string::String;
use alloc::vec::Vec;

use super::app_set::{AppEntry, Sequence};
use super::graph::{AppSetError, order_of};
use crate::app::EventKind;

/// For each kind of event that has sequences: the places of the applications, in the order that
/// keeps all of them. `all` are the applications, each with its place.
pub(super) fn told_orders(
    all: &[(usize, &AppEntry)],
    sequences: &[Sequence],
) -> Result<Vec<(EventKind, Vec<usize>)>, AppSetError> {
    let mut orders: Vec<(EventKind, Vec<usize>, Vec<Vec<usize>>)> = Vec::new();
    for (number, sequence) in sequences.iter().enumerate() {
        let chain = order_of(all, number, sequence)?;
        let kind = sequence.kind;
        let at = orders.iter().position(|(other, ..)| *other == kind).unwrap_or_else(|| {
            orders.push((kind, Vec::new(), Vec::new()));
            orders.len() - 1
        });
        let (_, merged, chains) = &mut orders[at];
        chains.push(chain);
        *merged = merge(chains).map_err(|circle| {
            let name =
                |place: &usize| all.iter().find(|(at, _)| at == place).map(|(_, app)| app.name);
            let apps = circle.iter().filter_map(name).collect();
            AppSetError::Contrary { sequence: number, kind, apps }
        })?;
    }
    Ok(orders.into_iter().map(|(kind, merged, _)| (kind, merged)).collect())
}

/// The sequences on each kind of event that has several, as they were told: the names of those
/// applications that `runs` says yes to. A sequence without any is left out.
pub(super) fn told_branches(
    all: &[(usize, &AppEntry)],
    sequences: &[Sequence],
    runs: impl Fn(&usize) -> bool,
) -> Vec<(EventKind, Vec<Vec<&'static str>>)> {
    let running = |name: &String| {
        let app = all.iter().find(|(_, app)| app.name == *name);
        app.filter(|(at, _)| runs(at)).map(|(_, app)| app.name)
    };
    let of_kind = |kind: EventKind| {
        let told = sequences.iter().filter(|sequence| sequence.kind == kind);
        let chains = told.map(|sequence| sequence.apps.iter().filter_map(running).collect());
        (kind, chains.filter(|chain: &Vec<_>| !chain.is_empty()).collect())
    };
    let kinds = EventKind::ALL.into_iter().map(of_kind);
    kinds.filter(|(_, chains): &(_, Vec<_>)| chains.len() > 1).collect()
}

/// The places of all chains, each once, in an order that keeps every chain; of those that may come
/// next, the one that is named first.
///
/// # Errors
/// Places that each come before the next one, and the last before the first.
fn merge(chains: &[Vec<usize>]) -> Result<Vec<usize>, Vec<usize>> {
    let mut left: Vec<usize> = Vec::new();
    for &place in chains.iter().flatten() {
        if !left.contains(&place) {
            left.push(place);
        }
    }
    let mut merged = Vec::new();
    while !left.is_empty() {
        let free = left.iter().position(|&place| before(chains, &left, place).is_none());
        match free {
            Some(at) => merged.push(left.remove(at)),
            None => return Err(circle(chains, &left)),
        }
    }
    Ok(merged)
}

/// One of those `left` that a chain has right before `place`, or further in front of it.
fn before(chains: &[Vec<usize>], left: &[usize], place: usize) -> Option<usize> {
    chains.iter().find_map(|chain| {
        let at = chain.iter().position(|&other| other == place)?;
        chain[..at].iter().rev().copied().find(|other| left.contains(other))
    })
}

/// Where each of those `left` has another before it: one circle, in the order of the chains.
fn circle(chains: &[Vec<usize>], left: &[usize]) -> Vec<usize> {
    let mut way: Vec<usize> = left.first().copied().into_iter().collect();
    while let Some(next) = way.last().and_then(|&last| before(chains, left, last)) {
        if let Some(begin) = way.iter().position(|&place| place == next) {
            let mut circle = way.split_off(begin);
            circle.reverse();
            return circle;
        }
        way.push(next);
    }
    way
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn branches_and_joins_are_run_in_an_order_that_keeps_each_chain() {
        assert_eq!(merge(&[vec![0, 1, 3], vec![0, 2, 3]]), Ok(vec![0, 1, 2, 3]));
        assert_eq!(merge(&[vec![5, 4], vec![3, 4, 2], vec![1, 5]]), Ok(vec![3, 1, 5, 4, 2]));
        assert_eq!(merge(&[vec![2], vec![1]]), Ok(vec![2, 1]));
        assert_eq!(merge(&[vec![], vec![]]), Ok(vec![]));
    }

    #[test]
    fn chains_that_contradict_each_other_name_their_circle() {
        let mut two = merge(&[vec![0, 1], vec![2, 1, 0]]).unwrap_err();
        two.sort_unstable();
        assert_eq!(two, [0, 1]);
        let circle = merge(&[vec![0, 1], vec![1, 2], vec![2, 0]]).unwrap_err();
        let at = circle.iter().position(|&place| place == 0).unwrap();
        assert_eq!([0, 1, 2].map(|step| circle[(at + step) % 3]), [0, 1, 2]);
    }
}
