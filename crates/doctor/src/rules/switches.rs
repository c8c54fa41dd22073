//! What is wrong at a switch that connects: its name, its role, its flows, its load.

use std::collections::BTreeMap;

use super::{is_up, known as known_by_controller};
use crate::facts::{BridgeFacts, Facts, FlowFacts, SwitchFacts, TargetFacts};
use crate::finding::{Diagnosis, Finding, Severity};

/// Requests a second of one switch that are a storm, where none were shed yet.
const STORM_PER_S: f64 = 20_000.0;

/// Bytes that wait for a switch which is slow.
const WAITING_MAX: u64 = 256 * 1024;

/// Two switches have one name.
pub const DUPLICATE: Diagnosis = Diagnosis {
    id: "duplicate-dpid",
    severity: Severity::Fault,
    title: "two switches have the datapath id {about}: one of them is turned away",
    shown_by: "the bridges of this machine, or connections that the controller turned away",
    what_to_do: "Give one of the two another datapath id.",
    command: "ovs-vsctl set bridge BRIDGE other-config:datapath-id=00000000000000ff",
};

/// Another controller is the master.
pub const OTHER_CONTROLLER: Diagnosis = Diagnosis {
    id: "other-controller",
    severity: Severity::Fault,
    title: "switch {about} has another controller, too: each undoes what the other does",
    shown_by: "the controllers that Open vSwitch says are connected, those left out that stand by as \
               slaves, or errors that name the role",
    what_to_do: "Stop the other controller, or take it from the switch's list.",
    command: "ovs-vsctl set-controller {about} tcp:127.0.0.1:6653",
};

/// There is no table-miss rule.
pub const TABLE_MISS: Diagnosis = Diagnosis {
    id: "no-table-miss",
    severity: Severity::Fault,
    title: "switch {about} has no table-miss rule: packets without a flow are dropped, not asked about",
    shown_by: "the flows of table 0 of a switch that speaks OpenFlow 1.3",
    what_to_do: "Have the switch connect again: the controller adds the rule in its handshake. Then \
                 find what removed it; `ovs-ofctl del-flows` does.",
    command: "ovs-ofctl -O OpenFlow13 add-flow {bridge} priority=0,actions=CONTROLLER:65535",
};

/// A table is full.
pub const TABLE_FULL: Diagnosis = Diagnosis {
    id: "table-full",
    severity: Severity::Fault,
    title: "a flow table of switch {about} is full: packets without a flow go by the controller",
    shown_by: "errors of the switch, which the controller counts",
    what_to_do: "Let flows end sooner or match more (idle timeouts, wildcards), or remove those that \
                 are left over.",
    command: "aldis flows {about}",
};

/// A port floods.
pub const STORM: Diagnosis = Diagnosis {
    id: "storm",
    severity: Severity::Fault,
    title: "switch {about} floods the controller with requests: some are dropped on purpose",
    shown_by: "requests and dropped requests of each switch, counted for a second",
    what_to_do: "Find the port that floods, and the loop or the host behind it.",
    command: "aldis top",
};

/// A switch does not read.
pub const SLOW: Diagnosis = Diagnosis {
    id: "slow-switch",
    severity: Severity::Fault,
    title: "switch {about} does not keep up with what it is sent",
    shown_by: "bytes that wait for the switch, or a request that it did not answer",
    what_to_do: "Look at its processor and its link to the controller; give it fewer changes.",
    command: "aldis switches {about}",
};

/// Two bridges of one name here, or one that the controller turned away.
pub fn duplicates(facts: &Facts) -> Vec<Finding> {
    let mut of_dpid: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for bridge in facts.ovs.iter().flat_map(|ovs| &ovs.bridges) {
        if let Some(dpid) = bridge.dpid.as_deref().filter(|_| !bridge.controllers.is_empty()) {
            of_dpid.entry(dpid).or_default().push(&bridge.name);
        }
    }
    let twice: Vec<_> = of_dpid.iter().filter(|(_, bridges)| bridges.len() > 1).collect();
    let Some((dpid, bridges)) = twice.first() else {
        return known_by_controller(facts, &DUPLICATE).into_iter().collect();
    };
    let words = twice.iter().map(|(dpid, bridges)| {
        format!("bridges {} have the datapath id {dpid}", bridges.join(", "))
    });
    let mut found = DUPLICATE.found(&[("about", dpid)], words);
    found.command = found.command.replace("BRIDGE", bridges.last().unwrap_or(&"BRIDGE"));
    vec![found]
}

/// A switch has more than one controller that may change it.
pub fn roles(facts: &Facts) -> Vec<Finding> {
    let bridges = facts.ovs.iter().flat_map(|ovs| &ovs.bridges);
    let connected = |bridge: &BridgeFacts| -> Vec<TargetFacts> {
        bridge.controllers.iter().filter(|target| target.is_connected).cloned().collect()
    };
    let held: Vec<_> = bridges
        .map(|bridge| (bridge, connected(bridge)))
        .filter(|(_, targets)| are_rivals(targets))
        .collect();
    let Some((bridge, _)) = held.first() else {
        return known_by_controller(facts, &OTHER_CONTROLLER).into_iter().collect();
    };
    let words = held.iter().map(|(bridge, targets)| {
        let all = targets.iter().map(|target| match &*target.role {
            role @ ("master" | "slave") => format!("{} is a {role}", target.target),
            _ => format!("{} is an equal", target.target),
        });
        format!("bridge {}: {}", bridge.name, all.collect::<Vec<_>>().join(", "))
    });
    vec![OTHER_CONTROLLER.found(&[("about", &bridge.name)], words)]
}

