//! Random programs of 1.3.

use super::corpus_v13::flow;
use super::frames::mac;
use super::random::{frame, ipv4, ipv6, mac_number, port_change, timeouts, tos, tp, vid, wait};
use super::step::CertifyStep;
use aldis_wire::v13::Message;
use aldis_wire::v13::action::Action;
use aldis_wire::v13::bucket::{Bucket, GroupNo};
use aldis_wire::v13::flow_mod::{FlowMod, FlowModCommand, FlowModFlags};
use aldis_wire::v13::group_mod::{GroupMod, GroupModCommand, GroupType};
use aldis_wire::v13::instruction::Instruction;
use aldis_wire::v13::match_::Match;
use aldis_wire::v13::oxm::{Masked, Oxm};
use aldis_wire::v13::port::PortNo;
use aldis_wire::v13::stats::{
    FlowStatsRequest, GroupStatsRequest, MultipartRequest, MultipartRequestBody,
};
use aldis_wire::v13::table_mod::TableNo;
use aldis_wire::{MacAddr, Version};
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;
use std::net::Ipv4Addr;

/// Groups, flows, frames, changes to the flows, frames, and what was counted. No two flows of one
/// priority overlap: which of them a frame meets is each switch's own affair.
pub(crate) fn program() -> impl Strategy<Value = Vec<CertifyStep>> {
    let frames = |most| {
        prop::collection::vec(
            prop_oneof![18 => frame(), 1 => wait(), 1 => port_change(Version::V13)],
            1..most,
        )
    };
    let adds = prop::collection::vec(change(true), 1..16);
    let changes = prop::collection::vec(change(false), 0..5);
    (groups(), adds, frames(16), changes, frames(8)).prop_map(
        |(groups, adds, some, changes, more)| {
            [groups, adds, some, changes, more, statistics()].concat()
        },
    )
}

fn statistics() -> Vec<CertifyStep> {
    let request = FlowStatsRequest {
        table_id: TableNo::ALL,
        out_port: PortNo::ANY,
        out_group: GroupNo::ANY,
        cookie: 0,
        cookie_mask: 0,
        match_: Match::default(),
    };
    let bodies = [
        MultipartRequestBody::Flow(request.clone()),
        MultipartRequestBody::Aggregate(request),
        MultipartRequestBody::Group(GroupStatsRequest { group_id: GroupNo::ALL }),
    ];
    bodies
        .map(|body| CertifyStep::V13(Message::MultipartRequest(MultipartRequest::new(body))))
        .into()
}

fn mac_addr() -> impl Strategy<Value = MacAddr> {
    mac_number().prop_map(|number| MacAddr(mac(number)))
}

/// A value that all bits count of, or those of a mask.
fn masked<T: Copy + std::fmt::Debug + 'static>(
    values: impl Strategy<Value = T>,
    masks: Vec<T>,
    and: impl Fn(T, T) -> T,
) -> impl Strategy<Value = Masked<T>> {
    (values, of(select(masks))).prop_map(move |(value, mask)| match mask {
        Some(mask) => Masked::with(and(value, mask), mask),
        None => Masked::exact(value),
    })
}

fn masked_mac() -> impl Strategy<Value = Masked<MacAddr>> {
    let masks = vec![MacAddr([1, 0, 0, 0, 0, 0]), MacAddr([0, 0, 0, 0, 0, 3])];
    masked(mac_addr(), masks, |a, b| MacAddr::from_u64(a.to_u64() & b.to_u64()))
}

fn masked_ipv4() -> impl Strategy<Value = Masked<Ipv4Addr>> {
    let masks = vec![Ipv4Addr::new(255, 0, 0, 0), Ipv4Addr::new(0, 0, 255, 255)];
    masked(ipv4(), masks, |a, b| Ipv4Addr::from(u32::from(a) & u32::from(b)))
}

