//! Ordered rules that say which packets pass: the first that matches a packet counts.

use std::collections::BTreeMap;
use std::sync::Arc;

use aldis_control::weights::Switches;
use aldis_wire::msg::{Field, PortNo};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::{HeaderMap, IF_MATCH};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::flow::{Matching, Read};
use super::static_flows::{AtSwitch, Changed, Source};
use super::{check_name, not_set, only, set};
use crate::etag;
use crate::extract::{self, Json as Body, Path, Query};
use crate::kept::{self, AclChange, Kept, Verdict};
use crate::problem::Problem;
use crate::routes::{From, Shared};

/// Rules about which packets pass.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, ToSchema)]
pub struct Acl {
    /// The rules, in order: those of the configuration first
    pub rules: Vec<AclRule>,
}

/// A rule about which packets pass.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, ToSchema)]
pub struct AclRule {
    /// Its name
    #[schema(example = "no telnet")]
    pub name: String,
    /// What becomes of its packets
    pub action: Deed,
    /// The port that gets the copies of a mirror
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mirror_to: Option<String>,
    /// Which packets it is about
    #[serde(rename = "match")]
    pub matching: BTreeMap<String, String>,
    /// At which switches; at all where there are none
    pub switches: Vec<String>,
    /// Who said it; what the configuration says it alone changes
    pub source: Source,
    /// What became of it at each connected switch, where one rule was asked for
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub at: Vec<AtSwitch>,
}

/// What becomes of packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
#[schema(as = AclAction)]
pub enum Deed {
    /// They pass
    Allow,
    /// They do not
    Deny,
    /// They pass, and a port gets copies
    Mirror,
}

/// A rule that is to count.
#[derive(Clone, PartialEq, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewAclRule {
    /// Its name; not where the path says it
    #[serde(default)]
    pub name: Option<String>,
    /// What becomes of its packets
    pub action: Deed,
    /// The port that gets the copies of a mirror: a number, `local`
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub mirror_to: Option<Read<PortNo>>,
    /// Which packets it is about; every packet where it is absent
    #[serde(default, rename = "match")]
    #[schema(value_type = std::collections::HashMap<String, String>, example = json!({"ip_proto": 6, "tcp_dst": 23}))]
    pub matching: Matching,
    /// At which switches: datapath ids, first octets, ranges; at all where there are none
    #[serde(default)]
    #[schema(value_type = Vec<String>)]
    pub switches: Vec<Read<Switches>>,
    /// As it is shown; rules of the configuration are passed over
    #[serde(default)]
    pub source: Option<Source>,
}

/// All rules that were set over HTTP.
#[derive(Clone, PartialEq, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewAcl {
    /// The rules, in order, each with a name
    pub rules: Vec<NewAclRule>,
}

impl NewAclRule {
    /// The rule, if it can be one.
    ///
    /// # Errors
    /// A field that contradicts another.
    pub fn rule(self, name: &str) -> Result<kept::AclRule, Problem> {
        let refused = |detail| Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "bad-field", detail);
        check_name(name)?;
        let verdict = match (self.action, self.mirror_to) {
            (Deed::Allow, None) => Verdict::Allow,
            (Deed::Deny, None) => Verdict::Deny,
            (Deed::Mirror, Some(Read(port))) if port.is_real() || port == PortNo::LOCAL => {
                Verdict::Mirror(port)
            }
            (Deed::Mirror, Some(_)) => {
                return Err(refused(
                    "mirror_to: no port for copies; accepted: a port number, or local",
                ));
            }
            (Deed::Mirror, None) => {
                return Err(refused("a mirror needs mirror_to, the port that gets the copies"));
            }
            (_, Some(_)) => {
                return Err(refused("mirror_to is for the action \"mirror\" only"));
            }
        };
        let switches = self.switches.into_iter().map(|Read(switches)| switches).collect();
        Ok(kept::AclRule { name: name.into(), verdict, match_: self.matching.0, switches })
    }
}

