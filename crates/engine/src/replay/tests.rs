//! Events in, bytes out; and what cannot be is refused.

use aldis_control::session;
use aldis_wire::Version;

use super::*;
use crate::design::Knobs;

fn replay() -> Replay {
    let config = Config {
        listen: vec![],
        workers: 2,
        design: Design::default(),
        spin: false,
        session: session::Config::default(),
        knobs: Knobs::default(),
    };
    Replay::start(&config, AppSet::default()).unwrap()
}

fn at(at_ns: u64, worker: u16, event: WholeEvent) -> PlayedEvent {
    PlayedEvent { at_ns, worker, offset: 0, event }
}

/// The kinds of the messages that came out, with their worker and connection.
fn came(replay: &mut Replay) -> Vec<(u16, ConnKey, u8)> {
    let mut came = vec![];
    replay.take_written(|worker, conn, bytes| {
        let kinds = Chop::new(bytes).map(|raw| raw.unwrap().header.kind);
        came.extend(kinds.map(|kind| (worker, conn, kind)));
    });
    came
}

#[test]
fn a_switch_that_connects_and_shakes_hands_is_asked_for_its_features() {
    let mut replay = replay();
    let address = std::net::SocketAddr::from(([127, 0, 0, 1], 6653));
    let ends = Endpoints { peer: address, local: address };
    assert_eq!(replay.play(&at(5, 1, WholeEvent::Opened { conn: 70, ends })), Ok(()));
    assert_eq!(came(&mut replay), [(1, 70, 0)], "HELLO");
    let hello = vec![Version::V13.wire(), 0, 0, 8, 0, 0, 0, 1];
    assert_eq!(replay.play(&at(6, 1, WholeEvent::Read { conn: 70, bytes: hello })), Ok(()));
    assert_eq!(came(&mut replay), [], "it is written with the batch");
    let batch = || WholeEvent::Marked(Mark::Batch { ran_ns: 7 });
    assert_eq!(replay.play(&at(6, 1, batch())), Ok(()));
    assert_eq!(came(&mut replay), [(1, 70, 5)], "FEATURES_REQUEST");
    assert_eq!(replay.dpid_of(70), None);
    assert_eq!(replay.play(&at(8, 1, WholeEvent::Closed { conn: 70 })), Ok(()));
    let late = WholeEvent::Read { conn: 70, bytes: vec![4, 2, 0, 8, 0, 0, 0, 1] };
    assert_eq!(replay.play(&at(9, 0, late)), Ok(()));
    assert_eq!(replay.play(&at(9, 0, batch())), Ok(()));
    assert_eq!(came(&mut replay), [], "it is gone");
}

#[test]
fn what_cannot_have_happened_is_refused_and_what_is_not_known_is_passed_over() {
    let mut replay = replay();
    let ticked = || WholeEvent::Marked(Mark::Ticked);
    assert_eq!(replay.play(&at(1, 2, ticked())), Err(Unplayable::Worker(2)));
    let long = WholeEvent::Read { conn: 1, bytes: vec![0; 16] };
    for event in [
        ticked(),
        WholeEvent::Marked(Mark::Entered { version: u64::MAX }),
        WholeEvent::Marked(Mark::Acted { before: 0, after: 9 }),
        WholeEvent::Marked(Mark::Told { conn: 9, second: true }),
        WholeEvent::Marked(Mark::Told { conn: 9, second: false }),
        WholeEvent::Published { began_ns: 3, version: 0, taken: vec![9; 9] },
        WholeEvent::Closed { conn: 9 },
        long,
    ] {
        assert_eq!(replay.play(&at(1, 0, event)), Ok(()));
    }
    replay.settle();
    assert_eq!(came(&mut replay), []);
}

#[test]
fn designs_that_hand_batches_on_are_not_played() {
    let playable = Design::ALL.into_iter().filter(can_replay).map(|design| design.name);
    let playable: Vec<_> = playable.collect();
    assert!(playable.contains(&"fair-rounds") && playable.contains(&"beacon"));
    assert!(playable.iter().all(|name| !name.contains("queue") && *name != "maestro-plain"));
}
