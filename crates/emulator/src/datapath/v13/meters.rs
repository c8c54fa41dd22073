//! METER_MOD.

use crate::datapath::bounds::{BANDS_MAX, METERS_MAX};
use crate::datapath::flow::Reason;
use crate::datapath::meter::Meter;
use crate::datapath::{Datapath, Sink};
use aldis_wire::v13::error::{ErrorCode, MeterModFailedCode};
use aldis_wire::v13::meter_band::{BandEffect, MeterBand};
use aldis_wire::v13::meter_mod::{MeterFlags, MeterMod, MeterModCommand, MeterNo};
use std::time::Duration;

fn wrong<T>(code: MeterModFailedCode) -> Result<T, ErrorCode> {
    Err(ErrorCode::MeterModFailed(code))
}

pub(super) fn change(
    switch: &mut Datapath,
    meter_mod: MeterMod,
    now: Duration,
    out: &mut impl Sink,
) -> Result<(), ErrorCode> {
    let id = meter_mod.meter_id;
    let meters = &mut switch.world.meters;
    let exists = meters.contains_key(&id.0);
    match meter_mod.command {
        MeterModCommand::DELETE => {
            delete(switch, id, now, out);
            Ok(())
        }
        MeterModCommand::ADD | MeterModCommand::MODIFY if id.0 == 0 || id.0 > MeterNo::MAX.0 => {
            wrong(MeterModFailedCode::INVALID_METER)
        }
        MeterModCommand::ADD if exists => wrong(MeterModFailedCode::METER_EXISTS),
        MeterModCommand::ADD if meters.len() >= METERS_MAX => {
            wrong(MeterModFailedCode::OUT_OF_METERS)
        }
        MeterModCommand::MODIFY if !exists => wrong(MeterModFailedCode::UNKNOWN_METER),
        MeterModCommand::ADD | MeterModCommand::MODIFY => {
            check(meter_mod.flags, &meter_mod.bands)?;
            let created = meters.get(&id.0).map_or(now, |old| old.created);
            // What it counted and let pass begins again, as in Open vSwitch.
            let mut meter = Meter::new(meter_mod.flags, meter_mod.bands, now);
            meter.created = created;
            meters.insert(id.0, meter);
            Ok(())
        }
        _ => wrong(MeterModFailedCode::BAD_COMMAND),
    }
}

fn check(flags: MeterFlags, bands: &[MeterBand]) -> Result<(), ErrorCode> {
    let units = MeterFlags::KBPS | MeterFlags::PKTPS;
    let unit = flags.0 & units.0;
    if unit == units.0 || unit == 0 || flags.0 & !0xf != 0 {
        return wrong(MeterModFailedCode::BAD_FLAGS);
    }
    // None is as wrong as too many, and by the same name, as Open vSwitch has it.
    if bands.is_empty() || bands.len() > BANDS_MAX {
        return wrong(MeterModFailedCode::OUT_OF_BANDS);
    }
    if bands.iter().any(|band| band.effect != BandEffect::Drop) {
        return wrong(MeterModFailedCode::BAD_BAND);
    }
    if bands.iter().any(|band| band.rate == 0) {
        return wrong(MeterModFailedCode::BAD_RATE);
    }
    Ok(())
}

/// Removes a meter, or all, and the flows that pass through it.
fn delete(switch: &mut Datapath, id: MeterNo, now: Duration, out: &mut impl Sink) {
    let gone = |meter: u32| id == MeterNo::ALL || meter == id.0;
    switch.world.meters.retain(|meter, _| !gone(*meter));
    let found = switch.tables.metered(gone);
    for removed in switch.tables.remove(&found, Reason::DELETE) {
        switch.tell_removed(&removed, now, out);
    }
}
