//! Groups (OpenFlow 1.3.5 §5.6): one packet to many ports, to one of several, or to the first that
//! is live.

use super::action::DatapathAction;
use super::fields::{
    DESTINATION, ETH_DST, ETH_SRC, ETH_TYPE, FieldKey, IP_PROTO, SOURCE, TP_DST, TP_SRC,
};
use super::flow::FlowCounters;
use super::port::DatapathPorts;
use aldis_wire::v13::bucket as wire;
use aldis_wire::v13::bucket::GroupNo;
use aldis_wire::v13::group_mod::GroupType;
use aldis_wire::v13::port::PortNo;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// One of the sets of actions that a group chooses from.
#[derive(Clone, Debug)]
pub(crate) struct Bucket {
    pub(crate) said: wire::Bucket,
    /// Its actions in the order in which a set of them is done.
    pub(crate) actions: Arc<[DatapathAction]>,
    pub(crate) counters: FlowCounters,
}

/// A group and what it counted.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) kind: GroupType,
    pub(crate) buckets: Vec<Bucket>,
    pub(crate) created: Duration,
    pub(crate) counters: FlowCounters,
}

/// The groups of a datapath, by number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Groups(pub(crate) BTreeMap<u32, Group>);

impl Groups {
    /// The buckets that a packet goes through.
    pub(crate) fn choose(&self, id: u32, packet: &FieldKey, ports: &DatapathPorts) -> Vec<usize> {
        let Some(group) = self.0.get(&id) else { return Vec::new() };
        let one = |chosen: Option<usize>| chosen.into_iter().collect();
        match group.kind {
            GroupType::ALL => (0..group.buckets.len()).collect(),
            GroupType::INDIRECT => one((!group.buckets.is_empty()).then_some(0)),
            GroupType::FF => {
                one(group.buckets.iter().position(|bucket| self.is_live(bucket, ports, 0)))
            }
            _ => one(self.select(group, packet, ports)),
        }
    }

    /// By weight, from a hash of the addresses and ports: the packets of one connection go one way.
    /// A bucket that watches something dead is passed over.
    fn select(&self, group: &Group, packet: &FieldKey, ports: &DatapathPorts) -> Option<usize> {
        let live = |bucket: &Bucket| {
            let watches =
                bucket.said.watch_port != PortNo::ANY || bucket.said.watch_group != GroupNo::ANY;
            !watches || self.is_live(bucket, ports, 0)
        };
        let weight = |bucket: &Bucket| if live(bucket) { u64::from(bucket.said.weight) } else { 0 };
        let total: u64 = group.buckets.iter().map(weight).sum();
        let mut left = connection_hash(packet).checked_rem(total)?;
        group.buckets.iter().position(|bucket| {
            let weight = weight(bucket);
            let chosen = left < weight;
            left = left.saturating_sub(weight);
            chosen
        })
    }

    /// Whether what a bucket watches is live; one that watches nothing is not.
    fn is_live(&self, bucket: &Bucket, ports: &DatapathPorts, depth: u32) -> bool {
        let port = bucket.said.watch_port;
        let group = bucket.said.watch_group;
        let port_lives = ports.get(port.0).is_some_and(|port| port.is_live());
        port_lives || group != GroupNo::ANY && self.group_lives(group.0, ports, depth)
    }

    fn group_lives(&self, id: u32, ports: &DatapathPorts, depth: u32) -> bool {
        let Some(group) = self.0.get(&id).filter(|_| depth < super::bounds::GROUP_DEPTH_MAX) else {
            return false;
        };
        group.buckets.iter().any(|bucket| self.is_live(bucket, ports, depth + 1))
    }

    /// How many groups lead to one.
    pub(crate) fn references(&self, id: u32) -> usize {
        let buckets = self.0.values().flat_map(|group| &group.buckets);
        buckets.filter(|bucket| bucket.actions.contains(&DatapathAction::Group(id))).count()
    }
}

fn connection_hash(packet: &FieldKey) -> u64 {
    let parts = [
        packet.field(ETH_SRC) ^ packet.field(ETH_DST).rotate_left(17),
        packet.wide(SOURCE) as u64 ^ (packet.wide(SOURCE) >> 64) as u64,
        packet.wide(DESTINATION) as u64 ^ (packet.wide(DESTINATION) >> 64) as u64,
        packet.field(ETH_TYPE) << 8 | packet.field(IP_PROTO),
        packet.field(TP_SRC) << 16 | packet.field(TP_DST),
    ];
    let mixed = parts.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, part| {
        (hash ^ part).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23)
    });
    mixed ^ mixed >> 31
}
