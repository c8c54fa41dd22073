//! Installed applications: those that came as a package, each in its sandbox, while the controller
//! runs or from its folder at the start.
//!
//! ```text
//!   package ──read──▶ compiled ──started──▶ kept in the folder ──▶ lined up on every worker
//! ```
//!
//! What fails on the way leaves nothing behind. None of it runs on a worker.

mod asked;
mod candidate;
mod folder;
mod keeper;
mod network;
mod space;
mod table;
mod watch;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use aldis_control::EventKind;
use aldis_control::pipeline::AppEntry;
use aldis_engine::{Handle, LifecycleError};
use aldis_sandbox::{
    AppSettings, AppState, Application, Compiled, FlowsOnStop, KeyValue, Line, NetworkSnapshots,
    Package, Runtime, ShadowStatus, Trust,
};
use tracing::{info, warn};

use crate::added::{interned, marks_flows_apart, place};
use crate::admin::Admin;
use crate::own_flows::remove_all;
use candidate::Candidate;
use folder::Folder;
use network::PublishedNetwork;
use space::Space;
use table::{InstalledTable, TableChange};

/// The applications that were installed from packages.
pub(crate) struct InstalledApps {
    engine: Handle,
    runtime: Runtime,
    folder: Option<Folder>,
    trust: Trust,
    tables: aldis_control::Tables,
    network: Arc<dyn NetworkSnapshots>,
    apps: InstalledTable,
}

/// One of them.
#[derive(Clone)]
struct Installed {
    application: Application,
    package: Arc<[u8]>,
    space: Arc<Space>,
    /// Counts the versions that were put in its place.
    replaced: u64,
    /// The version that runs in its shadow.
    candidate: Option<Candidate>,
}

/// What is to be known of an installed application besides what any application has.
pub(crate) struct AboutInstalled {
    /// What it does, in its author's words.
    pub(crate) says: String,
    /// The version of its package.
    pub(crate) version: String,
    /// Where its page is, from the root of the server on.
    pub(crate) page: Option<String>,
    /// The kinds of events that it starts on.
    pub(crate) starts: &'static [EventKind],
    /// What its sandbox is doing.
    pub(crate) state: AppState,
    /// What it counts itself, and its sandbox of it.
    pub(crate) own: BTreeMap<String, u64>,
    /// How often it failed.
    pub(crate) failures: u64,
    /// The version in its shadow, and how far it agrees.
    pub(crate) candidate: Option<(String, AppState, ShadowStatus)>,
}

/// Why a package was not installed, or what was installed not changed.
#[derive(Debug)]
pub(crate) enum InstallError {
    /// The package is not one, or not one for here.
    Package(String),
    /// No application of this name was installed.
    Unknown(String),
    /// The workers refuse.
    Engine(LifecycleError),
    /// The disk did not take it.
    Disk(String),
}

impl InstalledApps {
    /// With those of the folder, where there is one. Each that cannot be installed is told about.
    ///
    /// # Errors
    /// One sentence: no sandbox can be made on this machine.
    pub(crate) fn start(
        engine: Handle,
        folder: Option<PathBuf>,
        trust: Trust,
        tables: aldis_control::Tables,
        admin: Arc<Admin>,
    ) -> Result<Arc<InstalledApps>, String> {
        let clock = engine.clone();
        let runtime = Runtime::new(move || clock.now());
        let runtime = runtime.map_err(|why| format!("cannot make sandboxes: {why}"))?;
        let folder = folder.map(Folder::new);
        let network = Arc::new(PublishedNetwork::new(engine.clone(), admin));
        let apps = InstalledTable::default();
        let installed = InstalledApps { engine, runtime, folder, trust, tables, network, apps };
        let installed = Arc::new(installed);
        installed.install_kept();
        keeper::begin(&installed)?;
        Ok(installed)
    }

    fn install_kept(&self) {
        let Some(folder) = &self.folder else { return };
        for kept in folder.packages() {
            let file = kept.file.display().to_string();
            let done = kept
                .read()
                .map_err(InstallError::Disk)
                .and_then(|bytes| self.put(&bytes, kept.runs, false).map(|name| name.to_owned()));
            match done {
                Ok(name) if kept.runs => info!("{name}: started from {file}"),
                Ok(name) => info!("{name}: there in {file}, and stopped as it was"),
                Err(why) => warn!("{file}: {}", why.sentence()),
            }
        }
    }