/// Fields in an order in which each has what it needs before it.
fn fields() -> impl Strategy<Value = Vec<Oxm>> {
    let tag = prop_oneof![
        3 => Just(vec![]),
        1 => Just(vec![Oxm::VlanVid(Masked::exact(0))]),
        1 => Just(vec![Oxm::VlanVid(Masked::with(0x1000, 0x1000))]),
        2 => (vid(), of(0..3_u8)).prop_map(|(vid, pcp)| {
            let vid = Oxm::VlanVid(Masked::exact(vid | 0x1000));
            std::iter::once(vid).chain(pcp.map(Oxm::VlanPcp)).collect()
        }),
    ];
    let link = (of(1..5_u32), of(masked_mac()), of(masked_mac()), tag, of(metadata()));
    (link, network()).prop_map(|((port, dst, src, tag, metadata), network)| {
        let mut fields: Vec<Oxm> = port.map(|port| Oxm::InPort(PortNo(port))).into_iter().collect();
        fields.extend(metadata.map(Oxm::Metadata));
        fields.extend(dst.map(Oxm::EthDst));
        fields.extend(src.map(Oxm::EthSrc));
        fields.extend(tag);
        fields.extend(network);
        fields
    })
}

fn metadata() -> impl Strategy<Value = Masked<u64>> {
    masked(0..3_u64, vec![1, 2, 3], |a, b| a & b)
}

fn network() -> impl Strategy<Value = Vec<Oxm>> {
    let ip = |kind: u16| {
        (of(tos()), of(tos()), of(transport(kind == 0x86dd))).prop_map(move |(dscp, ecn, above)| {
            let mut fields = vec![Oxm::EthType(kind)];
            fields.extend(dscp.map(|tos| Oxm::IpDscp(tos >> 2)));
            fields.extend(ecn.map(|tos| Oxm::IpEcn(tos & 3)));
            fields.extend(above.into_iter().flatten());
            fields
        })
    };
    let join = |mut fields: Vec<Oxm>, more: Vec<Option<Oxm>>| {
        fields.extend(more.into_iter().flatten());
        fields
    };
    let v4 = (ip(0x0800), of(masked_ipv4()), of(masked_ipv4()));
    let v6 = (ip(0x86dd), of(ipv6()), of(ipv6()), of(select(vec![0, 1_u32])));
    let arp =
        (of(1..3_u16), of(masked_ipv4()), of(masked_ipv4()), of(masked_mac()), of(masked_mac()));
    prop_oneof![
        4 => Just(vec![]),
        4 => v4.prop_map(move |(ip, src, dst)| {
            join(ip, vec![src.map(Oxm::Ipv4Src), dst.map(Oxm::Ipv4Dst)])
        }),
        2 => v6.prop_map(move |(ip, src, dst, label)| {
            let label = label.map(|label| Oxm::Ipv6Flabel(Masked::exact(label)));
            let exact = Masked::exact;
            let (src, dst) = (src.map(exact).map(Oxm::Ipv6Src), dst.map(exact).map(Oxm::Ipv6Dst));
            join(ip, vec![src, dst, label])
        }),
        2 => arp.prop_map(move |(op, spa, tpa, sha, tha)| {
            let first = vec![op.map(Oxm::ArpOp), spa.map(Oxm::ArpSpa), tpa.map(Oxm::ArpTpa)];
            let fields = join(vec![Oxm::EthType(0x0806)], first);
            join(fields, vec![sha.map(Oxm::ArpSha), tha.map(Oxm::ArpTha)])
        }),
        1 => select(vec![0x88b5_u16, 0x88cc, 0x05ff, 0x8100]).prop_map(|kind| vec![Oxm::EthType(kind)]),
    ]
}

