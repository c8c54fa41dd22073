//! Topologies of chance that look like those of the Internet, from a seed.

use super::builder::Builder;
use crate::load::rng::SplitMix64;

/// How far links reach where it is not given: a tenth of the diagonal.
const ALPHA: f64 = 0.1;
/// The links that a switch has then, on average.
const LINKS_MEAN: f64 = 4.0;

/// See [`super::Shape::Waxman`].
pub(super) fn waxman(
    to: &mut Builder,
    switches: u32,
    density: Option<(f64, f64)>,
    hosts: u32,
    rng: &mut SplitMix64,
) {
    let places: Vec<SquarePoint> =
        (0..switches).map(|_| SquarePoint(rng.unit(), rng.unit())).collect();
    for _ in &places {
        to.switch(hosts);
    }
    let alpha = density.map_or(ALPHA, |(alpha, _)| alpha);
    let near = |a: usize, b: usize| {
        (-places[a].distance(places[b]) / (alpha * std::f64::consts::SQRT_2)).exp()
    };
    let beta = density.map_or_else(|| beta_for_mean(&near, places.len()), |(_, beta)| beta);
    let mut groups = GroupForest::new(places.len());
    for a in 0..places.len() {
        for b in a + 1..places.len() {
            if rng.unit() < beta * near(a, b) {
                to.link(a as u32 + 1, b as u32 + 1);
                groups.join(a, b);
            }
        }
        if to.is_full() {
            return;
        }
    }
    join_nearest(to, &places, &mut groups);
}

/// The β with which [`LINKS_MEAN`] links a switch are expected.
fn beta_for_mean(near: &impl Fn(usize, usize) -> f64, switches: usize) -> f64 {
    let pairs = (0..switches).flat_map(|a| (a + 1..switches).map(move |b| (a, b)));
    let sum: f64 = pairs.map(|(a, b)| near(a, b)).sum();
    LINKS_MEAN * switches as f64 / 2.0 / sum
}

/// Links what is apart to what holds the first switch: the nearest first, with all that hangs on
/// it.
fn join_nearest(to: &mut Builder, places: &[SquarePoint], groups: &mut GroupForest) {
    // The nearest switch within for each without, and how far that is; what came within and was not
    // looked at yet.
    let mut nearest = vec![(f64::INFINITY, 0); places.len()];
    let mut within = vec![false; places.len()];
    let mut fresh: Vec<usize> = groups.of(0, &within);
    loop {
        fresh.iter().for_each(|&switch| within[switch] = true);
        for switch in (0..places.len()).filter(|&switch| !within[switch]) {
            for &other in &fresh {
                let distance = places[switch].distance(places[other]);
                if distance < nearest[switch].0 {
                    nearest[switch] = (distance, other);
                }
            }
        }
        let without = (0..places.len()).filter(|&switch| !within[switch]);
        let Some(next) = without.min_by(|&a, &b| nearest[a].0.total_cmp(&nearest[b].0)) else {
            return;
        };
        to.link(nearest[next].1 as u32 + 1, next as u32 + 1);
        fresh = groups.of(next, &within);
    }
}

/// A point of the unit square.
#[derive(Clone, Copy)]
struct SquarePoint(f64, f64);

impl SquarePoint {
    fn distance(self, other: SquarePoint) -> f64 {
        (self.0 - other.0).hypot(self.1 - other.1)
    }
}

/// Which switches hang together: a forest whose roots stand for a group each.
struct GroupForest(Vec<usize>);

impl GroupForest {
    fn new(switches: usize) -> GroupForest {
        GroupForest((0..switches).collect())
    }

    fn root(&mut self, mut switch: usize) -> usize {
        while self.0[switch] != switch {
            self.0[switch] = self.0[self.0[switch]];
            switch = self.0[switch];
        }
        switch
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        self.0[a.max(b)] = a.min(b);
    }

    /// All that hang together with this one and are not `within`.
    fn of(&mut self, switch: usize, within: &[bool]) -> Vec<usize> {
        let root = self.root(switch);
        (0..within.len()).filter(|&other| !within[other] && self.root(other) == root).collect()
    }
}

/// See [`super::Shape::Preferential`]. The first switches, one more than each new one has links,
/// are all linked to each other.
pub(super) fn preferential(
    to: &mut Builder,
    switches: u32,
    links: u32,
    hosts: u32,
    rng: &mut SplitMix64,
) {
    // A switch stands in it once for each of its links.
    let mut ends: Vec<u32> = Vec::new();
    for switch in 1..=switches {
        to.switch(hosts);
        let mut chosen: Vec<u32> = Vec::new();
        if switch <= links + 1 {
            chosen.extend(1..switch);
        }
        while switch > links + 1 && chosen.len() < links as usize {
            let other = ends[rng.below(ends.len())];
            if !chosen.contains(&other) {
                chosen.push(other);
            }
        }
        for other in chosen {
            to.link(other, switch);
            ends.extend([other, switch]);
        }
        if to.is_full() {
            return;
        }
    }
}
