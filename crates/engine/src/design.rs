//! The designs by name: how switches are shared among workers, when replies are sent, how much a visit may read.
//!
//! The choice is made once, at start-up; this is the only place that compares designs.

use core::fmt;
use core::str::FromStr;

use crate::limits::{READ_MAX, READ_MAX_NOX};

/// Who reads which switch (Maestro §3.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Read {
    /// Each worker its own switches, to completion (`read/static_partition.rs`).
    StaticPartition,
}

/// When replies are written to the socket (Beacon §5.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Write {
    /// Once a visit, all of them together (`write/batched.rs`).
    Batched,
    /// Each by itself (`write/immediate.rs`).
    Immediate,
}

/// A workload distribution: independent knobs under one name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Design {
    /// The name by which it is chosen.
    pub name: &'static str,
    /// What it is, and where it comes from.
    pub source: &'static str,
    /// Who reads which switch.
    pub read: Read,
    /// The most bytes that one read may take.
    pub read_max: usize,
    /// When replies are written.
    pub write: Write,
}

impl Design {
    /// Every design that has a name; the first is the default.
    pub const ALL: [Design; 4] = [
        Design {
            name: "static-partition",
            source: "Maestro §3.2.2: each worker its own switches, from read to write",
            read: Read::StaticPartition,
            read_max: READ_MAX,
            write: Write::Batched,
        },
        Design {
            name: "beacon",
            source: "Beacon §5.2 run-to-completion, §5.3 algorithms 2 and 3",
            read: Read::StaticPartition,
            read_max: READ_MAX,
            write: Write::Batched,
        },
        Design {
            name: "beacon-immediate",
            source: "Beacon §5.3 algorithm 1: a socket write for every message",
            read: Read::StaticPartition,
            read_max: READ_MAX,
            write: Write::Immediate,
        },
        Design {
            name: "nox",
            source: "Maestro §4: static partition as NOX has it, with reads of 512 KB",
            read: Read::StaticPartition,
            read_max: READ_MAX_NOX,
            write: Write::Batched,
        },
    ];
}

impl Default for Design {
    fn default() -> Self {
        Design::ALL[0]
    }
}

/// No design has this name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownDesign(pub String);

impl fmt::Display for UnknownDesign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Design::ALL.map(|design| design.name).join(", ");
        write!(f, "there is no design \"{}\"; the designs are: {names}", self.0)
    }
}

impl core::error::Error for UnknownDesign {}

impl FromStr for Design {
    type Err = UnknownDesign;

    fn from_str(name: &str) -> Result<Self, UnknownDesign> {
        let known = Design::ALL.into_iter().find(|design| design.name == name);
        known.ok_or_else(|| UnknownDesign(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_design_is_found_by_its_name() {
        for design in Design::ALL {
            assert_eq!(design.name.parse(), Ok(design));
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        let error = "beacom".parse::<Design>().unwrap_err().to_string();
        assert!(error.contains("beacom") && error.contains("static-partition"), "{error}");
    }
}
