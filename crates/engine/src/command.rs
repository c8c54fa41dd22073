//! Commands from outside: a message list that a person or a script has a switch carry out, and the
//! one answer to each.
//!
//! ```text
//!   any thread       home worker                  the switch's claimant
//!   encode ──▶ inbox ──▶ ids, room ──▶ switch ──▶ errors, replies, barrier ──▶ answer
//!     │                   └ busy, too late ──▶ answer   gone, or too late ──▶ answer
//!     └ not connected, busy ──▶ answer
//! ```
//!
//! A command passes the applications by. Each of its messages has a transaction id of its own and a
//! barrier follows the last, so the answer says of each message what became of it. The worker only
//! copies bytes: the calling thread encodes messages and decodes replies. A worker spends an eighth
//! of its time on commands (`worker/allowance.rs`).

pub(crate) mod answer;
pub(crate) mod reply_slot;

use aldis_control::command::Failure;
use aldis_control::limits::{COMMAND_BYTES_MAX, COMMAND_MESSAGES_MAX};
use aldis_wire::msg::Message;
use aldis_wire::{Version, v10, v13};

pub use answer::Answer;

/// Encodes the messages and a barrier behind them.
pub(crate) fn encode(messages: &[Message], version: Version) -> Result<Vec<u8>, Failure> {
    if messages.len() > COMMAND_MESSAGES_MAX {
        return Err(Failure::TooLong);
    }
    let mut bytes = Vec::new();
    for (place, message) in messages.iter().chain([&Message::BarrierRequest]).enumerate() {
        let encoded = message.encode(version, 0, &mut bytes);
        encoded.map_err(|why| Failure::Unsayable { place, why })?;
    }
    if bytes.len() > COMMAND_BYTES_MAX { Err(Failure::TooLong) } else { Ok(bytes) }
}

/// Whether the switch replies to this message where all is well.
pub(crate) fn awaits_reply(message: &Message) -> bool {
    matches!(
        message,
        Message::StatsRequest(_)
            | Message::GetConfigRequest
            | Message::QueueGetConfigRequest(_)
            | Message::RoleRequest(_)
            | Message::GetAsyncRequest
            | Message::FeaturesRequest
            | Message::EchoRequest(_)
            | Message::BarrierRequest
    )
}

/// The same of an encoded message, by the number of its type.
pub(crate) fn awaits_reply_of(version: Version, kind: u8) -> bool {
    use v10::MessageType as Of10;
    use v13::MessageType as Of13;
    match version {
        Version::V10 => [
            Of10::ECHO_REQUEST,
            Of10::FEATURES_REQUEST,
            Of10::GET_CONFIG_REQUEST,
            Of10::STATS_REQUEST,
            Of10::BARRIER_REQUEST,
            Of10::QUEUE_GET_CONFIG_REQUEST,
        ]
        .contains(&Of10(kind)),
        Version::V13 => [
            Of13::ECHO_REQUEST,
            Of13::FEATURES_REQUEST,
            Of13::GET_CONFIG_REQUEST,
            Of13::MULTIPART_REQUEST,
            Of13::BARRIER_REQUEST,
            Of13::QUEUE_GET_CONFIG_REQUEST,
            Of13::ROLE_REQUEST,
            Of13::GET_ASYNC_REQUEST,
        ]
        .contains(&Of13(kind)),
    }
}
