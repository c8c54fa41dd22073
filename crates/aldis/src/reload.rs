//! Settings that were read again: what of them counts at once, and what only after a restart.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use aldis_control::batching::{Bdu, Ibt};
use aldis_engine::design::{self, Batching};
use tracing::{info, warn};

use crate::config::Config;
#[cfg(feature = "http")]
use crate::http::Section;
use crate::knobs::Prt;

/// Lines about what changed, at most; the rest is counted.
const LINES_MAX: usize = 20;

/// What became of settings that were read again.
#[derive(Debug)]
pub(crate) struct ReloadChanges {
    /// What counts from now on: each key with its old and its new value.
    pub(crate) applied: Vec<String>,
    /// Keys that changed, and count only after a restart.
    pub(crate) waiting: Vec<&'static str>,
    /// Whether weights are among what counts.
    pub(crate) weights: bool,
}

/// Takes from `read` into `running` what counts at once. The rest of `running` stays: it is what
/// runs.
pub(crate) fn apply(running: &mut Config, read: Config) -> ReloadChanges {
    let mut applied = Vec::new();
    match running.design.batching {
        Batching::PerRead => {}
        Batching::Fixed(old) => {
            // Another kind of batching waits, and what goes with it.
            let stays = matches!(read.design.batching, Batching::Fixed(_));
            let preset = preset_ibt(running).filter(|_| stays);
            let ibt = read.knobs.ibt.or(preset).unwrap_or(old);
            tell(&mut applied, "ibt", old.requests(), ibt.requests());
            running.design.batching = Batching::Fixed(ibt);
        }
        Batching::Adaptive(old) => {
            let stays = matches!(read.design.batching, Batching::Adaptive(_));
            let preset = preset_bdu(running).filter(|_| stays);
            let bdu = read.knobs.bdu_us.or(preset).unwrap_or(old);
            tell(&mut applied, "bdu-us", old.longest().as_micros(), bdu.longest().as_micros());
            running.design.batching = Batching::Adaptive(bdu);
        }
    }
    if running.design.queues_requests() {
        let prt = read.knobs.prt.map_or(running.preset.prt, |Prt(requests)| requests);
        tell(&mut applied, "prt", word(running.design.prt), word(prt));
        running.design.prt = prt;
    }
    if running.design.read.sheds() {
        let shed = read.knobs.shed.unwrap_or(running.preset.shed);
        tell(&mut applied, "shed", running.design.shed, shed);
        running.design.shed = shed;
    }
    let rules = running.rules.changes(&read.rules);
    let weights = !rules.is_empty();
    applied.extend(rules);
    let names = |config: &Config| -> Vec<_> {
        let flows = config.static_flows().into_iter();
        flows.map(|flow| (flow.name.to_string(), format!("{flow:?}"))).collect()
    };
    applied.extend(differ("static-flow", &names(running), &names(&read)));
    let names = |config: &Config| -> Vec<_> {
        let rules = config.acl().into_iter();
        rules.map(|rule| (rule.name.to_string(), format!("{rule:?}"))).collect()
    };
    applied.extend(differ("acl", &names(running), &names(&read)));
    shorten(&mut applied);
    let waiting = running.changed(&read);
    running.keep_as(&read);
    // Access was settled before; only the address has to wait.
    #[cfg(feature = "http")]
    {
        running.http = Section { at: running.http.at, ..read.http };
    }
    if !waiting.contains(&"[tls]") {
        running.tls = read.tls;
    }
    (running.rules, running.said) = (read.rules, read.said);
    tell(&mut applied, "stats", file(&running.stats), file(&read.stats));
    running.stats = read.stats;
    ReloadChanges { applied, waiting, weights }
}

impl ReloadChanges {
    /// Says so in the log.
    pub(crate) fn log(&self, file: &str) {
        for line in &self.applied {
            info!("{file}: {line}");
        }
        if !self.waiting.is_empty() {
            let keys = self.waiting.join(", ");
            warn!("{file}: changed too, but only a restart applies it: {keys}");
        } else if self.applied.is_empty() {
            info!("{file} was read again: nothing changed");
        }
    }
}

/// What is different between two lists of things that have names: a line for each of them.
fn differ(what: &str, old: &[(String, String)], new: &[(String, String)]) -> Vec<String> {
    let of: HashMap<_, _> = old.iter().map(|(name, says)| (name, says)).collect();
    let names: HashSet<_> = new.iter().map(|(name, _)| name).collect();
    let gone = old.iter().filter(|(name, _)| !names.contains(name));
    let mut lines: Vec<_> = new
        .iter()
        .filter_map(|(name, says)| match of.get(name) {
            None => Some(format!("{what} \"{name}\" is new")),
            Some(before) if *before != says => Some(format!("{what} \"{name}\" is another")),
            Some(_) => None,
        })
        .chain(gone.map(|(name, _)| format!("{what} \"{name}\" is gone")))
        .collect();
    if lines.is_empty() && old != new {
        lines.push(format!("{what}: the order changed"));
    }
    lines
}

/// The engine's knobs as they are to be.
pub(crate) fn knobs(running: &Config) -> design::Knobs {
    let design = &running.design;
    let (ibt, bdu) = match design.batching {
        Batching::PerRead => (None, None),
        Batching::Fixed(ibt) => (Some(ibt), None),
        Batching::Adaptive(bdu) => (None, Some(bdu)),
    };
    // Of no threshold the engine thinks as of one that is out of reach.
    let prt = design.queues_requests().then(|| design.prt.unwrap_or(usize::MAX));
    let (shed, weights) = (Some(design.shed), running.rules.weights().clone());
    design::Knobs { ibt, bdu, prt, shed, weights, received_max: None }
}

