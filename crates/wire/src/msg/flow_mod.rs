//! Changing flows: [`FlowMod`] and [`Match`] are built here, field by field.
//!
//! ```
//! use aldis_wire::MacAddr;
//! use aldis_wire::msg::{Action, FlowMod, Match, PortNo};
//!
//! let host = MacAddr([2, 0, 0, 0, 0, 1]);
//! FlowMod::add(Match::new().in_port(PortNo(1)).eth_dst(host)).idle_timeout(5).actions([Action::output(PortNo(2))]);
//! FlowMod::delete(Match::new()).out_port(PortNo(2));
//! ```

use alloc::vec;
use alloc::vec::Vec;

use super::{
    Action, Field, FlowMod, FlowModCommand, FlowModFlags, GroupNo, Instruction, Masked, Match,
    PortNo, TableNo,
};
use crate::types::{MacAddr, NO_BUFFER};
use crate::v13::oxm::{VID_NONE, VID_PRESENT};

/// The priority of a flow that was given no other (`OFP_DEFAULT_PRIORITY`).
pub const DEFAULT_PRIORITY: u16 = 0x8000;

/// How a change to the flows of a switch is put together.
impl FlowMod {
    /// Adds a flow to the first table, in place of one with the same match and priority. Without
    /// actions it drops.
    pub fn add(match_: Match) -> FlowMod {
        FlowMod::new(FlowModCommand::ADD, TableNo(0), match_)
    }

    /// Changes what all matching flows of the first table do.
    pub fn modify(match_: Match) -> FlowMod {
        FlowMod::new(FlowModCommand::MODIFY, TableNo(0), match_)
    }

    /// Removes all matching flows of every table, also those that match more closely.
    pub fn delete(match_: Match) -> FlowMod {
        FlowMod::new(FlowModCommand::DELETE, TableNo::ALL, match_)
    }

    /// Removes the flow of exactly this match and [`priority`](FlowMod::priority) from every table.
    pub fn delete_strict(match_: Match) -> FlowMod {
        FlowMod::new(FlowModCommand::DELETE_STRICT, TableNo::ALL, match_)
    }

    fn new(command: FlowModCommand, table_id: TableNo, match_: Match) -> FlowMod {
        FlowMod {
            cookie: 0,
            cookie_mask: 0,
            table_id,
            command,
            idle_timeout: 0,
            hard_timeout: 0,
            priority: DEFAULT_PRIORITY,
            buffer_id: NO_BUFFER,
            out_port: PortNo::ANY,
            out_group: GroupNo::ANY,
            flags: FlowModFlags::EMPTY,
            match_,
            instructions: Vec::new(),
        }
    }

    /// In this table.
    pub fn table(self, table_id: TableNo) -> FlowMod {
        FlowMod { table_id, ..self }
    }

    /// The higher of two matching flows wins.
    pub fn priority(self, priority: u16) -> FlowMod {
        FlowMod { priority, ..self }
    }

    /// The controller's mark on the flow.
    pub fn cookie(self, cookie: u64) -> FlowMod {
        FlowMod { cookie, ..self }
    }

    /// For changes and removals: only flows whose cookie has the bits of `cookie` that are set in
    /// `mask`.
    pub fn only_cookie(self, cookie: u64, cookie_mask: u64) -> FlowMod {
        FlowMod { cookie, cookie_mask, ..self }
    }

    /// Removed after so many seconds without a packet; 0 for never.
    pub fn idle_timeout(self, idle_timeout: u16) -> FlowMod {
        FlowMod { idle_timeout, ..self }
    }

    /// Removed after so many seconds in any case; 0 for never.
    pub fn hard_timeout(self, hard_timeout: u16) -> FlowMod {
        FlowMod { hard_timeout, ..self }
    }

    /// Sends this buffered packet through the flow.
    pub fn buffer(self, buffer_id: u32) -> FlowMod {
        FlowMod { buffer_id, ..self }
    }

    /// For removals: only flows with an output to this port.
    pub fn out_port(self, out_port: PortNo) -> FlowMod {
        FlowMod { out_port, ..self }
    }

    /// For removals: only flows that lead to this group.
    pub fn out_group(self, out_group: GroupNo) -> FlowMod {
        FlowMod { out_group, ..self }
    }

    /// With these flags besides those it has.
    pub fn flags(self, flags: FlowModFlags) -> FlowMod {
        FlowMod { flags: self.flags | flags, ..self }
    }

    /// Does this and no more, at once and in this order.
    pub fn actions(self, actions: impl IntoIterator<Item = Action>) -> FlowMod {
        let instructions = vec![Instruction::ApplyActions(actions.into_iter().collect())];
        FlowMod { instructions, ..self }
    }

    /// Does this after what it does already.
    pub fn then(mut self, instruction: Instruction) -> FlowMod {
        self.instructions.push(instruction);
        self
    }
}

/// How a match is put together. A field that needs others (`ETH_TYPE` before `IPV4_DST`) comes
/// after them.
impl Match {
    /// Every packet.
    pub fn new() -> Match {
        Match::default()
    }

    /// Of these, only packets with this field too.
    pub fn with(mut self, field: Field) -> Match {
        self.fields.push(field);
        self
    }

    /// That came in by this port.
    pub fn in_port(self, port: PortNo) -> Match {
        self.with(Field::InPort(port))
    }

    /// From this Ethernet address.
    pub fn eth_src(self, mac: MacAddr) -> Match {
        self.with(Field::EthSrc(Masked::exact(mac)))
    }

    /// To this Ethernet address.
    pub fn eth_dst(self, mac: MacAddr) -> Match {
        self.with(Field::EthDst(Masked::exact(mac)))
    }

    /// Of this type, after VLAN tags.
    pub fn eth_type(self, eth_type: u16) -> Match {
        self.with(Field::EthType(eth_type))
    }

    /// With a VLAN tag of this id, 0 to 4095.
    pub fn vlan(self, vid: u16) -> Match {
        self.with(Field::VlanVid(Masked::exact(VID_PRESENT | vid & 0x0fff)))
    }

    /// Without a VLAN tag.
    pub fn untagged(self) -> Match {
        self.with(Field::VlanVid(Masked::exact(VID_NONE)))
    }
}
