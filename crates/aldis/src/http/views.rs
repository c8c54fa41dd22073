//! What the applications, the World and the settings look like from outside.

use std::collections::BTreeMap;

use aldis_control::pipeline::{Graph, LineUp};
use aldis_control::stats::AppSnapshot;
use aldis_control::{EventKind, World};
use aldis_engine::design::{Batching, Read, Write};
#[cfg(feature = "sandbox")]
use aldis_http::api::apps::Candidate;
use aldis_http::api::apps::{App, AppState, Apps, Counted, Sequence, WorldPart};
use aldis_http::api::weights::Design;

use crate::app_registry::BUILT_IN;
use crate::config::Config;
#[cfg(feature = "sandbox")]
use crate::installed::AboutInstalled;

/// What [`Graph`] says, as it is told.
pub(crate) fn apps(graph: &Graph) -> Apps {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let says = |name: &str| BUILT_IN.iter().find(|known| known.name == name);
    let apps = graph.apps.iter().map(|app| App {
        name: app.name.to_owned(),
        says: says(app.name).map_or_else(String::new, |known| known.says.to_owned()),
        state: if app.runs { AppState::Running } else { AppState::Stopped },
        reason: None,
        version: None,
        page: None,
        candidate: None,
        exclusive: app.exclusive,
        starts_on: app.starts.iter().map(|on| on.name().to_owned()).collect(),
        reads: names(&app.reads),
        publishes: names(&app.publishes),
        counted: None,
    });
    let sequences = graph.sequences.iter().cloned().map(|one| sequence(one, &graph.branches));
    let world = graph.parts.iter().map(|part| WorldPart {
        name: part.name.to_owned(),
        publisher: part.publisher.to_owned(),
        made_of: names(&part.made_of),
    });
    Apps { apps: apps.collect(), sequences: sequences.collect(), world: world.collect() }
}

