//! Reserved numbers by the names that the specification gives them, and Ryu with it.

use aldis_wire::Version;
use aldis_wire::msg::{PortNo, TableNo};
use serde_json::Value;

use super::body::{ReservedNames, whole};

const COMMON: [(&str, u32); 8] = [
    ("MAX", 0xffff_ff00),
    ("IN_PORT", 0xffff_fff8),
    ("TABLE", 0xffff_fff9),
    ("NORMAL", 0xffff_fffa),
    ("FLOOD", 0xffff_fffb),
    ("ALL", 0xffff_fffc),
    ("CONTROLLER", 0xffff_fffd),
    ("LOCAL", 0xffff_fffe),
];

const fn with(last: &'static str) -> [(&'static str, u32); 9] {
    let [a, b, c, d, e, f, g, h] = COMMON;
    [a, b, c, d, e, f, g, h, (last, 0xffff_ffff)]
}

/// Ports of 1.0, widened to 32 bits.
pub(crate) static PORTS_10: ReservedNames<'static> =
    ReservedNames { prefix: "OFPP_", names: &with("NONE"), most: u32::MAX };

/// Ports of 1.3.
pub(crate) static PORTS_13: ReservedNames<'static> =
    ReservedNames { prefix: "OFPP_", names: &with("ANY"), most: u32::MAX };

/// Tables.
pub(crate) static TABLES: ReservedNames<'static> =
    ReservedNames { prefix: "OFPTT_", names: &[("MAX", 0xfe), ("ALL", 0xff)], most: 0xff };

/// Groups.
pub(crate) static GROUPS: ReservedNames<'static> = ReservedNames {
    prefix: "OFPG_",
    names: &[("MAX", 0xffff_ff00), ("ALL", 0xffff_fffc), ("ANY", 0xffff_ffff)],
    most: u32::MAX,
};

/// Meters.
pub(crate) static METERS: ReservedNames<'static> = ReservedNames {
    prefix: "OFPM_",
    names: &[
        ("MAX", 0xffff_0000),
        ("SLOWPATH", 0xffff_fffd),
        ("CONTROLLER", 0xffff_fffe),
        ("ALL", 0xffff_ffff),
    ],
    most: u32::MAX,
};

/// Queues.
pub(crate) static QUEUES: ReservedNames<'static> =
    ReservedNames { prefix: "OFPQ_", names: &[("ALL", 0xffff_ffff)], most: u32::MAX };

/// How much of a packet goes to the controller.
pub(crate) static LENGTHS: ReservedNames<'static> = ReservedNames {
    prefix: "OFPCML_",
    names: &[("MAX", 0xffe5), ("NO_BUFFER", 0xffff)],
    most: 0xffff,
};

/// Packets that a switch holds back.
pub(crate) static BUFFERS: ReservedNames<'static> =
    ReservedNames { prefix: "OFP_", names: &[("NO_BUFFER", 0xffff_ffff)], most: u32::MAX };

/// Roles.
pub(crate) static ROLES: ReservedNames<'static> = ReservedNames {
    prefix: "OFPCR_ROLE_",
    names: &[("NOCHANGE", 0), ("EQUAL", 1), ("MASTER", 2), ("SLAVE", 3)],
    most: u32::MAX,
};

/// The ports of this version.
pub(crate) fn ports(version: Version) -> &'static ReservedNames<'static> {
    match version {
        Version::V10 => &PORTS_10,
        Version::V13 => &PORTS_13,
    }
}

/// A port, as a number or by its name. A reserved number of 1.0 has 16 bits.
pub(crate) fn port(value: &Value, version: Version) -> Option<PortNo> {
    let number = match value {
        // Either version's name for no port at all is understood.
        Value::String(text) => PORTS_13.read(text).or_else(|| PORTS_10.read(text))?,
        other => u32::try_from(whole(other)?).ok()?,
    };
    Some(wide(number, version))
}

/// The number of a port, with 32 bits.
pub(crate) fn wide(number: u32, version: Version) -> PortNo {
    match (version, number) {
        (Version::V10, 0xff00..=0xffff) => PortNo(number | 0xffff_0000),
        _ => PortNo(number),
    }
}

/// A table, as it is shown.
pub(crate) fn table(table: TableNo) -> Value {
    TABLES.show(table.0.into())
}
