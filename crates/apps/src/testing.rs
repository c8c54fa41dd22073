//! A switch, a pipeline and a World, for tests that are dialogues: something happens, and what is
//! said is decoded.

use core::time::Duration;
use std::sync::Arc;

use aldis_control::switch::Info;
use aldis_control::world::{Part, PartId, Press, Queues, View};
use aldis_control::{Batch, Event, On, Output, Pipeline, Recipe, Request, Run, Switch, Time};
use aldis_wire::msg::{Message, Port, PortDetails, PortNo};
use aldis_wire::{Chop, DatapathId, FixedText, MacAddr, NO_BUFFER, Version};

/// One switch with four ports, and applications in a pipeline.
pub(crate) struct Bench {
    pub(crate) now: Time,
    pub(crate) out: Output,
    pipeline: Pipeline,
    press: Press,
    queues: Arc<Queues>,
    switch: Arc<Switch>,
}

/// A whole frame that came in by a port.
pub(crate) fn asked(port: u32, frame: &[u8]) -> (u32, Vec<u8>) {
    (port, frame.to_vec())
}

/// Switch 1, with four ports and `tables` tables.
pub(crate) fn info(version: Version, tables: u8) -> Info {
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
    Info { dpid: DatapathId(1), version, buffers: 0, tables, ports }
}

impl Bench {
    /// With the applications that `add` adds.
    pub(crate) fn new(version: Version, add: impl FnOnce(Recipe) -> Recipe) -> Bench {
        Bench::of(info(version, 254), add)
    }

    /// With this switch.
    pub(crate) fn of(info: Info, add: impl FnOnce(Recipe) -> Recipe) -> Bench {
        let recipe = add(Recipe::default());
        let program = recipe.settle().expect("applications that can work together");
        let (mut pipeline, out, queues) =
            (program.pipeline(0), program.output(0), program.queues());
        let switch = pipeline.join(Time::START, info);
        Bench { now: Time::START, out, pipeline, press: program.press(), queues, switch }
    }

    /// The switch as applications are shown it.
    pub(crate) fn info(&self) -> &Info {
        &self.switch.info
    }

    /// The switch connects again.
    pub(crate) fn joins(&mut self) {
        self.switch = self.pipeline.join(self.now, self.switch.info.clone());
    }

    /// People decide something about a part of the World.
    pub(crate) fn decided<P: Part>(&mut self, report: P::Report) {
        assert!(self.queues.push::<P>(report).is_ok(), "nobody publishes {}", P::NAME);
        self.world(&[]);
    }

    /// What is said to the switch when these frames come in by these ports, in one batch.
    pub(crate) fn asked(&mut self, frames: &mut [(u32, Vec<u8>)]) -> Vec<(u32, Message)> {
        self.batch(frames).1
    }

    /// Of each of these frames, whether somebody stopped it.
    pub(crate) fn stopped(&mut self, frames: &mut [(u32, Vec<u8>)]) -> Vec<bool> {
        self.batch(frames).0
    }

    fn batch(&mut self, frames: &mut [(u32, Vec<u8>)]) -> (Vec<bool>, Vec<(u32, Message)>) {
        let (mut bytes, mut requests) = (vec![], vec![]);
        for (in_port, frame) in frames {
            requests.push(Request {
                frame_at: bytes.len() as u32,
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
            on: On::FlowRequest,
            now: self.now,
            world: View::of(self.press.world(), &[]),
            bytes: &bytes,
            switches: &[Arc::clone(&self.switch)],
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
        self.pipeline.event(self.now, self.press.world(), &switch, &event, &mut self.out);
        self.said()
    }

    /// The same when a second has passed.
    pub(crate) fn second(&mut self) -> Vec<(u32, Message)> {
        self.now = self.now + Duration::from_secs(1);
        self.happens(Event::Second)
    }

    /// The World after everything that was reported, as one sees it who reads these parts.
    pub(crate) fn world(&mut self, reads: &'static [PartId]) -> View<'_> {
        self.now = self.now + Duration::from_millis(1);
        self.press.step(self.now);
        View::of(self.press.world(), reads)
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
