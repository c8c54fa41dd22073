//! Ports: the words of configuration and state agree bit by bit, and so do those of features up to
//! 10 Gb/s.

use super::{narrow, unsupported};
use crate::msg::{Port, PortChange, PortChangeReason, PortDetails, PortMod, PortNo, Unsupported};
use crate::v10::{self, PhyPort, PortReason, PortStatus};
use crate::v13;

/// The features whose bits are the same in both versions: the speeds up to 10 Gb/s.
const SPEEDS: u32 = 0x7f;

/// 1.3 put four more between those and the media.
const MEDIA_SHIFT: u32 = 4;

/// The speeds in kilobits a second, lowest bit first.
const SPEEDS_KBPS: [u32; 7] = [10_000, 10_000, 100_000, 100_000, 1_000_000, 1_000_000, 10_000_000];

/// The port in neutral words. Its speeds are the highest among its features.
pub fn port(exact: &PhyPort) -> Port {
    let admin_down = exact.config.contains(v10::PortConfig::PORT_DOWN);
    let link_down = exact.state.contains(v10::PortState::LINK_DOWN);
    Port {
        number: PortNo(exact.port_no.widen()),
        hw_addr: exact.hw_addr,
        name: exact.name,
        admin_down,
        link_down,
        speed_kbps: speed_kbps(exact.curr),
        details: PortDetails {
            config: v13::port::PortConfig(exact.config.0 & !v10::PortConfig::PORT_DOWN.0),
            state: v13::port::PortState(exact.state.0 & !v10::PortState::LINK_DOWN.0),
            current: features(exact.curr),
            advertised: features(exact.advertised),
            supported: features(exact.supported),
            peer: features(exact.peer),
            max_speed_kbps: speed_kbps(exact.supported),
        },
    }
}

/// The port as 1.0 says it.
///
/// # Errors
/// [`Unsupported`] for a number above 16 bits, a feature that 1.0 does not have, and a speed that
/// is not among the features.
pub fn port_from_neutral(neutral: &Port) -> Result<PhyPort, Unsupported> {
    let Port { details, .. } = neutral;
    let exact = PhyPort {
        port_no: narrow(neutral.number)?,
        hw_addr: neutral.hw_addr,
        name: neutral.name,
        config: v10::PortConfig(details.config.0 | u32::from(neutral.admin_down)),
        state: v10::PortState(details.state.0 | u32::from(neutral.link_down)),
        curr: features_from_neutral(details.current)?,
        advertised: features_from_neutral(details.advertised)?,
        supported: features_from_neutral(details.supported)?,
        peer: features_from_neutral(details.peer)?,
    };
    if speed_kbps(exact.curr) != neutral.speed_kbps
        || speed_kbps(exact.supported) != details.max_speed_kbps
    {
        return Err(unsupported("a speed that is not among the features of the port"));
    }
    Ok(exact)
}

/// What happened to a port. A reason that 1.0 does not name is taken for a change.
pub fn port_change(exact: &PortStatus) -> PortChange {
    let reason = match exact.reason {
        PortReason::ADD => PortChangeReason::Added,
        PortReason::DELETE => PortChangeReason::Removed,
        _ => PortChangeReason::Modified,
    };
    PortChange { reason, port: port(&exact.desc) }
}

pub(super) fn port_change_from_neutral(neutral: &PortChange) -> Result<PortStatus, Unsupported> {
    let reason = match neutral.reason {
        PortChangeReason::Added => PortReason::ADD,
        PortChangeReason::Removed => PortReason::DELETE,
        PortChangeReason::Modified => PortReason::MODIFY,
    };
    Ok(PortStatus { reason, desc: port_from_neutral(&neutral.port)? })
}

pub(super) fn port_mod(exact: &v10::PortMod) -> PortMod {
    PortMod {
        port_no: PortNo(exact.port_no.widen()),
        hw_addr: exact.hw_addr,
        config: v13::port::PortConfig(exact.config.0),
        mask: v13::port::PortConfig(exact.mask.0),
        advertise: features(exact.advertise),
    }
}

pub(super) fn port_mod_from_neutral(neutral: &PortMod) -> Result<v10::PortMod, Unsupported> {
    Ok(v10::PortMod {
        port_no: narrow(neutral.port_no)?,
        hw_addr: neutral.hw_addr,
        config: v10::PortConfig(neutral.config.0),
        mask: v10::PortConfig(neutral.mask.0),
        advertise: features_from_neutral(neutral.advertise)?,
    })
}

fn features(exact: v10::PortFeatures) -> v13::port::PortFeatures {
    v13::port::PortFeatures(exact.0 & SPEEDS | (exact.0 & !SPEEDS) << MEDIA_SHIFT)
}

fn features_from_neutral(
    neutral: v13::port::PortFeatures,
) -> Result<v10::PortFeatures, Unsupported> {
    let exact = v10::PortFeatures(neutral.0 & SPEEDS | neutral.0 >> MEDIA_SHIFT & !SPEEDS);
    match features(exact) == neutral {
        true => Ok(exact),
        false => Err(unsupported("a port faster than 10 Gb/s")),
    }
}

fn speed_kbps(features: v10::PortFeatures) -> u32 {
    match features.0 & SPEEDS {
        0 => 0,
        speeds => SPEEDS_KBPS[speeds.ilog2() as usize],
    }
}
