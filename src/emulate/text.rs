//! What an emulated network found out, in words; pings as Mininet prints them.

use crate::bench::probe;
use aldis_emulator::load::Probes;
use aldis_emulator::network::{
    Broadcast, CheckFinding, Messages, NetworkReport, Pinged, Recovery, ScriptAction,
};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

/// Most hosts for which every ping is printed.
const ROWS_MAX: usize = 64;
/// Most lost pings that are printed where not all are.
const LOST_MAX: usize = 10;

/// One finding, a line or several.
pub(super) fn finding(finding: &CheckFinding) -> String {
    match finding {
        CheckFinding::Pinged(pinged) if matches!(pinged.action, ScriptAction::Ping { .. }) => {
            one(pinged)
        }
        CheckFinding::Pinged(pinged) => pings(pinged),
        CheckFinding::Broadcast(spread) => broadcast(spread),
        CheckFinding::Recovery(recovery) => apart(recovery),
    }
}

fn one(pinged: &Pinged) -> String {
    let at = seconds(pinged.at);
    match pinged.pairs.first() {
        Some(pair) => format!("{}, asked at {at}\n", ping(pair)),
        None => format!("{}: ** partial ** not waited for, asked at {at}\n", pinged.action),
    }
}

fn ping((from, to, answer): &(u32, u32, Option<Duration>)) -> String {
    match answer {
        Some(after) => format!("h{from} -> h{to}: answered after {}", ms(*after)),
        None => format!("h{from} -> h{to}: no answer"),
    }
}

fn pings(pinged: &Pinged) -> String {
    // Those of a script may overtake each other.
    let mut text = format!(
        "*** Ping: testing ping reachability ({}, asked at {})\n",
        pinged.action,
        seconds(pinged.at)
    );
    let mut rows: BTreeMap<u32, String> = BTreeMap::new();
    for (from, to, answer) in &pinged.pairs {
        let row = rows.entry(*from).or_default();
        let _ = match answer {
            Some(_) => write!(row, " h{to}"),
            None => write!(row, " X"),
        };
    }
    if rows.len() <= ROWS_MAX && pinged.pairs.len() <= ROWS_MAX * ROWS_MAX {
        rows.iter().for_each(|(from, row)| text += &format!("h{from} ->{row}\n"));
    } else {
        let lost = pinged.pairs.iter().filter(|(.., answer)| answer.is_none());
        lost.take(LOST_MAX).for_each(|pair| text += &format!("{}\n", ping(pair)));
    }
    let (sent, received) = (pinged.pairs.len(), pinged.received());
    let dropped = 100.0 * (sent - received) as f64 / sent.max(1) as f64;
    // Mininet rounds; that no ping is lost is only said where none is.
    let dropped = if sent > received { dropped.max(1.0).round() } else { 0.0 };
    let took = pinged.took.as_secs_f64();
    let cut = cut(pinged);
    text + &format!(
        "*** Results: {dropped}% dropped ({received}/{sent} received), {took:.2} s{cut}\n"
    )
}

/// What the end of the run left of it.
fn cut(pinged: &Pinged) -> String {
    match (pinged.waiting, pinged.unsent) {
        (0, 0) => String::new(),
        (waiting, unsent) => {
            format!("; ** partial ** {waiting} more waited for an answer, {unsent} were not sent")
        }
    }
}

fn broadcast(spread: &Broadcast) -> String {
    let (others, once) = spread.exactly_once();
    let own = spread.copies[spread.from as usize - 1];
    let mut text =
        format!("broadcast from h{}: {once} of {others} other hosts saw one copy", spread.from);
    if spread.missed() > 0 {
        text += &format!(", {} none", spread.missed());
    }
    if spread.copies_max() > 1 {
        text += &format!(", up to {} copies", spread.copies_max());
    }
    if own > 0 {
        text += &format!("; h{} saw {own} of its own", spread.from);
    }
    text + &format!(", asked at {}\n", seconds(spread.at))
}

