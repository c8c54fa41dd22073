//! GET_CONFIG_REPLY and SET_CONFIG (§5.3.2).

use crate::open::open_enum;
use crate::reader::{Malformed, Reader};
use crate::writer::Writer;

open_enum! {
    /// What the switch does with IP fragments: `enum ofp_config_flags`, whose two bits are a choice
    /// of one.
    pub struct ConfigFlags(u16) "OFPC_" {
        /// Nothing special.
        FRAG_NORMAL = 0,
        /// Drop them.
        FRAG_DROP = 1,
        /// Reassemble them, where the switch is capable of it.
        FRAG_REASM = 2,
    }
}

/// `OFPT_GET_CONFIG_REPLY` or `OFPT_SET_CONFIG`: `struct ofp_switch_config`, 12 bytes with the
/// header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct SwitchConfig {
    /// Fragment handling.
    pub flags: ConfigFlags,
    /// The most bytes of an unmatched frame that a PACKET_IN carries when the switch buffers the
    /// rest; 0xffff for all.
    pub miss_send_len: u16,
}

impl SwitchConfig {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(SwitchConfig {
            flags: ConfigFlags(reader.u16("switch_config.flags")?),
            miss_send_len: reader.u16("switch_config.miss_send_len")?,
        })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.u16(self.flags.0);
        writer.u16(self.miss_send_len);
    }
}
