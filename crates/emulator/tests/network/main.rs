//! Emulated networks under a controller that makes hubs of them, and under controllers that
//! misbehave.

mod driven;
mod together;

use aldis_emulator::network::{
    self, Broadcast, CheckFinding, HostLoad, HostLoadFate, NetworkFailure, NetworkMoment,
    NetworkPlan, NetworkReport, Pinged, SessionEnd,
};
use aldis_emulator::peer::{Peer, Unexpected, bare, hello};
use aldis_emulator::topology::Shape;
use aldis_wire::Version;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Longer than anything here takes on a machine that is busy with other things.
const PATIENCE: Duration = Duration::from_secs(30);
/// For what never comes.
const SHORT: Duration = Duration::from_millis(400);

const FEATURES_REQUEST: u8 = 5;
const FEATURES_REPLY: u8 = 6;
const ECHO_REQUEST: u8 = 2;
const ECHO_REPLY: u8 = 3;

/// How the controller treats a connection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Manner {
    /// One flow: everything goes out everywhere.
    Flood,
    /// No flow.
    Watch,
    /// After the handshake it waits until it is told to go on, then sends echoes for ever and
    /// counts what comes back.
    Echo,
    /// Bytes that are no message.
    Garbage,
    /// It closes before the handshake is over.
    Close,
    /// It closes once the handshake is over.
    CloseLate,
    /// After the handshake it sends as much as the switch reads, and says when that was no more.
    Shout,
}

/// A controller that treats its connections in turn as it is told, and all further ones as hubs.
struct TurnController {
    address: SocketAddr,
    over: Arc<AtomicBool>,
    seen: Arc<ControllerSeen>,
}

/// What it has seen.
#[derive(Default)]
struct ControllerSeen {
    /// The datapath ids of the handshakes that are over, in their order.
    dpids: Mutex<Vec<u64>>,
    /// Those of the connections behind a handshake that ended, and whether by a reset.
    ends: Mutex<Vec<(u64, bool)>>,
    /// Whether echoes may begin.
    echoes: AtomicBool,
    /// Bytes of echoes that came back.
    echoed: AtomicU64,
}

impl TurnController {
    fn start(manners: &'static [Manner]) -> (TurnController, Receiver<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (over, seen) = (Arc::<AtomicBool>::default(), Arc::<ControllerSeen>::default());
        let (stuck, is_stuck) = channel();
        let controller =
            TurnController { address, over: Arc::clone(&over), seen: Arc::clone(&seen) };
        std::thread::spawn(move || {
            let manners = manners.iter().copied().chain(std::iter::repeat(Manner::Flood));
            for (socket, manner) in listener.incoming().zip(manners) {
                if over.load(Ordering::Relaxed) {
                    return;
                }
                let (socket, seen, stuck) = (socket.unwrap(), Arc::clone(&seen), stuck.clone());
                std::thread::spawn(move || treat(socket, manner, &seen, &stuck));
            }
        });
        (controller, is_stuck)
    }

    fn plan(&self, shape: &str, script: &str) -> NetworkPlan {
        let topology = shape.parse::<Shape>().unwrap().lay_out(None, 1).unwrap();
        NetworkPlan {
            script: network::script::parse(script).unwrap(),
            patience: PATIENCE,
            connect_within: PATIENCE,
            ..NetworkPlan::new(self.address, Version::V10, topology)
        }
    }
}

impl TurnController {
    /// Waits for so many handshakes; the datapath ids of all.
    fn await_handshakes(&self, handshakes: usize) -> Vec<u64> {
        let enough = || self.dpids().len() >= handshakes;
        await_that(&format!("{handshakes} handshakes"), enough);
        self.dpids()
    }

    fn dpids(&self) -> Vec<u64> {
        self.seen.dpids.lock().unwrap().clone()
    }
}

fn await_that(what: &str, is: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is() {
        assert!(Instant::now() < deadline, "there were no {what}");
        std::thread::yield_now();
    }
}

impl Drop for TurnController {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.address);
    }
}

