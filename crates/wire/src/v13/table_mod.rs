//! `OFPT_TABLE_MOD` (§7.3.3): the configuration of a flow table, of which nothing is left in this
//! version.

use crate::open::{flags, open_enum};
use crate::reader::{Malformed, Reader};
use crate::writer::Writer;

/// A change to one table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct TableMod {
    /// Which table, or [`TableNo::ALL`].
    pub table_id: TableNo,
    /// Its configuration.
    pub config: TableConfig,
}

open_enum! {
    /// The number of a flow table; the last one stands for all (`OFPTT_*`).
    pub struct TableNo(u8) "" {
        /// Every table.
        ALL = 0xff,
    }
}

impl TableNo {
    /// The last number that a table can have (`OFPTT_MAX`).
    pub const MAX: TableNo = TableNo(0xfe);
}

flags! {
    /// `OFPTC_*`: the configuration of a table.
    pub struct TableConfig(u32) {
        /// Bits that meant something in versions before.
        DEPRECATED_MASK = 3,
    }
}

impl TableMod {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<TableMod, Malformed> {
        let table_id = TableNo(reader.u8("table_mod.table_id")?);
        reader.pad("table_mod.pad", 3)?;
        Ok(TableMod { table_id, config: TableConfig(reader.u32("table_mod.config")?) })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.u8(self.table_id.0);
        writer.pad(3);
        writer.u32(self.config.0);
    }
}
