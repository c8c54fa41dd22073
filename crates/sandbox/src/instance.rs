//! One running component: its store, its limits, and its calls.

mod answer;
mod call_time;
mod http;
mod imports;
mod inert;
mod meter;

use std::sync::Arc;
use std::time::{Duration, Instant};

use wasmtime::component::{InstancePre, TypedFunc};
use wasmtime::{Error, Store, UpdateDeadline};

use crate::fault::{Fault, FaultKind};
use crate::kv::KeyValue;
use crate::limits::{FAILURE_WINDOW, HANDED_BYTES_MAX, HANDLES_MAX};
use crate::lines::{Line, LineBuffer};
use crate::manifest::AppLimits;
use crate::network::{GrantedSnapshots, NetworkSnapshots};
use crate::runtime::{Clock, InCall, NEXT_EPOCH, Ticker};
use answer::BytesFunc;
use call_time::CallTime;
use http::HttpFunc;
use meter::Meter;

pub(crate) use http::HTTP;
pub(crate) use imports::link;

/// What the imports of an instance see.
pub(crate) struct InstanceState {
    time: CallTime,
    meter: Meter,
    lines: LineBuffer,
    kv: Arc<dyn KeyValue>,
    network: Arc<dyn NetworkSnapshots>,
    snapshots: GrantedSnapshots,
    clock: Clock,
    random: ring::rand::SystemRandom,
    /// What the call in hand appended to its answer.
    answer: Vec<u8>,
}

/// What instances of an application are made with.
#[derive(Clone)]
pub(crate) struct InstanceSettings {
    pub(crate) limits: AppLimits,
    pub(crate) kv: Arc<dyn KeyValue>,
    pub(crate) network: Arc<dyn NetworkSnapshots>,
    pub(crate) snapshots: GrantedSnapshots,
    pub(crate) clock: Clock,
    pub(crate) ticker: Arc<Ticker>,
    pub(crate) config: String,
}

/// A component that is running.
pub(crate) struct Instance {
    store: Store<InstanceState>,
    // Borrowed bytes would put their lifetime into the type of the function; an `Arc` is given back
    // when the call is over.
    batch: BytesFunc<(Arc<Vec<u8>>,)>,
    tick: BytesFunc<(u64,)>,
    stop: TypedFunc<(), ()>,
    http: Option<HttpFunc>,
    batch_ms: u64,
    trial: Option<Trial>,
    ticker: Arc<Ticker>,
}

/// The time after a failure, in which a batch has less.
pub(crate) struct Trial {
    pub(crate) until: Instant,
    pub(crate) call_ms: u64,
}

impl Instance {
    /// Instantiates a component and makes its first call.
    pub(crate) fn start(
        pre: &InstancePre<InstanceState>,
        settings: &InstanceSettings,
    ) -> Result<Instance, Fault> {
        let InstanceSettings { limits, kv, network, snapshots, clock, ticker, config } = settings;
        let state = InstanceState {
            time: CallTime::new(),
            meter: Meter::new(limits),
            lines: LineBuffer::default(),
            kv: Arc::clone(kv),
            network: Arc::clone(network),
            snapshots: *snapshots,
            clock: Clock::clone(clock),
            random: ring::rand::SystemRandom::new(),
            answer: Vec::new(),
        };
        let mut store = Store::new(pre.engine(), state);
        store.limiter(|state| &mut state.meter);
        store.set_hostcall_fuel(HANDED_BYTES_MAX);
        store.set_max_component_handles(HANDLES_MAX);
        let clock = Arc::clone(ticker);
        store.epoch_deadline_callback(move |mut store| {
            Ok(match store.data_mut().time.passed() {
                Some(ms) => {
                    clock.ask(ms);
                    UpdateDeadline::Continue(NEXT_EPOCH)
                }
                None => UpdateDeadline::Interrupt,
            })
        });
        let call = allow(&mut store, ticker, limits.start_ms);
        let started = begin(pre, &mut store, config.clone());
        drop(call);
        let (batch, tick, stop, http, refused) = started.map_err(|error| {
            let fault = Fault::of(&error, limits.start_ms).after(store.data().lines.last());
            Fault { kind: start_kind(fault.kind), ..fault }
        })?;
        let (batch_ms, ticker) = (limits.batch_ms, Arc::clone(ticker));
        match refused {
            Err(reason) => {
                Err(Fault::new(FaultKind::Start, format!("it refused to start: {reason}")))
            }
            Ok(()) => {
                Ok(Instance { store, batch, tick, stop, http, batch_ms, trial: None, ticker })
            }
        }
    }

    /// Its batches have less time for a while.
    pub(crate) fn put_on_trial(&mut self, trial: Trial) {
        self.trial = Some(trial);
    }

