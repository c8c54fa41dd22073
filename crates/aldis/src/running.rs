//! A controller that runs: how it is started, and what it does until it stops.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

#[cfg(not(feature = "http"))]
use aldis_control::controller_event::EventSink;
use aldis_engine::Engine;
#[cfg(feature = "http")]
use aldis_http::HttpServer;
use tracing::{error, info, warn};

use crate::Refused;
use crate::admin::{Admin, SettingsOrigin};
use crate::banner::{self, banner};
#[cfg(feature = "sandbox")]
use crate::config::Config;
use crate::config::LogFormat;
use crate::controller::Configure;
use crate::give_back::GiveBack;
use crate::guests::GuestSet;
#[cfg(feature = "sandbox")]
use crate::installed::InstalledApps;
use crate::outlet::{Outlets, OutputLines};
use crate::persisted::Persisted;
use crate::report::{self, Reporter};
use crate::secure::TlsHandles;
use crate::service_manager::ServiceManager;
use crate::settings::Settings;
use crate::signals::{ProcessSignal, Signals};
use crate::{counters, weights};

/// How long after the start, or after new weights, a switch with one may take to connect before its
/// absence is told.
const WEIGHTS_LOOK_AFTER: Duration = Duration::from_secs(60);

/// How often it is looked whether memory can be given back.
const GIVE_BACK_EVERY: Duration = Duration::from_secs(10);

/// How long after the start a first switch may take to connect before it is told what to check:
/// Open vSwitch tries again after 8 s at most.
const ANY_LOOK_AFTER: Duration = Duration::from_secs(15);

/// A controller that runs. Dropped without [`Running::stop`], it goes on.
pub struct Running {
    admin: Arc<Admin>,
    settings: Arc<Settings>,
    engine: Engine,
    #[cfg(feature = "http")]
    http: Option<HttpServer>,
    guests: Arc<GuestSet>,
    #[cfg(feature = "sandbox")]
    installed: Arc<InstalledApps>,
    reporter: Reporter,
    format: LogFormat,
    looks: Looks,
    outlets: Outlets,
}

/// Starts what the settings say.
///
/// # Errors
/// As [`crate::Controller::start`].
pub(crate) fn start(
    origin: SettingsOrigin,
    configure: &[Configure],
    outlets: &Outlets,
) -> Result<Running, Refused> {
    let config = (origin.read)().map_err(Refused::Usage)?;
    let mut persisted = Persisted::of(&config)?;
    let config = persisted.settle(config).map_err(Refused::Usage)?;
    let format = config.log_format.unwrap_or_else(report::format_of_stderr);
    #[cfg(feature = "http")]
    let lines = aldis_http::log::LogLines::new();
    let reporter = Reporter::start(
        config.log,
        format,
        &outlets.log,
        #[cfg(feature = "http")]
        lines.clone(),
    )?;
    let config = persisted.begin(config);
    let app_set = config.app_set().map_err(Refused::Usage)?;
    let secure = config.tls.secure().map_err(Refused::Usage)?;
    #[cfg(feature = "http")]
    let serving = crate::http::HttpListening::listen(&config.http)?;
    #[cfg(feature = "http")]
    let (event_sink, serving) = serving.event_sink(reporter.sink());
    #[cfg(not(feature = "http"))]
    let event_sink: Arc<dyn EventSink> = Arc::new(reporter.sink());
    let mut engine_config = config.engine();
    configure.iter().for_each(|change| change(&mut engine_config));
    let engine =
        Engine::start_secure(&engine_config, secure.as_ref(), app_set, Arc::clone(&event_sink))?;
    let settings = Arc::new(Settings::new(config, engine.handle()));
    let admin = Arc::new(Admin::new(origin, Arc::clone(&settings), persisted, engine.handle()));
    #[cfg(feature = "sandbox")]
    let installed = install(&engine, &settings.now(), &admin)?;
    let guests =
        Arc::new(GuestSet::start(engine.handle(), event_sink, &settings.now().guests(), &admin));
    admin.hosts(&guests);
    #[cfg(feature = "http")]
    let http = serving.start(
        &engine,
        &settings,
        &admin,
        Arc::clone(&guests),
        (lines, reporter.watchlist()),
        #[cfg(feature = "sandbox")]
        Arc::clone(&installed),
    )?;
    admin.serves(TlsHandles {
        #[cfg(feature = "http")]
        http: http.as_ref().map(HttpServer::admission),
        switches: secure.map(|secure| secure.identity),
    });
    let (looks, outlets) = (Looks::default(), outlets.clone());
    let running = Running {
        admin,
        settings,
        engine,
        #[cfg(feature = "http")]
        http,
        guests,
        #[cfg(feature = "sandbox")]
        installed,
        reporter,
        format,
        looks,
        outlets,
    };
    Ok(running)
}

