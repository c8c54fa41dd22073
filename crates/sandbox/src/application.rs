//! An application that is installed: its life from start to stop, its failures, and what can be
//! seen of it from outside.
//!
//! ```text
//! stopped ──start──▶ running ──fault──▶ restarting ──back-off──▶ running
//!    ▲                  │                    │ too many faults
//!    └──────stop────────┴────────────────────┴──────────▶ quarantined ──start──▶ running
//! ```

mod http;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use aldis_control::Tables;
use aldis_control::switch::SwitchInfo;
use aldis_records::{EventPlace, Events, NO_INDEX, kind};

use crate::compiled::Compiled;
use crate::fault::{Fault, FaultKind};
use crate::grants::Grants;
use crate::instance::{Instance, InstanceSettings, Trial};
use crate::kv::{KeyValue, MemorySpace};
use crate::limits::{
    BACK_OFF, BATCH_BYTES_MAX, COUNTS_MAX, FAILURE_WINDOW, TRIAL_MS_MIN, TRIAL_SHARE,
};
use crate::lines::{Line, LineHistory};
use crate::manifest::{Instances, Manifest, ManifestError};
use crate::network::{NetworkSnapshots, NoNetwork};
use crate::package::{Package, PackageError};
use crate::runtime::Runtime;
use crate::sandboxed::Sandboxed;
use crate::shadow::{Shadow, ShadowStatus};
use crate::slot::{InstanceSlot, Running};
use crate::supervisor::Job;

/// What an operator says of an application besides its package.
#[derive(Clone, Default)]
pub struct AppSettings {
    /// Its own settings, as TOML: the component reads them when it starts. Those of its manifest
    /// where nothing is said.
    pub config: String,
    /// What it may have; nothing said grants what its manifest asks for.
    pub granted: Option<Grants>,
    /// Its key–value space; nothing said is one in memory.
    pub kv: Option<Arc<dyn KeyValue>>,
    /// What it reads of the whole network; nothing said is nothing.
    pub network: Option<Arc<dyn NetworkSnapshots>>,
    /// Which table its flows go to.
    pub tables: Tables,
}

/// An application that is installed. Clones are the same application.
#[derive(Clone)]
pub struct Application {
    hosted: Arc<Hosted>,
}

impl std::fmt::Debug for Application {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Application").field("name", &self.name()).finish_non_exhaustive()
    }
}

/// Where an application is in its life.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AppState {
    /// It does not run.
    Stopped,
    /// It runs.
    Running,
    /// It failed, and starts again after its back-off.
    Restarting(Fault),
    /// It failed too often, and stays as it is until it is started by hand.
    Quarantined(Fault),
}

/// An application, as it is seen from outside.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AppStatus {
    /// Where it is in its life.
    pub state: AppState,
    /// Failures of each kind since it was installed; kinds that did not occur are not there.
    pub faults: BTreeMap<&'static str, u64>,
    /// Calls with events.
    pub batches: u64,
    /// Flow requests that it was handed.
    pub requests: u64,
    /// Requests over HTTP that it answered.
    pub http_requests: u64,
    /// How long workers were in its calls with events.
    pub busy: Duration,
    /// Messages that it sent.
    pub messages: u64,
    /// Requests and events that it kept from the applications behind it.
    pub stopped: u64,
    /// Commands that were not allowed or not possible, and were dropped.
    pub refused: u64,
    /// Why the last of them was.
    pub last_refusal: Option<String>,
    /// What it counts itself, by the names of its manifest.
    pub own: BTreeMap<String, u64>,
}

/// What all parts of an application share.
pub(crate) struct Hosted {
    pub(crate) runtime: Runtime,
    pub(crate) manifest: Manifest,
    pub(crate) grants: Grants,
    pub(crate) tables: Tables,
    pub(crate) counted: HostedCounts,
    /// The switches that are connected, for instances that start later and for messages to others.
    pub(crate) switches: RwLock<HashMap<u64, SwitchInfo>>,
    pub(crate) history: LineHistory,
    pub(crate) last_refusal: Mutex<Option<String>>,
    /// Whether there is a candidate, so that a call without one takes no lock.
    has_shadow: AtomicBool,
    shadow: Mutex<Option<Arc<Shadow>>>,
    compiled: Compiled,
    settings: InstanceSettings,
    life: Mutex<Life>,
    /// Requests over HTTP that wait for it.
    http_waiting: AtomicUsize,
}

