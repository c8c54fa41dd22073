//! A datapath as its controller and its neighbours see it.

use aldis_emulator::datapath::{Datapath, PortSpec, Sink};
use aldis_wire::v13::action::Action;
use aldis_wire::v13::flow_mod::{FlowMod, FlowModCommand, FlowModFlags};
use aldis_wire::v13::instruction::Instruction;
use aldis_wire::v13::match_::Match;
use aldis_wire::v13::oxm::Oxm;
use aldis_wire::v13::port::PortNo;
use aldis_wire::v13::stats::{MultipartReplyBody, MultipartRequest, MultipartRequestBody};
use aldis_wire::v13::table_mod::TableNo;
use aldis_wire::v13::{self, bucket::GroupNo};
use aldis_wire::{DatapathId, MacAddr, NO_BUFFER, Version, v10};
use std::time::Duration;

/// What came out.
#[derive(Default)]
struct SentOutput {
    messages: Vec<Vec<u8>>,
    frames: Vec<(u32, Vec<u8>)>,
}

impl Sink for SentOutput {
    fn to_controller(&mut self, message: &[u8]) {
        self.messages.push(message.to_vec());
    }

    fn to_port(&mut self, port: u32, frame: &[u8]) {
        self.frames.push((port, frame.to_vec()));
    }
}

impl SentOutput {
    /// The ports by which frames left, in order.
    fn ports(&self) -> Vec<u32> {
        self.frames.iter().map(|(port, _)| *port).collect()
    }

    fn v13(&self) -> Vec<v13::Message> {
        let decoded = self.messages.iter().map(|bytes| v13::Message::decode(bytes).unwrap().1);
        decoded.collect()
    }
}

fn switch(version: Version) -> Datapath {
    let port = |number: u32| PortSpec {
        number,
        address: MacAddr([2, 0, 0, 0, 1, number as u8]),
        name: format!("s1-eth{number}"),
    };
    let ports: Vec<PortSpec> = (1..=4).map(port).collect();
    Datapath::new(version, DatapathId(1), &ports)
}

const NOW: Duration = Duration::from_secs(100);
const FRAME: [u8; 60] = {
    let mut frame = [0; 60];
    frame[5] = 2;
    frame[11] = 1;
    frame[12] = 0x88;
    frame[13] = 0xb5;
    frame
};

fn tell13(switch: &mut Datapath, message: v13::Message) -> SentOutput {
    let (mut bytes, mut out) = (Vec::new(), SentOutput::default());
    message.encode(7, &mut bytes).unwrap();
    switch.message(&bytes, NOW, &mut out);
    out
}

fn tell10(switch: &mut Datapath, message: v10::Message) -> SentOutput {
    let (mut bytes, mut out) = (Vec::new(), SentOutput::default());
    message.encode(7, &mut bytes).unwrap();
    switch.message(&bytes, NOW, &mut out);
    out
}

fn frame(switch: &mut Datapath, port: u32, now: Duration) -> SentOutput {
    let mut out = SentOutput::default();
    switch.frame(port, &FRAME, now, &mut out);
    out
}

fn flow13(fields: Vec<Oxm>, actions: Vec<Action>) -> FlowMod {
    FlowMod {
        cookie: 5,
        cookie_mask: 0,
        table_id: TableNo(0),
        command: FlowModCommand::ADD,
        idle_timeout: 0,
        hard_timeout: 0,
        priority: 100,
        buffer_id: NO_BUFFER,
        out_port: PortNo::ANY,
        out_group: GroupNo::ANY,
        flags: FlowModFlags::EMPTY,
        match_: Match { fields },
        instructions: vec![Instruction::ApplyActions(actions)],
    }
}

fn output(port: u32) -> Action {
    Action::output(PortNo(port))
}

#[test]
fn without_flows_1_0_asks_and_1_3_drops() {
    let out = frame(&mut switch(Version::V10), 1, NOW);
    let (_, message) = v10::Message::decode(&out.messages[0]).unwrap();
    let v10::Message::PacketIn(packet_in) = message else { panic!("{message:?}") };
    assert_eq!((packet_in.in_port.0, packet_in.reason.0, packet_in.data.len()), (1, 0, 60));
    let out = frame(&mut switch(Version::V13), 1, NOW);
    assert!(out.messages.is_empty() && out.frames.is_empty());
}

