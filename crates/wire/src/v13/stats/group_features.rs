//! `OFPMP_GROUP_FEATURES` (§7.3.5.11): what groups can do.

use crate::open::flags;
use crate::reader::{Malformed, Reader};
use crate::writer::Writer;

/// What groups can do. The request has no body.
///
/// The arrays have an element for each type of group, numbered as
/// [`GroupType`](crate::v13::group_mod::GroupType) is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct GroupFeatures {
    /// Bit `n` set: groups of type `n` are supported.
    pub types: u32,
    /// What they can do.
    pub capabilities: GroupCapabilities,
    /// How many groups of each type at most.
    pub max_groups: [u32; 4],
    /// For each type, bit `n` set: actions of type `n` are supported.
    pub actions: [u32; 4],
}

flags! {
    /// `OFPGFC_*`: what groups can do.
    pub struct GroupCapabilities(u32) {
        /// Select groups with unequal weights.
        SELECT_WEIGHT = 1 << 0,
        /// Select groups that look at liveness.
        SELECT_LIVENESS = 1 << 1,
        /// Groups that lead to groups.
        CHAINING = 1 << 2,
        /// The switch looks for loops among them.
        CHAINING_CHECKS = 1 << 3,
    }
}

impl GroupFeatures {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<GroupFeatures, Malformed> {
        Ok(GroupFeatures {
            types: reader.u32("group_features.types")?,
            capabilities: GroupCapabilities(reader.u32("group_features.capabilities")?),
            max_groups: four(reader, "group_features.max_groups")?,
            actions: four(reader, "group_features.actions")?,
        })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.u32(self.types);
        writer.u32(self.capabilities.0);
        self.max_groups.iter().chain(&self.actions).for_each(|word| writer.u32(*word));
    }
}

fn four(reader: &mut Reader<'_>, field: &'static str) -> Result<[u32; 4], Malformed> {
    Ok([reader.u32(field)?, reader.u32(field)?, reader.u32(field)?, reader.u32(field)?])
}
