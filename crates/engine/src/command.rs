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
use aldis_wire::Version;
use aldis_wire::msg::Message;

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
