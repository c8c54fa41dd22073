//! `/stats/meter`, `/stats/meterconfig`, `/stats/meterfeatures`, and `/stats/meterentry`.

use aldis_wire::msg::{
    Message, MeterBand, MeterConfig, MeterFlags, MeterMod, MeterModCommand, MeterNo, MeterRequest,
    MeterStats, StatsReplyBody, StatsRequestBody,
};
use aldis_wire::v13::meter_band::{BandEffect, BandType};
use aldis_wire::v13::stats::meter::BandStats;
use axum::extract::State;
use serde_json::{Value, json};

use super::body::{Dict, DictBody, PathParts, wrong};
use super::names::METERS;
use super::switch_request::{AskedSwitch, BySwitch};
use crate::problem::Problem;
use crate::routes::{Ctx, Shared};

/// Bytes of a meter's counters before those of its bands, and of a band's.
const STATS_LEN: usize = 40;
const BAND_LEN: usize = 16;

fn which(at: &PathParts) -> Result<MeterRequest, Problem> {
    let meter_id = at.number("meter_id", &METERS)?.map_or(MeterNo::ALL, MeterNo);
    Ok(MeterRequest { meter_id })
}

pub(super) async fn meter(State(shared): Ctx, at: PathParts) -> BySwitch {
    counted(&shared, AskedSwitch::at(&shared, &at)?, which(&at)?).await
}

/// What meters counted.
///
/// # Errors
/// As [`AskedSwitch::stats`].
pub(super) async fn counted(shared: &Shared, switch: AskedSwitch, which: MeterRequest) -> BySwitch {
    let request = StatsRequestBody::Meter(which);
    let StatsReplyBody::Meter(all) = switch.stats(shared, request).await? else {
        return Err(switch.unasked());
    };
    Ok(switch.shown(all.iter().map(show).collect::<Vec<_>>()))
}

fn show(stats: &MeterStats) -> Value {
    let band = |band: &BandStats| {
        json!({
            "packet_band_count": band.packet_band_count,
            "byte_band_count": band.byte_band_count,
        })
    };
    json!({
        "meter_id": METERS.show(stats.meter_id.0),
        "len": STATS_LEN + BAND_LEN * stats.bands.len(),
        "flow_count": stats.flow_count,
        "packet_in_count": stats.packet_in_count,
        "byte_in_count": stats.byte_in_count,
        "duration_sec": stats.duration_sec,
        "duration_nsec": stats.duration_nsec,
        "band_stats": stats.bands.iter().map(band).collect::<Vec<_>>(),
    })
}

pub(super) async fn config(State(shared): Ctx, at: PathParts) -> BySwitch {
    let switch = AskedSwitch::at(&shared, &at)?;
    let request = StatsRequestBody::MeterConfig(which(&at)?);
    let StatsReplyBody::MeterConfig(all) = switch.stats(&shared, request).await? else {
        return Err(switch.unasked());
    };
    Ok(switch.shown(all.iter().map(show_config).collect::<Vec<_>>()))
}

fn show_config(config: &MeterConfig) -> Value {
    json!({
        "meter_id": METERS.show(config.meter_id.0),
        "flags": flags(config.flags),
        "bands": config.bands.iter().map(show_band).collect::<Vec<_>>(),
    })
}

fn flags(flags: MeterFlags) -> Vec<&'static str> {
    let set = MeterFlags::NAMED.iter().filter(|(flag, _)| flags.contains(*flag));
    set.map(|(_, name)| *name).collect()
}

fn band_type(kind: BandType) -> &'static str {
    kind.name().and_then(|name| name.strip_prefix("OFPMBT_")).unwrap_or("")
}

fn show_band(band: &MeterBand) -> Value {
    let mut shown = json!({
        "type": band_type(band.band_type()),
        "rate": band.rate,
        "burst_size": band.burst_size,
    });
    match &band.effect {
        BandEffect::DscpRemark { prec_level } => shown["prec_level"] = (*prec_level).into(),
        BandEffect::Experimenter { experimenter, .. } => {
            shown["experimenter"] = (*experimenter).into();
        }
        BandEffect::Drop | BandEffect::Unknown { .. } => {}
    }
    shown
}

