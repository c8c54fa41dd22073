//! The graph builder: makes the graph of a map, of the links that carry traffic, with their costs.

use std::sync::Arc;

use aldis_control::SwitchPort;

use super::graph::{Graph, GraphChange};
use super::metric::Metric;
use crate::topology::{self, LinkPeer, LinkState, Map, MapPort};

/// Follows the map of the network, one version after the other, and has the graph of it.
///
/// A link is used once probes come through both ways and it has nothing to prove. Through a switch
/// that is not ours it is used where it has two ends; of more the two lowest are taken for a link.
#[derive(Debug, Default)]
pub struct GraphBuilder {
    uses_latency: bool,
    map: Map,
    graph: Arc<Graph>,
}

impl GraphBuilder {
    /// Of an empty map. Where `uses_latency` is false all links take the same time: latency is a
    /// matter of chance, and each change of it is one of the graph.
    pub fn new(uses_latency: bool) -> GraphBuilder {
        GraphBuilder { uses_latency, ..GraphBuilder::default() }
    }

    /// The graph of the map that was followed last.
    pub fn graph(&self) -> &Arc<Graph> {
        &self.graph
    }

    /// Takes the next version of the map; whether the graph is another.
    pub fn follow(&mut self, map: &Map) -> bool {
        let news = map.changes_since(&self.map);
        let mut changes: Vec<GraphChange> =
            news.iter().filter_map(|change| self.change(map, change)).collect();
        let moves = |change: &GraphChange| {
            matches!(change, GraphChange::SwitchUp(_) | GraphChange::SwitchDown(_))
        };
        if changes.iter().any(moves) {
            // A switch that went took its links along, and the ports at their other ends may be as
            // they were.
            changes.extend(self.links(map));
        }
        // Links are noted last: when both switches are there.
        changes.sort_by_key(|change| match change {
            GraphChange::SwitchDown(_) => 0,
            GraphChange::SwitchUp(_) => 1,
            GraphChange::NoLink { .. } => 2,
            GraphChange::Link { .. } => 3,
        });
        self.map = map.clone();
        if changes.is_empty() {
            return false;
        }
        self.graph = Arc::new(self.graph.with(&changes));
        true
    }

    /// What a change of the map is to the graph. Each direction of a link is told from the port
    /// that it leaves.
    fn change(&self, map: &Map, change: &topology::MapChange<'_>) -> Option<GraphChange> {
        match *change {
            topology::MapChange::SwitchUp(switch) => Some(GraphChange::SwitchUp(switch.dpid)),
            topology::MapChange::SwitchDown(dpid) => Some(GraphChange::SwitchDown(dpid)),
            topology::MapChange::Port { at, before, now } => {
                let was = before.and_then(|port| self.way(&self.map, at, port));
                match now.and_then(|port| self.way(map, at, port)) {
                    is if is == was => None,
                    Some((to, metric)) => Some(GraphChange::Link { from: at, to, metric }),
                    None => Some(GraphChange::NoLink { from: at }),
                }
            }
        }
    }

    /// All links that carry traffic, from both ends.
    fn links(&self, map: &Map) -> impl Iterator<Item = GraphChange> {
        map.switches().flat_map(move |switch| {
            switch.ports.iter().filter_map(move |port| {
                let from = SwitchPort::of(switch.dpid, port.number);
                let (to, metric) = self.way(map, from, port)?;
                Some(GraphChange::Link { from, to, metric })
            })
        })
    }

    /// Where what leaves by a port arrives, and what it costs.
    fn way(&self, map: &Map, at: SwitchPort, port: &MapPort) -> Option<(SwitchPort, Metric)> {
        let peer = match &port.link {
            Some(peer) => peer,
            None => partner(at, &port.far)?,
        };
        let latency_us = if self.uses_latency { peer.latency_us } else { 0 };
        let other = map.port(peer.at).map_or(0, |port| port.speed_kbps);
        let speed_kbps = if other == 0 { port.speed_kbps } else { port.speed_kbps.min(other) };
        (peer.state == LinkState::Up).then(|| (peer.at, Metric::new(latency_us, speed_kbps)))
    }
}

/// The port that the traffic of a port goes to, of those behind a switch that is not ours: the two
/// lowest of all are partners.
pub(crate) fn partner(at: SwitchPort, far: &[LinkPeer]) -> Option<&LinkPeer> {
    let lowest = far.iter().min_by_key(|peer| peer.at)?;
    let second = far.iter().filter(|peer| peer.at != lowest.at).map(|peer| peer.at).min();
    second.is_none_or(|second| at < second).then_some(lowest)
}
