//! Meter bands (§7.3.4.4): from which rate on a meter does what.

use super::tlv;
use crate::open::open_enum;
use crate::reader::{Malformed, Reader, Reason};
use crate::writer::Writer;
use alloc::vec::Vec;

/// One band of a meter.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct MeterBand {
    /// The rate from which on it acts, in kb/s or packets a second as the meter says.
    pub rate: u32,
    /// How long a burst may be, in kilobits or packets, where the meter asks for it.
    pub burst_size: u32,
    /// What it does.
    pub effect: BandEffect,
}

/// What a band does with packets above its rate.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub enum BandEffect {
    /// Drops them.
    Drop,
    /// Raises the drop precedence in their DSCP.
    DscpRemark {
        /// By how much.
        prec_level: u8,
    },
    /// What the experimenter defines.
    Experimenter {
        /// Whose.
        experimenter: u32,
        /// The rest.
        body: Vec<u8>,
    },
    /// Of a type that this version does not name.
    Unknown {
        /// Its type.
        kind: BandType,
        /// What follows the burst size.
        body: Vec<u8>,
    },
}

open_enum! {
    /// `OFPMBT_*`: the type of a band.
    pub struct BandType(u16) "OFPMBT_" {
        /// Drops.
        DROP = 1,
        /// Raises the drop precedence.
        DSCP_REMARK = 2,
        /// An experimenter's.
        EXPERIMENTER = 0xffff,
    }
}

impl MeterBand {
    /// Its type.
    pub fn band_type(&self) -> BandType {
        match &self.effect {
            BandEffect::Drop => BandType::DROP,
            BandEffect::DscpRemark { .. } => BandType::DSCP_REMARK,
            BandEffect::Experimenter { .. } => BandType::EXPERIMENTER,
            BandEffect::Unknown { kind, .. } => *kind,
        }
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<MeterBand, Malformed> {
        let (kind, mut body) = tlv(reader, "meter_band.len", 12)?;
        let rate = body.u32("meter_band.rate")?;
        let burst_size = body.u32("meter_band.burst_size")?;
        let effect = BandEffect::read(BandType(kind), &mut body)?;
        body.end("meter_band.len").map_err(|e| Malformed { reason: Reason::BadLength, ..e })?;
        Ok(MeterBand { rate, burst_size, effect })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        let open = writer.open_u16(2);
        writer.u16(self.band_type().0);
        writer.u16(0);
        writer.u32(self.rate);
        writer.u32(self.burst_size);
        match &self.effect {
            BandEffect::Drop => writer.pad(4),
            BandEffect::DscpRemark { prec_level } => {
                writer.u8(*prec_level);
                writer.pad(3);
            }
            BandEffect::Experimenter { experimenter, body } => {
                writer.u32(*experimenter);
                writer.bytes(body);
            }
            BandEffect::Unknown { body, .. } => writer.bytes(body),
        }
        writer.close(open);
    }
}

impl BandEffect {
    fn read(kind: BandType, body: &mut Reader<'_>) -> Result<BandEffect, Malformed> {
        Ok(match kind {
            BandType::DROP => {
                body.pad("meter_band_drop.pad", 4)?;
                BandEffect::Drop
            }
            BandType::DSCP_REMARK => {
                let prec_level = body.u8("meter_band_dscp_remark.prec_level")?;
                body.pad("meter_band_dscp_remark.pad", 3)?;
                BandEffect::DscpRemark { prec_level }
            }
            BandType::EXPERIMENTER => BandEffect::Experimenter {
                experimenter: body.u32("meter_band_experimenter.experimenter")?,
                body: body.remaining().to_vec(),
            },
            _ => BandEffect::Unknown { kind, body: body.remaining().to_vec() },
        })
    }
}