/// Whether one of these may change what another does. Aldis is an equal; a slave, which stands by
/// until the others are gone, only reads.
fn are_rivals(connected: &[TargetFacts]) -> bool {
    let is = |role| connected.iter().filter(move |target| target.role == role).count();
    connected.len() > 1 && (is("master") > 0 || connected.len() - is("slave") > 1)
}

/// What becomes of a packet that no flow of the first table expects is a drop.
pub fn table_miss(facts: &Facts) -> Vec<Finding> {
    let without: Vec<_> = switches_without_miss(facts);
    let Some((dpid, bridge)) = without.first() else { return vec![] };
    let words = without.iter().map(|(dpid, bridge)| match bridge {
        Some(bridge) => format!("bridge {} ({dpid}) has no flow of priority 0", bridge.name),
        None => format!("switch {dpid} has no flow of priority 0 in table 0"),
    });
    let name = bridge.map_or("BRIDGE", |bridge| &bridge.name);
    vec![TABLE_MISS.found(&[("about", dpid), ("bridge", name)], words)]
}

/// Datapath ids, with bridges where they are here.
fn switches_without_miss(facts: &Facts) -> Vec<(&str, Option<&BridgeFacts>)> {
    let bridges = || facts.ovs.iter().flat_map(|ovs| &ovs.bridges);
    let bridge_of = |dpid: &str| bridges().find(|bridge| bridge.dpid.as_deref() == Some(dpid));
    if is_up(facts) {
        let switches = facts.controller.switches[1].iter();
        let of_13 = switches.filter(|switch| switch.version != "1.0");
        let asked =
            of_13.filter_map(|switch| Some((switch, facts.controller.flows.get(&switch.dpid)?)));
        let without = asked.filter(|(_, flows)| !flows.iter().any(is_for_every_packet));
        return without.map(|(switch, _)| (&*switch.dpid, bridge_of(&switch.dpid))).collect();
    }
    let connected = bridges().filter(|bridge| bridge.controllers.iter().any(|to| to.is_connected));
    let without = connected.filter(|bridge| {
        let flows = bridge.flows.as_deref();
        flows.is_some_and(|flows| !flows.iter().any(|line| line.contains("priority=0 ")))
    });
    without.map(|bridge| (bridge.dpid.as_deref().unwrap_or("DPID"), Some(bridge))).collect()
}

/// Whether no packet passes a flow by.
fn is_for_every_packet(flow: &FlowFacts) -> bool {
    flow.table == 0 && flow.matching.is_empty()
}

/// Pairs of a switch at the begin and at the end of the time that was watched.
fn watched(facts: &Facts) -> impl Iterator<Item = (&SwitchFacts, &SwitchFacts)> {
    let [before, after] = &facts.controller.switches;
    let before: BTreeMap<_, _> = before.iter().map(|switch| (&switch.dpid, switch)).collect();
    after.iter().filter_map(move |switch| Some((*before.get(&switch.dpid)?, switch)))
}

/// Switches that send more than can be answered.
pub fn storms(facts: &Facts) -> Vec<Finding> {
    let watched_s = facts.controller.watched_s.max(0.1);
    let rate = |before: u64, after: u64| after.saturating_sub(before) as f64 / watched_s;
    let mut all: Vec<_> = watched(facts)
        .map(|(before, after)| {
            let (before, now) = (&before.counters, &after.counters);
            (after, rate(before.requests, now.requests), rate(before.sheds, now.sheds))
        })
        .filter(|(_, requests, sheds)| *sheds > 0.0 || *requests > STORM_PER_S)
        .collect();
    all.sort_by(|a, b| (b.1 + b.2).total_cmp(&(a.1 + a.2)));
    let Some((worst, ..)) = all.first() else { return vec![] };
    let words = all.iter().map(|(switch, requests, sheds)| {
        format!(
            "switch {}: {requests:.0} requests a second handled, {sheds:.0} dropped",
            switch.dpid
        )
    });
    vec![STORM.found(&[("about", &worst.dpid)], words)]
}

/// Switches that do not read, or do not answer.
pub fn slow(facts: &Facts) -> Vec<Finding> {
    let waits = |switch: &SwitchFacts| switch.counters.bytes_waiting > WAITING_MAX;
    let stuck = watched(facts)
        .filter(|(before, after)| after.state == "not-reading" || waits(before) && waits(after))
        .map(|(_, after)| {
            let bytes = after.counters.bytes_waiting;
            (&*after.dpid, format!("switch {}: {bytes} bytes wait for it", after.dpid))
        });
    let silent = facts.controller.silent.iter();
    let silent = silent.map(|(dpid, why)| (&**dpid, format!("switch {dpid}: {why}")));
    let all: Vec<_> = stuck.chain(silent).collect();
    let Some((dpid, _)) = all.first() else { return vec![] };
    vec![SLOW.found(&[("about", dpid)], all.iter().map(|(_, words)| words.clone()))]
}

