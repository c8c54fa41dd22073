//! Load against controllers that follow a script: what the report counts is what the controller
//! saw, message for message.

use crate::scripted::{FEATURES_REPLY, FEATURES_REQUEST, PATIENCE, SeenRequest, counted, scripted};
use aldis_emulator::load::{self, DemandRate, DemandSpread, Destinations, Load, LoadFailure, Mode};
use aldis_emulator::null::NullController;
use aldis_emulator::peer::{Peer, bare, hello};
use aldis_wire::Version;
use aldis_wire::header::kind;
use std::collections::{HashMap, HashSet};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[test]
fn every_request_is_counted_once_message_for_message() {
    for version in Version::ALL {
        for threads in [1, 2] {
            let (address, controller) =
                scripted(version, 3, |_, request| request.flow_mod(request.xid()));
            let load = Load { threads, ..counted(address, version, 3, 500) };
            let report = load::run(&load).unwrap();
            let seen = controller.join().unwrap();
            assert!(seen.iter().all(|requests| requests.len() == 500), "{version}");
            let counts = report.counts;
            assert_eq!((counts.offered, counts.answered), (1500, 1500), "{version}");
            assert_eq!((counts.lost, counts.strays), (0, 0), "{version}");
            assert_eq!(report.per_switch, [500, 500, 500]);
            assert!(report.delay.len() >= 3);
        }
    }
}

#[test]
fn numbers_are_unique_and_stand_in_xid_and_buffer_id() {
    let (address, controller) =
        scripted(Version::V10, 1, |_, request| request.flow_mod(request.xid()));
    load::run(&counted(address, Version::V10, 1, 300)).unwrap();
    let seen = controller.join().unwrap();
    let xids: HashSet<u32> = seen[0].iter().map(SeenRequest::xid).collect();
    assert_eq!(xids.len(), 300);
    assert!(seen[0].iter().all(|request| request.xid() == request.buffer_id()));
    assert!(seen[0].iter().all(|request| request.bytes.len() == 82));
}

#[test]
fn a_second_answer_is_a_stray_and_no_second_request() {
    let (address, controller) = scripted(Version::V10, 1, |index, request| {
        let answer = request.flow_mod(request.xid());
        if index % 3 == 0 { [answer.clone(), answer].concat() } else { answer }
    });
    let report = load::run(&counted(address, Version::V10, 1, 300)).unwrap();
    controller.join().unwrap();
    assert_eq!((report.counts.offered, report.counts.answered), (300, 300));
    // The run ends with the last request's first answer; its second may come too late to be seen.
    assert!((99..=100).contains(&report.counts.strays), "{:?}", report.counts);
}

#[test]
fn a_dropped_request_is_lost_and_does_not_hold_up_the_run() {
    let (address, controller) = scripted(Version::V13, 1, |index, request| match index % 5 {
        0 => Vec::new(),
        _ => request.flow_mod(request.xid()),
    });
    let patience = Duration::from_millis(60);
    let load = Load { patience, ..counted(address, Version::V13, 1, 50) };
    let report = load::run(&load).unwrap();
    controller.join().unwrap();
    let counts = report.counts;
    assert_eq!((counts.offered, counts.answered, counts.lost), (50, 40, 10));
}

#[test]
fn an_answer_behind_a_thousand_others_is_late_and_no_loss() {
    for buffered in [true, false] {
        let first = Arc::new(Mutex::new(Vec::new()));
        let (address, controller) = scripted(Version::V10, 1, move |index, request| {
            let answer = request.packet_out(request.xid());
            match index {
                0 => *first.lock().unwrap() = answer,
                1500 => return [first.lock().unwrap().clone(), answer].concat(),
                _ => return answer,
            }
            Vec::new()
        });
        let load = Load { buffered, ..counted(address, Version::V10, 1, 2000) };
        let report = load::run(&load).unwrap();
        controller.join().unwrap();
        let counts = report.counts;
        assert_eq!((counts.offered, counts.answered, counts.late), (2000, 2000, 1), "{buffered}");
        assert_eq!((counts.lost, counts.strays), (0, 0), "{buffered}");
        let named = if buffered { report.forms.buffer_id } else { report.forms.frame };
        assert_eq!(named, 2000);
    }
}

#[test]
fn a_flood_is_an_answer_and_a_controllers_own_xids_do_not_matter() {
    let (address, controller) = scripted(Version::V10, 1, |index, request| match index % 2 {
        0 => request.packet_out(index as u32),
        _ => request.flow_mod(index as u32),
    });
    let report = load::run(&counted(address, Version::V10, 1, 200)).unwrap();
    controller.join().unwrap();
    assert_eq!((report.counts.answered, report.counts.strays), (200, 0));
}

#[test]
fn without_buffers_flow_mod_and_packet_out_together_are_one_answer() {
    for version in Version::ALL {
        let (address, controller) = scripted(version, 1, |_, request| {
            assert_eq!(request.buffer_id(), u32::MAX);
            [request.flow_mod(request.xid()), request.packet_out(request.xid())].concat()
        });
        let load = Load { buffered: false, ..counted(address, version, 1, 200) };
        let report = load::run(&load).unwrap();
        controller.join().unwrap();
        assert_eq!((report.counts.answered, report.counts.lost), (200, 0));
        assert!((199..=200).contains(&report.counts.strays), "{:?}", report.counts);
    }
}