fn transport(v6: bool) -> impl Strategy<Value = Vec<Oxm>> {
    let ports = |proto: u8, src: fn(u16) -> Oxm, dst: fn(u16) -> Oxm| {
        (of(tp()), of(tp())).prop_map(move |(a, b)| {
            let mut fields = vec![Oxm::IpProto(proto)];
            fields.extend(a.map(src).into_iter().chain(b.map(dst)));
            fields
        })
    };
    let icmp = (of(select(vec![0_u8, 8, 128, 135])), of(0..2_u8)).prop_map(move |(kind, code)| {
        let mut fields = vec![Oxm::IpProto(if v6 { 58 } else { 1 })];
        fields.extend(kind.map(if v6 { Oxm::Icmpv6Type } else { Oxm::Icmpv4Type }));
        fields.extend(code.map(if v6 { Oxm::Icmpv6Code } else { Oxm::Icmpv4Code }));
        fields
    });
    let neighbour = (ipv6(), of(1..4_u8)).prop_map(move |(target, lla)| {
        if !v6 {
            return vec![Oxm::IpProto(1)];
        }
        let mut fields = vec![Oxm::IpProto(58), Oxm::Icmpv6Type(135), Oxm::Ipv6NdTarget(target)];
        fields.extend(lla.map(|number| Oxm::Ipv6NdSll(MacAddr(mac(number)))));
        fields
    });
    prop_oneof![
        3 => ports(6, Oxm::TcpSrc, Oxm::TcpDst),
        3 => ports(17, Oxm::UdpSrc, Oxm::UdpDst),
        1 => ports(132, Oxm::SctpSrc, Oxm::SctpDst),
        2 => icmp,
        1 => neighbour,
    ]
}

fn action() -> impl Strategy<Value = Action> {
    let reserved = select(vec![PortNo::IN_PORT, PortNo::FLOOD, PortNo::ALL, PortNo::CONTROLLER]);
    let port = prop_oneof![4 => (1..6_u32).prop_map(PortNo), 1 => reserved];
    let output = (port, select(vec![0xffff_u16, 0, 64]));
    prop_oneof![
        8 => output.prop_map(|(port, max_len)| Action::Output { port, max_len }),
        2 => (1..4_u32).prop_map(|group| Action::Group(GroupNo(group))),
        1 => select(vec![0x8100_u16, 0x88a8]).prop_map(Action::PushVlan),
        2 => Just(Action::PopVlan),
        1 => select(vec![1_u8, 64]).prop_map(Action::SetNwTtl),
        1 => Just(Action::DecNwTtl),
        8 => set_field().prop_map(Action::SetField),
    ]
}

fn set_field() -> impl Strategy<Value = Oxm> {
    let link = prop_oneof![
        (0..3_u64).prop_map(|value| Oxm::Metadata(Masked::exact(value))),
        mac_addr().prop_map(|mac| Oxm::EthDst(Masked::exact(mac))),
        mac_addr().prop_map(|mac| Oxm::EthSrc(Masked::exact(mac))),
        vid().prop_map(|vid| Oxm::VlanVid(Masked::exact(vid | 0x1000))),
        (0..8_u8).prop_map(Oxm::VlanPcp),
    ];
    let network = prop_oneof![
        tos().prop_map(|tos| Oxm::IpDscp(tos >> 2)),
        tos().prop_map(|tos| Oxm::IpEcn(tos & 3)),
        ipv4().prop_map(|ip| Oxm::Ipv4Src(Masked::exact(ip))),
        ipv4().prop_map(|ip| Oxm::Ipv4Dst(Masked::exact(ip))),
        ipv6().prop_map(|ip| Oxm::Ipv6Src(Masked::exact(ip))),
        ipv6().prop_map(|ip| Oxm::Ipv6Dst(Masked::exact(ip))),
        (0..3_u32).prop_map(|label| Oxm::Ipv6Flabel(Masked::exact(label))),
        (1..3_u16).prop_map(Oxm::ArpOp),
        ipv4().prop_map(|ip| Oxm::ArpSpa(Masked::exact(ip))),
        ipv4().prop_map(|ip| Oxm::ArpTpa(Masked::exact(ip))),
        mac_addr().prop_map(|mac| Oxm::ArpSha(Masked::exact(mac))),
        mac_addr().prop_map(|mac| Oxm::ArpTha(Masked::exact(mac))),
    ];
    let ports = [Oxm::TcpSrc, Oxm::TcpDst, Oxm::UdpSrc, Oxm::UdpDst, Oxm::SctpSrc, Oxm::SctpDst];
    let above = prop_oneof![
        4 => (select(ports.to_vec()), tp()).prop_map(|(field, port)| field(port)),
        1 => (0..9_u8).prop_map(Oxm::Icmpv4Type),
        1 => (0..2_u8).prop_map(Oxm::Icmpv4Code),
    ];
    prop_oneof![3 => link, 4 => network, 3 => above]
}

