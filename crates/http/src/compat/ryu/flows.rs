//! `/stats/switches`, `/stats/flow`, `/stats/aggregateflow`, and `/stats/flowentry`.

use aldis_wire::msg::{
    FlowMod, FlowModCommand, FlowModFlags, FlowStats, FlowStatsRequest, GroupNo, Message,
    StatsFlags, StatsReply, StatsReplyBody, StatsRequestBody, TableNo,
};
use aldis_wire::{NO_BUFFER, Version};
use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

use super::actions::{instructions, show_instructions};
use super::body::{Dict, DictBody, PathParts, wrong};
use super::fields;
use super::names::{BUFFERS, GROUPS, PORTS_13, TABLES, table, wide};
use super::switch_request::{AskedSwitch, BySwitch};
use crate::problem::Problem;
use crate::routes::{Ctx, Shared};

/// The flag that 1.0 has under the number that 1.3 gives to another: flows for the time without a
/// controller.
const EMERGENCY: u64 = 1 << 2;

/// What 1.0 gives a flow without a priority; 1.3 gives 0, as Ryu does.
const PRIORITY_10: u64 = 0x8000;

/// Bytes of a reply before its first flow.
const REPLY_LEN: usize = 16;

pub(super) async fn switches(State(shared): Ctx) -> Json<Vec<u64>> {
    let switches = shared.controller.switches();
    Json(switches.iter().map(|seen| seen.switch.info.dpid.0).collect())
}

pub(super) async fn flow(State(shared): Ctx, at: PathParts, body: DictBody) -> BySwitch {
    let switch = AskedSwitch::at(&shared, &at)?;
    let dict = body.dict();
    let request = StatsRequestBody::Flow(wanted(&dict, switch.version)?);
    // OpenFlow has no filter by priority; Ryu's REST has.
    let priority =
        dict.field("priority").map(|_| dict.number("priority", 0, 0xffff)).transpose()?;
    let StatsReplyBody::Flow(flows) = switch.stats(&shared, request).await? else {
        return Err(switch.unasked());
    };
    let is = |flow: &&FlowStats| priority.is_none_or(|wanted| wanted == u64::from(flow.priority));
    let shown: Vec<Value> =
        flows.iter().filter(is).map(|flow| show(flow, switch.version)).collect();
    Ok(switch.shown(shown))
}

pub(super) async fn aggregate(State(shared): Ctx, at: PathParts, body: DictBody) -> BySwitch {
    let switch = AskedSwitch::at(&shared, &at)?;
    let request = StatsRequestBody::Aggregate(wanted(&body.dict(), switch.version)?);
    let StatsReplyBody::Aggregate(sum) = switch.stats(&shared, request).await? else {
        return Err(switch.unasked());
    };
    Ok(switch.shown(json!([{
        "packet_count": sum.packet_count,
        "byte_count": sum.byte_count,
        "flow_count": sum.flow_count,
    }])))
}

/// Which flows are asked for. Ryu leaves out what 1.0 cannot say.
fn wanted(dict: &Dict<'_>, version: Version) -> Result<FlowStatsRequest, Problem> {
    let all = FlowStatsRequest::all();
    let request = FlowStatsRequest {
        table_id: TableNo(dict.reserved("table_id", all.table_id.0.into(), &TABLES)? as u8),
        out_port: wide(dict.reserved("out_port", all.out_port.0, &PORTS_13)?, version),
        match_: fields::read(dict, version)?,
        ..all
    };
    Ok(match version {
        Version::V10 => request,
        Version::V13 => FlowStatsRequest {
            out_group: GroupNo(dict.reserved("out_group", request.out_group.0, &GROUPS)?),
            cookie: dict.number("cookie", 0, u64::MAX)?,
            cookie_mask: dict.number("cookie_mask", 0, u64::MAX)?,
            ..request
        },
    })
}

fn show(flow: &FlowStats, version: Version) -> Value {
    let mut shown = json!({
        "table_id": table(flow.table_id),
        "duration_sec": flow.duration_sec,
        "duration_nsec": flow.duration_nsec,
        "priority": flow.priority,
        "idle_timeout": flow.idle_timeout,
        "hard_timeout": flow.hard_timeout,
        "cookie": flow.cookie,
        "packet_count": flow.packet_count,
        "byte_count": flow.byte_count,
        "match": fields::show(&flow.match_, version),
        "actions": show_instructions(&flow.instructions, &flow.match_, version),
    });
    if version == Version::V13 {
        shown["flags"] = flow.flags.0.into();
        shown["length"] = length(flow).into();
    }
    shown
}

/// Bytes of a flow in the switch's reply.
fn length(flow: &FlowStats) -> usize {
    let body = StatsReplyBody::Flow(vec![flow.clone()]);
    let mut bytes = vec![];
    let reply = Message::StatsReply(StatsReply { flags: StatsFlags::EMPTY, body });
    match reply.encode(Version::V13, 0, &mut bytes) {
        Ok(()) => bytes.len().saturating_sub(REPLY_LEN),
        Err(_) => 0,
    }
}

