//! The attacked side: a controller in a process of its own, so that its memory and its descriptors
//! are seen apart from the attackers'. It says on standard output what happens, a line each, and
//! its [`State`] when a line comes in; it stops when its standard input ends.

use std::fmt::Display;
use std::io::{self, BufRead, Write};
use std::net::SocketAddr;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use aldis_apps::LearningSwitch;
use aldis_apps::learning_switch::{self, Seed};
use aldis_control::controller_event::{ControllerEvent, EventSink};
use aldis_control::{AppSet, session};
use aldis_engine::design::Knobs;
use aldis_engine::{Config, Design, Engine};

use aldis_testkit::counting;

/// The variable that tells the process its [`Settings`].
pub(crate) const SETTINGS: &str = "ALDIS_HOSTILE_SETTINGS";

/// How the controller is to run, where it is not as usual.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) workers: usize,
    pub(crate) handshake_within: Duration,
}

impl Display for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.workers, self.handshake_within.as_millis())
    }
}

impl FromStr for Settings {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (workers, handshake_ms) = text.split_once(' ').unwrap_or_default();
        let handshake_within = Duration::from_millis(handshake_ms.parse()?);
        Ok(Settings { workers: workers.parse()?, handshake_within })
    }
}

/// What the controller's process holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct State {
    /// Bytes allocated and not freed.
    pub(crate) heap: usize,
    /// Open descriptors.
    pub(crate) descriptors: usize,
    /// Bytes of physical memory.
    pub(crate) resident: usize,
}

impl State {
    fn now() -> State {
        let pages = std::fs::read_to_string("/proc/self/statm").expect("Linux says so");
        let pages = pages.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok());
        State {
            heap: counting::in_use(),
            // The one that lists them is among them each time.
            descriptors: std::fs::read_dir("/proc/self/fd").expect("Linux lists them").count(),
            resident: pages.expect("a number of pages") * rustix::param::page_size(),
        }
    }
}

impl Display for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} {}", self.heap, self.descriptors, self.resident)
    }
}

impl FromStr for State {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut numbers = text.split(' ').map(str::parse);
        let mut next = || numbers.next().unwrap_or_else(|| "".parse());
        Ok(State { heap: next()?, descriptors: next()?, resident: next()? })
    }
}

/// What the controller says.
#[derive(Debug)]
pub(crate) enum Said {
    Listening(SocketAddr),
    /// The connection from there has a switch behind it now.
    Up(SocketAddr),
    /// The connection from there ended, and why.
    Ended(SocketAddr, String),
    State(State),
    Other(String),
}

impl Display for Said {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Said::Listening(address) => write!(f, "listening {address}"),
            Said::Up(peer) => write!(f, "up {peer}"),
            Said::Ended(peer, why) => write!(f, "ended {peer} {why}"),
            Said::State(state) => write!(f, "state {state}"),
            Said::Other(text) => f.write_str(text),
        }
    }
}

impl Said {
    /// Reads a line back.
    pub(crate) fn read(line: &str) -> Said {
        let other = || Said::Other(line.to_owned());
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let (peer, why) = rest.split_once(' ').unwrap_or((rest, ""));
        match word {
            "listening" => peer.parse().map_or_else(|_| other(), Said::Listening),
            "up" => peer.parse().map_or_else(|_| other(), Said::Up),
            "ended" => peer.parse().map_or_else(|_| other(), |peer| Said::Ended(peer, why.into())),
            "state" => rest.parse().map_or_else(|_| other(), Said::State),
            _ => other(),
        }
    }
}

/// Hands facts to the thread that writes.
struct Teller(Sender<Said>);

impl EventSink for Teller {
    fn emit(&self, event: ControllerEvent) {
        let said = match event {
            ControllerEvent::NeverJoined { peer, why }
            | ControllerEvent::Down { peer, why, .. } => Said::Ended(peer, why.to_string()),
            ControllerEvent::Up { peer, .. } => Said::Up(peer),
            other => Said::Other(format!("{other:?}")),
        };
        // The writer ends with the process, and nothing listens any more.
        let _ = self.0.send(said);
    }
}

fn write(lines: &Receiver<Said>) {
    for line in lines {
        if writeln!(io::stdout(), "{line}").is_err() {
            return;
        }
    }
}

/// Runs the controller until standard input ends.
pub(crate) fn serve(settings: Settings) {
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || write(&lines));
    let config = Config {
        listen: vec![([127, 0, 0, 1], 0).into()],
        workers: settings.workers,
        design: Design::default(),
        spin: false,
        knobs: Knobs::default(),
        session: session::Config {
            handshake_within: settings.handshake_within,
            ..session::Config::default()
        },
    };
    let app_set = AppSet::default()
        .with(|| LearningSwitch::new(learning_switch::LearningConfig::new(Seed::new([7; 16]))));
    let engine =
        Engine::start(&config, app_set, Arc::new(Teller(sender.clone()))).expect("a start");
    let say = |said| sender.send(said).expect("the writer writes");
    say(Said::Listening(engine.listening()[0]));
    for _ in io::stdin().lock().lines().map_while(Result::ok) {
        say(Said::State(State::now()));
    }
    engine.stop();
}
