//! Flows, groups and meters of a guest: marked as its own, and within its grant.

use aldis_wire::msg::{
    Field, FlowMod, FlowModCommand, GroupMod, GroupNo, Instruction, Match, Message, MeterMod,
    MeterNo, PortNo, TableNo,
};
use aldis_wire::{NO_BUFFER, Raw, Version};

use super::Inbound;
use crate::limits::PORTS_SPLIT_MAX;
use crate::refusal::Refusal;

/// Where the cookie of a FLOW_MOD of 1.0 is, and how long one is at least.
const COOKIE_V10: std::ops::Range<usize> = 48..56;
const LEN_V10: usize = 72;

/// The same of 1.3, with the mask behind the cookie, and where the command is (1.3.5 §7.3.4.2).
const COOKIE_V13: std::ops::Range<usize> = 8..16;
const MASK_V13: std::ops::Range<usize> = 16..24;
const TABLE_V13: usize = 24;
const COMMAND_V13: usize = 25;
const PRIORITY_V13: std::ops::Range<usize> = 30..32;
const MATCH_LEN_V13: std::ops::Range<usize> = 50..52;
const LEN_V13: usize = 56;

/// Where the fields of an empty match end.
const EMPTY_MATCH: u64 = 4;

impl Inbound<'_> {
    /// Passes a flow on as it is, but for its cookie: the grant is of everything, and the switch
    /// speaks the guest's version.
    pub(super) fn pass_flow(&mut self, raw: Raw<'_>) -> Result<(), Refusal> {
        let (bytes, xid) = (raw.bytes, raw.header.xid);
        let cookies = &self.datapath.guest.cookies;
        if self.version == Version::V10 {
            if bytes.len() < LEN_V10 {
                return Err(Refusal::Malformed);
            }
            let cookie = cookies.on_switch(number(bytes, COOKIE_V10)).ok_or(Refusal::Full)?;
            return self.datapath.kept().flow_mod(bytes, (xid, cookie), self.relay);
        }
        if bytes.len() < LEN_V13 {
            return Err(Refusal::Malformed);
        }
        let (cookie, mask) = (number(bytes, COOKIE_V13), number(bytes, MASK_V13));
        let is_add = FlowModCommand(bytes[COMMAND_V13]) == FlowModCommand::ADD;
        if is_add && is_table_miss(bytes) {
            // It is decoded: the one that the controller needs stays.
            let decoded = Message::decode(self.version, bytes).map_err(|_| Refusal::Malformed)?;
            let Message::FlowMod(flow) = decoded.1.meaning() else {
                return Err(Refusal::Malformed);
            };
            return self.flow_mod(xid, flow);
        }
        let (cookie, mask) = match is_add {
            true => (cookies.on_switch(cookie).ok_or(Refusal::Full)?, mask),
            false => cookies.filter(cookie, mask).ok_or(Refusal::Flow)?,
        };
        let at = self.relay.bytes.len();
        self.relay.push_raw(bytes, xid);
        let message = &mut self.relay.bytes[at..];
        message[COOKIE_V13].copy_from_slice(&cookie.to_be_bytes());
        message[MASK_V13].copy_from_slice(&mask.to_be_bytes());
        Ok(())
    }

    /// Passes a flow on within the grant: as several, where the grant names ports and the flow
    /// does not.
    pub(super) fn flow_mod(&mut self, xid: u32, mut flow: FlowMod) -> Result<(), Refusal> {
        let guest = &self.datapath.guest;
        let grant = &guest.grant;
        let is_delete =
            matches!(flow.command, FlowModCommand::DELETE | FlowModCommand::DELETE_STRICT);
        let is_strict = !matches!(flow.command, FlowModCommand::MODIFY | FlowModCommand::DELETE);
        let every_table = is_delete && flow.table_id == TableNo::ALL;
        if !every_table && !grant.has_table(flow.table_id.0) {
            return Err(Refusal::Table);
        }
        if is_strict && !grant.has_priority(flow.priority) {
            return Err(Refusal::Flow);
        }
        if !grant.is_whole() && flow.buffer_id != NO_BUFFER && !is_delete {
            return Err(Refusal::Buffer);
        }
        self.instructions(&mut flow)?;
        if self.keeps_table_miss(&flow) {
            return Ok(());
        }
        let is_by_cookie = self.datapath.info.version == Version::V13;
        if flow.command == FlowModCommand::ADD || !is_by_cookie {
            flow.cookie = guest.cookies.on_switch(flow.cookie).ok_or(Refusal::Full)?;
            (flow.cookie_mask, flow.table_id) = match is_by_cookie {
                true => (flow.cookie_mask, flow.table_id),
                // 1.0 has neither.
                false => (0, TableNo(0)),
            };
        } else {
            let own = guest.cookies.filter(flow.cookie, flow.cookie_mask);
            (flow.cookie, flow.cookie_mask) = own.ok_or(Refusal::Flow)?;
        }
        for match_ in self.matches(&flow)? {
            self.pass_one(xid, FlowMod { match_, ..flow.clone() })?;
        }
        Ok(())
    }

    fn pass_one(&mut self, xid: u32, flow: FlowMod) -> Result<(), Refusal> {
        if self.datapath.info.version == Version::V13 {
            return self.pass(xid, &Message::FlowMod(flow));
        }
        let (mut message, cookie) = (vec![], flow.cookie);
        let encoded = Message::FlowMod(flow).encode(Version::V10, 0, &mut message);
        encoded.map_err(|_| Refusal::Type)?;
        self.datapath.kept().flow_mod(&message, (xid, cookie), self.relay)
    }

    /// The matches that together are that of the flow within the grant.
    fn matches(&self, flow: &FlowMod) -> Result<Vec<Match>, Refusal> {
        let grant = &self.datapath.guest.grant;
        let narrowed = grant.narrowed(&flow.match_).map_err(|_| Refusal::Flow)?;
        let in_port = narrowed.fields.iter().find_map(|field| match field {
            Field::InPort(port) => Some(*port),
            _ => None,
        });
        match in_port {
            Some(port) if !grant.has_port(port) => Err(Refusal::Flow),
            // A deletion finds the guest's flows by their cookies.
            None if grant.has_ports_named() && flow.command != FlowModCommand::DELETE => {
                let ports = self.datapath.granted_ports();
                if ports.len() > PORTS_SPLIT_MAX {
                    return Err(Refusal::Flow);
                }
                let at_port = |port: PortNo| {
                    let mut fields = vec![Field::InPort(port)];
                    fields.extend(narrowed.fields.iter().cloned());
                    Match { fields }
                };
                Ok(ports.into_iter().map(at_port).collect())
            }
            _ => Ok(vec![narrowed]),
        }
    }

    fn instructions(&self, flow: &mut FlowMod) -> Result<(), Refusal> {
        let grant = &self.datapath.guest.grant;
        for instruction in &mut flow.instructions {
            match instruction {
                Instruction::GotoTable(table) if !grant.has_table(table.0) => {
                    return Err(Refusal::Table);
                }
                Instruction::Meter(meter) if !grant.has_meter(meter.0) => {
                    return Err(Refusal::Meter);
                }
                Instruction::ApplyActions(actions) | Instruction::WriteActions(actions) => {
                    *actions = self.actions(std::mem::take(actions))?;
                }
                Instruction::Experimenter { .. } | Instruction::Unknown { .. }
                    if !grant.is_whole() =>
                {
                    return Err(Refusal::Action);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Whether it is the flow by which packets that match nothing come to the controller. It is
    /// there, and belongs to all.
    fn keeps_table_miss(&self, flow: &FlowMod) -> bool {
        let is_miss = flow.command == FlowModCommand::ADD
            && flow.table_id == TableNo(0)
            && flow.priority == 0
            && flow.match_.fields.is_empty();
        let asks = |instruction: &Instruction| match instruction {
            Instruction::ApplyActions(actions) => matches!(
                actions[..],
                [aldis_wire::msg::Action::Output { port: PortNo::CONTROLLER, .. }]
            ),
            _ => false,
        };
        is_miss && flow.instructions.len() == 1 && flow.instructions.iter().all(asks)
    }

    /// "All groups" are those of the guest.
    pub(super) fn delete_groups(&mut self, xid: u32, change: &GroupMod) -> Result<(), Refusal> {
        let groups = self.datapath.kept().groups.take();
        for group in groups {
            let one = GroupMod { group_id: GroupNo(group), ..change.clone() };
            self.pass(xid, &Message::GroupMod(one))?;
        }
        Ok(())
    }

    /// "All meters" are those of the guest.
    pub(super) fn delete_meters(&mut self, xid: u32, change: &MeterMod) -> Result<(), Refusal> {
        let meters = self.datapath.kept().meters.take();
        for meter in meters {
            let one = MeterMod { meter_id: MeterNo(meter), ..change.clone() };
            self.pass(xid, &Message::MeterMod(one))?;
        }
        Ok(())
    }
}

/// Whether a FLOW_MOD of 1.3 is about packets that match nothing else in the first table.
fn is_table_miss(bytes: &[u8]) -> bool {
    bytes[TABLE_V13] == 0
        && bytes[PRIORITY_V13] == [0, 0]
        && number(bytes, MATCH_LEN_V13) == EMPTY_MATCH
}

/// The number that stands there; at most eight bytes.
fn number(bytes: &[u8], at: std::ops::Range<usize>) -> u64 {
    bytes[at].iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}