/// One bucket that does what every packet allows.
fn bucket() -> impl Strategy<Value = Vec<Action>> {
    let change = mac_addr().prop_map(|mac| Action::SetField(Oxm::EthDst(Masked::exact(mac))));
    let port = select(vec![1, 2, 3, 4, PortNo::IN_PORT.0, PortNo::CONTROLLER.0]);
    (of(change), port).prop_map(|(change, port)| {
        change.into_iter().chain([Action::output(PortNo(port))]).collect()
    })
}

/// The group that may be a select group. Only flows of the first table apply it: where there is
/// more in the action set than follows the group, Open vSwitch 3.1 ends itself
/// (`action_set_len <= state->ofpacts_len failed in recirc_alloc_id__`).
const SELECTS: GroupNo = GroupNo(3);

/// Groups 1 to 3: all, indirect, and fast failover between ports that live. A select group has one
/// bucket, since which of several is taken is each switch's own affair.
fn groups() -> impl Strategy<Value = Vec<CertifyStep>> {
    let group = |group_id: u32, kind: GroupType, buckets: Vec<Vec<Action>>| {
        let watch_port = if kind == GroupType::FF { PortNo(1) } else { PortNo::ANY };
        let weight = u16::from(kind == GroupType::SELECT);
        let bucket = |actions| Bucket { weight, watch_port, watch_group: GroupNo::ANY, actions };
        CertifyStep::V13(Message::GroupMod(GroupMod {
            command: GroupModCommand::ADD,
            kind,
            group_id: GroupNo(group_id),
            buckets: buckets.into_iter().map(bucket).collect(),
        }))
    };
    let last = prop_oneof![Just(GroupType::FF), Just(GroupType::SELECT)];
    (prop::collection::vec(bucket(), 0..4), bucket(), last, bucket()).prop_map(
        move |(all, one, kind, last)| {
            vec![
                group(1, GroupType::ALL, all),
                group(2, GroupType::INDIRECT, vec![one]),
                group(3, kind, vec![last]),
            ]
        },
    )
}

fn change(only_add: bool) -> impl Strategy<Value = CertifyStep> {
    let command = if only_add { 0..1_u8 } else { 0..5 };
    let head = (command, 0..3_u8, 0..9_u16, 0..3_u64, select(vec![0_u16, 1, 4, 5]));
    let actions = || prop::collection::vec(action(), 0..5);
    let body = (
        of(actions()),
        prop::bool::weighted(0.1),
        of(actions()),
        of((0..3_u64, 1..4_u64)),
        of(1..4_u8),
    );
    let fields = prop_oneof![1 => Just(vec![]), 3 => fields()];
    let filter = (prop::bool::weighted(0.2), of(1..5_u32), of(1..4_u32), of(0..3_u64));
    (head, fields, body, filter, timeouts()).prop_map(|(head, fields, body, filter, timeouts)| {
        let (command, table, priority, cookie, flags) = head;
        let instructions = instructions(table, &fields, body);
        let mut flow_mod = FlowMod {
            command: FlowModCommand(command),
            cookie,
            idle_timeout: timeouts.0,
            hard_timeout: timeouts.1,
            flags: FlowModFlags(flags) | FlowModFlags::CHECK_OVERLAP,
            ..flow(table, priority, fields, instructions)
        };
        if command > 0 {
            let (all, port, group, mask) = filter;
            let delete = command > 2;
            flow_mod.table_id = if all && delete { TableNo::ALL } else { flow_mod.table_id };
            flow_mod.out_port = port.filter(|_| delete).map_or(PortNo::ANY, PortNo);
            flow_mod.out_group = group.filter(|_| delete && all).map_or(GroupNo::ANY, GroupNo);
            flow_mod.cookie_mask = mask.unwrap_or(0);
        }
        CertifyStep::V13(Message::FlowMod(flow_mod))
    })
}

