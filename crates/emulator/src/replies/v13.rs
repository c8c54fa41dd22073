//! The answers of a switch that speaks OpenFlow 1.3.

use super::{Replies, Response};
use aldis_wire::DatapathId;
use aldis_wire::types::FixedText;
use aldis_wire::v13::Message;
use aldis_wire::v13::async_config::{AsyncConfig, AsyncMasks};
use aldis_wire::v13::config::{ConfigFlags, SwitchConfig};
use aldis_wire::v13::error::{BadRequestCode, Error, ErrorCode};
use aldis_wire::v13::features::{Capabilities, FeaturesReply};
use aldis_wire::v13::port::{Port, PortConfig, PortFeatures, PortNo, PortState};
use aldis_wire::v13::queue::QueueGetConfigReply;
use aldis_wire::v13::stats::group_features::GroupCapabilities;
use aldis_wire::v13::stats::{
    AggregateStats, Desc, GroupFeatures, MeterFeatures, MultipartFlags, MultipartReply,
    MultipartReplyBody, MultipartRequestBody,
};

/// How many ports a multipart reply describes: 64 bytes each (1.3.5 §7.2.1), behind 16 of its own.
const PORTS_IN_PART: usize = 1023;

/// What `replies` does about a message; `offending` is its beginning, should it be an error.
pub(super) fn respond(replies: &Replies, message: Message, offending: &[u8]) -> Response<Message> {
    let refuse = |code| {
        let error = Error { code: ErrorCode::BadRequest(code), data: offending.to_vec() };
        Response::Reply(Message::Error(error))
    };
    Response::Reply(match message {
        Message::Error(error) => return Response::wrong(error.code),
        Message::FeaturesRequest => {
            return Response::Features(Message::FeaturesReply(features(replies)));
        }
        Message::EchoRequest(echo) => Message::EchoReply(echo),
        Message::GetConfigRequest => Message::GetConfigReply(SwitchConfig {
            flags: ConfigFlags::NORMAL,
            miss_send_len: u16::MAX,
        }),
        Message::BarrierRequest => Message::BarrierReply,
        Message::QueueGetConfigRequest(request) => {
            Message::QueueGetConfigReply(QueueGetConfigReply { port: request.port, queues: vec![] })
        }
        Message::RoleRequest(role) => Message::RoleReply(role),
        Message::GetAsyncRequest => Message::GetAsyncReply(everything()),
        Message::MultipartRequest(request) if request.body == MultipartRequestBody::PortDesc => {
            return Response::Parts(port_desc(replies));
        }
        Message::MultipartRequest(request) => match statistics(replies, &request.body) {
            Some(body) => Message::MultipartReply(MultipartReply::new(body)),
            None => return refuse(BadRequestCode::BAD_MULTIPART),
        },
        Message::Experimenter(_) => return refuse(BadRequestCode::BAD_EXPERIMENTER),
        Message::SetConfig(_)
        | Message::PacketOut(_)
        | Message::FlowMod(_)
        | Message::GroupMod(_)
        | Message::PortMod(_)
        | Message::TableMod(_)
        | Message::MeterMod(_)
        | Message::SetAsync(_)
        | Message::EchoReply(_) => return Response::Silence,
        _ => return refuse(BadRequestCode::BAD_TYPE),
    })
}

fn features(replies: &Replies) -> FeaturesReply {
    FeaturesReply {
        datapath_id: DatapathId(replies.number.into()),
        n_buffers: replies.n_buffers(),
        n_tables: 1,
        auxiliary_id: 0,
        capabilities: Capabilities::EMPTY,
        reserved: 0,
    }
}

/// Every reason for every message, to every controller.
fn everything() -> AsyncConfig {
    let all = AsyncMasks { master: u32::MAX, slave: u32::MAX };
    AsyncConfig { packet_in: all, port_status: all, flow_removed: all }
}

fn port(replies: &Replies, port: u32) -> Port {
    Port {
        port_no: PortNo(port),
        hw_addr: replies.port_address(port),
        name: FixedText::new(&replies.port_name(port)),
        config: PortConfig::EMPTY,
        state: PortState::EMPTY,
        curr: PortFeatures::EMPTY,
        advertised: PortFeatures::EMPTY,
        supported: PortFeatures::EMPTY,
        peer: PortFeatures::EMPTY,
        curr_speed: 0,
        max_speed: 0,
    }
}

fn port_desc(replies: &Replies) -> Vec<Message> {
    let ports: Vec<Port> = (1..=replies.ports).map(|number| port(replies, number)).collect();
    let parts = ports.chunks(PORTS_IN_PART);
    let last = parts.len() - 1;
    let part = |(index, ports): (usize, &[Port])| {
        let body = MultipartReplyBody::PortDesc(ports.to_vec());
        let flags = if index < last { MultipartFlags::MORE } else { MultipartFlags::EMPTY };
        Message::MultipartReply(MultipartReply { flags, body })
    };
    parts.enumerate().map(part).collect()
}

/// All answers in one part; the ports are described apart.
fn statistics(replies: &Replies, request: &MultipartRequestBody) -> Option<MultipartReplyBody> {
    Some(match request {
        MultipartRequestBody::Desc => MultipartReplyBody::Desc(Box::new(Desc {
            mfr_desc: FixedText::new("Aldis"),
            hw_desc: FixedText::new("emulated switch"),
            sw_desc: FixedText::new(env!("CARGO_PKG_VERSION")),
            serial_num: FixedText::new(&replies.name()),
            dp_desc: FixedText::new(&replies.name()),
        })),
        MultipartRequestBody::Aggregate(_) => MultipartReplyBody::Aggregate(AggregateStats {
            packet_count: 0,
            byte_count: 0,
            flow_count: 0,
        }),
        MultipartRequestBody::GroupFeatures => MultipartReplyBody::GroupFeatures(GroupFeatures {
            types: 0,
            capabilities: GroupCapabilities::EMPTY,
            max_groups: [0; 4],
            actions: [0; 4],
        }),
        MultipartRequestBody::MeterFeatures => MultipartReplyBody::MeterFeatures(MeterFeatures {
            max_meter: 0,
            band_types: 0,
            capabilities: 0,
            max_bands: 0,
            max_color: 0,
        }),
        MultipartRequestBody::Flow(_) => MultipartReplyBody::Flow(vec![]),
        MultipartRequestBody::Table => MultipartReplyBody::Table(vec![]),
        MultipartRequestBody::PortStats(_) => MultipartReplyBody::PortStats(vec![]),
        MultipartRequestBody::Queue(_) => MultipartReplyBody::Queue(vec![]),
        MultipartRequestBody::Group(_) => MultipartReplyBody::Group(vec![]),
        MultipartRequestBody::GroupDesc => MultipartReplyBody::GroupDesc(vec![]),
        MultipartRequestBody::Meter(_) => MultipartReplyBody::Meter(vec![]),
        MultipartRequestBody::MeterConfig(_) => MultipartReplyBody::MeterConfig(vec![]),
        MultipartRequestBody::TableFeatures(_) => MultipartReplyBody::TableFeatures(vec![]),
        MultipartRequestBody::PortDesc
        | MultipartRequestBody::Experimenter(_)
        | MultipartRequestBody::Unknown { .. } => {
            return None;
        }
    })
}
