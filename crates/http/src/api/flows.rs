//! The flows of switches: asked of them, and changed on them. A change is judged before it is sent,
//! confirmed by a barrier, and answered with the switch's own error where it refuses.

use std::time::Instant;

use aldis_apps::spelling::{Matching, Number, Spelled};
use aldis_control::command::{Failure, Reply, Said};
use aldis_control::limits::COMMAND_MESSAGES_MAX;
use aldis_wire::DatapathId;
use aldis_wire::msg::{FlowStatsRequest, GroupNo, Message, PortNo, StatsRequestBody, TableNo};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use futures_util::future::join_all;
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;
#[cfg(test)]
use utoipa::{IntoParams, ToSchema};

use super::Page;
use super::flow::Owners;
pub use super::flow::{Change, Flow, FlowCommand};
use super::switch_request::{beside, failed, refused, replies, unreadable};
use crate::extract::{Dpid, Json as Body, Query, at_most};
use crate::limits::{BUSY_AGAIN, CHANGES_MAX, LISTED_FACTOR, LISTS_MAX, SWITCH_WITHIN};
use crate::problem::Problem;
use crate::routes::{Ctx, Shared};

/// Which flows are shown.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(IntoParams))]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, into_params(parameter_in = Query))]
pub(crate) struct FlowFilter {
    /// Items of a page, 1 to 10000; everything on one page where it is absent
    limit: Option<usize>,
    /// `next` of the page before
    cursor: Option<String>,
    /// Only those of this table
    table: Option<u8>,
    /// Only those that match no more than these fields, as `in_port=1,ipv4_dst=10.0.0.0/8`
    #[serde(rename = "match")]
    matching: Option<String>,
    /// Only those whose cookie has the bits of `cookie_mask` as this one has
    cookie: Option<String>,
    /// All bits where it is absent
    cookie_mask: Option<String>,
    /// Only those with an output to this port
    out_port: Option<String>,
    /// Only those that lead to this group
    out_group: Option<u32>,
}

/// The flows of a switch
#[cfg_attr(test, utoipa::path(get, path = "/api/v1/switches/{dpid}/flows", operation_id = "flows", tag = "flows",
    params(("dpid" = String, Path, description = "Its datapath id"), FlowFilter), responses(
    (status = 200, description = "Flows, asked of the switch now; by table, priority and match", body = Page<Flow>),
    (status = 400, description = "A filter that cannot be understood", body = Problem),
    (status = 404, description = "The switch is not connected", body = Problem),
    (status = 422, description = "The switch, or its version of OpenFlow, cannot do that", body = Problem),
    (status = 504, description = "The switch did not answer", body = Problem),
)))]
pub(crate) async fn list(
    State(shared): Ctx,
    Dpid(dpid): Dpid,
    Query(filter): Query<FlowFilter>,
) -> Result<Response, Problem> {
    let cursor = filter.cursor.as_deref().map(cursor).transpose()?;
    let request = StatsRequestBody::Flow(filter.request()?);
    let _turn = LISTING.acquire().await.ok();
    let [reply] = replies(&shared, dpid, [request]).await?;
    shared.room_for(LISTED_FACTOR * reply.size())?;
    let owners = Owners::new(shared.controller.apps());
    let text = beside(move || page((dpid, &owners), &reply, filter.limit, cursor)).await?;
    Ok(([(CONTENT_TYPE, "application/json")], text).into_response())
}

/// Requests for lists of flows: a long list is held in several forms.
static LISTING: Semaphore = Semaphore::const_new(LISTS_MAX);

/// A flow of a list, as it is shown: the text takes a fifth of what it was made of.
struct FlowLine {
    order: (u8, u16),
    /// Where its match begins in the text.
    match_at: usize,
    text: Box<str>,
}

