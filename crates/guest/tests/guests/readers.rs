//! What a guest says is read by a worker where it is little, and by the guest's thread where it is
//! much: the switch has it in the order in which it was said, whichever reads it.

use std::time::Duration;

use aldis_emulator::peer::Peer;
use aldis_guest::GuestState;
use aldis_wire::Version;
use aldis_wire::header::kind;
use aldis_wire::msg::{Action, Message, PacketOut, PortNo};

use crate::shares::Barred;
use crate::stage::{GuestStage, Listening, QUIET, decoded, frame, packet_in, send};

const V13: Version = Version::V13;

/// Longer than a guest that said much is read by its thread.
const LITTLE_AGAIN: Duration = Duration::from_millis(250);

/// A packet with this number.
fn numbered(number: u32) -> Vec<u8> {
    let mut data = frame(9, 0);
    data[60..64].copy_from_slice(&number.to_be_bytes());
    let mut bytes = vec![];
    let out = PacketOut::frame(data).actions([Action::output(PortNo(2))]);
    Message::from(out).encode(V13, 0, &mut bytes).unwrap();
    bytes
}

/// The numbers of the next packets that the switch is to send.
fn sent(switch: &mut Peer, count: usize) -> Vec<u32> {
    let number = |_| match decoded(V13, &switch.expect(kind::PACKET_OUT).unwrap()).1 {
        Message::PacketOut(out) => u32::from_be_bytes(*out.data[60..64].first_chunk().unwrap()),
        other => panic!("{other:?}"),
    };
    (0..count).map(number).collect()
}

/// While the worker is busy, what is little waits for it: the thread would have counted it.
#[test]
fn what_is_little_is_left_to_the_worker() {
    let gate = Barred::default();
    let (stage, listening) = (GuestStage::behind(1, gate.clone(), true), Listening::new());
    stage.add_before(listening.spec("little"), None, None);
    let mut switch = stage.switch(V13, 7);
    let (mut guest, _) = listening.guest(V13);
    guest.send(&numbered(0)).unwrap();
    assert_eq!(sent(&mut switch, 1), [0]);
    send(&mut switch, V13, 1, packet_in(V13, 3, &frame(9, 0)));
    gate.until(|state| state.is_reached);
    let before = stage.status("little").counts.messages;
    guest.send(&numbered(1)).unwrap();
    std::thread::sleep(QUIET);
    assert_eq!(stage.status("little").counts.messages, before);
    gate.change(|state| state.is_open = true);
    assert_eq!(sent(&mut switch, 1), [1]);
    stage.stop();
}

#[test]
fn little_and_much_come_in_the_order_in_which_they_were_said() {
    let (stage, listening) = (GuestStage::start(), Listening::new());
    stage.add(listening.spec("both"));
    let mut switch = stage.switch(V13, 7);
    let (mut guest, _) = listening.guest(V13);
    let mut said = 0;
    // How many at once, and how long until the next: a read of a worker takes some forty.
    for (count, pause_ms) in
        [(1, 20), (3, 0), (200, 0), (2, 0), (1, 250), (1, 20), (900, 0), (1, 0)]
    {
        let all: Vec<u8> = (said..said + count).flat_map(numbered).collect();
        said += count;
        guest.send(&all).unwrap();
        std::thread::sleep(Duration::from_millis(pause_ms));
    }
    assert_eq!(sent(&mut switch, said as usize), (0..said).collect::<Vec<_>>());
    stage.stop();
}

/// For example, TCP delivers the first half alone.
#[test]
fn a_message_may_begin_at_one_reader_and_end_at_the_other() {
    let (stage, listening) = (GuestStage::start(), Listening::new());
    stage.add(listening.spec("halves"));
    let mut switch = stage.switch(V13, 7);
    let (mut guest, _) = listening.guest(V13);
    let many: Vec<u8> = (0..200).flat_map(numbered).collect();
    for cut in [20, many.len() - 20] {
        guest.send(&many[..cut]).unwrap();
        std::thread::sleep(LITTLE_AGAIN);
        guest.send(&many[cut..]).unwrap();
        assert_eq!(sent(&mut switch, 200), (0..200).collect::<Vec<_>>(), "cut at {cut}");
        std::thread::sleep(LITTLE_AGAIN);
    }
    stage.stop();
}

#[test]
fn a_guest_that_closes_is_connected_to_again_and_served() {
    let (stage, listening) = (GuestStage::start(), Listening::new());
    stage.add(listening.spec("comes-back"));
    let mut switch = stage.switch(V13, 7);
    for number in 0..3 {
        let (mut guest, _) = listening.guest(V13);
        guest.send(&numbered(number)).unwrap();
        assert_eq!(sent(&mut switch, 1), [number]);
        drop(guest);
        stage.until("comes-back", |status| status.state == GuestState::Away);
    }
    stage.stop();
}

/// Many switches of one guest over two workers: each worker reads at its own.
#[test]
fn replies_at_many_switches_reach_each_of_them() {
    let (stage, listening) = (GuestStage::start(), Listening::new());
    stage.add(listening.spec("many"));
    let mut switches: Vec<Peer> = (0..40).map(|number| stage.switch(V13, number + 1)).collect();
    let mut guests: Vec<(Peer, u64)> = switches
        .iter()
        .map(|_| {
            let (guest, features) = listening.guest(V13);
            (guest, features.datapath_id.0)
        })
        .collect();
    for round in 0..5 {
        for (guest, dpid) in &mut guests {
            guest.send(&numbered(round << 16 | *dpid as u32)).unwrap();
        }
        for (switch, dpid) in switches.iter_mut().zip(1..) {
            assert_eq!(sent(switch, 1), [round << 16 | dpid]);
        }
    }
    stage.stop();
}
