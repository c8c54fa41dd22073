//! Switches that are not all alike: unequal and changing rates, storms, probes, a hot port, and
//! switches that read badly.

use crate::scripted::{FEATURES_REPLY, FEATURES_REQUEST, PATIENCE, SeenRequest, counted, scripted};
use aldis_emulator::load::{self, DemandRate, DemandSpread, Load, Mode, RateStep};
use aldis_emulator::null::NullController;
use aldis_emulator::peer::{Peer, Unexpected, bare, hello};
use aldis_wire::Version;
use aldis_wire::header::kind;
use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, OnceLock, mpsc};
use std::time::{Duration, Instant};

/// A run of `ms` measured milliseconds.
fn timed(controller: SocketAddr, ms: u64) -> Load {
    Load {
        macs: 10,
        mode: Mode::Full,
        warm_up: 0,
        loops: 1,
        loop_length: Duration::from_millis(ms),
        ..Load::new(controller)
    }
}

fn null() -> NullController {
    NullController::start("127.0.0.1:0".parse().unwrap(), 1).unwrap()
}

#[test]
fn a_skewed_rate_is_offered_by_rank() {
    let null = null();
    let skewed = Load {
        switches: 4,
        rate: DemandRate::Total(5000.0),
        spread: DemandSpread::Zipf(1.0),
        ..timed(null.address(), 300)
    };
    let report = load::run(&skewed).unwrap();
    let phase = &report.phases[0];
    let mut demands = phase.demands();
    demands.sort_by(|a, b| b.total_cmp(a));
    let all: f64 = demands.iter().sum();
    for (rank, demand) in (1..).zip(&demands) {
        let expected = all * (12.0 / 25.0) / f64::from(rank);
        assert!((demand - expected).abs() < 3.0, "{demands:?}");
    }
    // 1500 are due in 300 ms, but for the last tick and a machine that is busy.
    assert!((750.0..=1505.0).contains(&all), "{all}");
    for (received, demand) in report.per_switch.iter().zip(&phase.demands()) {
        assert!(*received as f64 <= demand + 1.0, "{:?}", report.per_switch);
    }
}

#[test]
fn the_rate_follows_the_steps() {
    let null = null();
    let step = |rate| RateStep { rate, length: Duration::from_millis(150) };
    let stepped = Load {
        switches: 3,
        rate: DemandRate::Steps(vec![step(4000.0), step(400.0), step(2000.0)]),
        probes: 5,
        probe_rate: 50.0,
        ..timed(null.address(), 100)
    };
    let report = load::run(&stepped).unwrap();
    let rates: Vec<_> = report.phases.iter().map(|phase| phase.rate).collect();
    assert_eq!(rates, [Some(4000.0), Some(400.0), Some(2000.0)]);
    assert_eq!(report.loops.len(), 6, "loops of 100 and 50 ms in each");
    for (phase, due) in report.phases.iter().zip([600.0, 60.0, 300.0]) {
        let demand: f64 = phase.demands().iter().sum();
        assert!((due * 0.5..due * 1.5).contains(&demand), "{demand} of {due}");
        assert!(phase.answered() > 0);
    }
    let sum = |of: fn(&load::ReportPhase) -> u64| report.phases.iter().map(of).sum::<u64>();
    assert_eq!(report.answered(), sum(|phase| phase.answered()));
    assert_eq!(report.probes.delay.len(), sum(|phase| phase.probe_delay.len()));
    // Of one thread of load: what the whole run was idle is what its phases were.
    let seconds = |phase: &load::ReportPhase| phase.elapsed.as_secs_f64();
    let idle: f64 = report.phases.iter().map(|phase| phase.idle * seconds(phase)).sum();
    let all: f64 = report.phases.iter().map(seconds).sum();
    assert!((idle / all - report.idle).abs() < 0.05, "{idle} s of {all}, and {}", report.idle);
    assert!(report.phases.iter().all(|phase| phase.idle < 1.0), "each did something");
}

#[test]
fn weights_are_what_fairness_is_judged_by() {
    let (address, controller) =
        scripted(Version::V10, 3, |_, request| request.flow_mod(request.xid()));
    let weighted = Load { weights: vec![1.0, 2.0], ..counted(address, Version::V10, 3, 100) };
    let report = load::run(&weighted).unwrap();
    controller.join().unwrap();
    // 300 by weights of 1, 2 and 1 are 75, 150 and 75.
    let fairness = report.fairness(&weighted);
    let thirds = fairness.sorted().iter().map(|deviation| deviation * 3.0);
    for (third, expected) in thirds.zip([-1.0, 1.0, 1.0]) {
        assert!((third - expected).abs() < 1e-9, "{fairness:?}");
    }
    assert_eq!(report.fairness(&Load { weights: vec![], ..weighted }).worst(), 0.0);
}

