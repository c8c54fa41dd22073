//! From a list of actions to ours, with what has to be true of the packets they are done to.

use crate::datapath::Datapath;
use crate::datapath::action::{ActionSet, DatapathAction, Set};
use crate::datapath::bounds::ACTIONS_MAX;
use crate::datapath::fields::*;
use crate::datapath::group::Groups;
use aldis_packet::{ethertype, protocol};
use aldis_wire::v13;
use aldis_wire::v13::error::{BadActionCode, ErrorCode};
use aldis_wire::v13::oxm::{Oxm, VID_PRESENT};
use aldis_wire::v13::port::PortNo;

/// SCTP's number among the protocols above IP.
const SCTP: u8 = 132;

/// What is known of the packets that a list of actions is done to.
#[derive(Clone, Debug)]
pub(super) struct Sight {
    /// `None` where nothing is: a bucket or a PACKET_OUT sees packets of any kind.
    pattern: Option<Pattern>,
    /// VLAN tags that are there for certain.
    tags: u8,
}

impl Sight {
    pub(super) fn of(pattern: &Pattern) -> Sight {
        let tagged = pattern.key.field(VLAN_TCI) as u16 & VLAN_PRESENT != 0;
        Sight { pattern: Some(*pattern), tags: tagged.into() }
    }

    const ANYTHING: Sight = Sight { pattern: None, tags: 0 };

    fn is_tagged(&self) -> bool {
        self.pattern.is_none() || self.tags > 0
    }

    fn is(&self, field: Field, value: u64) -> bool {
        self.pattern.is_none_or(|pattern| {
            pattern.mask.field(field) != 0 && pattern.key.field(field) == value
        })
    }

    fn kind(&self, kind: u16) -> bool {
        self.is(ETH_TYPE, kind.into())
    }

    fn is_ip(&self) -> bool {
        self.kind(ethertype::IPV4) || self.kind(ethertype::IPV6)
    }

    fn above(&self, number: u8) -> bool {
        self.is_ip() && self.is(IP_PROTO, number.into())
    }
}

/// A flow's actions, which groups of the switch they may lead to.
pub(super) fn flow_actions(
    switch: &Datapath,
    said: &[v13::action::Action],
    sight: &mut Sight,
) -> Result<Vec<DatapathAction>, ErrorCode> {
    list(&switch.world.groups, said, sight)
}

/// The actions of a PACKET_OUT, which may send the frame through the tables.
pub(in crate::datapath::v13) fn packet_out_actions(
    switch: &Datapath,
    said: &[v13::action::Action],
) -> Result<Vec<DatapathAction>, ErrorCode> {
    read(&switch.world.groups, said, &mut Sight::ANYTHING.clone(), true)
}

/// The actions of a bucket, in the order in which a set of them is done.
pub(in crate::datapath::v13) fn bucket_actions(
    switch: &Datapath,
    said: &[v13::action::Action],
) -> Result<Vec<DatapathAction>, ErrorCode> {
    let mut set = ActionSet::default();
    set.write(&list(&switch.world.groups, said, &mut Sight::ANYTHING.clone())?);
    Ok(set.in_order())
}

fn list(
    groups: &Groups,
    said: &[v13::action::Action],
    sight: &mut Sight,
) -> Result<Vec<DatapathAction>, ErrorCode> {
    match said.len() > ACTIONS_MAX {
        true => wrong(BadActionCode::TOO_MANY),
        false => read(groups, said, sight, false),
    }
}

fn read(
    groups: &Groups,
    said: &[v13::action::Action],
    sight: &mut Sight,
    may_table: bool,
) -> Result<Vec<DatapathAction>, ErrorCode> {
    let mut actions = Vec::with_capacity(said.len());
    for said in said {
        actions.extend(action(groups, said, sight, may_table)?);
    }
    Ok(actions)
}

