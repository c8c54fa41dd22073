//! The outcome of a command from outside: of what an operator or a script has a switch do.
//!
//! A command is a few messages to one switch with a barrier behind them. The engine sends it and
//! collects the replies. The types of the answer are here, so that a caller need not know the
//! engine.

use alloc::boxed::Box;
use alloc::vec::{self, Vec};
use core::fmt;

use aldis_wire::msg::{EncodeError, FlowStats, GroupDesc, Message, StatsReplyBody};
use aldis_wire::{Chop, Malformed, Reason, Version};

use crate::limits::{COMMAND_BYTES_MAX, COMMAND_MESSAGES_MAX};
use crate::session::{Close, SwitchError};

/// What became of a command: what the switch said to each of its messages, in their order.
pub type Outcome = Result<Vec<Said>, Failure>;

/// What a switch said to one message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Said {
    /// Nothing, and it was to say nothing: the message took effect.
    Done,
    /// The reply of the switch.
    Reply(Reply),
    /// It refused.
    Refused(Box<SwitchError>),
    /// More than is kept of one switch's replies at a time: ask for less.
    TooMuch,
}

/// Why the outcome of a command is not known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Failure {
    /// No switch of this name is connected. Nothing was sent.
    NotConnected,
    /// A message cannot be said in the version that the switch speaks. Nothing was sent.
    Unsayable {
        /// The place of the message, from 0.
        place: usize,
        /// What cannot be said.
        why: EncodeError,
    },
    /// More messages, or longer ones, than one command may have. Nothing was sent.
    TooLong,
    /// The controller or the switch has as many commands in hand as it may, or the switch does not
    /// read. Nothing was sent.
    Busy,
    /// The connection ended first. The messages may have taken effect, or some of them.
    Disconnected(Close),
    /// The deadline passed first. The messages may have taken effect, or some of them, or may yet.
    TooLate,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::NotConnected => f.write_str("the switch is not connected"),
            Failure::Unsayable { place, why } => write!(f, "message {}: {why}", place + 1),
            Failure::TooLong => write!(
                f,
                "a command has {COMMAND_MESSAGES_MAX} messages and {COMMAND_BYTES_MAX} bytes at most"
            ),
            Failure::Busy => f.write_str(
                "too many commands wait already, or the switch does not read what it is sent; try again",
            ),
            Failure::Disconnected(why) => write!(f, "the connection ended before the answer: {why}"),
            Failure::TooLate => f.write_str("the switch did not answer in time"),
        }
    }
}

impl core::error::Error for Failure {}

/// A switch's reply to one message: one message, or several parts of one answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reply {
    version: Version,
    bytes: Vec<u8>,
}

impl Reply {
    /// Whole messages of a switch that speaks `version`, one behind the other.
    pub fn new(version: Version, bytes: Vec<u8>) -> Reply {
        Reply { version, bytes }
    }

    /// Bytes that it holds.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Its messages, in neutral words.
    ///
    /// # Errors
    /// Those that cannot be read.
    pub fn messages(&self) -> impl Iterator<Item = Result<Message, Malformed>> {
        self.exact().map(|message| message.map(Message::meaning))
    }

    /// Its messages, in the words of the switch's version where the neutral ones would leave
    /// something out.
    ///
    /// # Errors
    /// Those that cannot be read.
    pub fn exact(&self) -> impl Iterator<Item = Result<Message, Malformed>> {
        let version = self.version;
        let decode = move |bytes| Message::decode(version, bytes).map(|(_, message)| message);
        Chop::new(&self.bytes).map(move |raw| raw.and_then(|raw| decode(raw.bytes)))
    }

    /// The statistics that it holds, its parts joined.
    ///
    /// # Errors
    /// It holds none, or cannot be read.
    pub fn stats(&self) -> Result<StatsReplyBody, Malformed> {
        let join = |all: Option<StatsReplyBody>, part: Result<StatsReplyBody, _>| match all {
            None => part.map(Some),
            Some(mut all) => all.append(part?).map(|()| Some(all)).map_err(|_| NOT_THAT),
        };
        self.parts().try_fold(None, join)?.ok_or(NOT_THAT)
    }

    /// The same, part by part as they came: a long answer takes several times its bytes where all
    /// of it is held at once.
    ///
    /// # Errors
    /// A part is no statistics, or cannot be read.
    pub fn parts(&self) -> impl Iterator<Item = Result<StatsReplyBody, Malformed>> {
        self.messages().map(|message| match message? {
            Message::StatsReply(reply) => Ok(reply.body),
            _ => Err(NOT_THAT),
        })
    }

    /// The flows that it names, one after the other.
    ///
    /// # Errors
    /// A part names none, or cannot be read.
    pub fn flows(&self) -> impl Iterator<Item = Result<FlowStats, Malformed>> {
        self.parts().flat_map(|part| match part {
            Ok(StatsReplyBody::Flow(flows)) => Each::Of(flows.into_iter()),
            Ok(_) => Each::Not(Some(NOT_THAT)),
            Err(why) => Each::Not(Some(why)),
        })
    }

    /// The groups that it describes, one after the other.
    ///
    /// # Errors
    /// A part describes none, or cannot be read.
    pub fn groups(&self) -> impl Iterator<Item = Result<GroupDesc, Malformed>> {
        self.parts().flat_map(|part| match part {
            Ok(StatsReplyBody::GroupDesc(groups)) => Each::Of(groups.into_iter()),
            Ok(_) => Each::Not(Some(NOT_THAT)),
            Err(why) => Each::Not(Some(why)),
        })
    }
}

/// A part of a reply is of another kind than was asked for.
const NOT_THAT: Malformed =
    Malformed { field: "multipart.type", offset: 8, reason: Reason::BadValue };

/// What one part of a reply has.
enum Each<T> {
    Of(vec::IntoIter<T>),
    Not(Option<Malformed>),
}

impl<T> Iterator for Each<T> {
    type Item = Result<T, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Each::Of(all) => all.next().map(Ok),
            Each::Not(why) => why.take().map(Err),
        }
    }
}
