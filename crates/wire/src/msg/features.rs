//! What a switch says of itself when it is asked (OpenFlow 1.0 §5.3.1, 1.3.5 §7.3.1).

use alloc::vec::Vec;

use super::{Capabilities, Port};
use crate::types::DatapathId;
use crate::v10::ActionBits;

/// What a switch is and what it can do.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Features {
    /// Its name.
    pub datapath_id: DatapathId,
    /// How many packets it can hold back at once.
    pub n_buffers: u32,
    /// How many flow tables it has, numbered from 0.
    pub n_tables: u8,
    /// 0 on the main connection; otherwise which auxiliary one this is. 1.0 has none.
    pub auxiliary_id: u8,
    /// What it supports. `OFPC_ARP_MATCH_IP` of 1.0 stands where 1.0 has it (bit 7); `OFPC_STP` has
    /// no place here.
    pub capabilities: Capabilities,
    /// The actions that it supports, where it says so here: 1.0 alone does.
    pub actions: Option<ActionBits>,
    /// Its ports: 1.0 lists them here; 1.3 is asked for them with
    /// [`StatsRequest`](super::StatsRequest).
    pub ports: Vec<Port>,
}
