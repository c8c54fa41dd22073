//! What outlives the controller: what people set and expect to find again.
//!
//! ```text
//!   shelf          name                value
//!   weights        "1-100"             4
//!   names          "0000000000000001"  "core-1"
//!   static-flows   "to-the-printer"    {"switch": "1", "match": {…}, …}
//! ```
//!
//! A [`Store`] keeps small values of JSON by name, on a few shelves. A change of several entries is
//! made whole or not at all, and what was acknowledged is on disk: a caller that was told the new
//! revision finds it again after a crash. There is one file ([`Embedded`]), read whole when it is
//! opened; and one readable form of all of it ([`Backup`]), for backups and for people.
//!
//! Deliberately absent: what the network itself says (hosts, links), which is found again; and any
//! meaning of the values, which their reader checks.

#![forbid(unsafe_code)]

mod backup;
#[cfg(feature = "embedded")]
mod embedded;
mod error;
pub mod limits;

use std::fmt;
use std::str::FromStr;

pub use backup::Backup;
#[cfg(feature = "embedded")]
pub use embedded::Embedded;
pub use error::Error;
pub use serde_json::Value;

/// Where values of one kind are kept.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Shelf {
    /// Flows that have to be on switches, by name.
    StaticFlows,
    /// Access rules, by name.
    Acl,
    /// Weights of switches, by the switches that they are for.
    Weights,
    /// What people call switches, by datapath id.
    Names,
    /// Entries that scripts of Floodlight's keep on switches, by name.
    FloodlightEntries,
    /// Guests that were added over HTTP, by name.
    Guests,
    /// Secrets, such as the one that signs link probes.
    Keys,
}

impl Shelf {
    /// All of them.
    pub const ALL: [Shelf; 7] = [
        Shelf::StaticFlows,
        Shelf::Acl,
        Shelf::Weights,
        Shelf::Names,
        Shelf::FloodlightEntries,
        Shelf::Guests,
        Shelf::Keys,
    ];

    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Shelf::StaticFlows => "static-flows",
            Shelf::Acl => "acl",
            Shelf::Weights => "weights",
            Shelf::Names => "names",
            Shelf::FloodlightEntries => "floodlight-entries",
            Shelf::Guests => "guests",
            Shelf::Keys => "keys",
        }
    }
}

impl fmt::Display for Shelf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Shelf {
    type Err = Error;

    fn from_str(name: &str) -> Result<Shelf, Error> {
        let named = |shelf: &Shelf| shelf.name() == name;
        let unknown = || Error::NoShelf { name: name.chars().take(limits::NAME_MAX).collect() };
        Shelf::ALL.into_iter().find(named).ok_or_else(unknown)
    }
}

/// How often a store was changed. Each change has a revision of its own, higher than all before.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Revision(pub u64);

/// A value that is kept.
#[derive(Clone, PartialEq, Debug)]
pub struct StoreEntry {
    /// What it is.
    pub value: Value,
    /// The change that made it so.
    pub revision: Revision,
}

/// A change of one entry.
#[derive(Clone, PartialEq, Debug)]
pub struct StoreChange {
    /// On which shelf.
    pub shelf: Shelf,
    /// Under which name: 1 to [`limits::NAME_MAX`] bytes.
    pub name: String,
    /// The new value, or none to remove it.
    pub value: Option<Value>,
    /// What it has to be so far.
    pub expects: Expects,
}

/// What has to be so for a change to be made: two writers of the same entry notice each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Expects {
    /// Nothing in particular.
    #[default]
    Anything,
    /// There is no entry of this name.
    Absent,
    /// The entry is there, and was last changed by this revision.
    Unchanged(Revision),
}

impl StoreChange {
    /// Keeps `value` under this name, whatever was there.
    pub fn set(shelf: Shelf, name: impl Into<String>, value: Value) -> StoreChange {
        StoreChange { shelf, name: name.into(), value: Some(value), expects: Expects::Anything }
    }

    /// Removes the entry, if there is one.
    pub fn remove(shelf: Shelf, name: impl Into<String>) -> StoreChange {
        StoreChange { shelf, name: name.into(), value: None, expects: Expects::Anything }
    }

    /// Only if this is so.
    pub fn if_it(self, expects: Expects) -> StoreChange {
        StoreChange { expects, ..self }
    }
}

/// Keeps what outlives the controller. Any thread may ask; reading never waits for a disk.
pub trait Store: Send + Sync + fmt::Debug {
    /// How often it was changed.
    fn revision(&self) -> Revision;

    /// One entry.
    fn entry(&self, shelf: Shelf, name: &str) -> Option<StoreEntry>;

    /// All entries of a shelf, in the order of their names.
    fn entries(&self, shelf: Shelf) -> Vec<(String, StoreEntry)>;

    /// Makes all of these changes, or none, in their order. They are on disk when this returns.
    ///
    /// # Errors
    /// A bound, an expectation that is not so, or the disk; nothing was changed then.
    fn change(&self, changes: &[StoreChange]) -> Result<Revision, Error>;

    /// All of it, to be kept elsewhere.
    fn backup(&self) -> Backup {
        Backup::of(self.revision(), |shelf| self.entries(shelf))
    }

    /// Becomes what `backup` says: what is not in it is removed.
    ///
    /// # Errors
    /// As [`Store::change`].
    fn restore(&self, backup: &Backup) -> Result<Revision, Error> {
        let here = Shelf::ALL.into_iter().flat_map(|shelf| {
            self.entries(shelf).into_iter().map(move |(name, _)| StoreChange::remove(shelf, name))
        });
        self.change(&here.chain(backup.changes()).collect::<Vec<_>>())
    }
}
