//! `OFPT_GET_CONFIG_REPLY` and `OFPT_SET_CONFIG` (§7.3.2): how the switch treats fragments and
//! table misses.

use crate::open::open_enum;
use crate::reader::{Malformed, Reader};
use crate::writer::Writer;

/// The configuration of a switch. Asking for it is a message without a body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct SwitchConfig {
    /// What happens to IP fragments.
    pub flags: ConfigFlags,
    /// How much of a packet goes to the controller, in bytes, where no action says it:
    /// `OFPCML_NO_BUFFER` (0xffff) for whole packets.
    pub miss_send_len: u16,
}

open_enum! {
    /// `OFPC_FRAG_*`: the treatment of fragments, two bits that exclude each other; the others have
    /// no meaning.
    pub struct ConfigFlags(u16) "OFPC_FRAG_" {
        /// No special treatment.
        NORMAL = 0,
        /// Drop fragments.
        DROP = 1,
        /// Reassemble, where `OFPC_IP_REASM` is among the capabilities.
        REASM = 2,
        /// The bits that say the treatment.
        MASK = 3,
    }
}

impl SwitchConfig {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<SwitchConfig, Malformed> {
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
