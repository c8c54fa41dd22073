//! Desired state: what an operator set and expects to find again, as the server sees it. The
//! controller implements [`ConfigStore`].
//!
//! Where there is a store, a change is on disk before it is acknowledged. It counts from then on,
//! and again after a restart.

use std::collections::BTreeMap;
use std::fmt;

use aldis_apps::acl::Rule;
use aldis_apps::static_flows::StaticFlow;
use aldis_control::weights::WeightRule;
use aldis_wire::DatapathId;
use serde::{Deserialize, Serialize};
#[cfg(test)]
use utoipa::ToSchema;

pub use crate::compat::floodlight::entries::check as check_floodlight_entry;
pub use serde_json::Value;

/// Where it was set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// The configuration or the command line
    Configuration,
    /// A request over HTTP
    Http,
}

/// What became of a flow or rule at a switch.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
#[cfg_attr(test, schema(as = AtSwitch))]
pub struct InstallStatus {
    /// The switch
    pub switch: String,
    /// Whether it is there
    pub there: bool,
    /// What became of it
    pub words: String,
}

/// At how many connected switches a flow is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Installed {
    /// Switches that have it.
    pub there: usize,
    /// Switches that should have it and do not, or not yet.
    pub missing: usize,
}

/// A flow or a rule with its source and with what became of it, as JSON shows it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Stored<T> {
    /// The flow or the rule.
    #[serde(flatten)]
    pub it: T,
    /// Whether the configuration or a request set it.
    pub source: Source,
    /// Where it is; said of flows alone.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub installed: Option<Installed>,
    /// What became of it at each connected switch, where one flow or rule was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub at: Vec<InstallStatus>,
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
    All(Vec<Rule>),
    /// This one in place of that of its name; where there is none, before the named one or last.
    One(Rule, Option<String>, Only),
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
pub enum SetError {
    /// The application that would do it does not run.
    NotRunning(&'static str),
    /// There is none of this name.
    Missing(String),
    /// There is one of this name although none was expected, or another than was expected.
    NotSo(String),
    /// The configuration says something else, or already says it.
    Configured(String),
    /// It contradicts something that is there, or there is too much of it.
    Senseless(String),
    /// The disk did not take it.
    Disk(String),
}

impl fmt::Display for SetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SetError::NotRunning(app) => write!(
                f,
                "the application \"{app}\" does not run here: start the controller with it among \
                 --apps, or in apps of its configuration"
            ),
            SetError::Missing(name) => write!(f, "there is no \"{name}\""),
            SetError::NotSo(why)
            | SetError::Configured(why)
            | SetError::Senseless(why)
            | SetError::Disk(why) => f.write_str(why),
        }
    }
}

/// Keeps the desired state. A change may wait for a disk.
pub trait ConfigStore: Send + Sync + 'static {
    /// Whether what is set outlives the controller.
    fn is_durable(&self) -> bool;

    /// The static flows, by name.
    ///
    /// # Errors
    /// The application does not run.
    fn static_flows(&self) -> Result<Vec<Stored<StaticFlow>>, SetError>;

    /// What became of one at each connected switch.
    fn flow_status(&self, name: &str) -> Vec<InstallStatus>;

    /// Sets and removes flows: all, or none.
    ///
    /// # Errors
    /// See [`SetError`].
    fn change_static_flows(
        &self,
        set: Vec<StaticFlow>,
        remove: Vec<String>,
        only: Only,
    ) -> Result<(), SetError>;

    /// The rules about packets, in order.
    ///
    /// # Errors
    /// The application does not run.
    fn acl(&self) -> Result<Vec<Stored<Rule>>, SetError>;

    /// What became of one at each connected switch.
    fn rule_status(&self, name: &str) -> Vec<InstallStatus>;

    /// Changes the rules about packets.
    ///
    /// # Errors
    /// See [`SetError`].
    fn change_acl(&self, change: AclChange) -> Result<(), SetError>;

    /// The entries that scripts of Floodlight's keep, by name, each as it was sent.
    fn floodlight_entries(&self) -> BTreeMap<String, Value>;

    /// Sets entries under their names, or removes those that are none: all, or none of these
    /// changes.
    ///
    /// # Errors
    /// An entry is too long, or the disk did not take it.
    fn change_floodlight_entries(
        &self,
        changes: Vec<(String, Option<Value>)>,
    ) -> Result<(), SetError>;

    /// The names of switches.
    fn names(&self) -> BTreeMap<DatapathId, String>;

    /// Gives a switch a name, or none.
    ///
    /// # Errors
    /// See [`SetError`].
    fn set_name(&self, switch: DatapathId, name: Option<String>) -> Result<(), SetError>;

    /// The rules about weights that count, and whether they were set over HTTP.
    fn weights(&self) -> (Vec<WeightRule>, Source);

    /// These rules about weights, each of which makes sense, in place of all; or those of the
    /// configuration again.
    ///
    /// # Errors
    /// The disk did not take them.
    fn set_weights(&self, rules: Option<Vec<WeightRule>>) -> Result<(), SetError>;

    /// Reads the configuration again, and applies what is different.
    ///
    /// # Errors
    /// There is none, or it makes no sense; the old settings stay.
    fn reread(&self) -> Result<Reread, SetError>;
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// What REST showed before flows and rules had one type is what it shows.
    #[test]
    fn flows_and_rules_are_shown_flat_and_read_again() {
        let flow = json!({
            "name": "a", "switch": "*", "table": 3, "priority": 7, "match": {"in_port": "1"},
            "actions": ["output:2"], "then": ["goto-table:4"], "source": "http", "there": 2,
            "missing": 0, "at": [{"switch": "0000000000000001", "there": true, "words": "there"}],
        });
        let read: Stored<StaticFlow> = serde_json::from_value(flow.clone()).unwrap();
        assert_eq!(read.installed, Some(Installed { there: 2, missing: 0 }));
        assert_eq!(serde_json::to_value(&read).unwrap(), flow);
        let rule = json!({
            "name": "b", "action": "mirror", "mirror_to": "local", "match": {},
            "switches": ["0000000000000001"], "source": "configuration",
        });
        let read: Stored<Rule> = serde_json::from_value(rule.clone()).unwrap();
        assert_eq!((read.installed, read.at.len()), (None, 0));
        assert_eq!(serde_json::to_value(&read).unwrap(), rule);
    }
}
