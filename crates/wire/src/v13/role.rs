//! `OFPT_ROLE_REQUEST` and `OFPT_ROLE_REPLY` (§7.3.9): which of several controllers is in charge.

use crate::open::open_enum;
use crate::reader::{Malformed, Reader};
use crate::writer::Writer;

/// A role asked for, or the role that is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct RoleMessage {
    /// The role.
    pub role: Role,
    /// The mastership's generation: a request with an older one than the switch has seen is refused
    /// as stale.
    pub generation_id: u64,
}

open_enum! {
    /// `OFPCR_ROLE_*`: the role of a controller.
    pub struct Role(u32) "OFPCR_ROLE_" {
        /// As it was: asks for the role without changing it.
        NOCHANGE = 0,
        /// Full access, shared with others; how every connection begins.
        EQUAL = 1,
        /// Full access, and the only one to have it.
        MASTER = 2,
        /// Reads only.
        SLAVE = 3,
    }
}

impl RoleMessage {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<RoleMessage, Malformed> {
        let role = Role(reader.u32("role.role")?);
        reader.pad("role.pad", 4)?;
        Ok(RoleMessage { role, generation_id: reader.u64("role.generation_id")? })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.u32(self.role.0);
        writer.pad(4);
        writer.u64(self.generation_id);
    }
}
