//! Named cases of 1.3: tables, metadata, action sets, groups, and what is refused.

use super::both::Case;
use super::frames::{Above, FrameBody, FramePart, TestFrame};
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
use aldis_wire::v13::port::{PortConfig, PortFeatures};
use aldis_wire::v13::port_mod::PortMod;
use aldis_wire::v13::role::{Role, RoleMessage};
use aldis_wire::v13::stats::{FlowStatsRequest, MultipartRequest, MultipartRequestBody};
use aldis_wire::v13::table_mod::TableNo;
use aldis_wire::{MacAddr, NO_BUFFER};
use std::net::Ipv4Addr;

const A: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const B: Ipv4Addr = Ipv4Addr::new(10, 0, 1, 2);

/// A flow to be added.
pub(crate) fn flow(
    table: u8,
    priority: u16,
    fields: Vec<Oxm>,
    instructions: Vec<Instruction>,
) -> FlowMod {
    FlowMod {
        cookie: 0,
        cookie_mask: 0,
        table_id: TableNo(table),
        command: FlowModCommand::ADD,
        idle_timeout: 0,
        hard_timeout: 0,
        priority,
        buffer_id: NO_BUFFER,
        out_port: PortNo::ANY,
        out_group: GroupNo::ANY,
        flags: FlowModFlags::EMPTY,
        match_: Match { fields },
        instructions,
    }
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = tables();
    cases.extend(sets());
    cases.extend(groups());
    cases.extend(refusals());
    cases.extend(times());
    cases.extend(ports());
    cases.push(roles());
    cases
}

/// Flows that end by themselves; how long a case takes is far from every timeout.
fn times() -> Vec<Case> {
    let ends = |idle_timeout, hard_timeout| {
        let flow = flow(0, 1, vec![], vec![apply(vec![out(2)])]);
        let flags = FlowModFlags::SEND_FLOW_REM;
        CertifyStep::V13(Message::FlowMod(FlowMod { idle_timeout, hard_timeout, flags, ..flow }))
    };
    let used = || vec![CertifyStep::Wait(600), frames().remove(0), CertifyStep::Wait(600)];
    vec![
        case("an idle flow goes", vec![ends(1000, 0), CertifyStep::Wait(1400)]),
        case("a flow that is used stays", [vec![ends(1000, 0)], used()].concat()),
        case(
            "and goes once it is not",
            [vec![ends(1000, 0)], used(), vec![CertifyStep::Wait(900)]].concat(),
        ),
        case("a hard timeout is for used flows too", [vec![ends(0, 1000)], used()].concat()),
        case("whichever comes first", [vec![ends(3000, 1000)], used()].concat()),
    ]
}

/// Changes of ports that are refused. Those that are not need the ports' addresses, which are each
/// switch's own.
fn ports() -> Vec<Case> {
    let set = |port: u32, config: PortConfig| {
        let hw_addr = MacAddr([2, 0, 0, 0, 0, 99]);
        let (port_no, advertise) = (PortNo(port), PortFeatures::EMPTY);
        CertifyStep::V13(Message::PortMod(PortMod {
            port_no,
            hw_addr,
            config,
            mask: config,
            advertise,
        }))
    };
    vec![
        case("a port that there is not", vec![set(77, PortConfig::NO_FWD)]),
        case("a port with another address", vec![set(2, PortConfig::NO_FWD)]),
    ]
}

/// Last, and once: what generation it has seen a switch remembers.
fn roles() -> Case {
    let role = |role, generation_id| {
        CertifyStep::V13(Message::RoleRequest(RoleMessage { role, generation_id }))
    };
    let steps = vec![
        role(Role::NOCHANGE, 0),
        role(Role::MASTER, 5),
        role(Role::SLAVE, 6),
        add(0, 1, vec![], vec![apply(vec![out(2)])]),
        role(Role::MASTER, 3),
        role(Role::EQUAL, 0),
        role(Role(9), 0),
    ];
    case("who may do what", steps)
}

fn add(table: u8, priority: u16, fields: Vec<Oxm>, instructions: Vec<Instruction>) -> CertifyStep {
    CertifyStep::V13(Message::FlowMod(flow(table, priority, fields, instructions)))
}

fn apply(actions: Vec<Action>) -> Instruction {
    Instruction::ApplyActions(actions)
}

fn write(actions: Vec<Action>) -> Instruction {
    Instruction::WriteActions(actions)
}

fn goto(table: u8) -> Instruction {
    Instruction::GotoTable(TableNo(table))
}

fn out(port: u32) -> Action {
    Action::output(PortNo(port))
}