macro_rules! entries {
    ($($name:ident => $COMMAND:ident,)*) => {
        $(pub(super) async fn $name(State(shared): Ctx, body: DictBody) -> Result<(), Problem> {
            entry(&shared, &body.dict(), FlowModCommand::$COMMAND).await
        })*
    };
}

entries! {
    add => ADD,
    modify => MODIFY,
    modify_strict => MODIFY_STRICT,
    delete => DELETE,
    delete_strict => DELETE_STRICT,
}

async fn entry(shared: &Shared, dict: &Dict<'_>, command: FlowModCommand) -> Result<(), Problem> {
    let switch = AskedSwitch::find(shared, dict.dpid()?)?;
    let flow_mod = flow_mod(dict, command, switch.version)?;
    switch.does(shared, Message::FlowMod(flow_mod)).await
}

pub(super) async fn clear(State(shared): Ctx, at: PathParts) -> Result<(), Problem> {
    let switch = AskedSwitch::at(&shared, &at)?;
    let all = FlowMod::delete(aldis_wire::msg::Match::new());
    let priority = if switch.version == Version::V10 { PRIORITY_10 as u16 } else { 0 };
    switch.does(&shared, Message::FlowMod(FlowMod { priority, ..all })).await
}

/// A change of a flow, with Ryu's defaults: for 1.3 priority 0 and table 0, for 1.0 priority 32768.
fn flow_mod(
    dict: &Dict<'_>,
    command: FlowModCommand,
    version: Version,
) -> Result<FlowMod, Problem> {
    let match_ = fields::read(dict, version)?;
    let new = FlowMod::delete(match_.clone());
    let deletes = matches!(command, FlowModCommand::DELETE | FlowModCommand::DELETE_STRICT);
    let short = |key| dict.number(key, 0, 0xffff).map(|number| number as u16);
    let (priority, table_id) = match version {
        Version::V10 => (PRIORITY_10, if deletes { TableNo::ALL } else { TableNo(0) }),
        Version::V13 => (0, TableNo(dict.reserved("table_id", 0, &TABLES)? as u8)),
    };
    let flags = dict.number("flags", 0, 0xffff)?;
    if version == Version::V10 && flags & !(EMERGENCY - 1) != 0 {
        return Err(wrong("flags", &flags.into(), "1 and 2 (there are no emergency flows)"));
    }
    let flow_mod = FlowMod {
        command,
        table_id,
        priority: dict.number("priority", priority, 0xffff)? as u16,
        cookie: dict.number("cookie", 0, u64::MAX)?,
        idle_timeout: short("idle_timeout")?,
        hard_timeout: short("hard_timeout")?,
        buffer_id: dict.reserved("buffer_id", NO_BUFFER, &BUFFERS)?,
        out_port: wide(dict.reserved("out_port", new.out_port.0, &PORTS_13)?, version),
        flags: FlowModFlags(flags as u16),
        instructions: instructions(dict, &match_, version)?,
        ..new
    };
    Ok(match version {
        Version::V10 => flow_mod,
        Version::V13 => FlowMod {
            cookie_mask: dict.number("cookie_mask", 0, u64::MAX)?,
            out_group: GroupNo(dict.reserved("out_group", GroupNo::ANY.0, &GROUPS)?),
            ..flow_mod
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &str, command: FlowModCommand, version: Version) -> Result<FlowMod, String> {
        let body = DictBody::read(body.as_bytes()).unwrap();
        flow_mod(&body.dict(), command, version).map_err(|problem| problem.detail)
    }

    #[test]
    fn defaults_are_those_of_ryu() {
        let body =
            "{'dpid': 1, 'match': {'in_port': 1}, 'actions': [{'type': 'OUTPUT', 'port': 2}]}";
        let new = read(body, FlowModCommand::ADD, Version::V13).unwrap();
        assert_eq!((new.priority, new.table_id, new.flags.0), (0, TableNo(0), 0));
        let old = read(body, FlowModCommand::DELETE, Version::V10).unwrap();
        assert_eq!((old.priority, old.table_id), (32768, TableNo::ALL));
        let new = read(body, FlowModCommand::DELETE, Version::V13).unwrap();
        assert_eq!((new.priority, new.table_id), (0, TableNo(0)));
    }

    #[test]
    fn what_does_not_fit_is_named() {
        for (body, version, words) in [
            ("{'priority': 65536}", Version::V13, "priority: 65536; accepted: 0 to 65535"),
            ("{'priority': -1}", Version::V13, "priority: -1"),
            ("{'table_id': 256}", Version::V13, "table_id: 256"),
            ("{'cookie': 'x'}", Version::V13, "cookie: \"x\""),
            ("{'flags': 4}", Version::V10, "flags: 4"),
            ("{'idle_timeout': 1.5}", Version::V10, "idle_timeout: 1.5"),
        ] {
            let refused = read(body, FlowModCommand::ADD, version).unwrap_err();
            assert!(refused.contains(words), "{refused}");
        }
    }
}
