//! What is due to which switch, and by which design workers share them.

use aldis_control::weights::{WeightRule, Weights};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::{HeaderMap, IF_MATCH};
use serde::{Deserialize, Serialize};
#[cfg(test)]
use utoipa::ToSchema;

use crate::desired::Source;
use crate::etag;
use crate::extract;
use crate::problem::Problem;
use crate::routes::{Ctx, Shared};

/// Rules about weights: the first that names a switch counts, and a switch that none names has weight 1.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Rules {
    /// The rules, in order
    #[cfg_attr(test, schema(value_type = Vec<ApiWeightRule>))]
    pub rules: Vec<WeightRule>,
    /// Their source; a change need not say it
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
}

impl Rules {
    fn of(shared: &Shared) -> Rules {
        let (rules, source) = shared.config_store.weights();
        Rules { rules, source: Some(source) }
    }
}

/// A rule about weights.
#[cfg(test)]
#[derive(ToSchema)]
#[cfg_attr(test, schema(as = WeightRule))]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "it describes `WeightRule`")]
struct ApiWeightRule {
    /// The switches: a datapath id, its first octets (`00:00:*`), a range (`1-100`) or `*`
    #[cfg_attr(test, schema(example = "1-100"))]
    switches: String,
    /// What is due to each of them, compared to others: 1 to 1000
    #[cfg_attr(test, schema(example = 4))]
    weight: i64,
}

/// How workers share the switches.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
pub struct Design {
    /// The name of the design
    #[cfg_attr(test, schema(example = "fair-rounds"))]
    pub design: String,
    /// Whether it weighs switches
    pub weighs: bool,
    /// Number of workers
    pub workers: usize,
    /// Its knobs as they are now, by the names that `--set` has
    pub knobs: std::collections::BTreeMap<String, String>,
}

/// Knobs of the design.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct DesignChange {
    /// Their values, by the names that `--set` has: `ibt`, `bdu-us`, `prt` and `shed` count at once
    #[cfg_attr(test, schema(value_type = std::collections::BTreeMap<String, String>))]
    knobs: serde_json::Map<String, serde_json::Value>,
}

/// A knob that was not set: its key, and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadKnob {
    /// The key.
    pub key: String,
    /// The sentence.
    pub why: String,
}

/// The rules about weights
#[cfg_attr(test, utoipa::path(get, path = "/api/v1/weights", operation_id = "weights", tag = "controller", responses(
    (status = 200, description = "Rules, in order", body = Rules),
)))]
pub(crate) async fn show(State(shared): Ctx) -> Json<Rules> {
    Json(Rules::of(&shared))
}

/// Other rules about weights, from now on
///
/// They take the place of all that there are, those of the configuration and of the command line too, at once, and no session is
/// dropped. They are on disk when this is answered, where the controller has a store, and last until others are set or DELETE has
/// those of the configuration count again. With `If-Match`, only where they are still those of that `ETag`.
#[cfg_attr(test, utoipa::path(put, path = "/api/v1/weights", operation_id = "set_weights", tag = "controller", request_body = Rules, responses(
    (status = 200, description = "The rules that count now", body = Rules),
    (status = 400, description = "No JSON", body = Problem),
    (status = 412, description = "They are others than the asker knows", body = Problem),
    (status = 413, description = "Too long", body = Problem),
    (status = 415, description = "Not said to be JSON", body = Problem),
    (status = 422, description = "A rule that makes no sense; nothing was changed", body = Problem),
    (status = 507, description = "The disk did not take it; nothing was changed", body = Problem),
)))]
pub(crate) async fn set(
    State(shared): Ctx,
    headers: HeaderMap,
    extract::Json(Rules { rules, .. }): extract::Json<Rules>,
) -> Result<Json<Rules>, Problem> {
    let mut all = Weights::default();
    for (at, rule) in rules.iter().enumerate() {
        all.add(&rule.switches, rule.weight).map_err(|refused| {
            let detail = format!("rules[{at}]: {:?}: {}", refused.rule, refused.why);
            Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "bad-weight", detail)
        })?;
    }
    if !etag::matches(&headers, IF_MATCH, &Rules::of(&shared)) {
        let detail = "the weights are others than those of that ETag: read them again";
        return Err(Problem::new(StatusCode::PRECONDITION_FAILED, "changed-meanwhile", detail));
    }
    super::set(&shared, move |store| store.set_weights(Some(rules))).await?;
    Ok(Json(Rules::of(&shared)))
}

/// The rules about weights of the configuration and of the command line count again
#[cfg_attr(test, utoipa::path(delete, path = "/api/v1/weights", operation_id = "reset_weights", tag = "controller", responses(
    (status = 200, description = "The rules that count now", body = Rules),
    (status = 507, description = "The disk did not take it; nothing was changed", body = Problem),
)))]
pub(crate) async fn reset(State(shared): Ctx) -> Result<Json<Rules>, Problem> {
    super::set(&shared, |store| store.set_weights(None)).await?;
    Ok(Json(Rules::of(&shared)))
}

/// How workers share the switches, and the knobs as they are now
#[cfg_attr(test, utoipa::path(get, path = "/api/v1/design", operation_id = "design", tag = "controller", responses(
    (status = 200, description = "The design", body = Design),
)))]
pub(crate) async fn design(State(shared): Ctx) -> Json<Design> {
    Json(shared.controller.design())
}

/// Other knobs of the design, from now on
///
/// Those that are not named stay. They count at once, and no session is dropped: until the
/// controller ends, or reads its configuration again.
#[cfg_attr(test, utoipa::path(put, path = "/api/v1/design", operation_id = "set_design", tag = "controller", request_body = DesignChange, responses(
    (status = 200, description = "The design as it is now", body = Design),
    (status = 400, description = "No JSON", body = Problem),
    (status = 415, description = "Not said to be JSON", body = Problem),
    (status = 422, description = "A knob that there is not, that is out of range, that does nothing under this design, or that counts only after a restart; nothing was changed", body = Problem),
)))]
pub(crate) async fn set_design(
    State(shared): Ctx,
    extract::Json(DesignChange { knobs }): extract::Json<DesignChange>,
) -> Result<Json<Design>, Problem> {
    shared.controller.set_knobs(knobs).map_err(|BadKnob { key, why }| {
        let detail = format!("knobs.{key}: {why}");
        Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "bad-knob", detail)
    })?;
    Ok(Json(shared.controller.design()))
}
