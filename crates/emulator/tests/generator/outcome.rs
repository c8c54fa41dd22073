//! Runs that end before their time, that are stopped, and that are made of parts: what was measured
//! is kept.

use crate::scripted::{FEATURES_REPLY, FEATURES_REQUEST, PATIENCE, SeenRequest, counted, scripted};
use aldis_emulator::load::{
    self, DemandRate, Gate, GeneratorPart, Load, LoadFailure, LoadOutcome, Mode, Moment, OnOff,
    Watch,
};
use aldis_emulator::null::NullController;
use aldis_emulator::peer::{Peer, bare, hello};
use aldis_wire::Version;
use aldis_wire::header::kind;
use std::net::TcpListener;
use std::sync::Barrier;
use std::time::Duration;

struct UnwatchedRun;

impl Watch for UnwatchedRun {}

/// A controller of one switch that answers so many requests and then does `act`; the outcome of a
/// run against it.
fn answered_then(answers: usize, act: impl FnOnce(&mut Peer) + Send + 'static) -> LoadOutcome {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let controller = std::thread::spawn(move || {
        let mut peer = Peer::over(listener.accept().unwrap().0, PATIENCE).unwrap();
        let version = Version::V10;
        peer.send(&[hello(version), bare(version, FEATURES_REQUEST, 2)].concat()).unwrap();
        peer.expect(FEATURES_REPLY).unwrap();
        for _ in 0..answers {
            let bytes = peer.expect(kind::PACKET_IN).unwrap();
            peer.send(&SeenRequest { version, bytes }.flow_mod(0)).unwrap();
        }
        act(&mut peer);
    });
    let load = Load { requests_per_switch: None, ..counted(address, Version::V10, 1, 1) };
    let outcome = load::measure(&load, &mut UnwatchedRun);
    controller.join().unwrap();
    outcome
}

#[test]
fn what_was_measured_before_the_controller_died_is_kept() {
    let LoadOutcome { report, failure } = answered_then(100, |_| {});
    assert!(matches!(failure, Some(LoadFailure::Closed { switch: 1, .. })), "{failure:?}");
    assert!(failure.unwrap().to_string().contains("during the measurement"));
    // Eight may be outstanding, and what the kernel had not handed over may be gone.
    assert!((92..=100).contains(&report.counts.answered), "{:?}", report.counts);
    assert_eq!(report.answered(), report.counts.answered);
    assert!(!report.is_empty() && report.loops.len() == 1 && report.phases.len() == 1);
}

#[test]
fn what_was_measured_before_garbage_came_is_kept() {
    let LoadOutcome { report, failure } = answered_then(50, |peer| {
        peer.send(b"HTTP/1.1 500 Oh no\r\n\r\n").unwrap();
        peer.expect_close().unwrap();
    });
    assert!(matches!(failure, Some(LoadFailure::Garbage { switch: 1, .. })), "{failure:?}");
    assert_eq!(report.counts.answered, 50);
}

#[test]
fn nothing_is_measured_where_nobody_listens() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let outcome = load::measure(&counted(address, Version::V10, 1, 1), &mut UnwatchedRun);
    assert!(
        matches!(outcome.failure, Some(LoadFailure::Connect { .. })) && outcome.report.is_empty()
    );
}

/// Stops the run as soon as something was measured.
#[derive(Default)]
struct Impatient(Vec<Moment>);

impl Watch for Impatient {
    fn tell(&mut self, moment: Moment) {
        self.0.push(moment);
    }

    fn is_stopped(&mut self) -> bool {
        self.0.contains(&Moment::PhaseEnds(0))
    }
}

#[test]
fn a_run_that_is_stopped_keeps_what_was_measured() {
    let null = NullController::start("127.0.0.1:0".parse().unwrap(), 1).unwrap();
    let load = Load {
        requests_per_switch: None,
        loops: 2,
        slices: 2,
        loop_length: Duration::from_millis(100),
        ..counted(null.address(), Version::V10, 2, 1)
    };
    let mut complete = Impatient::default();
    // Nothing is asked between the phases' ends and that of the run; what cools down is long enough
    // to be stopped.
    let long = Load { loops: 2, cool_down: 100, ..load.clone() };
    let stopped = load::measure(&long, &mut complete);
    assert!(matches!(stopped.failure, Some(LoadFailure::Stopped)), "{:?}", stopped.failure);
    assert!(!stopped.report.is_empty());
    let order = [Moment::MeasureBegins, Moment::PhaseEnds(0), Moment::PhaseEnds(1)];
    let told: Vec<_> = complete.0.into_iter().filter(|moment| order.contains(moment)).collect();
    assert!(order.starts_with(&told) && told.len() >= 2, "{told:?}");
    let ended = load::measure(&load, &mut UnwatchedRun);
    assert!(ended.failure.is_none() && ended.report.phases.len() == 2);
}

