//! Distances of all switches from one: breadth first where every link costs the same, else
//! Dijkstra's algorithm.

use core::cmp::Reverse;
use std::collections::BinaryHeap;

use super::graph::{Graph, Node};
use super::metric::Metric;

/// Neighbours that are looked at one by one sooner than a row of bits is fetched.
const NEIGHBOURS_FEW: usize = 8;

/// Destinations that are looked into at once: one bit of a word each.
pub(super) const AT_ONCE: usize = 64;

/// Links from a destination beyond which each is looked into alone: to ask all switches at every
/// step pays in networks that are crossed in few.
const STEPS_MAX: u32 = 32;

/// The distance of what cannot be reached.
pub const FAR: u32 = u32::MAX;

/// How far every switch is from one destination, in the units of the engine that found it.
///
/// There is one for each switch, so that all of them grow with the square of the network: what
/// cannot be reached before the first place that can, and behind the last, takes no room, and a
/// distance takes a byte where all of them are short.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tree {
    /// The first place that can be reached.
    from: u32,
    distances: Distances,
}

/// The distances of the places from the first to the last that can be reached.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Distances {
    /// None is longer than 254; [`SHORT_FAR`] where no way leads.
    Short(Box<[u8]>),
    /// There are longer ones.
    Long(Box<[u32]>),
}

/// The distance of what cannot be reached, among short ones.
const SHORT_FAR: u8 = u8::MAX;

impl Tree {
    /// Of the distances of all places.
    fn of(distances: &[u32]) -> Tree {
        let is_near = |distance: &u32| *distance != FAR;
        let from = distances.iter().position(is_near).unwrap_or(0);
        let to = distances.iter().rposition(is_near).map_or(from, |last| last + 1);
        let distances = &distances[from..to];
        let short = |&distance: &u32| match distance {
            FAR => Some(SHORT_FAR),
            near => u8::try_from(near).ok().filter(|&near| near != SHORT_FAR),
        };
        // Most are short or most are long: the first that is not short ends the attempt.
        let distances = match distances.iter().map(short).collect() {
            Some(short) => Distances::Short(short),
            None => Distances::Long(distances.into()),
        };
        Tree { from: from as u32, distances }
    }

    /// How far a switch is from the destination: 0 for the destination alone, [`FAR`] where no way
    /// leads there.
    #[inline]
    pub fn distance(&self, node: Node) -> u32 {
        let at = node.index().wrapping_sub(self.from as usize);
        match &self.distances {
            Distances::Short(short) => match short.get(at) {
                Some(&distance) if distance != SHORT_FAR => distance.into(),
                _ => FAR,
            },
            Distances::Long(long) => long.get(at).copied().unwrap_or(FAR),
        }
    }

    /// Where every link costs 1.
    pub(super) fn by_hops(graph: &Graph, root: Node) -> Tree {
        let mut search = Breadth::new(graph.places());
        let (mut next, mut queued) = (0, search.reach(root, 0, 0));
        while next < queued && queued < graph.switches().len() {
            queued = search.spread(graph, search.queue[next], queued);
            next += 1;
        }
        Tree::of(&search.distances)
    }

    /// Of up to [`AT_ONCE`] destinations, where every link costs 1: a switch is a step farther from
    /// all destinations from which its neighbours were reached in the step before. One look at a
    /// link serves all of them.
    pub(super) fn many_by_hops(graph: &Graph, roots: &[Node]) -> Vec<Tree> {
        let all = u64::MAX >> (AT_ONCE - roots.len().clamp(1, AT_ONCE));
        let mut distances = vec![vec![FAR; graph.places()]; roots.len()];
        let mut reached = vec![0u64; graph.places()];
        for (at, root) in roots.iter().enumerate() {
            reached[root.index()] |= 1 << at;
            distances[at][root.index()] = 0;
        }
        let (mut last, mut fresh) = (reached.clone(), vec![0u64; graph.places()]);
        for step in 1..=STEPS_MAX {
            let mut any = 0;
            for place in 0..graph.places() {
                fresh[place] = 0;
                let missing = all & !reached[place];
                if missing == 0 {
                    continue;
                }
                let neighbours = graph.neighbours(Node::at(place)).iter();
                let came = neighbours.fold(0, |came, (near, _)| came | last[near.index()]);
                fresh[place] = came & missing;
                reached[place] |= fresh[place];
                any |= fresh[place];
                let mut bits = fresh[place];
                while bits != 0 {
                    distances[bits.trailing_zeros() as usize][place] = step;
                    bits &= bits - 1;
                }
            }
            if any == 0 {
                return distances.iter().map(|distances| Tree::of(distances)).collect();
            }
            core::mem::swap(&mut last, &mut fresh);
        }
        roots.iter().map(|&root| Tree::by_hops(graph, root)).collect()
    }

