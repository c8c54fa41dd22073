//! What is shown of a guest.

use aldis_wire::{DatapathId, Version};
use serde::{Deserialize, Serialize};

/// What a guest is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GuestState {
    /// No connection to it is open.
    #[default]
    Away,
    /// It serves at least one switch.
    Serving,
    /// It serves, and does not read as fast as requests come: some are shed.
    Shedding,
    /// It sends more messages than it is handed requests for: it is read more slowly.
    Flooding,
    /// An operator paused it: no request goes to it, and it is not connected.
    Paused,
    /// It misbehaved: it is not connected until it is resumed.
    Quarantined,
}

impl GuestState {
    /// In a word, as JSON spells it.
    pub fn name(self) -> &'static str {
        match self {
            GuestState::Away => "away",
            GuestState::Serving => "serving",
            GuestState::Shedding => "shedding",
            GuestState::Flooding => "flooding",
            GuestState::Paused => "paused",
            GuestState::Quarantined => "quarantined",
        }
    }
}

/// One switch of a guest.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GuestSwitch {
    /// Its datapath id.
    pub dpid: DatapathId,
    /// The version that the guest speaks at it; none where it is not connected.
    pub version: Option<Version>,
    /// Why it is not connected, where there was a reason.
    pub reason: Option<String>,
}

/// What was counted of a guest, at all switches together, since it was added.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct GuestCounts {
    /// Requests that it was handed.
    pub requests: u64,
    /// Requests that found its queue full, or came faster than its rate.
    pub shed: u64,
    /// Requests that came while it was away or paused.
    pub missed: u64,
    /// Messages that it sent.
    pub messages: u64,
    /// Messages of it that are outside of its grant, or that its switch cannot be told.
    pub refused: u64,
    /// Messages of it that could not be read.
    pub faults: u64,
    /// Replies, errors and notices of switches that it was handed.
    pub replies: u64,
    /// Connections that were opened to it.
    pub connections: u64,
}

/// A guest as it is now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GuestStatus {
    /// What is said of it.
    pub spec: crate::GuestSpec,
    /// What it is doing.
    pub state: GuestState,
    /// Why, where there is more to say.
    pub reason: Option<String>,
    /// Its switches, by datapath id.
    pub switches: Vec<GuestSwitch>,
    /// What was counted.
    pub counts: GuestCounts,
}
