//! Which way a packet takes through one switch, by the flows and groups that the switch says it has
//! (OpenFlow 1.3.5 §5): the tables one after the other, the actions, and the ports by which it
//! leaves. Nothing is sent.
//!
//! A packet is the fields that matches can ask for, and no bytes; fields that were not given are
//! zero where the packet has them. What cannot be known from outside is said: which bucket of a
//! `select` group a switch takes, what `normal` does, fields of other classes.
//!
//! What a switch says is hostile: groups that lead to each other multiply a packet without end. A
//! [`Budget`] bounds what a trace reads and answers; a bound that is reached is a [`Cut`].

mod budget;
mod of_v10;
#[cfg(test)]
mod tests;

use core::fmt;
use std::collections::BTreeMap;
use std::rc::Rc;

use aldis_packet::{ethertype, protocol};
use aldis_wire::msg::{
    Action, Field, FlowStats, GroupDesc, GroupNo, GroupType, Instruction, Masked, Match, Port,
    PortNo, TableNo,
};
use aldis_wire::{Malformed, Version};

use crate::match_bits::{PRESENT, PacketBits, TernaryMatch, bits, number};

use budget::Stop;
pub use budget::{
    ANSWER_MAX, Budget, Cut, GROUP_DEPTH_MAX, GROUP_PARTS_MAX, OUT_BYTES, OUTS_MAX, STEPS_MAX,
};

/// VLAN tags of a packet.
const TAGS_MAX: usize = 4;

/// A packet as far as switches look at it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TracePacket {
    fields: PacketBits,
    /// What was said of it, or set: by the number of the field.
    said: Vec<(usize, Field)>,
    /// Identifiers and priorities of the tags below the outermost.
    inner: Vec<u16>,
}

/// Why fields are no packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NoPacket {
    /// A field has a mask, or is of a class that is not known here: its value is not known.
    Masked(String),
}

impl fmt::Display for NoPacket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NoPacket::Masked(name) = self;
        write!(f, "{name}: a packet has one value of each field, without a mask")
    }
}

impl TracePacket {
    /// The packet with these fields, which comes in by a port. What it has beside them is zero.
    ///
    /// # Errors
    /// A field with a mask.
    pub fn of(in_port: PortNo, said: &Match) -> Result<TracePacket, NoPacket> {
        let mut packet = TracePacket { fields: PacketBits::nothing(), said: vec![], inner: vec![] };
        for field in said.fields.iter().filter(|field| !matches!(field, Field::InPort(_))) {
            let known = bits(field);
            let place = usize::from(known.field);
            if known.mask != u128::MAX || !packet.fields.has_room(place) {
                return Err(NoPacket::Masked(field.in_words().0));
            }
            packet.fields.set(place, known.value);
            packet.said.push((place, field.clone()));
        }
        packet.enter(in_port);
        Ok(packet)
    }

    /// The same, coming in by a port of another switch.
    pub fn enter(&mut self, in_port: PortNo) {
        for field in [number::IN_PORT, number::IN_PHY_PORT] {
            self.fields.set(field, in_port.0);
        }
        self.fields.set(number::METADATA, 0u8);
        self.complete();
    }

    /// The port by which it came in.
    pub fn in_port(&self) -> PortNo {
        PortNo(self.fields.get(number::IN_PORT).unwrap_or_default() as u32)
    }

    /// Whether it is one of those that match.
    pub fn is_of(&self, match_: &Match) -> bool {
        TernaryMatch::of(match_).matches(&self.fields)
    }

    /// Its fields, as they were said and set; the others are zero.
    pub fn in_words(&self) -> impl Iterator<Item = (String, String)> {
        self.said.iter().map(|(_, field)| field.in_words())
    }

