//! The runtime that all sandboxed applications share: one engine of wasmtime, the clock that
//! interrupts what runs too long, and the thread that starts failed applications again.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use aldis_control::Time;
use wasmtime::{Config, Engine, OptLevel};

use crate::limits::{EPOCH, STACK_BYTES};
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

/// Advances the engine's epoch once a millisecond while a call has a deadline ahead, and rests
/// otherwise.
#[derive(Default)]
pub(crate) struct Ticker {
    epoch: AtomicU64,
    /// The epoch of the latest deadline.
    until: AtomicU64,
    rests: AtomicBool,
    closed: AtomicBool,
    lock: Mutex<()>,
    woken: Condvar,
}

impl Ticker {
    /// The deadline of a call that begins now and may take so many milliseconds, in epochs from
    /// now.
    #[inline]
    pub(crate) fn deadline(&self, allowed_ms: u64) -> u64 {
        // The epoch that has begun does not count.
        let epochs = allowed_ms + 1;
        let until = self.epoch.load(Ordering::Relaxed) + epochs;
        if self.until.load(Ordering::Relaxed) < until {
            self.until.fetch_max(until, Ordering::SeqCst);
        }
        // The clock says that it rests before it looks at `until` for the last time.
        if self.rests.load(Ordering::SeqCst) {
            self.wake();
        }
        epochs
    }

    #[cold]
    fn wake(&self) {
        let _lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.woken.notify_all();
    }

    fn run(&self, engine: &Engine) {
        while !self.closed.load(Ordering::SeqCst) {
            if self.is_late() {
                self.rest();
            }
            thread::sleep(EPOCH);
            self.epoch.fetch_add(1, Ordering::SeqCst);
            engine.increment_epoch();
        }
    }

    /// Whether no deadline is ahead.
    fn is_late(&self) -> bool {
        self.until.load(Ordering::SeqCst) < self.epoch.load(Ordering::SeqCst)
    }

    fn rest(&self) {
        let mut lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.rests.store(true, Ordering::SeqCst);
        while self.is_late() && !self.closed.load(Ordering::SeqCst) {
            lock = self.woken.wait(lock).unwrap_or_else(PoisonError::into_inner);
        }
        self.rests.store(false, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_clock_runs_while_a_deadline_is_ahead_and_rests_then() {
        let runtime = Runtime::from_now().unwrap();
        let ticker = runtime.ticker();
        let rests = || wait(|| ticker.rests.load(Ordering::SeqCst));
        for _ in 0..20 {
            rests();
            let begun = ticker.epoch.load(Ordering::SeqCst);
            let epochs = ticker.deadline(5);
            wait(|| ticker.epoch.load(Ordering::SeqCst) >= begun + epochs);
        }
        rests();
        let before = ticker.epoch.load(Ordering::SeqCst);
        thread::sleep(Duration::from_millis(20));
        assert_eq!(ticker.epoch.load(Ordering::SeqCst), before);
    }

    #[test]
    fn the_clock_ends_with_its_runtime() {
        let runtime = Runtime::from_now().unwrap();
        let ticker = Arc::downgrade(runtime.ticker());
        runtime.ticker().deadline(1);
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
