//! The network applications together, on emulated networks with loops: the first ping arrives, a
//! broadcast is seen once, and where a link is cut traffic comes back.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use aldis::apps::hosts::{self, HostTracker};
use aldis::apps::learning_switch::Seed;
use aldis::apps::route_flow::{PathLog, RouteFlow, Style};
use aldis::apps::routing::{Routing, Shortest};
use aldis::apps::spanning::{Repeats, Spanning};
use aldis::apps::topology::{self, TagKey, Topology};
use aldis::control::Tables;
use aldis::{Controller, Running};
use aldis_emulator::network::{
    self, Broadcast, CheckFinding, NetworkPlan, NetworkReport, Pinged, Recovery,
};
use aldis_emulator::topology::Shape;
use aldis_wire::Version;

/// Longer than anything here takes on a machine that is busy with other things.
const PATIENCE: Duration = Duration::from_secs(30);

fn start() -> Running {
    let book = Arc::new(PathLog::new(10_000));
    let repeats = Arc::new(Repeats::default());
    let key = TagKey::new([5; 32]);
    let style = Style::of_route_flow(60, Tables::One);
    let controller = Controller::new()
        .listen(SocketAddr::from(([127, 0, 0, 1], 0)))
        .configure(|config| config.workers = 2)
        .with(move || Topology::new(topology::TopologyConfig::default(), key.clone()))
        .with(|| HostTracker::new(hosts::HostsConfig::new(Seed::new([7; 16]))))
        .with(|| Routing::new(Arc::new(Shortest::default()), false))
        .with(move || RouteFlow::new(style, Arc::clone(&book)))
        .with(move || Spanning::new(Arc::clone(&repeats)));
    controller.start().unwrap()
}

/// What comes of a script in a network that is not waited for unless `await_links` says so.
fn plays(shape: &str, version: Version, await_links: bool, script: &str) -> NetworkReport {
    let running = start();
    let topology = shape.parse::<Shape>().unwrap().lay_out(None, 1).unwrap();
    let plan = NetworkPlan {
        script: network::script::parse(script).unwrap(),
        patience: PATIENCE,
        connect_within: PATIENCE,
        await_links,
        ..NetworkPlan::new(running.listening()[0], version, topology)
    };
    let report = network::run(&plan, &AtomicBool::new(false), &mut |_| {}).unwrap();
    running.stop();
    assert_eq!(report.spoilt, 0);
    report
}

fn pings(report: &NetworkReport) -> impl Iterator<Item = &Pinged> {
    report.findings.iter().filter_map(|finding| match finding {
        CheckFinding::Pinged(pinged) => Some(pinged),
        _ => None,
    })
}

fn broadcasts(report: &NetworkReport) -> Vec<&Broadcast> {
    let findings = report.findings.iter();
    let spreads = findings.filter_map(|finding| match finding {
        CheckFinding::Broadcast(spread) => Some(spread),
        _ => None,
    });
    spreads.collect()
}

fn recoveries(report: &NetworkReport) -> Vec<&Recovery> {
    let findings = report.findings.iter();
    let recoveries = findings.filter_map(|finding| match finding {
        CheckFinding::Recovery(recovery) => Some(recovery),
        _ => None,
    });
    recoveries.collect()
}

/// Every ping of so many was answered, and each of so many broadcasts was seen by each other host
/// once.
fn all_arrived(report: &NetworkReport, pairs: usize, broadcasts: usize) {
    let all: Vec<_> = pings(report).flat_map(|pinged| &pinged.pairs).collect();
    let lost: Vec<_> = all.iter().filter(|(_, _, took)| took.is_none()).collect();
    assert!(lost.is_empty() && all.len() == pairs, "{} of {pairs}, lost {lost:?}", all.len());
    let spreads = self::broadcasts(report);
    assert_eq!(spreads.len(), broadcasts);
    for Broadcast { from, copies, .. } in spreads {
        let expected: Vec<u32> =
            (1..=copies.len() as u32).map(|host| u32::from(host != *from)).collect();
        assert_eq!(copies, &expected, "of h{from}");
    }
}

fn everywhere(test: impl Fn(&str, u32, Version)) {
    for (shape, hosts) in [("ring,5", 5), ("torus,3,3", 9), ("fat-tree,4", 16)] {
        Version::ALL.into_iter().for_each(|version| test(shape, hosts, version));
    }
}

#[test]
fn the_first_ping_arrives_before_any_link_is_known() {
    everywhere(|shape, hosts, version| {
        // A switch of 1.3 that was told nothing yet passes nothing on: hosts ask again, and a
        // broadcast would be lost. On a machine that is busy with other things links take seconds
        // to be found.
        let script = "0s pingall\n4s pingall\n6s broadcast h1\n6s broadcast h2";
        let report = plays(shape, version, false, script);
        all_arrived(&report, 2 * (hosts * (hosts - 1)) as usize, 2);
    });
}

#[test]
fn everybody_reaches_everybody_once_the_links_are_known() {
    everywhere(|shape, hosts, version| {
        let script = "0s pingall\n1500ms broadcast h3\n1500ms pingall";
        let report = plays(shape, version, true, script);
        all_arrived(&report, 2 * (hosts * (hosts - 1)) as usize, 1);
    });
}

#[test]
fn traffic_comes_back_where_a_link_is_cut_and_where_it_is_whole_again() {
    for version in Version::ALL {
        let script = "0s pingall\n500ms watch h1 h2\n700ms link-down s1 s2\n2s broadcast h1\n\
                      2500ms link-up s1 s2\n4s broadcast h2\n4s pingall";
        let report = plays("ring,5", version, true, script);
        all_arrived(&report, 40, 2);
        let recoveries = recoveries(&report);
        assert_eq!(recoveries.len(), 2);
        for recovery in recoveries {
            assert!(recovery.after.is_some(), "{recovery:?}");
        }
    }
}

#[test]
fn a_switch_that_loses_its_power_is_gone_around_and_comes_back() {
    for version in Version::ALL {
        let script = "0s pingall\n500ms watch h1 h3\n700ms switch-gone s2\n2500ms switch-back s2\n\
                      5s pingall";
        let report = plays("ring,5", version, true, script);
        let last = pings(&report).last().unwrap();
        assert!(last.pairs.iter().all(|(_, _, took)| took.is_some()), "{last:?}");
        let around = recoveries(&report).into_iter().find(|recovery| recovery.after.is_some());
        assert!(around.is_some(), "{:?}", report.findings);
    }
}
