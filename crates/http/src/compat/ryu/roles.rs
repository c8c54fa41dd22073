//! `/stats/role`, `/stats/experimenter`.

use aldis_wire::msg::{Experimenter, Message, Role, RoleMessage};
use axum::extract::State;
use serde_json::json;

use super::actions::data;
use super::body::{DictBody, PathParts};
use super::names::ROLES;
use super::switch_request::{AskedSwitch, BySwitch};
use crate::problem::Problem;
use crate::routes::Ctx;

pub(super) async fn show(State(shared): Ctx, at: PathParts) -> BySwitch {
    let switch = AskedSwitch::at(&shared, &at)?;
    let request = RoleMessage { role: Role::NOCHANGE, generation_id: 0 };
    let reply = switch.reply(&shared, Message::RoleRequest(request)).await?;
    let mut shown = vec![];
    for part in reply.messages() {
        match part.map_err(|why| switch.unreadable(why))? {
            Message::RoleReply(reply) => shown.push(json!({
                "role": ROLES.show(reply.role.0),
                "generation_id": reply.generation_id,
            })),
            _ => return Err(switch.unasked()),
        }
    }
    Ok(switch.shown(shown))
}

/// As Ryu does, with generation 0: a switch that knows of a later one refuses to take MASTER or
/// SLAVE from it.
pub(super) async fn set(State(shared): Ctx, body: DictBody) -> Result<(), Problem> {
    let dict = body.dict();
    let switch = AskedSwitch::find(&shared, dict.dpid()?)?;
    let role = Role(dict.reserved("role", Role::EQUAL.0, &ROLES)?);
    let request = RoleMessage { role, generation_id: 0 };
    switch.does(&shared, Message::RoleRequest(request)).await
}

pub(super) async fn experiment(
    State(shared): Ctx,
    at: PathParts,
    body: DictBody,
) -> Result<(), Problem> {
    let dict = body.dict();
    // Ryu looks into the body first.
    let dpid = if dict.field("dpid").is_some() { dict.dpid()? } else { at.dpid()? };
    let switch = AskedSwitch::find(&shared, dpid)?;
    let wide = |key| dict.number(key, 0, u32::MAX.into()).map(|number| number as u32);
    let message = Experimenter {
        experimenter: wide("experimenter")?,
        exp_type: wide("exp_type")?,
        body: data(&dict)?,
    };
    switch.does(&shared, Message::Experimenter(message)).await
}
