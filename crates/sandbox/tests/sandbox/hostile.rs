//! Commands that no author writes: the host does what it can, and stands.

use std::cell::{Cell, RefCell};

use aldis_records::command::ANSWER;
use aldis_sandbox::{AppState, Application, Runtime};
use aldis_wire::msg::{Action, FlowMod, Match, Message, PortNo};
use aldis_wire::{MacAddr, Version};
use proptest::prelude::*;

use crate::guests::{Guest, QUIET};
use crate::network::Network;

/// Returns the frame of the first request as its commands.
const ECHO: Guest = Guest {
    batch: "(local.set $i (i32.load (i32.add (local.get $at) (i32.const 20))))
      (memory.copy (i32.const 65536) (i32.add (local.get $at) (i32.const 56)) (local.get $i))
      (local.get $i)",
    ..QUIET
};

const GRANTS: &str = "counts = [\"a\", \"b\"]\n[limits]\nfailures = 1\n[grants]\nswitches = [\"1\", \"2\"]\n\
    messages = [\"packet-out\", \"flow-mod\", \"group-mod\", \"meter-mod\", \"port-mod\", \"table-mod\", \
    \"stats-request\", \"barrier-request\", \"queue-request\", \"experimenter\"]\n";

/// A command that is well formed but for its body, now and then.
fn command() -> impl Strategy<Value = Vec<u8>> {
    let numbers = (0..9u16, 0..9u16, 0..4u32, any::<u32>(), 0..5u64);
    let kind = prop_oneof![Just(4u8), Just(1), any::<u8>()];
    let message = (kind, 0..30u8, prop::collection::vec(any::<u8>(), 0..80), any::<bool>());
    let message = message.prop_map(|(version, kind, body, is_long)| {
        let len = (8 + body.len() + usize::from(!is_long)) as u16;
        [&[version, kind][..], &len.to_be_bytes(), &[0; 4], &body].concat()
    });
    let bytes = prop::collection::vec(any::<u8>(), 0..40);
    (numbers, prop_oneof![message, bytes]).prop_map(
        |((kind, flags, request, value, dpid), body)| {
            let body = match kind {
                1 => vec![],
                3 => body.into_iter().chain([0; 16]).take(16).collect(),
                7 => body.into_iter().chain([0; 8]).take(8).collect(),
                _ => body,
            };
            let (request, flags) = if kind > 4 { (u32::MAX, 0) } else { (request, flags % 8) };
            let mut bytes = [kind.to_le_bytes(), flags.to_le_bytes()].concat();
            bytes.extend((body.len() as u32).to_le_bytes());
            bytes.extend(request.to_le_bytes());
            bytes.extend((value % 5).to_le_bytes());
            bytes.extend(dpid.to_le_bytes());
            bytes.extend(&body);
            bytes.resize(bytes.len().next_multiple_of(8), 0);
            bytes
        },
    )
}

fn runs(app: &Application) {
    if app.status().state != AppState::Running {
        app.start().expect("it starts");
    }
}

#[test]
fn no_commands_are_too_much_for_the_host() {
    let runtime = Runtime::from_now().unwrap();
    let app = ECHO.started(&runtime, GRANTS);
    let network = RefCell::new(Network::new(&app, 3));
    let done = Cell::new(0);
    proptest!(ProptestConfig::with_cases(2000), |(commands in prop::collection::vec(command(), 0..8))| {
        runs(&app);
        let commands = commands.concat();
        let other = [2; 60];
        // The third switch is not granted.
        let frames = [(0, 1, &commands[..]), (1, 2, &other[..]), (2, 3, &other), (1, 4, &other)];
        let answers = network.borrow_mut().batch(&frames);
        let is_granted = |dpid: u64| dpid == 1 || dpid == 2;
        prop_assert!(answers.sent.iter().all(|(dpid, ..)| is_granted(*dpid)), "{answers:?}");
        let sent = answers.sent.len() as u64;
        let status = app.status();
        prop_assert!(status.messages >= sent);
        done.set(done.get() + sent);
    });
    let done = done.get();
    assert!(
        done > 100,
        "commands that are too odd test nothing: {done} messages, {:?}",
        app.status()
    );
}

/// What was sent for the flow before is used again, but not for a switch that is not granted.
#[test]
fn the_same_flow_is_for_granted_switches_alone() {
    let runtime = Runtime::from_now().unwrap();
    let app = ECHO.started(&runtime, GRANTS);
    let mut network = Network::new(&app, 3);
    let of = Match::new().in_port(PortNo(1)).eth_dst(MacAddr([2; 6])).eth_src(MacAddr([4; 6]));
    let flow = Message::from(FlowMod::add(of).actions([Action::output(PortNo(3))]));
    let mut body = vec![];
    flow.encode(Version::V13, 0, &mut body).unwrap();
    let answer = |request: u32| {
        let mut bytes = [ANSWER.to_le_bytes(), [0; 2]].concat();
        bytes.extend((body.len() as u32).to_le_bytes());
        bytes.extend(request.to_le_bytes());
        bytes.extend([0; 12]);
        bytes.extend(&body);
        bytes
    };
    // The second of them is of the third switch.
    let commands = (0..4).flat_map(answer).collect::<Vec<u8>>();
    let other = [2; 60];
    let answers =
        network.batch(&[(1, 1, &commands), (2, 1, &other), (1, 1, &other), (0, 1, &other)]);
    let to: Vec<u64> = answers.sent.iter().map(|(dpid, ..)| *dpid).collect();
    assert_eq!(to, [2, 2, 1], "{answers:?}");
    assert_eq!(app.status().refused, 1);
    assert!(app.status().last_refusal.is_some_and(|why| why.contains("3 is not granted")));
}
