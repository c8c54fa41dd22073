//! The HTTP server: its address, access to it, and what it shows of the engine.

pub(crate) mod access;
mod known;
mod reports;
pub(crate) mod views;

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use aldis_control::app::UnknownEvent;
use aldis_control::command::Failure;
use aldis_control::controller_event::{ControllerEvent, EventSink};
use aldis_control::pipeline::LineUpError;
use aldis_control::stats::Snapshot;
use aldis_control::switch::Seen;
use aldis_control::{Time, World};
use aldis_engine::{Engine, Handle, LifecycleError};
use aldis_guest::{GuestError, GuestSpec, GuestStatus};
#[cfg(feature = "sandbox")]
use aldis_http::api::app_routes::{AppAnswer, AppRequest, NotAnswered};
#[cfg(feature = "sandbox")]
use aldis_http::api::apps::AppLine;
use aldis_http::api::apps::{Apps, NotChanged};
use aldis_http::api::health::KnownFinding;
use aldis_http::api::reports::ReportFile;
use aldis_http::api::weights::{BadKnob, Design};
use aldis_http::events::{EventReceiver, EventSender};
use aldis_http::log::LogLines;
use aldis_http::recording::{RecordingReceiver, RecordingRequest};
use aldis_http::{Access, BindError, Commanded, Controller, HttpServer, Listening};
use aldis_wire::DatapathId;
use aldis_wire::msg::Message;
use serde::{Deserialize, Deserializer, de};
use tracing::warn;

pub(crate) use access::Section;

use crate::Refused as Why;
use crate::address::read;

use crate::admin::Admin;
use crate::app_registry::BUILT_IN;
use crate::background::in_background;
use crate::give_back::resident;
use crate::guests::{GuestSet, NotAGuest};
#[cfg(feature = "sandbox")]
use crate::installed::{InstallError, InstalledApps};
use crate::recorder::Recorder;
use crate::report::Watchlist;
use crate::room::limit_here;
use crate::settings::Settings;
use reports::ReportFolder;

/// Where people look for a controller, on this machine alone.
pub(crate) const DEFAULT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8080);

/// Where to serve.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ServeAt {
    /// Nowhere.
    Off,
    /// On this address.
    Address(SocketAddr),
}

impl FromStr for ServeAt {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "off" => Ok(ServeAt::Off),
            address => {
                let addresses = read(address, Ipv4Addr::LOCALHOST.into(), "127.0.0.1:8080");
                let first = addresses.map(|addresses| ServeAt::Address(addresses[0]));
                first.map_err(|why| why + ", or \"off\" for none")
            }
        }
    }
}

impl<'de> Deserialize<'de> for ServeAt {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct AddressVisitor;
        impl de::Visitor<'_> for AddressVisitor {
            type Value = ServeAt;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "an address such as \"127.0.0.1:8080\", or \"off\"")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<ServeAt, E> {
                text.parse().map_err(E::custom)
            }

            fn visit_i64<E: de::Error>(self, port: i64) -> Result<ServeAt, E> {
                self.visit_str(&port.to_string())
            }
        }
        from.deserialize_any(AddressVisitor)
    }
}

/// A server that listens, and does not answer yet.
pub(crate) struct HttpListening {
    listening: Option<Listening>,
    access: Access,
}

/// The same, once the engine tells it what happens.
pub(crate) struct Informed {
    serving: HttpListening,
    incoming: EventReceiver,
}

impl HttpListening {
    /// Listens where it is said.
    ///
    /// # Errors
    /// One sentence.
    pub(crate) fn listen(section: &Section) -> Result<HttpListening, Why> {
        let access = section.access().map_err(Why::Usage)?;
        Ok(HttpListening { listening: listen(section.at, &access)?, access })
    }

    /// What the engine tells, to the log and to the followers of events.
    pub(crate) fn event_sink(
        self,
        log: impl EventSink + 'static,
    ) -> (Arc<dyn EventSink>, Informed) {
        let (taker, incoming) = aldis_http::events::channel();
        let event_sink: Arc<dyn EventSink> = match &self.listening {
            Some(_) => Arc::new(LogAndFollowers(log, taker)),
            None => Arc::new(log),
        };
        (event_sink, Informed { serving: self, incoming })
    }
}

