//! `OFPT_PORT_STATUS` (§7.4.3): a port came, went or changed.

use super::port::Port;
use crate::open::open_enum;
use crate::reader::{Malformed, Reader};
use crate::writer::Writer;

/// What happened to a port, and how it is now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct PortStatus {
    /// What happened.
    pub reason: PortReason,
    /// The port, as it is now.
    pub desc: Port,
}

open_enum! {
    /// `OFPPR_*`: what happened to a port.
    pub struct PortReason(u8) "OFPPR_" {
        /// It was added.
        ADD = 0,
        /// It was removed.
        DELETE = 1,
        /// Something about it changed.
        MODIFY = 2,
    }
}

impl PortStatus {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<PortStatus, Malformed> {
        let reason = PortReason(reader.u8("port_status.reason")?);
        reader.pad("port_status.pad", 7)?;
        Ok(PortStatus { reason, desc: Port::read(reader)? })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.u8(self.reason.0);
        writer.pad(7);
        self.desc.write(writer);
    }
}