#[test]
fn without_buffers_the_frame_says_which_request_is_answered() {
    for version in Version::ALL {
        let (address, controller) =
            scripted(version, 1, |index, request| request.packet_out(index as u32));
        let load = Load { buffered: false, ..counted(address, version, 1, 200) };
        let report = load::run(&load).unwrap();
        controller.join().unwrap();
        assert_eq!((report.counts.answered, report.counts.strays), (200, 0), "{version}");
    }
}

#[test]
fn the_window_is_filled_and_never_exceeded() {
    const WINDOW: usize = 7;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let controller = std::thread::spawn(move || {
        let mut peer = Peer::over(listener.accept().unwrap().0, PATIENCE).unwrap();
        peer.send(&[hello(Version::V10), bare(Version::V10, FEATURES_REQUEST, 2)].concat())
            .unwrap();
        peer.expect(FEATURES_REPLY).unwrap();
        for _ in 0..10 {
            let window: Vec<_> =
                (0..WINDOW).map(|_| peer.expect(kind::PACKET_IN).unwrap()).collect();
            peer.expect_silence(Duration::from_millis(10)).unwrap();
            // In reverse: answers out of order make room as well.
            for bytes in window.into_iter().rev() {
                let request = SeenRequest { version: Version::V10, bytes };
                peer.send(&request.flow_mod(0)).unwrap();
            }
        }
    });
    let load = counted(address, Version::V10, 1, 10 * WINDOW as u64);
    let report = load::run(&Load { mode: Mode::Window(WINDOW as u32), ..load }).unwrap();
    controller.join().unwrap();
    assert_eq!(report.counts.answered, 10 * WINDOW as u64);
}

#[test]
fn in_latency_mode_every_delay_is_recorded() {
    let (address, controller) =
        scripted(Version::V10, 2, |_, request| request.flow_mod(request.xid()));
    let load = Load { mode: Mode::Latency, ..counted(address, Version::V10, 2, 100) };
    let report = load::run(&load).unwrap();
    controller.join().unwrap();
    assert_eq!((report.counts.answered, report.delay.len()), (200, 200));
}

#[test]
fn every_address_is_taught_on_its_port_before_it_is_used() {
    for destinations in [Destinations::All, Destinations::One] {
        let (address, controller) =
            scripted(Version::V10, 1, |_, request| request.packet_out(request.xid()));
        let load = Load {
            teach: true,
            macs: 1000,
            destinations,
            ..counted(address, Version::V10, 1, 3000)
        };
        let report = load::run(&load).unwrap();
        let seen = controller.join().unwrap().remove(0);
        assert_eq!(report.counts.answered, 3000, "lessons are no requests");
        let (lessons, requests) = seen.split_at(seen.len() - 3000);
        let mut home = HashMap::new();
        for lesson in lessons {
            assert_eq!(lesson.frame()[..6], [0xff; 6]);
            home.insert(lesson.frame()[6..12].to_vec(), lesson.in_port());
        }
        assert_eq!(home.len(), lessons.len());
        assert_eq!(home.len(), if destinations == Destinations::All { 1000 } else { 1001 });
        for request in requests {
            let frame = request.frame();
            assert_eq!(home[&frame[6..12]], request.in_port());
            assert_ne!(home[&frame[..6]], request.in_port());
        }
    }
}

#[test]
fn a_rate_is_kept() {
    let null = NullController::start("127.0.0.1:0".parse().unwrap(), 1).unwrap();
    for rate in [DemandRate::Total(2000.0), DemandRate::PerSwitch(500.0)] {
        let load = Load {
            switches: 4,
            macs: 10,
            mode: Mode::Window(100),
            rate,
            warm_up: 0,
            loops: 1,
            loop_length: Duration::from_millis(300),
            ..Load::new(null.address())
        };
        let offered = load::run(&load).unwrap().counts.offered;
        // 600 are due, and at most one a switch by rounding; a machine that is busy may send fewer.
        assert!((300..=604).contains(&offered), "{offered}");
    }
}

#[test]
fn one_switch_with_one_address_has_somebody_to_speak_to() {
    let null = NullController::start("127.0.0.1:0".parse().unwrap(), 1).unwrap();
    let load = Load { macs: 1, teach: true, ..counted(null.address(), Version::V10, 1, 1000) };
    assert_eq!(load.destinations_in_fact(), Destinations::One);
    assert_eq!(load::run(&load).unwrap().counts.answered, 1000);
}