/// Everything that any switch says from here on is passed over, until the connection ends.
fn treat(socket: TcpStream, manner: Manner, seen: &ControllerSeen, stuck: &Sender<()>) {
    let Ok(mut peer) = Peer::over(socket, PATIENCE) else { return };
    let _ = peer.send(&hello(Version::V10));
    match manner {
        Manner::Garbage => drop(peer.send(&[0x16; 100])),
        Manner::Close => return,
        _ => {}
    }
    let _ = peer.send(&bare(Version::V10, FEATURES_REQUEST, 1));
    let Ok(features) = peer.expect(FEATURES_REPLY) else { return };
    let dpid = u64::from_be_bytes(features[8..16].try_into().unwrap());
    if manner == Manner::CloseLate {
        return;
    }
    if manner != Manner::Watch {
        let _ = peer.send(&flood());
    }
    seen.dpids.lock().unwrap().push(dpid);
    match manner {
        Manner::Shout => return shout(&mut peer, stuck),
        Manner::Echo => return echo(peer.socket(), seen),
        _ => {}
    }
    let end = loop {
        match peer.receive() {
            Ok(_) | Err(Unexpected::Silence { .. }) => {}
            Err(end) => break end,
        }
    };
    let is_reset =
        matches!(end, Unexpected::Io(error) if error.kind() == ErrorKind::ConnectionReset);
    seen.ends.lock().unwrap().push((dpid, is_reset));
}

/// Bytes of an echo.
const ECHO_LEN: u64 = 1000;

/// Sends echoes as fast as the switch reads them, and counts what comes back.
fn echo(mut socket: &TcpStream, seen: &ControllerSeen) {
    await_that("order to go on", || seen.echoes.load(Ordering::Relaxed));
    socket.set_read_timeout(None).unwrap();
    let mut message = [0; ECHO_LEN as usize];
    message[..8].copy_from_slice(&[1, ECHO_REQUEST, 0x03, 0xe8, 0, 0, 0, 1]);
    let mut writer = socket;
    std::thread::scope(|scope| {
        scope.spawn(move || while writer.write_all(&message).is_ok() {});
        let mut bytes = [0; 4096];
        while let Ok(read @ 1..) = socket.read(&mut bytes) {
            seen.echoed.fetch_add(read as u64, Ordering::Relaxed);
        }
    });
}

/// Sends a message that needs no answer again and again until the switch reads no more.
fn shout(peer: &mut Peer, stuck: &Sender<()>) {
    peer.socket().set_write_timeout(Some(Duration::from_millis(500))).unwrap();
    let mut message = [0; 0xea60];
    message[..8].copy_from_slice(&[1, ECHO_REPLY, 0xea, 0x60, 0, 0, 0, 1]);
    while peer.send(&message).is_ok() {}
    let _ = stuck.send(());
    let _ = peer.expect_close();
}

/// A FLOW_MOD of OpenFlow 1.0 that matches everything and floods it.
fn flood() -> Vec<u8> {
    let mut bytes = vec![0; 80];
    bytes[..8].copy_from_slice(&[1, 14, 0, 80, 0, 0, 0, 2]);
    bytes[8..12].copy_from_slice(&0x003f_ffff_u32.to_be_bytes());
    bytes[62..64].copy_from_slice(&[0, 1]);
    bytes[64..70].fill(0xff);
    bytes[72..80].copy_from_slice(&[0, 0, 0, 8, 0xff, 0xfb, 0, 0]);
    bytes
}

fn run(plan: &NetworkPlan) -> NetworkReport {
    network::run(plan, &AtomicBool::new(false), &mut |_| {}).unwrap()
}

fn pinged(report: &NetworkReport) -> &Pinged {
    let pings = report.findings.iter().find_map(|finding| match finding {
        CheckFinding::Pinged(pinged) => Some(pinged),
        _ => None,
    });
    pings.expect("it pinged")
}

fn is_answered(report: &NetworkReport) -> bool {
    pinged(report).received() == pinged(report).pairs.len()
}

fn broadcast(report: &NetworkReport) -> &Broadcast {
    let spread = report.findings.iter().find_map(|finding| match finding {
        CheckFinding::Broadcast(spread) => Some(spread),
        _ => None,
    });
    spread.expect("it broadcast")
}

