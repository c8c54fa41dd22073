//! Where people's decisions come together while a controller runs: over HTTP, by SIGHUP, from the store. What they decide is kept
//! first, and counts then: knobs and weights by the engine's handle, flows and rules as parts of the World.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use aldis_apps::Acl;
use aldis_apps::acl::{AclBook, Judged};
use aldis_apps::kept::{KeptFlows, Status, Whose};
use aldis_apps::static_flows::{Pusher, StaticFlowBook};
use aldis_control::App;
use aldis_control::world::Part;
use aldis_engine::Handle;
use aldis_http::api::weights::Rule;
use aldis_http::kept::{
    self, AclChange, Fate, Keeps, Only, Refused, Reread, Source, StaticFlow, Value,
};
use aldis_wire::DatapathId;
use tracing::{info, warn};

use super::kept::{Kept, acl, flows};
use super::reload::Changes;
use super::secure::Doors;
use super::settings::Settings;
use super::weights::{self, Rule as WeightRule, Rules};
use super::{Args, Config, read, settle};

/// Between two attempts to tell a publisher that has no room: it takes thousands of reports each millisecond.
const TOLD_AGAIN: Duration = Duration::from_millis(5);

/// After so many attempts it is not there any more: the controller is ending.
const TOLD_AGAIN_MAX: u32 = 1000;

/// See the file.
pub(super) struct Desk {
    args: Args,
    settings: Arc<Settings>,
    kept: Mutex<Kept>,
    engine: Handle,
    /// What gets other certificates and keys, once it is open.
    doors: OnceLock<Doors>,
}

impl Desk {
    pub(super) fn new(args: Args, settings: Arc<Settings>, kept: Kept, engine: Handle) -> Desk {
        Desk { args, settings, kept: Mutex::new(kept), engine, doors: OnceLock::new() }
    }

    /// These doors are open from now on.
    pub(super) fn serves(&self, doors: Doors) {
        let _ = self.doors.set(doors);
    }

    /// Reads certificates and keys again: the command line names files too.
    ///
    /// # Errors
    /// One sentence; the old ones stay.
    pub(super) fn reread_access(&self) -> Result<(), String> {
        self.read_doors_again(&self.settings.now())
    }

    fn read_doors_again(&self, config: &Config) -> Result<(), String> {
        self.doors.get().map_or(Ok(()), |doors| doors.read_again(config))
    }

    /// The configuration's file, if there is one.
    pub(super) fn file(&self) -> Option<String> {
        self.args.config.as_ref().map(|file| file.display().to_string())
    }

    /// Reads the settings again; what of them counts at once does.
    ///
    /// # Errors
    /// One sentence; the old settings stay.
    pub(super) fn reread_settings(&self) -> Result<Changes, String> {
        let mut kept = self.kept();
        let config = settle(read(&self.args)?, &self.args, &kept)?;
        self.read_doors_again(&config)?;
        configure(&mut kept, &config);
        let changes = self.settings.reread(config);
        self.tell_flows(&kept);
        self.tell_rules(&kept);
        Ok(changes)
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        // What is kept is changed after all that can fail.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn runs<A: App>(&self) -> Result<(), Refused> {
        let runs = self.settings.now().apps.iter().any(|app| app.name() == A::NAME);
        if runs { Ok(()) } else { Err(Refused::NotRunning(A::NAME)) }
    }

    fn tell_flows(&self, kept: &Kept) {
        if self.runs::<Pusher>().is_ok() {
            let all: Arc<[_]> = kept.flows.iter().map(|(flow, _)| Arc::clone(flow)).collect();
            self.tell::<StaticFlowBook>(&all);
        }
    }

    fn tell_rules(&self, kept: &Kept) {
        if self.runs::<Acl>().is_ok() {
            let all = kept.acl.iter().map(|(rule, _)| Judged::new(Arc::clone(rule)));
            self.tell::<AclBook>(&all.collect::<Arc<[_]>>());
        }
    }

    /// Until it is told: the application runs, and its publisher makes room.
    fn tell<P: Part<Report: Clone>>(&self, report: &P::Report) {
        for _ in 0..TOLD_AGAIN_MAX {
            if self.engine.report::<P>(report.clone()).is_ok() {
                return;
            }
            std::thread::sleep(TOLD_AGAIN);
        }
        warn!("what changed could not be told to the applications: it counts after a restart");
    }

    fn fates<W: Whose>(&self, name: &str) -> Vec<Fate> {
        let world = self.engine.world();
        let Some(part) = world.part::<KeptFlows<W>>() else { return vec![] };
        let fate = |(switch, entries): (DatapathId, &[aldis_apps::kept::Entry])| {
            let entry = entries.iter().find(|entry| *entry.name == *name)?;
            let there = entry.status == Status::There;
            Some(Fate { switch, there, words: entry.status.to_string() })
        };
        part.iter().filter_map(fate).collect()
    }

    /// Of each name, at how many switches it is and is not.
    fn counts<W: Whose>(&self) -> HashMap<Arc<str>, (usize, usize)> {
        let world = self.engine.world();
        let mut counts: HashMap<Arc<str>, (usize, usize)> = HashMap::new();
        for (_, entries) in world.part::<KeptFlows<W>>().into_iter().flat_map(KeptFlows::iter) {
            for entry in entries {
                let (there, missing) = counts.entry(Arc::clone(&entry.name)).or_default();
                *if entry.status == Status::There { there } else { missing } += 1;
            }
        }
        counts
    }
}

