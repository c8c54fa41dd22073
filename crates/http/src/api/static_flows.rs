//! Flows that are kept on their switches: named, restored when they are removed, and found again
//! after a restart.

#[cfg(test)]
use std::collections::BTreeMap;
use std::sync::Arc;

use aldis_apps::static_flows::StaticFlow;
use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use serde::{Deserialize, Serialize};
#[cfg(test)]
use utoipa::{IntoParams, ToSchema};

use super::{Page, bad_field, check_name, not_set, only, set};
#[cfg(test)]
use crate::desired::{InstallStatus, Source};
use crate::desired::{Only, SetError, Stored};
use crate::extract::{self, Json as Body, Path, Query, at_most};
use crate::limits::CHANGES_MAX;
use crate::problem::Problem;
use crate::routes::{Ctx, Shared};

/// A flow that is kept.
#[cfg(test)]
#[derive(ToSchema)]
#[cfg_attr(test, schema(as = StaticFlow))]
#[expect(dead_code, reason = "it describes `Stored<StaticFlow>`")]
struct ShownFlow {
    /// Its name
    #[cfg_attr(test, schema(example = "uplink"))]
    name: String,
    /// The switches that have it: a datapath id, a range, `*`
    switch: String,
    /// Its table; that of the flows that forward where it is absent
    #[cfg_attr(test, schema(required = false))]
    table: Option<u8>,
    /// The higher of two that match wins
    priority: u16,
    /// Which packets it is about
    r#match: BTreeMap<String, String>,
    /// What it does at once, in this order; none of these, and nothing below, drops the packet
    actions: Vec<String>,
    /// What else it does: `write:ACTION`, `clear`, `goto-table:N`, `meter:N`
    #[cfg_attr(test, schema(required = false))]
    then: Vec<String>,
    /// Its source; what the configuration says it alone changes
    source: Source,
    /// Connected switches that have it
    there: usize,
    /// Connected switches that should have it and do not, or not yet
    missing: usize,
    /// What became of it at each of them, where one flow was asked for
    #[cfg_attr(test, schema(required = false))]
    at: Vec<InstallStatus>,
}

/// A flow that is to be kept.
#[cfg(test)]
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "it describes `StaticFlow`")]
struct NewStaticFlow {
    /// Its name; not where the path says it
    name: Option<String>,
    /// The switches that are to have it: a datapath id, its first octets, a range, `*`
    #[cfg_attr(test, schema(example = "1-9"))]
    switch: String,
    /// Its table, to 254; that of the flows that forward where it is absent
    table: Option<u8>,
    /// 0 to 60000; 32768 where it is absent
    priority: Option<u16>,
    /// Which packets it is about; every packet where it is absent
    #[cfg_attr(test, schema(required = false))]
    r#match: BTreeMap<String, String>,
    /// What it does at once, in this order
    #[cfg_attr(test, schema(required = false, example = json!(["output:2"])))]
    actions: Vec<String>,
    /// What else it does: `write:ACTION`, `clear`, `goto-table:N`, `meter:N`
    #[cfg_attr(test, schema(required = false))]
    then: Vec<String>,
}

/// The flow under this name, if it can be one.
///
/// # Errors
/// The flow has another name, or a value out of range.
pub(crate) fn named(flow: StaticFlow, name: &str) -> Result<StaticFlow, Problem> {
    check_name(name)?;
    if !flow.name.is_empty() && *flow.name != *name {
        return Err(bad_field("name: the path says another"));
    }
    flow.check().map_err(|refused| bad_field(refused.why))?;
    Ok(StaticFlow { name: name.into(), ..flow })
}

/// A flow of the store, which has its name as a key.
///
/// # Errors
/// One sentence.
pub fn read(name: &str, value: &serde_json::Value) -> Result<StaticFlow, String> {
    let flow = extract::parse(value.to_string().as_bytes());
    flow.and_then(|flow| named(flow, name)).map_err(|problem| problem.detail)
}

/// How many at once.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(IntoParams))]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, into_params(parameter_in = Query))]
pub(crate) struct Paging {
    /// Items of a page, 1 to 10000; everything on one page where it is absent
    limit: Option<usize>,
    /// `next` of the page before
    cursor: Option<String>,
}

/// The flows that are kept, by name
#[cfg_attr(test, utoipa::path(get, path = "/api/v1/static-flows", operation_id = "static_flows", tag = "kept", params(Paging), responses(
    (status = 200, description = "Flows", body = Page<ShownFlow>),
    (status = 409, description = "The application static-flows does not run", body = Problem),
)))]
pub(crate) async fn list(
    State(shared): Ctx,
    Query(Paging { limit, cursor }): Query<Paging>,
) -> Result<Page<Stored<StaticFlow>>, Problem> {
    let flows = shared.config_store.static_flows().map_err(|refused| not_set(&refused))?;
    let name = |flow: &Stored<StaticFlow>| flow.it.name.to_string();
    Page::cut(&flows, limit, cursor, name, Clone::clone)
}

/// One of them, and what became of it at each switch
#[cfg_attr(test, utoipa::path(get, path = "/api/v1/static-flows/{name}", operation_id = "static_flow", tag = "kept",
    params(("name" = String, Path, description = "Its name")), responses(
    (status = 200, description = "The flow", body = ShownFlow),
    (status = 404, description = "There is none of this name", body = Problem),
    (status = 409, description = "The application static-flows does not run", body = Problem),
)))]
pub(crate) async fn show(
    State(shared): Ctx,
    Path(name): Path<String>,
) -> Result<Json<Stored<StaticFlow>>, Problem> {
    one(&shared, &name).map(Json)
}