    /// Where `farther` says how far a switch is whose link costs so much and leads to a switch so
    /// far away.
    pub(super) fn by_cost(graph: &Graph, root: Node, farther: impl Fn(Metric, u32) -> u32) -> Tree {
        let mut distances = vec![FAR; graph.places()];
        // The distance above, the place below: one comparison for both.
        let mut heap = BinaryHeap::with_capacity(graph.places());
        distances[root.index()] = 0;
        heap.push(Reverse(root.index() as u64));
        while let Some(Reverse(entry)) = heap.pop() {
            let (distance, node) = ((entry >> 32) as u32, Node::at(entry as u32 as usize));
            if distance != distances[node.index()] {
                continue;
            }
            for &(neighbour, link) in graph.neighbours(node) {
                let there = farther(link, distance);
                if there < distances[neighbour.index()] {
                    distances[neighbour.index()] = there;
                    heap.push(Reverse(u64::from(there) << 32 | neighbour.index() as u64));
                }
            }
        }
        Tree::of(&distances)
    }
}

/// A search that goes outward link by link.
struct Breadth {
    distances: Vec<u32>,
    // Of the switches that were reached, those next to one with many neighbours: one bit for each
    // place.
    marked: Vec<u64>,
    // The switches in the order in which they were reached; one place more than there are.
    queue: Vec<Node>,
}

impl Breadth {
    fn new(places: usize) -> Breadth {
        Breadth {
            distances: vec![FAR; places],
            marked: vec![0; places.div_ceil(64)],
            queue: vec![Node::at(0); places + 1],
        }
    }

    /// Reaches the neighbours of a switch; so many were reached before, and so many are afterwards.
    /// Where it has many, they are compared with those reached already 64 at a time.
    #[inline]
    fn spread(&mut self, graph: &Graph, node: Node, mut queued: usize) -> usize {
        let distance = self.distances[node.index()] + 1;
        let neighbours = graph.neighbours(node);
        let row = if neighbours.len() > NEIGHBOURS_FEW { graph.links_of(node).row() } else { None };
        let Some((from, row)) = row else {
            for &(neighbour, _) in neighbours {
                queued = self.reach(neighbour, distance, queued);
            }
            return queued;
        };
        for (at, &bits) in row.iter().enumerate() {
            let mut fresh = bits & !self.marked[from + at];
            self.marked[from + at] |= bits;
            while fresh != 0 {
                let place = (from + at) * 64 + fresh.trailing_zeros() as usize;
                queued = self.reach(Node::at(place), distance, queued);
                fresh &= fresh - 1;
            }
        }
        queued
    }

    /// Reaches a switch, if it was not reached before. Without a branch: it could not be predicted.
    #[inline(always)]
    fn reach(&mut self, node: Node, distance: u32, queued: usize) -> usize {
        let before = self.distances[node.index()];
        self.distances[node.index()] = before.min(distance);
        self.queue[queued] = node;
        queued + usize::from(before == FAR)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn distances() -> impl Strategy<Value = Vec<u32>> {
        let near = prop_oneof![0..4u32, 250..260u32, Just(u32::MAX - 1)];
        let any = prop_oneof![3 => Just(FAR), 2 => 0..255u32, 1 => near];
        prop::collection::vec(any, 0..40)
    }

    proptest! {
        #[test]
        fn a_tree_says_what_it_was_made_of(distances in distances()) {
            let tree = Tree::of(&distances);
            for place in 0..distances.len() + 3 {
                let expected = distances.get(place).copied().unwrap_or(FAR);
                prop_assert_eq!(tree.distance(Node::at(place)), expected);
            }
        }
    }

    #[test]
    fn what_is_out_of_reach_takes_no_room_and_short_distances_take_a_byte() {
        let mut distances = vec![FAR; 5000];
        distances[4000] = 0;
        let Distances::Short(short) = Tree::of(&distances).distances else { panic!("it is short") };
        assert_eq!(short.len(), 1);
        distances[4010] = 254;
        let Distances::Short(short) = Tree::of(&distances).distances else { panic!("it is short") };
        assert_eq!(short.len(), 11);
        distances[4010] = 255;
        assert!(
            matches!(Tree::of(&distances).distances, Distances::Long(long) if long.len() == 11)
        );
    }
}