    /// Fields that a packet of its kind has are zero where no value was given.
    fn complete(&mut self) {
        use number::*;
        self.zero(&[ETH_DST, ETH_SRC, ETH_TYPE, VLAN_VID, TUNNEL_ID]);
        let of = |place| self.fields.get(place);
        let (kind, tagged) = (of(ETH_TYPE), of(VLAN_VID).is_some_and(|vid| vid & PRESENT != 0));
        let ip = [Some(ethertype::IPV4), Some(ethertype::IPV6)].map(|kind| kind.map(u128::from));
        let proto = of(IP_PROTO).unwrap_or(0) as u8;
        let mut more: Vec<usize> = vec![];
        if tagged {
            more.push(VLAN_PCP);
        }
        if kind == Some(ethertype::ARP.into()) {
            more.extend([ARP_OP, ARP_SPA, ARP_TPA, ARP_SHA, ARP_THA]);
        }
        if ip.contains(&kind) {
            more.extend([IP_DSCP, IP_ECN, IP_PROTO]);
            more.extend(match kind == ip[0] {
                true => &[IPV4_SRC, IPV4_DST][..],
                false => &[IPV6_SRC, IPV6_DST, IPV6_FLABEL][..],
            });
            more.extend(match (proto, kind == ip[0]) {
                (protocol::TCP, _) => &[TCP_SRC, TCP_DST][..],
                (protocol::UDP, _) => &[UDP_SRC, UDP_DST][..],
                (132, _) => &[SCTP_SRC, SCTP_DST][..],
                (protocol::ICMP, true) => &[ICMPV4_TYPE, ICMPV4_CODE][..],
                (protocol::ICMPV6, false) => &[ICMPV6_TYPE, ICMPV6_CODE][..],
                _ => &[],
            });
        }
        self.zero(&more);
    }

    fn zero(&mut self, places: &[usize]) {
        for place in places {
            if self.fields.get(*place).is_none() {
                self.fields.set(*place, 0u8);
            }
        }
    }

    fn tag(&self) -> Option<u16> {
        let vid = self.fields.get(number::VLAN_VID).filter(|vid| vid & PRESENT != 0)?;
        let pcp = self.fields.get(number::VLAN_PCP).unwrap_or(0);
        Some((pcp << 13 | vid & 0x0fff) as u16)
    }

    fn note(&mut self, field: Field) {
        let place = usize::from(bits(&field).field);
        self.said.retain(|(other, _)| *other != place);
        self.said.push((place, field));
    }

    fn set_tag(&mut self, tag: Option<u16>) {
        self.said.retain(|(place, _)| ![number::VLAN_VID, number::VLAN_PCP].contains(place));
        match tag {
            Some(tag) => {
                self.fields.set(number::VLAN_VID, PRESENT | u128::from(tag & 0x0fff));
                self.fields.set(number::VLAN_PCP, tag >> 13);
                self.note(Field::VlanVid(Masked::exact(PRESENT as u16 | tag & 0x0fff)));
                self.note(Field::VlanPcp((tag >> 13) as u8));
            }
            None => {
                self.fields.set(number::VLAN_VID, 0u8);
                self.fields.unset(number::VLAN_PCP);
            }
        }
    }

    fn push_vlan(&mut self) {
        if let Some(outer) = self.tag()
            && self.inner.len() < TAGS_MAX
        {
            self.inner.push(outer);
        }
        self.set_tag(Some(0));
    }

    fn pop_vlan(&mut self) {
        let inner = self.inner.pop();
        self.set_tag(inner);
    }

    /// Sets a field, if the packet has it.
    fn set(&mut self, field: &Field, version: Version) {
        let known = bits(field);
        let place = usize::from(known.field);
        let of_tag = matches!(field, Field::VlanVid(_) | Field::VlanPcp(_));
        if of_tag && self.tag().is_none() && version == Version::V10 {
            // OpenFlow 1.0 adds the tag (1.0 §3.3).
            self.set_tag(Some(0));
        }
        let Some(old) = self.fields.get(place).filter(|_| !of_tag || self.tag().is_some()) else {
            return;
        };
        let mut value = old & !known.mask | known.value & known.mask;
        if matches!(field, Field::VlanVid(_)) {
            value |= PRESENT;
        }
        self.fields.set(place, value);
        self.note(field.clone());
    }
}

/// Things that a switch has, one after the other: no more than one message of them has to be held
/// at once.
pub type Each<'s, T> = Box<dyn Iterator<Item = Result<T, Malformed>> + 's>;

/// What a switch says it has. It is gone through once for each table that a packet passes.
pub trait Listing: fmt::Debug {
    /// Its flows.
    fn flows(&self) -> Each<'_, FlowStats>;
    /// Its groups.
    fn groups(&self) -> Each<'_, GroupDesc>;
}

/// What a switch has.
#[derive(Clone, Copy, Debug)]
pub struct Program<'s> {
    /// The version that it speaks.
    pub version: Version,
    /// Its flows and groups.
    pub listing: &'s dyn Listing,
    /// Its ports.
    pub ports: &'s [Port],
}

/// What happened to a packet at a switch.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Traced {
    /// The tables that it passed, each with the flow that decided.
    pub tables: Vec<(u8, Option<FlowStats>)>,
    /// What was done with it in all, in words, in order.
    pub did: Vec<String>,
    /// What left, in order.
    pub outs: Vec<TraceOutput>,
    /// Bounds that were reached, each once: without them there might be more.
    pub cuts: Vec<Cut>,
}