impl FlowLine {
    fn of(flow: &Flow) -> Result<FlowLine, serde_json::Error> {
        let text = serde_json::to_string(flow)?;
        let match_at = text.find(r#""match":"#).unwrap_or(0);
        let order = (flow.table, u16::MAX - flow.priority);
        Ok(FlowLine { order, match_at, text: text.into() })
    }

    fn key(&self) -> ((u8, u16), &str) {
        (self.order, &self.text[self.match_at..])
    }
}

/// A page of the flows that a switch names, by table, priority and match. They are read one after
/// the other: all of them at once take ten times what the switch said.
fn page(
    (dpid, owners): (DatapathId, &Owners),
    reply: &Reply,
    limit: Option<usize>,
    cursor: Option<usize>,
) -> Result<String, Problem> {
    let unsayable = |why: serde_json::Error| {
        Problem::new(StatusCode::BAD_GATEWAY, "unreadable", why.to_string())
    };
    let mut flows = vec![];
    for flow in reply.flows() {
        let flow = flow.map_err(|why| unreadable(dpid, &why))?;
        flows.push(FlowLine::of(&Flow::of(&flow, owners)).map_err(unsayable)?);
    }
    flows.sort_by(|one, other| one.key().cmp(&other.key()));
    let places: Vec<usize> = (0..flows.len()).collect();
    let shown = Page::cut(&places, limit, cursor, |place| *place, |place| *place)?;
    let items = shown.items.iter().map(|&place| flows[place].text.len() + 1);
    let mut text = String::with_capacity(items.sum::<usize>() + 80);
    text.push_str(r#"{"items":["#);
    for (nth, &place) in shown.items.iter().enumerate() {
        text.push_str(if nth > 0 { "," } else { "" });
        text.push_str(&std::mem::take(&mut flows[place].text));
    }
    text.push_str(&format!(r#"],"total":{}"#, shown.total));
    if let Some(next) = shown.next {
        text.push_str(&format!(r#","next":"{next}""#));
    }
    text.push('}');
    Ok(text)
}

fn cursor(text: &str) -> Result<usize, Problem> {
    text.parse().map_err(|_| super::bad_cursor(text))
}

/// A part of a query, read.
fn read<T: std::str::FromStr<Err: std::fmt::Display>>(
    name: &str,
    text: Option<&str>,
) -> Result<Option<T>, Problem> {
    let refused = |why| Problem::bad("bad-query", format!("{name}: {why}"));
    text.map(str::parse).transpose().map_err(refused)
}

impl FlowFilter {
    fn request(&self) -> Result<FlowStatsRequest, Problem> {
        let all = FlowStatsRequest::all();
        let cookie = read("cookie", self.cookie.as_deref())?;
        let mask = read("cookie_mask", self.cookie_mask.as_deref())?;
        let whole = if cookie.is_some() { u64::MAX } else { 0 };
        let matching: Option<Matching> = read("match", self.matching.as_deref())?;
        Ok(FlowStatsRequest {
            table_id: self.table.map_or(all.table_id, TableNo),
            out_port: read::<PortNo>("out_port", self.out_port.as_deref())?.unwrap_or(all.out_port),
            out_group: self.out_group.map_or(all.out_group, GroupNo),
            cookie: cookie.map_or(0, |Number(cookie)| cookie),
            cookie_mask: mask.map_or(whole, |Number(mask)| mask),
            match_: matching.map_or(all.match_, |Matching(matching)| matching),
        })
    }
}

/// What is to be done, and to what.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Changes {
    /// 1 to 10000 of them; those of one switch are made in their order
    #[serde(deserialize_with = "at_most::<CHANGES_MAX, _, _>")]
    flows: Vec<Change>,
}

/// How it is to be done.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(IntoParams))]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, into_params(parameter_in = Query))]
pub(crate) struct How {
    /// Only says whether it could be done, and sends nothing
    #[serde(default)]
    dry_run: bool,
}

/// What became of changes.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
pub struct FlowResults {
    /// Whether nothing was sent, because that was asked for
    pub dry_run: bool,
    /// How many were done
    pub done: usize,
    /// How many were not, or perhaps not
    pub failed: usize,
    /// Of each change, in their order
    pub results: Vec<FlowResult>,
}

/// What became of one change.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
pub struct FlowResult {
    /// Of which switch
    pub switch: String,
    /// Whether the switch has done it, and said so
    pub done: bool,
    /// Why not
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Problem>,
}

/// Change flows of a switch
#[cfg_attr(test, utoipa::path(post, path = "/api/v1/switches/{dpid}/flows", operation_id = "change_switch_flows", tag = "flows",
    params(("dpid" = String, Path, description = "Its datapath id"), How), request_body = Changes, responses(
    (status = 200, description = "All is done", body = FlowResults),
    (status = 207, description = "Some of it is, and of each it is said what became of it", body = FlowResults),
    (status = 404, description = "The switch is not connected, and the change was the only one", body = Problem),
    (status = 422, description = "A flow that cannot be, before anything was sent; or refused, the only one", body = Problem),
    (status = 504, description = "The switch did not answer, and the change was the only one", body = Problem),
)))]
pub(crate) async fn change(
    State(shared): Ctx,
    Dpid(dpid): Dpid,
    Query(how): Query<How>,
    Body(Changes { flows }): Body<Changes>,
) -> Result<Response, Problem> {
    if let Some(place) = flows.iter().position(|flow| flow.switch.is_some()) {
        let detail = format!("flows[{place}].switch: the path says of which switch");
        return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "bad-field", detail));
    }
    let flows = flows.into_iter().map(|flow| (dpid, flow)).collect();
    make(&shared, flows, how).await
}

