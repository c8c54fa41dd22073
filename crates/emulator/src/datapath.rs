//! A switch that really forwards: its flow tables are interpreted, in OpenFlow 1.0 or 1.3.
//!
//! A [`Datapath`] takes whole messages of its controller and frames from its ports, and gives
//! messages and frames to a [`Sink`]. It knows no socket, clock or thread: the time is an argument,
//! counted from anywhere, and [`Datapath::expire`] says when it wants to be called again. One that
//! has no flows takes a few hundred bytes, so that thousands fit a process.
//!
//! ```text
//! message ──▶ v10 │ v13 ──▶ tables, groups, meters, ports ──▶ replies, errors
//! frame   ──▶ parse ──▶ tables: look up, act, go on ──▶ action set ──▶ ports, controller
//! ```
//!
//! What it does is certified against Open vSwitch (`tests/certify/`); where it differs on purpose
//! is written in `docs/emulator.md`.

mod action;
pub mod bounds;
mod change;
mod fields;
mod flow;
mod forward;
mod group;
mod meter;
mod packet;
mod parse;
mod port;
mod session;
mod table;
mod tables;
mod v10;
mod v13;

pub use port::PortSpec;

use aldis_wire::header::{Header, kind};
use aldis_wire::{DatapathId, Version};
use bounds::{FRAME_MAX, FRAME_MIN};
use forward::{ForwardState, PacketWay};
use group::Groups;
use meter::Meters;
use packet::DatapathPacket;
use port::DatapathPorts;
use session::DatapathSession;
use std::time::Duration;
use tables::{DatapathTables, Removed};

/// Where a datapath's messages and frames go.
pub trait Sink {
    /// One whole message for the controller.
    fn to_controller(&mut self, message: &[u8]);

    /// A frame that leaves by a port.
    fn to_port(&mut self, port: u32, frame: &[u8]);
}

/// One OpenFlow switch.
#[derive(Debug)]
pub struct Datapath {
    dpid: DatapathId,
    tables: DatapathTables,
    world: ForwardState,
}

/// Why a request is refused, in words that both versions have a code for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum RequestFault {
    TableFull,
    Overlap,
    BadCommand,
    BadFlags,
    BufferUnknown,
    BadPort,
    BadPacket,
    BadHardwareAddress,
    StaleRole,
    BadRole,
}

impl Datapath {
    /// A switch with these ports, all with a link, and no flows. With 1.0 only ports below 0xff00
    /// (and the local one, 0xffff_fffe) can be spoken of: others are left out, and so is what does
    /// not fit a FEATURES_REPLY.
    pub fn new(version: Version, dpid: DatapathId, ports: &[PortSpec]) -> Datapath {
        let speakable = |spec: &&PortSpec| version == Version::V13 || v10::can_say(spec.number);
        let mut specs: Vec<PortSpec> = ports.iter().filter(speakable).cloned().collect();
        if version == Version::V10 {
            specs.truncate(v10::PORTS_MAX);
        }
        let world = ForwardState {
            version,
            ports: DatapathPorts::new(&specs),
            groups: Groups::default(),
            meters: Meters::default(),
            session: DatapathSession::default(),
            scratch: Vec::new(),
        };
        Datapath { dpid, tables: DatapathTables::default(), world }
    }

    /// The version that it speaks.
    pub fn version(&self) -> Version {
        self.world.version
    }

    /// Its name.
    pub fn dpid(&self) -> DatapathId {
        self.dpid
    }

    /// How many flows it has, over all tables.
    pub fn flows(&self) -> u32 {
        self.tables.len()
    }

    /// The controller is gone: what belongs to the connection is forgotten, and flows, groups and
    /// meters stay.
    pub fn disconnected(&mut self) {
        self.world.session = self.world.session.next();
    }

    /// One whole OpenFlow message from the controller, header included. A HELLO is the connection's
    /// business and is passed over here; what cannot be read is answered with an error.
    pub fn message(&mut self, message: &[u8], now: Duration, out: &mut impl Sink) {
        match Header::peek(message) {
            Ok(Some(header)) if header.kind != kind::HELLO => match self.world.version {
                Version::V10 => v10::respond(self, header, message, now, out),
                Version::V13 => v13::respond(self, header, message, now, out),
            },
            _ => {}
        }
    }

    /// A frame that came in on a port. One that no Ethernet frame can be, or from a port that there
    /// is not, is dropped.
    pub fn frame(&mut self, port: u32, frame: &[u8], now: Duration, out: &mut impl Sink) {
        let Some(from) = self.world.ports.get_mut(port) else { return };
        if !(FRAME_MIN..=FRAME_MAX).contains(&frame.len()) {
            from.rx_dropped += 1;
            return;
        }
        if !from.receive(frame.len()) {
            return;
        }
        let Some(mut packet) = DatapathPacket::new(frame, port) else { return };
        if packet.is_fragment() && self.world.session.drops_fragments() {
            return;
        }
        PacketWay::new(&mut self.world, out, now, frame.len()).walk(&mut self.tables, &mut packet);
    }

    /// A port's link went up or down: the controller is told, and fast failover groups see it at
    /// once.
    pub fn set_link(&mut self, port: u32, up: bool, out: &mut impl Sink) {
        let Some(changed) = self.world.ports.get_mut(port).filter(|port| port.link != up) else {
            return;
        };
        changed.link = up;
        self.port_changed(port, out);
    }

    /// Removes the flows whose time is over and tells the controller of those that it wants to be
    /// told of; when to call again, `None` while no flow has a timeout. A call too early does no
    /// harm.
    pub fn expire(&mut self, now: Duration, out: &mut impl Sink) -> Option<Duration> {
        for removed in self.tables.expire(now) {
            self.tell_removed(&removed, now, out);
        }
        self.tables.next_deadline()
    }

    /// Tells the controller of a port that changed, if it wants to know.
    fn port_changed(&mut self, port: u32, out: &mut impl Sink) {
        const MODIFY: u8 = 2;
        let ForwardState { version, ports, session, scratch, .. } = &mut self.world;
        let Some(port) = ports.get(port).filter(|_| session.wants_port_status(MODIFY)) else {
            return;
        };
        scratch.clear();
        match version {
            Version::V10 => v10::events::port_status(port, scratch),
            Version::V13 => v13::events::port_status(port, scratch),
        }
        out.to_controller(scratch);
    }

    /// Tells the controller of a flow that is gone, if the flow and the controller want it.
    fn tell_removed(&mut self, removed: &Removed, now: Duration, out: &mut impl Sink) {
        let (_, flow, reason) = removed;
        let ForwardState { version, session, scratch, .. } = &mut self.world;
        let wanted = flow.flags.contains(flow::Flags::SEND_FLOW_REM);
        if !wanted || !session.wants_flow_removed(*reason) {
            return;
        }
        scratch.clear();
        match version {
            Version::V10 => v10::events::flow_removed(removed, now, scratch),
            Version::V13 => v13::events::flow_removed(removed, now, scratch),
        }
        if !scratch.is_empty() {
            out.to_controller(scratch);
        }
    }
}
