//! `/stats/desc`, `/stats/table`, `/stats/tablefeatures`.

use aldis_wire::Version;
use aldis_wire::msg::{
    Exact, Message, StatsReplyBody, StatsRequest, StatsRequestBody, TableFeatures, TableProperty,
};
use aldis_wire::v10;
use aldis_wire::v13::oxm::OxmId;
use axum::extract::State;
use serde_json::{Value, json};

use super::body::PathParts;
use super::names::{TABLES, table as table_no};
use super::switch_request::{AskedSwitch, BySwitch};
use crate::problem::Problem;
use crate::routes::{Ctx, Shared};

pub(super) async fn desc(State(shared): Ctx, at: PathParts) -> BySwitch {
    let switch = AskedSwitch::at(&shared, &at)?;
    let StatsReplyBody::Desc(desc) = switch.stats(&shared, StatsRequestBody::Desc).await? else {
        return Err(switch.unasked());
    };
    Ok(switch.shown(json!({
        "mfr_desc": desc.mfr_desc.to_string(),
        "hw_desc": desc.hw_desc.to_string(),
        "sw_desc": desc.sw_desc.to_string(),
        "serial_num": desc.serial_num.to_string(),
        "dp_desc": desc.dp_desc.to_string(),
    })))
}

pub(super) async fn table(State(shared): Ctx, at: PathParts) -> BySwitch {
    let switch = AskedSwitch::at(&shared, &at)?;
    if switch.version == Version::V10 {
        return Ok(switch.shown(tables_10(&shared, switch).await?));
    }
    let StatsReplyBody::Table(tables) = switch.stats(&shared, StatsRequestBody::Table).await?
    else {
        return Err(switch.unasked());
    };
    let show = |stats: &aldis_wire::msg::TableStats| {
        json!({
            "table_id": table_no(stats.table_id),
            "active_count": stats.active_count,
            "lookup_count": stats.lookup_count,
            "matched_count": stats.matched_count,
        })
    };
    Ok(switch.shown(tables.iter().map(show).collect::<Vec<_>>()))
}

/// 1.0 says more of a table than the common words can.
async fn tables_10(shared: &Shared, switch: AskedSwitch) -> Result<Vec<Value>, Problem> {
    let request = Message::StatsRequest(StatsRequest::new(StatsRequestBody::Table));
    let reply = switch.reply(shared, request).await?;
    let mut tables = vec![];
    for part in reply.exact() {
        match part.map_err(|why| switch.unreadable(why))? {
            Message::Other(Exact::V10(exact)) => match *exact {
                v10::Message::StatsReply(v10::StatsReply {
                    body: v10::StatsReplyBody::Table(part),
                    ..
                }) => tables.extend(part.iter().map(show_10)),
                _ => return Err(switch.unasked()),
            },
            // A list without a table is said alike in every version.
            Message::StatsReply(_) => {}
            _ => return Err(switch.unasked()),
        }
    }
    Ok(tables)
}

fn show_10(stats: &v10::stats::TableStats) -> Value {
    let addresses =
        [(v10::Wildcards::NW_SRC_ALL, "NW_SRC_ALL"), (v10::Wildcards::NW_DST_ALL, "NW_DST_ALL")];
    let all = v10::Wildcards::FLAGS.iter().chain(&addresses);
    let wildcards = all.filter(|(flag, _)| stats.wildcards.contains(*flag));
    json!({
        "table_id": TABLES.show(stats.table_id.into()),
        "name": stats.name.to_string(),
        "wildcards": wildcards.map(|(_, name)| *name).collect::<Vec<_>>(),
        "max_entries": stats.max_entries,
        "active_count": stats.active_count,
        "lookup_count": stats.lookup_count,
        "matched_count": stats.matched_count,
    })
}

pub(super) async fn features(State(shared): Ctx, at: PathParts) -> BySwitch {
    let switch = AskedSwitch::at(&shared, &at)?;
    let request = StatsRequestBody::TableFeatures(vec![]);
    let StatsReplyBody::TableFeatures(tables) = switch.stats(&shared, request).await? else {
        return Err(switch.unasked());
    };
    let show = |features: &TableFeatures| {
        json!({
            "table_id": table_no(features.table_id),
            "name": features.name.to_string(),
            "metadata_match": features.metadata_match,
            "metadata_write": features.metadata_write,
            "config": features.config.0,
            "max_entries": features.max_entries,
            "properties": features.properties.iter().map(property).collect::<Vec<_>>(),
        })
    };
    Ok(switch.shown(tables.iter().map(show).collect::<Vec<_>>()))
}

fn property(property: &TableProperty) -> Value {
    let name = property.property_type().name().and_then(|name| name.strip_prefix("OFPTFPT_"));
    let mut shown = json!({ "type": name.unwrap_or("UNKNOWN") });
    let id = |kind: u16, rest: &[u8]| json!({ "len": rest.len() + 4, "type": kind });
    match property {
        TableProperty::Instructions { ids, .. } => {
            let ids = ids.iter().map(|one| id(one.kind.0, &one.rest));
            shown["instruction_ids"] = ids.collect::<Vec<_>>().into();
        }
        TableProperty::NextTables { tables, .. } => {
            shown["table_ids"] = tables.iter().map(|table| table.0).collect::<Vec<_>>().into();
        }
        TableProperty::WriteActions { ids, .. } | TableProperty::ApplyActions { ids, .. } => {
            let ids = ids.iter().map(|one| id(one.kind.0, &one.rest));
            shown["action_ids"] = ids.collect::<Vec<_>>().into();
        }
        TableProperty::Match { ids }
        | TableProperty::Wildcards { ids }
        | TableProperty::WriteSetField { ids, .. }
        | TableProperty::ApplySetField { ids, .. } => {
            shown["oxm_ids"] = ids.iter().map(oxm).collect::<Vec<_>>().into();
        }
        TableProperty::Experimenter { .. } | TableProperty::Unknown { .. } => {}
    }
    shown
}

fn oxm(id: &OxmId) -> Value {
    let name = id.header.name().and_then(|name| name.strip_prefix("OFPXMT_OFB_"));
    let name = name.map(str::to_ascii_lowercase);
    json!({
        "hasmask": u8::from(id.header.has_mask()),
        "length": id.header.length(),
        "type": name.unwrap_or_else(|| format!("field_{}", id.header.0 >> 9)),
    })
}
