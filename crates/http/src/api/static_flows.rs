//! Flows that are kept on their switches: named, restored when they are removed, and found again after a restart.

use std::collections::BTreeMap;
use std::sync::Arc;

use aldis_apps::static_flows::{PRIORITY_MAX, TABLE_MAX};
use aldis_control::weights::Switches;
use aldis_wire::msg::{Action, DEFAULT_PRIORITY, Field, Instruction, TableNo};
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::flow::{Matching, Read, Then, in_words, instructions};
use super::{Page, check_name, not_set, only, set};
use crate::extract::{self, Json as Body, Path, Query, at_most};
use crate::kept::{self, Fate, Kept, Only};
use crate::limits::CHANGES_MAX;
use crate::problem::Problem;
use crate::routes::{From, Shared};

/// A flow that is kept.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, ToSchema)]
pub struct StaticFlow {
    /// Its name
    #[schema(example = "uplink")]
    pub name: String,
    /// The switches that have it: a datapath id, a range, `*`
    pub switch: String,
    /// Its table; that of the flows that forward where it is absent
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<u8>,
    /// The higher of two that match wins
    pub priority: u16,
    /// Which packets it is about
    #[serde(rename = "match")]
    pub matching: BTreeMap<String, String>,
    /// What it does at once, in this order; none of these, and nothing below, drops the packet
    pub actions: Vec<String>,
    /// What else it does: `write:ACTION`, `clear`, `goto-table:N`, `meter:N`
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub then: Vec<String>,
    /// Who said it; what the configuration says it alone changes
    pub source: Source,
    /// Connected switches that have it
    pub there: usize,
    /// Connected switches that should have it and do not, or not yet
    pub missing: usize,
    /// What became of it at each of them, where one flow was asked for
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub at: Vec<AtSwitch>,
}

/// Who said it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// The configuration or the command line
    Configuration,
    /// Somebody over HTTP
    Http,
}

impl std::convert::From<kept::Source> for Source {
    fn from(source: kept::Source) -> Source {
        match source {
            kept::Source::Configuration => Source::Configuration,
            kept::Source::Http => Source::Http,
        }
    }
}

/// What became of a flow or rule at a switch.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct AtSwitch {
    /// The switch
    pub switch: String,
    /// Whether it is there
    pub there: bool,
    /// What became of it
    pub words: String,
}

impl AtSwitch {
    pub(super) fn of(fate: Fate) -> AtSwitch {
        AtSwitch { switch: fate.switch.to_string(), there: fate.there, words: fate.words }
    }
}

/// A flow that is to be kept.
#[derive(Clone, PartialEq, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewStaticFlow {
    /// Its name; not where the path says it
    #[serde(default)]
    pub name: Option<String>,
    /// The switches that are to have it: a datapath id, its first octets, a range, `*`
    #[schema(value_type = String, example = "1-9")]
    pub switch: Read<Switches>,
    /// Its table, to 254; that of the flows that forward where it is absent
    #[serde(default)]
    pub table: Option<u8>,
    /// 0 to 60000; 32768 where it is absent
    #[serde(default)]
    pub priority: Option<u16>,
    /// Which packets it is about; every packet where it is absent
    #[serde(default, rename = "match")]
    #[schema(value_type = std::collections::HashMap<String, String>)]
    pub matching: Matching,
    /// What it does at once, in this order
    #[serde(default)]
    #[schema(value_type = Vec<String>, example = json!(["output:2"]))]
    pub actions: Vec<Read<Action>>,
    /// What else it does: `write:ACTION`, `clear`, `goto-table:N`, `meter:N`
    #[serde(default)]
    #[schema(value_type = Vec<String>)]
    pub then: Vec<Read<Then>>,
}

impl NewStaticFlow {
    /// The flow, if it can be one.
    ///
    /// # Errors
    /// A field that is out of its range.
    pub fn flow(self, name: &str) -> Result<kept::StaticFlow, Problem> {
        let refused = |detail| Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "bad-field", detail);
        check_name(name)?;
        let priority = self.priority.unwrap_or(DEFAULT_PRIORITY);
        if priority > PRIORITY_MAX {
            let detail = format!("priority {priority}; accepted are 0 to {PRIORITY_MAX}");
            return Err(refused(detail));
        }
        if let Some(table) = self.table.filter(|table| *table > TABLE_MAX) {
            return Err(refused(format!("table {table}; accepted are 0 to {TABLE_MAX}")));
        }
        let instructions = instructions(&self.actions, &self.then);
        let leads_back = |instruction: &Instruction| matches!(instruction, Instruction::GotoTable(TableNo(to)) if *to <= self.table.unwrap_or(0));
        if instructions.iter().any(leads_back) {
            let detail = "goto-table leads to later tables only, above the table of the flow";
            return Err(refused(detail.into()));
        }
        Ok(kept::StaticFlow {
            name: name.into(),
            switches: self.switch.0,
            table: self.table.map(TableNo),
            priority,
            match_: self.matching.0,
            instructions,
        })
    }
}

