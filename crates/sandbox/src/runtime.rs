//! The runtime that all sandboxed applications share: one engine of wasmtime, the clock that
//! interrupts what runs too long, and the thread that starts failed applications again.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use aldis_control::Time;
use wasmtime::{Config, Engine, OptLevel};

use crate::limits::{EPOCH_MS_MAX, STACK_BYTES};
use crate::supervisor::Supervisor;

/// What time it is: nanoseconds since the controller started.
pub(crate) type Clock = Arc<dyn Fn() -> Time + Send + Sync>;

/// The runtime of sandboxed applications. Its threads end when it and its applications are gone.
#[derive(Clone)]
pub struct Runtime {
    engine: Engine,
    ticker: Arc<Ticker>,
    clock: Clock,
    supervisor: Arc<Supervisor>,
    // Last, so that nothing runs any more when the clock stops.
    _closer: Arc<Closer>,
}

impl std::fmt::Debug for Runtime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runtime").finish_non_exhaustive()
    }
}

/// Ends the clock's thread.
struct Closer(Arc<Ticker>);

impl Drop for Closer {
    fn drop(&mut self) {
        self.0.closed.store(true, Ordering::SeqCst);
        self.0.wake();
    }
}

impl Runtime {
    /// A runtime whose applications see the time of `clock`.
    ///
    /// # Errors
    /// The machine has no threads left, or no memory for the engine, in words.
    pub fn new(clock: impl Fn() -> Time + Send + Sync + 'static) -> Result<Runtime, String> {
        let engine = Engine::new(&config()).map_err(|error| format!("{error:#}"))?;
        let ticker = Arc::new(Ticker::default());
        let (engine_of_thread, ticker_of_thread) = (engine.clone(), Arc::clone(&ticker));
        let ticks = move || ticker_of_thread.run(&engine_of_thread);
        let thread = thread::Builder::new().name("aldis-epochs".to_owned()).spawn(ticks);
        thread.map_err(|error| format!("the clock of sandboxed applications: {error}"))?;
        let closer = Arc::new(Closer(Arc::clone(&ticker)));
        let supervisor = Supervisor::start()
            .map_err(|error| format!("the supervisor of sandboxed applications: {error}"))?;
        let (clock, supervisor): (Clock, _) = (Arc::new(clock), Arc::new(supervisor));
        Ok(Runtime { engine, ticker, clock, supervisor, _closer: closer })
    }

