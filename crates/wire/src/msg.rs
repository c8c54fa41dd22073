//! The version-neutral vocabulary that applications speak.
//!
//! 1.3 says nearly all that 1.0 says, and more; so the words here are those of 1.3, re-exported
//! where they mean the same in every version. Port numbers are those of 1.3 (32 bits, reserved ones
//! from `0xffff_ff00` up) whatever the switch speaks. [`Message`] is any message; [`FlowMod::add`],
//! [`FlowMod::delete`], [`Match::new`] and [`PacketOut::flood`] are where most of them begin.
//!
//! Two laws, both tested:
//! - What came from a switch goes back to it byte by byte. A message that has no neutral form, or
//!   whose neutral form would be written with other bytes, is carried exactly ([`Message::Other`]);
//!   [`Message::meaning`] gives what it means, where the neutral words can say it.
//! - What a version cannot say is refused by name ([`Unsupported`]), never left out.
//!
//! Where 1.0 does more than it is asked, nothing can be refused, and this is what an application
//! has to know of it: an ADD always resets the counters, with [`FlowModFlags::RESET_COUNTS`] or
//! without; a MODIFY that finds no flow adds one; a flow without wildcards wins over all others,
//! whatever its priority.

mod error;
mod features;
mod flow_mod;
mod packet_out;
mod port;
mod text;
mod unsupported;
mod words;

pub use crate::v13::action::Action;
pub use crate::v13::async_config::AsyncConfig;
pub use crate::v13::bucket::{Bucket, GroupNo};
pub use crate::v13::config::{ConfigFlags, SwitchConfig};
pub use crate::v13::echo::Echo;
pub use crate::v13::experimenter::Experimenter;
pub use crate::v13::features::Capabilities;
pub use crate::v13::flow_mod::{FlowMod, FlowModCommand, FlowModFlags};
pub use crate::v13::flow_removed::{FlowRemoved, FlowRemovedReason};
pub use crate::v13::group_mod::{GroupMod, GroupModCommand, GroupType};
pub use crate::v13::hello::Hello;
pub use crate::v13::instruction::Instruction;
pub use crate::v13::match_::Match;
pub use crate::v13::meter_band::MeterBand;
pub use crate::v13::meter_mod::{MeterFlags, MeterMod, MeterModCommand, MeterNo};
pub use crate::v13::oxm::{Masked, Oxm as Field};
pub use crate::v13::packet_in::{PacketIn, PacketInReason};
pub use crate::v13::packet_out::PacketOut;
pub use crate::v13::port_mod::PortMod;
pub use crate::v13::queue::{
    PacketQueue, QueueGetConfigReply, QueueGetConfigRequest, QueueNo, QueueProperty,
};
pub use crate::v13::role::{Role, RoleMessage};
pub use crate::v13::stats::{
    AggregateStats, Desc, ExperimenterStats, FlowStats, FlowStatsRequest, GroupDesc, GroupFeatures,
    GroupStats, GroupStatsRequest, MeterConfig, MeterFeatures, MeterRequest, MeterStats,
    MultipartFlags as StatsFlags, MultipartReply as StatsReply,
    MultipartReplyBody as StatsReplyBody, MultipartRequest as StatsRequest,
    MultipartRequestBody as StatsRequestBody, PortStats, PortStatsRequest, QueueStats,
    QueueStatsRequest, TableFeatures, TableProperty, TableStats,
};
pub use crate::v13::table_mod::{TableMod, TableNo};
pub use error::{ErrorCode, SwitchError};
pub use features::Features;
pub use flow_mod::DEFAULT_PRIORITY;
pub use packet_out::PacketOutHead;
pub use port::{Port, PortChange, PortChangeReason, PortDetails, PortNo};
pub use text::{Incomplete, Misread};
pub use unsupported::{EncodeError, Unsupported};

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::header::Version;
use crate::reader::Malformed;
use crate::{v10, v13};

