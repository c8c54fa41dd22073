//! A new version on the events of the one that runs.

use aldis_sandbox::{AppState, Runtime};

use crate::guests::{ALL, Guest, QUIET, SENDS};
use crate::network::{Network, frame};

#[test]
fn a_candidate_is_compared_and_sends_nothing() {
    let runtime = Runtime::from_now().unwrap();
    let app = SENDS.started(&runtime, ALL);
    let mut network = Network::new(&app, 2);
    let mut ask = || {
        let answers = network.batch(&[(0, 3, &frame(2, 1))]);
        assert_eq!(answers.sent.len(), 1, "{answers:?}");
        answers.warnings
    };
    let same = SENDS.started(&runtime, ALL);
    app.shadow(Some(&same)).unwrap();
    (0..3).for_each(|_| assert!(ask().is_empty()));
    let status = app.shadow_status().unwrap();
    assert_eq!((status.agreed, status.differed, status.agreed_last), (3, 0, 3));
    // Sends to port 8.
    let other =
        Guest { batch: "(i32.store8 (i32.const 65548) (i32.const 8)) i32.const 24", ..SENDS };
    app.shadow(Some(&other.started(&runtime, ALL))).unwrap();
    ask();
    let status = app.shadow_status().unwrap();
    assert_eq!((status.agreed, status.differed), (0, 1));
    let words = status.last_difference.unwrap();
    assert!(
        words.contains("command 0") && words.contains("value 7 ") && words.contains("value 8 ")
    );
    app.shadow(Some(&QUIET.started(&runtime, ALL))).unwrap();
    ask();
    assert!(
        app.shadow_status().unwrap().last_difference.unwrap().contains("none is the candidate")
    );
    app.shadow(None).unwrap();
    ask();
    assert_eq!(app.shadow_status(), None);
}

#[test]
fn a_candidate_that_fails_harms_nothing() {
    let runtime = Runtime::from_now().unwrap();
    let app = SENDS.started(&runtime, ALL);
    let mut network = Network::new(&app, 1);
    let bad = Guest { batch: "unreachable", ..QUIET };
    let bad = bad.started(&runtime, "[limits]\nfailures = 1\n");
    app.shadow(Some(&bad)).unwrap();
    let answers = network.batch(&[(0, 3, &frame(2, 1))]);
    assert_eq!((answers.sent.len(), answers.warnings.len()), (1, 1), "{answers:?}");
    assert!(matches!(bad.status().state, AppState::Quarantined(_)));
    assert_eq!(network.batch(&[(0, 3, &frame(2, 1))]).sent.len(), 1);
    assert_eq!(app.status().state, AppState::Running);
    let each = SENDS.installed(&runtime, &format!("instances = \"per-worker\"\n{ALL}"));
    assert_eq!(app.shadow(Some(&each)).unwrap_err().field, "instances");
}
