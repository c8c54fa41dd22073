//! The control channel as a pcapng file: from now on, or of the last seconds.

use std::convert::Infallible;
use std::time::Duration;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::{CONNECTION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use futures_util::stream::unfold;
use serde::Deserialize;
#[cfg(test)]
use utoipa::IntoParams;

use crate::auth::{Caller, Revocation};
use crate::extract::{Dpid, Query};
use crate::limits::{RECORDED_SWITCHES_MAX, RECORDING_LAST_MAX_S};
use crate::problem::Problem;
use crate::recording::RecordingRequest;
use crate::routes::Ctx;

/// What is to be recorded.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(IntoParams))]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, into_params(parameter_in = Query))]
pub(crate) struct RecordingWanted {
    /// The datapath ids of switches, separated by commas, 1000 at most; all where it is absent
    switches: Option<String>,
    /// Seconds before now, 1 to 86400, as far as they are kept in memory; from now on where it is
    /// absent
    last: Option<u64>,
}

/// The control channel as pcapng, which Wireshark reads as OpenFlow
///
/// What came over TLS is recorded as it was before. Where the client or the controller does not
/// keep up, what is missing is counted in the file. Without `last` the answer ends with the client.
#[cfg_attr(test, utoipa::path(get, path = "/api/v1/recording", operation_id = "record", tag = "controller", params(RecordingWanted), responses(
    (status = 200, description = "A pcapng file, which grows as long as the client reads", content_type = "application/x-pcapng", body = Vec<u8>),
    (status = 400, description = "No datapath id, or a time out of range", body = Problem),
    (status = 409, description = "Nothing is kept in memory (`recording-mib`)", body = Problem),
    (status = 503, description = "Too many record already", body = Problem),
)))]
pub(crate) async fn show(
    State(shared): Ctx,
    Extension(caller): Extension<Caller>,
    Extension(revocation): Extension<Revocation>,
    Query(RecordingWanted { switches, last }): Query<RecordingWanted>,
) -> Result<Response, Problem> {
    let bad = |detail: String| Problem::bad("bad-query", detail);
    let mut request = RecordingRequest::default();
    for dpid in switches.iter().flat_map(|all| all.split(',')) {
        let Dpid(dpid) = Dpid::read(dpid)?;
        request.switches.push(dpid);
    }
    if request.switches.len() > RECORDED_SWITCHES_MAX {
        return Err(bad(format!("switches: accepted are {RECORDED_SWITCHES_MAX} at most")));
    }
    if last.is_some_and(|last| !(1..=RECORDING_LAST_MAX_S).contains(&last)) {
        return Err(bad(format!("last: accepted are 1 to {RECORDING_LAST_MAX_S} seconds")));
    }
    request.last = last.map(Duration::from_secs);
    let permit = shared.events.permit()?;
    let receiver = shared
        .controller
        .record(request)
        .map_err(|why| Problem::new(StatusCode::CONFLICT, "not-recorded", why))?;
    revocation.hold(caller.grant.clone());
    let state = (receiver, caller.grant, shared.stopping.clone(), permit);
    let stream = unfold(state, async |(mut pieces, mut grant, mut stopping, permit)| {
        let piece = tokio::select! {
            piece = pieces.next_piece() => piece?,
            () = crate::server::told(&mut stopping) => return None,
            () = grant.ends() => return None,
        };
        Some((Ok::<_, Infallible>(Bytes::from_owner(piece)), (pieces, grant, stopping, permit)))
    });
    // Nothing else is asked for over a connection that is held.
    let headers = [(CONTENT_TYPE, "application/x-pcapng"), (CONNECTION, "close")];
    Ok((headers, Body::from_stream(stream)).into_response())
}
