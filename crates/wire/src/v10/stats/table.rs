//! `OFPST_TABLE`: the tables of a switch.

use crate::reader::{Malformed, Reader};
use crate::types::FixedText;
use crate::v10::Wildcards;
use crate::writer::Writer;

/// `struct ofp_table_stats`, 64 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct TableStats {
    /// Its number; lower tables are asked first.
    pub table_id: u8,
    /// Its name.
    pub name: FixedText<32>,
    /// The wildcards that it can do.
    pub wildcards: Wildcards,
    /// How many flows fit.
    pub max_entries: u32,
    /// How many there are.
    pub active_count: u32,
    /// Packets looked up.
    pub lookup_count: u64,
    /// Packets that matched.
    pub matched_count: u64,
}

impl TableStats {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let table_id = reader.u8("table_stats.table_id")?;
        reader.pad("table_stats.pad", 3)?;
        Ok(TableStats {
            table_id,
            name: FixedText(reader.array("table_stats.name")?),
            wildcards: Wildcards(reader.u32("table_stats.wildcards")?),
            max_entries: reader.u32("table_stats.max_entries")?,
            active_count: reader.u32("table_stats.active_count")?,
            lookup_count: reader.u64("table_stats.lookup_count")?,
            matched_count: reader.u64("table_stats.matched_count")?,
        })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.u8(self.table_id);
        writer.pad(3);
        writer.bytes(&self.name.0);
        writer.u32(self.wildcards.0);
        writer.u32(self.max_entries);
        writer.u32(self.active_count);
        writer.u64(self.lookup_count);
        writer.u64(self.matched_count);
    }
}
