//! What is meant for one session of a guest is not delivered in the next.

use aldis_control::Commands;
use aldis_control::app::Next;
use aldis_wire::header::kind;
use aldis_wire::msg::PacketIn;
use aldis_wire::{Chop, DatapathId};

use super::*;
use crate::guest::{NoWorkers, Workers};
use crate::relay::{Awaits, Relay};
use crate::spec::GuestSpec;
use crate::{GuestApp, outbound};

/// A switch of a guest to which everything is granted.
pub(crate) fn datapath(version: Version) -> Arc<Datapath> {
    let spec = GuestSpec::new("ryu", "127.0.0.1:6654".parse().unwrap());
    let guest = Guest::new(spec, Workers::new(NoWorkers), None).unwrap();
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

/// A connection of this session of a guest: its end here, and the guest's.
fn connected(datapath: &Datapath) -> (TcpStream, TcpStream) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    ours.set_nonblocking(true).unwrap();
    datapath.share_socket(Some(Arc::new(ours.try_clone().unwrap())));
    (ours, listener.accept().unwrap().0)
}

/// Hands over a request; whether the guest's thread is to be rung for it.
fn hand_one(datapath: &Datapath, message: &[u8]) -> bool {
    let mut handing = datapath.hand(datapath.session().unwrap()).unwrap();
    assert!(handing.push(&Handed { message, is_whole: true }));
    handing.done()
}

#[test]
fn a_worker_writes_a_few_requests_itself_once_the_thread_has_nothing_to_write() {
    let (datapath, message) = (datapath(Version::V13), packet_in(Version::V13));
    datapath.open(Version::V13);
    let (_ours, mut guest) = connected(&datapath);
    guest.set_read_timeout(Some(std::time::Duration::from_secs(5))).unwrap();

    // The thread has its HELLO to write, then what waits.
    assert!(hand_one(&datapath, &message));
    assert_eq!(waiting(&datapath), [kind::PACKET_IN]);
    datapath.unlist();
    assert!(hand_one(&datapath, &message));
    assert_eq!(waiting(&datapath), [kind::PACKET_IN]);
    datapath.unlist();
    assert!(waiting(&datapath).is_empty());

    assert!(!hand_one(&datapath, &message));
    let mut came = vec![0; message.len()];
    std::io::Read::read_exact(&mut guest, &mut came).unwrap();
    assert_eq!(came, message);
    assert!(waiting(&datapath).is_empty());

    // Many at once are the thread's.
    let mut handing = datapath.hand(datapath.session().unwrap()).unwrap();
    for _ in 0..=LITTLE / message.len() {
        assert!(handing.push(&Handed { message: &message, is_whole: true }));
    }
    assert!(handing.done());
}

/// As docs/guests.md says, and where its settings allow it no less.
#[test]
fn for_a_guest_that_floods_sixteen_kilobytes_wait_until_it_floods_no_more() {
    let (datapath, message) = (datapath(Version::V13), packet_in(Version::V13));
    datapath.open(Version::V13);
    let waits_at_most = |floods| {
        datapath.guest.set_floods(floods);
        let mut handing = datapath.hand(datapath.session().unwrap()).unwrap();
        while handing.push(&Handed { message: &message, is_whole: true }) {}
        handing.outbox.bytes.len()
    };
    let fits = |most: usize| most - most % message.len();
    assert_eq!(waits_at_most(true), fits(16 << 10));
    assert_eq!(waits_at_most(false), fits(1 << 20));
    assert_eq!(waits_at_most(true), fits(1 << 20), "what waits already stays");
}

/// A worker's write may end within a message. What the thread has to say comes behind its rest.
#[test]
fn the_thread_goes_on_where_the_kernel_stopped_a_worker() {
    let (datapath, message) = (datapath(Version::V13), packet_in(Version::V13));
    datapath.open(Version::V13);
    let (mut ours, mut guest) = connected(&datapath);
    assert!(waiting(&datapath).is_empty());
    // The guest reads nothing until the kernel has no more room.
    let mut handed = 0;
    while !hand_one(&datapath, &message) {
        handed += 1;
    }
    handed += 1;
    let answer = crate::inbound::bare(Version::V13, kind::ECHO_REPLY, 3);
    let mut rest = answer.to_vec();
    assert!(!datapath.take_outbox(&mut rest));
    assert!(rest.ends_with(&answer) && rest.len() > answer.len());
    // Workers do not write before the thread has.
    datapath.unlist();
    assert!(hand_one(&datapath, &message));
    handed += 1;

    let reader = std::thread::spawn(move || {
        let mut all = vec![];
        std::io::Read::read_to_end(&mut guest, &mut all).unwrap();
        all
    });
    ours.set_nonblocking(false).unwrap();
    ours.write_all(&rest).unwrap();
    let mut rest = vec![];
    assert!(!datapath.take_outbox(&mut rest));
    ours.write_all(&rest).unwrap();
    datapath.close(None);
    drop(ours);
    let kinds: Vec<u8> =
        Chop::new(&reader.join().unwrap()).map(|raw| raw.unwrap().header.kind).collect();
    assert_eq!(kinds.iter().filter(|found| **found == kind::PACKET_IN).count(), handed);
    assert_eq!(kinds[handed - 1..], [kind::ECHO_REPLY, kind::PACKET_IN]);
}