    /// Installs and starts an application.
    ///
    /// # Errors
    /// Why not; nothing is left behind then.
    pub(crate) fn install(&self, package: &[u8]) -> Result<(), InstallError> {
        self.put(package, true, true).map(drop)
    }

    fn put(&self, bytes: &[u8], runs: bool, keeps: bool) -> Result<&'static str, InstallError> {
        let mut apps = self.lock();
        let (application, space) = self.compile(bytes, None)?;
        let name = interned(application.name());
        if let Some(there) = self.engine.line_up().apps().find(|(_, there, _)| *there == name) {
            let why = aldis_control::pipeline::LineUpError::Twice(there.1);
            return Err(InstallError::Engine(why.into()));
        }
        marks_flows_apart(&self.engine, name).map_err(InstallError::Package)?;
        if runs {
            start(&application)?;
        }
        let folder = self.folder.as_ref().filter(|_| keeps);
        folder.map_or(Ok(()), |folder| folder.keep(name, bytes)).map_err(InstallError::Disk)?;
        let before = place(&self.engine);
        let added = match runs {
            true => self.engine.add_app(entry(&application), before),
            false => self.engine.add_stopped_app(entry(&application), before),
        };
        if let Err(why) = added {
            // Where a worker was late, the workers have it.
            let _ = self.engine.remove_app(name);
            let _ = application.stop();
            folder.into_iter().for_each(|folder| folder.forget(name));
            return Err(InstallError::Engine(why));
        }
        let package = bytes.into();
        let installed = Installed { application, package, space, replaced: 0, candidate: None };
        apps.insert(name, installed);
        Ok(name)
    }

    /// Puts another version in the place of an application. Where that fails soon, the one before
    /// comes back.
    ///
    /// # Errors
    /// Why not; the version that is there stays then.
    pub(crate) fn replace(self: &Arc<Self>, name: &str, bytes: &[u8]) -> Result<(), InstallError> {
        let apps = self.lock();
        let name = interned(name);
        let before = apps.get(name).cloned().ok_or_else(|| unknown(name))?;
        let (application, space) = self.version(&before, bytes)?;
        if before.application.status().state != AppState::Stopped {
            self.introduce(&application);
            start(&application)?;
        }
        let package = bytes.into();
        let new = Installed { application, package, space, replaced: 0, candidate: None };
        self.put_in_place(apps, name, before, new)
    }

    /// Puts a version that runs where the one before did in its place.
    fn put_in_place(
        self: &Arc<Self>,
        mut apps: TableChange<'_>,
        name: &'static str,
        before: Installed,
        new: Installed,
    ) -> Result<(), InstallError> {
        let runs = before.application.status().state != AppState::Stopped;
        let folder = self.folder.as_ref();
        let kept = folder.map_or(Ok(()), |folder| folder.keep(name, &new.package));
        kept.map_err(InstallError::Disk)?;
        if let Err(why) = self.engine.replace_app(entry(&new.application)) {
            let _ = new.application.stop();
            // As it was; where that fails too, the next start has the newer version.
            let _ = folder.map(|folder| folder.keep(name, &before.package));
            return Err(InstallError::Engine(why));
        }
        let new = Installed { replaced: before.replaced + 1, ..new };
        new.space.set_changed();
        apps.insert(name, new.clone());
        drop(apps);
        before.end_candidate();
        settle(&self.engine, &before, true);
        match runs {
            true => watch::begin(self, name, before, new),
            false => drop(before.application.stop()),
        }
        Ok(())
    }

    /// Another version of an application, which does not run yet, with a copy of its space.
    fn version(
        &self,
        before: &Installed,
        bytes: &[u8],
    ) -> Result<(Application, Arc<Space>), InstallError> {
        let (application, space) = self.compile(bytes, Some(before.space.values()))?;
        let (name, other) = (before.application.name(), application.name());
        if other != name {
            let why =
                format!("the package is one of the application \"{other}\", not of \"{name}\"");
            return Err(InstallError::Package(why));
        }
        Ok((application, space))
    }

    /// Whether a version is still there: it was not removed, and not replaced.
    fn is_in_place(&self, name: &str, version: &Installed) -> bool {
        let shown = self.apps.shown();
        shown.get(name).is_some_and(|there| there.application.is(&version.application))
    }

    /// The version before comes back, where the one that failed is still there.
    fn go_back(&self, name: &'static str, before: Installed, failed: &Installed, why: &str) {
        let mut apps = self.lock();
        if apps.get(name).is_none_or(|there| !there.application.is(&failed.application)) {
            // Meanwhile it was removed, or replaced again.
            let _ = before.application.stop();
            return;
        }
        self.introduce(&before.application);
        if let Err(refused) = self.engine.replace_app(entry(&before.application)) {
            return warn!("{name}: the version before does not come back: {refused}");
        }
        if let Some(folder) = &self.folder
            && let Err(refused) = folder.keep(name, &before.package)
        {
            warn!("{name}: the next start has the version that failed: {refused}");
        }
        let _ = failed.application.stop();
        let (new, old) = (failed.application.manifest(), before.application.manifest());
        warn!("{name}: version {} failed, and {} is back: {why}", new.version, old.version);
        let replaced = failed.replaced + 1;
        before.space.set_changed();
        apps.insert(name, Installed { replaced, candidate: None, ..before });
    }

    /// Starts an installed application that was stopped, or whose sandbox gave it up.
    ///
    /// # Errors
    /// Why not.
    pub(crate) fn begin(&self, name: &str) -> Result<(), InstallError> {
        let apps = self.lock();
        let installed = apps.get(name).ok_or_else(|| unknown(name))?;
        let lined_up = self.engine.line_up().runs(name);
        if lined_up && matches!(installed.application.status().state, AppState::Quarantined(_)) {
            return start(&installed.application);
        }
        if !lined_up {
            start(&installed.application)?;
        }
        self.engine.start_app(name).map_err(InstallError::Engine)?;
        self.mark(name, true);
        Ok(())
    }

    /// Stops an installed application.
    ///
    /// # Errors
    /// Why not.
    pub(crate) fn stop(&self, name: &str) -> Result<(), InstallError> {
        let apps = self.lock();
        let installed = apps.get(name).ok_or_else(|| unknown(name))?;
        self.engine.stop_app(name).map_err(InstallError::Engine)?;
        installed.end_candidate();
        if let Err(fault) = installed.application.stop() {
            warn!("{name}: failed while it was stopped: {fault}");
        }
        // The workers tell it of those that are there when it starts; some may be gone by then.
        installed.application.forget_switches();
        self.mark(name, false);
        settle(&self.engine, installed, false);
        Ok(())
    }

    /// Removes an installed application.
    ///
    /// # Errors
    /// Why not.
    pub(crate) fn remove(&self, name: &str) -> Result<(), InstallError> {
        let mut apps = self.lock();
        if !apps.contains_key(name) {
            // It may be one that came with the controller, which the workers say.
            return self.engine.remove_app(name).map_err(InstallError::Engine);
        }
        self.engine.remove_app(name).map_err(InstallError::Engine)?;
        if let Some(installed) = apps.remove(name) {
            installed.end_candidate();
            let _ = installed.application.stop();
            settle(&self.engine, &installed, false);
        }
        self.folder.iter().for_each(|folder| folder.forget(name));
        Ok(())
    }

    /// Whether an application of this name was installed.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.apps.shown().contains_key(name)
    }

    /// What is to be known of each, by name.
    pub(crate) fn about(&self) -> BTreeMap<&'static str, AboutInstalled> {
        let apps = self.apps.shown();
        let about = |(name, installed): (&&'static str, &Installed)| {
            let (manifest, status) =
                (installed.application.manifest(), installed.application.status());
            let mut own = status.own;
            own.extend([
                ("busy_us".to_owned(), u64::try_from(status.busy.as_micros()).unwrap_or(u64::MAX)),
                ("messages".to_owned(), status.messages),
                ("refused".to_owned(), status.refused),
                ("stopped".to_owned(), status.stopped),
            ]);
            if manifest.grants.http {
                own.insert("http_requests".to_owned(), status.http_requests);
            }
            let about = AboutInstalled {
                says: manifest.description.clone(),
                version: manifest.version.clone(),
                page: asked::page_path(&installed.application),
                starts: starts(&installed.application),
                state: status.state,
                own,
                failures: status.faults.values().sum(),
                candidate: installed.candidate_status(),
            };
            (*name, about)
        };
        apps.iter().map(about).collect()
    }

    /// The newest lines that one wrote to the log, the oldest first.
    pub(crate) fn lines(&self, name: &str) -> Option<Vec<Line>> {
        self.apps.shown().get(name).map(|installed| installed.application.lines())
    }

    /// An application with its space, which holds these values, or what the folder has of it.
    fn compile(
        &self,
        bytes: &[u8],
        values: Option<Vec<(String, Vec<u8>)>>,
    ) -> Result<(Application, Arc<Space>), InstallError> {
        let refused = |why: aldis_sandbox::PackageError| InstallError::Package(why.to_string());
        let package = Arc::new(Package::read(bytes, &self.trust).map_err(refused)?);
        let kept = |folder: &Folder| folder.space(&package.manifest().name);
        let values = match (values, &self.folder) {
            (Some(values), _) => values,
            (None, Some(folder)) => kept(folder).map_err(InstallError::Disk)?,
            (None, None) => vec![],
        };
        let space = Arc::new(Space::new(package.manifest().grants.kv_bytes, values));
        let cache = self.folder.as_ref().map(Folder::code);
        let compiled = Compiled::load(&self.runtime, package, cache.as_deref()).map_err(refused)?;
        let kv: Arc<dyn KeyValue> = space.clone();
        let network = Some(Arc::clone(&self.network));
        let (tables, kv) = (self.tables, Some(kv));
        let settings = AppSettings { tables, kv, network, ..AppSettings::default() };
        let application = Application::install(&self.runtime, compiled, settings);
        Ok((application.map_err(refused)?, space))
    }

    fn introduce(&self, application: &Application) {
        let switches = self.engine.switches().into_iter();
        switches.for_each(|seen| application.introduce(seen.switch.info.clone()));
    }

    fn mark(&self, name: &str, runs: bool) {
        if let Some(folder) = &self.folder
            && let Err(why) = folder.mark(name, runs)
        {
            warn!("{name}: the next start does not know of this: {why}");
        }
    }

    /// Changes the applications: one at a time.
    fn lock(&self) -> TableChange<'_> {
        self.apps.change()
    }
}

