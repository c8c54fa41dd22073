//! What is urgent passes the requests of its switch that wait, where the design says so, and there
//! alone.

use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use aldis_control::app::Slots;
use aldis_control::command::Said;
use aldis_control::{App, AppSet, Batch, EventKind, Output};
use aldis_emulator::peer::bare;
use aldis_engine::Design;
use aldis_wire::header::kind::{ECHO_REPLY, ECHO_REQUEST, FLOW_MOD, PACKET_OUT};
use aldis_wire::msg::{Action, FlowMod, Match, PacketOut, PortNo};
use aldis_wire::{DatapathId, Version};

use crate::combinations::Combination;
use crate::stage::{PATIENCE, Stage};
use crate::switch::{ask_for_nobody, barrier_request, join, receive_any, xid_of};

const REQUESTS: u32 = 3;

/// What an application waits for in the middle of a batch.
#[derive(Default)]
struct Gate {
    /// Whether an application stands before it, and whether it is open.
    state: Mutex<(bool, bool)>,
    changed: Condvar,
}

impl Gate {
    fn change(&self, change: impl FnOnce(&mut (bool, bool))) {
        change(&mut self.state.lock().unwrap());
        self.changed.notify_all();
    }

    fn await_state(&self, wanted: impl Fn(&(bool, bool)) -> bool) {
        let state = self.state.lock().unwrap();
        let waited = self.changed.wait_timeout_while(state, PATIENCE, |state| !wanted(state));
        assert!(!waited.unwrap().1.timed_out(), "what was waited for did not happen");
    }

    fn await_batch(&self) {
        self.await_state(|(stands, _)| *stands);
    }

    fn open(&self) {
        self.change(|(_, opens)| *opens = true);
    }
}

/// Answers each request, once the gate is open.
struct Waiting(Arc<Gate>);

impl App for Waiting {
    type Slot = ();
    const NAME: &'static str = "waiting";
    const EVENTS: &'static [EventKind] = &[EventKind::FlowRequest];

    fn packet_ins(&mut self, batch: &mut Batch<'_>, _: Slots<'_, ()>, out: &mut Output) {
        self.0.change(|(stands, _)| *stands = true);
        self.0.await_state(|(_, opens)| *opens);
        for (place, run) in batch.runs.iter().enumerate() {
            out.select(place);
            for request in &batch.requests[run.requests.clone()] {
                let answer = PacketOut {
                    actions: vec![Action::output(PortNo(1))],
                    ..PacketOut::buffered(request.buffer_id)
                };
                let version = batch.switches[run.switch].info.version;
                out.append_with(|vec| answer.encode(version, request.xid, vec)).expect("said");
            }
        }
    }
}

fn open(design: Design) -> (Stage, Arc<Gate>) {
    let gate = Arc::<Gate>::default();
    let combination = Combination { design: Design { core_binding: false, ..design }, workers: 1 };
    let app_set = AppSet::default().with({
        let gate = Arc::clone(&gate);
        move || Waiting(Arc::clone(&gate))
    });
    (Stage::open_with(&combination, app_set), gate)
}

fn queues() -> impl Iterator<Item = (Design, bool)> {
    let queue: Design = "beacon-queue-per-switch".parse().unwrap();
    let all = [false, true].map(|request_binding| Design { request_binding, ..queue });
    all.into_iter().flat_map(|design| {
        [false, true].map(|priorities| (Design { priorities, ..design }, priorities))
    })
}

/// With an application in the middle of its requests a switch has its echo reply, and behind them
/// without priorities.
#[test]
fn an_echo_passes_requests_that_wait() {
    for ((design, priorities), version) in queues().zip(Version::ALL.into_iter().cycle()) {
        let (stage, gate) = open(design);
        let (mut peer, _) = join(&stage, version);
        let mut bytes = Vec::new();
        ask_for_nobody(version, 0..REQUESTS, &mut bytes);
        peer.send(&bytes).unwrap();
        gate.await_batch();
        peer.send(&bare(version, ECHO_REQUEST, 99)).unwrap();
        let mut next = || {
            let message = receive_any(&mut peer, &[PACKET_OUT, ECHO_REPLY]);
            (message[1], xid_of(&message))
        };
        if priorities {
            assert_eq!(next(), (ECHO_REPLY, 99));
        }
        gate.open();
        for xid in 0..REQUESTS {
            assert_eq!(next(), (PACKET_OUT, xid));
        }
        if !priorities {
            assert_eq!(next(), (ECHO_REPLY, 99));
        }
        stage.close();
    }
}

/// A command is answered while requests of its switch wait; an error stays before the barrier reply
/// behind it.
#[test]
fn an_answer_to_a_command_passes_requests_that_wait() {
    let version = Version::V13;
    for (design, _) in queues().filter(|(_, priorities)| *priorities) {
        let (stage, gate) = open(design);
        let (mut peer, number) = join(&stage, version);
        let mut bytes = Vec::new();
        ask_for_nobody(version, 0..REQUESTS, &mut bytes);
        peer.send(&bytes).unwrap();
        gate.await_batch();
        let flow = FlowMod::add(Match::new()).actions([Action::output(PortNo(2))]).into();
        let dpid = DatapathId(number.into());
        let answer = stage.engine.handle().command(dpid, &[flow], Duration::from_secs(20));
        let sent = xid_of(&receive_any(&mut peer, &[FLOW_MOD]));
        let barrier = xid_of(&receive_any(&mut peer, &[barrier_request(version)]));
        // OFPET_FLOW_MOD_FAILED, OFPFMFC_TABLE_FULL; OFPT_BARRIER_REPLY.
        let mut error = bare(version, 1, sent).to_vec();
        error.extend([0, 5, 0, 1]);
        error[3] = error.len() as u8;
        error.extend(bare(version, 21, barrier));
        peer.send(&error).unwrap();
        let outcome = answer.wait().expect("it is answered");
        assert!(matches!(&outcome[..], [Said::Refused(_)]), "{outcome:?}");
        gate.open();
        for xid in 0..REQUESTS {
            assert_eq!(xid_of(&receive_any(&mut peer, &[PACKET_OUT])), xid);
        }
        stage.close();
    }
}