/// A part that waits for the other at each gate.
struct Together<'a>(&'a Barrier, Vec<Gate>);

impl Watch for Together<'_> {
    fn pass(&mut self, gate: Gate) -> Result<(), LoadFailure> {
        self.0.wait();
        self.1.push(gate);
        Ok(())
    }
}

#[test]
fn parts_add_up_to_the_whole() {
    const SWITCHES: u32 = 5;
    let (address, controller) =
        scripted(Version::V10, SWITCHES + 1, |_, request| request.flow_mod(0));
    let whole = Load { storms: 1, ..counted(address, Version::V10, SWITCHES, 60) };
    let barrier = Barrier::new(2);
    let play = |index| {
        let load = Load { part: GeneratorPart { index, of: 2 }, threads: 2, ..whole.clone() };
        let mut watch = Together(&barrier, Vec::new());
        let outcome = load::measure(&load, &mut watch);
        assert_eq!(watch.1, [Gate::Connected, Gate::Taught]);
        assert!(outcome.failure.is_none(), "{:?}", outcome.failure);
        outcome.report
    };
    let (mut report, other) = std::thread::scope(|scope| {
        let other = scope.spawn(|| play(1));
        (play(0), other.join().unwrap())
    });
    let seen = controller.join().unwrap();
    assert_eq!(seen.iter().map(Vec::len).sum::<usize>(), 360);
    assert!(report.per_switch.iter().zip(&other.per_switch).all(|(a, b)| a * b == 0));
    report.merge(other);
    assert_eq!(report.per_switch, [60; 6]);
    assert_eq!((report.counts.offered, report.counts.answered), (360, 360));
    let served = report.served(&whole);
    assert!(served.iter().all(|switch| switch.deviation() == Some(0.0)), "{served:?}");
}

#[test]
fn datapath_ids_begin_where_they_are_told_to() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let controller = std::thread::spawn(move || {
        let mut peer = Peer::over(listener.accept().unwrap().0, PATIENCE).unwrap();
        let version = Version::V13;
        peer.send(&[hello(version), bare(version, FEATURES_REQUEST, 2)].concat()).unwrap();
        let features = peer.expect(FEATURES_REPLY).unwrap();
        let request = SeenRequest { version, bytes: peer.expect(kind::PACKET_IN).unwrap() };
        peer.send(&request.flow_mod(0)).unwrap();
        (features[8..16].to_vec(), request.frame()[6..9].to_vec())
    });
    let load = Load { first_dpid: 0x1234, ..counted(address, Version::V13, 1, 1) };
    let report = load::run(&load).unwrap();
    assert_eq!(report.served(&load)[0].dpid, 0x1234);
    let (dpid, source) = controller.join().unwrap();
    assert_eq!((&dpid[6..], &source[..]), (&[0x12, 0x34][..], &[2, 0x12, 0x34][..]));
}

#[test]
fn switches_that_are_on_and_off_offer_their_part_on_average() {
    let null = NullController::start("127.0.0.1:0".parse().unwrap(), 1).unwrap();
    let ms = Duration::from_millis;
    let load = Load {
        mode: Mode::Window(1000),
        rate: DemandRate::Total(5000.0),
        on_off: Some(OnOff { on: (ms(20), ms(40)), off: (ms(20), ms(80)) }),
        ..counted(null.address(), Version::V10, 10, 100)
    };
    let report = load::run(&load).unwrap();
    assert_eq!((report.counts.answered, report.counts.lost), (1000, 0));
    let due: f64 = report.phases[0].demands().iter().sum();
    assert!(due >= 1000.0, "{due}");
    let unlimited = Load { rate: DemandRate::Unlimited, ..load };
    assert!(matches!(load::run(&unlimited), Err(LoadFailure::OutOfRange { .. })));
}
