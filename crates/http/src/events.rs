//! The newest events, kept for their followers.
//!
//! ```text
//!   workers ──try_send──▶ incoming ──▶ ring: the newest EVENTS_KEPT ──▶ each follower, from its own place
//!   never wait  bounded    (pump)      numbered                          at its own pace
//! ```

mod ring;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use aldis_control::Time;
use aldis_control::controller_event::{ControllerEvent, EventSink};
use axum::http::StatusCode;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::api::events::Event;
use crate::controller::Controller;
use crate::limits::{EVENTS_AT_ONCE, EVENTS_MAX, FOLLOWERS_MAX};
use crate::newest::Newest;
use crate::problem::Problem;
use crate::timestamp::Calendar;

pub(crate) use ring::EncodedEvent;
use ring::Limits;

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
    newest: Newest<EncodedEvent>,
    permits: Arc<Semaphore>,
}

impl EventLog {
    /// None yet, of a controller that started then.
    pub(crate) fn new(calendar: &Calendar) -> EventLog {
        EventLog {
            newest: Newest::new(calendar.run()),
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
        let (mut limits, mut taken) = (Limits::default(), Vec::with_capacity(EVENTS_AT_ONCE));
        loop {
            let wait = limits.wait(controller.now()).unwrap_or(Duration::MAX);
            let more = incoming.receiver.recv_many(&mut taken, EVENTS_AT_ONCE);
            let has_ended = matches!(timeout(wait, more).await, Ok(0));
            let now = controller.now();
            limits.leave_out(now, incoming.dropped.swap(0, Ordering::Relaxed));
            for event in taken.drain(..) {
                self.keep(event, now, &mut limits, calendar);
            }
            if let Some(count) = limits.due(now) {
                self.push(Event::left_out(count), &calendar.date(now));
            }
            if has_ended {
                return;
            }
        }
    }

    /// Of a million hosts that are learnt in a second few are written down: the others cost a look.
    fn keep(&self, event: ControllerEvent, now: Time, limits: &mut Limits, calendar: &Calendar) {
        match event {
            ControllerEvent::NotTold { count } => limits.leave_out(now, count),
            event if limits.allows(now, Event::about(&event)) => {
                self.push(Event::of_controller(&event), &calendar.date(now));
            }
            _ => {}
        }
    }

    /// It happened, then.
    pub(crate) fn push(&self, event: Event, at: &str) {
        self.newest.push(|id| EncodedEvent::new(id, event, at));
    }

    /// Adds an event of the server's own.
    pub(crate) fn note(&self, text: String, at: &str) {
        self.push(Event::note(text), at);
    }

    /// Those that are kept.
    pub(crate) fn newest(&self) -> &Newest<EncodedEvent> {
        &self.newest
    }

    /// A permit for one more follower, of events or of the log.
    pub(crate) fn permit(&self) -> Result<OwnedSemaphorePermit, Problem> {
        Arc::clone(&self.permits).try_acquire_owned().map_err(|_| {
            let detail = format!("{FOLLOWERS_MAX} follow already; try again later");
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "too-many-followers", detail)
        })
    }
}