/// A packet that leaves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceOutput {
    /// By this port, or the controller or the switch itself.
    pub port: PortNo,
    /// As it is by then.
    pub packet: TracePacket,
    /// Whether another way may be taken instead: the switch chooses among buckets of a group, and
    /// does not say how.
    pub maybe: bool,
}

/// Where a packet goes by what a switch has.
///
/// # Errors
/// What the switch says it has cannot be read.
pub fn trace(
    program: Program<'_>,
    packet: &TracePacket,
    budget: &mut Budget,
) -> Result<Traced, Malformed> {
    let up = |port: &Port| (port.number, port.is_up());
    let mut way = Way {
        program,
        budget,
        // Of several with one number, the first.
        ports: program.ports.iter().rev().map(up).collect(),
        groups: None,
        path: vec![],
        packet: packet.clone(),
        maybe: false,
        traced: Traced::default(),
    };
    match way.tables() {
        Ok(()) => {}
        Err(Stop::Cut(cut)) => way.cut(cut),
        Err(Stop::Unreadable(why)) => return Err(why),
    }
    Ok(way.traced)
}

/// The groups of a switch, as far as they are read.
type TraceGroups = BTreeMap<GroupNo, GroupDesc>;

struct Way<'s, 'b> {
    program: Program<'s>,
    budget: &'b mut Budget,
    /// Its ports by number, and whether each is up.
    ports: BTreeMap<PortNo, bool>,
    /// Its groups, once they are asked for, and whether these are all.
    groups: Option<(Rc<TraceGroups>, bool)>,
    /// The groups that the packet is in: one leads to the next.
    path: Vec<GroupNo>,
    packet: TracePacket,
    maybe: bool,
    traced: Traced,
}

impl Way<'_, '_> {
    fn tables(&mut self) -> Result<(), Stop> {
        let mut set: Vec<Action> = vec![];
        let mut next = Some(0);
        while let Some(table) = next {
            let flow = self.find(table)?;
            self.budget.take(flow.as_ref().map_or(0, budget::weight))?;
            self.traced.tables.push((table, flow.clone()));
            let Some(flow) = flow else {
                return match self.program.version {
                    Version::V10 => self.leave(PortNo::CONTROLLER),
                    Version::V13 if set.is_empty() => self.say("no flow matches: dropped"),
                    // 1.3.5 §5.4. Open vSwitch 3.1 does not keep to it.
                    Version::V13 => self.say(
                        "no flow matches: dropped, without its action set, which Open vSwitch carries out nevertheless",
                    ),
                };
            };
            next = self.carry_out(&flow.instructions, &mut set)?.filter(|next| *next > table);
        }
        self.act_in_order(&set)
    }

    /// The flow of the highest priority that matches; of several, the first that the switch named.
    fn find(&mut self, table: u8) -> Result<Option<FlowStats>, Stop> {
        let mut best: Option<FlowStats> = None;
        for flow in self.program.listing.flows() {
            let flow = flow?;
            self.budget.step(1)?;
            if flow.table_id == TableNo(table)
                && best.as_ref().is_none_or(|best| flow.priority > best.priority)
                && TernaryMatch::of(&flow.match_).matches(&self.packet.fields)
            {
                best = Some(flow);
            }
        }
        Ok(best)
    }

    /// The instructions in their order (§5.9), and the table behind.
    fn carry_out(
        &mut self,
        instructions: &[Instruction],
        set: &mut Vec<Action>,
    ) -> Result<Option<u8>, Stop> {
        let mut sorted: Vec<&Instruction> = instructions.iter().collect();
        sorted.sort_by_key(|instruction| match instruction {
            Instruction::Meter(_) => 0,
            Instruction::ApplyActions(_) => 1,
            Instruction::ClearActions(_) => 2,
            Instruction::WriteActions(_) => 3,
            Instruction::WriteMetadata { .. } => 4,
            _ => 5,
        });
        let mut next = None;
        for instruction in sorted {
            match instruction {
                Instruction::Meter(meter) => {
                    let meter = meter.0;
                    self.say(&format!("meter {meter}: may drop it where its rate is exceeded"))?;
                }
                Instruction::ApplyActions(actions) => self.act(actions)?,
                Instruction::ClearActions(_) => set.clear(),
                Instruction::WriteActions(actions) => {
                    for action in actions {
                        self.budget.step(1 + set.len())?;
                        set.retain(|old| !is_same_kind(old, action));
                        set.push(action.clone());
                    }
                }
                Instruction::WriteMetadata { metadata, mask } => {
                    let old = self.packet.fields.get(number::METADATA).unwrap_or(0) as u64;
                    let new = old & !mask | metadata & mask;
                    self.packet.fields.set(number::METADATA, new);
                }
                Instruction::GotoTable(TableNo(table)) => next = Some(*table),
                Instruction::Experimenter { .. } | Instruction::Unknown { .. } => {
                    self.say("an instruction that is not known here: passed over")?;
                }
            }
        }
        Ok(next)
    }

