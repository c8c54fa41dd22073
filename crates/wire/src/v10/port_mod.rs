//! PORT_MOD (§5.3.3, "Modify port"): changes a port's behaviour.

use super::{PortConfig, PortFeatures, PortNo};
use crate::reader::{Malformed, Reader};
use crate::types::MacAddr;
use crate::writer::Writer;

/// `OFPT_PORT_MOD`: `struct ofp_port_mod`, 32 bytes with the header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct PortMod {
    /// The port.
    pub port_no: PortNo,
    /// Its address: not to be changed, but checked by the switch.
    pub hw_addr: MacAddr,
    /// The configuration wanted.
    pub config: PortConfig,
    /// Which bits of it to change.
    pub mask: PortConfig,
    /// Features to advertise; none to leave them as they are.
    pub advertise: PortFeatures,
}

impl PortMod {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let port_mod = PortMod {
            port_no: PortNo(reader.u16("port_mod.port_no")?),
            hw_addr: MacAddr(reader.array("port_mod.hw_addr")?),
            config: PortConfig(reader.u32("port_mod.config")?),
            mask: PortConfig(reader.u32("port_mod.mask")?),
            advertise: PortFeatures(reader.u32("port_mod.advertise")?),
        };
        reader.pad("port_mod.pad", 4)?;
        Ok(port_mod)
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.u16(self.port_no.0);
        writer.bytes(&self.hw_addr.0);
        writer.u32(self.config.0);
        writer.u32(self.mask.0);
        writer.u32(self.advertise.0);
        writer.pad(4);
    }
}
