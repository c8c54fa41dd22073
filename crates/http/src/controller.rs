//! What the server sees of the controller that it serves.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use aldis_apps::hosts::Hosts;
use aldis_apps::monitor::Statistics;
use aldis_apps::routing::{EqualPaths, Routes};
use aldis_apps::topology::{Map, MapLink};
use aldis_control::command::{Failure, Outcome};
use aldis_control::stats::Snapshot;
use aldis_control::switch::Seen;
use aldis_control::{Time, World};
use aldis_guest::{GuestSpec, GuestStatus};
use aldis_wire::DatapathId;
use aldis_wire::msg::{Message, PortStats};

use crate::api::app_routes::{AppAnswer, AppRequest, NotAnswered};
use crate::api::apps::{AppLine, Apps, NotChanged};
use crate::api::health::KnownFinding;
use crate::api::reports::ReportFile;
use crate::api::weights::{BadKnob, Design};
use crate::recording::{RecordingReceiver, RecordingRequest};

/// Why a controller without sandboxes installs nothing.
const NO_SANDBOX: &str = "this controller was built without sandboxes, and installs no application";

/// Why a controller without guests adds none.
const NO_GUESTS: &str = "this controller was built without guests";

/// What will have become of a command.
pub type Commanded = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// A controller, as it is seen from outside. Everything but a command and a change of the
/// applications is answered at once, from what is published anyway: no worker waits for a request
/// over HTTP.
pub trait Controller: Send + Sync + 'static {
    /// The time of its clock.
    fn now(&self) -> Time;

    /// The switches that are up, by datapath id.
    fn switches(&self) -> Vec<Seen>;

    /// A switch, if it is up.
    fn switch(&self, dpid: DatapathId) -> Option<Seen>;

    /// Everything that is counted.
    fn counters(&self) -> Snapshot;

    /// What its applications publish.
    fn world(&self) -> Arc<World>;

    /// The applications.
    fn apps(&self) -> Apps;

    /// Starts an application; returns when every worker calls it, after milliseconds or, at the
    /// worst, seconds.
    ///
    /// # Errors
    /// Why not.
    fn start_app(&self, name: &str) -> Result<(), NotChanged>;

    /// Stops an application; returns when no worker calls it.
    ///
    /// # Errors
    /// Why not.
    fn stop_app(&self, name: &str) -> Result<(), NotChanged>;

    /// Installs an application from its package, and starts it.
    ///
    /// # Errors
    /// Why not.
    fn install_app(&self, package: &[u8]) -> Result<(), NotChanged> {
        let _ = package;
        Err(NotChanged::Refused(NO_SANDBOX.into()))
    }

    /// Puts another version of an application in its place.
    ///
    /// # Errors
    /// Why not.
    fn replace_app(&self, name: &str, package: &[u8]) -> Result<(), NotChanged> {
        let _ = (name, package);
        Err(NotChanged::Refused(NO_SANDBOX.into()))
    }

    /// Removes an application that was installed.
    ///
    /// # Errors
    /// Why not.
    fn remove_app(&self, name: &str) -> Result<(), NotChanged> {
        let _ = name;
        Err(NotChanged::Refused(NO_SANDBOX.into()))
    }

    /// Runs another version in the shadow of an application, and promotes it by itself after so many
    /// batches in a row whose commands were the same, where that is said; ends it where there is no
    /// package.
    ///
    /// # Errors
    /// Why not.
    fn shadow_app(
        &self,
        name: &str,
        package: Option<&[u8]>,
        after: Option<u64>,
    ) -> Result<(), NotChanged> {
        let _ = (name, package, after);
        Err(NotChanged::Refused(NO_SANDBOX.into()))
    }

    /// Puts the version in the shadow of an application in its place.
    ///
    /// # Errors
    /// Why not.
    fn promote_app(&self, name: &str) -> Result<(), NotChanged> {
        let _ = name;
        Err(NotChanged::Refused(NO_SANDBOX.into()))
    }

    /// The newest lines that an installed application wrote; nothing where none of this name is.
    fn app_log(&self, name: &str) -> Option<Vec<AppLine>> {
        let _ = name;
        None
    }

    /// Has an installed application answer a request; returns after a second or two at the worst.
    ///
    /// # Errors
    /// Why there is no answer of its own.
    fn ask_app(&self, name: &str, request: AppRequest) -> Result<AppAnswer, NotAnswered> {
        let _ = request;
        self.app_pages(name).and(Err(NotAnswered::NoRoutes(NO_SANDBOX.into())))
    }

    /// The digest of the package of an installed application, where it has an `index.html`.
    ///
    /// # Errors
    /// No application of this name was installed.
    fn app_pages(&self, name: &str) -> Result<Option<String>, NotAnswered> {
        let why = format!("no application {name:?} was installed from a package");
        Err(NotAnswered::Unknown(why))
    }

    /// A file of the pages of an installed application whose package has this digest: nothing where
    /// there is no such application or it has no pages, and nothing in it where there is no such
    /// file.
    fn app_page(&self, name: &str, digest: &str, path: &str) -> Option<Option<Vec<u8>>> {
        let _ = (name, digest, path);
        None
    }

    /// The files that the laboratory wrote; nothing where no folder of them was named.
    fn reports(&self) -> Option<Vec<ReportFile>> {
        None
    }

    /// A file of [`Controller::reports`].
    fn report(&self, name: &str) -> Option<Vec<u8>> {
        let _ = name;
        None
    }

    /// Begins to record the control channel.
    ///
    /// # Errors
    /// One sentence: why not.
    fn record(&self, request: RecordingRequest) -> Result<RecordingReceiver, String> {
        let _ = request;
        Err("this controller has no recorder".into())
    }

    /// Gives an event this order of applications; the usual one where none is named.
    ///
    /// # Errors
    /// Why not.
    fn order_apps(&self, event: &str, apps: Vec<String>) -> Result<(), NotChanged>;

    /// What it knows by itself to be wrong, the gravest first.
    fn findings(&self) -> Vec<KnownFinding> {
        vec![]
    }

    /// The guests, by name.
    fn guests(&self) -> Vec<GuestStatus> {
        vec![]
    }

    /// The guest of this name, where there is one.
    fn guest_status(&self, name: &str) -> Option<GuestStatus> {
        self.guests().into_iter().find(|guest| guest.spec.name == name)
    }

    /// Adds a guest, whose spec was checked; returns when every worker knows it. The connections to
    /// it are opened afterwards.
    ///
    /// # Errors
    /// Why not: there is one of its name, or its grant overlaps with that of another.
    fn add_guest(&self, spec: GuestSpec) -> Result<(), NotChanged> {
        let _ = spec;
        Err(NotChanged::Refused(NO_GUESTS.into()))
    }

    /// Changes the bounds of a guest: rate, queue, weight, and what becomes of requests that it
    /// cannot take. Its connections and flows stay.
    ///
    /// # Errors
    /// Why not: more than its bounds would change, or there is none of its name.
    fn bound_guest(&self, spec: GuestSpec) -> Result<(), NotChanged> {
        let _ = spec;
        Err(NotChanged::Refused(NO_GUESTS.into()))
    }

    /// Removes a guest and closes its connections; returns when no worker knows it.
    ///
    /// # Errors
    /// Why not.
    fn remove_guest(&self, name: &str) -> Result<(), NotChanged> {
        let _ = name;
        Err(NotChanged::Refused(NO_GUESTS.into()))
    }

    /// Pauses a guest: its connections are closed, and no request goes to it.
    ///
    /// # Errors
    /// Why not.
    fn pause_guest(&self, name: &str) -> Result<(), NotChanged> {
        let _ = name;
        Err(NotChanged::Refused(NO_GUESTS.into()))
    }

    /// Has a guest that is paused or in quarantine connected again.
    ///
    /// # Errors
    /// Why not.
    fn resume_guest(&self, name: &str) -> Result<(), NotChanged> {
        let _ = name;
        Err(NotChanged::Refused(NO_GUESTS.into()))
    }

    /// How workers share the switches.
    fn design(&self) -> Design;

    /// Sets knobs of the design that count at once; the others stay. Until the controller ends, or
    /// reads its configuration again.
    ///
    /// # Errors
    /// A knob that there is not, that is out of range, that does nothing under this design, or that
    /// counts only after a restart. Nothing was changed.
    fn set_knobs(&self, knobs: serde_json::Map<String, serde_json::Value>) -> Result<(), BadKnob>;

    /// Whether these messages could be sent to a switch as one command.
    ///
    /// # Errors
    /// Why not.
    fn check(&self, to: DatapathId, messages: &[Message]) -> Result<(), Failure>;

    /// Has a switch do this, and say what became of it within this time.
    fn command(&self, to: DatapathId, messages: Vec<Message>, within: Duration) -> Commanded;

    /// How many bytes of memory the process may still have where a limit is known, above which the
    /// system ends it.
    fn memory_left(&self) -> usize {
        usize::MAX
    }

    /// How many hosts were seen; nothing where no application looks for them.
    fn hosts_count(&self) -> Option<usize> {
        self.world().part::<Hosts>().map(Hosts::len)
    }

    /// How many links there are between switches; nothing where no application looks for them.
    fn links_count(&self) -> Option<usize> {
        self.world().part::<Map>().map(|map| map.links().count())
    }

    /// The links between switches, each once, in any order; nothing where no application looks for
    /// them.
    fn links(&self) -> Option<Vec<MapLink>> {
        self.world().part::<Map>().map(|map| map.links().collect())
    }

    /// The paths of equal cost from one switch to another, as [`Routes::paths`] has them; nothing
    /// where no application looks for paths.
    fn paths(
        &self,
        from: DatapathId,
        to: DatapathId,
        max: usize,
        hops_max: usize,
    ) -> Option<EqualPaths> {
        let world = self.world();
        world.part::<Routes>().map(|routes| routes.paths(from, to, max, hops_max))
    }

    /// The counters of ports, as [`Statistics::ports`] has them; nothing where no application asks
    /// the switches.
    fn port_counters(&self, max: usize) -> Option<(Vec<(DatapathId, PortStats)>, u64)> {
        self.world().part::<Statistics>().map(|statistics| statistics.ports(max))
    }
}
