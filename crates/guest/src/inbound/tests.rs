//! Laws: whatever a guest says, nothing panics, and nothing that reaches the switch is outside of
//! its grant.

use aldis_apps::match_bits::TernaryMatch;
use aldis_apps::spelling::{Matching, Spelled};
use aldis_control::Cookie;
use aldis_control::switch::SwitchInfo;
use aldis_wire::msg::{
    Action, Field, FlowMod, FlowModCommand, GroupNo, Instruction, Match, Message, PacketOut, Port,
    PortDetails, PortNo, TableNo,
};
use aldis_wire::{Chop, DatapathId, FixedText, MacAddr, Version};
use proptest::prelude::*;

use super::Inbound;
use crate::datapath::Datapath;
use crate::guest::{Guest, NoWorkers, Workers};
use crate::relay::Relay;
use crate::session::GuestSession;
use crate::spec::GuestSpec;

fn datapath(spec: GuestSpec, version: Version) -> Datapath {
    let port = |number| Port {
        number: PortNo(number),
        hw_addr: MacAddr([2, 0, 0, 0, 0, number as u8]),
        name: FixedText::default(),
        admin_down: false,
        link_down: false,
        speed_kbps: 0,
        details: PortDetails::default(),
    };
    let ports = (1..=6).map(port).collect();
    let info = SwitchInfo { dpid: DatapathId(7), version, buffers: 0, tables: 8, ports };
    Datapath::new(Guest::new(spec, Workers::new(NoWorkers), None).unwrap(), &info)
}

/// What reaches the switch, and what goes back.
fn said(datapath: &Datapath, version: Version, bytes: &[u8]) -> (Relay, Vec<u8>) {
    let (mut session, mut relay, mut back) = (GuestSession::default(), Relay::default(), vec![]);
    let mut inbound =
        Inbound { datapath, session: &mut session, version, relay: &mut relay, back: &mut back };
    Chop::new(bytes).map_while(Result::ok).for_each(|raw| inbound.take(raw));
    (relay, back)
}

fn field() -> impl Strategy<Value = Field> {
    let vlan = |id| Match::new().vlan(id).fields[0].clone();
    prop_oneof![
        (1u32..7).prop_map(|port| Field::InPort(PortNo(port))),
        (0u16..4).prop_map(vlan),
        Just(Match::new().eth_type(0x800).fields[0].clone()),
        (0u8..3).prop_map(|host| Match::new().eth_dst(MacAddr([2, 0, 0, 0, 0, host])).fields[0].clone()),
    ]
}

fn matching() -> impl Strategy<Value = Match> {
    prop::collection::vec(field(), 0..4).prop_map(|fields| {
        let mut there: Vec<Field> = vec![];
        for field in fields {
            let is_new = |it: &Field| std::mem::discriminant(it) != std::mem::discriminant(&field);
            if there.iter().all(is_new) {
                there.push(field);
            }
        }
        Match { fields: there }
    })
}

fn action() -> impl Strategy<Value = Action> {
    let special = [PortNo::FLOOD, PortNo::ALL, PortNo::CONTROLLER, PortNo::IN_PORT, PortNo::NORMAL];
    prop_oneof![
        (1u32..7).prop_map(|port| Action::output(PortNo(port))),
        prop::sample::select(special.to_vec()).prop_map(Action::output),
        (0u16..4).prop_map(|id| Action::SetField(Match::new().vlan(id).fields[0].clone())),
        Just(Action::PopVlan),
        (1u32..20).prop_map(|group| Action::Group(GroupNo(group))),
    ]
}

fn flow() -> impl Strategy<Value = FlowMod> {
    let command = prop::sample::select(vec![
        FlowModCommand::ADD,
        FlowModCommand::MODIFY,
        FlowModCommand::MODIFY_STRICT,
        FlowModCommand::DELETE,
        FlowModCommand::DELETE_STRICT,
    ]);
    let actions = prop::collection::vec(action(), 0..3);
    (matching(), command, actions, 0u8..5, 0u16..5, any::<u64>(), 0u8..5).prop_map(
        |(match_, command, actions, table, priority, cookie, goto)| {
            let mut flow = FlowMod::add(match_)
                .table(TableNo(table))
                .priority(priority)
                .cookie(cookie)
                .actions(actions);
            if goto > table {
                flow.instructions.push(Instruction::GotoTable(TableNo(goto)));
            }
            FlowMod { command, ..flow }
        },
    )
}

