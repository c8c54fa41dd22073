//! `OFPT_FEATURES_REPLY` (§7.3.1): what the switch is and can do. The request has no body.

use crate::open::flags;
use crate::reader::{Malformed, Reader};
use crate::types::DatapathId;
use crate::writer::Writer;

/// What the switch says of itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct FeaturesReply {
    /// Its name: usually a MAC address in the lower 48 bits.
    pub datapath_id: DatapathId,
    /// How many packets it can hold back at once.
    pub n_buffers: u32,
    /// How many flow tables it has, numbered from 0.
    pub n_tables: u8,
    /// 0 on the main connection; otherwise which auxiliary one this is.
    pub auxiliary_id: u8,
    /// What it supports.
    pub capabilities: Capabilities,
    /// Without meaning in this version.
    pub reserved: u32,
}

flags! {
    /// `OFPC_*`: what a datapath supports.
    pub struct Capabilities(u32) {
        /// Flow statistics.
        FLOW_STATS = 1 << 0,
        /// Table statistics.
        TABLE_STATS = 1 << 1,
        /// Port statistics.
        PORT_STATS = 1 << 2,
        /// Group statistics.
        GROUP_STATS = 1 << 3,
        /// Can reassemble IP fragments.
        IP_REASM = 1 << 5,
        /// Queue statistics.
        QUEUE_STATS = 1 << 6,
        /// Will itself block looping ports.
        PORT_BLOCKED = 1 << 8,
    }
}

impl FeaturesReply {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<FeaturesReply, Malformed> {
        let datapath_id = DatapathId(reader.u64("features.datapath_id")?);
        let n_buffers = reader.u32("features.n_buffers")?;
        let n_tables = reader.u8("features.n_tables")?;
        let auxiliary_id = reader.u8("features.auxiliary_id")?;
        reader.pad("features.pad", 2)?;
        let capabilities = Capabilities(reader.u32("features.capabilities")?);
        let reserved = reader.u32("features.reserved")?;
        Ok(FeaturesReply { datapath_id, n_buffers, n_tables, auxiliary_id, capabilities, reserved })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.u64(self.datapath_id.0);
        writer.u32(self.n_buffers);
        writer.u8(self.n_tables);
        writer.u8(self.auxiliary_id);
        writer.pad(2);
        writer.u32(self.capabilities.0);
        writer.u32(self.reserved);
    }
}
