//! The registry of applications: which can run, by name, and which do where nothing else is said.
//!
//! There are those that Aldis brings along ([`BUILT_IN`]) and those that an author adds
//! ([`crate::Controller::with`]). The configuration names both alike: `apps = ["census", "hosts"]`.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use aldis_apps::hosts::HostTracker;
use aldis_apps::route_flow::{PathLog, RouteFlow};
use aldis_apps::routing::Routing;
use aldis_apps::spanning::{Repeats, Spanning};
use aldis_apps::static_flows::StaticFlows;
use aldis_apps::topology::{TagKey, Topology};
use aldis_apps::{Acl, ArpProxy, DhcpProxy, Hub, LearningSwitch, Monitor, NdProxy, OrphanFlows};
use aldis_control::pipeline::Sequence;
use aldis_control::{App, AppSet};
use aldis_plain::meant;
use serde::Deserialize;
use serde_spanned::Spanned;

use crate::config::Config;

/// An application that Aldis brings along.
pub struct BuiltIn {
    /// The name by which it is configured and shown.
    pub name: &'static str,
    /// What it does, in one sentence.
    pub says: &'static str,
    /// Adds it to a recipe, with its settings.
    add: fn(AppSet, &Config) -> AppSet,
}

/// All that Aldis brings along.
pub static BUILT_IN: &[BuiltIn] = &[
    BuiltIn {
        name: LearningSwitch::NAME,
        says: "learns behind which port each host is, switch by switch, and installs flows",
        add: |app_set, config| {
            let settings = config.learning_switch();
            app_set.with(move || LearningSwitch::new(settings))
        },
    },
    BuiltIn {
        name: Acl::NAME,
        says: "denies, allows and copies packets by ordered rules, before all others",
        add: |app_set, config| {
            let acl = Acl::new(config.initial_rules());
            app_set.with(move || acl.clone())
        },
    },
    BuiltIn {
        name: StaticFlows::NAME,
        says: "keeps named flows on their switches",
        add: |app_set, config| {
            let static_flows = StaticFlows::new(config.initial_flows(), config.tables());
            app_set.with(move || static_flows.clone())
        },
    },
    BuiltIn {
        name: ArpProxy::NAME,
        says: "answers ARP questions from the table of hosts, or asks only the host",
        add: |app_set, _| app_set.with(|| ArpProxy),
    },
    BuiltIn {
        name: NdProxy::NAME,
        says: "does the same for IPv6 neighbours",
        add: |app_set, _| app_set.with(|| NdProxy),
    },
    BuiltIn {
        name: DhcpProxy::NAME,
        says: "sends DHCP requests to the servers, and their answers to the client",
        add: |app_set, config| {
            let trust = config.dhcp_servers();
            app_set.with(move || DhcpProxy::new(trust.clone()))
        },
    },
    BuiltIn {
        name: Hub::NAME,
        says: "sends every packet out of every other port; for teaching",
        add: |app_set, _| app_set.with(|| Hub),
    },
    BuiltIn {
        name: Monitor::NAME,
        says: "counts what ports, flows, tables and queues carry, with rates",
        add: |app_set, config| {
            let settings = config.monitor.settings();
            app_set.with(move || Monitor::new(settings))
        },
    },
    BuiltIn {
        name: Topology::NAME,
        says: "finds the links between switches by probes that cannot be forged",
        add: |app_set, config| {
            let key = match &config.recorded_tags {
                Some(recorded) => TagKey::of_recording(Arc::clone(recorded), random()),
                None => TagKey::kept(config.lldp_key().unwrap_or_else(random), random()),
            };
            let settings = config.topology();
            app_set.with(move || Topology::new(settings, key.clone()))
        },
    },
    BuiltIn {
        name: HostTracker::NAME,
        says: "knows which hosts there are, their addresses, and where they are attached",
        add: |app_set, config| {
            let settings = config.hosts();
            app_set.with(move || HostTracker::new(settings))
        },
    },
    BuiltIn {
        name: Routing::NAME,
        says: "publishes the ways between all switches; its engine can be chosen",
        add: |app_set, config| {
            let (engine, uses_latency) = config.routing.engine();
            app_set.with(move || Routing::new(Arc::clone(&engine), uses_latency))
        },
    },
    BuiltIn {
        name: RouteFlow::NAME,
        says: "installs the whole path of a flow, and leads it around links that go",
        add: |app_set, config| {
            let style = config.route_flow.style(config.tables());
            let book = Arc::new(PathLog::new(config.route_flow.paths_max(config.room())));
            app_set.with(move || RouteFlow::new(style, Arc::clone(&book)))
        },
    },
    BuiltIn {
        name: Spanning::NAME,
        says: "floods what nobody answered, without loops; comes last",
        add: |app_set, config| {
            let frames = config.room().frames(Repeats::FRAMES_MAX);
            let repeats = Arc::new(Repeats::with_room(frames));
            app_set.with(move || Spanning::new(Arc::clone(&repeats)))
        },
    },
];

