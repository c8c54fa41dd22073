//! The diagnoses, a file for each group: pure functions from facts to findings.
//!
//! A rule says nothing where its facts were not gathered. Where one fault explains another, the
//! rule of the other looks for it and stays silent.

pub mod apps;
pub mod connecting;
pub mod machine;
pub mod network;
pub mod switches;

use crate::facts::{Answer, Facts, KnownFacts};
use crate::finding::{Diagnosis, Finding};

/// Looks for one kind of fault, or for a few that exclude each other.
pub type DiagnosisRule = fn(&Facts) -> Vec<Finding>;

/// All of them.
pub const ALL: &[DiagnosisRule] = &[
    connecting::controller,
    connecting::targets,
    connecting::known,
    connecting::no_switch,
    switches::duplicates,
    switches::roles,
    switches::table_miss,
    switches::storms,
    switches::slow,
    switches::known,
    apps::failed,
    apps::swallowed,
    apps::guests,
    network::links,
    network::denied,
    network::vlans,
    machine::known,
    machine::files,
    machine::clock,
    machine::processors,
];

/// Whether the controller answers.
fn is_up(facts: &Facts) -> bool {
    facts.controller.answer == Answer::Yes
}

/// What the controller knows by itself to be wrong, under this name.
fn known_of<'f>(facts: &'f Facts, diagnosis: &Diagnosis) -> Vec<&'f KnownFacts> {
    let known = facts.controller.health.findings.iter();
    known.filter(|known| known.id == diagnosis.id).collect()
}

/// The same as a finding, where there is any.
fn known(facts: &Facts, diagnosis: &Diagnosis) -> Option<Finding> {
    let known = known_of(facts, diagnosis);
    let first = known.first()?;
    let words = known.iter().map(|known| match known.count {
        0 | 1 => format!("{}: {}", known.about, known.evidence),
        count => format!("{}: {} ({count} times)", known.about, known.evidence),
    });
    Some(diagnosis.found(&[("about", &first.about)], words))
}