/// What is counted of an application, on all workers together, once a batch.
#[derive(Default)]
pub(crate) struct HostedCounts {
    pub(crate) batches: AtomicU64,
    pub(crate) requests: AtomicU64,
    http_requests: AtomicU64,
    pub(crate) busy_ns: AtomicU64,
    pub(crate) messages: AtomicU64,
    pub(crate) stopped: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) own: [AtomicU64; COUNTS_MAX],
    faults: [AtomicU64; FaultKind::ALL.len()],
}

impl HostedCounts {
    /// A worker was in a call for so long.
    #[inline]
    pub(crate) fn note_busy(&self, busy: Duration) {
        self.busy_ns.fetch_add(busy.as_nanos() as u64, Ordering::Relaxed);
    }
}

struct Life {
    state: AppState,
    /// Another one after each start and stop: what was begun before does not count.
    generation: u64,
    slots: Vec<Arc<InstanceSlot>>,
    /// Those that count, the oldest first.
    recent_faults: VecDeque<(Instant, Fault)>,
}

impl Application {
    /// Installs an application; it does not run yet.
    ///
    /// # Errors
    /// The manifest asks for what is not granted.
    pub fn install(
        runtime: &Runtime,
        compiled: Compiled,
        settings: AppSettings,
    ) -> Result<Application, PackageError> {
        let manifest = compiled.package().manifest().clone();
        let AppSettings { config, granted, kv, network, tables } = settings;
        if let Some(beyond) = granted.as_ref().and_then(|granted| manifest.grants.beyond(granted)) {
            return Err(PackageError::new("manifest.toml", format!("{beyond} is not granted")));
        }
        let config = if config.is_empty() { manifest.config.clone() } else { config };
        let space = || Arc::new(MemorySpace::new(manifest.grants.kv_bytes)) as Arc<dyn KeyValue>;
        let settings = InstanceSettings {
            limits: manifest.limits.clone(),
            kv: kv.unwrap_or_else(space),
            network: network.unwrap_or_else(|| Arc::new(NoNetwork)),
            snapshots: manifest.grants.snapshots,
            clock: Arc::clone(runtime.clock()),
            ticker: Arc::clone(runtime.ticker()),
            config,
        };
        let life = Life {
            state: AppState::Stopped,
            generation: 0,
            slots: match manifest.instances {
                Instances::One => vec![Arc::default()],
                Instances::PerWorker => Vec::new(),
            },
            recent_faults: VecDeque::new(),
        };
        let hosted = Hosted {
            runtime: runtime.clone(),
            grants: manifest.grants.clone(),
            manifest,
            tables,
            counted: HostedCounts::default(),
            switches: RwLock::default(),
            history: LineHistory::default(),
            last_refusal: Mutex::default(),
            has_shadow: AtomicBool::new(false),
            shadow: Mutex::default(),
            compiled,
            settings,
            life: Mutex::new(life),
            http_waiting: AtomicUsize::new(0),
        };
        Ok(Application { hosted: Arc::new(hosted) })
    }

    /// Whether both are one: another version of the same name is another application.
    pub fn is(&self, other: &Application) -> bool {
        Arc::ptr_eq(&self.hosted, &other.hosted)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.hosted.manifest.name
    }

