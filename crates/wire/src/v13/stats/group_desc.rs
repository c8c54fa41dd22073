//! `OFPMP_GROUP_DESC` (§7.3.5.10): the groups themselves.

use crate::reader::{Malformed, Reader};
use crate::v13::bucket::{Bucket, GroupNo};
use crate::v13::group_mod::GroupType;
use crate::v13::{list, sized};
use crate::writer::Writer;
use alloc::vec::Vec;

/// One group. The request has no body.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct GroupDesc {
    /// How it chooses among its buckets.
    pub kind: GroupType,
    /// Its number.
    pub group_id: GroupNo,
    /// Its buckets.
    pub buckets: Vec<Bucket>,
}

impl GroupDesc {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<GroupDesc, Malformed> {
        let mut body = sized(reader, "group_desc.length", 8)?;
        let kind = GroupType(body.u8("group_desc.type")?);
        body.pad("group_desc.pad", 1)?;
        let group_id = GroupNo(body.u32("group_desc.group_id")?);
        Ok(GroupDesc { kind, group_id, buckets: list(&mut body, Bucket::read)? })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        let open = writer.open_u16(0);
        writer.u16(0);
        writer.u8(self.kind.0);
        writer.pad(1);
        writer.u32(self.group_id.0);
        self.buckets.iter().for_each(|bucket| bucket.write(writer));
        writer.close(open);
    }
}
