//! Every form in which a controller may answer, with xids of its own or of no request: the counts
//! are those of the controller, message for message.

use crate::scripted::{PATIENCE, SeenRequest, counted, scripted};
use aldis_emulator::load::{self, Forms, Load, LoadFailure, Mode};
use aldis_wire::Version;
use std::time::Duration;

const REQUESTS: u64 = 300;
const NO_BUFFER: u32 = u32::MAX;
const ADD: u8 = 0;
const DELETE: u8 = 3;

/// A controller's habit.
#[derive(Clone, Copy)]
struct AnswerHabit {
    name: &'static str,
    /// Whether it needs switches that buffer, or such that do not.
    buffered: bool,
    answer: fn(&SeenRequest, u32) -> Vec<u8>,
    /// Messages in an answer.
    messages: u64,
    /// What recognises the requests.
    form: fn(&mut Forms) -> &mut u64,
}

/// LLDP, as controllers send it to find links: as long as our frames, and none of them.
fn lldp() -> Vec<u8> {
    let mut frame = vec![0x55; 64];
    frame[..6].copy_from_slice(&[1, 0x80, 0xc2, 0, 0, 0x0e]);
    frame[6..14].copy_from_slice(&[6, 0, 0, 1, 0, 1, 0x88, 0xcc]);
    frame
}

const HABITS: [AnswerHabit; 12] = [
    AnswerHabit {
        name: "a FLOW_MOD that names the buffer",
        buffered: true,
        answer: |request, xid| request.flow_mod(xid),
        messages: 1,
        form: |forms| &mut forms.buffer_id,
    },
    AnswerHabit {
        name: "a PACKET_OUT that names the buffer",
        buffered: true,
        answer: |request, xid| request.packet_out_of(xid, request.buffer_id(), &[]),
        messages: 1,
        form: |forms| &mut forms.buffer_id,
    },
    AnswerHabit {
        name: "a FLOW_MOD and a PACKET_OUT, both with the buffer",
        buffered: true,
        answer: |request, xid| [request.flow_mod(xid), request.packet_out(xid)].concat(),
        messages: 2,
        form: |forms| &mut forms.buffer_id,
    },
    AnswerHabit {
        name: "a rule without a buffer, then a PACKET_OUT with it",
        buffered: true,
        answer: |request, xid| {
            let out = request.packet_out_of(xid, request.buffer_id(), &[]);
            [request.rule(xid, ADD, NO_BUFFER), out].concat()
        },
        messages: 2,
        form: |forms| &mut forms.matched,
    },
    AnswerHabit {
        name: "a FLOW_MOD with the buffer, then the frame",
        buffered: true,
        answer: |request, xid| {
            let out = request.packet_out_of(xid, NO_BUFFER, request.frame());
            [request.flow_mod(xid), out].concat()
        },
        messages: 2,
        form: |forms| &mut forms.buffer_id,
    },
    AnswerHabit {
        name: "the frame, where the switch had kept it",
        buffered: true,
        answer: |request, xid| request.packet_out_of(xid, NO_BUFFER, request.frame()),
        messages: 1,
        form: |forms| &mut forms.frame,
    },
    AnswerHabit {
        name: "the frame",
        buffered: false,
        answer: |request, xid| request.packet_out(xid),
        messages: 1,
        form: |forms| &mut forms.frame,
    },
    AnswerHabit {
        name: "a rule",
        buffered: false,
        answer: |request, xid| request.rule(xid, ADD, NO_BUFFER),
        messages: 1,
        form: |forms| &mut forms.matched,
    },
    AnswerHabit {
        name: "a rule, then the frame",
        buffered: false,
        answer: |request, xid| {
            [request.rule(xid, ADD, NO_BUFFER), request.packet_out(xid)].concat()
        },
        messages: 2,
        form: |forms| &mut forms.matched,
    },
    AnswerHabit {
        name: "the frame, then a rule",
        buffered: false,
        answer: |request, xid| {
            [request.packet_out(xid), request.rule(xid, ADD, NO_BUFFER)].concat()
        },
        messages: 2,
        form: |forms| &mut forms.frame,
    },
    AnswerHabit {
        name: "the frame beside messages of its own",
        buffered: false,
        answer: |request, xid| {
            let own = request.packet_out_of(xid, NO_BUFFER, &lldp());
            let deletion = request.rule(xid, DELETE, NO_BUFFER);
            [own, deletion, request.packet_out(xid)].concat()
        },
        messages: 3,
        form: |forms| &mut forms.frame,
    },
    AnswerHabit {
        name: "a rule that matches nothing of ours, with the xid",
        buffered: false,
        answer: |request, _| request.flow_mod(request.xid()),
        messages: 1,
        form: |forms| &mut forms.xid,
    },
];

/// The xid of an answer, given how many came before; `None` where it is the request's.
type Xid = fn(usize) -> Option<u32>;

