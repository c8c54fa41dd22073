//! A packet through the tables, and out.

use super::action::{ActionSet, DatapathAction};
use super::bounds::{COPIES_MAX, GROUP_DEPTH_MAX};
use super::fields::METADATA;
use super::group::Groups;
use super::meter::Meters;
use super::packet::DatapathPacket;
use super::port::{DatapathPorts, config};
use super::session::DatapathSession;
use super::tables::DatapathTables;
use super::{Sink, v10, v13};
use aldis_wire::Version;
use aldis_wire::v13::group_mod::GroupType;
use aldis_wire::v13::packet_in::PacketInReason;
use aldis_wire::v13::port::PortNo;
use std::time::Duration;

/// Everything of a datapath but its tables: what actions work on while a flow is looked at.
#[derive(Debug)]
pub(crate) struct ForwardState {
    pub(crate) version: Version,
    pub(crate) ports: DatapathPorts,
    pub(crate) groups: Groups,
    pub(crate) meters: Meters,
    pub(crate) session: DatapathSession,
    /// Where messages are written before they are handed over.
    pub(crate) scratch: Vec<u8>,
}

/// Which flow sent a packet to the controller.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReportOrigin {
    pub(crate) table: u8,
    pub(crate) cookie: u64,
    pub(crate) reason: PacketInReason,
}

impl ReportOrigin {
    /// A packet that the controller sent itself, or that no flow matched.
    pub(crate) const NO_FLOW: ReportOrigin =
        ReportOrigin { table: 0, cookie: u64::MAX, reason: PacketInReason::ACTION };
}

/// A packet to the controller.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PacketInReport<'a> {
    pub(crate) origin: ReportOrigin,
    pub(crate) in_port: u32,
    pub(crate) metadata: u64,
    /// The frame, which goes whole, as Open vSwitch sends it since it keeps no packets: `max_len`
    /// and `miss_send_len` say how much goes of one that is kept.
    pub(crate) frame: &'a [u8],
}

/// One packet's way: what bounds it, and where its copies go.
pub(crate) struct PacketWay<'a, S> {
    pub(crate) world: &'a mut ForwardState,
    pub(crate) out: &'a mut S,
    pub(crate) now: Duration,
    /// Length of the frame as it came, which is what flows and groups count; from a select group
    /// on, as it was there, since Open vSwitch sends a packet through its datapath once more to
    /// choose a bucket.
    len: usize,
    copies: u32,
}

impl<'a, S: Sink> PacketWay<'a, S> {
    pub(crate) fn new(
        world: &'a mut ForwardState,
        out: &'a mut S,
        now: Duration,
        len: usize,
    ) -> Self {
        PacketWay { world, out, now, len, copies: COPIES_MAX }
    }

    /// From the first table on (OpenFlow 1.3.5 §5.1).
    pub(crate) fn walk(&mut self, tables: &mut DatapathTables, packet: &mut DatapathPacket<'_>) {
        let mut set = ActionSet::default();
        let mut table = 0;
        // What the action set sends to the controller is said to come from the first flow, as Open
        // vSwitch has it.
        let mut first = None;
        loop {
            let Some(flow) = tables.look_up(table, &packet.key) else {
                self.miss(table, packet);
                break;
            };
            flow.counters.count(self.len);
            flow.used = self.now;
            let reason = match flow.is_table_miss() && self.world.version == Version::V13 {
                true => PacketInReason::NO_MATCH,
                false => PacketInReason::ACTION,
            };
            let origin = ReportOrigin { table, cookie: flow.cookie, reason };
            first.get_or_insert(ReportOrigin { reason: PacketInReason::ACTION, ..origin });
            let program = &flow.program;
            if let Some(meter) = program.meter.and_then(|id| self.world.meters.get_mut(&id))
                && !meter.passes(self.len, self.now)
            {
                return;
            }
            if !self.act(&program.apply, packet, origin, 0) {
                break;
            }
            if program.clear {
                set.clear();
            }
            set.write(&program.write);
            if let Some((value, mask)) = program.metadata {
                let old = packet.key.field(METADATA);
                packet.key.set(METADATA, old & !mask | value & mask);
            }
            match program.goto {
                Some(next) => table = next,
                None => break,
            }
        }
        self.act(&set.in_order(), packet, first.unwrap_or(ReportOrigin::NO_FLOW), 0);
    }

