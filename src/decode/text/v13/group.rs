//! Groups of OpenFlow 1.3 in words.

use super::actions;
use crate::decode::text::flow::ANY;
use crate::decode::text::port::{self, flags};
use crate::decode::text::{counter, duration};
use aldis_wire::v13::group_mod::GroupType;
use aldis_wire::v13::stats::{GroupDesc, GroupFeatures, GroupStats};
use aldis_wire::v13::{Bucket, GroupMod, GroupNo};
use std::fmt::{self, Display, Formatter};

/// GROUP_MOD, behind its title.
pub(super) fn group_mod(f: &mut Formatter<'_>, message: &GroupMod) -> fmt::Result {
    match message.command.0 {
        0 => f.write_str("\n ADD")?,
        1 => f.write_str("\n MOD")?,
        2 => f.write_str("\n DEL")?,
        other => write!(f, "\n cmd:{other}")?,
    }
    write!(f, " {}", described(message.group_id, message.kind, &message.buckets))
}

/// One group of a description.
pub(super) fn desc(f: &mut Formatter<'_>, group: &GroupDesc) -> fmt::Result {
    write!(f, "\n {}", described(group.group_id, group.kind, &group.buckets))
}

/// A group by its number, or `ALL`.
pub(super) fn number(group: GroupNo) -> impl Display {
    fmt::from_fn(move |f| match group {
        GroupNo::ALL => f.write_str("ALL"),
        GroupNo::ANY => f.write_str("ANY"),
        GroupNo(number) => write!(f, "{number}"),
    })
}

fn described(group: GroupNo, kind: GroupType, buckets: &[Bucket]) -> impl Display {
    const TYPES: [&str; 4] = ["all", "select", "indirect", "ff"];
    fmt::from_fn(move |f| {
        write!(f, "group_id={},type=", number(group))?;
        match TYPES.get(usize::from(kind.0)) {
            Some(name) => f.write_str(name)?,
            None => write!(f, "{}", kind.0)?,
        }
        buckets.iter().try_for_each(|one| bucket(f, kind, one))
    })
}

fn bucket(f: &mut Formatter<'_>, kind: GroupType, bucket: &Bucket) -> fmt::Result {
    f.write_str(",bucket=")?;
    if kind == GroupType::SELECT || bucket.weight != 0 {
        write!(f, "weight:{},", bucket.weight)?;
    }
    if bucket.watch_port.0 != ANY {
        write!(f, "watch_port:{},", port::number(bucket.watch_port.0))?;
    }
    if bucket.watch_group.0 != ANY {
        write!(f, "watch_group:{},", number(bucket.watch_group))?;
    }
    write!(f, "actions={}", actions(&bucket.actions))
}

/// The counters of one group.
pub(super) fn stats(f: &mut Formatter<'_>, group: &GroupStats) -> fmt::Result {
    let age = duration(group.duration_sec, group.duration_nsec);
    write!(
        f,
        "\n group_id={},duration={age},ref_count={}",
        number(group.group_id),
        group.ref_count
    )?;
    write!(f, ",packet_count={}", counter(group.packet_count))?;
    write!(f, ",byte_count={}", counter(group.byte_count))?;
    group.buckets.iter().enumerate().try_for_each(|(at, bucket)| {
        write!(f, ",bucket{at}:packet_count={}", counter(bucket.packet_count))?;
        write!(f, ",byte_count={}", counter(bucket.byte_count))
    })
}

/// What groups can do.
pub(super) fn features(f: &mut Formatter<'_>, features: &GroupFeatures) -> fmt::Result {
    const TYPES: [&str; 4] = ["all", "select", "indirect", "fast failover"];
    write!(f, "\n Group table:\n    Types:  {:#x}", features.types)?;
    write!(f, "\n    Capabilities:  {:#x}", features.capabilities.0)?;
    let each = TYPES.iter().zip(features.max_groups).zip(features.actions);
    for ((name, max), actions) in each.filter(|((_, max), _)| *max != 0) {
        write!(f, "\n    {name} group:\n       max_groups={max:#x}")?;
        write!(f, "\n       actions: {}", flags(actions, ACTIONS, "none"))?;
    }
    Ok(())
}

/// The actions by the bit that stands for each: its number (§7.3.5.11).
const ACTIONS: &[(u32, &str)] = &[
    (1 << 0, "output"),
    (1 << 22, "group"),
    (1 << 25, "set_field"),
    (1 << 18, "pop_vlan"),
    (1 << 17, "push_vlan"),
    (1 << 23, "mod_nw_ttl"),
    (1 << 24, "dec_ttl"),
    (1 << 15, "set_mpls_ttl"),
    (1 << 16, "dec_mpls_ttl"),
    (1 << 19, "push_mpls"),
    (1 << 20, "pop_mpls"),
    (1 << 21, "set_queue"),
    (1 << 11, "copy_ttl_out"),
    (1 << 12, "copy_ttl_in"),
    (1 << 26, "push_pbb"),
    (1 << 27, "pop_pbb"),
];
