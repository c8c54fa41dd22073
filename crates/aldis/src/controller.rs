//! The builder: from applications and settings to a controller that runs.

use std::fmt;
use std::net::SocketAddr;
#[cfg(feature = "config")]
use std::path::PathBuf;

use aldis_control::pipeline::Sequence;
use aldis_control::{App, EventKind};
use aldis_guest::GuestSpec;

use crate::Refused;
use crate::admin::SettingsOrigin;
use crate::app_registry::{AppName, AppRegistry};
use crate::config::Config;
use crate::outlet::Outlets;
use crate::running::{Running, start};
use crate::signals::Signals;

/// A change of the engine's settings that an author makes.
pub(crate) type Configure = Box<dyn Fn(&mut aldis_engine::Config) + Send + Sync>;

/// A controller that is about to start.
pub struct Controller {
    origin: SettingsOrigin,
    registry: AppRegistry,
    configure: Vec<Configure>,
}

impl fmt::Debug for Controller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Controller").field("registry", &self.registry).finish_non_exhaustive()
    }
}

impl Default for Controller {
    fn default() -> Self {
        Controller::new()
    }
}

impl Controller {
    /// Without an application and without HTTP; on ports 6653 and 6633, with the default design and
    /// a worker for each core.
    pub fn new() -> Controller {
        Controller::of(None, || Ok(Config::default())).without_http()
    }

    #[cfg(feature = "http")]
    fn without_http(self) -> Controller {
        self.set(|config| config.http.at = Some(crate::http::ServeAt::Off))
    }

    #[cfg(not(feature = "http"))]
    fn without_http(self) -> Controller {
        self
    }

    /// Without an application; the rest as `aldis run --config FILE` has it.
    #[cfg(feature = "config")]
    pub fn from_file(file: impl Into<PathBuf>) -> Controller {
        let file = file.into();
        Controller::of(Some(file.clone()), move || Config::read(&file))
    }

    /// Without an application; the rest as `aldis run` has it with the arguments of this program.
    /// Where they make no sense, and for `--help`, the program prints why and ends.
    #[cfg(feature = "cli")]
    pub fn from_args() -> Controller {
        Controller::with_args(crate::args::parse())
    }

    /// The same with these arguments.
    #[cfg(feature = "cli")]
    pub fn with_args(args: crate::Args) -> Controller {
        Controller::of(args.config.clone(), move || args.read())
    }

    fn of(
        file: Option<std::path::PathBuf>,
        read: impl Fn() -> Result<Config, String> + Send + Sync + 'static,
    ) -> Controller {
        let origin = SettingsOrigin { file, read: Box::new(read) };
        Controller { origin, registry: AppRegistry::empty(), configure: vec![] }
    }

    /// Adds an application behind those before it: `make` makes one instance for each worker. Where
    /// the configuration names applications (`apps`, `--apps`), those run instead, and this one is
    /// among those that can be named.
    pub fn with<A: App>(
        mut self,
        make: impl Fn() -> A + Clone + Send + Sync + 'static,
    ) -> Controller {
        self.registry.add(make);
        self
    }

    /// Adds, likewise, the applications that any Ethernet network needs to work: those of `aldis
    /// run`.
    pub fn with_default_apps(mut self) -> Controller {
        self.registry.add_defaults();
        self
    }

    /// These run and no others, in this order, by their names.
    pub fn apps(self, names: impl IntoIterator<Item = AppName>) -> Controller {
        let names: Vec<_> = names.into_iter().collect();
        self.set(move |config| config.set_apps(names.clone()))
    }

    /// Says which applications see an event, and in which order. It counts where the configuration
    /// names no applications.
    pub fn sequence(
        mut self,
        kind: EventKind,
        apps: impl IntoIterator<Item: Into<String>>,
    ) -> Controller {
        let apps = apps.into_iter().map(Into::into).collect();
        self.registry.sequence(Sequence { kind, apps });
        self
    }

    /// Presents the switches to a guest, besides those of the configuration: another controller,
    /// in a process of its own.
    pub fn guest(self, spec: GuestSpec) -> Controller {
        self.set(move |config| config.further_guests.push(spec.clone()))
    }

    /// Listens for switches on this address alone; port 0 for any that is free.
    pub fn listen(self, address: SocketAddr) -> Controller {
        self.set(move |config| config.listen = vec![address])
    }

    /// Serves REST, events and metrics on this address; port 0 for any that is free.
    #[cfg(feature = "http")]
    pub fn http(self, address: SocketAddr) -> Controller {
        self.set(move |config| config.http.at = Some(crate::http::ServeAt::Address(address)))
    }

    /// Keeps in this file what is set over HTTP, over restarts.
    #[cfg(feature = "store")]
    pub fn store(self, file: impl Into<PathBuf>) -> Controller {
        let file = file.into();
        self.set(move |config| config.store = Some(file.clone()))
    }

    /// Everything else of the engine that can be set.
    pub fn configure(
        mut self,
        change: impl Fn(&mut aldis_engine::Config) + Send + Sync + 'static,
    ) -> Controller {
        self.configure.push(Box::new(change));
        self
    }

    /// This counts over what was said before.
    fn set(self, change: impl Fn(&mut Config) + Send + Sync + 'static) -> Controller {
        let Controller { origin: SettingsOrigin { file, read }, registry, configure } = self;
        let read = Box::new(move || {
            let mut config = read()?;
            change(&mut config);
            Ok(config)
        });
        Controller { origin: SettingsOrigin { file, read }, registry, configure }
    }

    /// How its applications work together, without starting it.
    ///
    /// # Errors
    /// A configuration that makes no sense, or applications that cannot work together.
    #[cfg(feature = "http")]
    pub fn graph(self) -> Result<aldis_http::api::apps::Apps, Refused> {
        let app_set = (self.parts().0.read)().and_then(|config| config.app_set());
        let graph = app_set.and_then(|app_set| app_set.graph().map_err(|wrong| wrong.to_string()));
        graph.map(|graph| crate::http::views::apps(&graph)).map_err(Refused::Usage)
    }

    /// Starts it. What happens is printed on standard error, a line each.
    ///
    /// # Errors
    /// A configuration that makes no sense, applications that cannot work together, a port that is
    /// taken, a machine without threads to spare.
    pub fn start(self) -> Result<Running, Refused> {
        let outlets = Outlets::start()?;
        let (origin, configure) = self.parts();
        let started = start(origin, &configure, &outlets);
        if started.is_err() {
            outlets.finish();
        }
        started
    }

    /// Starts it, says where it listens, and runs until SIGINT or SIGTERM. Flows stay on the
    /// switches.
    ///
    /// # Errors
    /// As [`Controller::start`].
    pub fn run(self) -> Result<(), Refused> {
        let signals = Signals::listen()?;
        let mut running = self.start()?;
        running.tell_banner();
        running.until_stopped(&signals);
        Ok(())
    }

    /// Where its settings come from, with its applications among them.
    fn parts(self) -> (SettingsOrigin, Vec<Configure>) {
        let registry = self.registry.clone();
        let controller = self.set(move |config| config.registry = registry.clone());
        (controller.origin, controller.configure)
    }
}
