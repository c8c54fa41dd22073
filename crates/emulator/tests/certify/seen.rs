//! What came of a step, in words that do not tell one switch from the other.

use aldis_wire::v10::stats::{StatsReplyBody, StatsReplyFlags};
use aldis_wire::v13::oxm::{Masked, Oxm};
use aldis_wire::v13::stats::{MultipartFlags, MultipartReplyBody};
use aldis_wire::{MacAddr, Version, v10, v13};
use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

/// One thing that came of a step.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CertifySeen {
    /// A frame left by a port.
    Frame(u32, Vec<u8>),
    /// A PORT_STATUS of a port.
    Status(u32, String),
    /// A PACKET_IN.
    Said(String),
    /// A FLOW_REMOVED. Of several that one message removes, which is told first does not matter.
    Removed(String),
    /// An answer, or an error, to the message of this number.
    Answer(u32, String),
}

impl fmt::Debug for CertifySeen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CertifySeen::Frame(port, bytes) => {
                write!(f, "out of port {port}: ")?;
                bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
            CertifySeen::Status(_, text) | CertifySeen::Said(text) | CertifySeen::Removed(text) => {
                f.write_str(text)
            }
            CertifySeen::Answer(number, text) => write!(f, "to message {number}: {text}"),
        }
    }
}

/// What a message says, as both switches say it; `None` for those that are not compared.
pub(crate) fn seen(version: Version, bytes: &[u8]) -> Option<CertifySeen> {
    match version {
        Version::V10 => {
            let (xid, message) = v10::Message::decode(bytes).expect("a message of the version");
            v10_seen(xid, message)
        }
        Version::V13 => {
            let (xid, message) = v13::Message::decode(bytes).expect("a message of the version");
            v13_seen(xid, message)
        }
    }
}

fn v10_seen(xid: u32, message: v10::Message) -> Option<CertifySeen> {
    use v10::Message::*;
    Some(match message {
        Error(error) => CertifySeen::Answer(xid, error.code.to_string()),
        PacketIn(packet_in) => CertifySeen::Said(format!("{packet_in:x?}")),
        FlowRemoved(mut removed) => {
            (removed.duration_sec, removed.duration_nsec) = (0, 0);
            removed.match_ = plain(&removed.match_);
            CertifySeen::Removed(format!("{removed:?}"))
        }
        PortStatus(status) => {
            let (reason, port, config) = (status.reason, status.desc.port_no, status.desc.config);
            CertifySeen::Status(u32::from(port.0), format!("{reason} of port {port}: {config}"))
        }
        StatsReply(reply) => {
            assert_eq!(reply.flags, StatsReplyFlags::EMPTY, "an answer in one part");
            CertifySeen::Answer(xid, v10_statistics(reply.body)?)
        }
        GetConfigReply(config) => CertifySeen::Answer(xid, format!("{config:?}")),
        _ => return None,
    })
}

fn v10_statistics(body: StatsReplyBody) -> Option<String> {
    Some(match body {
        StatsReplyBody::Flow(flows) => {
            let mut lines: Vec<String> = flows
                .into_iter()
                .map(|mut flow| {
                    (flow.duration_sec, flow.duration_nsec) = (0, 0);
                    flow.match_ = plain(&flow.match_);
                    format!("{flow:?}")
                })
                .collect();
            lines.sort();
            lines.join("\n      ")
        }
        StatsReplyBody::Aggregate(sum) => format!("{sum:?}"),
        _ => return None,
    })
}

/// A match without the padding.
fn plain(match_: &v10::Match) -> v10::Match {
    v10::Match { pad: [0; 3], ..*match_ }
}

fn v13_seen(xid: u32, message: v13::Message) -> Option<CertifySeen> {
    use v13::Message::*;
    Some(match message {
        Error(error) => CertifySeen::Answer(xid, error.code.to_string()),
        PacketIn(mut packet_in) => {
            packet_in.match_.fields = plain_fields(packet_in.match_.fields);
            CertifySeen::Said(format!("{packet_in:x?}"))
        }
        FlowRemoved(mut removed) => {
            (removed.duration_sec, removed.duration_nsec) = (0, 0);
            removed.match_.fields = plain_fields(removed.match_.fields);
            CertifySeen::Removed(format!("{removed:?}"))
        }
        PortStatus(status) => {
            let (reason, port, config) = (status.reason, status.desc.port_no, status.desc.config);
            CertifySeen::Status(port.0, format!("{reason} of port {port}: {config}"))
        }
        MultipartReply(reply) => {
            assert_eq!(reply.flags, MultipartFlags::EMPTY, "an answer in one part");
            CertifySeen::Answer(xid, v13_statistics(reply.body)?)
        }
        GetConfigReply(config) => CertifySeen::Answer(xid, format!("{config:?}")),
        RoleReply(role) => CertifySeen::Answer(xid, format!("{role:?}")),
        _ => return None,
    })
}