    /// A runtime whose clock starts now.
    ///
    /// # Errors
    /// As [`Runtime::new`].
    pub fn from_now() -> Result<Runtime, String> {
        let begun = Instant::now();
        Runtime::new(move || Time::START + begun.elapsed())
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    pub(crate) fn ticker(&self) -> &Arc<Ticker> {
        &self.ticker
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    pub(crate) fn supervisor(&self) -> &Arc<Supervisor> {
        &self.supervisor
    }
}

fn config() -> Config {
    let mut config = Config::new();
    config.epoch_interruption(true);
    config.cranelift_opt_level(OptLevel::Speed);
    config.max_wasm_stack(STACK_BYTES);
    config.wasm_backtrace_max_frames(None);
    config.concurrency_support(false);
    config
}

/// Advances the engine's epoch while a call is being made, and rests otherwise.
///
/// The deadline of each call is the next epoch, which may come before its time: the call then asks
/// for another one. An epoch is as long as the shortest time that was asked for during the last
/// one: where calls have 50 ms and ask for half of it, the thread wakes 40 times a second, however
/// many there are.
pub(crate) struct Ticker {
    /// Calls that are being made. Epochs go on until there is none, whatever was asked for.
    calls: AtomicUsize,
    /// How long the epoch in hand is, in milliseconds.
    period_ms: AtomicU64,
    /// The shortest time that was asked for in it; [`NOTHING`] where none was.
    asked_ms: AtomicU64,
    rests: AtomicBool,
    closed: AtomicBool,
    lock: Mutex<()>,
    woken: Condvar,
    #[cfg(test)]
    epochs: AtomicU64,
}

impl Default for Ticker {
    fn default() -> Self {
        Ticker {
            calls: AtomicUsize::new(0),
            period_ms: AtomicU64::new(EPOCH_MS_MAX),
            asked_ms: AtomicU64::new(NOTHING),
            rests: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            lock: Mutex::default(),
            woken: Condvar::new(),
            #[cfg(test)]
            epochs: AtomicU64::new(0),
        }
    }
}

/// No time was asked for.
const NOTHING: u64 = u64::MAX;

/// The deadline of a call, in epochs: the next one.
pub(crate) const NEXT_EPOCH: u64 = 1;

/// A call that is being made.
pub(crate) struct InCall<'t>(&'t Ticker);

impl Drop for InCall<'_> {
    fn drop(&mut self) {
        self.0.calls.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Ticker {
    /// A call begins, whose deadline is [`NEXT_EPOCH`]: it wants that in so many milliseconds.
    #[inline]
    pub(crate) fn begin_call(&self, ms: u64) -> InCall<'_> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        self.ask(ms);
        InCall(self)
    }

    /// A call wants the next epoch in so many milliseconds. It may come earlier.
    #[inline]
    pub(crate) fn ask(&self, ms: u64) {
        let ms = ms.min(EPOCH_MS_MAX);
        if ms < self.asked_ms.load(Ordering::Relaxed) {
            self.asked_ms.fetch_min(ms, Ordering::SeqCst);
        }
        // The clock says that it rests before it looks at `calls` for the last time, and how long
        // its epoch is before it looks at `asked_ms`.
        let is_shorter = ms < self.period_ms.load(Ordering::SeqCst);
        if is_shorter || self.rests.load(Ordering::SeqCst) {
            self.period_ms.fetch_min(ms, Ordering::SeqCst);
            self.wake();
        }
    }

    #[cold]
    fn wake(&self) {
        let _lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.woken.notify_all();
    }

    fn run(&self, engine: &Engine) {
        while !self.closed.load(Ordering::SeqCst) {
            self.rest();
            self.sleep();
            match self.asked_ms.swap(NOTHING, Ordering::SeqCst) {
                // A call that began before may still have its time.
                NOTHING => {}
                asked => self.period_ms.store(asked, Ordering::SeqCst),
            }
            self.period_ms.fetch_min(self.asked_ms.load(Ordering::SeqCst), Ordering::SeqCst);
            engine.increment_epoch();
            #[cfg(test)]
            self.epochs.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Rests while no call is being made and none began in the last epoch.
    fn rest(&self) {
        if self.is_wanted() {
            return;
        }
        let mut lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.rests.store(true, Ordering::SeqCst);
        while !self.is_wanted() && !self.closed.load(Ordering::SeqCst) {
            lock = self.woken.wait(lock).unwrap_or_else(PoisonError::into_inner);
        }
        self.rests.store(false, Ordering::SeqCst);
    }

    fn is_wanted(&self) -> bool {
        self.calls.load(Ordering::SeqCst) > 0 || self.asked_ms.load(Ordering::SeqCst) != NOTHING
    }

    /// Sleeps for an epoch, also where that becomes shorter meanwhile.
    fn sleep(&self) {
        let begun = Instant::now();
        let mut lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        while !self.closed.load(Ordering::SeqCst) {
            let period = Duration::from_millis(self.period_ms.load(Ordering::SeqCst));
            let left = period.saturating_sub(begun.elapsed());
            if left.is_zero() {
                return;
            }
            let slept = self.woken.wait_timeout(lock, left);
            lock = slept.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_runs_while_a_call_is_made_and_rests_then() {
        let runtime = Runtime::from_now().unwrap();
        let ticker = runtime.ticker();
        let epochs = || ticker.epochs.load(Ordering::SeqCst);
        let rests = || wait(|| ticker.rests.load(Ordering::SeqCst));
        for _ in 0..20 {
            rests();
            // It asks once, and what it asked for may be forgotten before its deadline is set.
            let (before, call) = (epochs(), ticker.begin_call(5));
            wait(|| epochs() > before + 5);
            drop(call);
        }
        rests();
        let before = epochs();
        thread::sleep(Duration::from_millis(20));
        assert_eq!(epochs(), before);
    }

    #[test]
    fn many_calls_do_not_wake_the_clock_more_often_than_one_and_a_shorter_one_does() {
        let runtime = Runtime::from_now().unwrap();
        let ticker = runtime.ticker();
        let epochs = || ticker.epochs.load(Ordering::SeqCst);
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(400) {
            drop(ticker.begin_call(50));
            thread::sleep(Duration::from_micros(300));
        }
        assert!(epochs() <= begun.elapsed().as_millis() as u64 / 50, "{}", epochs());
        let long = ticker.begin_call(10_000);
        wait(|| {
            ticker.ask(10_000);
            ticker.period_ms.load(Ordering::SeqCst) == EPOCH_MS_MAX
        });
        let (before, begun) = (epochs(), Instant::now());
        let short = ticker.begin_call(1);
        wait(|| {
            ticker.ask(1);
            epochs() > before + 50
        });
        assert!(begun.elapsed() < 50 * Duration::from_millis(EPOCH_MS_MAX) / 2);
        drop((long, short));
    }

    #[test]
    fn the_clock_ends_with_its_runtime() {
        let runtime = Runtime::from_now().unwrap();
        let ticker = Arc::downgrade(runtime.ticker());
        runtime.ticker().ask(1000);
        drop(runtime);
        wait(|| ticker.strong_count() == 0);
    }

    fn wait(mut done: impl FnMut() -> bool) {
        let begun = Instant::now();
        while !done() {
            assert!(begun.elapsed() < Duration::from_secs(10), "it does not come");
            thread::sleep(Duration::from_micros(200));
        }
    }
}
