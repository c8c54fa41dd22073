//! Components that append to their answers, as those of Python do, and return no bytes.

use std::sync::Arc;

use aldis_sandbox::{AppSettings, AppState, Application, Compiled, FaultKind, Runtime};

use crate::guests::{ALL, packaged};
use crate::network::{Network, frame};

/// A component whose `batch` has this body: `$append` takes a place in memory and a length. A
/// command that sends the packet of the first request to port 7 lies at byte 0, one for the second
/// request at byte 24.
fn started(runtime: &Runtime, batch: &str) -> Application {
    let text = format!(
        r#"(component
  (import "aldis:app/answer@0.1.0" (instance $answer
    (export "append" (func (param "bytes" (list u8))))))
  (core module $memory
    (memory (export "memory") 400)
    (func (export "realloc") (param i32 i32 i32 i32) (result i32) i32.const 65536))
  (core instance $of (instantiate $memory))
  (alias core export $of "memory" (core memory $bytes))
  (alias core export $of "realloc" (core func $realloc))
  (core func $append (canon lower (func $answer "append") (memory $bytes)))
  (core module $m
    (import "of" "memory" (memory 400))
    (import "answer" "append" (func $append (param i32 i32)))
    (data (i32.const 0) "\02\00\01\00\00\00\00\00\00\00\00\00\07\00\00\00\00\00\00\00\00\00\00\00")
    (data (i32.const 24) "\02\00\01\00\00\00\00\00\01\00\00\00\07\00\00\00\00\00\00\00\00\00\00\00")
    (func (export "start") (param i32 i32) (result i32) i32.const 512)
    (func (export "batch") (param i32 i32) {batch})
    (func (export "tick") (param i64))
    (func (export "stop")))
  (core instance $answered (export "append" (func $append)))
  (core instance $i (instantiate $m
    (with "of" (instance $of)) (with "answer" (instance $answered))))
  (func (export "start") (param "config" string) (result (result (error string)))
    (canon lift (core func $i "start") (memory $bytes) (realloc (core func $realloc))))
  (func (export "batch") (param "events" (list u8))
    (canon lift (core func $i "batch") (memory $bytes) (realloc (core func $realloc))))
  (func (export "tick") (param "now" u64) (canon lift (core func $i "tick")))
  (func (export "stop") (canon lift (core func $i "stop"))))"#
    );
    let component = wat::parse_str(text).expect("a component");
    let package = packaged(&component, &format!("[limits]\nfailures = 1\n{ALL}"));
    let compiled = Compiled::load(runtime, Arc::new(package), None).expect("it compiles");
    let app = Application::install(runtime, compiled, AppSettings::default()).expect("granted");
    app.start().expect("it starts");
    app
}

const APPEND_BOTH: &str = "(call $append (i32.const 0) (i32.const 24))
    (call $append (i32.const 24) (i32.const 24))";

#[test]
fn what_is_appended_in_pieces_is_the_answer_to_that_call_alone() {
    let runtime = Runtime::from_now().unwrap();
    let app = started(&runtime, APPEND_BOTH);
    let mut network = Network::new(&app, 2);
    for _ in 0..3 {
        let answers = network.batch(&[(0, 1, &frame(2, 1)), (1, 1, &frame(2, 1))]);
        assert_eq!((answers.sent.len(), answers.stopped), (2, vec![true, true]));
    }
    assert_eq!(app.status().state, AppState::Running);
}

#[test]
fn a_call_that_fails_or_appends_without_end_has_not_answered() {
    let runtime = Runtime::from_now().unwrap();
    let long = "(loop (call $append (i32.const 65536) (i32.const 8000000)) (br 0))";
    for (batch, kind) in [
        (format!("{APPEND_BOTH} unreachable"), FaultKind::Trap),
        (format!("{APPEND_BOTH} {long}"), FaultKind::Flood),
        (format!("{APPEND_BOTH} (call $append (i32.const 0) (i32.const 17))"), FaultKind::Garbage),
    ] {
        let app = started(&runtime, &batch);
        let mut network = Network::new(&app, 2);
        let answers = network.batch(&[(0, 1, &frame(2, 1)), (1, 1, &frame(2, 1))]);
        assert_eq!((answers.sent.len(), answers.stopped), (0, vec![false, false]), "{batch}");
        assert_eq!(app.status().faults.get(kind.name()), Some(&1), "{batch}: {:?}", app.status());
    }
}
