//! Changes of ports that have an effect, in both versions: what comes in, what goes out, and what
//! the controller is told.

use super::both::Case;
use super::frames::{Above, FrameBody, FramePart, TestFrame};
use super::step::CertifyStep;
use super::{corpus_v10, corpus_v13};
use aldis_wire::Version;
use aldis_wire::v10;
use aldis_wire::v13::action::Action;
use aldis_wire::v13::bucket::{Bucket, GroupNo};
use aldis_wire::v13::group_mod::{GroupMod, GroupModCommand, GroupType};
use aldis_wire::v13::instruction::Instruction;
use aldis_wire::v13::port::PortNo;
use aldis_wire::v13::{self, Message};
use std::net::Ipv4Addr;

pub(crate) const DOWN: u32 = 1;
pub(crate) const NO_RECV: u32 = 1 << 2;
pub(crate) const NO_FLOOD: u32 = 1 << 4;
pub(crate) const NO_FWD: u32 = 1 << 5;

/// The bits that a version knows and that both switches heed of a frame. A port of Open vSwitch
/// that is down leaves it to the network card, which a dummy port lacks, to send and take in
/// nothing; and it asks the controller also where NO_PACKET_IN is set.
pub(crate) fn settable(version: Version) -> Vec<u32> {
    let mut bits = vec![NO_RECV, NO_FWD];
    bits.extend((version == Version::V10).then_some(NO_FLOOD));
    bits
}

/// Ports as they were at the start.
pub(crate) fn restored(version: Version) -> Vec<CertifyStep> {
    let mask = settable(version).into_iter().sum::<u32>() | DOWN;
    (1..=super::ovs::PORTS).map(|port| CertifyStep::Port { port, config: 0, mask }).collect()
}

pub(crate) fn cases(version: Version) -> Vec<Case> {
    let names = |bit| match bit {
        NO_RECV => "a port that takes nothing in",
        NO_FLOOD => "a port that is not flooded",
        _ => "a port that sends nothing out",
    };
    let mut cases: Vec<Case> =
        settable(version).into_iter().map(|bit| (names(bit), with(version, bit))).collect();
    let down = |config| CertifyStep::Port { port: 2, config, mask: DOWN };
    // Open vSwitch looks at its ports once a turn: something has to come between for it to see
    // both.
    let seen = |config| [vec![down(config)], frames(&[1])].concat();
    let both = [DOWN, DOWN, 0].map(seen).concat();
    cases.push(("a port that goes down and comes up", both));
    cases.push((
        "a change of nothing",
        vec![CertifyStep::Port { port: 2, config: NO_FWD, mask: 0 }],
    ));
    if version == Version::V10 {
        // Bits that say what a port is, not what is wanted of it.
        let config = 1 << 20;
        cases.push((
            "bits that there are not",
            vec![CertifyStep::Port { port: 2, config, mask: config }],
        ));
    } else {
        cases.push(("a failover to the port that lives", failover()));
    }
    cases
}

/// Ports 1 and 2 with the bit, between frames before and behind it, through every kind of output.
fn with(version: Version, bit: u32) -> Vec<CertifyStep> {
    let set = |config| [1, 2].map(|port| CertifyStep::Port { port, config, mask: bit });
    let frames = || frames(&[1, 2, 3]);
    let flows: Vec<Vec<CertifyStep>> = match version {
        Version::V10 => vec![
            vec![],
            vec![flow_v10(v10::PortNo::FLOOD)],
            vec![flow_v10(v10::PortNo::ALL)],
            vec![flow_v10(v10::PortNo(2))],
            vec![flow_v10(v10::PortNo::IN_PORT)],
            vec![flow_v10(v10::PortNo::CONTROLLER)],
        ],
        Version::V13 => vec![
            vec![miss_v13()],
            vec![flow_v13(PortNo::FLOOD)],
            vec![flow_v13(PortNo::ALL)],
            vec![flow_v13(PortNo(2))],
            vec![flow_v13(PortNo::IN_PORT)],
            vec![flow_v13(PortNo::CONTROLLER)],
        ],
    };
    let mut steps = Vec::new();
    for flow in flows {
        steps.extend(flow);
        steps.extend(frames());
        steps.extend(set(bit));
        steps.extend(frames());
        steps.extend(set(0));
        steps.extend(frames());
    }
    steps
}

fn frames(ports: &[u32]) -> Vec<CertifyStep> {
    let (src, dst) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 1, 2));
    let (tos, ttl, options, fragment) = (0, 64, false, FramePart::Whole);
    let above = Above::Udp(80, 443, true);
    let body = FrameBody::Ipv4 { src, dst, tos, ttl, options, fragment, above };
    ports.iter().map(|port| CertifyStep::Frame(*port, TestFrame::new(body.clone()))).collect()
}

fn flow_v10(port: v10::PortNo) -> CertifyStep {
    let actions = vec![v10::Action::Output { port, max_len: 0xffff }];
    CertifyStep::V10(v10::Message::FlowMod(corpus_v10::flow(v10::Match::ANY, 1, actions)))
}

fn flow_v13(port: PortNo) -> CertifyStep {
    let actions = vec![Action::output(port)];
    let apply = vec![Instruction::ApplyActions(actions)];
    CertifyStep::V13(Message::FlowMod(corpus_v13::flow(0, 1, vec![], apply)))
}

fn miss_v13() -> CertifyStep {
    let apply = vec![Instruction::ApplyActions(vec![Action::output(PortNo::CONTROLLER)])];
    CertifyStep::V13(Message::FlowMod(corpus_v13::flow(0, 0, vec![], apply)))
}

fn failover() -> Vec<CertifyStep> {
    let bucket = |port| Bucket {
        weight: 0,
        watch_port: PortNo(port),
        watch_group: GroupNo::ANY,
        actions: vec![Action::output(PortNo(port))],
    };
    let group = GroupMod {
        command: GroupModCommand::ADD,
        kind: GroupType::FF,
        group_id: GroupNo(3),
        buckets: vec![bucket(2), bucket(4)],
    };
    let apply = vec![Instruction::ApplyActions(vec![Action::Group(GroupNo(3))])];
    let set = |config| CertifyStep::Port { port: 2, config, mask: DOWN };
    [
        vec![
            CertifyStep::V13(v13::Message::GroupMod(group)),
            CertifyStep::V13(Message::FlowMod(corpus_v13::flow(0, 1, vec![], apply))),
        ],
        frames(&[1, 3]),
        vec![set(DOWN)],
        frames(&[1, 3]),
        vec![set(0)],
        frames(&[1, 3]),
    ]
    .concat()
}
