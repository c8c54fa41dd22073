//! Diagnosis: why a network does not work, from facts that any script can look up.
//!
//! [`gather`] asks the controller over REST, Open vSwitch and the kernel, with a deadline on each
//! wait. What it finds is a [`Facts`]. Each diagnosis is a pure function from facts to findings, in
//! the file of its group in [`rules`]. [`CATALOGUE`] lists all of them, the likeliest first; the
//! table in `docs/doctor.md` is made of it.
//!
//! Nothing here changes a switch, a setting or a file.

pub mod catalogue;
pub mod facts;
mod finding;
pub mod gather;
pub mod rules;

pub use catalogue::CATALOGUE;
pub use facts::Facts;
pub use finding::{Diagnosis, Finding, Severity};

/// What is wrong, the gravest and likeliest first; nothing where all is well.
pub fn diagnose(facts: &Facts) -> Vec<Finding> {
    let mut findings: Vec<Finding> = rules::ALL.iter().flat_map(|rule| rule(facts)).collect();
    findings.sort_by_key(|finding| (finding.severity, catalogue::place(finding.id)));
    findings
}
