//! What several networks found out, as one report.

use crate::load::Probes;
use crate::network::{Frames, HostLoadFate, Messages, NetworkReport, OfferedPhase};
use std::collections::BTreeMap;
use std::ops::AddAssign;
use std::time::Duration;

impl NetworkReport {
    /// The report of networks that ran together: counts are sums, distributions are merged, lengths
    /// are the longest, and the idle share is the least. Findings and the counts of single switches
    /// stay with each network, whose names they have.
    pub fn joined(reports: &[NetworkReport]) -> NetworkReport {
        let mut whole = NetworkReport::default();
        for report in reports {
            whole.crossed += report.crossed;
            whole.crossings += report.crossings;
            whole.length = whole.length.max(report.length);
            whole.frames += report.frames;
            whole.spoilt += report.spoilt;
            add(&mut whole.storm, report.storm);
            whole.messages += &report.messages;
            add(&mut whole.lost, report.lost);
            whole.stopped |= report.stopped;
        }
        let idle = reports.iter().filter_map(|report| report.idle);
        NetworkReport {
            connected_after: last(reports, |report| report.connected_after),
            crossed_after: last(reports, |report| report.crossed_after),
            offered: offered(reports),
            probes: probes(reports),
            idle: idle.reduce(f64::min),
            partial: told(reports.iter().map(|report| report.partial.as_deref())),
            ..whole
        }
    }
}

fn add(sum: &mut (u64, u64), more: (u64, u64)) {
    sum.0 += more.0;
    sum.1 += more.1;
}

/// When it was so of all, if it was.
fn last(
    reports: &[NetworkReport],
    when: impl Fn(&NetworkReport) -> Option<Duration>,
) -> Option<Duration> {
    let all: Option<Vec<Duration>> = reports.iter().map(when).collect();
    all?.into_iter().max()
}

/// What each says, once where all say the same and with whose it is elsewhere; `None` where none
/// says anything.
fn told<'a>(said: impl Iterator<Item = Option<&'a str>>) -> Option<String> {
    let said: Vec<Option<&str>> = said.collect();
    match said.first() {
        Some(&Some(first)) if said.iter().all(|other| *other == Some(first)) => Some(first.into()),
        _ => {
            let named = (1..).zip(said).filter_map(|(network, said)| Some((network, said?)));
            let named = named.map(|(network, said)| format!("network {network}: {said}"));
            named.reduce(|all, one| format!("{all}; {one}"))
        }
    }
}

impl AddAssign for Frames {
    fn add_assign(&mut self, other: Frames) {
        let Frames { delivered, dropped_full, dropped_down } = other;
        self.delivered += delivered;
        self.dropped_full += dropped_full;
        self.dropped_down += dropped_down;
    }
}

impl AddAssign<&Messages> for Messages {
    fn add_assign(&mut self, other: &Messages) {
        let Messages { packet_ins, packet_ins_dropped, packet_outs, flow_mods, errors, complaints } =
            other;
        self.packet_ins += packet_ins;
        self.packet_ins_dropped += packet_ins_dropped;
        self.packet_outs += packet_outs;
        self.flow_mods += flow_mods;
        add_names(&mut self.errors, errors);
        add_names(&mut self.complaints, complaints);
    }
}

fn add_names(sum: &mut BTreeMap<String, u64>, more: &BTreeMap<String, u64>) {
    for (name, count) in more {
        *sum.entry(name.clone()).or_default() += count;
    }
}

fn offered(reports: &[NetworkReport]) -> Option<HostLoadFate> {
    let all: Vec<&HostLoadFate> =
        reports.iter().filter_map(|report| report.offered.as_ref()).collect();
    let finding = all.iter().map(|one| one.finding).max()?;
    let mut phases: Vec<OfferedPhase> = Vec::new();
    for one in &all {
        for (index, phase) in one.phases.iter().enumerate() {
            match phases.get_mut(index) {
                Some(sum) => *sum += phase,
                None => phases.push(phase.clone()),
            }
        }
    }
    Some(HostLoadFate {
        pairs: all.iter().map(|one| one.pairs).sum(),
        found: all.iter().map(|one| one.found).sum(),
        finding,
        phases,
        switches: Vec::new(),
    })
}

impl AddAssign<&OfferedPhase> for OfferedPhase {
    fn add_assign(&mut self, other: &OfferedPhase) {
        self.rate += other.rate;
        self.planned = self.planned.max(other.planned);
        self.length = self.length.max(other.length);
        self.due += other.due;
        self.sent += other.sent;
        self.missed += other.missed;
        self.unaddressed += other.unaddressed;
        self.arrived += other.arrived;
        self.again += other.again;
        // Of one range and precision, all of them.
        let _ = self.delay.add(&other.delay);
    }
}

fn probes(reports: &[NetworkReport]) -> Option<(Probes, Option<String>)> {
    let mut all = reports.iter().filter_map(|report| report.probes.as_ref());
    let (mut sum, _) = all.next()?.clone();
    for (probes, _) in all {
        sum.counts += probes.counts;
        let _ = sum.delay.add(&probes.delay);
        sum.processor_wait = sum.processor_wait.max(probes.processor_wait);
    }
    let ended = reports.iter().map(|report| report.probes.as_ref()?.1.as_deref());
    Some((sum, told(ended)))
}