pub(super) async fn features(State(shared): Ctx, at: PathParts) -> BySwitch {
    let switch = AskedSwitch::at(&shared, &at)?;
    let request = StatsRequestBody::MeterFeatures;
    let StatsReplyBody::MeterFeatures(features) = switch.stats(&shared, request).await? else {
        return Err(switch.unasked());
    };
    let bands = [BandType::DROP, BandType::DSCP_REMARK];
    let bands = bands.into_iter().filter(|kind| features.band_types >> kind.0 & 1 == 1);
    Ok(switch.shown(json!([{
        "max_meter": features.max_meter,
        "band_types": bands.map(band_type).collect::<Vec<_>>(),
        "capabilities": flags(MeterFlags(features.capabilities as u16)),
        "max_bands": features.max_bands,
        "max_color": features.max_color,
    }])))
}

pub(super) async fn add(State(shared): Ctx, body: DictBody) -> Result<(), Problem> {
    entry(&shared, &body.dict(), MeterModCommand::ADD).await
}

pub(super) async fn modify(State(shared): Ctx, body: DictBody) -> Result<(), Problem> {
    entry(&shared, &body.dict(), MeterModCommand::MODIFY).await
}

pub(super) async fn delete(State(shared): Ctx, body: DictBody) -> Result<(), Problem> {
    entry(&shared, &body.dict(), MeterModCommand::DELETE).await
}

async fn entry(shared: &Shared, dict: &Dict<'_>, command: MeterModCommand) -> Result<(), Problem> {
    let switch = AskedSwitch::find(shared, dict.dpid()?)?;
    let meter_mod = meter_mod(dict, command)?;
    switch.does(shared, Message::MeterMod(meter_mod)).await
}

/// A change of a meter.
///
/// # Errors
/// A field that is no value.
pub(super) fn meter_mod(dict: &Dict<'_>, command: MeterModCommand) -> Result<MeterMod, Problem> {
    let said: &[Value] = match dict.field("flags") {
        None => &[],
        Some(Value::Array(all)) => all,
        Some(one) => std::slice::from_ref(one),
    };
    let flag = |value: &Value| {
        let named = MeterFlags::NAMED.iter().find(|(_, name)| value == name);
        let accepted = "KBPS, PKTPS, BURST, STATS";
        named.map(|(flag, _)| *flag).ok_or_else(|| wrong("flags", value, accepted))
    };
    let flags = said.iter().map(flag).collect::<Result<Vec<_>, _>>()?;
    Ok(MeterMod {
        command,
        flags: flags.into_iter().fold(MeterFlags::EMPTY, |all, flag| all | flag),
        meter_id: MeterNo(dict.reserved("meter_id", 0, &METERS)?),
        bands: dict.dicts("bands")?.iter().map(band).collect::<Result<_, _>>()?,
    })
}

fn band(dict: &Dict<'_>) -> Result<MeterBand, Problem> {
    let wide = |key| dict.number(key, 0, u32::MAX.into()).map(|number| number as u32);
    let effect = match dict.text("type")? {
        "DROP" => BandEffect::Drop,
        "DSCP_REMARK" => {
            BandEffect::DscpRemark { prec_level: dict.number("prec_level", 0, 255)? as u8 }
        }
        "EXPERIMENTER" => {
            BandEffect::Experimenter { experimenter: wide("experimenter")?, body: vec![] }
        }
        other => {
            let accepted = "DROP, DSCP_REMARK or EXPERIMENTER";
            return Err(wrong(&dict.named("type"), &other.into(), accepted));
        }
    };
    Ok(MeterBand { rate: wide("rate")?, burst_size: wide("burst_size")?, effect })
}