fn ranges(low: u32, high: u32) -> impl Strategy<Value = Option<Spelled<crate::NumberRanges>>> {
    prop::option::of((low..high, low..high).prop_map(|(one, two)| {
        Spelled(format!("{}-{}", one.min(two), one.max(two)).parse().unwrap())
    }))
}

fn grant() -> impl Strategy<Value = GuestSpec> {
    let own = prop::option::of(matching().prop_map(|match_| Match {
        fields: match_.fields.into_iter().filter(|it| !matches!(it, Field::InPort(_))).collect(),
    }));
    (own, ranges(1, 7), ranges(0, 5), ranges(0, 5), ranges(1, 20), any::<bool>()).prop_map(
        |(own, ports, tables, priorities, groups, read_only)| GuestSpec {
            matching: Matching(own.unwrap_or_default()),
            ports,
            tables,
            priorities,
            groups,
            read_only,
            ..GuestSpec::new("slice", ([127, 0, 0, 1], 1).into())
        },
    )
}

fn outputs(flow: &FlowMod) -> Vec<Action> {
    let actions = flow.instructions.iter().flat_map(|instruction| match instruction {
        Instruction::ApplyActions(actions) | Instruction::WriteActions(actions) => actions.clone(),
        _ => vec![],
    });
    actions.collect()
}