fn frames() -> Vec<CertifyStep> {
    let body = |above| {
        let (tos, ttl, options, fragment) = (0, 64, false, FramePart::Whole);
        FrameBody::Ipv4 { src: A, dst: B, tos, ttl, options, fragment, above }
    };
    let frames = [
        TestFrame::new(body(Above::Tcp(80, 443))),
        TestFrame::new(body(Above::Tcp(80, 443))).tagged(5),
        TestFrame::new(body(Above::Udp(80, 443, true))),
        TestFrame::new(FrameBody::Arp { op: 1, spa: A, tpa: B }),
        TestFrame::new(FrameBody::Other(0x88b5)),
    ];
    frames.into_iter().map(|frame| CertifyStep::Frame(1, frame)).collect()
}

fn case(name: &'static str, before: Vec<CertifyStep>) -> Case {
    let request = FlowStatsRequest {
        table_id: TableNo::ALL,
        out_port: PortNo::ANY,
        out_group: GroupNo::ANY,
        cookie: 0,
        cookie_mask: 0,
        match_: Match::default(),
    };
    let request = MultipartRequest::new(MultipartRequestBody::Flow(request));
    let statistics = CertifyStep::V13(Message::MultipartRequest(request));
    (name, [before, frames(), vec![statistics]].concat())
}

fn tables() -> Vec<Case> {
    let ip = || vec![Oxm::EthType(0x0800)];
    let noted = |value| vec![Oxm::Metadata(Masked::with(value, 3))];
    let note = |metadata, mask| Instruction::WriteMetadata { metadata, mask };
    vec![
        case("without flows it is dropped", vec![]),
        case(
            "the table-miss flow asks",
            vec![add(0, 0, vec![], vec![apply(vec![out(PortNo::CONTROLLER.0)])])],
        ),
        case(
            "another flow reports an action",
            vec![add(0, 1, vec![], vec![apply(vec![out(PortNo::CONTROLLER.0)])])],
        ),
        case(
            "from table to table",
            vec![
                add(0, 1, vec![], vec![apply(vec![out(2)]), goto(7)]),
                add(7, 1, ip(), vec![apply(vec![out(3)])]),
            ],
        ),
        case(
            "metadata is seen by later tables",
            vec![
                add(0, 1, ip(), vec![note(2, 2), goto(1)]),
                add(0, 0, vec![], vec![note(1, 3), goto(1)]),
                add(1, 1, noted(2), vec![note(1, 1), goto(2)]),
                add(1, 1, noted(1), vec![apply(vec![out(2)])]),
                add(2, 1, noted(3), vec![apply(vec![out(PortNo::CONTROLLER.0), out(3)])]),
            ],
        ),
        case(
            "a packet lost in a later table",
            vec![add(0, 1, vec![], vec![write(vec![out(2)]), goto(1)]), add(1, 1, ip(), vec![])],
        ),
    ]
}

fn sets() -> Vec<Case> {
    let mac = |number| {
        Action::SetField(Oxm::EthDst(Masked::exact(aldis_wire::MacAddr([2, 0, 0, 0, 0, number]))))
    };
    let ip = || vec![Oxm::EthType(0x0800)];
    vec![
        case(
            "an action set is done at the end",
            vec![add(0, 1, vec![], vec![write(vec![out(2), mac(9)]), apply(vec![out(3)])])],
        ),
        case(
            "the last of a kind counts",
            vec![
                add(0, 1, vec![], vec![write(vec![out(2), mac(9)]), goto(1)]),
                add(1, 1, vec![], vec![write(vec![out(3), mac(8)])]),
            ],
        ),
        case(
            "a set that is emptied",
            vec![
                add(0, 1, vec![], vec![write(vec![out(2), mac(9)]), goto(1)]),
                add(1, 1, vec![], vec![Instruction::ClearActions(vec![]), write(vec![out(3)])]),
            ],
        ),
        case(
            "a tag on",
            vec![add(
                0,
                1,
                vec![],
                vec![apply(vec![
                    Action::PushVlan(0x8100),
                    Action::SetField(Oxm::VlanVid(Masked::exact(0x1007))),
                    out(2),
                ])],
            )],
        ),
        case(
            "a tag off",
            vec![add(
                0,
                1,
                vec![Oxm::VlanVid(Masked::exact(0x1005))],
                vec![apply(vec![Action::PopVlan, out(2)])],
            )],
        ),
        case("a hop less", vec![add(0, 1, ip(), vec![apply(vec![Action::DecNwTtl, out(2)])])]),
        case(
            "the last hop",
            vec![add(
                0,
                1,
                ip(),
                vec![
                    apply(vec![Action::SetNwTtl(1), out(3), Action::DecNwTtl, out(2)]),
                    write(vec![out(4)]),
                ],
            )],
        ),
    ]
}