/// An order, with those of the branches that are on its event.
fn sequence(
    (on, apps): (EventKind, Vec<&'static str>),
    branches: &[(EventKind, Vec<Vec<&'static str>>)],
) -> Sequence {
    let owned = |names: &Vec<&str>| names.iter().map(|name| (*name).to_owned()).collect();
    let told = branches.iter().filter(|(kind, _)| *kind == on);
    let branches = told.flat_map(|(_, chains)| chains.iter().map(owned)).collect();
    Sequence { on: on.name().to_owned(), apps: owned(&apps), branches }
}

/// The applications as they are lined up now.
pub(super) struct AppsView<'r> {
    /// Those of the start.
    pub(super) known: &'r Apps,
    pub(super) line_up: &'r LineUp,
    pub(super) world: &'r World,
    /// Those that were installed.
    #[cfg(feature = "sandbox")]
    pub(super) installed: BTreeMap<&'static str, AboutInstalled>,
}

impl AppsView<'_> {
    /// With what they did until now.
    pub(super) fn told(&self, did: Vec<AppSnapshot>) -> Apps {
        let branches = self.line_up.branches();
        Apps {
            apps: did.into_iter().filter_map(|did| self.app(did)).collect(),
            sequences: self.line_up.sequences().map(|one| sequence(one, &branches)).collect(),
            world: self.known.world.clone(),
        }
    }

    fn app(&self, did: AppSnapshot) -> Option<App> {
        #[cfg(feature = "sandbox")]
        if let Some(about) = self.installed.get(did.app) {
            return Some(installed(about, did));
        }
        let app = self.known.apps.iter().find(|app| app.name == did.app)?;
        let state = state(did.state);
        let (reason, counted) = (did.reason.clone(), Some(counted(app, did, self.world)));
        Some(App { state, reason, counted, ..app.clone() })
    }
}

/// An installed application. What its sandbox is doing goes before what the workers say.
#[cfg(feature = "sandbox")]
fn installed(about: &AboutInstalled, did: AppSnapshot) -> App {
    use aldis_sandbox::AppState as Sandbox;
    let (state, reason) = match (&about.state, state(did.state)) {
        (Sandbox::Restarting(why), AppState::Running) => {
            (AppState::Restarting, Some(why.to_string()))
        }
        (Sandbox::Quarantined(why), AppState::Running) => {
            (AppState::Quarantined, Some(why.to_string()))
        }
        (_, state) => (state, did.reason),
    };
    let in_words = |(name, number): (&str, u64)| (name.to_owned(), number);
    App {
        name: did.app.to_owned(),
        says: about.says.clone(),
        state,
        reason,
        version: Some(about.version.clone()),
        page: about.page.clone(),
        candidate: about.candidate.clone().map(candidate),
        exclusive: false,
        starts_on: about.starts.iter().map(|kind| kind.name().to_owned()).collect(),
        reads: vec![],
        publishes: vec![],
        counted: Some(Counted {
            failed: state == AppState::Quarantined,
            failures: did.failures + about.failures,
            events: did.events.into_iter().map(in_words).collect(),
            bytes_out: did.bytes_out,
            own: about.own.clone(),
            now: BTreeMap::new(),
        }),
    }
}

#[cfg(feature = "sandbox")]
fn candidate(
    (version, state, status): (String, aldis_sandbox::AppState, aldis_sandbox::ShadowStatus),
) -> Candidate {
    use aldis_sandbox::AppState as Sandbox;
    let state = match state {
        Sandbox::Running => AppState::Running,
        Sandbox::Stopped => AppState::Stopped,
        Sandbox::Restarting(_) => AppState::Restarting,
        Sandbox::Quarantined(_) => AppState::Quarantined,
    };
    let aldis_sandbox::ShadowStatus { agreed, differed, agreed_last, last_difference } = status;
    Candidate { version, state, agreed, differed, agreed_last, last_difference }
}

/// By its name in [`AppSnapshot`].
fn state(name: &str) -> AppState {
    match name {
        "stopped" => AppState::Stopped,
        "waiting" => AppState::Waiting,
        "failed" => AppState::Failed,
        _ => AppState::Running,
    }
}

fn counted(app: &App, did: AppSnapshot, world: &World) -> Counted {
    let in_words = |(name, number): (&str, u64)| (name.to_owned(), number);
    let (mut own, mut now) = (did.own, BTreeMap::new());
    for counts in app.publishes.iter().filter_map(|part| world.counts(part)) {
        own.extend(counts.counters);
        now.extend(counts.now);
    }
    Counted {
        failed: did.failed,
        failures: did.failures,
        events: did.events.into_iter().map(in_words).collect(),
        bytes_out: did.bytes_out,
        own: own.into_iter().map(in_words).collect(),
        now: now.into_iter().map(in_words).collect(),
    }
}

pub(super) fn design(config: &Config) -> Design {
    let design = &config.design;
    let mut knobs = BTreeMap::new();
    let mut say = |key: &str, value: String| drop(knobs.insert(key.to_owned(), value));
    say("max-read-bytes", design.read_max.to_string());
    say("core-binding", design.core_binding.to_string());
    say("request-binding", design.request_binding.to_string());
    say("output-batching", design.output_batching.to_string());
    say("priorities", design.priorities.to_string());
    say("prt", design.prt.map_or_else(|| "none".into(), |prt| prt.to_string()));
    if design.read.sheds() {
        say("shed", design.shed.to_string());
    }
    let write = match design.write {
        Write::Batched => "batched",
        Write::Immediate => "immediate",
        Write::PerLoop => "per-loop",
    };
    say("write", write.into());
    match design.batching {
        Batching::PerRead => say("batching", "per-read".into()),
        Batching::Fixed(ibt) => {
            say("batching", "fixed".into());
            say("ibt", ibt.requests().to_string());
        }
        Batching::Adaptive(bdu) => {
            say("batching", "adaptive".into());
            say("bdu-us", bdu.longest().as_micros().to_string());
        }
    }
    match design.read {
        Read::SharedQueue { io_threads, .. } => say("io-threads", io_threads.to_string()),
        Read::DynamicPartition { period, hysteresis } => {
            say("period-ms", period.as_millis().to_string());
            say("hysteresis-pct", hysteresis.to_string());
        }
        _ => {}
    }
    let (name, weighs) = (design.name.to_owned(), design.read.weighs());
    Design { design: name, weighs, workers: config.workers(), knobs }
}
