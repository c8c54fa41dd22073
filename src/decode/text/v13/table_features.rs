//! What flow tables can do (OpenFlow 1.3 §7.3.5.5), in words: one property a line.

use super::matching::raw_name;
use crate::decode::text::{hex, text};
use aldis_wire::v13::oxm::OxmId;
use aldis_wire::v13::stats::table_features::ActionId;
use aldis_wire::v13::stats::{TableFeatures, TableProperty};
use std::fmt::{self, Formatter};

/// One table.
pub(super) fn table(f: &mut Formatter<'_>, table: &TableFeatures) -> fmt::Result {
    write!(f, "\n  table {} (\"{}\"):", table.table_id.0, text(table.name.trimmed()))?;
    let (matched, written) = (table.metadata_match, table.metadata_write);
    write!(f, "\n    metadata: match={matched:#x} write={written:#x}")?;
    if table.config.0 != 0 {
        write!(f, "\n    config={:#x}", table.config.0)?;
    }
    write!(f, "\n    max_entries={}", table.max_entries)?;
    table.properties.iter().try_for_each(|one| {
        let (name, miss, words) = property(one);
        let miss = if miss { " (table miss)" } else { "" };
        write!(f, "\n    {name}{miss}: {words}")
    })
}

/// The name of a property, whether it is about packets that match nothing, and what it lists.
fn property(property: &TableProperty) -> (&'static str, bool, String) {
    match property {
        TableProperty::Instructions { miss, ids } => {
            ("instructions", *miss, words(ids, |id| with_rest(id.kind.to_string(), &id.rest)))
        }
        TableProperty::NextTables { miss, tables } => {
            ("next tables", *miss, words(tables, |table| table.0.to_string()))
        }
        TableProperty::WriteActions { miss, ids } => ("write actions", *miss, actions(ids)),
        TableProperty::ApplyActions { miss, ids } => ("apply actions", *miss, actions(ids)),
        TableProperty::Match { ids } => ("match", false, fields(ids)),
        TableProperty::Wildcards { ids } => ("wildcards", false, fields(ids)),
        TableProperty::WriteSetField { miss, ids } => ("write set_field", *miss, fields(ids)),
        TableProperty::ApplySetField { miss, ids } => ("apply set_field", *miss, fields(ids)),
        TableProperty::Experimenter { miss, experimenter, exp_type, body } => {
            ("experimenter", *miss, format!("{experimenter:#010x} type {exp_type} {}", hex(body)))
        }
        TableProperty::Unknown { kind, body } => {
            ("property", false, format!("{kind} {}", hex(body)))
        }
    }
}

fn actions(ids: &[ActionId]) -> String {
    words(ids, |id| with_rest(id.kind.to_string(), &id.rest))
}

fn fields(ids: &[OxmId]) -> String {
    words(ids, |id| {
        let mask = if id.header.has_mask() { "/mask" } else { "" };
        format!("{}{mask}", raw_name(id.header, id.experimenter))
    })
}

fn with_rest(name: String, rest: &[u8]) -> String {
    if rest.is_empty() { name } else { format!("{name}({})", hex(rest)) }
}

fn words<T>(items: &[T], word: impl Fn(&T) -> String) -> String {
    items.iter().map(word).collect::<Vec<_>>().join(" ")
}
