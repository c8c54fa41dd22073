//! Ordered rules that say which packets pass: the first that matches a packet counts.

#[cfg(test)]
use std::collections::BTreeMap;
use std::sync::Arc;

use aldis_apps::acl::Rule;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::{HeaderMap, IF_MATCH};
use serde::{Deserialize, Serialize};
use serde_json::Value;
#[cfg(test)]
use utoipa::{IntoParams, ToSchema};

use super::static_flows::Changed;
use super::{bad_field, check_name, not_set, only, set};
#[cfg(test)]
use crate::desired::InstallStatus;
use crate::desired::{AclChange, SetError, Source, Stored};
use crate::etag;
use crate::extract::{self, Json as Body, Path, Query};
use crate::problem::Problem;
use crate::routes::{Ctx, Shared};

/// Rules about which packets pass.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
pub struct Acl {
    /// The rules, in order: those of the configuration first
    #[cfg_attr(test, schema(value_type = Vec<AclRule>))]
    pub rules: Vec<Stored<Rule>>,
}

/// A rule about which packets pass.
#[cfg(test)]
#[derive(ToSchema)]
#[expect(dead_code, reason = "it describes `Stored<Rule>`")]
struct AclRule {
    /// Its name
    #[cfg_attr(test, schema(example = "no telnet"))]
    name: String,
    /// What becomes of its packets
    action: AclAction,
    /// The port that gets the copies of a mirror
    #[cfg_attr(test, schema(required = false))]
    mirror_to: Option<String>,
    /// Which packets it is about
    r#match: BTreeMap<String, String>,
    /// At which switches; at all where there are none
    switches: Vec<String>,
    /// Its source; what the configuration says it alone changes
    source: Source,
    /// What became of it at each connected switch, where one rule was asked for
    #[cfg_attr(test, schema(required = false))]
    at: Vec<InstallStatus>,
}

/// What becomes of packets.
#[cfg(test)]
#[derive(ToSchema)]
#[cfg_attr(test, schema(rename_all = "kebab-case"))]
#[expect(dead_code, reason = "it describes `Verdict`")]
enum AclAction {
    Allow,
    Deny,
    Mirror,
}

/// A rule that is to count.
#[cfg(test)]
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "it describes `Rule`")]
struct NewAclRule {
    /// Its name; not where the path says it
    name: Option<String>,
    /// What becomes of its packets
    action: AclAction,
    /// The port that gets the copies of a mirror: a number, `local`
    mirror_to: Option<String>,
    /// Which packets it is about; every packet where it is absent
    #[cfg_attr(test, schema(required = false, example = json!({"ip_proto": 6, "tcp_dst": 23})))]
    r#match: BTreeMap<String, String>,
    /// At which switches: datapath ids, first octets, ranges; at all where there are none
    #[cfg_attr(test, schema(required = false))]
    switches: Vec<String>,
    /// As it is shown; rules of the configuration are passed over
    source: Option<Source>,
}

/// All rules that were set over HTTP.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
#[serde(deny_unknown_fields)]
pub struct NewAcl {
    /// The rules, in order, each with a name
    #[cfg_attr(test, schema(value_type = Vec<NewAclRule>))]
    pub rules: Vec<Value>,
}

/// A rule as a request has it, with the source that it may name.
///
/// # Errors
/// It is none.
pub(crate) fn rule(mut value: Value) -> Result<(Rule, Option<Source>), Problem> {
    let source = value.as_object_mut().and_then(|object| object.remove("source"));
    let source = source.map(|source| extract::parse(source.to_string().as_bytes()));
    let source = source.transpose().map_err(|problem: Problem| Problem {
        detail: format!("source: {}", problem.detail),
        ..problem
    })?;
    Ok((extract::parse(value.to_string().as_bytes())?, source.flatten()))
}

/// The rule under this name.
///
/// # Errors
/// The rule has another name.
fn named(rule: Rule, name: &str) -> Result<Rule, Problem> {
    check_name(name)?;
    if !rule.name.is_empty() && *rule.name != *name {
        return Err(bad_field("name: the path says another"));
    }
    Ok(Rule { name: name.into(), ..rule })
}

/// A rule of the store, which has its name as a key, and its place among all.
///
/// # Errors
/// One sentence.
pub fn read(name: &str, value: &Value) -> Result<(u64, Rule), String> {
    let mut value = value.clone();
    let place = value.as_object_mut().and_then(|object| object.remove("place"));
    let place = place.and_then(|place| place.as_u64()).ok_or("place: no number")?;
    let rule = extract::parse(value.to_string().as_bytes());
    let rule = rule.and_then(|rule| named(rule, name)).map_err(|problem| problem.detail)?;
    Ok((place, rule))
}

fn all(shared: &Shared) -> Result<Acl, Problem> {
    let rules = shared.config_store.acl().map_err(|refused| not_set(&refused))?;
    Ok(Acl { rules })
}

fn one(shared: &Shared, name: &str) -> Result<Stored<Rule>, Problem> {
    let rule = all(shared)?.rules.into_iter().find(|rule| *rule.it.name == *name);
    let rule = rule.ok_or_else(|| not_set(&SetError::Missing(name.into())))?;
    Ok(Stored { at: shared.config_store.rule_status(name), ..rule })
}

