//! Starting a controller from a library call.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use aldis_control::fact::{Fact, Facts};
use aldis_control::{App, On, Recipe, session};
use aldis_engine::design::Knobs;
use aldis_engine::{Config, Design, Engine, StartError, pin};
use crossbeam_channel::{Sender, bounded};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// The ports that switches try.
const PORTS: [u16; 2] = [6653, 6633];

/// Lines that wait to be printed. What is said while as many wait is left out.
const LINES_MAX: usize = 1024;

/// A controller that is about to start.
#[derive(Debug)]
pub struct Controller {
    config: Config,
    recipe: Recipe,
}

impl Default for Controller {
    fn default() -> Self {
        Controller::new()
    }
}

impl Controller {
    /// Without an application; on ports 6653 and 6633, with the default design and a worker for each core.
    pub fn new() -> Controller {
        let config = Config {
            listen: PORTS.map(|port| SocketAddr::from(([0, 0, 0, 0], port))).into(),
            workers: pin::workers_default(),
            design: Design::default(),
            spin: false,
            session: session::Config::default(),
            knobs: Knobs::default(),
        };
        Controller { config, recipe: Recipe::default() }
    }

    /// The same on the addresses that the command line names, if any: `ADDR:PORT…`.
    ///
    /// # Errors
    /// An argument that is no address.
    pub fn from_args() -> Result<Controller, Refused> {
        let mut controller = Controller::new();
        let addresses = std::env::args().skip(1).map(|text| {
            let refused = || format!("\"{text}\" is no address; write it as 127.0.0.1:6653");
            text.parse().map_err(|_| Refused(refused()))
        });
        let addresses = addresses.collect::<Result<Vec<_>, _>>()?;
        if !addresses.is_empty() {
            controller.config.listen = addresses;
        }
        Ok(controller)
    }

    /// Listens on this address alone; port 0 for any that is free.
    pub fn listen(mut self, address: SocketAddr) -> Controller {
        self.config.listen = vec![address];
        self
    }

    /// Everything else that can be set.
    pub fn configure(mut self, change: impl FnOnce(&mut Config)) -> Controller {
        change(&mut self.config);
        self
    }

    /// Adds an application at the end: `make` makes one instance for each worker.
    pub fn with<A: App>(
        mut self,
        make: impl Fn() -> A + Clone + Send + Sync + 'static,
    ) -> Controller {
        self.recipe = self.recipe.with(make);
        self
    }

    /// Says which applications see an event, and in which order: [`Recipe::sequence`].
    pub fn sequence(mut self, on: On, apps: impl IntoIterator<Item: Into<String>>) -> Controller {
        self.recipe = self.recipe.sequence(on, apps);
        self
    }

    /// Starts it. What happens is printed on standard error, a line each.
    ///
    /// # Errors
    /// Applications that cannot work together, a port that is taken, a machine without threads to spare.
    pub fn start(self) -> Result<Running, Refused> {
        let (lines, printed) = bounded::<String>(LINES_MAX);
        let print = move || printed.iter().for_each(|line| eprintln!("{line}"));
        let thread = std::thread::Builder::new().name("log".into());
        thread.spawn(print).map_err(|error| Refused(format!("cannot start the log: {error}")))?;
        let engine = Engine::start(&self.config, self.recipe, Arc::new(Printer(lines)))?;
        Ok(Running { engine })
    }

    /// Starts it, says where it listens, and runs until SIGINT or SIGTERM. Flows stay on the switches.
    ///
    /// # Errors
    /// As [`Controller::start`].
    pub fn run(self) -> Result<(), Refused> {
        let signals = Signals::new([SIGINT, SIGTERM]);
        let mut signals =
            signals.map_err(|error| Refused(format!("cannot watch for signals: {error}")))?;
        let running = self.start()?;
        for address in running.listening() {
            eprintln!("Listening for switches on {address}");
        }
        signals.forever().next();
        running.stop();
        Ok(())
    }
}

/// A controller that runs. Dropped without [`Running::stop`], it goes on.
#[derive(Debug)]
pub struct Running {
    engine: Engine,
}

impl Running {
    /// The addresses it listens on; where port 0 was asked for, the one it got.
    pub fn listening(&self) -> &[SocketAddr] {
        self.engine.listening()
    }

    /// The engine, with its counters and what can be changed while it runs.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Closes every connection and ends every thread.
    pub fn stop(self) {
        self.engine.stop();
    }
}

/// Why a controller did not start, in one sentence.
#[derive(Clone, PartialEq, Eq)]
pub struct Refused(String);

/// As `main` prints it.
impl fmt::Debug for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

impl From<StartError> for Refused {
    fn from(error: StartError) -> Refused {
        Refused(error.to_string())
    }
}

/// Passes lines on, and never waits.
struct Printer(Sender<String>);

impl Facts for Printer {
    fn tell(&self, fact: Fact) {
        let _ = self.0.try_send(fact.to_string());
    }
}