/// What is wrong with a flow that reached the switch.
fn is_within(spec: &GuestSpec, flow: &FlowMod) -> Result<(), TestCaseError> {
    let has = |ranges: &Option<Spelled<crate::NumberRanges>>, number: u32| {
        ranges.as_ref().is_none_or(|ranges| ranges.0.contains(number))
    };
    prop_assert!(Cookie(flow.cookie).same_app(Cookie::of("slice")));
    let is_delete = flow.command == FlowModCommand::DELETE;
    if flow.command != FlowModCommand::ADD {
        prop_assert_eq!(flow.cookie_mask & Cookie::MASK, Cookie::MASK);
    }
    prop_assert!(!spec.read_only && has(&spec.tables, flow.table_id.0.into()));
    if !matches!(flow.command, FlowModCommand::MODIFY | FlowModCommand::DELETE) {
        prop_assert!(has(&spec.priorities, flow.priority.into()));
    }
    let own = TernaryMatch::of(&spec.matching.0);
    prop_assert!(own.covers(&TernaryMatch::of(&flow.match_)), "{:?}", flow.match_);
    let in_port = flow.match_.fields.iter().find_map(|field| match field {
        Field::InPort(port) => Some(port.0),
        _ => None,
    });
    if spec.ports.is_some() && !is_delete {
        prop_assert!(in_port.is_some_and(|port| has(&spec.ports, port)));
    }
    let is_slice = spec.ports.is_some() || !spec.matching.0.fields.is_empty();
    for action in outputs(flow) {
        match action {
            Action::Output { port, .. } if port.is_real() => {
                prop_assert!(has(&spec.ports, port.0));
            }
            Action::Output { port, .. } if spec.ports.is_some() => {
                prop_assert!(matches!(port, PortNo::CONTROLLER | PortNo::IN_PORT));
            }
            Action::Group(group) => {
                prop_assert!(has(&spec.groups, group.0));
                prop_assert!(spec.groups.is_some() || !is_slice);
            }
            _ => {}
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Whatever flows a guest asks for, what reaches the switch is within its grant and marked as
    /// its own; what does not is refused.
    #[test]
    fn flows_stay_within_the_grant(spec in grant(), flows in prop::collection::vec(flow(), 1..4)) {
        let datapath = datapath(spec.clone(), Version::V13);
        let mut bytes = vec![];
        for flow in flows {
            Message::FlowMod(flow).encode(Version::V13, 5, &mut bytes).unwrap();
        }
        let (relay, _) = said(&datapath, Version::V13, &bytes);
        for raw in Chop::new(&relay.bytes) {
            let (_, message) = Message::decode(Version::V13, raw.unwrap().bytes).unwrap();
            let Message::FlowMod(flow) = message.meaning() else { panic!() };
            is_within(&spec, &flow)?;
        }
    }

    /// The flows of two guests with disjoint packets match no packet in common, whatever they ask.
    #[test]
    fn two_slices_share_no_packet(one in flow(), two in flow()) {
        let slice = |id: u16, flow: FlowMod| {
            let spec = GuestSpec {
                matching: Matching(Match::new().vlan(id)),
                ..GuestSpec::new("slice", ([127, 0, 0, 1], 1).into())
            };
            let mut bytes = vec![];
            Message::FlowMod(flow).encode(Version::V13, 5, &mut bytes).unwrap();
            let (relay, _) = said(&datapath(spec, Version::V13), Version::V13, &bytes);
            let matches = Chop::new(&relay.bytes).map(|raw| {
                let (_, message) = Message::decode(Version::V13, raw.unwrap().bytes).unwrap();
                let Message::FlowMod(flow) = message.meaning() else { panic!() };
                TernaryMatch::of(&flow.match_)
            });
            matches.collect::<Vec<_>>()
        };
        for one in slice(1, one) {
            for two in slice(2, two.clone()) {
                prop_assert!(one.is_apart_from(&two));
            }
        }
    }

    /// Bytes of any kind neither panic nor get through unmarked.
    #[test]
    fn no_bytes_panic(
        kind in 0u8..32,
        body in prop::collection::vec(any::<u8>(), 0..120),
        spec in grant(),
        v13: bool,
        native_v13: bool,
    ) {
        let of = |v13| if v13 { Version::V13 } else { Version::V10 };
        let length = (8 + body.len() as u16).to_be_bytes();
        let head = [of(v13).wire(), kind, length[0], length[1], 0, 0, 0, 1];
        let bytes = [&head[..], &body].concat();
        let datapath = datapath(spec, of(native_v13));
        let (relay, back) = said(&datapath, of(v13), &bytes);
        prop_assert_eq!(Chop::new(&relay.bytes).count(), relay.meta.len());
        prop_assert!(Chop::new(&back).all(|raw| raw.is_ok()));
    }

    /// A packet that a slice sends is of the slice, and floods its ports alone.
    #[test]
    fn packets_stay_within_the_grant(vlan in 0u16..4, own in 1u16..4, ports in ranges(1, 7)) {
        let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x81, 0];
        frame.extend(vlan.to_be_bytes());
        frame.extend([0x08, 0]);
        frame.resize(64, 0);
        let spec = GuestSpec {
            matching: Matching(Match::new().vlan(own)),
            ports: ports.clone(),
            ..GuestSpec::new("slice", ([127, 0, 0, 1], 1).into())
        };
        let packet = PacketOut::frame(frame).actions([Action::output(PortNo::FLOOD)]);
        let mut bytes = vec![];
        Message::PacketOut(packet).encode(Version::V13, 5, &mut bytes).unwrap();
        let (relay, back) = said(&datapath(spec, Version::V13), Version::V13, &bytes);
        prop_assert_eq!((relay.is_empty(), back.is_empty()), (vlan != own, vlan == own));
        if let (Some(Ok(raw)), Some(ports)) = (Chop::new(&relay.bytes).next(), ports) {
            let (_, message) = Message::decode(Version::V13, raw.bytes).unwrap();
            let Message::PacketOut(packet) = message.meaning() else { panic!() };
            for action in packet.actions {
                let Action::Output { port, .. } = action else { panic!("{action:?}") };
                prop_assert!(ports.0.contains(port.0));
            }
        }
    }
}
