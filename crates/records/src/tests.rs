//! The host's records and those of the Rust SDK are the same bytes, and no bytes are too much.

use aldis_app::message::{FlowMod, Match, Message as GuestMessage, actions};
use aldis_app::{Event as GuestEvent, Flow, MacAddr, Output as GuestOutput, Port as GuestPort};
use aldis_control::app::Event;
use aldis_wire::msg::{
    Action, FlowRemoved, FlowRemovedReason, Port, PortChange, PortDetails, PortNo, TableNo,
};
use aldis_wire::{DatapathId, FixedText};
use proptest::prelude::*;

use super::*;

fn info(dpid: u64, is_v10: bool, ports: usize) -> SwitchInfo {
    let version = if is_v10 { Version::V10 } else { Version::V13 };
    let ports = (1..=ports as u32).map(port).collect();
    SwitchInfo { dpid: DatapathId(dpid), version, buffers: 256, tables: 4, ports }
}

fn port(number: u32) -> Port {
    Port {
        number: PortNo(number),
        hw_addr: aldis_wire::MacAddr([2, 0, 0, 0, 1, number as u8]),
        name: FixedText::new("eth"),
        admin_down: number.is_multiple_of(2),
        link_down: number.is_multiple_of(3),
        speed_kbps: 10_000 + number,
        details: PortDetails::default(),
    }
}

fn header(in_port: u32, buffer_id: u32, xid: u32, len: usize) -> RequestHeader {
    RequestHeader {
        frame_at: 0,
        head_len: 0,
        frame_len: len as u16,
        total_len: len as u16,
        reason: 1,
        stopped: false,
        in_port,
        buffer_id,
        xid,
    }
}

