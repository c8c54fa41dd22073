//! The applications that Aldis brings along, by name.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use aldis_apps::hosts::Lookout;
use aldis_apps::route_flow::{Book, RouteFlow};
use aldis_apps::routing::Routing;
use aldis_apps::spanning::{Repeats, Spanning};
use aldis_apps::static_flows::Pusher;
use aldis_apps::topology::{Discovery, Key};
use aldis_apps::{Acl, ArpProxy, DhcpProxy, Hub, LearningSwitch, Leftovers, Monitor, NdProxy};
use aldis_control::{App, Recipe};
use aldis_http::plain::meant;

use crate::run::Config;

/// An application that can be configured.
pub(crate) struct Known {
    /// The name by which it is configured and shown.
    pub(crate) name: &'static str,
    /// What it does, in one sentence.
    pub(crate) says: &'static str,
    /// Adds it to a recipe, with its settings.
    add: fn(Recipe, &Config) -> Recipe,
}

/// All of them.
pub(crate) static ALL: &[Known] = &[
    Known {
        name: LearningSwitch::NAME,
        says: "learns behind which port each host is, switch by switch, and installs flows",
        add: |recipe, config| {
            let settings = config.learning_switch();
            recipe.with(move || LearningSwitch::new(settings))
        },
    },
    Known {
        name: Acl::NAME,
        says: "denies, allows and copies packets by ordered rules, before all others",
        add: |recipe, config| {
            let acl = Acl::new(config.rules_to_begin_with());
            recipe.with(move || acl.clone())
        },
    },
    Known {
        name: Pusher::NAME,
        says: "keeps named flows on their switches",
        add: |recipe, config| {
            let pusher = Pusher::new(config.flows_to_begin_with(), config.tables());
            recipe.with(move || pusher.clone())
        },
    },
    Known {
        name: ArpProxy::NAME,
        says: "answers ARP questions from the table of hosts, or asks only the host",
        add: |recipe, _| recipe.with(|| ArpProxy),
    },
    Known {
        name: NdProxy::NAME,
        says: "does the same for IPv6 neighbours",
        add: |recipe, _| recipe.with(|| NdProxy),
    },
    Known {
        name: DhcpProxy::NAME,
        says: "sends DHCP to the servers, and their words to the client",
        add: |recipe, config| {
            let trust = config.dhcp_servers();
            recipe.with(move || DhcpProxy::new(trust.clone()))
        },
    },
    Known {
        name: Hub::NAME,
        says: "sends every packet out of every other port; for teaching",
        add: |recipe, _| recipe.with(|| Hub),
    },
    Known {
        name: Monitor::NAME,
        says: "counts what ports, flows, tables and queues carry, with rates",
        add: |recipe, config| {
            let settings = config.monitor.settings();
            recipe.with(move || Monitor::new(settings))
        },
    },
    Known {
        name: Discovery::NAME,
        says: "finds the links between switches by probes that nobody can forge",
        add: |recipe, config| {
            let key = Key::kept(config.lldp_key().unwrap_or_else(random), random());
            let settings = config.topology();
            recipe.with(move || Discovery::new(settings, key.clone()))
        },
    },
    Known {
        name: Lookout::NAME,
        says: "knows which hosts there are, their addresses, and where they are attached",
        add: |recipe, config| {
            let settings = config.hosts();
            recipe.with(move || Lookout::new(settings))
        },
    },
    Known {
        name: Routing::NAME,
        says: "publishes the ways between all switches; its engine can be chosen",
        add: |recipe, config| {
            let (engine, heeds_latency) = config.routing.engine();
            recipe.with(move || Routing::new(Arc::clone(&engine), heeds_latency))
        },
    },
    Known {
        name: RouteFlow::NAME,
        says: "installs the whole path of a flow, and leads it around links that go",
        add: |recipe, config| {
            let style = config.route_flow.style(config.tables());
            let book = Arc::new(Book::new(config.route_flow.paths_max(config.room())));
            recipe.with(move || RouteFlow::new(style, Arc::clone(&book)))
        },
    },
    Known {
        name: Spanning::NAME,
        says: "floods what nobody answered, without loops; comes last",
        add: |recipe, config| {
            let frames = config.room().frames(Repeats::FRAMES_MAX);
            let repeats = Arc::new(Repeats::with_room(frames));
            recipe.with(move || Spanning::new(Arc::clone(&repeats)))
        },
    },
];

/// What runs unless somebody says otherwise: what it takes for any Ethernet network to work, loops or not.
const DEFAULTS: [&str; 9] = [
    Pusher::NAME,
    Discovery::NAME,
    Lookout::NAME,
    ArpProxy::NAME,
    NdProxy::NAME,
    DhcpProxy::NAME,
    Routing::NAME,
    RouteFlow::NAME,
    Spanning::NAME,
];

/// Those that make flows which may stay for ever.
const MAKE_FLOWS: [&str; 5] =
    [Acl::NAME, Pusher::NAME, Discovery::NAME, LearningSwitch::NAME, RouteFlow::NAME];

/// Behind the applications that run, the one that removes what those left behind that do not.
pub(crate) fn without_leftovers(recipe: Recipe, run: &[AppName]) -> Recipe {
    let runs = |name: &&str| run.iter().any(|app| app.name() == *name);
    let leftovers = Leftovers::new(MAKE_FLOWS.into_iter().filter(|name| !runs(name)));
    recipe.with(move || leftovers.clone())
}

/// Bytes that nobody can know, drawn from the system at the start.
pub(crate) fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    let drawn = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    // Fewer than 257 bytes come whole, and wait for nothing once the system is up (getrandom(2)).
    assert_eq!(drawn, Ok(bytes.len()), "the system has no random bytes");
    bytes
}

impl fmt::Debug for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// An application by its name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AppName(&'static Known);

impl AppName {
    /// What runs unless somebody says otherwise.
    pub(crate) fn defaults() -> Vec<AppName> {
        let named = |known: &&Known| DEFAULTS.iter().position(|name| *name == known.name);
        let mut apps: Vec<&Known> = ALL.iter().filter(|known| named(known).is_some()).collect();
        apps.sort_by_key(named);
        apps.into_iter().map(AppName).collect()
    }

    /// The name.
    pub(crate) fn name(self) -> &'static str {
        self.0.name
    }

    /// Adds it to a recipe, with its settings.
    pub(crate) fn add_to(self, recipe: Recipe, config: &Config) -> Recipe {
        (self.0.add)(recipe, config)
    }
}

impl PartialEq for AppName {
    fn eq(&self, other: &AppName) -> bool {
        self.name() == other.name()
    }
}

impl Eq for AppName {}

impl FromStr for AppName {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        ALL.iter().find(|known| known.name == name).map(AppName).ok_or_else(|| {
            let names: Vec<_> = ALL.iter().map(|known| known.name).collect();
            format!(
                "there is no application \"{name}\"; {}the applications are: {}",
                meant(name, names.iter().copied()),
                names.join(", ")
            )
        })
    }
}

impl<'de> serde::Deserialize<'de> for AppName {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aldis_control::Cookie;
    use std::collections::HashSet;

    #[test]
    fn no_two_applications_have_one_mark() {
        let marks: HashSet<_> = ALL.iter().map(|known| Cookie::of(known.name)).collect();
        assert_eq!(marks.len(), ALL.len());
    }
}
