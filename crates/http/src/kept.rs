//! What people set and expect to find again, as the server sees it: whoever serves hands over a [`Keeps`].
//!
//! What is acknowledged is on disk first, where there is a store; it counts from then on, and again after a restart.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use aldis_control::weights::{Switches, WeightRule};
use aldis_wire::DatapathId;
use aldis_wire::msg::{Instruction, Match, PortNo, TableNo};

pub use crate::floodlight::entries::check as check_floodlight_entry;
pub use serde_json::Value;

/// A flow that has to be on switches.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StaticFlow {
    /// Its name; there is no other of the same.
    pub name: Arc<str>,
    /// The switches that have it.
    pub switches: Switches,
    /// Its table; where none is said, that of the flows that forward.
    pub table: Option<TableNo>,
    /// The higher of two matching flows wins.
    pub priority: u16,
    /// Which packets, completed by what its fields need.
    pub match_: Match,
    /// What it does with them, in the order in which switches do it.
    pub instructions: Vec<Instruction>,
}

/// What becomes of the packets that a rule matches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// They pass.
    Allow,
    /// They do not.
    Deny,
    /// They pass, and this port gets a copy.
    Mirror(PortNo),
}

/// A rule about which packets pass.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AclRule {
    /// Its name; there is no other of the same.
    pub name: Arc<str>,
    /// What becomes of its packets.
    pub verdict: Verdict,
    /// Which packets, completed by what its fields need.
    pub match_: Match,
    /// At which switches; at all of them where none are named.
    pub switches: Vec<Switches>,
}

/// Who said it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// The configuration, which alone can change it.
    Configuration,
    /// Somebody over HTTP.
    Http,
}

/// What became of a flow or rule at a switch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fate {
    /// The switch.
    pub switch: DatapathId,
    /// Whether it is there.
    pub there: bool,
    /// What became of it, in words.
    pub words: String,
}

/// Something that is kept, with whose it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Kept<T> {
    /// It.
    pub it: T,
    /// Who said it.
    pub source: Source,
    /// Connected switches where it is, and where it is not (yet).
    pub there: usize,
    /// See `there`.
    pub missing: usize,
}

/// What has to be so for something to be set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Only {
    /// Nothing in particular.
    #[default]
    Always,
    /// There is none of this name.
    IfNew,
}

/// How the rules about packets change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AclChange {
    /// These, in order, in place of all that were set over HTTP.
    All(Vec<AclRule>),
    /// This one in place of that of its name; where there is none, before this one or last.
    One(AclRule, Option<String>, Only),
    /// None of this name.
    Remove(String),
}

/// What became of settings that were read again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reread {
    /// What changed, and counts from now on.
    pub applied: Vec<String>,
    /// What changed, and counts only after a restart.
    pub waiting: Vec<String>,
}

/// Why something was not set. Nothing was changed then.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refused {
    /// The application that would do it does not run.
    NotRunning(&'static str),
    /// There is none of this name.
    Missing(String),
    /// There is one of this name already, and none was expected; or it is another than was expected.
    NotSo(String),
    /// The configuration says something else, or already says it.
    Configured(String),
    /// It contradicts something that is there, or there is too much of it.
    Senseless(String),
    /// The disk did not take it.
    Disk(String),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::NotRunning(app) => write!(
                f,
                "the application \"{app}\" does not run here: start the controller with it among --apps, or in apps of its \
                 configuration"
            ),
            Refused::Missing(name) => write!(f, "there is no \"{name}\""),
            Refused::NotSo(why)
            | Refused::Configured(why)
            | Refused::Senseless(why)
            | Refused::Disk(why) => f.write_str(why),
        }
    }
}

/// Keeps what people set. What changes something may wait for a disk.
pub trait Keeps: Send + Sync + 'static {
    /// Whether what is set outlives the controller.
    fn is_durable(&self) -> bool;

    /// The flows, by name.
    ///
    /// # Errors
    /// Nobody would send them.
    fn static_flows(&self) -> Result<Vec<Kept<Arc<StaticFlow>>>, Refused>;

    /// What became of one at each connected switch.
    fn fates_of_flow(&self, name: &str) -> Vec<Fate>;

    /// Sets and removes flows: all, or none.
    ///
    /// # Errors
    /// See [`Refused`].
    fn change_static_flows(
        &self,
        set: Vec<StaticFlow>,
        remove: Vec<String>,
        only: Only,
    ) -> Result<(), Refused>;

    /// The rules about packets, in order.
    ///
    /// # Errors
    /// Nobody would follow them.
    fn acl(&self) -> Result<Vec<Kept<Arc<AclRule>>>, Refused>;

    /// What became of one at each connected switch.
    fn fates_of_rule(&self, name: &str) -> Vec<Fate>;

    /// Changes the rules about packets.
    ///
    /// # Errors
    /// See [`Refused`].
    fn change_acl(&self, change: AclChange) -> Result<(), Refused>;

    /// The entries that scripts of Floodlight's keep, by name, each as it was sent.
    fn floodlight_entries(&self) -> BTreeMap<String, Value>;

    /// Keeps such an entry under its name, or none any more: these changes, or none of them.
    ///
    /// # Errors
    /// It is too long, or the disk.
    fn change_floodlight_entries(
        &self,
        changes: Vec<(String, Option<Value>)>,
    ) -> Result<(), Refused>;

    /// What people call switches.
    fn names(&self) -> BTreeMap<DatapathId, String>;

    /// Calls a switch so, or nothing any more.
    ///
    /// # Errors
    /// See [`Refused`].
    fn set_name(&self, switch: DatapathId, name: Option<String>) -> Result<(), Refused>;

    /// The rules about weights that count, and whether they were set over HTTP.
    fn weights(&self) -> (Vec<WeightRule>, Source);

    /// These rules about weights in place of all, each of which makes sense; or those of the configuration again.
    ///
    /// # Errors
    /// The disk.
    fn set_weights(&self, rules: Option<Vec<WeightRule>>) -> Result<(), Refused>;

    /// Reads the configuration again, and applies what is different.
    ///
    /// # Errors
    /// There is none, or it makes no sense; the old settings stay.
    fn reread(&self) -> Result<Reread, Refused>;
}