    /// Its manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.hosted.manifest
    }

    /// Its package.
    pub fn package(&self) -> &Arc<Package> {
        self.hosted.compiled.package()
    }

    /// The application of one worker, for its pipeline. Where each worker has an instance of its
    /// own and the application runs, it is made here.
    pub fn sandboxed(&self) -> Sandboxed {
        let slot = match self.hosted.manifest.instances {
            Instances::One => Arc::clone(&self.hosted.life().slots[0]),
            Instances::PerWorker => self.hosted.add_slot(),
        };
        Sandboxed::new(Arc::clone(&self.hosted), slot)
    }

    /// Starts it, also out of quarantine. This takes as long as the first call of the component:
    /// it is not for a worker.
    ///
    /// # Errors
    /// The component failed at once, or refused its settings; it is stopped then.
    pub fn start(&self) -> Result<(), Fault> {
        self.hosted.start()
    }

    /// Stops it. Waits for the batch that it has in hand.
    ///
    /// # Errors
    /// How its last call failed; it is stopped in any case.
    pub fn stop(&self) -> Result<(), Fault> {
        self.hosted.stop()
    }

    /// Tells it of a switch that was connected before its events came here: for an application that
    /// is added while the controller runs.
    pub fn introduce(&self, switch: SwitchInfo) {
        self.hosted.note_switch(switch);
    }

    /// Forgets the switches: for an application that is stopped, and is told of those that are
    /// there when it starts again.
    pub fn forget_switches(&self) {
        self.hosted.switches.write().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Runs another version on the same events from now on; its commands are compared and not sent.
    /// The candidate is installed and started like any application, and goes into no pipeline.
    /// Nothing ends it.
    ///
    /// # Errors
    /// The candidate has an instance for each worker: there would be none to compare with.
    pub fn shadow(&self, candidate: Option<&Application>) -> Result<(), ManifestError> {
        let shadow = match candidate {
            Some(Application { hosted }) if hosted.manifest.instances == Instances::One => {
                let slot = Arc::clone(&hosted.life().slots[0]);
                Some(Arc::new(Shadow::new(Arc::clone(hosted), slot)))
            }
            Some(_) => {
                let reason = "a candidate with an instance for each worker cannot be compared";
                let (field, reason) = ("instances".to_owned(), reason.to_owned());
                return Err(ManifestError { field, reason });
            }
            None => None,
        };
        self.hosted.has_shadow.store(shadow.is_some(), Ordering::Relaxed);
        *self.hosted.shadow.lock().unwrap_or_else(PoisonError::into_inner) = shadow;
        Ok(())
    }

    /// How far the candidate agrees, where there is one.
    pub fn shadow_status(&self) -> Option<ShadowStatus> {
        let shadow = self.hosted.shadow.lock().unwrap_or_else(PoisonError::into_inner);
        shadow.as_ref().map(|shadow| shadow.status())
    }

    /// How it is.
    pub fn status(&self) -> AppStatus {
        self.hosted.status()
    }

    /// The last lines of its log, oldest first.
    pub fn lines(&self) -> Vec<Line> {
        self.hosted.history.all()
    }
}

impl Life {
    fn forget_old_faults(&mut self) {
        let now = Instant::now();
        let is_old = |(at, _): &(Instant, Fault)| now.duration_since(*at) > FAILURE_WINDOW;
        while self.recent_faults.front().is_some_and(is_old) {
            self.recent_faults.pop_front();
        }
    }

    /// The fault, and the last one of another kind: an application on trial may run out of time
    /// before it does again what it failed by.
    fn with_earlier_kind(&self, mut fault: Fault) -> Fault {
        let is_other = |(_, earlier): &&(Instant, Fault)| earlier.kind != fault.kind;
        if let Some((_, earlier)) = self.recent_faults.iter().rev().find(is_other) {
            fault.reason += &format!("; before that {earlier}");
        }
        fault
    }
}

impl Hosted {
    fn life(&self) -> MutexGuard<'_, Life> {
        self.life.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn instantiate(&self) -> Result<Instance, Fault> {
        let mut instance = Instance::start(self.compiled.pre(), &self.settings)?;
        instance.take_lines().for_each(|line| self.history.push(line));
        Ok(instance)
    }

