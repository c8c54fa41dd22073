//! `OFPT_GET_ASYNC_REPLY` and `OFPT_SET_ASYNC` (§7.3.10): which events the switch tells this
//! controller.

use crate::reader::{Malformed, Reader};
use crate::writer::Writer;

/// One bit for each reason, numbered as the reason is, for either kind of role.
///
/// The request for it is a message without a body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct AsyncConfig {
    /// Reasons of [`PacketIn`](super::PacketIn)s.
    pub packet_in: AsyncMasks,
    /// Reasons of [`PortStatus`](super::PortStatus)es.
    pub port_status: AsyncMasks,
    /// Reasons of [`FlowRemoved`](super::FlowRemoved)s.
    pub flow_removed: AsyncMasks,
}

/// Bit `n` set: the message is sent for reason `n`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct AsyncMasks {
    /// While the controller is master or equal.
    pub master: u32,
    /// While it is slave.
    pub slave: u32,
}

impl AsyncConfig {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<AsyncConfig, Malformed> {
        Ok(AsyncConfig {
            packet_in: AsyncMasks::read(reader, "async_config.packet_in_mask")?,
            port_status: AsyncMasks::read(reader, "async_config.port_status_mask")?,
            flow_removed: AsyncMasks::read(reader, "async_config.flow_removed_mask")?,
        })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        for masks in [self.packet_in, self.port_status, self.flow_removed] {
            writer.u32(masks.master);
            writer.u32(masks.slave);
        }
    }
}

impl AsyncMasks {
    fn read(reader: &mut Reader<'_>, field: &'static str) -> Result<AsyncMasks, Malformed> {
        Ok(AsyncMasks { master: reader.u32(field)?, slave: reader.u32(field)? })
    }
}