/// A rule as it is kept on disk, in this place among all: JSON that [`read`] reads.
pub fn written(rule: &kept::AclRule, place: usize) -> serde_json::Value {
    let shown = AclRule::of(rule, kept::Source::Http);
    let mut value = serde_json::json!({
        "place": place, "action": shown.action, "match": shown.matching, "switches": shown.switches,
    });
    if let (Some(port), Some(object)) = (shown.mirror_to, value.as_object_mut()) {
        object.insert("mirror_to".into(), port.into());
    }
    value
}

/// A rule from what is kept on disk, and its place among all.
///
/// # Errors
/// One sentence.
pub fn read(name: &str, value: &serde_json::Value) -> Result<(u64, kept::AclRule), String> {
    let mut value = value.clone();
    let place = value.as_object_mut().and_then(|object| object.remove("place"));
    let place = place.and_then(|place| place.as_u64()).ok_or("place: no number")?;
    let new: NewAclRule =
        extract::parse(value.to_string().as_bytes()).map_err(|problem| problem.detail)?;
    Ok((place, new.rule(name).map_err(|problem| problem.detail)?))
}

impl AclRule {
    fn of(rule: &kept::AclRule, source: kept::Source) -> AclRule {
        let (action, mirror_to) = match rule.verdict {
            Verdict::Allow => (Deed::Allow, None),
            Verdict::Deny => (Deed::Deny, None),
            Verdict::Mirror(PortNo::LOCAL) => (Deed::Mirror, Some("local".into())),
            Verdict::Mirror(PortNo(port)) => (Deed::Mirror, Some(port.to_string())),
        };
        AclRule {
            name: rule.name.to_string(),
            action,
            mirror_to,
            matching: rule.match_.fields.iter().map(Field::in_words).collect(),
            switches: rule.switches.iter().map(ToString::to_string).collect(),
            source: source.into(),
            at: vec![],
        }
    }
}

fn all(shared: &Shared) -> Result<Acl, Problem> {
    let rules = shared.keeps.acl().map_err(|refused| not_set(&refused))?;
    let shown = |kept: &Kept<Arc<kept::AclRule>>| AclRule::of(&kept.it, kept.source);
    Ok(Acl { rules: rules.iter().map(shown).collect() })
}

fn one(shared: &Shared, name: &str) -> Result<AclRule, Problem> {
    let rule = all(shared)?.rules.into_iter().find(|rule| rule.name == name);
    let rule = rule.ok_or_else(|| not_set(&kept::Refused::Missing(name.into())))?;
    let at = shared.keeps.fates_of_rule(name).into_iter().map(AtSwitch::of);
    Ok(AclRule { at: at.collect(), ..rule })
}

/// The rules about which packets pass, in order
#[utoipa::path(get, path = "/api/v1/acl", operation_id = "acl", tag = "kept", responses(
    (status = 200, description = "Rules, in order", body = Acl),
    (status = 409, description = "The application acl does not run", body = Problem),
))]
pub(crate) async fn list(State(shared): From) -> Result<Json<Acl>, Problem> {
    all(&shared).map(Json)
}

/// One of them, and what became of it at each switch
#[utoipa::path(get, path = "/api/v1/acl/{name}", operation_id = "acl_rule", tag = "kept",
    params(("name" = String, Path, description = "Its name")), responses(
    (status = 200, description = "The rule", body = AclRule),
    (status = 404, description = "There is none of this name", body = Problem),
    (status = 409, description = "The application acl does not run", body = Problem),
))]
pub(crate) async fn show(
    State(shared): From,
    Path(name): Path<String>,
) -> Result<Json<AclRule>, Problem> {
    one(&shared, &name).map(Json)
}