/// Change flows of several switches
#[cfg_attr(test, utoipa::path(post, path = "/api/v1/flows", operation_id = "change_flows", tag = "flows",
    params(How), request_body = Changes, responses(
    (status = 200, description = "All is done", body = FlowResults),
    (status = 207, description = "Some of it is, and of each it is said what became of it", body = FlowResults),
    (status = 404, description = "The switch is not connected, and the change was the only one", body = Problem),
    (status = 422, description = "A flow that cannot be, before anything was sent; or refused, the only one", body = Problem),
    (status = 504, description = "The switch did not answer, and the change was the only one", body = Problem),
)))]
pub(crate) async fn change_many(
    State(shared): Ctx,
    Query(how): Query<How>,
    Body(Changes { flows }): Body<Changes>,
) -> Result<Response, Problem> {
    let named = flows.into_iter().enumerate().map(|(place, flow)| match flow.switch {
        Some(Spelled(dpid)) => Ok((dpid, flow)),
        None => {
            let detail = format!("flows[{place}]: `switch` is missing");
            Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "bad-field", detail))
        }
    });
    make(&shared, named.collect::<Result<_, _>>()?, how).await
}

/// Which flows are removed.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(IntoParams))]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, into_params(parameter_in = Query))]
pub(crate) struct FlowSelection {
    /// Only says whether it could be done, and sends nothing
    #[serde(default)]
    dry_run: bool,
    /// Has to be said where nothing below is: every flow goes, also that by which the switch asks the controller
    #[serde(default)]
    all: bool,
    /// Only those of this table
    table: Option<u8>,
    /// Only the one with exactly this match and this priority
    priority: Option<u16>,
    /// Only those that match no more than these fields, as `in_port=1,ipv4_dst=10.0.0.0/8`
    #[serde(rename = "match")]
    matching: Option<String>,
    /// Only those whose cookie has the bits of `cookie_mask` as this one has
    cookie: Option<String>,
    /// All bits where it is absent
    cookie_mask: Option<String>,
    /// Only those with an output to this port
    out_port: Option<String>,
    /// Only those that lead to this group
    out_group: Option<u32>,
}

/// Remove flows of a switch
#[cfg_attr(test, utoipa::path(delete, path = "/api/v1/switches/{dpid}/flows", operation_id = "delete_flows", tag = "flows",
    params(("dpid" = String, Path, description = "Its datapath id"), FlowSelection), responses(
    (status = 200, description = "They are gone, if there were any", body = FlowResults),
    (status = 400, description = "It is not said which, or cannot be understood", body = Problem),
    (status = 404, description = "The switch is not connected", body = Problem),
    (status = 422, description = "The switch, or its version of OpenFlow, cannot do that", body = Problem),
    (status = 504, description = "The switch did not answer", body = Problem),
)))]
pub(crate) async fn remove(
    State(shared): Ctx,
    Dpid(dpid): Dpid,
    Query(which): Query<FlowSelection>,
) -> Result<Response, Problem> {
    let change = which.change()?;
    make(&shared, vec![(dpid, change)], How { dry_run: which.dry_run }).await
}

impl FlowSelection {
    fn change(&self) -> Result<Change, Problem> {
        let change = Change {
            switch: None,
            command: if self.priority.is_some() {
                FlowCommand::DeleteStrict
            } else {
                FlowCommand::Delete
            },
            table: self.table,
            priority: self.priority,
            cookie: read("cookie", self.cookie.as_deref())?.map(Spelled),
            cookie_mask: read("cookie_mask", self.cookie_mask.as_deref())?.map(Spelled),
            matching: read("match", self.matching.as_deref())?.unwrap_or_default(),
            actions: vec![],
            then: vec![],
            idle_timeout_s: 0,
            hard_timeout_s: 0,
            flags: vec![],
            out_port: read("out_port", self.out_port.as_deref())?.map(Spelled),
            out_group: self.out_group,
        };
        let nothing = change.matching.0.fields.is_empty()
            && (change.table, change.priority, change.cookie) == (None, None, None)
            && (change.out_port, change.out_group) == (None, None);
        match (nothing, self.all) {
            (true, false) => {
                let detail = "say which flows: match, table, priority, cookie, out_port or out_group; or all=true";
                Err(Problem::bad("bad-query", detail))
            }
            (false, true) => Err(Problem::bad(
                "bad-query",
                "all=true contradicts what else is said of the flows",
            )),
            _ => Ok(change),
        }
    }
}