/// The load offers no more of what it could not while the controller stood still than one window,
/// so no switch has a right to it.
#[test]
fn what_could_not_wait_while_the_controller_stood_still_is_nobodys_due() {
    let begun = Arc::new(OnceLock::new());
    let stands_still = Duration::from_millis(300)..Duration::from_millis(700);
    let (address, controller) = scripted(Version::V10, 2, move |_, request| {
        let since = begun.get_or_init(Instant::now).elapsed();
        if stands_still.contains(&since) {
            std::thread::sleep(stands_still.end - since);
        }
        request.flow_mod(request.xid())
    });
    let load = Load {
        switches: 2,
        mode: Mode::Window(10),
        rate: DemandRate::Total(1800.0),
        spread: DemandSpread::Zipf(3.0),
        loops: 12,
        teach: false,
        ..timed(address, 100)
    };
    let report = load::run(&load).unwrap();
    controller.join().unwrap();
    let [due, answered] =
        [report.phases[0].demands().iter().sum::<f64>(), report.answered() as f64];
    assert!(due - answered > 400.0, "{due} due, {answered} answered");
    assert!(report.fairness(&load).worst().abs() < 0.15, "{:?}", report.fairness(&load));
}

#[test]
fn a_storm_is_full_while_the_others_keep_their_rate() {
    let null = null();
    let stormy = Load {
        switches: 3,
        rate: DemandRate::PerSwitch(200.0),
        storms: 1,
        ..timed(null.address(), 200)
    };
    let report = load::run(&stormy).unwrap();
    let (normal, storm) = report.per_switch.split_at(3);
    assert!(normal.iter().all(|&answered| (1..=41).contains(&answered)), "{normal:?}");
    assert!(storm[0] > 10 * normal[0], "{:?}", report.per_switch);
    assert!(report.phases[0].demands()[3].is_infinite());
}

#[test]
fn every_probe_is_timed_though_earlier_ones_wait() {
    // Two of three answers wait for the third.
    let (address, controller) = scripted(Version::V10, 2, {
        let held = std::sync::Mutex::new(Vec::new());
        let held = std::sync::Arc::new(held);
        move |index, request| {
            if u32::from_be_bytes(request.frame()[6..10].try_into().unwrap()) >> 8 & 0xff == 1 {
                return request.flow_mod(request.xid());
            }
            let mut held = held.lock().unwrap();
            held.extend(request.flow_mod(request.xid()));
            if index % 3 == 2 { std::mem::take(&mut *held) } else { Vec::new() }
        }
    });
    let probing = Load {
        mode: Mode::Latency,
        rate: DemandRate::PerSwitch(10.0),
        probes: 1,
        probe_rate: 100.0,
        teach: false,
        ..timed(address, 400)
    };
    let report = load::run(&probing).unwrap();
    let seen = controller.join().unwrap();
    let probes = &report.probes;
    assert!((3..=41).contains(&probes.counts.offered), "{:?}", probes.counts);
    assert!(seen.iter().any(|requests| requests.len() as u64 == probes.counts.offered));
    assert_eq!(probes.counts.answered, probes.counts.offered / 3 * 3);
    assert_eq!(probes.delay.len(), probes.counts.answered);
    assert_eq!(report.per_switch.len(), 1, "probes are no throughput");
}

#[test]
fn the_ports_of_a_hot_switch_are_counted_as_the_controller_saw_them() {
    // Of port 1 every other request is dropped.
    let dropped =
        |index: usize, request: &SeenRequest| request.in_port() == 1 && index.is_multiple_of(2);
    let (address, controller) = scripted(Version::V13, 1, move |index, request| {
        if dropped(index, request) { Vec::new() } else { request.flow_mod(request.xid()) }
    });
    let hot = Load {
        macs: 80,
        ports: 8,
        hot_port: 10,
        patience: Duration::from_millis(60),
        mode: Mode::Window(100),
        ..counted(address, Version::V13, 1, 170)
    };
    let report = load::run(&hot).unwrap();
    let seen = controller.join().unwrap().remove(0);
    for (port, counts) in (1..).zip(&report.ports) {
        let of_port = seen.iter().enumerate().filter(|(_, request)| request.in_port() == port);
        let (lost, served): (Vec<_>, Vec<_>) =
            of_port.partition(|(index, request)| dropped(*index, request));
        assert_eq!(counts.offered as usize, lost.len() + served.len());
        assert_eq!(counts.answered as usize, served.len(), "port {port}");
        assert_eq!(counts.offered, if port == 1 { 100 } else { 10 });
    }
    assert_eq!(report.ports.len(), 8);
}

