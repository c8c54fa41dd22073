//! A small network under applications, for tests: switches with cables between them, and a World
//! that is made of what the applications report, all in one thread and in one time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use aldis_control::switch::SwitchInfo;
use aldis_control::world::{View, WorldBuilder};
use aldis_control::{
    AppSet, Batch, Event, EventKind, Output, Part, Pipeline, RequestHeader, Run, Switch,
    SwitchPort, Time, World,
};
use aldis_wire::msg::{Action, FlowMod, Message, Port, PortChange, PortChangeReason, PortDetails};
use aldis_wire::{Chop, DatapathId, FixedText, MacAddr, NO_BUFFER, Version};

const MS: Duration = Duration::from_millis(1);

/// A frame on its way into a switch.
type TestArrival = (SwitchPort, Vec<u8>);

pub(crate) struct TestNetwork {
    pipeline: Pipeline,
    out: Output,
    world_builder: WorldBuilder,
    pub(crate) world: Arc<World>,
    pub(crate) now: Time,
    switches: BTreeMap<DatapathId, Arc<Switch>>,
    cables: BTreeMap<SwitchPort, SwitchPort>,
    up: BTreeSet<SwitchPort>,
    arrivals: Vec<TestArrival>,
    replies: Vec<(DatapathId, u32)>,
    /// Frames that left by ports without a cable.
    pub(crate) left: Vec<TestArrival>,
    /// Every frame that left, whatever came of it.
    pub(crate) sent: Vec<TestArrival>,
    pub(crate) flows: Vec<(DatapathId, FlowMod)>,
    pub(crate) said: Vec<String>,
}

fn port(at: SwitchPort, up: bool) -> Port {
    Port {
        number: at.port,
        hw_addr: MacAddr::from_u64(0x0600_0000_0000 | at.dpid.0 << 16 | u64::from(at.port.0)),
        name: FixedText::default(),
        admin_down: false,
        link_down: !up,
        speed_kbps: 10_000_000,
        details: PortDetails::default(),
    }
}

impl TestNetwork {
    pub(crate) fn new(app_set: &AppSet) -> TestNetwork {
        let pipelines = app_set.build().unwrap();
        let (pipeline, out, world) =
            (pipelines.pipeline(0), pipelines.output(0), pipelines.world());
        TestNetwork {
            pipeline,
            out,
            world_builder: pipelines.world_builder(),
            world,
            now: Time::START + Duration::from_secs(1),
            switches: BTreeMap::new(),
            cables: BTreeMap::new(),
            up: BTreeSet::new(),
            arrivals: Vec::new(),
            replies: Vec::new(),
            left: Vec::new(),
            sent: Vec::new(),
            flows: Vec::new(),
            said: Vec::new(),
        }
    }

    /// A part of the World as it is now.
    pub(crate) fn part<P: Part>(&self) -> &P {
        View::of(&self.world, const { &[P::ID] }).part::<P>()
    }

    /// A switch with so many ports joins.
    pub(crate) fn join(&mut self, dpid: u64, version: Version, ports: u32) {
        let places = (1..=ports).map(|number| SwitchPort::new(dpid, number));
        let ports = places.clone().map(|at| port(at, true)).collect();
        let dpid = DatapathId(dpid);
        let info = SwitchInfo { dpid, version, buffers: 0, tables: 1, ports };
        let switch = self.pipeline.join(self.now, info);
        self.switches.insert(dpid, switch);
        self.up.extend(places);
        self.happens(dpid, &Event::Joining);
        self.happens(dpid, &Event::Up);
    }

    /// It is gone.
    pub(crate) fn leave(&mut self, dpid: u64) {
        self.happens(DatapathId(dpid), &Event::Down);
        self.switches.remove(&DatapathId(dpid));
        self.up.retain(|at| at.dpid.0 != dpid);
    }

    /// A cable between two ports.
    pub(crate) fn plug(&mut self, one: SwitchPort, other: SwitchPort) {
        self.cables.insert(one, other);
        self.cables.insert(other, one);
    }

    /// The cable of a port is cut where no port sees it.
    pub(crate) fn unplug(&mut self, one: SwitchPort) {
        let other = self.cables.remove(&one);
        other.map(|other| self.cables.remove(&other));
    }

    /// A port goes down or comes up.
    pub(crate) fn turn(&mut self, at: SwitchPort, up: bool) {
        if up {
            self.up.insert(at)
        } else {
            self.up.remove(&at)
        };
        let reason = PortChangeReason::Modified;
        self.happens(at.dpid, &Event::Port(PortChange { reason, port: port(at, up) }));
    }