#[test]
fn everyone_reaches_everyone_through_hubs_without_loops() {
    let (controller, _) = TurnController::start(&[]);
    for (shape, pairs) in [("single,4", 12), ("linear,3,2", 30), ("tree,2,3", 72)] {
        // Pings first: once they are answered, every switch has its flow.
        for script in ["0s pingall", "0s pingall6"] {
            let report = run(&controller.plan(shape, script));
            assert_eq!((pinged(&report).received(), pinged(&report).pairs.len()), (pairs, pairs));
            assert_eq!((report.frames.dropped_full, report.spoilt, report.lost), (0, 0, (0, 0)));
            assert!(report.messages.errors.is_empty(), "{:?}", report.messages.errors);
        }
    }
}

/// How often something is tried for which every switch must have its flow: it is not known when
/// they do.
const TRIES: usize = 20;

#[test]
fn a_broadcast_is_seen_once_in_a_tree() {
    let (controller, _) = TurnController::start(&[]);
    let plan = NetworkPlan {
        patience: Duration::from_secs(2),
        ..controller.plan("linear,3", "100ms broadcast h1")
    };
    let all_saw_it = (0..TRIES).any(|_| {
        let report = run(&plan);
        let spread = broadcast(&report);
        assert!(spread.copies_max() <= 1 && spread.copies[0] == 0);
        spread.exactly_once() == (2, 2)
    });
    assert!(all_saw_it);
}

#[test]
fn a_broadcast_goes_round_in_a_loop_and_is_dropped_where_links_are_full() {
    let (controller, _) = TurnController::start(&[]);
    let plan =
        NetworkPlan { patience: SHORT, ..controller.plan("torus,3,3", "100ms broadcast h1") };
    let went_round = (0..TRIES).any(|_| {
        let report = run(&plan);
        let spread = broadcast(&report);
        spread.copies_max() > 1 && spread.copies[0] > 0 && report.frames.dropped_full > 0
    });
    assert!(went_round);
}

/// Few enough packets that no link is full after a pause of this process, which makes up for a
/// tenth of a second.
fn load(controller: &TurnController, script: &str) -> NetworkPlan {
    let offer = HostLoad::new(300.0, Duration::from_millis(400));
    NetworkPlan { load: Some(offer), ..controller.plan("linear,3,2", script) }
}

fn offered(report: &NetworkReport) -> &HostLoadFate {
    report.offered.as_ref().expect("it offered")
}

#[test]
fn offered_packets_arrive_once_each_over_either_version() {
    let (controller, _) = TurnController::start(&[]);
    for v6 in [false, true] {
        let mut plan = load(&controller, "");
        plan.load.as_mut().unwrap().v6 = v6;
        let report = run(&plan);
        let offered = offered(&report);
        let [phase] = &offered.phases[..] else { panic!("{offered:?}") };
        assert_eq!((offered.found, offered.pairs), (24, 24));
        assert_eq!((phase.due, phase.unaddressed), (phase.sent + phase.missed, 0));
        assert_eq!((phase.arrived, phase.again), (phase.sent, 0));
        assert!((119..=121).contains(&phase.due) && phase.delay.max() > 0, "{phase:?}");
        assert_eq!(offered.switches.iter().map(|switch| switch.arrived).sum::<u64>(), phase.sent);
        assert!(report.findings.is_empty(), "nobody asked for the pings before");
    }
}

#[test]
fn offered_packets_that_a_broken_link_swallows_are_missing() {
    let (controller, _) = TurnController::start(&[]);
    let plan = NetworkPlan { patience: SHORT, ..load(&controller, "0s link-down s1 s2") };
    // Hosts have to find each other first, for which they have as long as is waited for the
    // packets.
    let swallowed = (0..TRIES).any(|_| {
        let report = run(&plan);
        let phase = &offered(&report).phases[0];
        assert!(phase.arrived <= phase.sent);
        offered(&report).found == 24 && 0 < phase.arrived && phase.arrived < phase.sent
    });
    assert!(swallowed);
}