proptest! {
    #[test]
    fn the_sdk_reads_the_requests_that_the_host_wrote(
        requests in prop::collection::vec(
            (any::<u64>(), any::<bool>(), any::<[u32; 4]>(), prop::collection::vec(any::<u8>(), 0..200)),
            0..20,
        ),
    ) {
        let mut events = Events::default();
        events.begin(Time(77));
        for (dpid, is_v10, [in_port, buffer, xid, index], frame) in &requests {
            let mut at = EventPlace::at(&info(*dpid, *is_v10, 0), *index);
            at.run = 3;
            let header = header(*in_port, *buffer, *xid, frame.len());
            events.request(kind::PACKET_IN, at, &header, frame);
        }
        let bytes = events.finish().clone();
        let read = aldis_app::events::Events::read(&bytes).unwrap();
        prop_assert_eq!(read.now, 77);
        let records: Vec<_> = read.collect();
        prop_assert_eq!(records.len(), requests.len());
        for (record, (dpid, is_v10, [in_port, buffer, xid, index], frame)) in records.iter().zip(&requests) {
            let request = record.request().unwrap();
            prop_assert_eq!(request.dpid(), *dpid);
            prop_assert_eq!(request.switch().version == aldis_app::Version::V10, *is_v10);
            prop_assert_eq!((request.in_port().0, request.buffer_id()), (*in_port, *buffer));
            prop_assert_eq!((request.xid(), record.index), (*xid, *index));
            prop_assert_eq!((request.frame(), request.reason()), (&frame[..], 1));
            prop_assert_eq!(request.total_len() as usize, frame.len());
        }
    }

    #[test]
    fn the_host_reads_the_commands_that_the_sdk_wrote(
        numbers in prop::collection::vec((any::<u32>(), any::<[u16; 3]>(), any::<u64>()), 0..20),
        text in ".{0,40}",
    ) {
        let mut out = GuestOutput::new();
        for (index, (value, [idle, hard, priority], dpid)) in numbers.iter().enumerate() {
            out.about(*dpid, index as u32);
            let mut events = Events::default();
            events.begin(Time(0));
            let at = EventPlace::at(&info(*dpid, false, 0), index as u32);
            events.request(kind::PACKET_IN, at, &header(1, 2, 3, 0), &[]);
            let bytes = events.finish().clone();
            let record = aldis_app::events::Events::read(&bytes).unwrap().next().unwrap();
            let request = record.request().unwrap();
            out.send(&request, GuestPort(*value));
            out.stop();
            let flow = Flow::new().idle_timeout(*idle).hard_timeout(*hard).priority(*priority);
            out.flow(&request, GuestPort(*value), flow.generation(*value).tell_removed());
            out.info(&text);
            out.count(*value, *dpid);
            out.message(*dpid, &GuestMessage::barrier(*value));
        }
        let read = CommandReader::check(out.bytes(), numbers.len() as u32, usize::MAX).unwrap();
        let mut read = read.into_iter();
        for (index, (value, [idle, hard, priority], dpid)) in numbers.iter().enumerate() {
            let send = read.next().unwrap();
            prop_assert_eq!((send.kind, send.flags, send.value), (command::SEND, flags::STOP, *value));
            prop_assert_eq!(send.request as usize, index);
            let flow = read.next().unwrap();
            prop_assert_eq!((flow.kind, flow.flags), (command::FLOW, flags::TELL_REMOVED));
            let spec = FlowSpec {
                idle_timeout_s: *idle,
                hard_timeout_s: *hard,
                priority: *priority,
                generation: *value,
            };
            prop_assert_eq!(flow.flow(), Some(spec));
            let log = read.next().unwrap();
            prop_assert_eq!((log.kind, log.body), (command::LOG, text.as_bytes()));
            let count = read.next().unwrap();
            prop_assert_eq!((count.kind, count.value), (command::COUNT, *value));
            prop_assert_eq!(count.body, dpid.to_le_bytes());
            let message = read.next().unwrap();
            prop_assert_eq!((message.kind, message.dpid), (command::MESSAGE, *dpid));
            let barrier = Message::decode(Version::V13, message.body).unwrap();
            prop_assert_eq!(barrier, (*value, Message::BarrierRequest));
        }
        prop_assert!(read.next().is_none());
    }

    #[test]
    fn no_bytes_are_too_much_for_the_reader_of_commands(
        mut bytes in prop::collection::vec(any::<u8>(), 0..400),
        changes in prop::collection::vec((0..16usize, 0..8u8), 0..16),
    ) {
        fuzz::commands(&bytes);
        // Most random bytes are garbage at once: some heads are made plausible.
        for (place, kind) in changes {
            if let Some(head) = bytes.get_mut(4 + 24 * place..28 + 24 * place) {
                head[..12].copy_from_slice(&[kind, 0, kind & 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
            }
        }
        fuzz::commands(&bytes);
    }

    #[test]
    fn no_bytes_are_too_much_for_the_sdk(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let bytes = [b"ALB1", &bytes[..]].concat();
        let records = aldis_app::events::Events::read(&bytes).into_iter().flatten();
        let described = records.filter_map(|record| match record.event()? {
            GuestEvent::Up(up) | GuestEvent::Joining(up) => Some(up.ports().count()),
            _ => None,
        });
        prop_assert!(described.sum::<usize>() <= bytes.len());
    }
}

#[test]
fn the_sdk_reads_every_other_event() {
    let (switch, mut events) = (info(9, false, 3), Events::default());
    let removed = FlowRemoved {
        cookie: 5,
        priority: 7,
        reason: FlowRemovedReason::HARD_TIMEOUT,
        table_id: TableNo(0),
        duration_sec: 1,
        duration_nsec: 2,
        idle_timeout: 3,
        hard_timeout: 4,
        packet_count: 5,
        byte_count: 6,
        match_: aldis_wire::msg::Match::new(),
    };
    let change = PortChange { reason: PortChangeReason::Removed, port: port(6) };
    let reply = Event::Reply { xid: 8, message: Box::new(Message::BarrierReply) };
    let all = [
        Event::Joining,
        Event::Up,
        Event::Down,
        Event::Port(change),
        Event::FlowRemoved(Box::new(removed)),
        reply,
        Event::Second,
        Event::Unsolicited { xid: 8, message: Box::new(Message::BarrierReply) },
    ];
    events.begin(Time(0));
    for event in &all {
        assert!(events.event(EventPlace::at(&switch, 0), &switch, event, 8));
    }
    let bytes = events.finish().clone();
    let read: Vec<_> = aldis_app::events::Events::read(&bytes)
        .unwrap()
        .map(|record| record.event().unwrap())
        .collect();
    let GuestEvent::Joining(joining) = &read[0] else { panic!("{:?}", read[0]) };
    let GuestEvent::Up(up) = &read[1] else { panic!("{:?}", read[1]) };
    assert_eq!((joining, up.buffers, up.tables), (up, 256, 4));
    let ports: Vec<_> = up.ports().collect();
    assert_eq!((ports.len(), ports[2].number, ports[2].name.as_str()), (3, GuestPort(3), "eth"));
    assert_eq!(ports[1].hw_addr, MacAddr([2, 0, 0, 0, 1, 2]));
    assert_eq!((ports[1].admin_down, ports[1].link_down), (true, false));
    assert_eq!((&read[2], &read[6]), (&GuestEvent::Down, &GuestEvent::Second));
    let GuestEvent::PortChange(1, port) = &read[3] else { panic!("{:?}", read[3]) };
    assert_eq!((port.number, port.speed_kbps), (GuestPort(6), 10_006));
    let GuestEvent::FlowRemoved(body) = &read[4] else { panic!("{:?}", read[4]) };
    let (xid, message) = Message::decode(Version::V13, body).unwrap();
    assert!(xid == 8 && matches!(message, Message::FlowRemoved(flow) if flow.cookie == 5));
    let (GuestEvent::Reply(8, reply), GuestEvent::Unsolicited(8, unsolicited)) =
        (&read[5], &read[7])
    else {
        panic!("{read:?}")
    };
    for body in [reply, unsolicited] {
        assert_eq!(Message::decode(Version::V13, body), Ok((8, Message::BarrierReply)));
    }
}

#[test]
fn a_flow_of_the_sdk_is_the_flow_of_the_wire() {
    let (dst, src) = (MacAddr([2, 0, 0, 0, 0, 1]), MacAddr([2, 0, 0, 0, 0, 2]));
    let match_ = Match::new().in_port(GuestPort(3)).eth_dst(dst).eth_src(src).eth_type(0x800);
    let flow = FlowMod::add(match_).idle_timeout(5).priority(9).generation(7);
    let flow = flow.actions(actions::output(GuestPort(4))).message();
    let (_, message) = Message::decode(Version::V13, flow.bytes()).unwrap();
    let mac = |mac: MacAddr| aldis_wire::MacAddr(mac.0);
    let same = aldis_wire::msg::Match::new().in_port(PortNo(3)).eth_dst(mac(dst));
    let same = aldis_wire::msg::FlowMod::add(same.eth_src(mac(src)).eth_type(0x800));
    let output = Action::Output { port: PortNo(4), max_len: 0xffff };
    let same = same.idle_timeout(5).priority(9).cookie(7).actions([output]);
    assert_eq!(message, Message::FlowMod(same));
}
