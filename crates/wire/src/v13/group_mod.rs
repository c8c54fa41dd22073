//! `OFPT_GROUP_MOD` (§7.3.4.2): adds, changes and removes groups.

use super::bucket::{Bucket, GroupNo};
use super::list;
use crate::open::open_enum;
use crate::reader::{Malformed, Reader};
use crate::writer::Writer;
use alloc::vec::Vec;

/// A change to one group, or to all.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct GroupMod {
    /// What to do.
    pub command: GroupModCommand,
    /// How the group chooses among its buckets.
    pub kind: GroupType,
    /// Which group.
    pub group_id: GroupNo,
    /// Its buckets.
    pub buckets: Vec<Bucket>,
}

open_enum! {
    /// `OFPGC_*`: what to do with a group.
    pub struct GroupModCommand(u16) "OFPGC_" {
        /// Add it; an error where it exists.
        ADD = 0,
        /// Change it; an error where it does not exist.
        MODIFY = 1,
        /// Remove it, and the flows that lead to it.
        DELETE = 2,
    }
}

open_enum! {
    /// `OFPGT_*`: how a group chooses among its buckets. 128 and above are for experiments.
    pub struct GroupType(u8) "OFPGT_" {
        /// All of them: multicast and broadcast.
        ALL = 0,
        /// One of them, as the switch computes it.
        SELECT = 1,
        /// The only one.
        INDIRECT = 2,
        /// The first that is live: fast failover.
        FF = 3,
    }
}

impl GroupMod {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<GroupMod, Malformed> {
        let command = GroupModCommand(reader.u16("group_mod.command")?);
        let kind = GroupType(reader.u8("group_mod.type")?);
        reader.pad("group_mod.pad", 1)?;
        let group_id = GroupNo(reader.u32("group_mod.group_id")?);
        Ok(GroupMod { command, kind, group_id, buckets: list(reader, Bucket::read)? })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.u16(self.command.0);
        writer.u8(self.kind.0);
        writer.pad(1);
        writer.u32(self.group_id.0);
        self.buckets.iter().for_each(|bucket| bucket.write(writer));
    }
}
