//! Which version is spoken (OpenFlow 1.3.5 §6.3.1).
//!
//! Each side's HELLO carries its highest version in the header and, since 1.3, may carry a bitmap
//! of all of them. Where both sent a bitmap and these have a bit in common, the highest common bit
//! wins; otherwise the lower of the two header versions is spoken, or nothing.

use core::fmt;

use aldis_wire::Version;

/// A set of versions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Versions(u32);

impl Versions {
    /// Every version that Aldis speaks.
    pub const ALL: Versions = Versions(1 << Version::V10.wire() | 1 << Version::V13.wire());

    /// That version and no other.
    pub const fn only(version: Version) -> Versions {
        Versions(1 << version.wire())
    }

    /// Whether `version` is one of them.
    pub const fn contains(self, version: Version) -> bool {
        self.0 & 1 << version.wire() != 0
    }

    /// The highest of them.
    pub fn highest(self) -> Version {
        self.iter().last().expect("a set of versions is never empty")
    }

    /// They, lowest first.
    pub fn iter(self) -> impl Iterator<Item = Version> {
        Version::ALL.into_iter().filter(move |&version| self.contains(version))
    }

    /// They, as the word of a HELLO's version bitmap: bit *n* stands for the header version *n*.
    pub const fn bitmap(self) -> u32 {
        self.0
    }
}

impl fmt::Display for Versions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.iter().enumerate().try_for_each(|(place, version)| {
            f.write_str(if place == 0 { "" } else { " and " })?;
            version.fmt(f)
        })
    }
}

/// The version to speak, given what we offer and the version byte and bitmap of the peer's HELLO.
pub fn negotiate(ours: Versions, theirs: u8, bitmap: Option<u32>) -> Option<Version> {
    let sent_bitmap = ours.highest() >= Version::V13;
    let common = Versions(ours.0 & bitmap.filter(|_| sent_bitmap).unwrap_or(0));
    if common.0 != 0 {
        return Some(common.highest());
    }
    Version::from_wire(theirs.min(ours.highest().wire())).filter(|&version| ours.contains(version))
}
