//! Messages of experimenters: those that the grant names pass both ways.

use aldis_emulator::peer::Peer;
use aldis_guest::{GuestSpec, GuestState};
use aldis_wire::Version;
use aldis_wire::header::kind;
use aldis_wire::msg::{Experimenter, ExperimenterStats, Message, StatsRequest, StatsRequestBody};

use crate::stage::{GuestStage, Listening, QUIET, decoded, send};
use crate::{V10, V13, refused};

/// EXPERIMENTER, and VENDOR of 1.0.
const EXPERIMENTER: u8 = 4;

const NICIRA: u32 = 0x2320;

fn message(experimenter: u32) -> Message {
    Message::Experimenter(Experimenter { experimenter, exp_type: 12, body: vec![1; 8] })
}

/// The next message of an experimenter, and the transaction id that it has.
fn next(peer: &mut Peer, version: Version) -> (u32, Message) {
    decoded(version, &peer.expect(EXPERIMENTER).unwrap())
}

fn passes(version: Version) {
    let stage = GuestStage::start();
    let (granted, other) = (Listening::new(), Listening::new());
    let experimenters = Some(aldis_apps::spelling::Spelled("0x2320".parse().unwrap()));
    stage.add(GuestSpec { experimenters, ..granted.spec("granted") });
    stage.add(GuestSpec { observe: true, ..other.spec("other") });
    let mut switch = stage.switch(version, 7);
    let ((mut guest, _), (mut other, _)) = (granted.guest(version), other.guest(version));
    for name in ["granted", "other"] {
        stage.until(name, |status| status.state == GuestState::Serving);
    }
    // A question and its answer, under the guest's transaction id.
    send(&mut guest, version, 55, message(NICIRA));
    let (xid, there) = next(&mut switch, version);
    assert_eq!(there, message(NICIRA));
    send(&mut switch, version, xid, message(NICIRA));
    assert_eq!(next(&mut guest, version), (55, message(NICIRA)));
    // An error about one.
    send(&mut guest, version, 56, message(NICIRA));
    let (xid, _) = next(&mut switch, version);
    let mut error = vec![version.wire(), kind::ERROR, 0, 20];
    error.extend(xid.to_be_bytes());
    error.extend([0, 1, 0, 4, version.wire(), EXPERIMENTER, 0, 24]);
    error.extend(xid.to_be_bytes());
    error[3] = error.len() as u8;
    switch.send(&error).unwrap();
    assert_eq!(refused(&mut guest), (56, [0, 1, 0, 4]));
    // Unasked; of another experimenter nothing comes.
    send(&mut switch, version, 0, message(7));
    send(&mut switch, version, 0, message(NICIRA));
    assert_eq!(next(&mut guest, version), (0, message(NICIRA)));
    // What is not granted is refused as a switch refuses it.
    let before = stage.status("granted").counts.refused;
    send(&mut guest, version, 57, message(7));
    assert_eq!(refused(&mut guest), (57, [0, 1, 0, 3]));
    let asks = ExperimenterStats { experimenter: 7, exp_type: 0, body: vec![] };
    let asks = StatsRequest::new(StatsRequestBody::Experimenter(asks));
    send(&mut guest, version, 58, Message::StatsRequest(asks));
    assert_eq!(refused(&mut guest), (58, [0, 1, 0, 3]));
    send(&mut other, version, 59, message(NICIRA));
    assert_eq!(refused(&mut other), (59, [0, 1, 0, 3]));
    assert_eq!(stage.status("granted").counts.refused, before + 2);
    assert_eq!(stage.status("other").counts.refused, 1);
    switch.expect_silence(QUIET).unwrap();
    other.expect_silence(QUIET).unwrap();
    stage.stop();
}

#[test]
fn messages_of_a_granted_experimenter_pass_in_1_0() {
    passes(V10);
}

#[test]
fn messages_of_a_granted_experimenter_pass_in_1_3() {
    passes(V13);
}

#[test]
fn a_guest_that_may_change_nothing_sends_none() {
    let (stage, listening) = (GuestStage::start(), Listening::new());
    let experimenters = Some(aldis_apps::spelling::Spelled("0x2320".parse().unwrap()));
    stage.add(GuestSpec { experimenters, read_only: true, ..listening.spec("looks") });
    let mut switch = stage.switch(V13, 7);
    let (mut guest, _) = listening.guest(V13);
    stage.until("looks", |status| status.state == GuestState::Serving);
    send(&mut guest, V13, 5, message(NICIRA));
    assert_eq!(refused(&mut guest), (5, [0, 1, 0, 5]));
    send(&mut switch, V13, 0, message(NICIRA));
    assert_eq!(next(&mut guest, V13), (0, message(NICIRA)));
    stage.stop();
}
