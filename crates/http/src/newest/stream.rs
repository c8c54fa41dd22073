//! What happens, as server-sent events: a stream that does not end.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::header::{CONNECTION, CONTENT_TYPE, HeaderMap};
use axum::response::{IntoResponse, Response};
use futures_util::stream::unfold;

use super::{Follower, RingItem};
use crate::auth::{Caller, Revocation};
use crate::problem::Problem;
use crate::routes::Shared;

/// The header by which a browser says what it saw last, when it comes back.
const LAST: &str = "last-event-id";

/// The stream for a caller, from behind the item that its headers name, or else `after`.
///
/// # Errors
/// The id is none, or too many follow already.
pub(crate) fn stream<T: RingItem + Send + Sync + 'static>(
    shared: Arc<Shared>,
    caller: Caller,
    revocation: &Revocation,
    headers: &HeaderMap,
    after: Option<&str>,
) -> Result<Response, Problem> {
    let last = headers.get(LAST).and_then(|id| id.to_str().ok());
    let follower = Follower::<T>::new(shared, caller.grant.clone(), last.or(after))?;
    revocation.hold(caller.grant);
    // Something comes at once, so that the follower knows that it follows.
    let begin = Bytes::from_static(b"retry: 2000\n: aldis\n\n");
    let stream = unfold((follower, Some(begin)), async |(mut follower, begin)| {
        let bytes = match begin {
            Some(begin) => begin,
            None => written(&follower.next().await?),
        };
        Some((Ok::<_, Infallible>(bytes), (follower, None)))
    });
    // Nothing else is asked for over a connection that is held.
    let headers = [(CONTENT_TYPE, "text/event-stream"), (CONNECTION, "close")];
    Ok((headers, Body::from_stream(stream)).into_response())
}

fn written<T: RingItem>(items: &[Arc<T>]) -> Bytes {
    match items {
        [] => Bytes::from_static(b": nothing new\n\n"),
        _ => items.iter().map(|item| item.sent()).collect::<String>().into(),
    }
}