type RequestBody = (Option<Vec<Action>>, bool, Option<Vec<Action>>, Option<(u64, u64)>, Option<u8>);

fn instructions(table: u8, fields: &[Oxm], body: RequestBody) -> Vec<Instruction> {
    let (apply, clear, write, metadata, goto) = body;
    let mut tags = usize::from(is_tagged(fields));
    let mut all = Vec::new();
    if let Some(mut actions) = apply {
        actions.retain(|action| table == 0 || *action != Action::Group(SELECTS));
        all.push(Instruction::ApplyActions(possible(table, fields, actions, &mut tags)));
    }
    if clear {
        all.push(Instruction::ClearActions(vec![]));
    }
    if let Some(actions) = write {
        // Which tag an action of the set finds depends on what other tables do.
        let actions = possible(table, fields, actions, &mut tags);
        let tag = |action: &Action| matches!(action, Action::PushVlan(_) | Action::PopVlan);
        let written = actions.into_iter().filter(|action| !tag(action));
        all.push(Instruction::WriteActions(written.collect()));
    }
    if let Some((metadata, mask)) = metadata {
        all.push(Instruction::WriteMetadata { metadata: metadata & mask, mask });
    }
    if let Some(next) = goto.filter(|next| *next > table) {
        all.push(Instruction::GotoTable(TableNo(next)));
    }
    all
}

/// Whether the fields say that there is a tag.
fn is_tagged(fields: &[Oxm]) -> bool {
    let tagged = |field: &Oxm| matches!(field, Oxm::VlanVid(vid) if vid.value & 0x1000 != 0);
    fields.iter().any(tagged)
}

/// The actions that the packets of such a flow allow.
///
/// A tag is pushed in the first table alone, and no second one: a third that Open vSwitch knows of
/// is one too many for it.
fn possible(table: u8, fields: &[Oxm], actions: Vec<Action>, tags: &mut usize) -> Vec<Action> {
    let tagged = is_tagged(fields);
    let kind = fields.iter().find_map(|field| match field {
        Oxm::EthType(kind) => Some(*kind),
        _ => None,
    });
    let proto = fields.iter().find_map(|field| match field {
        Oxm::IpProto(proto) => Some(*proto),
        _ => None,
    });
    let ip = matches!(kind, Some(0x0800 | 0x86dd));
    let mut allowed = |action: &Action| match action {
        Action::PushVlan(_) => {
            let room = *tags <= usize::from(tagged) && table == 0;
            *tags += usize::from(room);
            room
        }
        Action::PopVlan => {
            let there = *tags > 0;
            *tags -= usize::from(there);
            there
        }
        Action::SetNwTtl(_) | Action::DecNwTtl => ip,
        Action::SetField(field) => match field {
            Oxm::VlanVid(_) | Oxm::VlanPcp(_) => *tags > 0,
            Oxm::IpDscp(_) | Oxm::IpEcn(_) => ip,
            Oxm::Ipv4Src(_) | Oxm::Ipv4Dst(_) => kind == Some(0x0800),
            Oxm::Ipv6Src(_) | Oxm::Ipv6Dst(_) | Oxm::Ipv6Flabel(_) => kind == Some(0x86dd),
            Oxm::ArpOp(_) | Oxm::ArpSpa(_) | Oxm::ArpTpa(_) | Oxm::ArpSha(_) | Oxm::ArpTha(_) => {
                kind == Some(0x0806)
            }
            Oxm::TcpSrc(_) | Oxm::TcpDst(_) => ip && proto == Some(6),
            Oxm::UdpSrc(_) | Oxm::UdpDst(_) => ip && proto == Some(17),
            Oxm::SctpSrc(_) | Oxm::SctpDst(_) => ip && proto == Some(132),
            Oxm::Icmpv4Type(_) | Oxm::Icmpv4Code(_) => kind == Some(0x0800) && proto == Some(1),
            _ => true,
        },
        _ => true,
    };
    actions.into_iter().filter(|action| allowed(action)).collect()
}
