//! One message to a switch and what becomes of it, with Ryu's status where it is not done: 404 for
//! a switch that is not there, 501 for what its version of OpenFlow cannot say, 400 for what is
//! wrong with the request, or refused by the switch. Unlike Ryu's, the answer says why.

use std::time::{Duration, Instant};

use aldis_control::command::{Failure, Reply, Said};
use aldis_control::switch::Seen;
use aldis_wire::msg::{Message, StatsReplyBody, StatsRequest, StatsRequestBody};
use aldis_wire::{DatapathId, Version};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::{Value, json};

use super::body::PathParts;
use crate::api::switch_request::{failed, refused, unasked};
use crate::api::switches::not_connected;
use crate::limits::{BUSY_AGAIN, READ_FACTOR, SWITCH_WITHIN};
use crate::problem::Problem;
use crate::routes::{Ctx, Shared};

/// What is shown, by the decimal datapath id.
pub(crate) type BySwitch = Result<Json<Value>, Problem>;

/// A switch that is up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct AskedSwitch {
    pub(crate) dpid: DatapathId,
    pub(crate) version: Version,
}

impl AskedSwitch {
    /// # Errors
    /// 404.
    pub(crate) fn find(shared: &Shared, dpid: DatapathId) -> Result<AskedSwitch, Problem> {
        seen(shared, dpid).map(|seen| AskedSwitch::of(&seen))
    }

    pub(super) fn of(seen: &Seen) -> AskedSwitch {
        AskedSwitch { dpid: seen.switch.info.dpid, version: seen.switch.info.version }
    }

    /// The one that a path names.
    ///
    /// # Errors
    /// 400, 404.
    pub(crate) fn at(shared: &Shared, at: &PathParts) -> Result<AskedSwitch, Problem> {
        AskedSwitch::find(shared, at.dpid()?)
    }

    /// As Ryu has every answer about a switch.
    pub(crate) fn shown(self, value: impl Into<Value>) -> Json<Value> {
        Json(json!({ self.dpid.0.to_string(): value.into() }))
    }

    /// Has it do this, and says what it said.
    ///
    /// # Errors
    /// It was not done, or that is not known.
    pub(crate) async fn tell(self, shared: &Shared, message: Message) -> Result<Said, Problem> {
        let deadline = Instant::now() + SWITCH_WITHIN;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match shared.controller.command(self.dpid, vec![message.clone()], left).await {
                Ok(mut said) => {
                    return match said.pop() {
                        Some(done @ (Said::Done | Said::Reply(_))) => Ok(done),
                        Some(other) => Err(theirs(refused(self.dpid, &other))),
                        None => Err(unasked(self.dpid)),
                    };
                }
                Err(Failure::Busy) if left > Duration::ZERO => {
                    tokio::time::sleep(BUSY_AGAIN).await;
                }
                Err(failure) => return Err(theirs(failed(self.dpid, &failure))),
            }
        }
    }

    /// Has it do this; nothing is shown.
    ///
    /// # Errors
    /// As [`AskedSwitch::tell`].
    pub(crate) async fn does(self, shared: &Shared, message: Message) -> Result<(), Problem> {
        self.tell(shared, message).await.map(drop)
    }

    /// Its reply to this.
    ///
    /// # Errors
    /// As [`AskedSwitch::tell`].
    pub(crate) async fn reply(self, shared: &Shared, message: Message) -> Result<Reply, Problem> {
        match self.tell(shared, message).await? {
            Said::Reply(reply) => Ok(reply),
            _ => Err(unasked(self.dpid)),
        }
    }

    /// Statistics of it.
    ///
    /// # Errors
    /// As [`AskedSwitch::tell`].
    pub(crate) async fn stats(
        self,
        shared: &Shared,
        what: StatsRequestBody,
    ) -> Result<StatsReplyBody, Problem> {
        let reply = self.reply(shared, Message::StatsRequest(StatsRequest::new(what))).await?;
        shared.room_for(READ_FACTOR * reply.size())?;
        reply.stats().map_err(|why| self.unreadable(why))
    }

    pub(crate) fn unreadable(self, why: impl std::fmt::Display) -> Problem {
        let detail = format!("switch {} answered with what cannot be read: {why}", self.dpid);
        Problem::new(StatusCode::BAD_GATEWAY, "unreadable", detail)
    }

    pub(crate) fn unasked(self) -> Problem {
        unasked(self.dpid)
    }
}

pub(crate) fn seen(shared: &Shared, dpid: DatapathId) -> Result<Seen, Problem> {
    shared.controller.switch(dpid).ok_or_else(|| not_connected(dpid))
}

/// With the status that Ryu gives.
fn theirs(problem: Problem) -> Problem {
    let status = match (problem.kind.as_str(), problem.status) {
        ("urn:aldis:unsayable", _) => StatusCode::NOT_IMPLEMENTED,
        (_, 422) => StatusCode::BAD_REQUEST,
        _ => return problem,
    };
    let title = status.canonical_reason().unwrap_or_default().to_owned();
    Problem { status: status.as_u16(), title, ..problem }
}

/// What came after OpenFlow 1.3.
pub(crate) async fn later(State(shared): Ctx, at: PathParts) -> Result<(), Problem> {
    let AskedSwitch { dpid, version } = AskedSwitch::at(&shared, &at)?;
    let detail = format!("switch {dpid} speaks {version}, which does not have this");
    Err(Problem::new(StatusCode::NOT_IMPLEMENTED, "unsayable", detail))
}