    fn start(&self) -> Result<(), Fault> {
        let (generation, slots) = {
            let mut life = self.life();
            if life.state == AppState::Running {
                return Ok(());
            }
            life.generation += 1;
            life.state = AppState::Stopped;
            (life.generation, life.slots.clone())
        };
        let count = slots.len().max(1);
        let made = (0..count).map(|_| self.instantiate()).collect::<Result<Vec<_>, _>>();
        let instances = made.inspect_err(|fault| self.count(fault))?;
        {
            let mut life = self.life();
            if life.generation != generation {
                return Ok(());
            }
            life.state = AppState::Running;
            life.recent_faults.clear();
        }
        // Without the lock: a worker that holds a slot may wait for it.
        for (slot, instance) in slots.iter().zip(instances) {
            self.put_away(slot.fill(instance, generation));
        }
        Ok(())
    }

    fn stop(&self) -> Result<(), Fault> {
        let (generation, slots) = {
            let mut life = self.life();
            life.generation += 1;
            life.state = AppState::Stopped;
            (life.generation, life.slots.clone())
        };
        let mut stopped = Ok(());
        for slot in slots {
            if let Some(Running { instance, .. }) = slot.close(generation) {
                let result = instance.stop(|line| self.history.push(line));
                stopped = stopped.and(result);
            }
        }
        stopped.inspect_err(|fault| self.count(fault))
    }

    /// A slot for one more worker.
    fn add_slot(self: &Arc<Self>) -> Arc<InstanceSlot> {
        let slot: Arc<InstanceSlot> = Arc::default();
        let mut life = self.life();
        // Those of workers that were handed another one are not started again.
        life.slots.retain(|slot| Arc::strong_count(slot) > 1);
        life.slots.push(Arc::clone(&slot));
        let runs = life.state == AppState::Running;
        drop(life);
        if runs {
            self.ask_restart(&slot, Duration::ZERO);
        }
        slot
    }

    /// A worker's part is gone: where it had an instance of its own, so is that.
    pub(crate) fn give_up(&self, slot: &Arc<InstanceSlot>) {
        if self.manifest.instances == Instances::PerWorker {
            self.life().slots.retain(|other| !Arc::ptr_eq(other, slot));
            self.put_away(slot.close(u64::MAX));
        }
    }

    fn ask_restart(self: &Arc<Self>, slot: &Arc<InstanceSlot>, after: Duration) {
        let (hosted, at) = (Arc::downgrade(self), Instant::now() + after);
        let job = Job::Restart { hosted, slot: Arc::clone(slot), at };
        self.runtime.supervisor().ask(job);
    }

    fn put_away(&self, running: Option<Running>) {
        if let Some(Running { instance, .. }) = running {
            self.runtime.supervisor().ask(Job::PutAway(Box::new(instance)));
        }
    }

    /// Makes an instance where one failed. Called by the supervisor.
    pub(crate) fn restart(self: &Arc<Self>, slot: &Arc<InstanceSlot>) {
        let runs = |life: &Life| matches!(life.state, AppState::Running | AppState::Restarting(_));
        let generation = match &*self.life() {
            life if runs(life) && !slot.is_filled() => life.generation,
            _ => return,
        };
        match self.instantiate() {
            Ok(mut instance) => {
                self.trial().into_iter().for_each(|trial| instance.put_on_trial(trial));
                self.put_away(slot.fill(instance, generation));
                let mut life = self.life();
                // A worker that saw it fail meanwhile took it out first.
                if life.generation == generation && slot.is_filled() {
                    life.state = AppState::Running;
                }
            }
            Err(fault) => {
                self.failed(slot, fault);
            }
        }
    }

    /// An instance failed in the hands of a worker, which holds its slot: it is taken out, and the
    /// supervisor makes another one after the back-off, or nothing does any more. What is to be
    /// told to the operator is returned.
    pub(crate) fn fail(
        self: &Arc<Self>,
        slot: &Arc<InstanceSlot>,
        running: &mut Option<Running>,
        fault: Fault,
    ) -> String {
        if let Some(running) = running.as_mut() {
            running.instance.take_lines().for_each(|line| self.history.push(line));
        }
        self.put_away(slot.take(running));
        self.failed(slot, fault)
    }