const XIDS: [(&str, Xid); 3] = [
    ("the request's", |_| None),
    ("0", |_| Some(0)),
    ("its own", |index| Some(0x7000_0000 + index as u32)),
];

#[test]
fn every_form_of_an_answer_is_counted_once_message_for_message() {
    for habit in HABITS {
        for (whose, xid) in XIDS {
            for version in Version::ALL {
                counts_are_equal(habit, whose, xid, version);
            }
        }
    }
}

fn counts_are_equal(
    habit: AnswerHabit,
    whose: &str,
    xid: fn(usize) -> Option<u32>,
    version: Version,
) {
    let what = format!("{} of {version}, xids {whose}", habit.name);
    let (address, controller) = scripted(version, 2, move |index, request| {
        (habit.answer)(request, xid(index).unwrap_or(request.xid()))
    });
    let load =
        Load { macs: 50, buffered: habit.buffered, ..counted(address, version, 2, REQUESTS) };
    let report = load::run(&load).unwrap();
    let seen = controller.join().unwrap();
    assert!(seen.iter().all(|requests| requests.len() as u64 == REQUESTS), "{what}");
    let (counts, all) = (report.counts, 2 * REQUESTS);
    assert_eq!((counts.offered, counts.answered, counts.lost), (all, all, 0), "{what}");
    // The run ends with the last answer that counts: what each switch was sent behind its own may
    // come too late.
    let strays = all * (habit.messages - 1);
    assert!(
        (strays - 2 * (habit.messages - 1)..=strays).contains(&counts.strays),
        "{what}: {counts:?}"
    );
    let mut forms = report.forms;
    if xid(0).is_some() {
        assert_eq!(std::mem::take((habit.form)(&mut forms)), all, "{what}: {:?}", report.forms);
        assert_eq!(forms, Forms::default(), "{what}");
    }
}

#[test]
fn the_frame_counts_more_than_the_xid_of_another_request() {
    for version in Version::ALL {
        // Answers in pairs, each with the xid of the other.
        let (address, controller) =
            scripted(version, 1, |_, request| request.packet_out(request.xid() ^ 1));
        let load = Load { buffered: false, ..counted(address, version, 1, 80) };
        let report = load::run(&load).unwrap();
        controller.join().unwrap();
        assert_eq!((report.counts.answered, report.counts.strays), (80, 0), "{version}");
        assert_eq!(report.forms.frame, 80);
    }
}

#[test]
fn rules_for_one_host_answer_its_requests_one_after_another() {
    // Two addresses and eight outstanding: the source names four requests at a time.
    let (address, controller) =
        scripted(Version::V13, 1, |_, request| request.rule(0, ADD, NO_BUFFER));
    let load = Load { macs: 2, buffered: false, ..counted(address, Version::V13, 1, 100) };
    let report = load::run(&load).unwrap();
    controller.join().unwrap();
    assert_eq!((report.counts.answered, report.counts.strays, report.forms.matched), (100, 0, 100));
}

#[test]
fn what_names_no_request_answers_none() {
    let (address, controller) = scripted(Version::V10, 1, |_, request| request.flow_mod(0));
    let patience = Duration::from_millis(60);
    let load = Load { buffered: false, patience, ..counted(address, Version::V10, 1, 16) };
    let counts = load::run(&load).unwrap().counts;
    controller.join().unwrap();
    assert_eq!((counts.answered, counts.lost), (0, 16));
    assert!(counts.strays <= 16, "{counts:?}");
}

#[test]
fn a_controller_that_answers_no_lesson_is_said_so() {
    let (address, controller) = scripted(Version::V10, 1, |_, _| Vec::new());
    let load = Load {
        teach: true,
        mode: Mode::Latency,
        patience: Duration::from_millis(60),
        handshake_deadline: PATIENCE,
        ..counted(address, Version::V10, 1, 1)
    };
    let failure = load::run(&load).unwrap_err();
    controller.join().unwrap();
    assert!(matches!(failure, LoadFailure::Unanswered { switch: 1, .. }), "{failure}");
    assert!(failure.to_string().ends_with("is a switch application running in it?"), "{failure}");
}

#[test]
fn a_controller_that_was_not_ready_is_told_again() {
    // The first ten packets, which are all lessons, are passed over.
    let (address, controller) = scripted(Version::V13, 1, |index, request| match index {
        0..10 => Vec::new(),
        _ => request.packet_out(0),
    });
    let load = Load { teach: true, buffered: false, ..counted(address, Version::V13, 1, 30) };
    let report = load::run(&load).unwrap();
    let seen = controller.join().unwrap().remove(0);
    let (lessons, requests) = seen.split_at(20);
    assert!(lessons.iter().all(|lesson| lesson.frame()[..6] == [0xff; 6]));
    assert_eq!((requests.len(), report.counts.answered), (30, 30));
}
