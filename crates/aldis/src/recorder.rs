//! The recorder: a thread that takes what the engine's tap copied aside, keeps the newest of it in
//! memory where that is wanted, and sends it to clients as pcapng.
//!
//! ```text
//!   lanes of the tap ──▶ merged by time ──▶ each client's pcapng ──▶ HTTP
//!                                └────────▶ ring: the newest bytes ──▶ `--last`
//! ```
//!
//! It sleeps until a client comes, unless a ring is wanted. Then it looks at the lanes from time to
//! time, and a worker that fills its lane faster wakes it. It waits for no client: what a client
//! does not take is counted, in the file. The tap is on only while a client or the ring listens.

mod client;
mod lanes;
mod ring;

use std::thread::{self, Thread};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aldis_engine::Handle;
use aldis_http::recording::{self, RecordingReceiver, RecordingRequest, RecordingSender};
use crossbeam_channel::{Receiver, Sender, TryRecvError};
use serde_json::json;

use crate::config::Config;
use client::RecordingClient;
use lanes::Lanes;
use ring::RecordingRing;

/// How often the lanes are emptied while a client records: often enough to follow what happens, and
/// seldom enough that a turn finds as much as is worth a system call.
const EVERY: Duration = Duration::from_millis(20);

/// How often they are for the ring alone, which only keeps chunks.
const RING_EVERY: Duration = Duration::from_millis(100);

/// How often there is a turn while something waits for the next one: a client that has taken less
/// than there was, a ring whose memory is not resident yet.
const SOON: Duration = Duration::from_millis(4);

/// How old an event is before it is merged: each worker that runs has given away older ones by
/// then.
const MERGED_AFTER: Duration = Duration::from_millis(25);

/// How long it waits for a worker that does not run, and may have older ones.
const MERGED_WITHIN: Duration = Duration::from_secs(1);

/// How often a client hears something where nothing happens.
const ALIVE_EVERY: Duration = Duration::from_secs(5);

/// Clients wait for the recorder no longer than for a turn of it.
const QUEUED_MAX: usize = 64;

/// The recorder's handle. Its thread ends when this is dropped.
pub(crate) struct Recorder {
    /// Nothing as it is dropped.
    orders: Option<Sender<RecordingOrder>>,
    thread: Thread,
    has_ring: bool,
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.orders = None;
        self.thread.unpark();
    }
}

struct RecordingOrder {
    request: RecordingRequest,
    sender: RecordingSender,
}

impl Recorder {
    /// Starts it, with a ring where the configuration wants one.
    ///
    /// # Errors
    /// One sentence: the machine has no thread to spare.
    pub(crate) fn start(engine: Handle, config: &Config) -> Result<Recorder, String> {
        let (orders, taken) = crossbeam_channel::bounded(QUEUED_MAX);
        let ring = config.recording_bytes();
        let about = RecordingAbout::of(config, &engine);
        let mut turns = RecorderTurns::new(engine, about, ring);
        let work = move || turns.run(&taken);
        let spawned = thread::Builder::new().name("recorder".into()).spawn(work);
        let spawned = spawned.map_err(|error| format!("cannot start the recorder: {error}"))?;
        let (orders, thread) = (Some(orders), spawned.thread().clone());
        Ok(Recorder { orders, thread, has_ring: ring.is_some() })
    }

    /// Begins a recording.
    ///
    /// # Errors
    /// One sentence: nothing is kept, or too many ask at once.
    pub(crate) fn record(&self, request: RecordingRequest) -> Result<RecordingReceiver, String> {
        if request.last.is_some() && !self.has_ring {
            return Err(
                "the controller keeps no minutes in memory: start it with --recording-mib 64, \
                        or recording-mib = 64 in its configuration"
                    .into(),
            );
        }
        let (sender, receiver) = recording::channel();
        let order = RecordingOrder { request, sender };
        let taken = self.orders.as_ref().is_some_and(|orders| orders.try_send(order).is_ok());
        self.thread.unpark();
        taken.then_some(receiver).ok_or_else(|| "the recorder is busy; try again".into())
    }
}

/// What the head of each recording says.
struct RecordingAbout {
    started_ns: u64,
    /// Whether recordings of the design can be played back.
    replays: bool,
    head: serde_json::Value,
}

impl RecordingAbout {
    fn of(config: &Config, engine: &Handle) -> RecordingAbout {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let started = u64::try_from(since_1970.as_nanos()).unwrap_or(u64::MAX);
        let replays = aldis_engine::replay::can_replay(&config.design);
        let apps: Vec<&str> = config.apps().iter().map(|app| app.name()).collect();
        RecordingAbout {
            started_ns: started.saturating_sub(engine.now().0),
            replays,
            head: json!({
                "aldis": env!("CARGO_PKG_VERSION"),
                "design": config.design.name,
                "replays": replays,
                "workers": engine.tap().lanes() - 1,
                "apps": apps,
            }),
        }
    }
}

/// What the thread works with.
struct RecorderTurns {
    engine: Handle,
    about: RecordingAbout,
    lanes: Lanes,
    ring: Option<RecordingRing>,
    clients: Vec<RecordingClient>,
    /// Orders that are carried out when all is merged up to a time.
    waiting: Vec<(u64, RecordingOrder)>,
    on: bool,
}

impl RecorderTurns {
    fn new(engine: Handle, about: RecordingAbout, ring: Option<usize>) -> RecorderTurns {
        RecorderTurns {
            lanes: Lanes::new(engine.tap()),
            ring: ring.map(RecordingRing::new),
            engine,
            about,
            clients: vec![],
            waiting: vec![],
            on: false,
        }
    }