/// Installs what the folder of applications holds.
#[cfg(feature = "sandbox")]
fn install(
    engine: &Engine,
    config: &Config,
    admin: &Arc<Admin>,
) -> Result<Arc<InstalledApps>, Refused> {
    let trust = config.trust().map_err(Refused::Usage)?;
    let (folder, tables) = (config.app_folder.clone(), config.tables());
    Ok(InstalledApps::start(engine.handle(), folder, trust, tables, Arc::clone(admin))?)
}

impl std::fmt::Debug for Running {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Running").field("engine", &self.engine).finish_non_exhaustive()
    }
}

impl Running {
    /// The addresses it listens on; where port 0 was asked for, the one it got.
    pub fn listening(&self) -> &[SocketAddr] {
        self.engine.listening()
    }

    /// Where it serves HTTP, as `http://127.0.0.1:8080`, if it does.
    #[cfg(feature = "http")]
    pub fn url(&self) -> Option<String> {
        self.http.as_ref().map(HttpServer::url)
    }

    /// The engine, with its counters and what can be changed while it runs.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Closes every connection and ends every thread.
    pub fn stop(self) {
        #[cfg(feature = "http")]
        self.http.into_iter().for_each(HttpServer::stop);
        self.guests.stop();
        drop(self.guests);
        #[cfg(feature = "sandbox")]
        self.installed.finish();
        self.engine.stop();
        self.reporter.finish();
        self.outlets.finish();
    }

    /// Says what runs, and what to do next.
    pub(crate) fn tell_banner(&mut self) {
        let listening = [self.engine.listening(), self.engine.listening_tls()];
        #[cfg(feature = "http")]
        let url = self.url();
        #[cfg(not(feature = "http"))]
        let url: Option<String> = None;
        let text = banner(&self.settings.now(), listening, url.as_deref());
        self.tell(&text);
        self.mind_weights();
    }

    /// Does as it is told by signals until that is to stop, and stops.
    pub(crate) fn until_stopped(mut self, signals: &Signals) {
        let mut manager = ServiceManager::of_environment();
        manager.ready();
        let why = self.obey(signals, &mut manager);
        manager.stops();
        self.tell(&format!("aldis: stopping on {why}; flows stay on the switches\n"));
        // Taken while the switches are still there.
        let snapshot = self.engine.snapshot();
        #[cfg(feature = "http")]
        self.http.take().into_iter().for_each(HttpServer::stop);
        self.guests.stop();
        #[cfg(feature = "sandbox")]
        self.installed.finish();
        let Running { engine, reporter, settings, outlets, format, guests, admin: _open, .. } =
            self;
        // The reporter ends when nothing can tell it anything.
        drop(guests);
        engine.stop();
        reporter.finish();
        let tell = |text: &str| tell(format, &outlets.log, text);
        if let Some(file) = &settings.now().stats
            && let Err(sentence) = counters::write(&snapshot, Some(file), &outlets.counters)
        {
            tell(&format!("aldis: {sentence}\n"));
        }
        let stopped = format!(
            "aldis: stopped after {} flow requests in {} batches, on {} connections\n",
            snapshot.total.requests, snapshot.total.batches, snapshot.total.connections
        );
        tell(&stopped);
        outlets.finish();
    }