fn preset_ibt(running: &Config) -> Option<Ibt> {
    match running.preset.batching {
        Batching::Fixed(ibt) => Some(ibt),
        _ => None,
    }
}

fn preset_bdu(running: &Config) -> Option<Bdu> {
    [running.preset.batching, Batching::ADAPTIVE].into_iter().find_map(|batching| match batching {
        Batching::Adaptive(bdu) => Some(bdu),
        _ => None,
    })
}

fn file(file: &Option<PathBuf>) -> String {
    file.as_ref().map_or_else(|| "none".to_owned(), |file| file.display().to_string())
}

fn word(prt: Option<usize>) -> String {
    prt.map_or_else(|| "none".to_owned(), |requests| requests.to_string())
}

fn tell<T: PartialEq + std::fmt::Display>(applied: &mut Vec<String>, key: &str, old: T, new: T) {
    if old != new {
        applied.push(format!("{key}: {old} → {new}"));
    }
}

pub(crate) fn shorten(lines: &mut Vec<String>) {
    if let Some(more) = lines.len().checked_sub(LINES_MAX).filter(|more| *more > 0) {
        lines.truncate(LINES_MAX);
        lines.push(format!("and {more} more"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> Config {
        toml::from_str::<Config>(text).unwrap().settle(&[]).unwrap()
    }

    fn change(old: &str, new: &str) -> (Config, ReloadChanges) {
        let mut running = config(old);
        let changes = apply(&mut running, config(new));
        (running, changes)
    }

    #[test]
    fn live_knobs_and_weights_are_applied_and_told() {
        let (running, changes) = change(
            "design = \"maestro-shared-queue\"\n[weights]\n\"1\" = 2",
            "design = \"maestro-shared-queue\"\n[knobs]\nbdu-us = 300\nprt = 7\n[weights]\n\"1\" = 4",
        );
        assert_eq!(changes.applied, ["bdu-us: 150 → 300", "prt: 400 → 7", "weight of 1: 2 → 4"]);
        assert!(changes.waiting.is_empty());
        assert_eq!((running.design.prt, knobs(&running).prt), (Some(7), Some(7)));
        let back = config("design = \"maestro-shared-queue\"\n[knobs]\nprt = \"none\"");
        let mut running = running;
        let changes = apply(&mut running, back);
        assert_eq!(
            changes.applied,
            ["bdu-us: 300 → 150", "prt: 7 → none", "weight of 1: 4 → no rule"]
        );
        assert_eq!(knobs(&running).prt, Some(usize::MAX));
    }

    #[test]
    fn a_fixed_threshold_follows_and_the_kind_of_batching_does_not() {
        let fixed = "[knobs]\nbatching = \"fixed\"\nibt = ";
        let (_, changes) = change(&format!("{fixed}20"), &format!("{fixed}30"));
        assert_eq!(
            (&changes.applied[..], &changes.waiting[..]),
            (&["ibt: 20 → 30".to_owned()][..], &[][..])
        );
        let (running, changes) =
            change(&format!("{fixed}20"), "[knobs]\nbatching = \"adaptive\"\nbdu-us = 9");
        assert!(changes.applied.is_empty(), "{changes:?}");
        assert_eq!(changes.waiting, ["batching"]);
        assert_eq!(running.design.batching, config(&format!("{fixed}20")).design.batching);
    }

    #[test]
    fn the_rest_waits_and_is_told_until_it_is_undone() {
        let mut running = config("workers = 1");
        let new = "workers = 2\nhttp = \"off\"\nlisten = [\"127.0.0.1:1\"]\ndesign = \"nox\"\npoll = true\nlog = \"warn\"\nlog-format = \"json\"\n\
                   [session]\ndelete-flows = true\n[learning-switch]\nidle-timeout-s = 3\n\
                   [knobs]\nmax-read-bytes = 4096\n";
        for _ in 0..2 {
            let changes = apply(&mut running, config(new));
            assert!(changes.applied.is_empty(), "{changes:?}");
            assert_eq!(
                changes.waiting,
                [
                    "listen",
                    "http",
                    "workers",
                    "design",
                    "poll",
                    "log",
                    "log-format",
                    "[session]",
                    "[learning-switch]",
                    "max-read-bytes"
                ]
            );
        }
        assert!(apply(&mut running, config("workers = 1")).waiting.is_empty());
    }

    #[test]
    fn where_the_designs_differ_only_what_was_said_is_applied() {
        let (_, changes) = change("design = \"maestro-plain\"", "design = \"beacon-queue\"");
        assert!(changes.applied.is_empty(), "{changes:?}");
        assert_eq!(changes.waiting, ["design"]);
    }

    #[test]
    fn many_changes_are_told_in_few_lines() {
        let rules: Vec<String> = (0..50).map(|dpid| format!("\"{dpid}\" = 2")).collect();
        let (_, changes) = change("", &format!("[weights]\n{}", rules.join("\n")));
        assert_eq!(changes.applied.len(), LINES_MAX + 1);
        assert_eq!(changes.applied[LINES_MAX], "and 30 more");
    }
}
