//! A follower of events, or of the log, whatever way they are sent.

use std::marker::PhantomData;
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::sleep;

use super::{RingCursor, RingItem};
use crate::auth::Grant;
use crate::limits::{EVENTS_AT_ONCE, HEARTBEAT};
use crate::problem::Problem;
use crate::routes::Shared;

pub(crate) struct Follower<T> {
    shared: Arc<Shared>,
    place: RingCursor,
    news: watch::Receiver<u64>,
    stopping: watch::Receiver<bool>,
    grant: Grant,
    _permit: OwnedSemaphorePermit,
    items: PhantomData<fn() -> T>,
}

impl<T: RingItem> Follower<T> {
    /// From behind this item on.
    ///
    /// # Errors
    /// The id is none, or too many follow already.
    pub(crate) fn new(
        shared: Arc<Shared>,
        grant: Grant,
        last: Option<&str>,
    ) -> Result<Follower<T>, Problem> {
        let all = T::all(&shared);
        Ok(Follower {
            place: all.place(last)?,
            news: all.news(),
            stopping: shared.stopping.clone(),
            grant,
            _permit: shared.events.permit()?,
            shared,
            items: PhantomData,
        })
    }

    /// What comes of telling it something, unless its key ends first.
    pub(crate) async fn while_good<D>(&mut self, tells: impl Future<Output = D>) -> Option<D> {
        self.grant.while_good(tells).await
    }

    /// The next items, as soon as there are any; none where nothing happened for a while, and the
    /// end with the controller, or with the follower's key.
    pub(crate) async fn next(&mut self) -> Option<Vec<Arc<T>>> {
        // Where something always happens, the loop never waits below.
        while self.grant.is_good() {
            self.news.mark_unchanged();
            let date = self.shared.date();
            let read = T::all(&self.shared).read(&mut self.place, EVENTS_AT_ONCE, &date);
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