    /// A frame comes into a switch, and the switch asks about it.
    pub(crate) fn asks(&mut self, at: SwitchPort, frame: &[u8]) {
        let Some(switch) = self.switches.get(&at.dpid).filter(|_| self.up.contains(&at)) else {
            return;
        };
        let len = frame.len() as u16;
        let mut requests = [RequestHeader {
            frame_at: 0,
            head_len: 0,
            frame_len: len,
            total_len: len,
            reason: 0,
            stopped: false,
            in_port: at.port.0,
            buffer_id: NO_BUFFER,
            xid: 7,
        }];
        let is_lldp = matches!(frame.get(12..14), Some([0x88, 0xcc] | [0x89, 0x42]));
        let mut batch = Batch {
            kind: if is_lldp { EventKind::Lldp } else { EventKind::FlowRequest },
            now: self.now,
            world: View::of(&self.world, &[]),
            bytes: frame,
            switches: &[&**switch],
            runs: &[Run { switch: 0, requests: 0..1 }],
            requests: &mut requests,
        };
        self.pipeline.packet_ins(&mut batch, &mut self.out);
        self.send(at.dpid);
    }

    /// Lets so many milliseconds pass.
    pub(crate) fn pass(&mut self, ms: u64) {
        for _ in 0..ms {
            self.now = self.now + MS;
            if let Some(world) = self.world_builder.step(self.now) {
                let before = std::mem::replace(&mut self.world, world);
                self.pipeline.published(self.now, &before, &self.world, self.out.commands());
            }
            if self.pipeline.next_tick() <= self.now {
                self.pipeline.tick(self.now, &self.world, self.out.commands());
            }
            self.send(DatapathId(0));
            for (at, frame) in std::mem::take(&mut self.arrivals) {
                self.asks(at, &frame);
            }
            for (dpid, xid) in std::mem::take(&mut self.replies) {
                let message = Box::new(Message::BarrierReply);
                self.happens(dpid, &Event::Reply { xid, message });
            }
            if self.now.0.is_multiple_of(1_000_000_000) {
                let all: Vec<_> = self.switches.keys().copied().collect();
                all.into_iter().for_each(|dpid| self.happens(dpid, &Event::Second));
            }
        }
    }

    pub(crate) fn happens(&mut self, dpid: DatapathId, event: &Event) {
        let Some(switch) = self.switches.get(&dpid) else { return };
        self.pipeline.event(self.now, &self.world, switch, event, &mut self.out);
        self.send(dpid);
    }

    /// Carries out what was written: near, to this switch, and far, to any.
    fn send(&mut self, near: DatapathId) {
        let mut messages = Vec::new();
        let mut take = |dpid: DatapathId, bytes: &[u8]| {
            let Some(switch) = self.switches.get(&dpid) else { return };
            let version = switch.info.version;
            let decoded = Chop::new(bytes).map(|raw| Message::decode(version, raw.unwrap().bytes));
            messages.extend(decoded.map(|message| (dpid, message.unwrap())));
        };
        take(near, self.out.bytes());
        let (bytes, pieces) = self.out.commands().pieces();
        pieces.iter().for_each(|piece| take(piece.to, &bytes[piece.bytes.clone()]));
        self.out.clear();
        self.out.commands().clear();
        self.said.extend(self.out.commands().take_failures());
        self.said.extend(self.out.commands().take_warnings());
        self.said.extend(self.out.commands().take_infos());
        let found = self.out.commands().take_found();
        self.said.extend(found.map(|(by, found)| format!("{by}: {found}")));
        messages.into_iter().for_each(|(dpid, (xid, message))| self.told(dpid, xid, message));
    }

    fn told(&mut self, dpid: DatapathId, xid: u32, message: Message) {
        match message.meaning() {
            Message::PacketOut(packet) => {
                let ports = packet.actions.iter().filter_map(|action| match action {
                    Action::Output { port, .. } => Some(*port),
                    _ => None,
                });
                ports.for_each(|port| self.leaves(SwitchPort::of(dpid, port), &packet.data));
            }
            Message::FlowMod(flow) => self.flows.push((dpid, flow)),
            Message::BarrierRequest => self.replies.push((dpid, xid)),
            other => panic!("{other:?}"),
        }
    }

    fn leaves(&mut self, at: SwitchPort, frame: &[u8]) {
        self.sent.push((at, frame.to_vec()));
        match self.cables.get(&at).filter(|_| self.up.contains(&at)) {
            Some(&to) => self.arrivals.push((to, frame.to_vec())),
            None => self.left.push((at, frame.to_vec())),
        }
    }
}