fn group(
    command: GroupModCommand,
    kind: GroupType,
    group_id: u32,
    buckets: Vec<(u32, Vec<Action>)>,
) -> CertifyStep {
    let bucket = |(watch, actions)| Bucket {
        weight: u16::from(kind == GroupType::SELECT),
        watch_port: PortNo(watch),
        watch_group: GroupNo::ANY,
        actions,
    };
    let buckets = buckets.into_iter().map(bucket).collect();
    let group_id = GroupNo(group_id);
    CertifyStep::V13(Message::GroupMod(GroupMod { command, kind, group_id, buckets }))
}

fn groups() -> Vec<Case> {
    use GroupModCommand as Do;
    let any = PortNo::ANY.0;
    let to = |group| Action::Group(GroupNo(group));
    let lead = |group| add(0, 1, vec![], vec![apply(vec![to(group), out(4)])]);
    let all = || {
        group(
            Do::ADD,
            GroupType::ALL,
            1,
            vec![(any, vec![Action::PushVlan(0x8100), out(2)]), (any, vec![out(3)])],
        )
    };
    let told = |group| {
        let flow_mod = flow(0, 1, vec![], vec![apply(vec![to(group)])]);
        CertifyStep::V13(Message::FlowMod(FlowMod {
            flags: FlowModFlags::SEND_FLOW_REM,
            ..flow_mod
        }))
    };
    vec![
        case("every bucket of a group", vec![all(), lead(1)]),
        case(
            "an indirect group",
            vec![group(Do::ADD, GroupType::INDIRECT, 2, vec![(any, vec![out(2)])]), lead(2)],
        ),
        case(
            "the first that lives",
            vec![
                group(Do::ADD, GroupType::FF, 3, vec![(9, vec![out(2)]), (2, vec![out(3)])]),
                lead(3),
            ],
        ),
        case(
            "a group in an action set",
            vec![all(), add(0, 1, vec![], vec![write(vec![out(4), to(1)])])],
        ),
        case(
            "a group in a group",
            vec![all(), group(Do::ADD, GroupType::INDIRECT, 5, vec![(any, vec![to(1)])]), lead(5)],
        ),
        case(
            "a group that changes",
            vec![all(), lead(1), group(Do::MODIFY, GroupType::ALL, 1, vec![(any, vec![out(3)])])],
        ),
        case(
            "a group that goes takes its flows",
            vec![all(), told(1), group(Do::DELETE, GroupType::ALL, 1, vec![])],
        ),
        case("a group twice", vec![all(), all()]),
        case("a change of no group", vec![group(Do::MODIFY, GroupType::ALL, 7, vec![])]),
        case("a flow to no group", vec![lead(9)]),
        case(
            "an indirect group of two",
            vec![group(Do::ADD, GroupType::INDIRECT, 2, vec![(any, vec![]), (any, vec![])])],
        ),
        case("a group of no type", vec![group(Do::ADD, GroupType(9), 2, vec![])]),
    ]
}

fn refusals() -> Vec<Case> {
    let one = |fields, instructions| vec![add(3, 1, fields, instructions)];
    let act = |action| vec![add(3, 1, vec![], vec![apply(vec![action])])];
    let flow_mod = |change: fn(FlowMod) -> FlowMod| {
        vec![CertifyStep::V13(Message::FlowMod(change(flow(
            0,
            1,
            vec![],
            vec![apply(vec![out(2)])],
        ))))]
    };
    vec![
        case("no prerequisite", one(vec![Oxm::Ipv4Src(Masked::exact(A))], vec![])),
        case("a field twice", one(vec![Oxm::EthType(0x0800), Oxm::EthType(0x0800)], vec![])),
        case("a field that no switch has", one(vec![Oxm::InPhyPort(PortNo(1))], vec![])),
        case("bits outside a mask", one(vec![Oxm::Metadata(Masked::with(3, 1))], vec![])),
        case("a DSCP above 63", one(vec![Oxm::EthType(0x0800), Oxm::IpDscp(64)], vec![])),
        case("back to a table", one(vec![], vec![goto(3)])),
        case("an output to nothing", act(out(PortNo::ANY.0))),
        case("a field without its prerequisite", act(Action::SetField(Oxm::TcpDst(1)))),
        case("a tag that is not there", act(Action::PopVlan)),
        case("a tag of another kind", act(Action::PushVlan(0x1234))),
        case("a hop less of what is no IP", act(Action::DecNwTtl)),
        case("an addition to all tables", flow_mod(|it| FlowMod { table_id: TableNo::ALL, ..it })),
        case(
            "a command that there is not",
            flow_mod(|it| FlowMod { command: FlowModCommand(9), ..it }),
        ),
        case("a buffer that there is not", flow_mod(|it| FlowMod { buffer_id: 77, ..it })),
        case(
            "flags that there are not",
            flow_mod(|it| FlowMod { flags: FlowModFlags(0x100), ..it }),
        ),
    ]
}
