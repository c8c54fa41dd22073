//! The next hops towards one destination: for each switch a bit set of the links that lead closer,
//! found when first asked for.
//!
//! A search for a flow's path asks at each switch on it, and a switch in the middle of a network
//! has many links of which few lead where it wants to go. The words are of one version of the
//! routes: a link's place among those of its switch is of one graph.

use core::sync::atomic::{AtomicU64, Ordering};

use super::graph::Node;
use super::node::Leg;

/// Links of a switch that a word has bits for.
const LEGS: usize = 63;

/// Set in words that were found.
const FOUND: u64 = 1 << LEGS;

/// The links that lead closer to one destination.
#[derive(Debug)]
pub(super) struct NextHops(Box<[AtomicU64]>);

impl NextHops {
    /// Of so many switches, nothing found yet.
    pub(super) fn new(places: usize) -> NextHops {
        NextHops((0..places).map(|_| AtomicU64::new(0)).collect())
    }

    /// Those of the links of a switch that lead closer, as `leads` says; none where the switch has
    /// more links than are noted.
    #[inline]
    pub(super) fn leading<'g>(
        &self,
        node: Node,
        legs: &'g [Leg],
        leads: impl Fn(&Leg) -> bool,
    ) -> Option<Leading<'g>> {
        let word = self.0.get(node.index())?;
        let mut bits = word.load(Ordering::Relaxed);
        if bits == 0 {
            if legs.len() > LEGS {
                return None;
            }
            let leading = legs.iter().enumerate().filter(|(_, leg)| leads(leg));
            // Two workers that find it at once find the same.
            bits = leading.fold(FOUND, |bits, (at, _)| bits | 1 << at);
            word.store(bits, Ordering::Relaxed);
        }
        Some(Leading { legs, bits: bits & !FOUND })
    }
}

/// Links of a switch that lead closer, by port.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leading<'g> {
    legs: &'g [Leg],
    bits: u64,
}

impl<'g> Iterator for Leading<'g> {
    type Item = &'g Leg;

    #[inline]
    fn next(&mut self) -> Option<&'g Leg> {
        let leg = self.legs.get(self.bits.trailing_zeros() as usize)?;
        self.bits &= self.bits - 1;
        Some(leg)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use aldis_control::SwitchPort;
    use aldis_wire::DatapathId;

    use crate::routing::{Engine, FlowHash, Graph, GraphChange, Metric, Routes, Shortest, Widest};

    /// Chooses link by link, as engines do that replace nothing.
    #[derive(Debug)]
    struct Plain<E>(E);

    impl<E: Engine> Engine for Plain<E> {
        fn name(&self) -> &'static str {
            "plain"
        }

        fn farther(&self, link: Metric, beyond: u32) -> u32 {
            self.0.farther(link, beyond)
        }
    }

    /// Three switches in a triangle, with so many links between each two.
    fn triangle(links: u32) -> Arc<Graph> {
        let mut changes: Vec<_> =
            (1..=3).map(|dpid| GraphChange::SwitchUp(DatapathId(dpid))).collect();
        for (a, b) in [(1, 2), (2, 3), (3, 1)] {
            for link in 0..links {
                let ends = [SwitchPort::new(a, 2 * link + 1), SwitchPort::new(b, 2 * link + 2)];
                let metric = Metric::default();
                changes.push(GraphChange::Link { from: ends[0], to: ends[1], metric });
                changes.push(GraphChange::Link { from: ends[1], to: ends[0], metric });
            }
        }
        Arc::new(Graph::default().with(&changes))
    }

    fn same(engine: impl Engine + Copy + 'static, links: u32) {
        let graph = triangle(links);
        let routes = Routes::new(Arc::new(engine), Arc::clone(&graph));
        let plain = Routes::new(Arc::new(Plain(engine)), Arc::clone(&graph));
        let mut ports = std::collections::BTreeSet::new();
        for flow in (0..400).map(|flow| FlowHash(flow * 0x0123_4567_89ab)) {
            for (_, from) in graph.switches() {
                for (_, to) in graph.switches() {
                    let (mut path, mut expected) = (vec![], vec![]);
                    assert!(routes.path(from, to, flow, &mut path));
                    assert!(plain.path(from, to, flow, &mut expected));
                    assert_eq!(path, expected);
                    ports.extend(path.iter().map(|hop| (hop.node, hop.out_port)));
                }
            }
        }
        assert!(ports.len() >= 6 * links as usize * 9 / 10, "{}", ports.len());
    }

    #[test]
    fn a_flow_takes_the_links_that_it_would_take_if_each_were_looked_for() {
        for links in [1, 3, 31, 32, 40] {
            same(Shortest::default(), links);
            same(Widest, links);
        }
    }
}