#[test]
fn full_queues_lose_nothing() {
    for (version, buffered) in [(Version::V10, true), (Version::V13, false)] {
        let null = NullController::start("127.0.0.1:0".parse().unwrap(), 2).unwrap();
        let load = Load {
            version,
            switches: 5,
            buffered,
            macs: 1000,
            mode: Mode::Full,
            warm_up: 0,
            loops: 2,
            loop_length: Duration::from_millis(150),
            ..Load::new(null.address())
        };
        let report = load::run(&load).unwrap();
        assert!(report.per_switch.iter().all(|&answered| answered > 0), "{:?}", report.per_switch);
        assert_eq!((report.loops.len(), report.counts.lost), (2, 0));
        assert_eq!(report.counts.strays > 0, !buffered, "the PACKET_OUTs beside the FLOW_MODs");
    }
}

#[test]
fn a_thousand_switches_connect_in_groups() {
    let null = NullController::start("127.0.0.1:0".parse().unwrap(), 1).unwrap();
    let load = Load {
        connect_group: 300,
        connect_pause: Duration::from_millis(5),
        ..counted(null.address(), Version::V13, 1000, 10)
    };
    let report = load::run(&load).unwrap();
    assert!(report.per_switch.iter().all(|&answered| answered == 10));
}

/// A controller that does `act` to the first switch that comes, and the failure of the run.
fn failure(
    load: impl Fn(SocketAddr) -> Load,
    act: impl FnOnce(&mut Peer) + Send + 'static,
) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let controller = std::thread::spawn(move || {
        let mut peer = Peer::over(listener.accept().unwrap().0, PATIENCE).unwrap();
        act(&mut peer);
        let _ = peer.expect_close();
    });
    let failure = load::run(&load(address)).unwrap_err().to_string();
    controller.join().unwrap();
    failure
}

fn one_switch(address: SocketAddr) -> Load {
    counted(address, Version::V10, 1, 10)
}

#[test]
fn nobody_listening_is_said_so() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let failure = load::run(&one_switch(address)).unwrap_err();
    assert!(matches!(failure, LoadFailure::Connect { switch: 1, .. }), "{failure}");
    assert!(failure.to_string().contains("is a controller listening there?"));
}

#[test]
fn a_controller_that_closes_is_said_so() {
    let failure = failure(one_switch, |peer| {
        peer.expect(kind::HELLO).unwrap();
        peer.socket().shutdown(std::net::Shutdown::Both).unwrap();
    });
    assert_eq!(failure, "the controller closed the connection of switch 1 during the handshake");
}

#[test]
fn garbage_is_said_with_the_switch() {
    let failure =
        failure(one_switch, |peer| peer.send(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap());
    assert!(
        failure.starts_with("the controller sent switch 1 bytes that are no OpenFlow"),
        "{failure}"
    );
}

#[test]
fn silence_ends_at_the_deadline() {
    let hasty =
        |address| Load { handshake_deadline: Duration::from_millis(50), ..one_switch(address) };
    let said = failure(hasty, |_| {});
    assert!(
        said.starts_with("switch 1 still waits for the controller's HELLO after 50 ms"),
        "{said}"
    );
    let said = failure(hasty, |peer| peer.send(&hello(Version::V13)).unwrap());
    assert!(said.contains("the controller's FEATURES_REQUEST"), "{said}");
}

#[test]
fn a_lower_version_is_said_so() {
    let newer = |address| Load { version: Version::V13, ..one_switch(address) };
    let said = failure(newer, |peer| peer.send(&hello(Version::V10)).unwrap());
    assert!(said.contains("OpenFlow 1.3") && said.contains("0x01"), "{said}");
}

#[test]
fn an_openflow_error_is_said_by_name() {
    let said = failure(one_switch, |peer| {
        peer.send(&[1, 1, 0, 12, 0, 0, 0, 1, 0, 0, 0, 0]).unwrap();
    });
    assert!(said.contains("OFPHFC_INCOMPATIBLE"), "{said}");
}

#[test]
fn a_load_that_cannot_be_is_refused_with_what_can() {
    let address = "127.0.0.1:1".parse().unwrap();
    let said = load::run(&Load { switches: 0, ..one_switch(address) }).unwrap_err().to_string();
    assert_eq!(said, "the number of switches must be 1 to 10,000");
    let full = Load { mode: Mode::Window(0), ..one_switch(address) };
    assert!(matches!(load::run(&full), Err(LoadFailure::OutOfRange { .. })));
    let ports = Load { ports: 1365, ..one_switch(address) };
    let said = load::run(&ports).unwrap_err().to_string();
    assert!(said.contains("OpenFlow 1.0") && said.ends_with("must be 2 to 1,364"), "{said}");
    for wrong in [
        Load { ports: 4096, version: Version::V13, ..one_switch(address) },
        Load { dead: 10_000, ..one_switch(address) },
        Load { weights: vec![1.0, 0.0], ..one_switch(address) },
        Load { weights: vec![-1.0], ..one_switch(address) },
        Load { rate: DemandRate::Steps(vec![]), ..one_switch(address) },
        Load { spread: DemandSpread::Zipf(f64::NAN), ..one_switch(address) },
        Load { probe_rate: 0.0, ..one_switch(address) },
        Load { slow_rate: 0, ..one_switch(address) },
        Load { hot_port: 0, ..one_switch(address) },
    ] {
        assert!(matches!(load::run(&wrong), Err(LoadFailure::OutOfRange { .. })), "{wrong:?}");
    }
}
