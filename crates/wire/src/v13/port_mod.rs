//! `OFPT_PORT_MOD` (§7.3.4.3): changes the behaviour of a port.

use super::port::{PortConfig, PortFeatures, PortNo};
use crate::reader::{Malformed, Reader};
use crate::types::MacAddr;
use crate::writer::Writer;

/// A change to one port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct PortMod {
    /// Which port.
    pub port_no: PortNo,
    /// Its address, which must be the one the switch told: a check against changing the wrong port.
    pub hw_addr: MacAddr,
    /// The new configuration, of which the bits in `mask` count.
    pub config: PortConfig,
    /// The bits to change.
    pub mask: PortConfig,
    /// What to advertise to the peer; empty leaves it as it is.
    pub advertise: PortFeatures,
}

impl PortMod {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<PortMod, Malformed> {
        let port_no = PortNo(reader.u32("port_mod.port_no")?);
        reader.pad("port_mod.pad", 4)?;
        let hw_addr = MacAddr(reader.array("port_mod.hw_addr")?);
        reader.pad("port_mod.pad2", 2)?;
        let config = PortConfig(reader.u32("port_mod.config")?);
        let mask = PortConfig(reader.u32("port_mod.mask")?);
        let advertise = PortFeatures(reader.u32("port_mod.advertise")?);
        reader.pad("port_mod.pad3", 4)?;
        Ok(PortMod { port_no, hw_addr, config, mask, advertise })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.u32(self.port_no.0);
        writer.pad(4);
        writer.bytes(&self.hw_addr.0);
        writer.pad(2);
        writer.u32(self.config.0);
        writer.u32(self.mask.0);
        writer.u32(self.advertise.0);
        writer.pad(4);
    }
}