impl Informed {
    /// Serves what the engine does.
    ///
    /// # Errors
    /// One sentence.
    pub(crate) fn start(
        self,
        engine: &Engine,
        settings: &Arc<Settings>,
        admin: &Arc<Admin>,
        guests: Arc<GuestSet>,
        (log, watchlist): (LogLines, Watchlist),
        #[cfg(feature = "sandbox")] installed: Arc<InstalledApps>,
    ) -> Result<Option<HttpServer>, String> {
        let Informed { serving: HttpListening { listening, access }, incoming } = self;
        let Some(listening) = listening else { return Ok(None) };
        let watched = EngineView::new(
            engine.handle(),
            Arc::clone(settings),
            guests,
            watchlist,
            #[cfg(feature = "sandbox")]
            installed,
        )?;
        let admin = Arc::clone(admin);
        let controller = Arc::new(watched);
        let start = || HttpServer::start(listening, controller, admin, incoming, log, access);
        let started = in_background(start);
        started.map(Some).map_err(|error| format!("cannot start to serve HTTP: {error}"))
    }
}

/// Listens where it was said. Where nothing was, a port that is taken is no reason not to start:
/// another controller may run beside this one; it is said, and nothing is served.
///
/// # Errors
/// One sentence.
fn listen(at: Option<ServeAt>, access: &Access) -> Result<Option<Listening>, Why> {
    match at {
        Some(ServeAt::Off) => Ok(None),
        Some(ServeAt::Address(address)) => {
            Listening::on(address, access).map(Some).map_err(|refused| cannot(&refused))
        }
        None => match Listening::on(DEFAULT, access) {
            Ok(listening) => Ok(Some(listening)),
            Err(refused @ BindError::Taken(_)) => {
                warn!("{refused}; going on without HTTP");
                Ok(None)
            }
            Err(refused) => Err(cannot(&refused)),
        },
    }
}

/// Whose fault it is.
fn cannot(refused: &BindError) -> Why {
    match refused {
        BindError::Open(_) => Why::Usage(refused.to_string()),
        BindError::Taken(_) | BindError::Failed(..) => Why::Failed(refused.to_string()),
    }
}

/// Tells the log and the followers of events.
struct LogAndFollowers<L>(L, EventSender);

impl<L: EventSink> EventSink for LogAndFollowers<L> {
    fn emit(&self, event: ControllerEvent) {
        self.1.emit(event.clone());
        self.0.emit(event);
    }
}

/// The engine, the applications and the settings, as they are seen from outside.
pub(crate) struct EngineView {
    engine: Handle,
    settings: Arc<Settings>,
    apps: Apps,
    guests: Arc<GuestSet>,
    watchlist: Watchlist,
    recorder: Recorder,
    #[cfg(feature = "sandbox")]
    installed: Arc<InstalledApps>,
    /// Above so many bytes the kernel ends this process.
    memory_max: Option<u64>,
}

impl EngineView {
    /// # Errors
    /// One sentence: the applications cannot work together.
    fn new(
        engine: Handle,
        settings: Arc<Settings>,
        guests: Arc<GuestSet>,
        watchlist: Watchlist,
        #[cfg(feature = "sandbox")] installed: Arc<InstalledApps>,
    ) -> Result<EngineView, String> {
        let app_set = settings.now().app_set()?;
        let apps = views::apps(&app_set.graph().map_err(|wrong| wrong.to_string())?);
        let recorder = Recorder::start(engine.clone(), &settings.now())?;
        Ok(EngineView {
            engine,
            recorder,
            settings,
            apps,
            guests,
            watchlist,
            #[cfg(feature = "sandbox")]
            installed,
            memory_max: limit_here(),
        })
    }
}

impl EngineView {
    /// As the settings have it now.
    fn report_folder(&self) -> Option<ReportFolder> {
        self.settings.now().http.reports.clone().map(ReportFolder)
    }
}

impl Controller for EngineView {
    fn now(&self) -> Time {
        self.engine.now()
    }

    fn switches(&self) -> Vec<Seen> {
        self.engine.switches()
    }

    fn switch(&self, dpid: DatapathId) -> Option<Seen> {
        self.engine.switch(dpid)
    }

    fn counters(&self) -> Snapshot {
        self.engine.snapshot()
    }

