//! `OFPMP_GROUP` (§7.3.5.9): the counters of groups.

use crate::reader::{Malformed, Reader};
use crate::v13::bucket::GroupNo;
use crate::v13::{list, sized};
use crate::writer::Writer;
use alloc::vec::Vec;

/// Which groups.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct GroupStatsRequest {
    /// This one, or [`GroupNo::ALL`].
    pub group_id: GroupNo,
}

/// The counters of one group.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct GroupStats {
    /// Which group.
    pub group_id: GroupNo,
    /// How many flows and groups lead to it.
    pub ref_count: u32,
    /// Packets that went through it.
    pub packet_count: u64,
    /// Their bytes.
    pub byte_count: u64,
    /// How long it has been there, in whole seconds.
    pub duration_sec: u32,
    /// And nanoseconds beyond them.
    pub duration_nsec: u32,
    /// The counters of its buckets, in their order.
    pub buckets: Vec<BucketCounter>,
}

/// The counters of one bucket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct BucketCounter {
    /// Packets that went through it.
    pub packet_count: u64,
    /// Their bytes.
    pub byte_count: u64,
}

impl GroupStatsRequest {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<GroupStatsRequest, Malformed> {
        let group_id = GroupNo(reader.u32("group_stats_request.group_id")?);
        reader.pad("group_stats_request.pad", 4)?;
        Ok(GroupStatsRequest { group_id })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.u32(self.group_id.0);
        writer.pad(4);
    }
}

impl GroupStats {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<GroupStats, Malformed> {
        let mut body = sized(reader, "group_stats.length", 40)?;
        body.pad("group_stats.pad", 2)?;
        let group_id = GroupNo(body.u32("group_stats.group_id")?);
        let ref_count = body.u32("group_stats.ref_count")?;
        body.pad("group_stats.pad2", 4)?;
        Ok(GroupStats {
            group_id,
            ref_count,
            packet_count: body.u64("group_stats.packet_count")?,
            byte_count: body.u64("group_stats.byte_count")?,
            duration_sec: body.u32("group_stats.duration_sec")?,
            duration_nsec: body.u32("group_stats.duration_nsec")?,
            buckets: list(&mut body, BucketCounter::read)?,
        })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        let open = writer.open_u16(0);
        writer.u16(0);
        writer.pad(2);
        writer.u32(self.group_id.0);
        writer.u32(self.ref_count);
        writer.pad(4);
        writer.u64(self.packet_count);
        writer.u64(self.byte_count);
        writer.u32(self.duration_sec);
        writer.u32(self.duration_nsec);
        for bucket in &self.buckets {
            writer.u64(bucket.packet_count);
            writer.u64(bucket.byte_count);
        }
        writer.close(open);
    }
}

impl BucketCounter {
    fn read(reader: &mut Reader<'_>) -> Result<BucketCounter, Malformed> {
        Ok(BucketCounter {
            packet_count: reader.u64("bucket_counter.packet_count")?,
            byte_count: reader.u64("bucket_counter.byte_count")?,
        })
    }
}
