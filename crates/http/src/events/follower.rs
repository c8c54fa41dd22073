//! A follower of events, whatever way they are sent.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::sleep;

use super::{EncodedEvent, RingCursor};
use crate::auth::Grant;
use crate::limits::{EVENTS_AT_ONCE, HEARTBEAT};
use crate::problem::Problem;
use crate::routes::Shared;

pub(crate) struct Follower {
    shared: Arc<Shared>,
    place: RingCursor,
    news: watch::Receiver<u64>,
    stopping: watch::Receiver<bool>,
    grant: Grant,
    _permit: OwnedSemaphorePermit,
}

impl Follower {
    /// From behind this event on.
    ///
    /// # Errors
    /// The id is none, or too many follow already.
    pub(crate) fn new(
        shared: Arc<Shared>,
        grant: Grant,
        last: Option<&str>,
    ) -> Result<Follower, Problem> {
        let events = &shared.events;
        Ok(Follower {
            place: events.place(last)?,
            news: events.news(),
            stopping: shared.stopping.clone(),
            grant,
            _permit: events.permit()?,
            shared,
        })
    }

    /// What comes of telling it something, unless its key ends first.
    pub(crate) async fn while_good<T>(&mut self, tells: impl Future<Output = T>) -> Option<T> {
        self.grant.while_good(tells).await
    }

    /// The next events, as soon as there are any; none where nothing happened for a while, and the
    /// end with the controller, or with the follower's key.
    pub(crate) async fn next(&mut self) -> Option<Vec<Arc<EncodedEvent>>> {
        // Where something always happens, the loop never waits below.
        while self.grant.is_good() {
            self.news.mark_unchanged();
            let read =
                self.shared.events.read(&mut self.place, EVENTS_AT_ONCE, &self.shared.date());
            if !read.is_empty() {
                return Some(read);
            }
            tokio::select! {
                more = self.news.changed() => more.ok()?,
                () = crate::server::told(&mut self.stopping) => return None,
                () = self.grant.ends() => return None,
                () = sleep(HEARTBEAT) => return Some(vec![]),
            }
        }
        None
    }
}