    /// Whether they have.
    pub(crate) fn is_on_trial(&self) -> bool {
        self.trial.is_some()
    }

    /// Hands over events. The vector of events is left as it is.
    pub(crate) fn batch(&mut self, events: &mut Vec<u8>) -> Result<Vec<u8>, Fault> {
        self.trial.take_if(|trial| trial.until <= Instant::now());
        let ms = self.trial.as_ref().map_or(self.batch_ms, |trial| trial.call_ms);
        self.call_batch(events, ms)
    }

    /// Hands over the switches that are there, which may be many: all of its time is for this.
    pub(crate) fn greet(&mut self, events: &mut Vec<u8>) -> Result<Vec<u8>, Fault> {
        self.call_batch(events, self.batch_ms)
    }

    fn call_batch(&mut self, events: &mut Vec<u8>, ms: u64) -> Result<Vec<u8>, Fault> {
        let _call = allow(&mut self.store, &self.ticker, ms);
        let shared = Arc::new(std::mem::take(events));
        let answer = self.batch.call(&mut self.store, (Arc::clone(&shared),));
        *events = Arc::try_unwrap(shared).unwrap_or_default();
        answer.map_err(|error| self.fault(&error, ms))
    }

    /// How long it is since its last call began.
    #[inline]
    pub(crate) fn since_called(&self) -> Duration {
        self.store.data().time.since_begun()
    }

    /// Says what time it is.
    pub(crate) fn tick(&mut self, now: u64) -> Result<Vec<u8>, Fault> {
        let _call = allow(&mut self.store, &self.ticker, self.batch_ms);
        let answer = self.tick.call(&mut self.store, (now,));
        answer.map_err(|error| self.fault(&error, self.batch_ms))
    }

    /// Makes the last call. What it writes to the log is handed to `tell`.
    pub(crate) fn stop(mut self, tell: impl FnMut(Line)) -> Result<(), Fault> {
        let call = allow(&mut self.store, &self.ticker, self.batch_ms);
        let stopped = self.stop.call(&mut self.store, ());
        drop(call);
        let stopped = stopped.map_err(|error| self.fault(&error, self.batch_ms));
        self.take_lines().for_each(tell);
        stopped
    }

    /// What it wrote to the log since this was last asked.
    pub(crate) fn take_lines(&mut self) -> impl Iterator<Item = Line> {
        self.store.data_mut().lines.take()
    }

    /// The last line of its log.
    pub(crate) fn last_line(&self) -> Option<&str> {
        self.store.data().lines.last()
    }

    /// Whether it wrote to the log since its lines were last taken.
    #[inline]
    pub(crate) fn has_lines(&self) -> bool {
        self.store.data().lines.has_some()
    }

    fn fault(&self, error: &Error, allowed_ms: u64) -> Fault {
        let mut fault = Fault::of(error, allowed_ms);
        if fault.kind == FaultKind::Time && allowed_ms < self.batch_ms {
            let (usual, window) = (self.batch_ms, FAILURE_WINDOW.as_secs());
            fault.reason += &format!(" instead of {usual} ms, within {window} s of a failure");
        }
        fault.after(self.store.data().lines.last())
    }
}

/// A call begins that may take so many milliseconds.
fn allow<'t>(store: &mut Store<InstanceState>, ticker: &'t Ticker, allowed_ms: u64) -> InCall<'t> {
    let state = store.data_mut();
    state.answer.clear();
    let ms = state.time.begin(allowed_ms);
    store.set_epoch_deadline(NEXT_EPOCH);
    ticker.begin_call(ms)
}

/// Limits that are hit before the first batch keep their kind; a trap there is a failed start.
fn start_kind(kind: FaultKind) -> FaultKind {
    match kind {
        FaultKind::Trap => FaultKind::Start,
        kind => kind,
    }
}

/// The calls of a started instance, and what it said to its start.
type Started = (
    BytesFunc<(Arc<Vec<u8>>,)>,
    BytesFunc<(u64,)>,
    TypedFunc<(), ()>,
    Option<HttpFunc>,
    Result<(), String>,
);

fn begin(
    pre: &InstancePre<InstanceState>,
    store: &mut Store<InstanceState>,
    config: String,
) -> Result<Started, Error> {
    let instance = pre.instantiate(&mut *store)?;
    let start =
        instance.get_typed_func::<(String,), (Result<(), String>,)>(&mut *store, "start")?;
    let batch = BytesFunc::find(&instance, store, "batch")?;
    let tick = BytesFunc::find(&instance, store, "tick")?;
    let stop = instance.get_typed_func(&mut *store, "stop")?;
    let http = http::find(&instance, store)?;
    let (refused,) = start.call(&mut *store, (config,))?;
    Ok((batch, tick, stop, http, refused))
}
