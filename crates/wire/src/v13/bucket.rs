//! Buckets (§7.3.4.2): the sets of actions that a group chooses from.

use super::action::Action;
use super::port::PortNo;
use super::{list, sized};
use crate::open::open_enum;
use crate::reader::{Malformed, Reader, Reason};
use crate::writer::Writer;
use alloc::vec::Vec;

open_enum! {
    /// The number of a group; those above [`GroupNo::MAX`] stand for something (`OFPG_*`).
    pub struct GroupNo(u32) "" {
        /// Every group.
        ALL = 0xffff_fffc,
        /// No group in particular: the wildcard of requests and deletions.
        ANY = 0xffff_ffff,
    }
}

impl GroupNo {
    /// The last number that a group can have (`OFPG_MAX`).
    pub const MAX: GroupNo = GroupNo(0xffff_ff00);
}

/// One bucket of a group.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Bucket {
    /// Its share of the packets, relative to the others', for select groups.
    pub weight: u16,
    /// The port whose state says whether it is live, for fast failover.
    pub watch_port: PortNo,
    /// The group whose state says whether it is live, for fast failover.
    pub watch_group: GroupNo,
    /// What it does.
    pub actions: Vec<Action>,
}

impl Bucket {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Bucket, Malformed> {
        let offset = reader.offset();
        let mut body = sized(reader, "bucket.len", 16)?;
        if (body.left() + 2) % 8 != 0 {
            return Err(Malformed { field: "bucket.len", offset, reason: Reason::BadLength });
        }
        let weight = body.u16("bucket.weight")?;
        let watch_port = PortNo(body.u32("bucket.watch_port")?);
        let watch_group = GroupNo(body.u32("bucket.watch_group")?);
        body.pad("bucket.pad", 4)?;
        Ok(Bucket { weight, watch_port, watch_group, actions: list(&mut body, Action::read)? })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        let open = writer.open_u16(0);
        writer.u16(0);
        writer.u16(self.weight);
        writer.u32(self.watch_port.0);
        writer.u32(self.watch_group.0);
        writer.pad(4);
        self.actions.iter().for_each(|action| action.write(writer));
        writer.close(open);
    }
}
