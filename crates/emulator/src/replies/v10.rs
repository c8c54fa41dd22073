//! The answers of a switch that speaks OpenFlow 1.0.

use super::{Replies, Response};
use aldis_wire::DatapathId;
use aldis_wire::types::FixedText;
use aldis_wire::v10::error::BadRequestCode;
use aldis_wire::v10::stats::{
    AggregateStatsReply, DescStats, StatsReply, StatsReplyBody, StatsReplyFlags, StatsRequestBody,
};
use aldis_wire::v10::{
    ActionBits, Capabilities, ConfigFlags, Error, ErrorCode, FeaturesReply, Message, PhyPort,
    PortConfig, PortFeatures, PortNo, PortState, QueueGetConfigReply, SwitchConfig,
};

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
            flags: ConfigFlags::FRAG_NORMAL,
            miss_send_len: u16::MAX,
        }),
        Message::BarrierRequest => Message::BarrierReply,
        Message::QueueGetConfigRequest(request) => {
            Message::QueueGetConfigReply(QueueGetConfigReply { port: request.port, queues: vec![] })
        }
        Message::StatsRequest(request) => match statistics(replies, &request.body) {
            Some(body) => Message::StatsReply(StatsReply { flags: StatsReplyFlags::EMPTY, body }),
            None => return refuse(BadRequestCode::BAD_STAT),
        },
        Message::Vendor(_) => return refuse(BadRequestCode::BAD_VENDOR),
        Message::SetConfig(_)
        | Message::PacketOut(_)
        | Message::FlowMod(_)
        | Message::PortMod(_)
        | Message::EchoReply(_) => return Response::Silence,
        _ => return refuse(BadRequestCode::BAD_TYPE),
    })
}

fn features(replies: &Replies) -> FeaturesReply {
    FeaturesReply {
        datapath_id: DatapathId(replies.number.into()),
        n_buffers: replies.n_buffers(),
        n_tables: 1,
        capabilities: Capabilities::EMPTY,
        actions: ActionBits::OUTPUT,
        ports: (1..=replies.ports).map(|port| phy_port(replies, port)).collect(),
    }
}

fn phy_port(replies: &Replies, port: u32) -> PhyPort {
    PhyPort {
        port_no: PortNo(port as u16),
        hw_addr: replies.port_address(port),
        name: FixedText::new(&replies.port_name(port)),
        config: PortConfig::EMPTY,
        state: PortState::EMPTY,
        curr: PortFeatures::EMPTY,
        advertised: PortFeatures::EMPTY,
        supported: PortFeatures::EMPTY,
        peer: PortFeatures::EMPTY,
    }
}

fn statistics(replies: &Replies, request: &StatsRequestBody) -> Option<StatsReplyBody> {
    Some(match request {
        StatsRequestBody::Desc => StatsReplyBody::Desc(Box::new(DescStats {
            mfr_desc: FixedText::new("Aldis"),
            hw_desc: FixedText::new("emulated switch"),
            sw_desc: FixedText::new(env!("CARGO_PKG_VERSION")),
            serial_num: FixedText::new(&replies.name()),
            dp_desc: FixedText::new(&replies.name()),
        })),
        StatsRequestBody::Aggregate(_) => StatsReplyBody::Aggregate(AggregateStatsReply {
            packet_count: 0,
            byte_count: 0,
            flow_count: 0,
        }),
        StatsRequestBody::Flow(_) => StatsReplyBody::Flow(vec![]),
        StatsRequestBody::Table => StatsReplyBody::Table(vec![]),
        StatsRequestBody::Port(_) => StatsReplyBody::Port(vec![]),
        StatsRequestBody::Queue(_) => StatsReplyBody::Queue(vec![]),
        StatsRequestBody::Vendor(_) | StatsRequestBody::Unknown { .. } => return None,
    })
}