/// A flow as it is kept on disk: JSON that [`read`] reads.
pub fn written(flow: &kept::StaticFlow) -> serde_json::Value {
    let (actions, then) = in_words(&flow.instructions);
    let matching: BTreeMap<_, _> = flow.match_.fields.iter().map(Field::in_words).collect();
    let mut value = serde_json::json!({
        "switch": flow.switches.to_string(), "priority": flow.priority, "match": matching, "actions": actions, "then": then,
    });
    if let (Some(TableNo(table)), Some(object)) = (flow.table, value.as_object_mut()) {
        object.insert("table".into(), table.into());
    }
    value
}

/// A flow from what is kept on disk.
///
/// # Errors
/// One sentence.
pub fn read(name: &str, value: &serde_json::Value) -> Result<kept::StaticFlow, String> {
    let new: NewStaticFlow =
        extract::parse(value.to_string().as_bytes()).map_err(|problem| problem.detail)?;
    new.flow(name).map_err(|problem| problem.detail)
}

impl StaticFlow {
    fn of(kept: &Kept<Arc<kept::StaticFlow>>) -> StaticFlow {
        let flow = &kept.it;
        let (actions, then) = in_words(&flow.instructions);
        StaticFlow {
            name: flow.name.to_string(),
            switch: flow.switches.to_string(),
            table: flow.table.map(|TableNo(table)| table),
            priority: flow.priority,
            matching: flow.match_.fields.iter().map(Field::in_words).collect(),
            actions,
            then,
            source: kept.source.into(),
            there: kept.there,
            missing: kept.missing,
            at: vec![],
        }
    }
}

/// How many at once.
#[derive(Clone, Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Paging {
    /// Items of a page, 1 to 10000; everything on one page where it is absent
    limit: Option<usize>,
    /// `next` of the page before
    cursor: Option<String>,
}

/// The flows that are kept, by name
#[utoipa::path(get, path = "/api/v1/static-flows", operation_id = "static_flows", tag = "kept", params(Paging), responses(
    (status = 200, description = "Flows", body = Page<StaticFlow>),
    (status = 409, description = "The application static-flows does not run", body = Problem),
))]
pub(crate) async fn list(
    State(shared): From,
    Query(Paging { limit, cursor }): Query<Paging>,
) -> Result<Json<Page<StaticFlow>>, Problem> {
    let flows = shared.keeps.static_flows().map_err(|refused| not_set(&refused))?;
    let name = |kept: &Kept<Arc<kept::StaticFlow>>| kept.it.name.to_string();
    Page::cut(&flows, limit, cursor, name, StaticFlow::of).map(Json)
}

/// One of them, and what became of it at each switch
#[utoipa::path(get, path = "/api/v1/static-flows/{name}", operation_id = "static_flow", tag = "kept",
    params(("name" = String, Path, description = "Its name")), responses(
    (status = 200, description = "The flow", body = StaticFlow),
    (status = 404, description = "There is none of this name", body = Problem),
    (status = 409, description = "The application static-flows does not run", body = Problem),
))]
pub(crate) async fn show(
    State(shared): From,
    Path(name): Path<String>,
) -> Result<Json<StaticFlow>, Problem> {
    one(&shared, &name).map(Json)
}

fn one(shared: &Shared, name: &str) -> Result<StaticFlow, Problem> {
    let flows = shared.keeps.static_flows().map_err(|refused| not_set(&refused))?;
    let kept = flows.iter().find(|kept| *kept.it.name == *name);
    let missing = || not_set(&kept::Refused::Missing(name.into()));
    let flow = StaticFlow::of(kept.ok_or_else(missing)?);
    let at = shared.keeps.fates_of_flow(name).into_iter().map(AtSwitch::of);
    Ok(StaticFlow { at: at.collect(), ..flow })
}

