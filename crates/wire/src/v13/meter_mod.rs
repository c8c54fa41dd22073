//! `OFPT_METER_MOD` (§7.3.4.4): adds, changes and removes meters.

use super::list;
use super::meter_band::MeterBand;
use crate::open::{flags, open_enum};
use crate::reader::{Malformed, Reader};
use crate::writer::Writer;
use alloc::vec::Vec;

/// A change to one meter, or to all.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct MeterMod {
    /// What to do.
    pub command: MeterModCommand,
    /// How it measures.
    pub flags: MeterFlags,
    /// Which meter.
    pub meter_id: MeterNo,
    /// Its bands; the one of the highest rate below that measured acts.
    pub bands: Vec<MeterBand>,
}

open_enum! {
    /// The number of a meter, from 1; those above [`MeterNo::MAX`] stand for something (`OFPM_*`).
    pub struct MeterNo(u32) "" {
        /// The meter of the slow path.
        SLOWPATH = 0xffff_fffd,
        /// The meter of the connection to the controller.
        CONTROLLER = 0xffff_fffe,
        /// Every meter.
        ALL = 0xffff_ffff,
    }
}

impl MeterNo {
    /// The last number that a meter can have (`OFPM_MAX`).
    pub const MAX: MeterNo = MeterNo(0xffff_0000);
}

open_enum! {
    /// `OFPMC_*`: what to do with a meter.
    pub struct MeterModCommand(u16) "OFPMC_" {
        /// Add it; an error where it exists.
        ADD = 0,
        /// Change it; an error where it does not exist.
        MODIFY = 1,
        /// Remove it.
        DELETE = 2,
    }
}

flags! {
    /// `OFPMF_*`: how a meter measures.
    pub struct MeterFlags(u16) {
        /// Rates in kb/s.
        KBPS = 1 << 0,
        /// Rates in packets a second.
        PKTPS = 1 << 1,
        /// Bursts count.
        BURST = 1 << 2,
        /// Collect statistics.
        STATS = 1 << 3,
    }
}

impl MeterMod {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<MeterMod, Malformed> {
        Ok(MeterMod {
            command: MeterModCommand(reader.u16("meter_mod.command")?),
            flags: MeterFlags(reader.u16("meter_mod.flags")?),
            meter_id: MeterNo(reader.u32("meter_mod.meter_id")?),
            bands: list(reader, MeterBand::read)?,
        })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.u16(self.command.0);
        writer.u16(self.flags.0);
        writer.u32(self.meter_id.0);
        self.bands.iter().for_each(|band| band.write(writer));
    }
}