/// The rules about which packets pass, in order
#[cfg_attr(test, utoipa::path(get, path = "/api/v1/acl", operation_id = "acl", tag = "kept", responses(
    (status = 200, description = "Rules, in order", body = Acl),
    (status = 409, description = "The application acl does not run", body = Problem),
)))]
pub(crate) async fn list(State(shared): Ctx) -> Result<Json<Acl>, Problem> {
    all(&shared).map(Json)
}

/// One of them, and what became of it at each switch
#[cfg_attr(test, utoipa::path(get, path = "/api/v1/acl/{name}", operation_id = "acl_rule", tag = "kept",
    params(("name" = String, Path, description = "Its name")), responses(
    (status = 200, description = "The rule", body = AclRule),
    (status = 404, description = "There is none of this name", body = Problem),
    (status = 409, description = "The application acl does not run", body = Problem),
)))]
pub(crate) async fn show(
    State(shared): Ctx,
    Path(name): Path<String>,
) -> Result<Json<Stored<Rule>>, Problem> {
    one(&shared, &name).map(Json)
}

/// Other rules, in place of all that were set over HTTP
///
/// They are on disk when this is answered, where the controller has a store; requests are judged by them at once, and switches have
/// them within a second or two. Those of the configuration stay, before them. With `If-Match` only where the rules are still those of
/// that `ETag`.
#[cfg_attr(test, utoipa::path(put, path = "/api/v1/acl", operation_id = "set_acl", tag = "kept", request_body = NewAcl, responses(
    (status = 200, description = "The rules that count now", body = Acl),
    (status = 409, description = "The application acl does not run, or the configuration has a rule of this name", body = Problem),
    (status = 412, description = "They are others than the asker knows", body = Problem),
    (status = 422, description = "A rule that cannot be; nothing was changed", body = Problem),
    (status = 507, description = "The disk did not take it; nothing was changed", body = Problem),
)))]
pub(crate) async fn put_all(
    State(shared): Ctx,
    headers: HeaderMap,
    Body(NewAcl { rules }): Body<NewAcl>,
) -> Result<Json<Acl>, Problem> {
    if !etag::matches(&headers, IF_MATCH, &all(&shared)?) {
        let detail = "the rules are others than those of that ETag: read them again";
        return Err(Problem::new(StatusCode::PRECONDITION_FAILED, "changed-meanwhile", detail));
    }
    let mut checked = vec![];
    for (place, value) in rules.into_iter().enumerate() {
        let placed = |problem: Problem| Problem {
            detail: format!("rules[{place}]: {}", problem.detail),
            ..problem
        };
        let (rule, source) = rule(value).map_err(placed)?;
        if source == Some(Source::Configuration) {
            continue;
        }
        if rule.name.is_empty() {
            return Err(placed(bad_field("`name` is missing")));
        }
        let name = Arc::clone(&rule.name);
        checked.push(named(rule, &name).map_err(placed)?);
    }
    set(&shared, move |store| store.change_acl(AclChange::All(checked))).await?;
    all(&shared).map(Json)
}

/// Where a rule goes.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(IntoParams))]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, into_params(parameter_in = Query))]
pub(crate) struct AclPosition {
    /// A new rule goes before the one of this name; last where it is absent
    before: Option<String>,
}

/// A rule, in place of one of its name
///
/// Where there is none it goes last, or before another. With `If-None-Match: *` only where there is none.
#[cfg_attr(test, utoipa::path(put, path = "/api/v1/acl/{name}", operation_id = "set_acl_rule", tag = "kept",
    params(("name" = String, Path, description = "Its name"), AclPosition), request_body = NewAclRule, responses(
    (status = 200, description = "It counts", body = AclRule),
    (status = 404, description = "There is none that it could go before", body = Problem),
    (status = 409, description = "The application acl does not run, or the configuration has a rule of this name", body = Problem),
    (status = 412, description = "There is one of this name", body = Problem),
    (status = 422, description = "A rule that cannot be; nothing was changed", body = Problem),
    (status = 507, description = "The disk did not take it; nothing was changed", body = Problem),
)))]
pub(crate) async fn put(
    State(shared): Ctx,
    Path(name): Path<String>,
    Query(AclPosition { before }): Query<AclPosition>,
    headers: HeaderMap,
    Body(value): Body<Value>,
) -> Result<Json<Stored<Rule>>, Problem> {
    let (rule, _) = rule(value)?;
    let change = AclChange::One(named(rule, &name)?, before, only(&headers));
    set(&shared, move |store| store.change_acl(change)).await?;
    one(&shared, &name).map(Json)
}

/// A rule counts no more
#[cfg_attr(test, utoipa::path(delete, path = "/api/v1/acl/{name}", operation_id = "remove_acl_rule", tag = "kept",
    params(("name" = String, Path, description = "Its name")), responses(
    (status = 200, description = "It counts no more", body = Changed),
    (status = 404, description = "There is none of this name", body = Problem),
    (status = 409, description = "The application acl does not run, or the configuration says it", body = Problem),
    (status = 507, description = "The disk did not take it; nothing was changed", body = Problem),
)))]
pub(crate) async fn remove(
    State(shared): Ctx,
    Path(name): Path<String>,
) -> Result<Json<Changed>, Problem> {
    set(&shared, move |store| store.change_acl(AclChange::Remove(name))).await?;
    Ok(Json(Changed { set: 0, removed: 1, durable: shared.config_store.is_durable() }))
}