#[test]
fn requests_come_from_as_many_ports_as_there_may_be() {
    let (address, controller) =
        scripted(Version::V13, 1, |_, request| request.flow_mod(request.xid()));
    let wide = Load { macs: 5000, ports: 4095, ..counted(address, Version::V13, 1, 5000) };
    assert_eq!(load::run(&wide).unwrap().counts.answered, 5000);
    let seen = controller.join().unwrap().remove(0);
    let ports: std::collections::BTreeSet<u32> = seen.iter().map(SeenRequest::in_port).collect();
    assert!(ports.into_iter().eq(1..=4095));
}

/// Shakes hands; the number of the switch.
fn meet(socket: TcpStream) -> (Peer, u8) {
    let mut peer = Peer::over(socket, PATIENCE).unwrap();
    let version = Version::V10;
    peer.send(&[hello(version), bare(version, FEATURES_REQUEST, 2)].concat()).unwrap();
    let reply = peer.expect(FEATURES_REPLY).unwrap();
    (peer, reply[15])
}

/// Sends to one that does not read until nothing more fits, and hangs up.
fn give_up_on(mut peer: Peer) {
    peer.expect(kind::PACKET_IN).unwrap();
    let socket = peer.socket().try_clone().unwrap();
    socket.set_nonblocking(true).unwrap();
    let echo = bare(Version::V10, 3, 9).repeat(1000);
    let mut sent = 0;
    while let Ok(written) = (&socket).write(&echo) {
        sent += written;
        assert!(sent < 64 << 20, "it reads");
    }
}

/// Answers every request until the switch closes; behind the first it waits for word of the other's
/// end.
fn serve(mut peer: Peer, other_ended: &mpsc::Receiver<()>) {
    loop {
        match peer.expect(kind::PACKET_IN) {
            Ok(bytes) => {
                let request = SeenRequest { version: Version::V10, bytes };
                let _ = other_ended.recv_timeout(PATIENCE);
                peer.send(&request.flow_mod(request.xid())).unwrap();
            }
            Err(Unexpected::Closed | Unexpected::Io(_)) => return,
            Err(unexpected) => panic!("{unexpected}"),
        }
    }
}

#[test]
fn that_a_dead_reader_is_disconnected_is_reported_and_no_error() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (ended, other_ended) = mpsc::channel();
    let controller = std::thread::spawn(move || {
        let mut peers: Vec<_> = (0..2).map(|_| meet(listener.accept().unwrap().0)).collect();
        peers.sort_by_key(|&(_, number)| number);
        let [(normal, 1), (dead, 2)] = <[_; 2]>::try_from(peers).ok().unwrap() else { panic!() };
        let dying = std::thread::spawn(move || {
            give_up_on(dead);
            ended.send(()).unwrap();
        });
        serve(normal, &other_ended);
        dying.join().unwrap();
    });
    let deadly = Load { dead: 1, ..counted(address, Version::V10, 1, 1) };
    let report = load::run(&deadly).unwrap();
    controller.join().unwrap();
    assert_eq!((report.counts.offered, report.counts.answered), (1, 1));
    assert_eq!(report.dead.evicted_after.len(), 1);
    assert!(report.dead.evicted_after[0] <= report.elapsed + PATIENCE);
    assert!(report.dead.counts.offered > 0);
    assert_eq!(report.dead.counts.answered, 0);
}

#[test]
fn a_slow_reader_keeps_to_its_rate_and_is_counted_apart() {
    const BYTES_PER_S: u64 = 50_000;
    let null = null();
    let slow = Load {
        mode: Mode::Latency,
        slow: 2,
        slow_rate: BYTES_PER_S,
        dead: 1,
        ..timed(null.address(), 300)
    };
    let report = load::run(&slow).unwrap();
    assert_eq!((report.per_switch.len(), report.slow.evicted_after.len()), (1, 0));
    let read = report.slow.counts.answered * 72;
    // Two readers for 300 ms, twice that on a machine that is late; it would be megabytes without a
    // limit.
    let most = 2.0 * BYTES_PER_S as f64 * (2.0 * report.elapsed.as_secs_f64() + 0.1);
    assert!(read > 0 && (read as f64) < most, "{read} of {most}");
    assert!(report.slow.counts.offered > report.slow.counts.answered);
    assert_eq!((report.dead.counts.answered, report.dead.evicted_after.len()), (0, 0));
}