    /// The action set in the order of §5.10; a group comes instead of an output.
    fn act_in_order(&mut self, set: &[Action]) -> Result<(), Stop> {
        let has_group = set.iter().any(|action| matches!(action, Action::Group(_)));
        let mut sorted: Vec<Action> = set.to_vec();
        sorted.retain(|action| !has_group || !matches!(action, Action::Output { .. }));
        sorted.sort_by_key(order);
        self.act(&sorted)
    }

    fn act(&mut self, actions: &[Action]) -> Result<(), Stop> {
        for action in actions {
            self.budget.step(1)?;
            match action {
                Action::Unknown { kind, body } if self.program.version == Version::V10 => {
                    match of_v10::read(kind.0, body, &self.packet) {
                        Some(known) => self.act(&known)?,
                        None => self.not_followed(action)?,
                    }
                    continue;
                }
                Action::Output { port, .. } => self.leave(*port)?,
                Action::Group(group) => self.group(*group)?,
                Action::PushVlan(_) => self.packet.push_vlan(),
                Action::PopVlan => self.packet.pop_vlan(),
                Action::SetField(field) => self.packet.set(field, self.program.version),
                Action::SetQueue(_)
                | Action::SetNwTtl(_)
                | Action::DecNwTtl
                | Action::SetMplsTtl(_)
                | Action::DecMplsTtl
                | Action::CopyTtlIn
                | Action::CopyTtlOut => {}
                other => {
                    self.not_followed(other)?;
                    continue;
                }
            }
            if !matches!(action, Action::Output { .. } | Action::Group(_)) {
                self.say(&action.in_words())?;
            }
        }
        Ok(())
    }

    fn not_followed(&mut self, action: &Action) -> Result<(), Stop> {
        let words = action.in_words();
        self.say(&format!("{words}: not followed, the fields behind it are as before"))
    }

    fn leave(&mut self, port: PortNo) -> Result<(), Stop> {
        let in_port = self.packet.in_port();
        match port {
            PortNo::IN_PORT => self.out(in_port),
            PortNo::FLOOD | PortNo::ALL => {
                let ports = self.program.ports;
                self.budget.step(ports.len())?;
                for port in ports.iter().filter(|port| port.number != in_port && port.is_up()) {
                    // The switch's own is a standard port like others (1.3.5 §4.1).
                    if port.number.is_real() || port.number == PortNo::LOCAL {
                        self.out(port.number)?;
                    }
                }
                Ok(())
            }
            PortNo::NORMAL => self.say("output:normal: the switch forwards it as it knows best"),
            PortNo::CONTROLLER | PortNo::LOCAL => self.out(port),
            same if same == in_port => self.not_out(same, "the port it came from: dropped"),
            other => match self.ports.get(&other) {
                Some(true) => self.out(other),
                Some(false) => self.not_out(other, "the port is down: dropped"),
                None => self.not_out(other, "there is no such port: dropped"),
            },
        }
    }

    fn not_out(&mut self, port: PortNo, why: &str) -> Result<(), Stop> {
        self.say(&format!("{}: {why}", Action::output(port).in_words()))
    }

    fn out(&mut self, port: PortNo) -> Result<(), Stop> {
        if self.traced.outs.len() == OUTS_MAX {
            return Err(Cut::Outs.into());
        }
        self.budget.step(1)?;
        self.budget.take(OUT_BYTES)?;
        let packet = self.packet.clone();
        self.traced.outs.push(TraceOutput { port, packet, maybe: self.maybe });
        Ok(())
    }

