//! Waking: a bell rung for a thread that sleeps in its poll.
//!
//! The bell is an `eventfd` in an edge-triggered set, as a worker's is. The sleeper has slept for
//! [`ASLEEP`] when it is rung for; a core that sleeps longer may take longer to wake.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;

use super::cores::{CorePair, pin};
use super::rounds::{CostQuartiles, StepPace, median_of};

/// How long the sleeper is left alone.
const ASLEEP: Duration = Duration::from_micros(100);

/// Longer than any wake-up takes: the sleeper is gone.
const PATIENCE: Duration = Duration::from_secs(5);

/// Wake-ups a round.
const SAMPLES: usize = 15;

/// `wake_ns` and `ring_ns`.
pub(super) fn measure(pace: &StepPace<'_>, cores: CorePair) -> io::Result<[CostQuartiles; 2]> {
    let bed = Bed::new()?;
    thread::scope(|scope| {
        scope.spawn(|| {
            pin(Some(cores.far.unwrap_or(cores.near)));
            bed.sleep();
        });
        let measured = pace.rounds(|| {
            let mut rings = Vec::new();
            let wake = median_of(SAMPLES, || {
                let (wake, ring) = bed.wake(pace)?;
                rings.push(ring);
                Ok(Some(wake))
            })?;
            Ok([wake, super::rounds::median(&mut rings)])
        });
        bed.over.store(true, Ordering::Relaxed);
        bed.ring();
        measured
    })
}

/// Where the sleeper sleeps.
struct Bed {
    epoll: OwnedFd,
    bell: OwnedFd,
    begun: Instant,
    // When the sleeper woke, in ns since `begun`; 0 while it sleeps.
    woke: AtomicU64,
    over: AtomicBool,
}

impl Bed {
    fn new() -> io::Result<Bed> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        epoll::add(&epoll, &bell, EventData::new_u64(0), EventFlags::IN | EventFlags::ET)?;
        let (woke, over) = (AtomicU64::new(0), AtomicBool::new(false));
        Ok(Bed { epoll, bell, begun: Instant::now(), woke, over })
    }

    /// The sleeper: sleeps, says when it woke, sleeps on.
    fn sleep(&self) {
        let mut room = [MaybeUninit::uninit(); 1];
        while !self.over.load(Ordering::Relaxed) {
            match epoll::wait(&self.epoll, &mut room, None) {
                Ok(_) => self.woke.store(self.now(), Ordering::Release),
                Err(Errno::INTR) => {}
                Err(_) => return,
            }
        }
    }

    /// Lets the sleeper fall asleep and wakes it: nanoseconds until it runs, and nanoseconds that
    /// ringing took.
    fn wake(&self, pace: &StepPace<'_>) -> io::Result<(f64, f64)> {
        self.woke.store(0, Ordering::Release);
        let lay_down = Instant::now();
        while lay_down.elapsed() < ASLEEP {
            thread::yield_now();
        }
        let rung_at = self.now();
        let (ring, ()) = pace.clock.time(|| self.ring());
        let rung = Instant::now();
        loop {
            match self.woke.load(Ordering::Acquire) {
                0 if rung.elapsed() > PATIENCE => return Err(io::ErrorKind::TimedOut.into()),
                // Gives the core away where the sleeper has none of its own.
                0 => thread::yield_now(),
                woke => return Ok((woke.saturating_sub(rung_at) as f64, ring)),
            }
        }
    }

    fn ring(&self) {
        let _ = rustix::io::write(&self.bell, &1u64.to_ne_bytes());
    }

    fn now(&self) -> u64 {
        self.begun.elapsed().as_nanos() as u64
    }
}
