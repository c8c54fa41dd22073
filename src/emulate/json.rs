//! What an emulated network found out, as one JSON object; times are in seconds.

use aldis_emulator::load::Probes;
use aldis_emulator::network::{
    Broadcast, CheckFinding, NetworkPlan, NetworkReport, Pinged, Recovery,
};
use aldis_emulator::topology::Shape;
use serde_json::{Value, json};
use std::time::Duration;

/// Most pairs without an answer that are listed.
const LOST_MAX: usize = 1000;

/// The object, and the end of its line. That of several networks has each of them in `networks`,
/// and beside that what they were together.
pub(super) fn report(
    shape: &Shape,
    plans: &[NetworkPlan],
    reports: &[NetworkReport],
    joined: &NetworkReport,
) -> String {
    let mut whole = object(shape, plans, joined);
    if let [_, _, ..] = plans {
        let each = plans.iter().zip(reports);
        let each = each.map(|(plan, report)| object(shape, std::slice::from_ref(plan), report));
        whole["networks"] = each.collect();
    }
    format!("{whole:#}\n")
}

/// What networks were together, one or several.
fn object(shape: &Shape, plans: &[NetworkPlan], report: &NetworkReport) -> Value {
    let messages = &report.messages;
    let first = &plans[0];
    let sum = |of: fn(&NetworkPlan) -> usize| plans.iter().map(of).sum::<usize>();
    json!({
        "topology": shape.to_string(),
        "seed": first.seed,
        "first_dpid": first.first_dpid,
        "openflow": first.version.to_string(),
        "switches": sum(|plan| plan.topology.switches() as usize),
        "links": sum(|plan| plan.topology.links().len()),
        "hosts": sum(|plan| plan.topology.hosts().len()),
        "connected_after_s": report.connected_after.map(seconds),
        "lldp": {
            "directions": report.crossings,
            "crossed": report.crossed,
            "crossed_after_s": report.crossed_after.map(seconds),
        },
        "length_s": seconds(report.length),
        "stopped": report.stopped,
        "partial": report.partial,
        "frames": {
            "delivered": report.frames.delivered,
            "dropped_full": report.frames.dropped_full,
            "dropped_down": report.frames.dropped_down,
            "spoilt": report.spoilt,
            "storm_sent": report.storm.0,
            "storm_copies": report.storm.1,
        },
        "messages": {
            "packet_ins": messages.packet_ins,
            "packet_ins_dropped": messages.packet_ins_dropped,
            "packet_outs": messages.packet_outs,
            "flow_mods": messages.flow_mods,
            "errors": messages.errors,
            "complaints": messages.complaints,
        },
        "connections": { "lost": report.lost.0, "ended_before_handshake": report.lost.1 },
        "load": report.offered.as_ref().map(super::load::object),
        "generator": report.idle.map(|idle| json!({
            "idle": idle, "limited": report.is_generator_limited(),
        })),
        "probes": report.probes.as_ref().map(|(probes, why)| probed(plans, probes, why.as_deref())),
        "findings": report.findings.iter().map(finding).collect::<Vec<Value>>(),
    })
}

/// What the switches that probe saw, and why they ended before the run did, if they did.
fn probed(plans: &[NetworkPlan], probes: &Probes, ended: Option<&str>) -> Value {
    let Probes { counts, delay, processor_wait } = probes;
    let at = |ns: u64| (!delay.is_empty()).then_some(ns as f64 / 1e9);
    json!({
        "switches": plans.iter().map(|plan| plan.probes).sum::<u32>(),
        "rate": plans[0].probe_rate,
        "offered": counts.offered,
        "answered": counts.answered,
        "unanswered": counts.offered - counts.answered,
        "delay_s": {
            "p50": at(delay.value_at_quantile(0.5)),
            "p99": at(delay.value_at_quantile(0.99)),
            "max": at(delay.max()),
        },
        "processor_wait_s": seconds(*processor_wait),
        "ended_early": ended,
    })
}

fn finding(finding: &CheckFinding) -> Value {
    match finding {
        CheckFinding::Pinged(pinged) => pings(pinged),
        CheckFinding::Broadcast(spread) => broadcast(spread),
        CheckFinding::Recovery(Recovery { from, to, fault, after, lost }) => json!({
            "watch": [format!("h{from}"), format!("h{to}")],
            "fault": fault.to_string(),
            "apart_s": after.map(seconds),
            "lost": lost,
        }),
    }
}

fn pings(pinged: &Pinged) -> Value {
    let mut answers: Vec<Duration> =
        pinged.pairs.iter().filter_map(|(.., answer)| *answer).collect();
    answers.sort_unstable();
    let at = |part: f64| answers.get((answers.len() as f64 * part) as usize).copied().map(seconds);
    let lost = pinged.pairs.iter().filter(|(.., answer)| answer.is_none()).take(LOST_MAX);
    json!({
        "ping": pinged.action.to_string(),
        "asked_at_s": seconds(pinged.at),
        "sent": pinged.sent(),
        "received": answers.len(),
        "waiting": pinged.waiting,
        "unsent": pinged.unsent,
        "took_s": seconds(pinged.took),
        "answered_after_s": {
            "median": at(0.5),
            "p99": at(0.99),
            "max": answers.last().copied().map(seconds),
        },
        "lost": lost.map(|(from, to, _)| json!([format!("h{from}"), format!("h{to}")])).collect::<Vec<Value>>(),
    })
}

fn broadcast(spread: &Broadcast) -> Value {
    let (others, once) = spread.exactly_once();
    json!({
        "broadcast": format!("h{}", spread.from),
        "asked_at_s": seconds(spread.at),
        "others": others,
        "exactly_once": once,
        "missed": spread.missed(),
        "copies_max": spread.copies_max(),
        "own_copies": spread.copies[spread.from as usize - 1],
    })
}

fn seconds(length: Duration) -> f64 {
    length.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;
    use aldis_emulator::network::ScriptAction;
    use aldis_wire::Version;

    #[test]
    fn what_was_cut_short_says_so() {
        let shape: Shape = "single,3".parse().unwrap();
        let topology = shape.lay_out(None, 1).unwrap();
        let plan = NetworkPlan::new("127.0.0.1:6653".parse().unwrap(), Version::V13, topology);
        let object = |it: &NetworkReport| object(&shape, std::slice::from_ref(&plan), it);
        let pinged = Pinged {
            action: ScriptAction::PingAll { pairs: None, v6: false },
            at: Duration::ZERO,
            pairs: vec![(1, 2, Some(Duration::ZERO)), (1, 3, None)],
            waiting: 3,
            unsent: 1,
            took: Duration::ZERO,
        };
        let whole = NetworkReport {
            findings: vec![CheckFinding::Pinged(pinged)],
            ..NetworkReport::default()
        };
        let cut = object(&NetworkReport { partial: Some("why".into()), ..whole.clone() });
        let [sent, received, waiting, unsent] =
            ["sent", "received", "waiting", "unsent"].map(|name| &cut["findings"][0][name]);
        assert_eq!([sent, received, waiting, unsent], [5, 1, 3, 1].map(Value::from).each_ref());
        assert_eq!((&cut["partial"], &object(&whole)["partial"]), (&"why".into(), &Value::Null));
    }
}
