//! `/qos`: Ryu's `rest_qos`. Rules mark, meter or queue packets before they are forwarded; meters
//! are the switch's own. Queues are made where the switch is configured, over OVSDB, and not here.

use aldis_apps::static_flows::StaticFlow;
use aldis_wire::msg::{
    Action, Field, Instruction, Message, MeterModCommand, MeterNo, MeterRequest, PortNo, QueueNo,
    QueueStatsRequest,
};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::{Value, json};

use super::body::{Dict, DictBody, PathParts};
use super::rules::{self, OfSwitches, RuleWords};
use super::{meters, queues};
use crate::problem::Problem;
use crate::routes::{Ctx, Shared};

const WORDS: RuleWords = RuleWords {
    app: "ryu-qos",
    role: "qos",
    id: "qos_id",
    listed: ["command_result", "qos"],
    added: "QoS added. : qos_id=",
    deleted: " deleted. : QoS ID=",
    missing: ["QoS rule is not exist.", " : QoS ID="],
};

pub(super) async fn list(State(shared): Ctx, at: PathParts) -> OfSwitches {
    rules::list(&shared, &at, &WORDS, show)
}

/// What is done with packets, one thing after the other, without their being forwarded.
fn show(flow: &StaticFlow) -> Value {
    let applied = flow.instructions.iter().flat_map(|instruction| match instruction {
        Instruction::ApplyActions(all) => all.as_slice(),
        _ => &[],
    });
    let applied = applied.filter_map(|action| match action {
        Action::SetQueue(queue) => Some(json!({ "queue": queue.0.to_string() })),
        Action::SetField(Field::IpDscp(dscp)) => Some(json!({ "mark": dscp.to_string() })),
        _ => None,
    });
    let metered = flow.instructions.iter().filter_map(|instruction| match instruction {
        Instruction::Meter(meter) => Some(json!({ "meter": meter.0.to_string() })),
        _ => None,
    });
    metered.chain(applied).collect()
}

pub(super) async fn add(State(shared): Ctx, at: PathParts, body: DictBody) -> OfSwitches {
    let dict = body.dict();
    let said = dict.inner("match")?.map(|dict| dict.map.clone()).unwrap_or_default();
    let (meter, actions) = does(dict.inner("actions")?)?;
    rules::add(&shared, &at, &WORDS, said, |switch| {
        let passes = rules::pass(&shared, switch, actions.clone());
        Ok(meter.map(Instruction::Meter).into_iter().chain(passes).collect())
    })
    .await
}

/// The meter that packets go through, and the actions before they are forwarded; queue 0 where
/// nothing is said.
fn does(dict: Option<Dict<'_>>) -> Result<(Option<MeterNo>, Vec<Action>), Problem> {
    let Some(dict) = dict else { return Ok((None, vec![Action::SetQueue(QueueNo(0))])) };
    let number = |key: &str, most: u64| -> Result<Option<u32>, Problem> {
        dict.field(key).map(|_| dict.needed(key, most).map(|number| number as u32)).transpose()
    };
    let known = ["mark", "meter", "queue"];
    if let Some(other) = dict.map.keys().find(|key| !known.contains(&key.as_str())) {
        let detail = format!("{}: there is no such action", dict.named(other));
        return Err(Problem::bad("bad-field", detail));
    }
    let mark = number("mark", 63)?.map(|dscp| Action::SetField(Field::IpDscp(dscp as u8)));
    let queue = number("queue", u32::MAX.into())?.map(|queue| Action::SetQueue(QueueNo(queue)));
    let meter = number("meter", u32::MAX.into())?.map(MeterNo);
    Ok((meter, mark.into_iter().chain(queue).collect()))
}

pub(super) async fn delete(State(shared): Ctx, at: PathParts, body: DictBody) -> OfSwitches {
    rules::delete(&shared, &at, &WORDS, &body).await
}

pub(super) async fn meters(State(shared): Ctx, at: PathParts) -> OfSwitches {
    let all = || MeterRequest { meter_id: MeterNo::ALL };
    let mut shown = vec![];
    for switch in rules::switches(&shared, &at, WORDS.role)? {
        let Json(counted) = meters::counted(&shared, switch, all()).await?;
        shown.push(rules::shown(switch, "command_result", counted));
    }
    Ok(Json(shown))
}

pub(super) async fn add_meter(State(shared): Ctx, at: PathParts, body: DictBody) -> OfSwitches {
    let added = |details| Value::Array(vec![rules::result(true, details)]);
    meter(&shared, &at, &body, (MeterModCommand::ADD, "Meter added."), added).await
}

pub(super) async fn delete_meter(State(shared): Ctx, at: PathParts, body: DictBody) -> OfSwitches {
    let deleted = |details| rules::result(true, details);
    meter(&shared, &at, &body, (MeterModCommand::DELETE, "Meter deleted."), deleted).await
}

async fn meter(
    shared: &Shared,
    at: &PathParts,
    body: &DictBody,
    (command, done): (MeterModCommand, &str),
    said: fn(String) -> Value,
) -> OfSwitches {
    let switches = rules::switches(shared, at, WORDS.role)?;
    let id = body.dict().needed("meter_id", u32::MAX.into())?;
    let meter_mod = meters::meter_mod(&body.dict(), command)?;
    let mut answers = vec![];
    for switch in switches {
        switch.does(shared, Message::MeterMod(meter_mod.clone())).await?;
        let details = format!("{done} : Meter ID={id}");
        answers.push(rules::shown(switch, "command_result", said(details)));
    }
    Ok(Json(answers))
}

pub(super) async fn queue_status(State(shared): Ctx, at: PathParts) -> OfSwitches {
    let request = QueueStatsRequest { port_no: PortNo::ANY, queue_id: QueueNo::ALL };
    let mut shown = vec![];
    for switch in rules::switches(&shared, &at, WORDS.role)? {
        let Json(all) = queues::counted(&shared, switch, request).await?;
        shown.push(rules::shown(switch, "command_result", all));
    }
    Ok(Json(shown))
}

/// Those that were made here: none.
pub(super) async fn queues(State(shared): Ctx, at: PathParts) -> OfSwitches {
    let none = || rules::result(false, "Queue is not exists.");
    let switches = rules::switches(&shared, &at, WORDS.role)?;
    Ok(Json(switches.into_iter().map(|one| rules::shown(one, "command_result", none())).collect()))
}

/// What needs OVSDB.
pub(super) async fn ovsdb() -> Problem {
    let detail = "queues are made over OVSDB, which is not spoken here: make them with \
                  \"ovs-vsctl set port PORT qos=@q -- --id=@q create qos type=linux-htb \
                  queues:0=@a queues:1=@b -- …\"; rules and meters work with what is there";
    Problem::new(StatusCode::NOT_IMPLEMENTED, "not-here", detail)
}
