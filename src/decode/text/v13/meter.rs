//! Meters of OpenFlow 1.3 in words.

use crate::decode::text::port::flags;
use crate::decode::text::{counter, duration, hex};
use aldis_wire::v13::meter_band::BandEffect;
use aldis_wire::v13::meter_mod::MeterFlags;
use aldis_wire::v13::stats::{MeterConfig, MeterFeatures, MeterStats};
use aldis_wire::v13::{MeterBand, MeterMod, MeterNo};
use std::fmt::{self, Display, Formatter};

const FLAGS: &[(u32, &str)] = &[(1, "kbps"), (2, "pktps"), (4, "burst"), (8, "stats")];

/// METER_MOD, behind its title.
pub(super) fn meter_mod(f: &mut Formatter<'_>, message: &MeterMod) -> fmt::Result {
    match message.command.0 {
        0 => f.write_str(" ADD ")?,
        1 => f.write_str(" MOD ")?,
        2 => f.write_str(" DEL ")?,
        other => write!(f, " cmd:{other} ")?,
    }
    described(f, message.meter_id, message.flags, &message.bands)
}

/// One meter of a description.
pub(super) fn config(f: &mut Formatter<'_>, meter: &MeterConfig) -> fmt::Result {
    f.write_str("\n")?;
    described(f, meter.meter_id, meter.flags, &meter.bands)
}

/// A meter by its number, or its name.
pub(super) fn number(meter: MeterNo) -> impl Display {
    fmt::from_fn(move |f| match meter {
        MeterNo::ALL => f.write_str("all"),
        MeterNo::CONTROLLER => f.write_str("controller"),
        MeterNo::SLOWPATH => f.write_str("slowpath"),
        MeterNo(number) => write!(f, "{number}"),
    })
}

fn described(
    f: &mut Formatter<'_>,
    meter: MeterNo,
    meter_flags: MeterFlags,
    bands: &[MeterBand],
) -> fmt::Result {
    write!(f, "meter={} ", number(meter))?;
    if meter_flags != MeterFlags::EMPTY {
        write!(f, "{} ", flags(meter_flags.0.into(), FLAGS, ""))?;
    }
    f.write_str("bands=")?;
    bands.iter().try_for_each(|one| band(f, one))
}

fn band(f: &mut Formatter<'_>, band: &MeterBand) -> fmt::Result {
    match &band.effect {
        BandEffect::Drop => f.write_str("\ntype=drop")?,
        BandEffect::DscpRemark { .. } => f.write_str("\ntype=dscp_remark")?,
        BandEffect::Experimenter { experimenter, body } => {
            write!(f, "\ntype=experimenter({experimenter:#010x},{})", hex(body))?;
        }
        BandEffect::Unknown { kind, body } => write!(f, "\ntype={kind}({})", hex(body))?,
    }
    write!(f, " rate={}", band.rate)?;
    if band.burst_size != 0 {
        write!(f, " burst_size={}", band.burst_size)?;
    }
    match band.effect {
        BandEffect::DscpRemark { prec_level } => write!(f, " prec_level={prec_level}"),
        _ => Ok(()),
    }
}

/// The counters of one meter.
pub(super) fn stats(f: &mut Formatter<'_>, meter: &MeterStats) -> fmt::Result {
    write!(f, "\nmeter:{} flow_count:{}", number(meter.meter_id), meter.flow_count)?;
    write!(f, " packet_in_count:{}", counter(meter.packet_in_count))?;
    write!(f, " byte_in_count:{}", counter(meter.byte_in_count))?;
    write!(f, " duration:{} bands:", duration(meter.duration_sec, meter.duration_nsec))?;
    meter.bands.iter().enumerate().try_for_each(|(at, band)| {
        write!(f, "\n{at}: packet_count:{}", counter(band.packet_band_count))?;
        write!(f, " byte_count:{}", counter(band.byte_band_count))
    })
}

/// What meters can do.
pub(super) fn features(f: &mut Formatter<'_>, features: &MeterFeatures) -> fmt::Result {
    const BANDS: &[(u32, &str)] = &[(1 << 1, "drop"), (1 << 2, "dscp_remark")];
    let (meters, bands, colors) = (features.max_meter, features.max_bands, features.max_color);
    write!(f, "\nmax_meter:{meters} max_bands:{bands} max_color:{colors}")?;
    write!(f, "\nband_types: {}", flags(features.band_types, BANDS, "0"))?;
    write!(f, "\ncapabilities: {}", flags(features.capabilities, FLAGS, "0"))
}
