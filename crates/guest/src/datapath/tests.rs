//! What is meant for one session of a guest is not delivered in the next.

use aldis_control::Commands;
use aldis_control::app::Next;
use aldis_wire::header::kind;
use aldis_wire::msg::PacketIn;
use aldis_wire::{Chop, DatapathId};

use super::*;
use crate::guest::Workers;
use crate::relay::{Awaits, Relay};
use crate::spec::GuestSpec;
use crate::{GuestApp, outbound};

/// A switch of a guest to which everything is granted.
pub(crate) fn datapath(version: Version) -> Arc<Datapath> {
    let spec = GuestSpec::new("ryu", "127.0.0.1:6654".parse().unwrap());
    let guest = Guest::new(spec, Workers::new(|_| {}), None).unwrap();
    let info = SwitchInfo { dpid: DatapathId(7), version, buffers: 0, tables: 8, ports: vec![] };
    Arc::new(Datapath::new(guest, &info))
}

/// The types of the messages that wait for the guest.
fn waiting(datapath: &Datapath) -> Vec<u8> {
    let mut bytes = vec![];
    assert!(!datapath.take_outbox(&mut bytes));
    Chop::new(&bytes).map(|raw| raw.unwrap().header.kind).collect()
}

fn packet_in(version: Version) -> Vec<u8> {
    let mut bytes = vec![];
    let packet = PacketIn {
        buffer_id: NO_BUFFER,
        total_len: 64,
        reason: aldis_wire::msg::PacketInReason::NO_MATCH,
        table_id: aldis_wire::msg::TableNo(0),
        cookie: if version == Version::V10 { u64::MAX } else { 0 },
        match_: aldis_wire::msg::Match::new().in_port(PortNo(1)),
        data: vec![0; 64],
    };
    Message::PacketIn(packet).encode(version, 0, &mut bytes).unwrap();
    bytes
}

/// A worker looks at the session, and the guest comes back, with another version perhaps, before it
/// has something to say.
#[test]
fn a_request_for_one_session_is_not_handed_over_in_the_next() {
    for (native, next) in [(Version::V13, Version::V13), (Version::V13, Version::V10)] {
        let datapath = datapath(native);
        datapath.open(native);
        let looked_at = datapath.session().unwrap();
        datapath.close(None);
        let now = datapath.open(next);
        let message = packet_in(native);
        let request = Handed { message: &message, is_whole: true };
        if let Some(mut handing) = datapath.hand(looked_at) {
            handing.push(&request);
            handing.done();
        }
        datapath.tell_in(looked_at, Message::BarrierReply, 5);
        assert_eq!(waiting(&datapath), [0u8; 0]);
        let mut handing = datapath.hand(now).unwrap();
        assert!(handing.push(&request));
        handing.done();
        datapath.tell(Message::BarrierReply, 6);
        assert_eq!(waiting(&datapath)[0], kind::PACKET_IN);
        assert_eq!(datapath.guest.counts.replies.now(), 1);
    }
}

/// What the guest of the first session asked waits for a worker when the second begins: it goes to
/// the switch, and its answer is dropped. A guest numbers its messages from the start in each
/// session, so that it would take the answer for that to another question.
#[test]
fn an_answer_to_what_was_asked_in_one_session_does_not_come_in_the_next() {
    let datapath = datapath(Version::V13);
    let mut output = aldis_control::Output::default();
    let asks = |datapath: &Arc<Datapath>| {
        let mut relay = Relay { session: datapath.session(), ..Relay::default() };
        relay.push(&Message::BarrierRequest, Version::V13, (1, Awaits::Reply)).unwrap();
        datapath.guest.send(datapath, relay);
    };
    datapath.open(Version::V13);
    asks(&datapath);
    datapath.close(None);
    datapath.open(Version::V13);
    asks(&datapath);
    let commands: &mut Commands = output.commands();
    GuestApp::of(Arc::clone(&datapath.guest)).take(commands);
    let pieces = commands.pieces().0.to_vec();
    let asked: Vec<u32> = Chop::new(&pieces).map(|raw| raw.unwrap().header.xid).collect();
    let [first, second] = asked[..] else { panic!("{asked:?}") };
    assert_eq!(outbound::reply(&datapath, first, &Message::BarrierReply), Next::Continue);
    assert_eq!(waiting(&datapath), [0u8; 0]);
    assert_eq!(outbound::reply(&datapath, second, &Message::BarrierReply), Next::Stop);
    assert_eq!(waiting(&datapath), [21]);
}
