//! Looking ahead: where the receivers of a batch's requests are, found together. What one needs of the memory is on its way
//! while others are looked for, and what the answers will need is asked for before the first of them is given.

use aldis_control::{Batch, Request};
use aldis_packet::Ethernet;
use aldis_wire::msg::PortNo;
use aldis_wire::{DatapathId, MacAddr};

use super::planner::Planner;
use super::rule::Key;
use crate::hosts::{AT_ONCE, Hosts, Identity};
use crate::place::SwitchPort;

/// What the requests of a batch are about, by their places there.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    flows: Vec<Option<Flow>>,
}

/// A flow from one host to another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flow {
    /// Which one.
    pub(super) key: Key,
    /// Where the request came from.
    pub(super) from: SwitchPort,
    /// Where its receiver is, if anybody knows it.
    pub(super) to: Option<SwitchPort>,
    /// What the planner calls it, where anybody knows.
    pub(super) hash: u64,
}

impl Ahead {
    /// Reads the frames of a batch, and finds their receivers.
    pub(super) fn read(
        &mut self,
        batch: &Batch<'_>,
        hosts: &Hosts,
        (planner, version): (&Planner, u64),
    ) {
        self.flows.clear();
        self.flows.resize(batch.requests.len(), None);
        for run in batch.runs {
            let dpid = batch.switches[run.switch].info.dpid;
            let requests = &batch.requests[run.requests.clone()];
            for (flow, request) in self.flows[run.requests.clone()].iter_mut().zip(requests) {
                *flow = read(dpid, request, batch.frame(request));
            }
        }
        for flows in self.flows.chunks_mut(AT_ONCE) {
            find(flows, hosts, (planner, version));
        }
    }

    /// What a request is about; nothing where it is not about a flow from one host to another.
    #[inline]
    pub(super) fn flow(&self, at: usize) -> Option<Flow> {
        *self.flows.get(at)?
    }
}

fn find(flows: &mut [Option<Flow>], hosts: &Hosts, (planner, version): (&Planner, u64)) {
    let nobody = Identity { mac: MacAddr([0; 6]), vlan: 0 };
    let mut asked = [nobody; AT_ONCE];
    for (flow, id) in flows.iter().zip(&mut asked) {
        if let Some(Flow { key, .. }) = flow {
            *id = Identity { mac: key.dst, vlan: key.host_vlan() };
        }
    }
    let mut found = [None; AT_ONCE];
    hosts.by_few_macs(&asked[..flows.len()], &mut found);
    for (flow, host) in flows.iter_mut().zip(found) {
        if let (Some(Flow { key, from, to, hash }), Some(host)) = (flow, host) {
            *to = Some(host.at());
            *hash = planner.foresee(*key, (*from, host.at()), version);
        }
    }
}

fn read(dpid: DatapathId, request: &Request, frame: &[u8]) -> Option<Flow> {
    let from = SwitchPort::of(dpid, PortNo(request.in_port));
    key(frame).map(|key| Flow { key, from, to: None, hash: 0 })
}

/// The flow of a frame from one host to another.
fn key(frame: &[u8]) -> Option<Key> {
    let frame = Ethernet::new(frame)?;
    let [src, dst] = [frame.source(), frame.destination()].map(MacAddr);
    let vlan = frame.tags().next().map_or(Key::UNTAGGED, |tag| tag.vid());
    (!src.is_group() && !dst.is_group()).then_some(Key { src, dst, vlan })
}