    fn world(&self) -> Arc<World> {
        self.engine.world()
    }

    fn memory_left(&self) -> usize {
        let Some(max) = self.memory_max else { return usize::MAX };
        let max = usize::try_from(max).unwrap_or(usize::MAX);
        max.saturating_sub(resident().unwrap_or(0))
    }

    fn apps(&self) -> Apps {
        let engine = &self.engine;
        let apps = views::AppsView {
            known: &self.apps,
            line_up: &engine.line_up(),
            world: &engine.world(),
            #[cfg(feature = "sandbox")]
            installed: self.installed.about(),
        };
        apps.told(engine.apps())
    }

    fn findings(&self) -> Vec<KnownFinding> {
        #[cfg(feature = "store")]
        let store = self.settings.now().store.clone();
        #[cfg(not(feature = "store"))]
        let store: Option<std::path::PathBuf> = None;
        known::findings(&self.watchlist, store.as_deref())
    }

    fn guests(&self) -> Vec<GuestStatus> {
        self.guests.statuses()
    }

    fn add_guest(&self, spec: GuestSpec) -> Result<(), NotChanged> {
        self.guests.add_and_keep(spec).map_err(not_a_guest)
    }

    fn bound_guest(&self, spec: GuestSpec) -> Result<(), NotChanged> {
        self.guests.bound_and_keep(&spec).map_err(not_a_guest)
    }

    fn remove_guest(&self, name: &str) -> Result<(), NotChanged> {
        self.guests.remove(name).map_err(not_a_guest)
    }

    fn pause_guest(&self, name: &str) -> Result<(), NotChanged> {
        self.guests.pause(name, true).map_err(not_a_guest)
    }

    fn resume_guest(&self, name: &str) -> Result<(), NotChanged> {
        self.guests.pause(name, false).map_err(not_a_guest)
    }

    fn start_app(&self, name: &str) -> Result<(), NotChanged> {
        #[cfg(feature = "sandbox")]
        if self.installed.has(name) {
            return self.installed.begin(name).map_err(not_installed);
        }
        self.engine.start_app(name).map_err(not_changed)
    }

    fn stop_app(&self, name: &str) -> Result<(), NotChanged> {
        #[cfg(feature = "sandbox")]
        if self.installed.has(name) {
            return self.installed.stop(name).map_err(not_installed);
        }
        self.engine.stop_app(name).map_err(not_changed)
    }

    #[cfg(feature = "sandbox")]
    fn install_app(&self, package: &[u8]) -> Result<(), NotChanged> {
        self.installed.install(package).map_err(not_installed)
    }

    #[cfg(feature = "sandbox")]
    fn replace_app(&self, name: &str, package: &[u8]) -> Result<(), NotChanged> {
        self.installed.replace(name, package).map_err(not_installed)
    }

    #[cfg(feature = "sandbox")]
    fn remove_app(&self, name: &str) -> Result<(), NotChanged> {
        self.installed.remove(name).map_err(not_installed)
    }

    #[cfg(feature = "sandbox")]
    fn shadow_app(
        &self,
        name: &str,
        package: Option<&[u8]>,
        after: Option<u64>,
    ) -> Result<(), NotChanged> {
        let done = match package {
            Some(package) => self.installed.shadow(name, package, after),
            None => self.installed.end_shadow(name),
        };
        done.map_err(not_installed)
    }

    #[cfg(feature = "sandbox")]
    fn promote_app(&self, name: &str) -> Result<(), NotChanged> {
        self.installed.promote(name).map_err(not_installed)
    }

    #[cfg(feature = "sandbox")]
    fn app_log(&self, name: &str) -> Option<Vec<AppLine>> {
        let line = |line: aldis_sandbox::Line| AppLine {
            warns: line.level == aldis_sandbox::Level::Warning,
            text: line.text,
        };
        Some(self.installed.lines(name)?.into_iter().map(line).collect())
    }

    #[cfg(feature = "sandbox")]
    fn ask_app(&self, name: &str, request: AppRequest) -> Result<AppAnswer, NotAnswered> {
        self.installed.ask(name, request)
    }

    #[cfg(feature = "sandbox")]
    fn app_pages(&self, name: &str) -> Result<Option<String>, NotAnswered> {
        self.installed.pages(name)
    }

