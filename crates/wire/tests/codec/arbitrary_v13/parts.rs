//! The structures that messages of OpenFlow 1.3 are made of.

use super::*;
use aldis_wire::v13::oxm::{Ipv6Exthdr, OxmClass, U24};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::ops::Range;

pub(crate) fn bytes() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..40)
}

/// Bytes of which there are `over` more than a multiple of eight.
pub(crate) fn bytes_mod8(over: usize) -> impl Strategy<Value = Vec<u8>> {
    (0..4usize).prop_flat_map(move |words| vec(any::<u8>(), words * 8 + over))
}

/// A type that the version does not name, from a stretch of them.
pub(crate) fn unknown_kind(kinds: Range<u16>) -> impl Strategy<Value = u16> {
    kinds
}

pub(crate) fn port_no() -> impl Strategy<Value = PortNo> {
    prop_oneof![any::<u32>(), 0xffff_ff00..=0xffff_ffffu32].prop_map(PortNo)
}

pub(crate) fn group_no() -> impl Strategy<Value = GroupNo> {
    any::<u32>().prop_map(GroupNo)
}

pub(crate) fn mac() -> impl Strategy<Value = MacAddr> {
    any::<[u8; 6]>().prop_map(MacAddr)
}

pub(crate) fn text<const N: usize>() -> impl Strategy<Value = FixedText<N>> {
    any::<[u8; N]>().prop_map(FixedText)
}

pub(crate) fn port() -> impl Strategy<Value = Port> {
    (port_no(), mac(), text(), any::<[u32; 8]>()).prop_map(|(port_no, hw_addr, name, words)| {
        let [config, state, curr, advertised, supported, peer, curr_speed, max_speed] = words;
        Port {
            port_no,
            hw_addr,
            name,
            config: PortConfig(config),
            state: PortState(state),
            curr: PortFeatures(curr),
            advertised: PortFeatures(advertised),
            supported: PortFeatures(supported),
            peer: PortFeatures(peer),
            curr_speed,
            max_speed,
        }
    })
}

fn masked<T: Clone + std::fmt::Debug>(
    value: impl Strategy<Value = T> + Clone,
) -> impl Strategy<Value = Masked<T>> {
    (value.clone(), prop::option::of(value)).prop_map(|(value, mask)| Masked { value, mask })
}

/// Any field of the basic class, each as likely as the others.
fn basic_oxm() -> BoxedStrategy<Oxm> {
    let byte = any::<u8>;
    let short = any::<u16>;
    let macs = || masked(any::<[u8; 6]>().prop_map(MacAddr));
    let v4 = || masked(any::<u32>().prop_map(Ipv4Addr::from));
    let v6 = || masked(any::<u128>().prop_map(Ipv6Addr::from));
    let link = prop_oneof![
        port_no().prop_map(Oxm::InPort),
        port_no().prop_map(Oxm::InPhyPort),
        masked(any::<u64>()).prop_map(Oxm::Metadata),
        macs().prop_map(Oxm::EthDst),
        macs().prop_map(Oxm::EthSrc),
        short().prop_map(Oxm::EthType),
        masked(short()).prop_map(Oxm::VlanVid),
        byte().prop_map(Oxm::VlanPcp),
        any::<u32>().prop_map(Oxm::MplsLabel),
        byte().prop_map(Oxm::MplsTc),
        byte().prop_map(Oxm::MplsBos),
        masked(any::<u32>().prop_map(U24::truncated)).prop_map(Oxm::PbbIsid),
        masked(any::<u64>()).prop_map(Oxm::TunnelId),
    ];
    let network = prop_oneof![
        byte().prop_map(Oxm::IpDscp),
        byte().prop_map(Oxm::IpEcn),
        byte().prop_map(Oxm::IpProto),
        v4().prop_map(Oxm::Ipv4Src),
        v4().prop_map(Oxm::Ipv4Dst),
        short().prop_map(Oxm::ArpOp),
        v4().prop_map(Oxm::ArpSpa),
        v4().prop_map(Oxm::ArpTpa),
        macs().prop_map(Oxm::ArpSha),
        macs().prop_map(Oxm::ArpTha),
        v6().prop_map(Oxm::Ipv6Src),
        v6().prop_map(Oxm::Ipv6Dst),
        masked(any::<u32>()).prop_map(Oxm::Ipv6Flabel),
        any::<u128>().prop_map(|ip| Oxm::Ipv6NdTarget(ip.into())),
        mac().prop_map(Oxm::Ipv6NdSll),
        mac().prop_map(Oxm::Ipv6NdTll),
        masked(short().prop_map(Ipv6Exthdr)).prop_map(Oxm::Ipv6Exthdr),
    ];
    let transport = prop_oneof![
        short().prop_map(Oxm::TcpSrc),
        short().prop_map(Oxm::TcpDst),
        short().prop_map(Oxm::UdpSrc),
        short().prop_map(Oxm::UdpDst),
        short().prop_map(Oxm::SctpSrc),
        short().prop_map(Oxm::SctpDst),
        byte().prop_map(Oxm::Icmpv4Type),
        byte().prop_map(Oxm::Icmpv4Code),
        byte().prop_map(Oxm::Icmpv6Type),
        byte().prop_map(Oxm::Icmpv6Code),
    ];
    prop_oneof![13 => link, 17 => network, 10 => transport].boxed()
}