#[test]
fn a_flow_forwards_and_counts() {
    let mut switch = switch(Version::V13);
    let flow = flow13(vec![Oxm::InPort(PortNo(1))], vec![output(2), output(PortNo::FLOOD.0)]);
    assert!(tell13(&mut switch, v13::Message::FlowMod(flow)).messages.is_empty());
    assert_eq!(frame(&mut switch, 1, NOW).ports(), [2, 2, 3, 4]);
    assert!(frame(&mut switch, 2, NOW).frames.is_empty());
    let request = MultipartRequestBody::Aggregate(v13::stats::FlowStatsRequest {
        table_id: TableNo::ALL,
        out_port: PortNo(2),
        out_group: GroupNo::ANY,
        cookie: 5,
        cookie_mask: u64::MAX,
        match_: Match::default(),
    });
    let out = tell13(&mut switch, v13::Message::MultipartRequest(MultipartRequest::new(request)));
    let [v13::Message::MultipartReply(reply)] = &out.v13()[..] else { panic!() };
    let MultipartReplyBody::Aggregate(sum) = reply.body else { panic!("{reply:?}") };
    assert_eq!((sum.flow_count, sum.packet_count, sum.byte_count), (1, 1, 60));
}

#[test]
fn a_flow_of_1_0_forwards() {
    let mut switch = switch(Version::V10);
    let flow = v10::FlowMod {
        match_: v10::Match::ANY.with_in_port(v10::PortNo(3)),
        cookie: 0,
        command: v10::FlowModCommand::ADD,
        idle_timeout: 0,
        hard_timeout: 0,
        priority: 1,
        buffer_id: NO_BUFFER,
        out_port: v10::PortNo::NONE,
        flags: v10::FlowModFlags::EMPTY,
        actions: vec![v10::Action::output(v10::PortNo(4))],
    };
    assert!(tell10(&mut switch, v10::Message::FlowMod(flow)).messages.is_empty());
    assert_eq!(frame(&mut switch, 3, NOW).ports(), [4]);
}

#[test]
fn timeouts_end_flows_and_are_told() {
    let mut switch = switch(Version::V13);
    let mut flow = flow13(vec![Oxm::InPort(PortNo(1))], vec![output(2)]);
    flow.flags = FlowModFlags::SEND_FLOW_REM;
    flow.idle_timeout = 10;
    flow.hard_timeout = 25;
    tell13(&mut switch, v13::Message::FlowMod(flow));
    let at = |seconds| NOW + Duration::from_secs(seconds);
    let mut out = SentOutput::default();
    assert_eq!(switch.expire(at(0), &mut out), Some(at(10)));
    frame(&mut switch, 1, at(9));
    assert_eq!(switch.expire(at(10), &mut out), Some(at(19)));
    frame(&mut switch, 1, at(18));
    assert_eq!(switch.expire(at(19), &mut out), Some(at(25)));
    assert!(out.messages.is_empty());
    assert_eq!(switch.expire(at(25), &mut out), None);
    let [v13::Message::FlowRemoved(removed)] = &out.v13()[..] else { panic!("{:?}", out.v13()) };
    assert_eq!((removed.reason.0, removed.packet_count, removed.duration_sec), (1, 2, 25));
    assert_eq!(switch.flows(), 0);
}

#[test]
fn a_link_that_falls_is_told_and_carries_nothing() {
    let mut switch = switch(Version::V13);
    tell13(&mut switch, v13::Message::FlowMod(flow13(vec![], vec![output(2)])));
    let mut out = SentOutput::default();
    switch.set_link(2, false, &mut out);
    switch.set_link(2, false, &mut out);
    let [v13::Message::PortStatus(status)] = &out.v13()[..] else { panic!("{:?}", out.v13()) };
    assert_eq!(status.desc.port_no.0, 2);
    assert!(frame(&mut switch, 1, NOW).frames.is_empty());
    assert!(frame(&mut switch, 2, NOW).frames.is_empty());
}

mod hostile {
    use super::*;
    use proptest::prelude::*;

    /// A message of any type, whose header tells the truth about its length, and whose words are
    /// small as often as not, so that some of it can be read.
    fn message(version: Version) -> impl Strategy<Value = Vec<u8>> {
        let word = prop_oneof![2 => 0..6_u16, 1 => any::<u16>(), 1 => 0xfff0..=0xffff_u16];
        (0..32_u8, prop::collection::vec(word, 0..60)).prop_map(move |(kind, words)| {
            let length = (8 + 2 * words.len() as u16).to_be_bytes();
            let header = [version.wire(), kind, length[0], length[1], 0, 0, 0, 7];
            let body = words.iter().flat_map(|word| word.to_be_bytes());
            header.into_iter().chain(body).collect()
        })
    }