#[test]
fn a_storm_blows_until_it_is_calmed() {
    let (controller, _) = TurnController::start(&[]);
    let plan = controller.plan("linear,2", "0s storm h1 1000\n100ms calm h1\n200ms ping h1 h2");
    let report = run(&plan);
    let (sent, copies) = report.storm;
    assert!(sent > 0 && sent <= 1000 && copies <= sent, "{sent} sent, {copies} seen");
}

#[test]
fn a_broken_link_is_broken_and_whole_again() {
    let (controller, _) = TurnController::start(&[]);
    let lost = NetworkPlan {
        patience: SHORT,
        ..controller.plan("linear,3", "0s link-down s2 s3\n0s ping h1 h3")
    };
    assert!(!is_answered(&run(&lost)));
    let host = NetworkPlan {
        patience: SHORT,
        ..controller.plan("linear,3", "0s link-down h3 s3\n0s ping h1 h3")
    };
    assert!(!is_answered(&run(&host)));
    let mended =
        "0s link-down s2 s3\n0s link-down s3 h3\n0s link-up s3 s2\n0s link-up h3 s3\n0s ping h1 h3";
    assert!(is_answered(&run(&controller.plan("linear,3", mended))));
}

#[test]
fn a_switch_without_power_forwards_nothing_and_comes_back_empty() {
    let (controller, _) = TurnController::start(&[]);
    let gone = NetworkPlan {
        patience: SHORT,
        ..controller.plan("linear,3", "0s switch-gone s2\n0s ping h1 h3")
    };
    let report = run(&gone);
    assert!(!is_answered(&report));
    let back = "0s switch-gone s2\n0s switch-back s2\n0s ping h1 h3";
    let before = controller.dpids().len();
    assert!(is_answered(&run(&controller.plan("linear,3", back))));
    let mut dpids = controller.dpids().split_off(before);
    dpids.sort_unstable();
    assert_eq!(dpids, [1, 2, 2, 3], "it connected again");
}

/// The third connection, which is opened instead of the one that was reset, brings no flow: a
/// switch with one has kept it.
#[test]
fn a_reset_connection_is_opened_again_and_the_flows_stay() {
    static MANNERS: [Manner; 3] = [Manner::Flood, Manner::Flood, Manner::Watch];
    let kept = (0..TRIES).any(|_| {
        let (controller, _) = TurnController::start(&MANNERS);
        let script = "0s ping h1 h2\n1s reset s2\n1500ms ping h1 h2";
        let plan = NetworkPlan { length: Some(3 * TRY / 2), ..controller.plan("linear,2", script) };
        let report = run(&NetworkPlan { patience: TRY, ..plan });
        let answers = report.findings.iter().map(|finding| match finding {
            CheckFinding::Pinged(pinged) => pinged.pairs[0].2,
            other => panic!("{other:?}"),
        });
        let [before, behind] = answers.collect::<Vec<_>>()[..] else { panic!("{report:?}") };
        if before.is_none_or(|after| after >= TRY / 2) {
            // The machine was too slow: there may have been no flow to keep.
            return false;
        }
        assert!(behind.is_some(), "{report:?}");
        assert_eq!((report.lost.0, controller.await_handshakes(3)[2]), (1, 2));
        assert_eq!(controller.seen.ends.lock().unwrap()[0], (2, true), "it was no reset");
        true
    });
    assert!(kept);
}

/// Twice as long as what is to be done in time may take, for a try that may be too slow.
const TRY: Duration = Duration::from_secs(2);

#[test]
fn how_long_hosts_are_apart_is_measured() {
    let (controller, _) = TurnController::start(&[]);
    let plan = NetworkPlan {
        patience: SHORT,
        ..controller.plan("linear,3", "0s watch h1 h3\n0s link-down s1 s2")
    };
    let recovery = |report: &NetworkReport| match &report.findings[..] {
        [CheckFinding::Recovery(recovery)] => recovery.clone(),
        other => panic!("{other:?}"),
    };
    let apart = recovery(&run(&plan));
    assert!(apart.after.is_none() && apart.lost > 0, "{apart:?}");
    let again = recovery(&run(&controller.plan("linear,3", "0s watch h1 h3\n0s link-up s1 s2")));
    assert!(again.after.is_some(), "{again:?}");
}