/// Other rules, in place of all that were set over HTTP
///
/// They are on disk when this is answered, where the controller has a store; requests are judged by them at once, and switches have
/// them within a second or two. Those of the configuration stay, before them. With `If-Match` only where the rules are still those of
/// that `ETag`.
#[utoipa::path(put, path = "/api/v1/acl", operation_id = "set_acl", tag = "kept", request_body = NewAcl, responses(
    (status = 200, description = "The rules that count now", body = Acl),
    (status = 409, description = "The application acl does not run, or the configuration has a rule of this name", body = Problem),
    (status = 412, description = "They are others than the asker knows", body = Problem),
    (status = 422, description = "A rule that cannot be; nothing was changed", body = Problem),
    (status = 507, description = "The disk did not take it; nothing was changed", body = Problem),
))]
pub(crate) async fn put_all(
    State(shared): From,
    headers: HeaderMap,
    Body(NewAcl { rules }): Body<NewAcl>,
) -> Result<Json<Acl>, Problem> {
    if !etag::matches(&headers, IF_MATCH, &all(&shared)?) {
        let detail = "the rules are others than those of that ETag: read them again";
        return Err(Problem::new(StatusCode::PRECONDITION_FAILED, "changed-meanwhile", detail));
    }
    let ours = rules.into_iter().filter(|rule| rule.source != Some(Source::Configuration));
    let named = |(place, mut rule): (usize, NewAclRule)| {
        let name = rule.name.take();
        let detail = format!("rules[{place}]: `name` is missing");
        let missing = || Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "bad-field", detail);
        rule.rule(&name.ok_or_else(missing)?).map_err(|problem| Problem {
            detail: format!("rules[{place}]: {}", problem.detail),
            ..problem
        })
    };
    let rules = ours.enumerate().map(named).collect::<Result<Vec<_>, _>>()?;
    set(&shared, move |keeps| keeps.change_acl(AclChange::All(rules))).await?;
    all(&shared).map(Json)
}

/// Where a rule goes.
#[derive(Clone, Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Place {
    /// A new rule goes before the one of this name; last where it is absent
    before: Option<String>,
}

/// A rule, in place of one of its name
///
/// Where there is none it goes last, or before another. With `If-None-Match: *` only where there is none.
#[utoipa::path(put, path = "/api/v1/acl/{name}", operation_id = "set_acl_rule", tag = "kept",
    params(("name" = String, Path, description = "Its name"), Place), request_body = NewAclRule, responses(
    (status = 200, description = "It counts", body = AclRule),
    (status = 404, description = "There is none that it could go before", body = Problem),
    (status = 409, description = "The application acl does not run, or the configuration has a rule of this name", body = Problem),
    (status = 412, description = "There is one of this name", body = Problem),
    (status = 422, description = "A rule that cannot be; nothing was changed", body = Problem),
    (status = 507, description = "The disk did not take it; nothing was changed", body = Problem),
))]
pub(crate) async fn put(
    State(shared): From,
    Path(name): Path<String>,
    Query(Place { before }): Query<Place>,
    headers: HeaderMap,
    Body(new): Body<NewAclRule>,
) -> Result<Json<AclRule>, Problem> {
    if new.name.as_ref().is_some_and(|said| *said != name) {
        let detail = "name: the path says another";
        return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "bad-field", detail));
    }
    let change = AclChange::One(new.rule(&name)?, before, only(&headers));
    set(&shared, move |keeps| keeps.change_acl(change)).await?;
    one(&shared, &name).map(Json)
}

/// A rule counts no more
#[utoipa::path(delete, path = "/api/v1/acl/{name}", operation_id = "remove_acl_rule", tag = "kept",
    params(("name" = String, Path, description = "Its name")), responses(
    (status = 200, description = "It counts no more", body = Changed),
    (status = 404, description = "There is none of this name", body = Problem),
    (status = 409, description = "The application acl does not run, or the configuration says it", body = Problem),
    (status = 507, description = "The disk did not take it; nothing was changed", body = Problem),
))]
pub(crate) async fn remove(
    State(shared): From,
    Path(name): Path<String>,
) -> Result<Json<Changed>, Problem> {
    set(&shared, move |keeps| keeps.change_acl(AclChange::Remove(name))).await?;
    Ok(Json(Changed { set: 0, removed: 1, durable: shared.keeps.is_durable() }))
}