    /// A frame of any bytes behind an ethertype that is looked into.
    fn any_frame() -> impl Strategy<Value = Vec<u8>> {
        let kind = prop::sample::select(vec![0x0800_u16, 0x86dd, 0x0806, 0x8100, 0x88a8, 0x0010]);
        let protocol = prop::sample::select(vec![1_u8, 6, 17, 58, 132, 0, 44, 51]);
        (kind, protocol, prop::collection::vec(any::<u8>(), 0..120)).prop_map(
            |(kind, protocol, mut rest)| {
                for (at, byte) in [(0, 0x45), (6, protocol), (9, protocol), (2, 0), (4, 0)] {
                    if let Some(place) = rest.get_mut(at) {
                        *place = byte;
                    }
                }
                [&[2; 12][..], &kind.to_be_bytes(), &rest].concat()
            },
        )
    }

    /// A flow that changes all that a frame can have.
    fn everything() -> Vec<v10::Action> {
        let mut actions = vec![
            v10::Action::SetVlanVid(3),
            v10::Action::SetDlSrc(MacAddr([9; 6])),
            v10::Action::SetNwSrc([1, 2, 3, 4].into()),
            v10::Action::SetNwDst([1, 2, 3, 4].into()),
            v10::Action::SetNwTos(0x40),
            v10::Action::SetTpSrc(7),
            v10::Action::SetTpDst(8),
            v10::Action::StripVlan,
        ];
        actions.push(v10::Action::output(v10::PortNo::ALL));
        actions
    }

    proptest! {
        /// Whatever comes, the switch neither panics nor says what its controller could not read.
        #[test]
        fn nothing_breaks_it(
            old in any::<bool>(),
            seed in prop::collection::vec((any::<bool>(), message(Version::V10), message(Version::V13), any_frame()), 1..20),
        ) {
            let version = if old { Version::V10 } else { Version::V13 };
            let mut switch = switch(version);
            if old {
                let flow = v10::FlowMod {
                    match_: v10::Match::ANY,
                    cookie: 0,
                    command: v10::FlowModCommand::ADD,
                    idle_timeout: 0,
                    hard_timeout: 0,
                    priority: 1,
                    buffer_id: NO_BUFFER,
                    out_port: v10::PortNo::NONE,
                    flags: v10::FlowModFlags::EMPTY,
                    actions: everything(),
                };
                tell10(&mut switch, v10::Message::FlowMod(flow));
            }
            for (is_frame, v10_bytes, v13_bytes, frame) in seed {
                let mut out = SentOutput::default();
                if is_frame {
                    switch.frame(1, &frame, NOW, &mut out);
                } else {
                    let bytes = if old { v10_bytes } else { v13_bytes };
                    switch.message(&bytes, NOW, &mut out);
                }
                switch.expire(NOW, &mut out);
                for message in &out.messages {
                    match version {
                        Version::V10 => prop_assert!(v10::Message::decode(message).is_ok()),
                        Version::V13 => prop_assert!(v13::Message::decode(message).is_ok()),
                    }
                }
                prop_assert!(out.ports().iter().all(|port| (1..=4).contains(port)));
            }
        }
    }
}

#[test]
fn a_packet_out_lists_as_many_ports_as_fit_and_a_flow_some_hundred() {
    let ports = |count| (0..count).map(|nth| nth % 3 + 2);
    let packet_out = v13::packet_out::PacketOut {
        buffer_id: NO_BUFFER,
        in_port: PortNo(1),
        actions: ports(4000).map(output).collect(),
        data: FRAME.to_vec(),
    };
    let out = tell13(&mut switch(Version::V13), v13::Message::PacketOut(packet_out));
    assert!(out.messages.is_empty() && out.ports().into_iter().eq(ports(4000)));
    let outputs = ports(4000).map(|port| v10::Action::output(v10::PortNo(port as u16)));
    let packet_out = v10::PacketOut {
        buffer_id: NO_BUFFER,
        in_port: v10::PortNo(1),
        actions: outputs.collect(),
        data: FRAME.to_vec(),
    };
    let out = tell10(&mut switch(Version::V10), v10::Message::PacketOut(packet_out));
    assert!(out.messages.is_empty() && out.ports().into_iter().eq(ports(4000)));
    let flow = flow13(vec![], ports(4000).map(output).collect());
    let out = tell13(&mut switch(Version::V13), v13::Message::FlowMod(flow));
    assert!(matches!(out.v13()[..], [v13::Message::Error(_)]));
}
