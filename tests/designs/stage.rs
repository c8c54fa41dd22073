//! A running engine, what it said, and a supply of switch numbers that were not used before.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Condvar, Mutex, Once};
use std::time::{Duration, Instant};

use aldis_apps::LearningSwitch;
use aldis_apps::learning_switch::{self, Seed};
use aldis_control::app::{Event, EventCtx, Next};
use aldis_control::controller_event::{ControllerEvent, EventSink};
use aldis_control::session::{self, Close};
use aldis_control::stats::{SwitchCounts, SwitchSnapshot};
use aldis_control::{App, AppSet, EventKind, Output};
use aldis_emulator::peer::bare;
use aldis_engine::design::Knobs;
use aldis_engine::{Config, Engine};
use aldis_wire::header::kind::ECHO_REQUEST;

use crate::combinations::Combination;

/// Longer than anything here takes on a machine that is busy with other things.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// How long output may wait untaken, on stage.
pub(crate) const STUCK_WITHIN: Duration = Duration::from_secs(1);

/// The xid of what [`Clock`] says.
pub(crate) const TICK: u32 = 0x5ec0_0000;

/// Switches that a load generator plays are numbered from 1.
const NUMBERS_FROM: u32 = 1000;

/// An application that says something every second, whatever else is on its way.
struct Clock;

impl App for Clock {
    type Slot = ();

    const NAME: &'static str = "clock";

    const EVENTS: &'static [EventKind] = &[EventKind::Second];

    fn event(&mut self, ctx: EventCtx<'_, ()>, _: &Event, out: &mut Output) -> Next {
        out.append(&bare(ctx.switch.version, ECHO_REQUEST, TICK));
        Next::Continue
    }
}

/// What the engine said and was not asked for yet.
#[derive(Default)]
struct Record {
    events: Mutex<Vec<ControllerEvent>>,
    more: Condvar,
}

impl EventSink for Record {
    fn emit(&self, event: ControllerEvent) {
        self.events.lock().expect("nobody panics with it").push(event);
        self.more.notify_all();
    }
}

/// An engine with its switches to come.
pub(crate) struct Stage {
    pub(crate) engine: Engine,
    combination: Combination,
    record: Arc<Record>,
    numbers: AtomicU32,
}

/// Workers of any engine here that panicked.
static PANICS: AtomicUsize = AtomicUsize::new(0);

/// Workers end in silence where an engine is stopped; here their panics count.
fn watch_workers() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if std::thread::current().name().is_some_and(|name| name.starts_with("worker-")) {
                PANICS.fetch_add(1, Ordering::Relaxed);
            }
            SCENARIO.with_borrow(|scenario| eprintln!("{scenario}"));
            usual(panic);
        }));
    });
}

thread_local! {
    /// What is played on this thread, for the reader of its failure.
    static SCENARIO: RefCell<String> = RefCell::default();
}

impl Stage {
    /// With a learning switch, and a clock.
    pub(crate) fn open(combination: &Combination) -> Stage {
        let settings = learning_switch::LearningConfig::new(Seed::new([7; 16]));
        let app_set = AppSet::default().with(move || LearningSwitch::new(settings)).with(|| Clock);
        Stage::open_with(combination, app_set)
    }

    /// With these applications.
    pub(crate) fn open_with(combination: &Combination, app_set: AppSet) -> Stage {
        watch_workers();
        let config = Config {
            listen: vec![([127, 0, 0, 1], 0).into()],
            workers: combination.workers,
            design: combination.design,
            spin: false,
            knobs: Knobs::default(),
            session: session::Config { stuck_within: STUCK_WITHIN, ..session::Config::default() },
        };
        let record = Arc::<Record>::default();
        let engine = Engine::start(&config, app_set, Arc::clone(&record) as _).expect("it starts");
        let numbers = AtomicU32::new(NUMBERS_FROM);
        Stage { engine, combination: *combination, record, numbers }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.engine.listening()[0]
    }

    /// Whether echo requests pass the flow requests of their switch.
    pub(crate) fn echoes_pass(&self) -> bool {
        self.combination.design.passes_requests()
    }

    /// A number that no switch had before.
    pub(crate) fn number(&self) -> u32 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }

    /// Plays a scenario; should it fail, its name and the combination are said.
    pub(crate) fn play(&self, name: &str, scenario: impl FnOnce(&Stage)) {
        SCENARIO.set(format!("{name}; {}", self.combination));
        scenario(self);
        SCENARIO.take();
    }

    /// Waits until this switch is up.
    pub(crate) fn await_up(&self, number: u32) {
        self.await_event(|event| match event {
            ControllerEvent::Up { dpid, .. } if dpid.0 == u64::from(number) => Some(()),
            _ => None,
        });
    }

    /// Waits until this switch is gone, and says why.
    pub(crate) fn await_down(&self, number: u32) -> Close {
        self.await_event(|event| match event {
            ControllerEvent::Down { dpid, why, .. } if dpid.0 == u64::from(number) => {
                Some(why.clone())
            }
            _ => None,
        })
    }

    fn await_event<T>(&self, wanted: impl Fn(&ControllerEvent) -> Option<T>) -> T {
        let deadline = Instant::now() + PATIENCE;
        let mut events = self.record.events.lock().expect("nobody panics with it");
        loop {
            let found =
                events.iter().enumerate().find_map(|(at, event)| Some((at, wanted(event)?)));
            if let Some((at, found)) = found {
                events.remove(at);
                return found;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "what was waited for did not happen; these did: {events:?}");
            events = self.record.more.wait_timeout(events, left).expect("nobody panics with it").0;
        }
    }

    /// What is counted for a switch that is there.
    pub(crate) fn counts(&self, number: u32) -> Option<SwitchCounts> {
        self.counted(number).map(|switch| switch.counts)
    }

    /// The same with its distributions.
    pub(crate) fn counted(&self, number: u32) -> Option<SwitchSnapshot> {
        let switches = self.engine.snapshot().switches;
        switches.into_iter().find(|switch| switch.dpid.0 == u64::from(number))
    }

    /// Stops the engine: every thread ends, and none has panicked.
    pub(crate) fn close(self) {
        let (done, stopped) = sync_channel(1);
        let engine = self.engine;
        std::thread::spawn(move || {
            engine.stop();
            // A switch that waited too long is not there any more.
            let _ = done.send(());
        });
        stopped.recv_timeout(PATIENCE).expect("the engine stops");
        assert_eq!(PANICS.load(Ordering::Relaxed), 0, "workers panicked");
    }
}
