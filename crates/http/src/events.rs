//! The newest events, kept for their followers.
//!
//! ```text
//!   workers ──try_send──▶ incoming ──▶ ring: the newest EVENTS_KEPT ──▶ each follower, from its own place
//!   never wait  bounded    (pump)      numbered                          at its own pace
//! ```
//!
//! A follower has a place and no queue. One that is slow, or was away, goes on from where it was,
//! and is told how many events it missed where the ring has them no more. However many followers
//! there are, they keep no event from being forgotten.

mod follower;
mod ring;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aldis_control::controller_event::{ControllerEvent, EventSink};
use axum::http::StatusCode;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::api::events::Event;
use crate::controller::Controller;
use crate::limits::{EVENTS_MAX, FOLLOWERS_MAX};
use crate::problem::Problem;
use crate::timestamp::Calendar;

pub(crate) use follower::Follower;
pub(crate) use ring::{EncodedEvent, RingCursor};
use ring::{EventRing, Limits};

/// The workers' end: takes controller events and never waits.
#[derive(Debug)]
pub struct EventSender {
    sender: Sender<ControllerEvent>,
    dropped: Arc<AtomicU64>,
}

/// The server's end.
#[derive(Debug)]
pub struct EventReceiver {
    receiver: Receiver<ControllerEvent>,
    dropped: Arc<AtomicU64>,
}

/// Both ends: one for the emitters of controller events, one for [`crate::HttpServer::start`].
pub fn channel() -> (EventSender, EventReceiver) {
    let (sender, receiver) = mpsc::channel(EVENTS_MAX);
    let dropped = Arc::<AtomicU64>::default();
    (EventSender { sender, dropped: Arc::clone(&dropped) }, EventReceiver { receiver, dropped })
}

impl EventSink for EventSender {
    fn emit(&self, event: ControllerEvent) {
        if self.sender.try_send(event).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// The newest events, and their followers.
#[derive(Debug)]
pub(crate) struct EventLog {
    ring: Mutex<EventRing>,
    /// The number of the newest event.
    news: watch::Sender<u64>,
    permits: Arc<Semaphore>,
}

impl EventLog {
    /// None yet, of a controller that started then.
    pub(crate) fn new(calendar: &Calendar) -> EventLog {
        EventLog {
            ring: Mutex::new(EventRing::new(calendar.run())),
            news: watch::channel(0).0,
            permits: Arc::new(Semaphore::new(FOLLOWERS_MAX)),
        }
    }

    /// Keeps what comes in, until nothing can tell anything more.
    pub(crate) async fn pump(
        &self,
        mut incoming: EventReceiver,
        controller: &dyn Controller,
        calendar: &Calendar,
    ) {
        let mut limits = Limits::default();
        while let Some(event) = incoming.receiver.recv().await {
            let now = controller.now();
            let at = calendar.date(now);
            let event = Event::of_controller(&event);
            let (left_out, allowed) = limits.judge(now, &event);
            let left_out = left_out + incoming.dropped.swap(0, Ordering::Relaxed);
            if left_out > 0 {
                self.push(Event::left_out(left_out), &at);
            }
            if allowed {
                self.push(event, &at);
            }
        }
    }

    /// It happened, then.
    pub(crate) fn push(&self, event: Event, at: &str) {
        let number = self.ring().push(event, at);
        self.news.send_replace(number);
    }

    /// How many there were.
    pub(crate) fn count(&self) -> u64 {
        *self.news.borrow()
    }

    /// At most `max` events behind a place, which goes on behind them; `at` is now.
    pub(crate) fn read(
        &self,
        place: &mut RingCursor,
        max: usize,
        at: &str,
    ) -> Vec<Arc<EncodedEvent>> {
        self.ring().read(place, max, at)
    }

    /// The place behind the event that a follower saw last; `oldest` is before all that are kept,
    /// and nothing behind them.
    ///
    /// # Errors
    /// The id is none.
    pub(crate) fn place(&self, last: Option<&str>) -> Result<RingCursor, Problem> {
        let ring = self.ring();
        match last {
            None => Ok(ring.newest()),
            Some("oldest") => Ok(ring.oldest()),
            Some(id) => ring.behind(id).ok_or_else(|| {
                let detail = format!(
                    "{id:?} is no event's id; give that of the last event seen, or \"oldest\""
                );
                Problem::bad("bad-event-id", detail)
            }),
        }
    }

    /// Adds an event of the server's own.
    pub(crate) fn note(&self, text: String, at: &str) {
        self.push(Event::note(text), at);
    }

    /// Is told when there is more.
    pub(crate) fn news(&self) -> watch::Receiver<u64> {
        self.news.subscribe()
    }

    /// A permit for one more follower.
    pub(crate) fn permit(&self) -> Result<OwnedSemaphorePermit, Problem> {
        Arc::clone(&self.permits).try_acquire_owned().map_err(|_| {
            let detail = format!("{FOLLOWERS_MAX} follow the events already; try again later");
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "too-many-followers", detail)
        })
    }

    fn ring(&self) -> MutexGuard<'_, EventRing> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