/// Any message, whatever the version.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub enum Message {
    /// Opens a connection, from both ends.
    Hello(Hello),
    /// Something could not be done.
    Error(SwitchError),
    /// Are you there?
    EchoRequest(Echo),
    /// Yes, and here are your bytes.
    EchoReply(Echo),
    /// Defined by an experimenter (a vendor, as 1.0 has it).
    Experimenter(Experimenter),
    /// Asks the switch what it is and what it can do.
    FeaturesRequest,
    /// The answer.
    FeaturesReply(Features),
    /// How are you configured?
    GetConfigRequest,
    /// The answer.
    GetConfigReply(SwitchConfig),
    /// Configures fragment handling, and how much of a packet a PACKET_IN carries.
    SetConfig(SwitchConfig),
    /// A packet for the controller. 1.0 says of the match no more than the port.
    PacketIn(PacketIn),
    /// A flow is gone.
    FlowRemoved(FlowRemoved),
    /// A port came, went or changed.
    PortChange(PortChange),
    /// Sends a packet.
    PacketOut(PacketOut),
    /// Changes flows.
    FlowMod(FlowMod),
    /// Changes groups.
    GroupMod(GroupMod),
    /// Changes the behaviour of a port.
    PortMod(PortMod),
    /// Changes the configuration of a table.
    TableMod(TableMod),
    /// Asks for statistics or a description. 1.3 alone is asked for its ports in this way.
    StatsRequest(StatsRequest),
    /// The answer, or a part of it.
    StatsReply(StatsReply),
    /// Finish what came before, then answer.
    BarrierRequest,
    /// Finished.
    BarrierReply,
    /// Which queues has this port?
    QueueGetConfigRequest(QueueGetConfigRequest),
    /// These.
    QueueGetConfigReply(QueueGetConfigReply),
    /// Asks for a role.
    RoleRequest(RoleMessage),
    /// The role that is.
    RoleReply(RoleMessage),
    /// Which events does this controller get?
    GetAsyncRequest,
    /// These.
    GetAsyncReply(AsyncConfig),
    /// Chooses which events this controller gets.
    SetAsync(AsyncConfig),
    /// Changes meters.
    MeterMod(MeterMod),
    /// A message that the neutral words would not give back exactly.
    Other(Exact),
}

/// A message in the exact words of its version.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub enum Exact {
    /// Of OpenFlow 1.0.
    V10(Box<v10::Message>),
    /// Of OpenFlow 1.3.
    V13(Box<v13::Message>),
}

impl Message {
    /// Reads one whole message, header included, and gives its transaction id with it.
    ///
    /// # Errors
    /// [`Malformed`] names the first field that cannot be.
    pub fn decode(version: Version, bytes: &[u8]) -> Result<(u32, Message), Malformed> {
        match version {
            Version::V10 => v10::Message::decode(bytes)
                .map(|(xid, exact)| (xid, v10::convert::to_neutral(exact))),
            Version::V13 => v13::Message::decode(bytes)
                .map(|(xid, exact)| (xid, v13::convert::to_neutral(exact))),
        }
    }

    /// Appends the message to `out`, with its header, as `version` says it.
    ///
    /// # Errors
    /// The version cannot say it, or it is too long; `out` is then unchanged.
    pub fn encode(&self, version: Version, xid: u32, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        match version {
            Version::V10 => v10::convert::from_neutral(self)?.encode(xid, out)?,
            Version::V13 => v13::convert::encode(self, xid, out)?,
        }
        Ok(())
    }

    /// The message in neutral words, for readers of its meaning that do not give it back.
    ///
    /// [`Message::Other`] is left only where the neutral words cannot say it.
    pub fn meaning(self) -> Message {
        let meaning = match &self {
            Message::Other(Exact::V10(exact)) => v10::convert::meaning(exact),
            Message::Other(Exact::V13(exact)) => v13::convert::meaning(exact),
            _ => None,
        };
        meaning.unwrap_or(self)
    }
}

/// Lets a message be sent without being wrapped first.
macro_rules! encodes {
    ($($Body:ident)*) => {
        $(impl From<$Body> for Message {
            fn from(body: $Body) -> Message {
                Message::$Body(body)
            }
        }

        impl $Body {
            /// Appends the message to `out`, with its header, as `version` says it.
            ///
            /// # Errors
            /// The version cannot say it, or it is too long; `out` is then unchanged.
            pub fn encode(self, version: Version, xid: u32, out: &mut Vec<u8>) -> Result<(), EncodeError> {
                Message::from(self).encode(version, xid, out)
            }
        })*
    };
}

encodes! { FlowMod PacketOut GroupMod MeterMod PortMod StatsRequest }