/// What runs by default: what it takes for any Ethernet network to work, loops
/// or not.
const DEFAULTS: [&str; 9] = [
    StaticFlows::NAME,
    Topology::NAME,
    HostTracker::NAME,
    ArpProxy::NAME,
    NdProxy::NAME,
    DhcpProxy::NAME,
    Routing::NAME,
    RouteFlow::NAME,
    Spanning::NAME,
];

/// Those that can be started while the controller runs, though the configuration does not name
/// them: they publish no part of the World. Each with the application without which it cannot run.
const STARTABLE: [(&str, Option<&str>); 5] = [
    (ArpProxy::NAME, Some(HostTracker::NAME)),
    (NdProxy::NAME, Some(HostTracker::NAME)),
    (DhcpProxy::NAME, Some(HostTracker::NAME)),
    (LearningSwitch::NAME, None),
    (Hub::NAME, None),
];

/// What can be started later comes in front of these, which answer whatever they see.
const ANSWER_ALL: [&str; 4] = [RouteFlow::NAME, LearningSwitch::NAME, Hub::NAME, Spanning::NAME];

/// What is installed later comes in front of these, which answer what they know an answer to.
pub(crate) const ANSWERERS: [&str; 7] = [
    ArpProxy::NAME,
    NdProxy::NAME,
    DhcpProxy::NAME,
    RouteFlow::NAME,
    LearningSwitch::NAME,
    Hub::NAME,
    Spanning::NAME,
];

/// Those that make flows which may stay for ever.
const MAKE_FLOWS: [&str; 5] =
    [Acl::NAME, StaticFlows::NAME, Topology::NAME, LearningSwitch::NAME, RouteFlow::NAME];

/// An application that an author adds.
#[derive(Clone)]
struct Added {
    name: &'static str,
    add: Arc<dyn Fn(AppSet) -> AppSet + Send + Sync>,
}

/// The applications of one controller.
#[derive(Clone, Debug)]
pub(crate) struct AppRegistry {
    added: Vec<Added>,
    /// Those that run where the configuration names none, in order.
    usual: Vec<AppName>,
    /// The orders of an author, which count where the configuration names no applications.
    sequences: Vec<Sequence>,
}

impl Default for AppRegistry {
    /// Those that Aldis brings along, of which the usual ones run.
    fn default() -> AppRegistry {
        let usual = DEFAULTS.iter().copied().map(AppName::of).collect();
        AppRegistry { usual, ..AppRegistry::empty() }
    }
}

impl AppRegistry {
    /// The same, of which none runs.
    pub(crate) fn empty() -> AppRegistry {
        AppRegistry { added: vec![], usual: vec![], sequences: vec![] }
    }

    /// An author's application, which runs behind those before it.
    pub(crate) fn add<A: App>(&mut self, make: impl Fn() -> A + Clone + Send + Sync + 'static) {
        let add = Arc::new(move |app_set: AppSet| app_set.with(make.clone()));
        self.added.push(Added { name: A::NAME, add });
        self.usual.push(AppName::of(A::NAME));
    }

    /// The usual ones run too, behind those before them.
    pub(crate) fn add_defaults(&mut self) {
        self.usual.extend(AppRegistry::default().usual);
    }

