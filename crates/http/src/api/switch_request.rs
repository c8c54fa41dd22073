//! Asking a switch: commands for it, and what is said to people where it does not do them.

use aldis_control::command::{Failure, Reply, Said};
use aldis_wire::msg::{Message, StatsReplyBody, StatsRequest, StatsRequestBody};
use aldis_wire::{DatapathId, Malformed};
use axum::http::StatusCode;

use super::switches::not_connected;
use crate::limits::{READ_FACTOR, SWITCH_WITHIN};
use crate::problem::Problem;
use crate::routes::Shared;

/// Statistics of a switch, asked of it now.
pub(super) async fn stats(
    shared: &Shared,
    dpid: DatapathId,
    what: StatsRequestBody,
) -> Result<StatsReplyBody, Problem> {
    let [body] = all_stats(shared, dpid, [what]).await?;
    Ok(body)
}

/// Several of them, at once.
pub(super) async fn all_stats<const N: usize>(
    shared: &Shared,
    dpid: DatapathId,
    what: [StatsRequestBody; N],
) -> Result<[StatsReplyBody; N], Problem> {
    let replies = replies(shared, dpid, what).await?;
    shared.room_for(READ_FACTOR * replies.iter().map(Reply::size).sum::<usize>())?;
    let bodies = replies.iter().map(|reply| reply.stats().map_err(|why| unreadable(dpid, &why)));
    let bodies: Vec<_> = bodies.collect::<Result<_, _>>()?;
    bodies.try_into().map_err(|_| unasked(dpid))
}

/// The same, as the switch said it.
pub(super) async fn replies<const N: usize>(
    shared: &Shared,
    dpid: DatapathId,
    what: [StatsRequestBody; N],
) -> Result<[Reply; N], Problem> {
    let requests = what.map(|body| Message::StatsRequest(StatsRequest::new(body)));
    let outcome = shared.controller.command(dpid, requests.into(), SWITCH_WITHIN).await;
    let said = outcome.map_err(|failure| failed(dpid, &failure))?;
    let reply = |said| match said {
        Said::Reply(reply) => Ok(reply),
        other => Err(refused(dpid, &other)),
    };
    let replies: Vec<_> = said.into_iter().map(reply).collect::<Result<_, _>>()?;
    replies.try_into().map_err(|_| unasked(dpid))
}

/// Works beside the thread that serves, which has others to answer.
pub(super) async fn beside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let failed = |_| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "failed", "the answer");
    tokio::task::spawn_blocking(work).await.map_err(failed)?
}

/// What a switch answered that cannot be read.
pub(super) fn unreadable(dpid: DatapathId, why: &Malformed) -> Problem {
    let detail = format!("switch {dpid} answered with what cannot be read: {why}");
    Problem::new(StatusCode::BAD_GATEWAY, "unreadable", detail)
}

/// What a switch answered that answers something else than it was asked.
pub(crate) fn unasked(dpid: DatapathId) -> Problem {
    let detail =
        format!("switch {dpid} answered with statistics of another kind than it was asked for");
    Problem::new(StatusCode::BAD_GATEWAY, "unreadable", detail)
}

/// It is not known what became of a command.
pub(crate) fn failed(dpid: DatapathId, failure: &Failure) -> Problem {
    let within = SWITCH_WITHIN.as_secs();
    match failure {
        Failure::NotConnected => not_connected(dpid),
        Failure::Unsayable { why, .. } => {
            let detail = format!("switch {dpid}: {why}");
            Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "unsayable", detail)
        }
        Failure::TooLong => {
            let detail = format!("switch {dpid}: this is longer than a message of OpenFlow may be");
            Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "too-long", detail)
        }
        Failure::Busy => {
            let detail = format!("switch {dpid}: {failure}");
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "busy", detail)
        }
        Failure::Disconnected(why) => {
            let detail = format!(
                "switch {dpid} was lost before it answered: {why}; what it was sent may have taken effect"
            );
            Problem::new(StatusCode::BAD_GATEWAY, "disconnected", detail)
        }
        Failure::TooLate => {
            let detail = format!(
                "switch {dpid} did not answer within {within} s; what it was sent may take effect yet"
            );
            Problem::new(StatusCode::GATEWAY_TIMEOUT, "too-late", detail)
        }
    }
}

/// The switch did not do what it was told.
pub(crate) fn refused(dpid: DatapathId, said: &Said) -> Problem {
    match said {
        Said::Refused(error) => Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "refused", error),
        Said::TooMuch => {
            let detail = format!(
                "switch {dpid} has more of this than is kept of one switch at once (switch-mib-max); ask for less"
            );
            Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "too-much", detail)
        }
        Said::Done | Said::Reply(_) => unasked(dpid),
    }
}
