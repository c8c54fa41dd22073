//! The path of a flow through the network, as the rules that it needs.

use aldis_control::SwitchPort;

use super::rule::{Key, Rule};
use crate::routing::{Node, RouteHop, Routes};

/// Whether there is a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Found {
    /// One that needs these rules.
    Path,
    /// One that begins by the port that the packet came in by. Switches do not send by that, so it
    /// needs no rules: this is asked by a packet that went astray.
    Back,
    /// None.
    Nothing,
}

/// Finds the rules of one path after the other.
#[derive(Debug, Default)]
pub(super) struct PathSearch {
    hops: Vec<RouteHop>,
    rules: Vec<Rule>,
}

impl PathSearch {
    /// Finds the rules of a flow's path between two ports.
    pub(super) fn find(
        &mut self,
        routes: &Routes,
        key: &Key,
        (from, to): (SwitchPort, SwitchPort),
    ) -> Found {
        let graph = routes.graph();
        let nodes = graph.node(from.dpid).zip(graph.node(to.dpid));
        self.find_between(routes, nodes, key, (from, to))
    }

    /// The same, where the places of the two switches were found already; none where one of them is
    /// not there.
    pub(super) fn find_between(
        &mut self,
        routes: &Routes,
        nodes: Option<(Node, Node)>,
        key: &Key,
        (from, to): (SwitchPort, SwitchPort),
    ) -> Found {
        self.hops.clear();
        self.rules.clear();
        if from.dpid == to.dpid && from.port != to.port && nodes.is_some() {
            // Most flows stay in one switch where networks are measured: no search, and no hop.
            self.rules.push(Rule { dpid: to.dpid, in_port: from.port, out_port: to.port });
            return Found::Path;
        }
        let found = nodes.is_some_and(|nodes| self.follow(routes, nodes, key, (from, to)));
        if !found {
            self.rules.clear();
            return Found::Nothing;
        }
        if self.rules.last().is_some_and(|first| first.in_port == first.out_port) {
            self.rules.clear();
            return Found::Back;
        }
        Found::Path
    }

    /// The rules of the path that was found, the last hop's first.
    pub(super) fn rules(&self) -> &[Rule] {
        &self.rules
    }

    fn follow(
        &mut self,
        routes: &Routes,
        (first, last): (Node, Node),
        key: &Key,
        (from, to): (SwitchPort, SwitchPort),
    ) -> bool {
        let graph = routes.graph();
        if !routes.path(first, last, key.flow(), &mut self.hops) {
            return false;
        }
        let mut out = to;
        for hop in self.hops.iter().rev() {
            self.rules.push(Rule { dpid: out.dpid, in_port: hop.in_port, out_port: out.port });
            let Some(dpid) = graph.dpid(hop.node) else { return false };
            out = SwitchPort::of(dpid, hop.out_port);
        }
        self.rules.push(Rule { dpid: out.dpid, in_port: from.port, out_port: out.port });
        true
    }
}