/// What switches refuse, by the controller's account.
pub fn known(facts: &Facts) -> Vec<Finding> {
    known_by_controller(facts, &TABLE_FULL).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::{Answer, OvsFacts};

    fn switch(dpid: &str, requests: u64, sheds: u64) -> SwitchFacts {
        let mut switch = SwitchFacts { dpid: dpid.into(), ..SwitchFacts::default() };
        (switch.version, switch.state) = ("1.3".into(), "up".into());
        (switch.counters.requests, switch.counters.sheds) = (requests, sheds);
        switch
    }

    fn up(before: SwitchFacts, after: SwitchFacts) -> Facts {
        let mut facts = Facts::default();
        facts.controller.answer = Answer::Yes;
        facts.controller.watched_s = 1.0;
        facts.controller.switches = [vec![before], vec![after]];
        facts
    }

    fn ids(facts: &Facts) -> Vec<&'static str> {
        crate::diagnose(facts).iter().map(|found| found.id).collect()
    }

    #[test]
    fn a_switch_of_1_3_has_a_flow_for_every_packet() {
        let mut facts = up(switch("01", 0, 0), switch("01", 0, 0));
        let miss = FlowFacts { actions: vec!["output:controller".into()], ..FlowFacts::default() };
        facts.controller.flows.insert("01".into(), vec![miss.clone()]);
        assert!(ids(&facts).is_empty());
        let fields = [("in_port".to_owned(), "1".to_owned())].into();
        let other = FlowFacts { matching: fields, ..miss };
        facts.controller.flows.insert("01".into(), vec![other]);
        assert_eq!(ids(&facts), ["no-table-miss"]);
        facts.controller.switches[1][0].version = "1.0".into();
        assert!(ids(&facts).is_empty(), "OpenFlow 1.0 asks about what it has no flow for");
        facts.controller.flows.clear();
        assert!(ids(&facts).is_empty(), "a switch that was not asked is not judged");
    }

    #[test]
    fn dropped_requests_are_a_storm_and_many_are_too() {
        assert_eq!(ids(&up(switch("01", 5, 5), switch("01", 9, 6))), ["storm"]);
        assert_eq!(ids(&up(switch("01", 0, 0), switch("01", 30_000, 0))), ["storm"]);
        assert!(ids(&up(switch("01", 0, 9), switch("01", 9_000, 9))).is_empty());
    }

    #[test]
    fn a_switch_that_does_not_read_or_answer_is_slow() {
        let mut after = switch("01", 0, 0);
        after.state = "not-reading".into();
        assert_eq!(ids(&up(switch("01", 0, 0), after)), ["slow-switch"]);
        let mut facts = up(switch("01", 0, 0), switch("01", 0, 0));
        facts.controller.silent.insert("01".into(), "no answer".into());
        assert_eq!(ids(&facts), ["slow-switch"]);
    }

    fn bridge(name: &str, targets: &[(&str, &str)]) -> BridgeFacts {
        let target = |(target, role): &(&str, &str)| TargetFacts {
            target: (*target).into(),
            role: (*role).into(),
            is_connected: true,
            ..TargetFacts::default()
        };
        BridgeFacts {
            name: name.into(),
            dpid: Some("01".into()),
            controllers: targets.iter().map(target).collect(),
            ..BridgeFacts::default()
        }
    }

    #[test]
    fn two_bridges_of_one_name_and_another_master_are_found() {
        let mut facts = up(switch("01", 0, 0), switch("01", 0, 0));
        let both = vec![bridge("s1", &[("tcp:1", "other")]), bridge("s2", &[("tcp:1", "other")])];
        facts.ovs = Some(OvsFacts { bridges: both, ..OvsFacts::default() });
        let found = crate::diagnose(&facts);
        assert_eq!(found[0].id, "duplicate-dpid");
        assert!(found[0].command.contains("set bridge s2 "), "{}", found[0].command);
        let held = vec![bridge("s1", &[("tcp:1", "slave"), ("tcp:2", "master")])];
        facts.ovs = Some(OvsFacts { bridges: held, ..OvsFacts::default() });
        assert_eq!(ids(&facts), ["other-controller"]);
        let is_found = |targets: &[(&str, &str)]| {
            let bridges = vec![bridge("s1", targets)];
            let mut facts = facts.clone();
            facts.ovs = Some(OvsFacts { bridges, ..OvsFacts::default() });
            ids(&facts) == ["other-controller"]
        };
        assert!(is_found(&[("tcp:1", "other"), ("tcp:2", "other")]));
        assert!(!is_found(&[("tcp:1", "other"), ("tcp:2", "slave"), ("tcp:3", "slave")]));
    }
}
