//! `/stats/group`, `/stats/groupdesc`, `/stats/groupfeatures`, and `/stats/groupentry`.

use aldis_wire::Version;
use aldis_wire::msg::{
    Bucket, GroupDesc, GroupMod, GroupModCommand, GroupNo, GroupStats, GroupStatsRequest,
    GroupType, Match, Message, PortNo, StatsReplyBody, StatsRequestBody,
};
use aldis_wire::v13::action::ActionType;
use aldis_wire::v13::stats::group_features::GroupCapabilities;
use axum::extract::State;
use serde_json::{Value, json};

use super::actions::{actions, show as show_actions};
use super::body::{Dict, DictBody, PathParts, wrong};
use super::names::{GROUPS, PORTS_13};
use super::switch_request::{AskedSwitch, BySwitch};
use crate::problem::Problem;
use crate::routes::{Ctx, Shared};

/// Bytes of a group's counters before those of its buckets, and of a bucket's.
const STATS_LEN: usize = 40;
const BUCKET_LEN: usize = 16;

const TYPES: [(&str, GroupType); 4] = [
    ("ALL", GroupType::ALL),
    ("SELECT", GroupType::SELECT),
    ("INDIRECT", GroupType::INDIRECT),
    ("FF", GroupType::FF),
];

pub(super) async fn group(State(shared): Ctx, at: PathParts) -> BySwitch {
    let switch = AskedSwitch::at(&shared, &at)?;
    let group_id = at.number("group_id", &GROUPS)?.map_or(GroupNo::ALL, GroupNo);
    let request = StatsRequestBody::Group(GroupStatsRequest { group_id });
    let StatsReplyBody::Group(all) = switch.stats(&shared, request).await? else {
        return Err(switch.unasked());
    };
    Ok(switch.shown(all.iter().map(show).collect::<Vec<_>>()))
}

fn show(stats: &GroupStats) -> Value {
    let bucket = |bucket: &aldis_wire::v13::stats::group::BucketCounter| json!({"packet_count": bucket.packet_count, "byte_count": bucket.byte_count});
    json!({
        "length": STATS_LEN + BUCKET_LEN * stats.buckets.len(),
        "group_id": GROUPS.show(stats.group_id.0),
        "ref_count": stats.ref_count,
        "packet_count": stats.packet_count,
        "byte_count": stats.byte_count,
        "duration_sec": stats.duration_sec,
        "duration_nsec": stats.duration_nsec,
        "bucket_stats": stats.buckets.iter().map(bucket).collect::<Vec<_>>(),
    })
}

/// All groups: Ryu does not look at the number of one before OpenFlow 1.5.
pub(super) async fn desc(State(shared): Ctx, at: PathParts) -> BySwitch {
    let switch = AskedSwitch::at(&shared, &at)?;
    let StatsReplyBody::GroupDesc(all) = switch.stats(&shared, StatsRequestBody::GroupDesc).await?
    else {
        return Err(switch.unasked());
    };
    Ok(switch.shown(all.iter().map(show_desc).collect::<Vec<_>>()))
}

fn show_desc(desc: &GroupDesc) -> Value {
    let kind = TYPES.iter().find(|(_, kind)| *kind == desc.kind).map(|(name, _)| *name);
    let bucket = |bucket: &Bucket| {
        json!({
            "weight": bucket.weight,
            "watch_port": bucket.watch_port.0,
            "watch_group": bucket.watch_group.0,
            "actions": show_actions(&bucket.actions, &Match::new(), Version::V13),
        })
    };
    json!({
        "type": kind,
        "group_id": GROUPS.show(desc.group_id.0),
        "buckets": desc.buckets.iter().map(bucket).collect::<Vec<_>>(),
    })
}

pub(super) async fn features(State(shared): Ctx, at: PathParts) -> BySwitch {
    let switch = AskedSwitch::at(&shared, &at)?;
    let request = StatsRequestBody::GroupFeatures;
    let StatsReplyBody::GroupFeatures(features) = switch.stats(&shared, request).await? else {
        return Err(switch.unasked());
    };
    let place = |kind: GroupType| usize::from(kind.0);
    let types = TYPES.iter().filter(|(_, kind)| features.types >> kind.0 & 1 == 1);
    let capabilities = GroupCapabilities::NAMED.iter();
    let capabilities = capabilities.filter(|(flag, _)| features.capabilities.contains(*flag));
    let max = TYPES.iter().map(|(name, kind)| json!({ *name: features.max_groups[place(*kind)] }));
    let actions =
        TYPES.iter().map(|(name, kind)| json!({ *name: known(features.actions[place(*kind)]) }));
    Ok(switch.shown(json!([{
        "types": types.map(|(name, _)| *name).collect::<Vec<_>>(),
        "capabilities": capabilities.map(|(_, name)| *name).collect::<Vec<_>>(),
        "max_groups": max.collect::<Vec<_>>(),
        "actions": actions.collect::<Vec<_>>(),
    }])))
}

/// The actions whose bits are set.
fn known(bits: u32) -> Vec<&'static str> {
    let named = ActionType::NAMED.iter().filter(|kind| kind.0 < 32 && bits >> kind.0 & 1 == 1);
    named.filter_map(|kind| kind.name()?.strip_prefix("OFPAT_")).collect()
}

pub(super) async fn add(State(shared): Ctx, body: DictBody) -> Result<(), Problem> {
    entry(&shared, &body.dict(), GroupModCommand::ADD).await
}

pub(super) async fn modify(State(shared): Ctx, body: DictBody) -> Result<(), Problem> {
    entry(&shared, &body.dict(), GroupModCommand::MODIFY).await
}

pub(super) async fn delete(State(shared): Ctx, body: DictBody) -> Result<(), Problem> {
    entry(&shared, &body.dict(), GroupModCommand::DELETE).await
}

async fn entry(shared: &Shared, dict: &Dict<'_>, command: GroupModCommand) -> Result<(), Problem> {
    let switch = AskedSwitch::find(shared, dict.dpid()?)?;
    let group_mod = group_mod(dict, command)?;
    switch.does(shared, Message::GroupMod(group_mod)).await
}

fn group_mod(dict: &Dict<'_>, command: GroupModCommand) -> Result<GroupMod, Problem> {
    let kind = dict.field("type").map_or(Ok("ALL"), |_| dict.text("type"))?;
    let named = TYPES.iter().find(|(name, _)| *name == kind).map(|(_, kind)| *kind);
    let buckets = dict.dicts("buckets")?;
    Ok(GroupMod {
        command,
        kind: named.ok_or_else(|| wrong("type", &kind.into(), "ALL, SELECT, INDIRECT or FF"))?,
        group_id: GroupNo(dict.reserved("group_id", 0, &GROUPS)?),
        buckets: buckets.iter().map(bucket).collect::<Result<_, _>>()?,
    })
}

fn bucket(dict: &Dict<'_>) -> Result<Bucket, Problem> {
    Ok(Bucket {
        weight: dict.number("weight", 0, 0xffff)? as u16,
        watch_port: PortNo(dict.reserved("watch_port", PortNo::ANY.0, &PORTS_13)?),
        watch_group: GroupNo(dict.reserved("watch_group", GroupNo::ANY.0, &GROUPS)?),
        actions: actions(&dict.dicts("actions")?, &Match::new(), Version::V13)?,
    })
}