#[test]
fn a_host_moves_and_is_reached_where_it_is() {
    let (controller, _) = TurnController::start(&[]);
    let script = "0s host-move h1 s3\n0s link-down s1 s2\n0s ping h1 h3\n0s host-move h1 s3";
    let report = run(&controller.plan("linear,3", script));
    assert!(is_answered(&report));
    let noted =
        controller.plan("linear,3", "0s host-move h1 s3\n0s link-down h1 s1\n0s ping h1 h3");
    let mut note = None;
    network::run(&noted, &AtomicBool::new(false), &mut |moment| {
        if let NetworkMoment::Did(_, Some(said)) = moment {
            note = Some(said);
        }
    })
    .unwrap();
    assert_eq!(note.as_deref(), Some("h1 is not plugged in at s1 any more"));
}

#[test]
fn a_second_switch_with_the_same_datapath_id_connects() {
    let (controller, _) = TurnController::start(&[]);
    let plan = NetworkPlan {
        length: Some(PATIENCE),
        ..controller.plan("linear,2", "0s duplicate-dpid s2")
    };
    let stop = AtomicBool::new(false);
    let mut dpids = std::thread::scope(|scope| {
        let run = scope.spawn(|| network::run(&plan, &stop, &mut |_| {}).unwrap());
        let stop = StopOnDrop(&stop);
        let dpids = controller.await_handshakes(3);
        drop(stop);
        run.join().unwrap();
        dpids
    });
    dpids.sort_unstable();
    assert_eq!(dpids, [1, 2, 2]);
}

/// A run ends with this, however its test does.
struct StopOnDrop<'s>(&'s AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Has a switch read as this script says, from when its first line is done, until so many bytes of
/// echoes have come back; how long that took, and how many there were when its second line was
/// done.
fn read_as(script: &str, bytes: u64) -> (Duration, Option<u64>) {
    static MANNERS: [Manner; 1] = [Manner::Echo];
    let (controller, _) = TurnController::start(&MANNERS);
    let plan = NetworkPlan { length: Some(PATIENCE), ..controller.plan("single,2", script) };
    let stop = AtomicBool::new(false);
    let echoed = || controller.seen.echoed.load(Ordering::Relaxed);
    let (mut begun, mut then) = (None, None);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _stop = StopOnDrop(&stop);
            await_that("echoes as they should be", || echoed() >= bytes);
        });
        let mut tell = |moment: NetworkMoment<'_>| match moment {
            NetworkMoment::Did(..) if begun.is_some() => then = Some(echoed()),
            NetworkMoment::Did(..) => {
                begun = Some(Instant::now());
                controller.seen.echoes.store(true, Ordering::Relaxed);
            }
            _ => {}
        };
        network::run(&plan, &stop, &mut tell).unwrap();
    });
    (begun.expect("the script has a line").elapsed(), then)
}

#[test]
fn a_slow_reader_reads_at_its_rate() {
    // It is granted what the time since it was last looked at allows, which may have begun before
    // it was told.
    for (rate, echoes, least_ms) in [(40_000, 100, 2_000), (400_000, 400, 800)] {
        let (took, _) = read_as(&format!("0s slow-reader s1 {rate}"), echoes * ECHO_LEN);
        let possible = Duration::from_millis(least_ms)..Duration::from_secs(10);
        assert!(possible.contains(&took), "{echoes} kB at {rate} a second took {took:?}");
    }
}

#[test]
fn a_fast_reader_reads_as_ever_again() {
    let (_, then) = read_as("0s slow-reader s1 0\n500ms fast-reader s1", 5000 * ECHO_LEN);
    assert_eq!(then, Some(0), "it read nothing before");
}

#[test]
fn a_slow_reader_is_not_read_from() {
    let (controller, stuck) = TurnController::start(&[Manner::Shout]);
    let plan = NetworkPlan {
        length: Some(PATIENCE),
        ..controller.plan("single,2", "0s slow-reader s1 0")
    };
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let run = scope.spawn(|| network::run(&plan, &stop, &mut |_| {}).unwrap());
        let found = stuck.recv_timeout(PATIENCE);
        stop.store(true, Ordering::Relaxed);
        run.join().unwrap();
        found.expect("the controller can write for ever");
    });
}