    fn failed(self: &Arc<Self>, slot: &Arc<InstanceSlot>, fault: Fault) -> String {
        self.count(&fault);
        let mut life = self.life();
        life.forget_old_faults();
        life.recent_faults.push_back((Instant::now(), fault.clone()));
        let name = &self.manifest.name;
        if matches!(life.state, AppState::Stopped | AppState::Quarantined(_)) {
            return format!("{name}: failed while it was stopped: {fault}");
        }
        let faults = life.recent_faults.len();
        if faults >= self.manifest.limits.failures as usize {
            let fault = life.with_earlier_kind(fault);
            let words = format!("{name}: quarantined after {faults} failures: {fault}");
            life.state = AppState::Quarantined(fault);
            life.generation += 1;
            let close = |slot: &Arc<InstanceSlot>| Job::Close(Arc::clone(slot), life.generation);
            life.slots.iter().map(close).for_each(|job| self.runtime.supervisor().ask(job));
            return words;
        }
        let after = (BACK_OFF.0 * (1 << (faults - 1).min(16))).min(BACK_OFF.1);
        let words = format!("{name}: failed, and starts again in {after:?}: {fault}");
        life.state = AppState::Restarting(fault);
        drop(life);
        self.ask_restart(slot, after);
        words
    }

    /// What an instance has less of that is made where others failed; none where none did lately.
    fn trial(&self) -> Option<Trial> {
        let mut life = self.life();
        life.forget_old_faults();
        let (last, _) = life.recent_faults.back()?;
        let share = TRIAL_SHARE << (life.recent_faults.len() - 1).min(16);
        let usual_ms = self.settings.limits.batch_ms;
        let call_ms = (usual_ms / share).max(TRIAL_MS_MIN).min(usual_ms);
        Some(Trial { until: *last + FAILURE_WINDOW, call_ms })
    }

    fn count(&self, fault: &Fault) {
        self.counted.faults[fault.kind as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn note_switch(&self, switch: SwitchInfo) {
        let mut switches = self.switches.write().unwrap_or_else(PoisonError::into_inner);
        switches.insert(switch.dpid.0, switch);
    }

    pub(crate) fn forget_switch(&self, dpid: u64) {
        let mut switches = self.switches.write().unwrap_or_else(PoisonError::into_inner);
        switches.remove(&dpid);
    }

    /// Writes the switches that are connected and granted as events that cannot be answered, and
    /// hands them over in as many calls as it takes.
    pub(crate) fn describe_switches(
        &self,
        mut hand_over: impl FnMut(&mut Events) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let switches: Vec<SwitchInfo> = {
            let all = self.switches.read().unwrap_or_else(PoisonError::into_inner);
            all.values().filter(|info| self.grants.switches.has(info.dpid.0)).cloned().collect()
        };
        let (mut events, now) = (Events::default(), (self.runtime.clock())());
        events.begin(now);
        for (place, info) in switches.iter().enumerate() {
            events.switch(kind::UP, EventPlace::at(info, NO_INDEX), info);
            if events.len() >= BATCH_BYTES_MAX || place + 1 == switches.len() {
                hand_over(&mut events)?;
                events.begin(now);
            }
        }
        Ok(())
    }

    /// The candidate, where there is one.
    pub(crate) fn candidate(&self) -> Option<Arc<Shadow>> {
        let shadow = || self.shadow.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.has_shadow.load(Ordering::Relaxed).then(shadow).flatten()
    }

    fn status(&self) -> AppStatus {
        let HostedCounts {
            batches,
            requests,
            http_requests,
            busy_ns,
            messages,
            stopped,
            refused,
            own,
            faults,
        } = &self.counted;
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let kinds = FaultKind::ALL.iter().map(|kind| kind.name()).zip(faults.iter().map(get));
        let last = self.last_refusal.lock().unwrap_or_else(PoisonError::into_inner);
        AppStatus {
            state: self.life().state.clone(),
            faults: kinds.filter(|(_, count)| *count > 0).collect(),
            batches: get(batches),
            requests: get(requests),
            http_requests: get(http_requests),
            busy: Duration::from_nanos(get(busy_ns)),
            messages: get(messages),
            stopped: get(stopped),
            refused: get(refused),
            last_refusal: last.clone(),
            own: self.manifest.counts.iter().cloned().zip(own.iter().map(get)).collect(),
        }
    }
}