fn v13_statistics(body: MultipartReplyBody) -> Option<String> {
    let sorted = |mut lines: Vec<String>| {
        lines.sort();
        lines.join("\n      ")
    };
    Some(match body {
        MultipartReplyBody::Flow(flows) => sorted(
            flows
                .into_iter()
                .map(|mut flow| {
                    (flow.duration_sec, flow.duration_nsec) = (0, 0);
                    flow.match_.fields = plain_fields(flow.match_.fields);
                    // The instructions come back in an order of the switch's own.
                    flow.instructions.clear();
                    format!("{flow:?}")
                })
                .collect(),
        ),
        MultipartReplyBody::Aggregate(sum) => format!("{sum:?}"),
        MultipartReplyBody::Group(groups) => sorted(
            groups
                .into_iter()
                .map(|mut group| {
                    (group.duration_sec, group.duration_nsec) = (0, 0);
                    format!("{group:?}")
                })
                .collect(),
        ),
        MultipartReplyBody::Meter(meters) => sorted(
            meters
                .into_iter()
                .map(|mut meter| {
                    (meter.duration_sec, meter.duration_nsec) = (0, 0);
                    format!("{meter:?}")
                })
                .collect(),
        ),
        MultipartReplyBody::MeterConfig(meters) => {
            sorted(meters.into_iter().map(|meter| format!("{meter:?}")).collect())
        }
        MultipartReplyBody::GroupDesc(groups) => {
            sorted(groups.into_iter().map(|group| format!("{group:?}")).collect())
        }
        _ => return None,
    })
}

/// Fields in the order of their numbers; a mask of all ones is none.
fn plain_fields(fields: Vec<Oxm>) -> Vec<Oxm> {
    let mut fields: Vec<Oxm> = fields.into_iter().filter_map(plain_field).collect();
    fields.sort_by_key(|field| field.header().field());
    fields
}

/// `None` for a field whose mask lets everything pass.
fn plain_field(field: Oxm) -> Option<Oxm> {
    fn plain<T: PartialEq + Copy>(masked: Masked<T>, none: T, all: T) -> Option<Masked<T>> {
        match masked.mask {
            Some(mask) if mask == none => None,
            Some(mask) if mask == all => Some(Masked { mask: None, ..masked }),
            _ => Some(masked),
        }
    }
    let mac = |masked| plain(masked, MacAddr([0; 6]), MacAddr([0xff; 6]));
    let ipv4 = |masked| plain(masked, Ipv4Addr::UNSPECIFIED, Ipv4Addr::BROADCAST);
    let ipv6 = |masked| plain(masked, Ipv6Addr::UNSPECIFIED, Ipv6Addr::from(u128::MAX));
    Some(match field {
        Oxm::Metadata(masked) => Oxm::Metadata(plain(masked, 0, u64::MAX)?),
        Oxm::EthDst(masked) => Oxm::EthDst(mac(masked)?),
        Oxm::EthSrc(masked) => Oxm::EthSrc(mac(masked)?),
        Oxm::VlanVid(masked) => Oxm::VlanVid(plain(masked, 0, 0x1fff)?),
        Oxm::Ipv4Src(masked) => Oxm::Ipv4Src(ipv4(masked)?),
        Oxm::Ipv4Dst(masked) => Oxm::Ipv4Dst(ipv4(masked)?),
        Oxm::ArpSpa(masked) => Oxm::ArpSpa(ipv4(masked)?),
        Oxm::ArpTpa(masked) => Oxm::ArpTpa(ipv4(masked)?),
        Oxm::ArpSha(masked) => Oxm::ArpSha(mac(masked)?),
        Oxm::ArpTha(masked) => Oxm::ArpTha(mac(masked)?),
        Oxm::Ipv6Src(masked) => Oxm::Ipv6Src(ipv6(masked)?),
        Oxm::Ipv6Dst(masked) => Oxm::Ipv6Dst(ipv6(masked)?),
        Oxm::Ipv6Flabel(masked) => Oxm::Ipv6Flabel(plain(masked, 0, 0xf_ffff)?),
        other => other,
    })
}