fn wrong<T>(code: BadActionCode) -> Result<T, ErrorCode> {
    Err(ErrorCode::BadAction(code))
}

/// One action; queues are not emulated, and choosing one does nothing.
fn action(
    groups: &Groups,
    said: &v13::action::Action,
    sight: &mut Sight,
    may_table: bool,
) -> Result<Option<DatapathAction>, ErrorCode> {
    use v13::action::Action as Said;
    let needs = |good| if good { Ok(()) } else { wrong(BadActionCode::MATCH_INCONSISTENT) };
    Ok(Some(match said {
        Said::Output { port, .. } => output(*port, may_table)?,
        Said::Group(group) if groups.0.contains_key(&group.0) => DatapathAction::Group(group.0),
        Said::Group(_) => return wrong(BadActionCode::BAD_OUT_GROUP),
        Said::SetQueue(_) => return Ok(None),
        Said::PushVlan(tpid @ (ethertype::VLAN | ethertype::VLAN_SERVICE)) => {
            sight.tags = sight.tags.saturating_add(1);
            DatapathAction::PushVlan(*tpid)
        }
        Said::PushVlan(_) => return wrong(BadActionCode::BAD_ARGUMENT),
        Said::PopVlan => {
            needs(sight.is_tagged())?;
            sight.tags = sight.tags.saturating_sub(1);
            DatapathAction::PopVlan
        }
        Said::SetNwTtl(ttl) => {
            needs(sight.is_ip())?;
            DatapathAction::Set(Set::Ttl(*ttl))
        }
        Said::DecNwTtl => {
            needs(sight.is_ip())?;
            DatapathAction::DecrementTtl
        }
        Said::SetField(field) => {
            let set = set(field)?;
            needs(has(sight, field))?;
            DatapathAction::Set(set)
        }
        Said::Experimenter { .. } => return wrong(BadActionCode::BAD_EXPERIMENTER),
        _ => return wrong(BadActionCode::BAD_TYPE),
    }))
}

fn output(port: PortNo, may_table: bool) -> Result<DatapathAction, ErrorCode> {
    let is_port = port.0 != 0 && port.0 < PortNo::MAX.0;
    let reserved = [PortNo::IN_PORT, PortNo::FLOOD, PortNo::ALL, PortNo::CONTROLLER, PortNo::LOCAL];
    if is_port || reserved.contains(&port) || may_table && port == PortNo::TABLE {
        Ok(DatapathAction::Output(port.0))
    } else {
        wrong(BadActionCode::BAD_OUT_PORT)
    }
}