/// Keep a flow, in place of one of its name
///
/// It is on disk when this is answered, where the controller has a store, and on its switches within a second or two: ask again for
/// what became of it. With `If-None-Match: *` only where there is none of its name.
#[utoipa::path(put, path = "/api/v1/static-flows/{name}", operation_id = "set_static_flow", tag = "kept",
    params(("name" = String, Path, description = "Its name")), request_body = NewStaticFlow, responses(
    (status = 200, description = "It is kept", body = StaticFlow),
    (status = 409, description = "The application static-flows does not run, or the configuration has a flow of this name", body = Problem),
    (status = 412, description = "There is one of this name", body = Problem),
    (status = 422, description = "A flow that cannot be; nothing was changed", body = Problem),
    (status = 507, description = "The disk did not take it; nothing was changed", body = Problem),
))]
pub(crate) async fn put(
    State(shared): From,
    Path(name): Path<String>,
    headers: HeaderMap,
    Body(new): Body<NewStaticFlow>,
) -> Result<Json<StaticFlow>, Problem> {
    if new.name.as_ref().is_some_and(|said| *said != name) {
        let detail = "name: the path says another";
        return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "bad-field", detail));
    }
    let (flow, only) = (new.flow(&name)?, only(&headers));
    set(&shared, move |keeps| keeps.change_static_flows(vec![flow], vec![], only)).await?;
    one(&shared, &name).map(Json)
}

/// Keep a flow no more
///
/// It goes from its switches within a second or two.
#[utoipa::path(delete, path = "/api/v1/static-flows/{name}", operation_id = "remove_static_flow", tag = "kept",
    params(("name" = String, Path, description = "Its name")), responses(
    (status = 200, description = "It is not kept any more", body = Changed),
    (status = 404, description = "There is none of this name", body = Problem),
    (status = 409, description = "The application static-flows does not run, or the configuration says it", body = Problem),
    (status = 507, description = "The disk did not take it; nothing was changed", body = Problem),
))]
pub(crate) async fn remove(
    State(shared): From,
    Path(name): Path<String>,
) -> Result<Json<Changed>, Problem> {
    let names = vec![name];
    set(&shared, move |keeps| keeps.change_static_flows(vec![], names, Only::Always)).await?;
    Ok(Json(Changed { set: 0, removed: 1, durable: shared.keeps.is_durable() }))
}

/// Flows to be kept, and names of those that are not any more.
#[derive(Clone, PartialEq, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StaticFlowChanges {
    /// Each with a name, in place of one of the same; 10000 at most, with those below
    #[serde(default, deserialize_with = "at_most::<CHANGES_MAX, _, _>")]
    pub set: Vec<NewStaticFlow>,
    /// Names of flows that are there
    #[serde(default, deserialize_with = "at_most::<CHANGES_MAX, _, _>")]
    pub remove: Vec<String>,
}

/// What was done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct Changed {
    /// How many were set
    pub set: usize,
    /// How many were removed
    pub removed: usize,
    /// Whether that outlives the controller: without `--store` it does not
    pub durable: bool,
}

/// Keep many flows, and others no more: all of it or nothing
#[utoipa::path(post, path = "/api/v1/static-flows", operation_id = "change_static_flows", tag = "kept",
    request_body = StaticFlowChanges, responses(
    (status = 200, description = "All of it is done, and on disk", body = Changed),
    (status = 404, description = "A name that is to be removed is not there; nothing was changed", body = Problem),
    (status = 409, description = "The application static-flows does not run, or the configuration says otherwise; nothing was changed", body = Problem),
    (status = 422, description = "A flow that cannot be; nothing was changed", body = Problem),
    (status = 507, description = "The disk did not take it; nothing was changed", body = Problem),
))]
pub(crate) async fn change(
    State(shared): From,
    headers: HeaderMap,
    Body(StaticFlowChanges { set: flows, remove }): Body<StaticFlowChanges>,
) -> Result<Json<Changed>, Problem> {
    let refused = |detail| Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "bad-field", detail);
    let count = flows.len() + remove.len();
    if count == 0 || count > CHANGES_MAX {
        return Err(refused(format!("{count} changes; accepted are 1 to {CHANGES_MAX}")));
    }
    let mut named = Vec::with_capacity(flows.len());
    for (place, mut flow) in flows.into_iter().enumerate() {
        let missing = || refused(format!("set[{place}]: `name` is missing"));
        let name = flow.name.take().ok_or_else(missing)?;
        let placed = |problem: Problem| Problem {
            detail: format!("set[{place}]: {}", problem.detail),
            ..problem
        };
        named.push(flow.flow(&name).map_err(placed)?);
    }
    let (only, changed) = (
        only(&headers),
        Changed { set: named.len(), removed: remove.len(), durable: shared.keeps.is_durable() },
    );
    set(&shared, move |keeps| keeps.change_static_flows(named, remove, only)).await?;
    Ok(Json(changed))
}