fn one(shared: &Shared, name: &str) -> Result<Stored<StaticFlow>, Problem> {
    let flows = shared.config_store.static_flows().map_err(|refused| not_set(&refused))?;
    let flow = flows.into_iter().find(|flow| *flow.it.name == *name);
    let flow = flow.ok_or_else(|| not_set(&SetError::Missing(name.into())))?;
    Ok(Stored { at: shared.config_store.flow_status(name), ..flow })
}

/// Keep a flow, in place of one of its name
///
/// It is on disk when this is answered, where the controller has a store, and on its switches within a second or two: ask again for
/// what became of it. With `If-None-Match: *` only where there is none of its name.
#[cfg_attr(test, utoipa::path(put, path = "/api/v1/static-flows/{name}", operation_id = "set_static_flow", tag = "kept",
    params(("name" = String, Path, description = "Its name")), request_body = NewStaticFlow, responses(
    (status = 200, description = "It is kept", body = ShownFlow),
    (status = 409, description = "The application static-flows does not run, or the configuration has a flow of this name", body = Problem),
    (status = 412, description = "There is one of this name", body = Problem),
    (status = 422, description = "A flow that cannot be; nothing was changed", body = Problem),
    (status = 507, description = "The disk did not take it; nothing was changed", body = Problem),
)))]
pub(crate) async fn put(
    State(shared): Ctx,
    Path(name): Path<String>,
    headers: HeaderMap,
    Body(flow): Body<StaticFlow>,
) -> Result<Json<Stored<StaticFlow>>, Problem> {
    let (flow, only) = (named(flow, &name)?, only(&headers));
    set(&shared, move |store| store.change_static_flows(vec![flow], vec![], only)).await?;
    one(&shared, &name).map(Json)
}

/// Keep a flow no more
///
/// It goes from its switches within a second or two.
#[cfg_attr(test, utoipa::path(delete, path = "/api/v1/static-flows/{name}", operation_id = "remove_static_flow", tag = "kept",
    params(("name" = String, Path, description = "Its name")), responses(
    (status = 200, description = "It is not kept any more", body = Changed),
    (status = 404, description = "There is none of this name", body = Problem),
    (status = 409, description = "The application static-flows does not run, or the configuration says it", body = Problem),
    (status = 507, description = "The disk did not take it; nothing was changed", body = Problem),
)))]
pub(crate) async fn remove(
    State(shared): Ctx,
    Path(name): Path<String>,
) -> Result<Json<Changed>, Problem> {
    let names = vec![name];
    set(&shared, move |store| store.change_static_flows(vec![], names, Only::Always)).await?;
    Ok(Json(Changed { set: 0, removed: 1, durable: shared.config_store.is_durable() }))
}

/// Flows to be kept, and names of those that are not any more.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
#[serde(deny_unknown_fields)]
pub struct StaticFlowChanges {
    /// Each with a name, in place of one of the same; 10000 at most, with those below
    #[serde(default, deserialize_with = "at_most::<CHANGES_MAX, _, _>")]
    #[cfg_attr(test, schema(value_type = Vec<NewStaticFlow>))]
    pub set: Vec<StaticFlow>,
    /// Names of flows that are there
    #[serde(default, deserialize_with = "at_most::<CHANGES_MAX, _, _>")]
    pub remove: Vec<String>,
}

/// What was done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
pub struct Changed {
    /// How many were set
    pub set: usize,
    /// How many were removed
    pub removed: usize,
    /// Whether that outlives the controller: without `--store` it does not
    pub durable: bool,
}

/// Keep many flows, and others no more: all of it or nothing
#[cfg_attr(test, utoipa::path(post, path = "/api/v1/static-flows", operation_id = "change_static_flows", tag = "kept",
    request_body = StaticFlowChanges, responses(
    (status = 200, description = "All of it is done, and on disk", body = Changed),
    (status = 404, description = "A name that is to be removed is not there; nothing was changed", body = Problem),
    (status = 409, description = "The application static-flows does not run, or the configuration says otherwise; nothing was changed", body = Problem),
    (status = 422, description = "A flow that cannot be; nothing was changed", body = Problem),
    (status = 507, description = "The disk did not take it; nothing was changed", body = Problem),
)))]
pub(crate) async fn change(
    State(shared): Ctx,
    headers: HeaderMap,
    Body(StaticFlowChanges { set: flows, remove }): Body<StaticFlowChanges>,
) -> Result<Json<Changed>, Problem> {
    let count = flows.len() + remove.len();
    if count == 0 || count > CHANGES_MAX {
        return Err(bad_field(format!("{count} changes; accepted are 1 to {CHANGES_MAX}")));
    }
    let mut checked = Vec::with_capacity(flows.len());
    for (place, flow) in flows.into_iter().enumerate() {
        if flow.name.is_empty() {
            return Err(bad_field(format!("set[{place}]: `name` is missing")));
        }
        let name = Arc::clone(&flow.name);
        let placed = |problem: Problem| Problem {
            detail: format!("set[{place}]: {}", problem.detail),
            ..problem
        };
        checked.push(named(flow, &name).map_err(placed)?);
    }
    let durable = shared.config_store.is_durable();
    let changed = Changed { set: checked.len(), removed: remove.len(), durable };
    let only = only(&headers);
    set(&shared, move |store| store.change_static_flows(checked, remove, only)).await?;
    Ok(Json(changed))
}