    /// Does as it is told; why it is to stop.
    fn obey(&mut self, signals: &Signals, manager: &mut ServiceManager) -> &'static str {
        let mut memory = GiveBack::default();
        loop {
            manager.look(&self.engine);
            let next = self.looks.next();
            match signals.next(Some(manager.next().map_or(next, |look| look.min(next)))) {
                Some(ProcessSignal::Stop(why)) => return why,
                Some(ProcessSignal::Reread) => {
                    manager.rereads();
                    self.reread();
                    manager.ready();
                }
                Some(ProcessSignal::Count) => self.count(),
                None if self.looks.give_back <= Instant::now() => {
                    memory.look();
                    self.looks.give_back = Instant::now() + GIVE_BACK_EVERY;
                }
                None => self.look(),
            }
        }
    }

    fn tell(&self, text: &str) {
        tell(self.format, &self.outlets.log, text);
    }

    fn count(&self) {
        let file = self.settings.now().stats.clone();
        let file = file.as_deref();
        match (counters::write(&self.engine.snapshot(), file, &self.outlets.counters), file) {
            (Ok(()), Some(file)) => info!("counters written to {}", file.display()),
            (Ok(()), None) => {}
            (Err(sentence), _) => warn!("{sentence}"),
        }
    }

    fn reread(&mut self) {
        let Some(file) = self.admin.file() else {
            info!("SIGHUP: there is nothing to read again without --config");
            return match self.admin.reread_access() {
                Ok(()) => {}
                Err(sentence) => error!("{sentence}; the old ones stay"),
            };
        };
        match self.admin.reread_settings() {
            Err(sentence) => error!("{sentence}; the old settings stay"),
            Ok(changes) => {
                changes.log(&file);
                if changes.weights {
                    self.mind_weights();
                }
            }
        }
    }

    /// Says at once where weights change nothing, and later where no switch has come that one was
    /// for.
    fn mind_weights(&mut self) {
        let config = self.settings.now();
        weights::warn_if_idle(&config);
        let named = config.rules.weights().named().next().is_some();
        self.looks.for_absent = named.then(|| Instant::now() + WEIGHTS_LOOK_AFTER);
    }

    /// Looks for what should have come by now.
    fn look(&mut self) {
        let now = Instant::now();
        if self.looks.for_any.take_if(|at| *at <= now).is_some() {
            self.look_for_any();
        }
        if self.looks.for_absent.take_if(|at| *at <= now).is_some() {
            self.look_for_absent();
        }
    }

    /// Says what to check where no switch has come, once.
    fn look_for_any(&self) {
        let snapshot = self.engine.snapshot();
        if !snapshot.switches.is_empty() {
            return;
        }
        let listening = [self.engine.listening(), self.engine.listening_tls()];
        let tried = snapshot.total.connections;
        let words = banner::no_switch_came(listening, tried, ANY_LOOK_AFTER);
        if tried > 0 { warn!("{words}") } else { info!("{words}") }
    }

    fn look_for_absent(&self) {
        let here: HashSet<u64> =
            self.engine.snapshot().switches.iter().map(|switch| switch.dpid.0).collect();
        if let Some(sentence) = self.settings.now().rules.absent(&here) {
            warn!("{sentence}");
        }
    }
}

/// Tells people what the log does not say; programs find it in the log, where every line is theirs
/// to read.
fn tell(format: LogFormat, to: &OutputLines, text: &str) {
    match format {
        LogFormat::Text => to.say(text),
        LogFormat::Json | LogFormat::Journald => {
            text.lines().map(str::trim).for_each(|line| info!("{line}"));
        }
    }
}

/// When it is looked for what should have come by then.
struct Looks {
    /// Whether any switch has come.
    for_any: Option<Instant>,
    /// Whether the switches with weights have.
    for_absent: Option<Instant>,
    /// Whether memory can be given back.
    give_back: Instant,
}

impl Default for Looks {
    fn default() -> Looks {
        let now = Instant::now();
        Looks { for_any: Some(now + ANY_LOOK_AFTER), for_absent: None, give_back: now }
    }
}

impl Looks {
    /// The next time.
    fn next(&self) -> Instant {
        let others = self.for_any.into_iter().chain(self.for_absent);
        others.fold(self.give_back, Instant::min)
    }
}