fn apart(recovery: &Recovery) -> String {
    let Recovery { from, to, fault, after, lost } = recovery;
    match after {
        Some(_) if *lost == 0 => format!("h{from} -> h{to}: not interrupted by {fault}\n"),
        Some(after) => {
            format!("h{from} -> h{to}: apart for {} after {fault}; {lost} pings lost\n", ms(*after))
        }
        None => format!("h{from} -> h{to}: apart since {fault}; {lost} pings lost\n"),
    }
}

/// The end of a run.
pub(super) fn summary(report: &NetworkReport) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: String| text += &format!("{name:<12} {value}\n");
    if let Some(after) = report.connected_after {
        line("connected", format!("after {:.3} s", after.as_secs_f64()));
    }
    line("LLDP", crossed(report));
    let frames = &report.frames;
    line(
        "frames",
        format!("{} over links, {} where none was up", frames.delivered, frames.dropped_down),
    );
    if frames.dropped_full > 0 || report.storm.0 > 0 {
        let (sent, copies) = report.storm;
        let dropped = frames.dropped_full;
        line(
            "storm",
            format!(
                "{dropped} frames dropped by full links; {sent} sent on purpose, {copies} copies seen"
            ),
        );
    }
    if report.spoilt > 0 {
        line("spoilt", format!("{} packets with a wrong checksum", report.spoilt));
    }
    let Messages { packet_ins, packet_ins_dropped, packet_outs, flow_mods, errors, complaints } =
        &report.messages;
    let dropped = match packet_ins_dropped {
        0 => String::new(),
        dropped => format!(" ({dropped} more found the connection full)"),
    };
    line(
        "messages",
        format!(
            "{packet_ins} packet-ins{dropped}, {packet_outs} packet-outs, {flow_mods} flow-mods"
        ),
    );
    line("errors", names(errors));
    if !complaints.is_empty() {
        line("complaints", names(complaints));
    }
    for told in report.offered.iter().flat_map(super::load::words) {
        line("load", told);
    }
    if let Some(idle) = report.idle {
        line("generator", generator(idle, report.is_generator_limited()));
    }
    if let Some((probes, why)) = &report.probes {
        line("probe µs", probed(probes, why.as_deref()));
    }
    if report.lost != (0, 0) {
        let (lost, never) = report.lost;
        line("connections", format!("{lost} lost, {never} more ended before the handshake"));
    }
    if let Some(why) = &report.partial {
        line("partial", format!("** partial ** {why}"));
    }
    text
}

fn crossed(report: &NetworkReport) -> String {
    let all = format!("crossed {} of {} directions of links", report.crossed, report.crossings);
    match report.crossed_after {
        Some(after) => {
            format!("{all}, the last {:.3} s after the last handshake", after.as_secs_f64())
        }
        None => all,
    }
}

/// Whether this process may have been the limit.
fn generator(idle: f64, limited: bool) -> String {
    let mark = match limited {
        true => "  ** generator-limited ** the delays are the emulator's own",
        false => "",
    };
    format!("{:.1} % idle while load and pings went on{mark}", idle * 100.0)
}

/// What the switches that probe saw, in microseconds as `aldis bench` has it.
fn probed(probes: &Probes, ended: Option<&str>) -> String {
    let unanswered = probes.counts.offered - probes.counts.answered;
    let ended = ended.map(|why| format!("; they ended before the run did: {why}"));
    format!("{} · {unanswered} unanswered{}", probe::words(probes), ended.unwrap_or_default())
}

fn names(errors: &BTreeMap<String, u64>) -> String {
    match errors.is_empty() {
        true => "none".into(),
        false => {
            errors.iter().map(|(name, n)| format!("{n} × {name}")).collect::<Vec<_>>().join(", ")
        }
    }
}

fn seconds(at: Duration) -> String {
    format!("{} s", at.as_secs_f64())
}

