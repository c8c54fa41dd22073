//! What switches that are played in memory say of themselves, in OpenFlow 1.0.

use aldis_wire::DatapathId;
use aldis_wire::v10::{ActionBits, Capabilities, FeaturesReply, Message};

/// `OFPT_FEATURES_REQUEST` and `OFPT_BARRIER_REQUEST`.
pub(super) const FEATURES_REQUEST: u8 = 5;
pub(super) const BARRIER_REQUEST: u8 = 18;

/// The answer of a switch that keeps packets and has no ports.
pub(super) fn features(datapath_id: DatapathId) -> Message {
    Message::FeaturesReply(FeaturesReply {
        datapath_id,
        n_buffers: 256,
        n_tables: 1,
        capabilities: Capabilities::EMPTY,
        actions: ActionBits::OUTPUT,
        ports: Vec::new(),
    })
}
