//! A switch, a pipeline and a World, for tests that are dialogues: something happens, and what is
//! said is decoded.

use core::time::Duration;
use std::sync::Arc;

use aldis_control::switch::SwitchInfo;
use aldis_control::world::{Part, PartId, Queues, View, WorldBuilder};
use aldis_control::{
    Account, AppSet, Batch, Event, EventKind, Output, Pipeline, RequestHeader, Run, Switch, Time,
};
use aldis_wire::msg::{Message, Port, PortDetails, PortNo};
use aldis_wire::{Chop, DatapathId, FixedText, MacAddr, NO_BUFFER, Version};

/// One switch with four ports, and applications in a pipeline.
pub(crate) struct TestSwitch {
    pub(crate) now: Time,
    pub(crate) out: Output,
    pipeline: Pipeline,
    world_builder: WorldBuilder,
    queues: Arc<Queues>,
    switch: Arc<Switch>,
}

/// A whole frame that came in by a port.
pub(crate) fn request(port: u32, frame: &[u8]) -> (u32, Vec<u8>) {
    (port, frame.to_vec())
}

/// Switch 1, with four ports and `tables` tables.
pub(crate) fn info(version: Version, tables: u8) -> SwitchInfo {
    let port = |number| Port {
        number: PortNo(number),
        hw_addr: MacAddr([6, 0, 0, 0, 0, number as u8]),
        name: FixedText::default(),
        admin_down: false,
        link_down: false,
        speed_kbps: 0,
        details: PortDetails::default(),
    };
    let ports = (1..=4).map(port).collect();
    SwitchInfo { dpid: DatapathId(1), version, buffers: 0, tables, ports }
}

impl TestSwitch {
    /// With the applications that `add` adds.
    pub(crate) fn new(version: Version, add: impl FnOnce(AppSet) -> AppSet) -> TestSwitch {
        TestSwitch::of(info(version, 254), add)
    }

    /// With this switch.
    pub(crate) fn of(info: SwitchInfo, add: impl FnOnce(AppSet) -> AppSet) -> TestSwitch {
        let app_set = add(AppSet::default());
        let pipelines = app_set.build().expect("applications that can work together");
        let (mut pipeline, out, queues) =
            (pipelines.pipeline(0), pipelines.output(0), pipelines.queues());
        let switch = pipeline.join(Time::START, info);
        TestSwitch {
            now: Time::START,
            out,
            pipeline,
            world_builder: pipelines.world_builder(),
            queues,
            switch,
        }
    }

    /// The switch as applications are shown it.
    pub(crate) fn info(&self) -> &SwitchInfo {
        &self.switch.info
    }

    /// The account of the switch.
    pub(crate) fn account(&self) -> &Account {
        &self.switch.account
    }

    /// The switch connects again.
    pub(crate) fn joins(&mut self) {
        self.switch = self.pipeline.join(self.now, self.switch.info.clone());
    }

    /// The operator changes the desired state.
    pub(crate) fn decided<P: Part>(&mut self, report: P::Report) {
        assert!(self.queues.push::<P>(report).is_ok(), "nobody publishes {}", P::NAME);
        self.world(&[]);
    }

    /// What is said to the switch when these frames come in by these ports, in one batch.
    pub(crate) fn request(&mut self, frames: &mut [(u32, Vec<u8>)]) -> Vec<(u32, Message)> {
        self.batch(frames).1
    }

    /// Of each of these frames, whether an application stopped it.
    pub(crate) fn stopped(&mut self, frames: &mut [(u32, Vec<u8>)]) -> Vec<bool> {
        self.batch(frames).0
    }

    fn batch(&mut self, frames: &mut [(u32, Vec<u8>)]) -> (Vec<bool>, Vec<(u32, Message)>) {
        let (mut bytes, mut requests) = (vec![], vec![]);
        for (in_port, frame) in frames {
            requests.push(RequestHeader {
                frame_at: bytes.len() as u32,
                head_len: 0,
                frame_len: frame.len() as u16,
                total_len: frame.len() as u16,
                reason: 0,
                stopped: false,
                in_port: *in_port,
                buffer_id: NO_BUFFER,
                xid: 77,
            });
            bytes.extend_from_slice(frame);
        }
        let mut batch = Batch {
            kind: EventKind::FlowRequest,
            now: self.now,
            world: View::of(self.world_builder.world(), &[]),
            bytes: &bytes,
            switches: &[&*self.switch],
            runs: &[Run { switch: 0, requests: 0..requests.len() }],
            requests: &mut requests,
        };
        self.pipeline.packet_ins(&mut batch, &mut self.out);
        let stopped = requests.iter().map(|request| request.stopped).collect();
        (stopped, self.said())
    }

    /// What is said to the switch when this happens there.
    pub(crate) fn happens(&mut self, event: Event) -> Vec<(u32, Message)> {
        let switch = Arc::clone(&self.switch);
        self.pipeline.event(self.now, self.world_builder.world(), &switch, &event, &mut self.out);
        self.said()
    }

    /// The same when a second has passed.
    pub(crate) fn second(&mut self) -> Vec<(u32, Message)> {
        self.now = self.now + Duration::from_secs(1);
        self.happens(Event::Second)
    }

    /// The World after everything that was reported, as an application sees it that reads these
    /// parts.
    pub(crate) fn world(&mut self, reads: &'static [PartId]) -> View<'_> {
        self.now = self.now + Duration::from_millis(1);
        self.world_builder.step(self.now);
        View::of(self.world_builder.world(), reads)
    }

    /// What was said to the switch, in neutral words.
    fn said(&mut self) -> Vec<(u32, Message)> {
        let version = self.switch.info.version;
        let message = |raw: aldis_wire::Raw<'_>| Message::decode(version, raw.bytes);
        let said = Chop::new(self.out.bytes()).map(|raw| message(raw.expect("whole messages")));
        let said: Vec<_> = said.map(|said| said.expect("good messages")).collect();
        self.out.take_segments().for_each(drop);
        self.out.clear();
        said.into_iter().map(|(xid, message)| (xid, message.meaning())).collect()
    }
}