fn ms(length: Duration) -> String {
    format!("{:.3} ms", length.as_secs_f64() * 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: ScriptAction = ScriptAction::PingAll { pairs: None, v6: false };

    fn pinged(pairs: Vec<(u32, u32, Option<Duration>)>) -> CheckFinding {
        let at = Duration::from_millis(1500);
        let took = Duration::from_secs(1);
        CheckFinding::Pinged(Pinged { action: ALL, at, pairs, waiting: 0, unsent: 0, took })
    }

    #[test]
    fn pings_are_printed_as_mininet_does() {
        let some = Some(Duration::from_millis(1));
        let text = finding(&pinged(vec![(1, 2, some), (1, 3, None), (2, 1, some)]));
        assert_eq!(
            text,
            "*** Ping: testing ping reachability (pingall, asked at 1.5 s)\nh1 -> h2 X\nh2 -> h1\n\
             *** Results: 33% dropped (2/3 received), 1.00 s\n"
        );
    }

    #[test]
    fn pings_that_were_cut_short_are_no_lost_ones() {
        let CheckFinding::Pinged(whole) = pinged(vec![(1, 2, Some(Duration::ZERO))]) else {
            panic!()
        };
        let text = finding(&CheckFinding::Pinged(Pinged { waiting: 32, unsent: 39, ..whole }));
        let end = "*** Results: 0% dropped (1/1 received), 1.00 s; ** partial ** 32 more waited for an answer, 39 were not sent\n";
        assert!(text.ends_with(end), "{text}");
    }

    #[test]
    fn a_ping_says_when_it_was_asked_for() {
        let action = ScriptAction::Ping { from: 1, to: 2, v6: false };
        let pairs = vec![(1, 2, Some(Duration::from_millis(3)))];
        let (at, took) = (Duration::from_secs(2), Duration::ZERO);
        let pinged = Pinged { action, at, pairs, waiting: 0, unsent: 0, took };
        let text = finding(&CheckFinding::Pinged(pinged.clone()));
        assert_eq!(text, "h1 -> h2: answered after 3.000 ms, asked at 2 s\n");
        let text =
            finding(&CheckFinding::Pinged(Pinged { pairs: Vec::new(), waiting: 1, ..pinged }));
        assert_eq!(text, "ping h1 h2: ** partial ** not waited for, asked at 2 s\n");
    }

    #[test]
    fn one_of_a_thousand_is_not_rounded_away() {
        let pairs = (1..=1000).map(|from| (from, from + 1, (from != 5).then_some(Duration::ZERO)));
        let text = finding(&pinged(pairs.collect()));
        assert!(text.contains("h5 -> h6: no answer\n*** Results: 1% dropped (999/1000"), "{text}");
    }

    #[test]
    fn a_generator_that_is_the_limit_says_so() {
        let said = |idle| summary(&NetworkReport { idle, ..NetworkReport::default() });
        assert!(!said(None).contains("generator"));
        assert!(
            said(Some(0.05)).contains("\ngenerator    5.0 % idle while load and pings went on\n")
        );
        assert!(said(Some(0.04)).contains("went on  ** generator-limited ** the delays"));
    }

    #[test]
    fn copies_and_recoveries_are_told() {
        let spread = Broadcast { from: 2, at: Duration::ZERO, copies: vec![1, 3, 0, 7] };
        assert_eq!(
            finding(&CheckFinding::Broadcast(spread)),
            "broadcast from h2: 1 of 3 other hosts saw one copy, 1 none, up to 7 copies; h2 saw 3 of its own, asked at 0 s\n"
        );
        let recovery = |after, lost| {
            finding(&CheckFinding::Recovery(Recovery {
                from: 1,
                to: 5,
                fault: ScriptAction::Reset(3),
                after,
                lost,
            }))
        };
        let after = Some(Duration::from_micros(37_250));
        assert_eq!(recovery(after, 0), "h1 -> h5: not interrupted by reset s3\n");
        assert_eq!(
            recovery(after, 3),
            "h1 -> h5: apart for 37.250 ms after reset s3; 3 pings lost\n"
        );
        assert_eq!(recovery(None, 9), "h1 -> h5: apart since reset s3; 9 pings lost\n");
    }
}