    /// No flow matched: 1.0 asks the controller, 1.3 drops it.
    fn miss(&mut self, table: u8, packet: &DatapathPacket<'_>) {
        if self.world.version == Version::V10 {
            let origin =
                ReportOrigin { table, reason: PacketInReason::NO_MATCH, ..ReportOrigin::NO_FLOW };
            self.report(packet, origin);
        }
    }

    /// Does actions in their order; `false` where the packet's time to live ran out.
    pub(crate) fn act(
        &mut self,
        actions: &[DatapathAction],
        packet: &mut DatapathPacket<'_>,
        origin: ReportOrigin,
        depth: u32,
    ) -> bool {
        for action in actions {
            match *action {
                DatapathAction::Output(port) => self.output(packet, port, origin),
                DatapathAction::Group(id) => self.group(id, packet, origin, depth),
                _ => {
                    if !action.change(packet) {
                        let origin = ReportOrigin { reason: PacketInReason::INVALID_TTL, ..origin };
                        self.report(packet, origin);
                        return false;
                    }
                }
            }
        }
        true
    }

    /// Through a group: what its buckets do to the packet ends with them.
    fn group(&mut self, id: u32, packet: &DatapathPacket<'_>, origin: ReportOrigin, depth: u32) {
        if depth == GROUP_DEPTH_MAX {
            return;
        }
        let ForwardState { groups, ports, .. } = &mut *self.world;
        let chosen = groups.choose(id, &packet.key, ports);
        if let Some(group) = groups.0.get_mut(&id) {
            if group.kind == GroupType::SELECT {
                self.len = packet.bytes().len();
            }
            group.counters.count(self.len);
        }
        let origin = ReportOrigin { reason: PacketInReason::ACTION, ..origin };
        for at in chosen {
            let bucket =
                self.world.groups.0.get_mut(&id).and_then(|group| group.buckets.get_mut(at));
            let Some(bucket) = bucket else { continue };
            bucket.counters.count(self.len);
            let (actions, len) = (bucket.actions.clone(), self.len);
            self.act(&actions, &mut packet.clone(), origin, depth + 1);
            self.len = len;
        }
    }

    fn output(&mut self, packet: &DatapathPacket<'_>, port: u32, origin: ReportOrigin) {
        let in_port = packet.in_port();
        match PortNo(port) {
            PortNo::IN_PORT => self.send(packet, in_port),
            PortNo::CONTROLLER => self.report(packet, origin),
            PortNo::ALL | PortNo::FLOOD => {
                let flood = port == PortNo::FLOOD.0;
                let all = self.world.ports.iter();
                let wanted =
                    all.filter(|to| to.number != in_port && !(flood && to.has(config::NO_FLOOD)));
                let wanted: Vec<u32> = wanted.map(|to| to.number).collect();
                wanted.into_iter().for_each(|to| self.send(packet, to));
            }
            _ if port == in_port => {}
            _ => self.send(packet, port),
        }
    }

    /// Out of a port that exists; to another it is dropped.
    fn send(&mut self, packet: &DatapathPacket<'_>, port: u32) {
        let Some(left) = self.copies.checked_sub(1) else { return };
        self.copies = left;
        if let Some(to) = self.world.ports.get_mut(port)
            && to.send(packet.bytes().len())
        {
            self.out.to_port(port, packet.bytes());
        }
    }

    fn report(&mut self, packet: &DatapathPacket<'_>, origin: ReportOrigin) {
        let in_port = packet.in_port();
        let quiet =
            self.world.ports.get(in_port).is_some_and(|port| port.has(config::NO_PACKET_IN));
        let quiet = quiet && origin.reason == PacketInReason::NO_MATCH;
        if quiet || !self.world.session.wants_packet_in(origin.reason) {
            return;
        }
        let Some(left) = self.copies.checked_sub(1) else { return };
        self.copies = left;
        let metadata = packet.key.field(METADATA);
        let report = PacketInReport { origin, in_port, metadata, frame: packet.bytes() };
        let scratch = &mut self.world.scratch;
        scratch.clear();
        match self.world.version {
            Version::V10 => v10::events::packet_in(&report, scratch),
            Version::V13 => v13::events::packet_in(&report, scratch),
        }
        if !scratch.is_empty() {
            self.out.to_controller(scratch);
        }
    }
}