impl InstallError {
    /// In one sentence.
    pub(crate) fn sentence(&self) -> String {
        match self {
            InstallError::Package(why) | InstallError::Unknown(why) | InstallError::Disk(why) => {
                why.clone()
            }
            InstallError::Engine(why) => why.to_string(),
        }
    }
}

/// The flows of an application that is stopped or removed, or whose successor has come, stay on the
/// switches or are removed, as its manifest says. Waits for the switches.
fn settle(engine: &Handle, installed: &Installed, has_successor: bool) {
    let manifest = installed.application.manifest();
    let are_removed = match manifest.flows {
        FlowsOnStop::Stay => false,
        FlowsOnStop::Go => true,
        FlowsOnStop::HandOver => !has_successor,
    };
    if are_removed {
        remove_all(engine, &manifest.name);
    }
}

fn unknown(name: &str) -> InstallError {
    InstallError::Unknown(format!("no application \"{name}\" was installed from a package"))
}

fn start(application: &Application) -> Result<(), InstallError> {
    application.start().map_err(|fault| {
        InstallError::Package(format!("{}: it does not start: {fault}", application.name()))
    })
}

/// For the line-up of the workers.
fn entry(application: &Application) -> AppEntry {
    let instances = application.clone();
    let entry = AppEntry::of(move || instances.sandboxed());
    entry.named(interned(application.name()), starts(application))
}

/// The kinds of events that it has to be called for.
fn starts(application: &Application) -> &'static [EventKind] {
    static KNOWN: Mutex<BTreeSet<&'static [EventKind]>> = Mutex::new(BTreeSet::new());
    let manifest = application.manifest();
    let kinds: Vec<EventKind> =
        EventKind::ALL.into_iter().filter(|kind| manifest.is_called_for(*kind)).collect();
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(there) = known.get(&*kinds) {
        return there;
    }
    let kinds: &'static [EventKind] = kinds.leak();
    known.insert(kinds);
    kinds
}