#[test]
fn a_controller_that_misbehaves_is_met_again_and_again() {
    static MANNERS: [Manner; 3] = [Manner::Garbage, Manner::Close, Manner::CloseLate];
    let (controller, _) = TurnController::start(&MANNERS);
    let mut lost = Vec::new();
    let plan = controller.plan("linear,2", "0s ping h1 h2");
    let report = network::run(&plan, &AtomicBool::new(false), &mut |moment| {
        if let NetworkMoment::Lost(count, _, why) = moment {
            assert!(matches!(why, SessionEnd::Closed | SessionEnd::Broken(_)), "{why}");
            lost.push(count);
        }
    })
    .unwrap();
    assert!(is_answered(&report));
    assert!(report.lost.1 >= 2, "garbage and a close before the handshake: {:?}", report.lost);
    assert_eq!(lost.iter().map(|&count| u64::from(count)).sum::<u64>(), report.lost.0);
}

#[test]
fn where_nobody_listens_is_said() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let topology = "linear,3".parse::<Shape>().unwrap().lay_out(None, 1).unwrap();
    let plan =
        NetworkPlan { connect_within: SHORT, ..NetworkPlan::new(free, Version::V13, topology) };
    let failure = network::run(&plan, &AtomicBool::new(false), &mut |_| {}).unwrap_err();
    let sentence = failure.to_string();
    assert!(
        sentence.contains("0 of 3 switches") && sentence.contains("s1 has not: it cannot connect"),
        "{sentence}"
    );
}

#[test]
fn a_controller_that_answers_no_switch_that_probes_is_said() {
    let (controller, _) = TurnController::start(&[]);
    let plan =
        NetworkPlan { probes: 2, patience: SHORT, ..controller.plan("linear,2", "0s ping h1 h2") };
    let failure = network::run(&plan, &AtomicBool::new(false), &mut |_| {}).unwrap_err();
    let sentence = failure.to_string();
    assert!(sentence.contains("where the addresses of switch 3 live"), "{sentence}");
    assert_eq!(controller.dpids().len(), 4, "two switches, and two that probe");
}

#[test]
fn links_that_lldp_does_not_cross_are_said() {
    let (controller, _) = TurnController::start(&[]);
    let plan = NetworkPlan { await_links: true, ..controller.plan("linear,2", "0s ping h1 h2") };
    // Connecting has the time that it needs; what is waited for in vain has little.
    let plan = NetworkPlan { connect_within: Duration::from_secs(1), ..plan };
    match network::run(&plan, &AtomicBool::new(false), &mut |_| {}).unwrap_err() {
        NetworkFailure::NotCrossed { crossed: 0, crossings: 2, .. }
        | NetworkFailure::NotConnected { .. } => {}
        other => panic!("{other}"),
    }
}

#[test]
fn what_cannot_be_done_is_refused_before_anything_connects() {
    let topology = "linear,3".parse::<Shape>().unwrap().lay_out(None, 1).unwrap();
    let base = NetworkPlan::new("127.0.0.1:1".parse().unwrap(), Version::V10, topology);
    let refused =
        |plan: &NetworkPlan| match network::run(plan, &AtomicBool::new(false), &mut |_| {}) {
            Err(NetworkFailure::Plan(sentence)) => sentence,
            other => panic!("{other:?}"),
        };
    let script = network::script::parse("2s link-down s1 s3").unwrap();
    let sentence = refused(&NetworkPlan { script, ..base.clone() });
    assert_eq!(sentence, "link-down s1 s3, at 2 s: there is no link between s1 and s3");
    let topology = "single,2000".parse::<Shape>().unwrap().lay_out(None, 1).unwrap();
    let sentence = refused(&NetworkPlan { topology, ..base });
    assert_eq!(
        sentence,
        "switch s1 would have 2000 ports, and one that speaks OpenFlow 1.0 has at most 1364"
    );
}
