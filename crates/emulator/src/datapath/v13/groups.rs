//! GROUP_MOD.

use super::read;
use crate::datapath::bounds::{BUCKETS_MAX, GROUPS_MAX};
use crate::datapath::fields::Pattern;
use crate::datapath::flow::{FlowCounters, Reason};
use crate::datapath::group::{Bucket, Group};
use crate::datapath::tables::Filter;
use crate::datapath::{Datapath, Sink};
use aldis_wire::v13::bucket::{self, GroupNo};
use aldis_wire::v13::error::{ErrorCode, GroupModFailedCode};
use aldis_wire::v13::group_mod::{GroupMod, GroupModCommand, GroupType};
use std::time::Duration;

fn wrong<T>(code: GroupModFailedCode) -> Result<T, ErrorCode> {
    Err(ErrorCode::GroupModFailed(code))
}

pub(super) fn change(
    switch: &mut Datapath,
    group_mod: GroupMod,
    now: Duration,
    out: &mut impl Sink,
) -> Result<(), ErrorCode> {
    let id = group_mod.group_id;
    let exists = switch.world.groups.0.contains_key(&id.0);
    match group_mod.command {
        GroupModCommand::DELETE => {
            delete(switch, id, now, out);
            Ok(())
        }
        GroupModCommand::ADD | GroupModCommand::MODIFY if id.0 > GroupNo::MAX.0 => {
            wrong(GroupModFailedCode::INVALID_GROUP)
        }
        GroupModCommand::ADD if exists => wrong(GroupModFailedCode::GROUP_EXISTS),
        GroupModCommand::ADD if switch.world.groups.0.len() >= GROUPS_MAX => {
            wrong(GroupModFailedCode::OUT_OF_GROUPS)
        }
        GroupModCommand::MODIFY if !exists => wrong(GroupModFailedCode::UNKNOWN_GROUP),
        GroupModCommand::ADD | GroupModCommand::MODIFY => {
            let buckets = buckets(switch, &group_mod)?;
            let group = Group {
                kind: group_mod.kind,
                buckets,
                created: now,
                counters: FlowCounters::default(),
            };
            replace(switch, id, group);
            Ok(())
        }
        _ => wrong(GroupModFailedCode::BAD_COMMAND),
    }
}

/// A changed group keeps its age and what it counted; its buckets begin anew.
fn replace(switch: &mut Datapath, id: GroupNo, mut group: Group) {
    if let Some(old) = switch.world.groups.0.get(&id.0) {
        group.created = old.created;
        group.counters = old.counters;
    }
    switch.world.groups.0.insert(id.0, group);
}

fn buckets(switch: &Datapath, group_mod: &GroupMod) -> Result<Vec<Bucket>, ErrorCode> {
    let said = &group_mod.buckets;
    if said.len() > BUCKETS_MAX {
        return wrong(GroupModFailedCode::OUT_OF_BUCKETS);
    }
    match group_mod.kind {
        GroupType::ALL | GroupType::SELECT => {}
        GroupType::INDIRECT if said.len() == 1 => {}
        GroupType::INDIRECT => return wrong(GroupModFailedCode::INVALID_GROUP),
        GroupType::FF if said.iter().all(watches) => {}
        GroupType::FF => return wrong(GroupModFailedCode::INVALID_GROUP),
        _ => return wrong(GroupModFailedCode::BAD_TYPE),
    }
    let bucket = |said: &bucket::Bucket| {
        let actions = read::bucket_actions(switch, &said.actions)?.into();
        Ok(Bucket { said: said.clone(), actions, counters: FlowCounters::default() })
    };
    said.iter().map(bucket).collect()
}

/// Whether it watches a port or a group.
fn watches(bucket: &bucket::Bucket) -> bool {
    use aldis_wire::v13::port::PortNo;
    bucket.watch_port != PortNo::ANY || bucket.watch_group != GroupNo::ANY
}

/// Removes a group, or all, and the flows that lead there.
fn delete(switch: &mut Datapath, id: GroupNo, now: Duration, out: &mut impl Sink) {
    let ids: Vec<u32> = match id {
        GroupNo::ALL => switch.world.groups.0.keys().copied().collect(),
        _ => switch.world.groups.0.contains_key(&id.0).then_some(id.0).into_iter().collect(),
    };
    for id in ids {
        switch.world.groups.0.remove(&id);
        let filter = Filter {
            table: None,
            pattern: Pattern::ANY,
            strict: None,
            out_port: None,
            out_group: Some(id),
            cookie: 0,
            cookie_mask: 0,
        };
        let found = switch.tables.find(&filter);
        for removed in switch.tables.remove(&found, Reason::GROUP_DELETE) {
            switch.tell_removed(&removed, now, out);
        }
    }
}