    #[cfg(feature = "sandbox")]
    fn app_page(&self, name: &str, digest: &str, path: &str) -> Option<Option<Vec<u8>>> {
        self.installed.page(name, digest, path)
    }

    fn reports(&self) -> Option<Vec<ReportFile>> {
        self.report_folder().map(|folder| folder.list())
    }

    fn report(&self, name: &str) -> Option<Vec<u8>> {
        self.report_folder()?.read(name)
    }

    fn record(&self, request: RecordingRequest) -> Result<RecordingReceiver, String> {
        self.recorder.record(request)
    }

    fn order_apps(&self, event: &str, apps: Vec<String>) -> Result<(), NotChanged> {
        let kind = event
            .parse()
            .map_err(|unknown: UnknownEvent| NotChanged::Unknown(unknown.to_string()))?;
        self.engine.order_apps(kind, apps).map_err(not_changed)
    }

    fn design(&self) -> Design {
        views::design(&self.settings.now())
    }

    fn set_knobs(&self, knobs: serde_json::Map<String, serde_json::Value>) -> Result<(), BadKnob> {
        self.settings.turn(knobs)
    }

    fn check(&self, to: DatapathId, messages: &[Message]) -> Result<(), Failure> {
        self.engine.check_command(to, messages)
    }

    fn command(&self, to: DatapathId, messages: Vec<Message>, within: Duration) -> Commanded {
        Box::pin(self.engine.command(to, &messages, within))
    }
}

/// Why the installed applications are as they were.
#[cfg(feature = "sandbox")]
fn not_installed(why: InstallError) -> NotChanged {
    match why {
        InstallError::Package(why) => NotChanged::BadPackage(why),
        InstallError::Unknown(why) => NotChanged::Unknown(why),
        InstallError::Disk(why) => NotChanged::Disk(why),
        InstallError::Engine(why) => not_changed(why),
    }
}

/// Why the applications are as they were.
fn not_changed(why: LifecycleError) -> NotChanged {
    match &why {
        LifecycleError::LineUp(LineUpError::Unknown { app, .. }) => {
            let known = BUILT_IN.iter().any(|known| known.name == app);
            NotChanged::Unknown(match known {
                false => why.to_string(),
                true => format!(
                    "the application \"{app}\" is not among those of this controller: add it to \
                     its configuration, or to --apps, and restart"
                ),
            })
        }
        LifecycleError::LineUp(_) | LifecycleError::Panicked(_) => {
            NotChanged::Refused(why.to_string())
        }
        LifecycleError::Late { .. } => NotChanged::Late(why.to_string()),
    }
}

/// Why a guest was not changed, as the server says it.
fn not_a_guest(why: NotAGuest) -> NotChanged {
    match why {
        NotAGuest::Guest(why @ GuestError::Unknown(_)) => NotChanged::Unknown(why.to_string()),
        NotAGuest::Disk(why) => NotChanged::Disk(why),
        other => NotChanged::Refused(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_an_address_or_off() {
        assert_eq!("off".parse(), Ok(ServeAt::Off));
        assert_eq!("127.0.0.1:8080".parse(), Ok(ServeAt::Address(DEFAULT)));
        for text in ["8080", ":8080", "localhost:8080"] {
            assert_eq!(text.parse(), Ok(ServeAt::Address(DEFAULT)), "{text}");
        }
        for text in ["", "OFF", "127.0.0.1"] {
            let refused = text.parse::<ServeAt>().unwrap_err();
            assert!(refused.contains(":8080") && refused.contains("\"off\""), "{text}: {refused}");
        }
    }

    #[test]
    fn only_this_machine_is_served() {
        let open = Access::of_this_machine();
        for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0", "[::ffff:192.0.2.1]:0"] {
            let refused = listen(Some(address.parse().unwrap()), &open).unwrap_err();
            assert!(refused.sentence().contains("without a password"), "{refused:?}");
        }
        assert!(listen(Some(ServeAt::Off), &open).unwrap().is_none());
        let taken = listen(Some("127.0.0.1:0".parse().unwrap()), &open).unwrap().unwrap();
        let refused = listen(Some(ServeAt::Address(taken.address())), &open).unwrap_err();
        assert!(refused.sentence().contains("taken"), "{refused:?}");
    }
}
