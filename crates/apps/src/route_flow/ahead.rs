//! Looking ahead: where the receivers of a batch's requests are, found together. What one needs of
//! the memory is on its way while others are looked for, and what the answers will need is asked
//! for before the first of them is given.

use aldis_control::Batch;
use aldis_packet::Ethernet;
use aldis_wire::msg::PortNo;
use aldis_wire::{DatapathId, MacAddr};

use super::planner::Planner;
use super::rule::Key;
use crate::hosts::{AT_ONCE, Host, Hosts, Identity};
use crate::routing::{Graph, Node};
use aldis_control::SwitchPort;

/// What the requests of a batch are about, by their places there.
#[derive(Debug)]
pub(super) struct Ahead {
    asks: Vec<Ask>,
    runs: Vec<From>,
    /// What those are about that were looked into lately, by the places of their requests.
    flows: Box<[Option<Flow>; RING]>,
    /// So many of them were looked into.
    found: usize,
}

/// Flows that are at hand: those that are looked into together, and those before them that wait for
/// their answers.
const RING: usize = 2 * AT_ONCE;

/// What a request is about, before anything is looked for.
#[derive(Clone, Copy, Debug)]
struct Ask {
    /// None where it is about no flow from one host to another.
    key: Option<Key>,
    in_port: u32,
    /// Its run.
    run: u32,
}

/// The switch of a run.
#[derive(Clone, Copy, Debug)]
struct From {
    dpid: DatapathId,
    node: Option<Node>,
}

/// A flow from one host to another whose place is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flow {
    /// Which one.
    pub(super) key: Key,
    /// Where its receiver is.
    pub(super) to: SwitchPort,
    /// What the planner calls it.
    pub(super) hash: u64,
    /// Where it comes in.
    pub(super) first: Place,
    /// Where it leaves.
    pub(super) last: Place,
}

/// An end of a flow in the graph.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
    /// Its switch, if that is there.
    pub(super) node: Option<Node>,
    /// Whether its port leads to a switch, or one was heard there.
    pub(super) leads_on: bool,
}

impl Place {
    #[inline]
    fn of(node: Option<Node>, port: PortNo, graph: &Graph) -> Place {
        Place { node, leads_on: node.is_some_and(|node| graph.is_end_of(node, port)) }
    }
}

/// What is known when a batch is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known<'w> {
    /// The hosts.
    pub(super) hosts: &'w Hosts,
    /// The switches and links.
    pub(super) graph: &'w Graph,
    /// The version of the World.
    pub(super) version: u64,
}

impl Default for Ahead {
    fn default() -> Self {
        Ahead { asks: Vec::new(), runs: Vec::new(), flows: Box::new([None; RING]), found: 0 }
    }
}

impl Ahead {
    /// Reads the frames of a batch; whether any of its requests is left to be answered.
    pub(super) fn read(&mut self, batch: &Batch<'_>, graph: &Graph) -> bool {
        self.found = 0;
        self.asks.clear();
        self.asks.resize(batch.requests.len(), Ask { key: None, in_port: 0, run: 0 });
        self.runs.clear();
        let mut is_left = false;
        for (at, run) in batch.runs.iter().enumerate() {
            let dpid = batch.switches[run.switch].info.dpid;
            self.runs.push(From { dpid, node: graph.node(dpid) });
            let requests = &batch.requests[run.requests.clone()];
            for (ask, request) in self.asks[run.requests.clone()].iter_mut().zip(requests) {
                if !request.stopped {
                    is_left = true;
                    let key = key(batch.frame(request));
                    *ask = Ask { key, in_port: request.in_port, run: at as u32 };
                }
            }
        }
        is_left
    }

    /// What a request is about; nothing where it is not about a flow to a host whose place is
    /// known. Those that come behind it are looked into meanwhile, so that what they need is at
    /// hand when they are asked for, and not so early that it is gone again. Requests are asked for
    /// in their order.
    #[inline]
    pub(super) fn flow(&mut self, at: usize, known: Known<'_>, planner: &Planner) -> Option<&Flow> {
        while self.found <= at + AT_ONCE / 2 && self.found < self.asks.len() {
            let some = self.found..self.asks.len().min(self.found + AT_ONCE);
            self.found = some.end;
            // Blocks of half of the ring: the one before it is not written over.
            let first = some.start % RING;
            let flows = &mut self.flows[first..first + some.len()];
            find((&self.asks[some], &self.runs), known, planner, flows);
        }
        self.flows[at % RING].as_ref()
    }
}

/// What is done for one flow here does not wait for what is done for another.
fn find(
    (asks, runs): (&[Ask], &[From]),
    known: Known<'_>,
    planner: &Planner,
    flows: &mut [Option<Flow>],
) {
    let Known { hosts, graph, version } = known;
    let nobody = Identity { mac: MacAddr([0; 6]), vlan: 0 };
    let mut request = [nobody; AT_ONCE];
    for (ask, id) in asks.iter().zip(&mut request) {
        if let Some(key) = ask.key {
            *id = Identity { mac: key.dst, vlan: key.host_vlan() };
        }
    }
    let mut found = [None; AT_ONCE];
    hosts.by_few_macs(&request[..asks.len()], &mut found);
    for ((flow, ask), host) in flows.iter_mut().zip(asks).zip(found) {
        *flow = None;
        let place = host.and_then(Host::place);
        let (Some(key), Some(to)) = (ask.key, place) else { continue };
        let from = runs[ask.run as usize];
        let port = PortNo(ask.in_port);
        let hash = planner.foresee(key, (SwitchPort::of(from.dpid, port), to), version);
        let node = if to.dpid == from.dpid { from.node } else { graph.node(to.dpid) };
        let first = Place::of(from.node, port, graph);
        *flow = Some(Flow { key, to, hash, first, last: Place::of(node, to.port, graph) });
    }
}

/// The flow of a frame from one host to another.
#[inline]
fn key(frame: &[u8]) -> Option<Key> {
    let frame = Ethernet::new(frame)?;
    let [src, dst] = [frame.source(), frame.destination()].map(MacAddr);
    let vlan = frame.tags().next().map_or(Key::UNTAGGED, |tag| tag.vid());
    (!src.is_group() && !dst.is_group()).then_some(Key { src, dst, vlan })
}