/// The field that a SET_FIELD sets. Those that no action may set are refused as such.
fn set(field: &Oxm) -> Result<Set, ErrorCode> {
    let bad = || ErrorCode::BadAction(BadActionCode::BAD_SET_ARGUMENT);
    let fits = |good: bool| if good { Ok(()) } else { Err(bad()) };
    if field.header().has_mask() {
        return wrong(BadActionCode::BAD_SET_TYPE);
    }
    let icmp = |field: &Oxm| match field {
        Oxm::Icmpv4Type(_) | Oxm::Icmpv4Code(_) => protocol::ICMP,
        _ => protocol::ICMPV6,
    };
    Ok(match field {
        Oxm::Metadata(masked) => Set::Metadata { value: masked.value, mask: u64::MAX },
        Oxm::EthDst(mac) => Set::EthDst(mac.value),
        Oxm::EthSrc(mac) => Set::EthSrc(mac.value),
        Oxm::VlanVid(vid) => {
            fits(vid.value & VID_PRESENT != 0 && vid.value & !(VID_PRESENT | VLAN_VID) == 0)?;
            Set::Vlan { value: vid.value & VLAN_VID, mask: VLAN_VID, add: false }
        }
        Oxm::VlanPcp(pcp) => {
            fits(*pcp <= 7)?;
            Set::Vlan { value: u16::from(*pcp) << 13, mask: VLAN_PCP, add: false }
        }
        Oxm::IpDscp(dscp) => {
            fits(*dscp <= 63)?;
            Set::Tos { value: dscp << 2, mask: 0xfc }
        }
        Oxm::IpEcn(ecn) => {
            fits(*ecn <= 3)?;
            Set::Tos { value: *ecn, mask: 3 }
        }
        Oxm::Ipv4Src(ip) => Set::Ipv4Src(ip.value),
        Oxm::Ipv4Dst(ip) => Set::Ipv4Dst(ip.value),
        Oxm::TcpSrc(port) => Set::TpSrc { port: *port, only: Some(protocol::TCP) },
        Oxm::TcpDst(port) => Set::TpDst { port: *port, only: Some(protocol::TCP) },
        Oxm::UdpSrc(port) => Set::TpSrc { port: *port, only: Some(protocol::UDP) },
        Oxm::UdpDst(port) => Set::TpDst { port: *port, only: Some(protocol::UDP) },
        Oxm::SctpSrc(port) => Set::TpSrc { port: *port, only: Some(SCTP) },
        Oxm::SctpDst(port) => Set::TpDst { port: *port, only: Some(SCTP) },
        Oxm::Icmpv4Type(kind) | Oxm::Icmpv6Type(kind) => {
            Set::IcmpType { kind: *kind, protocol: icmp(field) }
        }
        Oxm::Icmpv4Code(code) | Oxm::Icmpv6Code(code) => {
            Set::IcmpCode { code: *code, protocol: icmp(field) }
        }
        Oxm::ArpOp(op) => Set::ArpOp(*op),
        Oxm::ArpSpa(ip) => Set::ArpSpa(ip.value),
        Oxm::ArpTpa(ip) => Set::ArpTpa(ip.value),
        Oxm::ArpSha(mac) => Set::ArpSha(mac.value),
        Oxm::ArpTha(mac) => Set::ArpTha(mac.value),
        Oxm::Ipv6Src(ip) => Set::Ipv6Src(ip.value),
        Oxm::Ipv6Dst(ip) => Set::Ipv6Dst(ip.value),
        Oxm::Ipv6Flabel(label) => {
            fits(label.value >> 20 == 0)?;
            Set::Ipv6Label(label.value)
        }
        _ => return wrong(BadActionCode::BAD_SET_TYPE),
    })
}

/// Whether the packets have the field.
fn has(sight: &Sight, field: &Oxm) -> bool {
    match field {
        Oxm::VlanVid(_) | Oxm::VlanPcp(_) => sight.is_tagged(),
        Oxm::IpDscp(_) | Oxm::IpEcn(_) => sight.is_ip(),
        Oxm::Ipv4Src(_) | Oxm::Ipv4Dst(_) => sight.kind(ethertype::IPV4),
        Oxm::Ipv6Src(_) | Oxm::Ipv6Dst(_) | Oxm::Ipv6Flabel(_) => sight.kind(ethertype::IPV6),
        Oxm::TcpSrc(_) | Oxm::TcpDst(_) => sight.above(protocol::TCP),
        Oxm::UdpSrc(_) | Oxm::UdpDst(_) => sight.above(protocol::UDP),
        Oxm::SctpSrc(_) | Oxm::SctpDst(_) => sight.above(SCTP),
        Oxm::Icmpv4Type(_) | Oxm::Icmpv4Code(_) => {
            sight.kind(ethertype::IPV4) && sight.above(protocol::ICMP)
        }
        Oxm::Icmpv6Type(_) | Oxm::Icmpv6Code(_) => {
            sight.kind(ethertype::IPV6) && sight.above(protocol::ICMPV6)
        }
        Oxm::ArpOp(_) | Oxm::ArpSpa(_) | Oxm::ArpTpa(_) | Oxm::ArpSha(_) | Oxm::ArpTha(_) => {
            sight.kind(ethertype::ARP)
        }
        _ => true,
    }
}
