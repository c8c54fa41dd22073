//! Switches that ask: batches, as a worker makes them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use aldis_control::app::Event;
use aldis_control::switch::SwitchInfo;
use aldis_control::world::View;
use aldis_control::{AppSet, Batch, EventKind, Output, Pipeline, RequestHeader, Run, Switch, Time};
use aldis_sandbox::Application;
use aldis_wire::msg::{Action, Message};
use aldis_wire::{Chop, DatapathId, NO_BUFFER, Version};

/// One worker, and switches of both versions: 1 speaks 1.0, all others 1.3.
pub(crate) struct Network {
    pub(crate) pipeline: Pipeline,
    pub(crate) switches: Vec<Arc<Switch>>,
    pub(crate) out: Output,
    pub(crate) now: Time,
}

/// What a worker sends, by switch, and which requests were stopped.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Answers {
    pub(crate) sent: Vec<(u64, u32, Message)>,
    pub(crate) stopped: Vec<bool>,
    pub(crate) warnings: Vec<String>,
}

impl Network {
    pub(crate) fn new(app: &Application, switches: u64) -> Network {
        let app = app.clone();
        Network::of(&AppSet::default().with(move || app.sandboxed()), switches)
    }

    pub(crate) fn of(app_set: &AppSet, switches: u64) -> Network {
        let pipelines = app_set.build().expect("applications that work together");
        let (mut pipeline, mut out) = (pipelines.pipeline(0), pipelines.output(0));
        let world = pipelines.world();
        let mut joined = Vec::new();
        for dpid in 1..=switches {
            let switch = pipeline.join(Time::START, info(dpid));
            pipeline.event(Time::START, &world, &switch, &Event::Up, &mut out);
            joined.push(switch);
        }
        Network { pipeline, switches: joined, out, now: Time(1_000_000_000) }
    }

    /// Each frame comes from a switch, by its place, and a port.
    pub(crate) fn batch(&mut self, frames: &[(usize, u32, &[u8])]) -> Answers {
        let (mut bytes, mut requests, mut runs) = (Vec::new(), Vec::new(), Vec::<Run>::new());
        for (index, (switch, in_port, frame)) in frames.iter().enumerate() {
            requests.push(request(bytes.len(), frame.len(), *in_port, index as u32));
            bytes.extend_from_slice(frame);
            match runs.last_mut() {
                Some(run) if run.switch == *switch => run.requests.end = index + 1,
                _ => runs.push(Run { switch: *switch, requests: index..index + 1 }),
            }
        }
        self.out.clear();
        self.now = self.now + Duration::from_millis(1);
        let switches: Vec<&Switch> = self.switches.iter().map(|switch| &**switch).collect();
        let mut batch = Batch {
            kind: EventKind::FlowRequest,
            now: self.now,
            world: View::nothing(),
            bytes: &bytes,
            switches: &switches,
            runs: &runs,
            requests: &mut requests,
        };
        self.pipeline.packet_ins(&mut batch, &mut self.out);
        let runs: Vec<usize> = runs.iter().map(|run| run.switch).collect();
        let mut answers = self.answers(&runs);
        answers.stopped = requests.iter().map(|request| request.stopped).collect();
        answers
    }

    /// An event at a switch.
    pub(crate) fn event(&mut self, switch: usize, event: &Event) -> Answers {
        self.out.clear();
        let world = AppSet::default().build().expect("nothing").world();
        let at = Arc::clone(&self.switches[switch]);
        self.pipeline.event(self.now, &world, &at, event, &mut self.out);
        self.answers(&[switch])
    }

    fn answers(&mut self, runs: &[usize]) -> Answers {
        let mut answers = Answers::default();
        let segments: Vec<_> = self.out.take_segments().collect();
        let mut begun = 0;
        for segment in segments {
            let switch = &self.switches[runs[segment.run]].info;
            let bytes = &self.out.bytes()[begun..segment.end];
            answers.sent.extend(messages(switch, bytes));
            begun = segment.end;
        }
        let switches = &self.switches;
        let (bytes, pieces) = self.out.commands().pieces();
        for piece in pieces {
            let to = switches.iter().find(|switch| switch.info.dpid == piece.to);
            let to = &to.expect("a switch of the network").info;
            answers.sent.extend(messages(to, &bytes[piece.bytes.clone()]));
        }
        self.out.commands().clear();
        answers.warnings = self.out.commands().take_warnings().collect();
        let is_failure = |words: &String| {
            words.contains(": failed, and") || words.contains(": quarantined after")
        };
        assert!(!answers.warnings.iter().any(is_failure), "a warning: {:?}", answers.warnings);
        answers.warnings.extend(self.out.commands().take_failures());
        answers
    }
}

fn messages(switch: &SwitchInfo, bytes: &[u8]) -> Vec<(u64, u32, Message)> {
    let read = |raw: Result<aldis_wire::Raw<'_>, _>| {
        let bytes = raw.expect("whole messages").bytes;
        let (xid, message) = Message::decode(switch.version, bytes).expect("a message");
        (switch.dpid.0, xid, message.meaning())
    };
    Chop::new(bytes).map(read).collect()
}

fn request(at: usize, len: usize, in_port: u32, xid: u32) -> RequestHeader {
    RequestHeader {
        frame_at: at as u32,
        head_len: 0,
        frame_len: len as u16,
        total_len: len as u16,
        reason: 0,
        stopped: false,
        in_port,
        buffer_id: NO_BUFFER,
        xid,
    }
}

pub(crate) fn info(dpid: u64) -> SwitchInfo {
    SwitchInfo {
        dpid: DatapathId(dpid),
        version: if dpid == 1 { Version::V10 } else { Version::V13 },
        buffers: 0,
        tables: 4,
        ports: Vec::new(),
    }
}

/// The ports of a list of outputs.
pub(crate) fn ports(actions: &[Action]) -> Vec<u32> {
    let port = |action: &Action| match action {
        Action::Output { port, .. } => port.0,
        other => panic!("{other:?} is no output"),
    };
    actions.iter().map(port).collect()
}

/// A frame between two hosts, 14 bytes long.
pub(crate) fn frame(dst: u8, src: u8) -> [u8; 14] {
    let mut frame = [0; 14];
    frame[..12].copy_from_slice(&[2, 0, 0, 0, 0, dst, 2, 0, 0, 0, 0, src]);
    frame[12..].copy_from_slice(&[8, 0]);
    frame
}

/// Waits until something is so, for ten seconds at most.
pub(crate) fn wait(what: &str, mut done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < Duration::from_secs(10), "it does not come: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}