/// Makes changes, those of each switch in their order and switches beside each other, once all can
/// be said.
async fn make(
    shared: &Shared,
    changes: Vec<(DatapathId, Change)>,
    How { dry_run }: How,
) -> Result<Response, Problem> {
    if changes.is_empty() || changes.len() > CHANGES_MAX {
        let detail = format!("flows: {} of them; accepted are 1 to {CHANGES_MAX}", changes.len());
        return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "bad-field", detail));
    }
    let mut results: Vec<Option<Problem>> = vec![None; changes.len()];
    let mut by_switch: Vec<(DatapathId, Vec<(usize, Message)>)> = vec![];
    let mut places = std::collections::HashMap::new();
    for (place, (dpid, change)) in changes.iter().enumerate() {
        let message = Message::FlowMod(change.flow_mod());
        match shared.controller.check(*dpid, std::slice::from_ref(&message)) {
            Ok(()) => {
                let at = *places.entry(*dpid).or_insert_with(|| {
                    by_switch.push((*dpid, vec![]));
                    by_switch.len() - 1
                });
                by_switch[at].1.push((place, message));
            }
            Err(failure @ (Failure::Unsayable { .. } | Failure::TooLong)) => {
                let problem = failed(*dpid, &failure);
                let detail = format!("flows[{place}]: {}; nothing was sent", problem.detail);
                return Err(Problem { detail, ..problem });
            }
            Err(failure) => results[place] = Some(failed(*dpid, &failure)),
        }
    }
    if !dry_run {
        let deadline = Instant::now() + SWITCH_WITHIN;
        let sending =
            by_switch.into_iter().map(|(dpid, flows)| send(shared, dpid, flows, deadline));
        for (place, problem) in join_all(sending).await.into_iter().flatten() {
            results[place] = Some(problem);
        }
    }
    Ok(answer(changes.into_iter().map(|(dpid, _)| dpid).zip(results), dry_run))
}

/// Sends the flows of one switch, and says what did not become of them.
async fn send(
    shared: &Shared,
    dpid: DatapathId,
    flows: Vec<(usize, Message)>,
    deadline: Instant,
) -> Vec<(usize, Problem)> {
    let (mut problems, mut rest, mut size) = (vec![], &flows[..], COMMAND_MESSAGES_MAX);
    while !rest.is_empty() {
        let (now, later) = rest.split_at(rest.len().min(size));
        let messages = now.iter().map(|(_, message)| message.clone()).collect();
        let left = deadline.saturating_duration_since(Instant::now());
        match shared.controller.command(dpid, messages, left).await {
            Ok(said) => {
                let told = now.iter().zip(&said).filter(|(_, said)| **said != Said::Done);
                problems.extend(told.map(|((place, _), said)| (*place, refused(dpid, said))));
                rest = later;
            }
            // They are long: fewer at a time.
            Err(Failure::TooLong) if size > 1 => size /= 2,
            Err(Failure::Busy) if left > BUSY_AGAIN => tokio::time::sleep(BUSY_AGAIN).await,
            Err(failure) => {
                let problem = failed(dpid, &failure);
                problems.extend(rest.iter().map(|(place, _)| (*place, problem.clone())));
                break;
            }
        }
    }
    problems
}

fn answer(
    results: impl ExactSizeIterator<Item = (DatapathId, Option<Problem>)>,
    dry_run: bool,
) -> Response {
    let alone = results.len() == 1;
    let results: Vec<FlowResult> = results
        .map(|(switch, problem)| FlowResult {
            switch: switch.to_string(),
            done: problem.is_none() && !dry_run,
            problem,
        })
        .collect();
    let failed = results.iter().filter(|result| result.problem.is_some()).count();
    if alone && let Some(FlowResult { problem: Some(problem), .. }) = results.first() {
        return problem.clone().into_response();
    }
    let done = results.iter().filter(|result| result.done).count();
    let status = if failed == 0 { StatusCode::OK } else { StatusCode::MULTI_STATUS };
    (status, Json(FlowResults { dry_run, done, failed, results })).into_response()
}