    /// Works until the handle is dropped.
    fn run(&mut self, orders: &Receiver<RecordingOrder>) {
        self.engine.tap().wakes_me();
        loop {
            self.rest();
            loop {
                match orders.try_recv() {
                    Ok(order) => self.take(order),
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => return self.turn(false),
                }
            }
            if self.on {
                self.work();
            }
        }
    }

    /// Sleeps until there is something to do, or it is woken.
    fn rest(&mut self) {
        let listens = !self.clients.is_empty() || !self.waiting.is_empty();
        self.turn(self.ring.is_some() || listens);
        self.engine.tap().want_app_lock(self.can_be_played());
        let is_behind = self.clients.iter().any(RecordingClient::is_behind);
        let grows = self.ring.as_ref().is_some_and(RecordingRing::grows);
        let time = match &self.ring {
            _ if is_behind || grows || !self.waiting.is_empty() => SOON,
            _ if listens => self.until_merged(),
            Some(_) => RING_EVERY,
            None => return thread::park(),
        };
        thread::park_timeout(time);
    }

    /// Whether something is recorded that can be played back: of which nothing is missing.
    fn can_be_played(&self) -> bool {
        let ring = self.ring.as_ref().is_some_and(RecordingRing::is_whole);
        let client = || self.clients.iter().any(RecordingClient::is_whole);
        self.about.replays && (ring || client() || !self.waiting.is_empty())
    }

    /// How long a recording rests. A worker that has few chunks left gets some back as soon as what
    /// is in them may be merged: it does not wake the recorder again before.
    fn until_merged(&self) -> Duration {
        let Some(oldest) = self.lanes.oldest_of_full() else { return EVERY };
        let due = oldest.saturating_add(nanos(MERGED_AFTER)).saturating_sub(self.engine.now().0);
        Duration::from_nanos(due).clamp(SOON, MERGED_AFTER)
    }

    /// Turns the tap on or off.
    fn turn(&mut self, on: bool) {
        if on == self.on {
            return;
        }
        self.on = on;
        self.lanes.clear();
        if on {
            self.engine.tap().turn_on();
            if let Some(ring) = &mut self.ring {
                ring.begin(self.engine.tapped_conns());
            }
        } else {
            self.engine.tap().turn_off();
        }
    }

    /// A client came. What the tap has before this moment is of no use to one that records from now
    /// on; one that wants the last seconds waits until they are merged.
    fn take(&mut self, order: RecordingOrder) {
        self.turn(true);
        let now = self.engine.now().0;
        let due = if order.request.last.is_some() { now } else { 0 };
        if let Some(ring) = &mut self.ring {
            let tap = self.engine.tap();
            ring.settle_once(|chunk| tap.give_back(chunk));
        }
        self.waiting.push((due, order));
    }

    fn work(&mut self) {
        // Those that record from now on.
        self.begin_due(0);
        let time = self.engine.now();
        let (now, complete) = (time.0, self.engine.tap().complete_until(time).0);
        let ago = |ago| now.saturating_sub(nanos(ago));
        let horizon = complete.min(ago(MERGED_AFTER)).max(ago(MERGED_WITHIN));
        self.lanes.fill();
        let RecorderTurns { lanes, clients, ring, engine, .. } = self;
        let is_live = clients.iter().any(RecordingClient::is_live);
        if is_live {
            let dpid_of = |conn| engine.dpid_of(conn);
            lanes.merge(horizon, |event| {
                clients.iter_mut().for_each(|client| client.put(event, &dpid_of));
            });
        } else {
            lanes.pass_over();
        }
        let tap = engine.tap();
        lanes.done(|chunk| match ring {
            Some(ring) => ring.keep(chunk).into_iter().for_each(|chunk| tap.give_back(chunk)),
            None => tap.give_back(chunk),
        });
        if let Some(ring) = ring {
            ring.settle(now, !is_live, |chunk| tap.give_back(chunk));
            ring.look(now, || engine.tapped_conns());
            ring.grow();
        }
        self.begin_due(horizon);
        self.clients.retain_mut(|client| client.send(now));
    }

    /// Carries out the orders that wait for this time.
    fn begin_due(&mut self, horizon: u64) {
        let due = self.waiting.extract_if(.., |(due, _)| *due <= horizon);
        let due: Vec<_> = due.map(|(_, order)| order).collect();
        due.into_iter().for_each(|order| self.begin(order));
    }

    /// Begins a client's recording.
    fn begin(&mut self, order: RecordingOrder) {
        let now = self.engine.now().0;
        let RecordingOrder { request, sender } = order;
        let mut head = self.about.head.clone();
        head["switches"] = match request.switches.is_empty() {
            true => "all".into(),
            false => request.switches.iter().map(ToString::to_string).collect(),
        };
        let head = head.to_string();
        let mut client = RecordingClient::begin(sender, &request, self.about.started_ns, &head);
        match (request.last, &self.ring) {
            (Some(last), Some(ring)) => {
                let since = now.saturating_sub(nanos(last));
                let dpid_of = |conn| self.engine.dpid_of(conn);
                let there = self.engine.tapped_conns();
                ring.replay(since, there, |event| client.put_whole(event, &dpid_of));
                client.end();
            }
            _ => {
                let known = self.engine.tapped_conns();
                client.know(now, &known);
            }
        }
        self.clients.push(client);
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