/// What is kept follows the configuration; where both name the same, that is said.
pub(super) fn configure(kept: &mut Kept, config: &Config) {
    let flows = kept.flows.configure(config.static_flows());
    let rules = kept.acl.configure(config.acl());
    for (what, names) in [("flow", flows), ("rule", rules)] {
        for name in names {
            warn!(
                "the {what} \"{name}\" was set over HTTP, and the configuration has one of this name, which counts instead"
            );
        }
    }
}

fn shown<A, B>(
    of: impl Iterator<Item = (A, Source)>,
    counts: &HashMap<Arc<str>, (usize, usize)>,
    theirs: impl Fn(A) -> (Arc<str>, B),
) -> Vec<kept::Kept<Arc<B>>> {
    let one = |(it, source)| {
        let (name, it) = theirs(it);
        let (there, missing) = counts.get(&name).copied().unwrap_or_default();
        kept::Kept { it: Arc::new(it), source, there, missing }
    };
    of.map(one).collect()
}

impl Keeps for Desk {
    fn is_durable(&self) -> bool {
        self.kept().is_durable()
    }

    fn static_flows(&self) -> Result<Vec<kept::Kept<Arc<StaticFlow>>>, Refused> {
        self.runs::<Pusher>()?;
        let counts = self.counts::<Pusher>();
        let kept = self.kept();
        let theirs = |flow: &Arc<_>| {
            let flow = flows::theirs(flow);
            (Arc::clone(&flow.name), flow)
        };
        let mut all = shown(kept.flows.iter(), &counts, theirs);
        all.sort_by(|one, other| one.it.name.cmp(&other.it.name));
        Ok(all)
    }

    fn fates_of_flow(&self, name: &str) -> Vec<Fate> {
        self.fates::<Pusher>(name)
    }

    fn change_static_flows(
        &self,
        set: Vec<StaticFlow>,
        remove: Vec<String>,
        only: Only,
    ) -> Result<(), Refused> {
        self.runs::<Pusher>()?;
        let mut kept = self.kept();
        kept.change_flows(set, remove, only)?;
        self.tell_flows(&kept);
        Ok(())
    }

    fn acl(&self) -> Result<Vec<kept::Kept<Arc<kept::AclRule>>>, Refused> {
        self.runs::<Acl>()?;
        let counts = self.counts::<Acl>();
        let theirs = |rule: &Arc<_>| {
            let rule = acl::theirs(rule);
            (Arc::clone(&rule.name), rule)
        };
        Ok(shown(self.kept().acl.iter(), &counts, theirs))
    }

    fn fates_of_rule(&self, name: &str) -> Vec<Fate> {
        self.fates::<Acl>(name)
    }

    fn change_acl(&self, change: AclChange) -> Result<(), Refused> {
        self.runs::<Acl>()?;
        let mut kept = self.kept();
        kept.change_acl(change)?;
        self.tell_rules(&kept);
        Ok(())
    }

    fn floodlight_entries(&self) -> BTreeMap<String, Value> {
        self.kept().floodlight_entries()
    }

    fn change_floodlight_entries(
        &self,
        changes: Vec<(String, Option<Value>)>,
    ) -> Result<(), Refused> {
        self.kept().change_floodlight_entries(changes)
    }

    fn names(&self) -> BTreeMap<DatapathId, String> {
        self.kept().names().clone()
    }

    fn set_name(&self, switch: DatapathId, name: Option<String>) -> Result<(), Refused> {
        self.kept().name(switch, name)
    }

    fn weights(&self) -> (Vec<Rule>, Source) {
        let rule =
            |rule: &WeightRule| Rule { switches: rule.switches.clone(), weight: rule.weight };
        let set = self.kept().set_weights().is_some();
        let source = if set { Source::Http } else { Source::Configuration };
        (self.settings.now().rules.iter().map(rule).collect(), source)
    }

    fn set_weights(&self, rules: Option<Vec<Rule>>) -> Result<(), Refused> {
        let ours = |Rule { switches, weight }: Rule| WeightRule {
            switches: switches.trim().to_owned(),
            weight,
        };
        let rules: Option<Vec<_>> = rules.map(|rules| rules.into_iter().map(ours).collect());
        let mut kept = self.kept();
        kept.weigh(rules.clone())?;
        // Each was found to make sense.
        let rules = rules.map(|rules| Rules::of(&rules).unwrap_or_default());
        for line in self.settings.weigh(rules) {
            info!("HTTP: {line}");
        }
        weights::warn_if_idle(&self.settings.now());
        Ok(())
    }

    fn reread(&self) -> Result<Reread, Refused> {
        if self.args.config.is_none() {
            let why = "there is nothing to read again: the controller was started without --config";
            return Err(Refused::Configured(why.into()));
        }
        let changes = self.reread_settings().map_err(Refused::Senseless)?;
        changes.log(&self.file().unwrap_or_default());
        let waiting = changes.waiting.iter().map(|key| (*key).to_owned()).collect();
        Ok(Reread { applied: changes.applied, waiting })
    }
}