/// A field of another class, or one of the basic class that this version does not have.
fn raw_oxm() -> impl Strategy<Value = RawOxm> {
    let class = prop_oneof![
        Just(OxmClass::NXM_0),
        Just(OxmClass::NXM_1),
        (2..0x8000u16).prop_map(OxmClass),
    ];
    prop_oneof![
        (class, 0..128u8, any::<bool>(), bytes())
            .prop_map(|(class, field, has_mask, body)| RawOxm::new(class, field, has_mask, body)),
        (40..128u8, any::<bool>(), bytes()).prop_map(|(field, has_mask, body)| RawOxm::new(
            OxmClass::OPENFLOW_BASIC,
            field,
            has_mask,
            body
        )),
        (any::<u32>(), 0..128u8, any::<bool>(), bytes()).prop_map(
            |(experimenter, field, has_mask, body)| RawOxm::of_experimenter(
                experimenter,
                field,
                has_mask,
                body
            )
        ),
    ]
    .prop_map(|raw| raw.expect("a short body"))
}

pub(crate) fn oxm() -> impl Strategy<Value = Oxm> {
    prop_oneof![9 => basic_oxm(), 1 => raw_oxm().prop_map(Oxm::Raw)]
}

pub(crate) fn match_() -> impl Strategy<Value = Match> {
    vec(oxm(), 0..8).prop_map(|fields| Match { fields })
}

pub(crate) fn actions() -> impl Strategy<Value = Vec<Action>> {
    vec(action(), 0..5)
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        (port_no(), any::<u16>()).prop_map(|(port, max_len)| Action::Output { port, max_len }),
        any::<u8>().prop_map(Action::SetMplsTtl),
        any::<u16>().prop_map(Action::PushVlan),
        any::<u16>().prop_map(Action::PushMpls),
        any::<u16>().prop_map(Action::PopMpls),
        any::<u32>().prop_map(|queue| Action::SetQueue(QueueNo(queue))),
        group_no().prop_map(Action::Group),
        any::<u8>().prop_map(Action::SetNwTtl),
        oxm().prop_map(Action::SetField),
        any::<u16>().prop_map(Action::PushPbb),
        (any::<u32>(), bytes_mod8(0))
            .prop_map(|(experimenter, body)| Action::Experimenter { experimenter, body }),
        (unknown_kind(28..0xffff), bytes_mod8(4))
            .prop_map(|(kind, body)| Action::Unknown { kind: ActionType(kind), body }),
        prop::sample::select(vec![
            Action::CopyTtlOut,
            Action::CopyTtlIn,
            Action::DecMplsTtl,
            Action::PopVlan,
            Action::DecNwTtl,
            Action::PopPbb,
        ]),
    ]
}

pub(crate) fn instructions() -> impl Strategy<Value = Vec<Instruction>> {
    vec(instruction(), 0..4)
}

fn instruction() -> impl Strategy<Value = Instruction> {
    prop_oneof![
        any::<u8>().prop_map(|table| Instruction::GotoTable(TableNo(table))),
        any::<(u64, u64)>()
            .prop_map(|(metadata, mask)| Instruction::WriteMetadata { metadata, mask }),
        actions().prop_map(Instruction::WriteActions),
        actions().prop_map(Instruction::ApplyActions),
        actions().prop_map(Instruction::ClearActions),
        any::<u32>().prop_map(|meter| Instruction::Meter(MeterNo(meter))),
        (any::<u32>(), bytes_mod8(0))
            .prop_map(|(experimenter, body)| Instruction::Experimenter { experimenter, body }),
        (unknown_kind(7..0xffff), bytes_mod8(4))
            .prop_map(|(kind, body)| Instruction::Unknown { kind: InstructionType(kind), body }),
    ]
}

pub(crate) fn bucket() -> impl Strategy<Value = Bucket> {
    (any::<u16>(), port_no(), group_no(), actions()).prop_map(
        |(weight, watch_port, watch_group, actions)| Bucket {
            weight,
            watch_port,
            watch_group,
            actions,
        },
    )
}

pub(crate) fn meter_band() -> impl Strategy<Value = MeterBand> {
    let effect = prop_oneof![
        Just(BandEffect::Drop),
        any::<u8>().prop_map(|prec_level| BandEffect::DscpRemark { prec_level }),
        (any::<u32>(), bytes())
            .prop_map(|(experimenter, body)| BandEffect::Experimenter { experimenter, body }),
        (unknown_kind(3..0xffff), bytes())
            .prop_map(|(kind, body)| BandEffect::Unknown { kind: BandType(kind), body }),
    ];
    (any::<(u32, u32)>(), effect).prop_map(|((rate, burst_size), effect)| MeterBand {
        rate,
        burst_size,
        effect,
    })
}
