//! Looking ahead: where the receivers of a batch's requests are, found together. What one needs of the memory is on its way
//! while others are looked for, and what the answers will need is asked for before the first of them is given.

use aldis_control::Batch;
use aldis_packet::Ethernet;
use aldis_wire::MacAddr;
use aldis_wire::msg::PortNo;

use super::planner::Planner;
use super::rule::Key;
use crate::hosts::{AT_ONCE, Hosts, Identity};
use crate::place::SwitchPort;
use crate::routing::{Graph, Node};

/// What the requests of a batch are about, by their places there.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    flows: Vec<Option<Flow>>,
    /// Where each came from; of those that are about no flow it does not matter.
    from: Vec<SwitchPort>,
    /// So many of them were looked into.
    found: usize,
}

/// A flow from one host to another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flow {
    /// Which one.
    pub(super) key: Key,
    /// Whether anybody knows where its receiver is. The rest means nothing where not.
    pub(super) is_known: bool,
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
    fn of(at: SwitchPort, graph: &Graph) -> Place {
        let node = graph.node(at.dpid);
        Place { node, leads_on: node.is_some_and(|node| graph.is_end_of(node, at.port)) }
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

impl Ahead {
    /// Reads the frames of a batch.
    pub(super) fn read(&mut self, batch: &Batch<'_>) {
        self.found = 0;
        self.flows.clear();
        self.flows.resize(batch.requests.len(), None);
        self.from.clear();
        self.from.resize(batch.requests.len(), SwitchPort::default());
        for run in batch.runs {
            let dpid = batch.switches[run.switch].info.dpid;
            let requests = &batch.requests[run.requests.clone()];
            let flows = self.flows[run.requests.clone()].iter_mut();
            let places = flows.zip(&mut self.from[run.requests.clone()]);
            for ((flow, from), request) in places.zip(requests) {
                *flow = key(batch.frame(request)).map(Flow::of);
                *from = SwitchPort::of(dpid, PortNo(request.in_port));
            }
        }
    }

    /// What a request is about; nothing where it is not about a flow from one host to another. Those that come behind it are looked
    /// into meanwhile, so that what they need is at hand when they are asked for, and not so early that it is gone again.
    #[inline]
    pub(super) fn flow(&mut self, at: usize, known: Known<'_>, planner: &Planner) -> Option<Flow> {
        while self.found <= at + AT_ONCE && self.found < self.flows.len() {
            let some = self.found..self.flows.len().min(self.found + AT_ONCE);
            self.found = some.end;
            find(&mut self.flows[some.clone()], &self.from[some], known, planner);
        }
        *self.flows.get(at)?
    }
}

impl Flow {
    fn of(key: Key) -> Flow {
        let (first, last) = (Place::default(), Place::default());
        Flow { key, is_known: false, to: SwitchPort::default(), hash: 0, first, last }
    }
}

/// What is done for one flow here does not wait for what is done for another.
fn find(flows: &mut [Option<Flow>], from: &[SwitchPort], known: Known<'_>, planner: &Planner) {
    let Known { hosts, graph, version } = known;
    let nobody = Identity { mac: MacAddr([0; 6]), vlan: 0 };
    let mut asked = [nobody; AT_ONCE];
    for (flow, id) in flows.iter().zip(&mut asked) {
        if let Some(Flow { key, .. }) = flow {
            *id = Identity { mac: key.dst, vlan: key.host_vlan() };
        }
    }
    let mut found = [None; AT_ONCE];
    hosts.by_few_macs(&asked[..flows.len()], &mut found);
    for ((flow, &from), host) in flows.iter_mut().zip(from).zip(found) {
        if let (Some(flow), Some(host)) = (flow, host) {
            (flow.is_known, flow.to) = (true, host.at());
            flow.hash = planner.foresee(flow.key, (from, flow.to), version);
            (flow.first, flow.last) = (Place::of(from, graph), Place::of(flow.to, graph));
        }
    }
}

/// The flow of a frame from one host to another.
fn key(frame: &[u8]) -> Option<Key> {
    let frame = Ethernet::new(frame)?;
    let [src, dst] = [frame.source(), frame.destination()].map(MacAddr);
    let vlan = frame.tags().next().map_or(Key::UNTAGGED, |tag| tag.vid());
    (!src.is_group() && !dst.is_group()).then_some(Key { src, dst, vlan })
}
