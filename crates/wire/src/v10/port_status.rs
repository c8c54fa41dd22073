//! PORT_STATUS (§5.4.3): a port came, went or changed.

use super::PhyPort;
use crate::open::open_enum;
use crate::reader::{Malformed, Reader};
use crate::writer::Writer;

open_enum! {
    /// What happened to the port: `enum ofp_port_reason`.
    pub struct PortReason(u8) "OFPPR_" {
        /// It is new.
        ADD = 0,
        /// It is gone.
        DELETE = 1,
        /// Something about it changed.
        MODIFY = 2,
    }
}

/// `OFPT_PORT_STATUS`: `struct ofp_port_status`, 64 bytes with the header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct PortStatus {
    /// What happened.
    pub reason: PortReason,
    /// The port as it is now.
    pub desc: PhyPort,
}

impl PortStatus {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let reason = PortReason(reader.u8("port_status.reason")?);
        reader.pad("port_status.pad", 7)?;
        Ok(PortStatus { reason, desc: PhyPort::read(reader)? })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.u8(self.reason.0);
        writer.pad(7);
        self.desc.write(writer);
    }
}
