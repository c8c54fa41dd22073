//! `OFPMP_TABLE` (§7.3.5.4): the counters of flow tables.

use crate::reader::{Malformed, Reader};
use crate::v13::table_mod::TableNo;
use crate::writer::Writer;

/// The counters of one table. The request has no body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct TableStats {
    /// Which table.
    pub table_id: TableNo,
    /// How many flows it has.
    pub active_count: u32,
    /// Packets looked up in it.
    pub lookup_count: u64,
    /// Packets that matched.
    pub matched_count: u64,
}

impl TableStats {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<TableStats, Malformed> {
        let table_id = TableNo(reader.u8("table_stats.table_id")?);
        reader.pad("table_stats.pad", 3)?;
        Ok(TableStats {
            table_id,
            active_count: reader.u32("table_stats.active_count")?,
            lookup_count: reader.u64("table_stats.lookup_count")?,
            matched_count: reader.u64("table_stats.matched_count")?,
        })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.u8(self.table_id.0);
        writer.pad(3);
        writer.u32(self.active_count);
        writer.u64(self.lookup_count);
        writer.u64(self.matched_count);
    }
}