    fn group(&mut self, id: GroupNo) -> Result<(), Stop> {
        let (groups, all) = self.groups()?;
        let Some(group) = groups.get(&id) else {
            if !all {
                self.cut(Cut::Groups);
                return self.say(&format!("group {}: not among those that are read", id.0));
            }
            return self.say(&format!("group {}: there is none: dropped", id.0));
        };
        if self.path.contains(&id) {
            return self.say(&format!("group {}: leads to itself, a loop: dropped", id.0));
        }
        if self.path.len() == GROUP_DEPTH_MAX {
            self.cut(Cut::Depth);
            return self.say(&format!("group {}: not followed", id.0));
        }
        self.budget.step(group.buckets.len())?;
        let (kind, chosen) = self.chosen(group);
        let (count, of) = (chosen.len(), group.buckets.len());
        self.say(&format!("group {} ({kind}): {count} of {of} buckets", id.0))?;
        let (before, maybe) = (self.packet.clone(), self.maybe);
        self.maybe |= group.kind == GroupType::SELECT && chosen.len() > 1;
        self.path.push(id);
        for place in chosen {
            let mut actions: Vec<&Action> = group.buckets[place].actions.iter().collect();
            actions.sort_by_key(|action| order(action));
            for action in actions {
                self.act(core::slice::from_ref(action))?;
            }
            self.packet = before.clone();
        }
        self.path.pop();
        self.maybe = maybe;
        Ok(())
    }

    /// Which buckets of a group are followed, and what is said of it.
    fn chosen(&self, group: &GroupDesc) -> (&'static str, Vec<usize>) {
        let alive = |watch: PortNo| self.ports.get(&watch) == Some(&true);
        let buckets = &group.buckets;
        match group.kind {
            GroupType::ALL => ("all", (0..buckets.len()).collect()),
            GroupType::INDIRECT => ("indirect", (0..buckets.len().min(1)).collect()),
            GroupType::FF => {
                let first = buckets.iter().position(|bucket| alive(bucket.watch_port));
                ("fast failover", first.into_iter().collect())
            }
            _ => {
                let may = |place: &usize| {
                    let bucket = &buckets[*place];
                    let watches = bucket.watch_port != PortNo::ANY && bucket.watch_port.0 != 0;
                    bucket.weight > 0 && (!watches || alive(bucket.watch_port))
                };
                ("select, one of those that are followed", (0..buckets.len()).filter(may).collect())
            }
        }
    }

    /// The groups of the switch, and whether these are all.
    fn groups(&mut self) -> Result<(Rc<TraceGroups>, bool), Stop> {
        if self.groups.is_none() {
            let mut groups = TraceGroups::new();
            let (mut parts, mut all) = (0, true);
            for group in self.program.listing.groups() {
                let group = group?;
                let actions = group.buckets.iter().map(|bucket| bucket.actions.len());
                let more = 1 + group.buckets.len() + actions.sum::<usize>();
                parts += more;
                if parts > GROUP_PARTS_MAX {
                    all = false;
                    break;
                }
                self.budget.step(more)?;
                // Of several with one number, the first.
                groups.entry(group.group_id).or_insert(group);
            }
            self.groups = Some((Rc::new(groups), all));
        }
        Ok(self.groups.clone().unwrap_or_default())
    }

    fn say(&mut self, words: &str) -> Result<(), Stop> {
        self.budget.take(words.len() + budget::LINE_BYTES)?;
        self.traced.did.push(words.to_string());
        Ok(())
    }

    /// Notes a bound that was reached, and says so.
    fn cut(&mut self, cut: Cut) {
        if !self.traced.cuts.contains(&cut) {
            self.traced.cuts.push(cut);
            self.traced.did.push(format!("cut: {cut}"));
        }
    }
}

/// The place of an action in a set (§5.10).
fn order(action: &Action) -> u8 {
    match action {
        Action::CopyTtlIn => 0,
        Action::PopVlan | Action::PopMpls(_) | Action::PopPbb => 1,
        Action::PushMpls(_) => 2,
        Action::PushPbb(_) => 3,
        Action::PushVlan(_) => 4,
        Action::CopyTtlOut => 5,
        Action::DecNwTtl | Action::DecMplsTtl => 6,
        Action::SetField(_) | Action::SetNwTtl(_) | Action::SetMplsTtl(_) => 7,
        Action::SetQueue(_) => 8,
        Action::Group(_) => 9,
        Action::Output { .. } => 10,
        _ => 7,
    }
}

/// Whether one takes the other's place in an action set: fields are kinds of their own.
fn is_same_kind(one: &Action, other: &Action) -> bool {
    match (one, other) {
        (Action::SetField(one), Action::SetField(other)) => {
            one.header().field() == other.header().field()
        }
        _ => one.action_type() == other.action_type(),
    }
}