    /// An order of an author.
    pub(crate) fn sequence(&mut self, sequence: Sequence) {
        self.sequences.push(sequence);
    }

    /// What runs where the configuration names no applications.
    pub(crate) fn usual(&self) -> &[AppName] {
        &self.usual
    }

    /// The orders that count there.
    pub(crate) fn sequences(&self) -> impl Iterator<Item = Sequence> {
        self.sequences.iter().cloned()
    }

    /// Adds one to a recipe, with its settings.
    ///
    /// # Errors
    /// There is none of this name: one sentence, with what was probably meant.
    pub(crate) fn add_to(
        &self,
        app_set: AppSet,
        app: &AppName,
        config: &Config,
    ) -> Result<AppSet, String> {
        if let Some(added) = self.added.iter().find(|added| added.name == app.name) {
            return Ok((added.add)(app_set));
        }
        if let Some(built_in) = BUILT_IN.iter().find(|built_in| built_in.name == app.name) {
            return Ok((built_in.add)(app_set, config));
        }
        let added = self.added.iter().map(|added| added.name);
        let names: Vec<_> = added.chain(BUILT_IN.iter().map(|built_in| built_in.name)).collect();
        Err(format!(
            "there is no application \"{}\"; {}the applications are: {}",
            app.name,
            meant(&app.name, names.iter().copied()),
            names.join(", ")
        ))
    }
}

/// With those that can be started while the controller runs, beside those that run from its start.
pub(crate) fn with_startable(app_set: AppSet, config: &Config) -> AppSet {
    let startable = |known: &&BuiltIn| {
        let is_there = |needed: &str| app_set.names().any(|name| name == needed);
        let found = STARTABLE.iter().find(|(name, _)| *name == known.name);
        let fits = found.is_some_and(|(_, needs)| needs.is_none_or(is_there));
        fits && !is_there(known.name)
    };
    let idle: Vec<_> = BUILT_IN.iter().filter(startable).collect();
    let add = |app_set, known: &BuiltIn| (known.add)(app_set, config).idle(&ANSWER_ALL);
    idle.into_iter().fold(app_set, add)
}

impl fmt::Debug for Added {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Behind the applications that run, the one that removes what those left behind that do not.
pub(crate) fn without_leftovers(app_set: AppSet, run: &[AppName]) -> AppSet {
    let runs = |name: &&str| run.iter().any(|app| app.name == *name);
    let leftovers = OrphanFlows::new(MAKE_FLOWS.into_iter().filter(|name| !runs(name)));
    app_set.with(move || leftovers.clone())
}

/// Unpredictable bytes, drawn from the system at the start.
pub(crate) fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    let drawn = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    // Fewer than 257 bytes come whole, and wait for nothing once the system is up (getrandom(2)).
    assert_eq!(drawn, Ok(bytes.len()), "the system has no random bytes");
    bytes
}

/// The name of an application, as the configuration says it.
#[derive(Clone, Debug)]
pub struct AppName {
    name: String,
    /// The byte of the configuration file where it stands.
    at: Option<usize>,
}

impl AppName {
    fn of(name: &str) -> AppName {
        AppName { name: name.to_owned(), at: None }
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The byte of the configuration file where it stands, if it does.
    pub(crate) fn at(&self) -> Option<usize> {
        self.at
    }
}

impl PartialEq for AppName {
    fn eq(&self, other: &AppName) -> bool {
        self.name == other.name
    }
}

impl Eq for AppName {}

impl FromStr for AppName {
    type Err = std::convert::Infallible;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Ok(AppName::of(name))
    }
}

impl<'de> Deserialize<'de> for AppName {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let name = Spanned::<String>::deserialize(from)?;
        let at = Some(name.span().start);
        Ok(AppName { name: name.into_inner(), at })
    }
}

impl fmt::Debug for BuiltIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aldis_control::Cookie;
    use std::collections::HashSet;

    #[test]
    fn no_two_applications_have_one_mark() {
        let marks: HashSet<_> = BUILT_IN.iter().map(|known| Cookie::of(known.name)).collect();
        assert_eq!(marks.len(), BUILT_IN.len());
    }
}
