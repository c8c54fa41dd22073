//! Several networks that are one measurement.

use super::*;

/// Beside a network of linear,2 one of linear,3 that takes longer to settle.
fn two(controller: &TurnController, script: &str) -> [NetworkPlan; 2] {
    let first = controller.plan("linear,2", script);
    let settle = SHORT;
    let second = NetworkPlan {
        first_dpid: first.first_dpid + first.span(),
        settle,
        ..controller.plan("linear,3", script)
    };
    [first, second]
}

#[test]
fn networks_begin_together_and_are_one_measurement() {
    let (controller, _) = TurnController::start(&[]);
    let offer = Some(HostLoad::new(200.0, SHORT));
    let plans =
        two(&controller, "0s pingall").map(|plan| NetworkPlan { load: offer.clone(), ..plan });
    let ready = Mutex::new(Vec::new());
    let tell = |index: usize, moment: NetworkMoment<'_>| {
        if let NetworkMoment::Ready(after) = moment {
            ready.lock().unwrap().push((index, after));
        }
    };
    let reports = network::run_together(&plans, &AtomicBool::new(false), &tell).unwrap();
    let mut ready = ready.into_inner().unwrap();
    ready.sort();
    assert!(ready.iter().map(|(index, _)| *index).eq([0, 1]));
    assert!(ready.iter().all(|(_, after)| *after >= SHORT), "one did not wait: {ready:?}");
    assert_eq!(controller.dpids().iter().sum::<u64>(), 15, "s1 to s5, each once");

    let [first, second] = &reports[..] else { panic!("{reports:?}") };
    assert_eq!([first, second].map(|report| pinged(report).received()), [2, 6]);
    let joined = NetworkReport::joined(&reports);
    let sum = |of: fn(&NetworkReport) -> u64| assert_eq!(of(&joined), of(first) + of(second));
    sum(|report| report.frames.delivered);
    sum(|report| report.messages.packet_outs + report.messages.flow_mods);
    sum(|report| report.crossings as u64);
    for count in [
        |it: &NetworkReport| offered(it).phases[0].sent,
        |it: &NetworkReport| offered(it).phases[0].arrived,
        |it: &NetworkReport| offered(it).phases[0].delay.len(),
    ] {
        sum(count);
        assert!(count(first) > 0 && count(second) > 0);
    }
    assert_eq!(offered(&joined).phases[0].rate, 400.0);
    assert_eq!(joined.connected_after, first.connected_after.max(second.connected_after));
    assert_eq!((joined.partial, joined.stopped, joined.findings.len()), (None, false, 0));
}

#[test]
fn a_network_that_cannot_go_on_ends_those_beside_it() {
    let (controller, _) = TurnController::start(&[]);
    let [first, second] = two(&controller, "");
    let nowhere = "127.0.0.1:1".parse().unwrap();
    let second = NetworkPlan { controller: nowhere, connect_within: SHORT, ..second };
    let ended = network::run_together(&[first, second], &AtomicBool::new(false), &|_, _| {});
    assert!(
        matches!(ended, Err((Some(1), NetworkFailure::NotConnected { up: 0, of: 3, .. }))),
        "{ended:?}"
    );
}

#[test]
fn networks_with_something_in_common_are_refused() {
    let (controller, _) = TurnController::start(&[]);
    let [first, second] = two(&controller, "0s pingall");
    let refused = |plans: &[NetworkPlan]| match network::run_together(
        plans,
        &AtomicBool::new(false),
        &|_, _| {},
    ) {
        Err((None, NetworkFailure::Plan(sentence))) => sentence,
        other => panic!("{other:?}"),
    };
    let sentence = refused(&[NetworkPlan { first_dpid: 2, ..second.clone() }, first.clone()]);
    assert!(sentence.contains("the datapath id 2 has some or addresses in common"), "{sentence}");
    assert!(sentence.ends_with("begins with 1: 3 at the least"), "{sentence}");
    // 600 hosts at one switch have the addresses of three.
    let crowd = controller.plan("single,600", "");
    assert_eq!((first.span(), crowd.span()), (2, 3));
    assert!(refused(&[crowd, NetworkPlan { first_dpid: 3, ..second }]).ends_with("4 at the least"));
}

#[test]
fn what_only_some_networks_say_is_said_with_whose_it_is() {
    let joined = |said: [Option<&str>; 3]| {
        let report = |said: Option<&str>| NetworkReport {
            partial: said.map(Into::into),
            ..NetworkReport::default()
        };
        NetworkReport::joined(&said.map(report)).partial
    };
    assert_eq!(joined([None; 3]), None);
    assert_eq!(joined([Some("told to stop"); 3]).as_deref(), Some("told to stop"));
    assert_eq!(joined([None, Some("a"), Some("b")]).as_deref(), Some("network 2: a; network 3: b"));
}

#[test]
#[should_panic = "nobody hears this"]
fn a_network_that_panics_ends_those_beside_it() {
    let (controller, _) = TurnController::start(&[]);
    let plans = two(&controller, "").map(|plan| NetworkPlan { length: None, ..plan });
    let _ = network::run_together(&plans, &AtomicBool::new(false), &|index, moment| {
        assert!(index == 0 || !matches!(moment, NetworkMoment::Ready(_)), "nobody hears this");
    });
}

#[test]
fn the_busiest_thread_and_every_loss_are_in_the_joined_report() {
    let report = |idle, lost: u64| NetworkReport {
        idle,
        lost: (lost, 10 * lost),
        storm: (lost + 1, lost + 2),
        spoilt: lost + 3,
        crossed_after: Some(Duration::from_secs(lost)),
        ..NetworkReport::default()
    };
    let joined =
        NetworkReport::joined(&[report(Some(0.5), 1), report(None, 2), report(Some(0.04), 4)]);
    assert_eq!((joined.idle, joined.is_generator_limited()), (Some(0.04), true));
    assert_eq!((joined.lost, joined.storm, joined.spoilt), ((7, 70), (10, 13), 16));
    assert_eq!(joined.crossed_after, Some(Duration::from_secs(4)));
    let unready = NetworkReport { crossed_after: None, ..report(None, 1) };
    assert_eq!(NetworkReport::joined(&[report(None, 1), unready]).crossed_after, None);
}
