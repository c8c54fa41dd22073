//! What a flow does, in the words of neither version: both are read into these.

use super::packet::DatapathPacket;
use aldis_wire::MacAddr;
use std::net::{Ipv4Addr, Ipv6Addr};

/// A header field and its new value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Set {
    Metadata {
        value: u64,
        mask: u64,
    },
    EthDst(MacAddr),
    EthSrc(MacAddr),
    /// Bits of the outermost tag; `add` one where there is none, as 1.0 does.
    Vlan {
        value: u16,
        mask: u16,
        add: bool,
    },
    /// Bits of the type of service, or traffic class.
    Tos {
        value: u8,
        mask: u8,
    },
    Ttl(u8),
    Ipv4Src(Ipv4Addr),
    Ipv4Dst(Ipv4Addr),
    Ipv6Src(Ipv6Addr),
    Ipv6Dst(Ipv6Addr),
    Ipv6Label(u32),
    /// A transport port; of this protocol only, where it says one.
    TpSrc {
        port: u16,
        only: Option<u8>,
    },
    TpDst {
        port: u16,
        only: Option<u8>,
    },
    IcmpType {
        kind: u8,
        protocol: u8,
    },
    IcmpCode {
        code: u8,
        protocol: u8,
    },
    ArpOp(u16),
    ArpSpa(Ipv4Addr),
    ArpTpa(Ipv4Addr),
    ArpSha(MacAddr),
    ArpTha(MacAddr),
}

/// One action.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DatapathAction {
    /// Out of a port, numbered as 1.3 does.
    Output(u32),
    Group(u32),
    PushVlan(u16),
    PopVlan,
    DecrementTtl,
    Set(Set),
}

/// What a flow does with a packet, in the order of the fields (OpenFlow 1.3.5 §5.9).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct ActionProgram {
    pub(crate) meter: Option<u32>,
    pub(crate) apply: Box<[DatapathAction]>,
    pub(crate) clear: bool,
    pub(crate) write: Box<[DatapathAction]>,
    pub(crate) metadata: Option<(u64, u64)>,
    pub(crate) goto: Option<u8>,
}

impl ActionProgram {
    pub(crate) fn actions(&self) -> impl Iterator<Item = &DatapathAction> {
        self.apply.iter().chain(&self.write)
    }

    /// Whether it sends packets out of `port`, in words: an output that names it.
    pub(crate) fn outputs_to(&self, port: u32) -> bool {
        self.actions().any(|action| *action == DatapathAction::Output(port))
    }

    pub(crate) fn leads_to(&self, group: u32) -> bool {
        self.actions().any(|action| *action == DatapathAction::Group(group))
    }
}

/// The actions that are done where the tables end: at most one of each kind, in an order of their
/// own (§5.10).
#[derive(Clone, Debug, Default)]
pub(crate) struct ActionSet {
    pop: bool,
    push: Option<u16>,
    decrement: bool,
    sets: Vec<Set>,
    group: Option<u32>,
    output: Option<DatapathAction>,
}

impl ActionSet {
    pub(crate) fn clear(&mut self) {
        *self = ActionSet::default();
    }

    /// Adds actions; each takes the place of one of its kind.
    pub(crate) fn write(&mut self, actions: &[DatapathAction]) {
        for action in actions {
            match *action {
                DatapathAction::PopVlan => self.pop = true,
                DatapathAction::PushVlan(tpid) => self.push = Some(tpid),
                DatapathAction::DecrementTtl => self.decrement = true,
                DatapathAction::Group(group) => self.group = Some(group),
                DatapathAction::Output(_) => self.output = Some(*action),
                DatapathAction::Set(set) => {
                    // A field set before is set again: the later place in the list is as good.
                    self.sets.retain(|old| !same_field(old, &set));
                    self.sets.push(set);
                }
            }
        }
    }

    /// The actions in the order of the specification: a group comes instead of an output. Without
    /// either the packet goes nowhere, and nothing is left to do.
    pub(crate) fn in_order(&self) -> Vec<DatapathAction> {
        let Some(last) = self.group.map(DatapathAction::Group).or(self.output) else {
            return Vec::new();
        };
        let pop = self.pop.then_some(DatapathAction::PopVlan);
        let push = self.push.map(DatapathAction::PushVlan);
        let decrement = self.decrement.then_some(DatapathAction::DecrementTtl);
        let sets = self.sets.iter().copied().map(DatapathAction::Set);
        pop.into_iter().chain(push).chain(decrement).chain(sets).chain([last]).collect()
    }
}

fn same_field(one: &Set, other: &Set) -> bool {
    match (one, other) {
        (Set::Vlan { mask: one, .. }, Set::Vlan { mask: other, .. }) => one == other,
        (Set::Tos { mask: one, .. }, Set::Tos { mask: other, .. }) => one == other,
        (Set::TpSrc { only: one, .. }, Set::TpSrc { only: other, .. })
        | (Set::TpDst { only: one, .. }, Set::TpDst { only: other, .. }) => one == other,
        (Set::IcmpType { protocol: one, .. }, Set::IcmpType { protocol: other, .. })
        | (Set::IcmpCode { protocol: one, .. }, Set::IcmpCode { protocol: other, .. }) => {
            one == other
        }
        // Part of the metadata may be set, and the other part by another.
        (Set::Metadata { .. }, _) => false,
        _ => std::mem::discriminant(one) == std::mem::discriminant(other),
    }
}

impl DatapathAction {
    /// Does what changes the packet alone; `false` where its time to live ran out.
    pub(crate) fn change(&self, packet: &mut DatapathPacket<'_>) -> bool {
        match self {
            DatapathAction::PushVlan(tpid) => packet.push_vlan(*tpid),
            DatapathAction::PopVlan => packet.pop_vlan(),
            DatapathAction::DecrementTtl => return packet.decrement_ttl(),
            DatapathAction::Set(set) => packet.set(set),
            DatapathAction::Output(_) | DatapathAction::Group(_) => {}
        }
        true
    }
}
