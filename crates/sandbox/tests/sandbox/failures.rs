//! What an application does wrong: the batch goes on without it, and it is quarantined.

use std::sync::Arc;
use std::time::{Duration, Instant};

use aldis_control::AppSet;
use aldis_sandbox::limits::FAILURE_WINDOW;
use aldis_sandbox::{AppState, Compiled, FaultKind, Runtime};

use crate::guests::{ALL, Guest, QUIET, SENDS, packaged};
use crate::network::{Network, frame, wait};

/// Fails where the first frame begins with 9.
const TRAPS_AT_NINE: Guest = Guest {
    batch: "(if (i32.eq (i32.load8_u (i32.const 4152)) (i32.const 9)) (then unreachable))
        i32.const 24",
    ..SENDS
};

/// A guest, the lines of its manifest, and how it fails.
const BAD: &[(&str, Guest, &str, FaultKind)] = &[
    ("traps", Guest { batch: "unreachable", ..QUIET }, "", FaultKind::Trap),
    (
        "loops",
        Guest { batch: "(loop br 0) unreachable", ..QUIET },
        "[limits]\nbatch-ms = 20\n",
        FaultKind::Time,
    ),
    (
        "allocates without end",
        Guest { batch: "(loop (drop (memory.grow (i32.const 16))) br 0) unreachable", ..QUIET },
        "",
        FaultKind::Memory,
    ),
    (
        "fills its table",
        Guest {
            module: "(table $t 1 funcref)",
            batch: "(loop (drop (table.grow $t (ref.null func) (i32.const 1000))) br 0) unreachable",
            ..QUIET
        },
        "",
        FaultKind::Table,
    ),
    (
        "calls itself without end",
        Guest {
            module: "(func $again (call $again))",
            batch: "(call $again) i32.const 0",
            ..QUIET
        },
        "",
        FaultKind::Trap,
    ),
    (
        "answers with too many bytes",
        Guest { batch: "i32.const 2400000", ..QUIET },
        "",
        FaultKind::Flood,
    ),
    (
        "answers with too many commands",
        Guest {
            batch: "(loop
                (i32.store (i32.add (i32.const 65536) (local.get $i)) (i32.const 1))
                (local.set $i (i32.add (local.get $i) (i32.const 24)))
                (br_if 0 (i32.lt_u (local.get $i) (i32.const 120000))))
              i32.const 120000",
            ..QUIET
        },
        "",
        FaultKind::Flood,
    ),
    ("answers with garbage", Guest { batch: "i32.const 48", ..QUIET }, "", FaultKind::Garbage),
    ("answers half a command", Guest { batch: "i32.const 17", ..SENDS }, "", FaultKind::Garbage),
    (
        "answers with more than the host allocates for it",
        Guest { batch: "(drop (memory.grow (i32.const 500))) i32.const 30000000", ..QUIET },
        "",
        FaultKind::Trap,
    ),
    (
        "answers from outside of its memory",
        Guest { batch: "i32.const 0x7fffffff", ..QUIET },
        "",
        FaultKind::Trap,
    ),
];

#[test]
fn a_bad_application_costs_the_batch_nothing_and_is_quarantined_within_a_second() {
    for (what, guest, limits, kind) in BAD {
        let runtime = Runtime::from_now().unwrap();
        let (bad, good) =
            (guest.started(&runtime, &format!("{limits}{ALL}")), SENDS.started(&runtime, ALL));
        let (first, second) = (bad.clone(), good.clone());
        let set = AppSet::default().with(move || first.sandboxed());
        let mut network = Network::of(&set, 2);
        let mut other = Network::new(&second, 2);
        let begun = Instant::now();
        let mut warnings = vec![];
        wait(what, || {
            let answers = network.batch(&[(0, 1, &frame(2, 1)), (1, 1, &frame(2, 1))]);
            assert!(answers.sent.is_empty() && answers.stopped == [false, false], "{what}");
            warnings.extend(answers.warnings);
            assert_eq!(other.batch(&[(0, 1, &frame(2, 1))]).sent.len(), 1, "{what}");
            matches!(bad.status().state, AppState::Quarantined(_))
        });
        assert!(begun.elapsed() < Duration::from_secs(1), "{what}: {:?}", begun.elapsed());
        let status = bad.status();
        assert_eq!(status.faults.get(kind.name()), Some(&3), "{what}: {status:?}");
        assert_eq!(warnings.len(), 3, "{what}: {warnings:?}");
        assert!(warnings[2].contains("quarantined") && warnings[2].contains(kind.name()));
        assert_eq!(good.status().state, AppState::Running);
    }
}

#[test]
fn a_loop_is_interrupted_after_the_time_that_its_manifest_allows() {
    let runtime = Runtime::from_now().unwrap();
    let loops = Guest { batch: "(loop br 0) unreachable", ..QUIET };
    let app = loops.started(&runtime, "[limits]\nbatch-ms = 30\nfailures = 1\n");
    let mut network = Network::new(&app, 1);
    let begun = Instant::now();
    network.batch(&[(0, 1, &frame(2, 1))]);
    let took = begun.elapsed();
    assert!(took >= Duration::from_millis(29) && took < Duration::from_millis(500), "{took:?}");
    let busy = app.status().busy;
    assert!(busy >= Duration::from_millis(29) && busy <= took, "{busy:?} of {took:?}");
    assert!(matches!(app.status().state, AppState::Quarantined(_)));
    // From now on it costs nothing.
    let begun = Instant::now();
    network.batch(&[(0, 1, &frame(2, 1))]);
    assert!(begun.elapsed() < Duration::from_millis(20));
}

#[test]
fn what_loops_again_has_a_sixteenth_of_its_time_and_half_of_that_after_each_further_failure() {
    let runtime = Runtime::from_now().unwrap();
    let loops = Guest { batch: "(loop br 0) unreachable", ..QUIET };
    let app = loops.started(&runtime, "[limits]\nbatch-ms = 320\n");
    let mut network = Network::new(&app, 1);
    let mut took = vec![];
    wait("it is quarantined", || {
        let begun = Instant::now();
        if !network.batch(&[(0, 1, &frame(2, 1))]).warnings.is_empty() {
            took.push(begun.elapsed());
        }
        matches!(app.status().state, AppState::Quarantined(_))
    });
    // 320, 20 and 10 ms.
    assert_eq!(took.len(), 3);
    assert!(took[0] >= Duration::from_millis(319), "{took:?}");
    assert!(took[1] + took[2] < took[0] / 2, "{took:?}");
    let AppState::Quarantined(fault) = app.status().state else { unreachable!() };
    assert!(fault.reason.contains("longer than 10 ms for one call instead of 320"), "{fault}");
}

#[test]
fn after_a_failure_batches_are_short_until_it_no_longer_counts() {
    let runtime = Runtime::from_now().unwrap();
    let app = TRAPS_AT_NINE.started(&runtime, ALL);
    let mut network = Network::new(&app, 1);
    let (good, mut bad) = (frame(2, 1), frame(2, 1));
    bad[0] = 9;
    let many: Vec<_> = (0..1000).map(|_| (0, 1, &good[..])).collect();
    for calls in [1, 1000_u64.div_ceil(32)] {
        let before = app.status().batches;
        network.batch(&many);
        assert_eq!(app.status().batches - before, calls);
        network.batch(&[(0, 1, &bad)]);
        wait("it runs again", || app.status().state == AppState::Running);
    }
    std::thread::sleep(FAILURE_WINDOW);
    // The batch in hand says that the time is over.
    network.batch(&many);
    let before = app.status().batches;
    network.batch(&many);
    assert_eq!(app.status().batches - before, 1);
}

#[test]
fn the_reason_of_a_quarantine_tells_of_an_earlier_failure_of_another_kind() {
    let runtime = Runtime::from_now().unwrap();
    // Traps where the frame begins with 9, and loops otherwise.
    let guest = Guest {
        batch: "(if (i32.eq (i32.load8_u (i32.const 4152)) (i32.const 9)) (then unreachable))
            (loop br 0) unreachable",
        ..QUIET
    };
    let app = guest.started(&runtime, "[limits]\nfailures = 2\n");
    let mut network = Network::new(&app, 1);
    let mut bad = frame(2, 1);
    bad[0] = 9;
    network.batch(&[(0, 1, &bad)]);
    wait("it runs again", || app.status().state == AppState::Running);
    let told = network.batch(&[(0, 1, &frame(2, 1))]).warnings;
    let AppState::Quarantined(fault) = app.status().state else { panic!("{told:?}") };
    assert_eq!(fault.kind, FaultKind::Time);
    assert!(fault.reason.contains("; before that trap: "), "{fault}");
    assert!(told[0].contains("; before that trap: "), "{told:?}");
}

#[test]
fn a_start_that_fails_is_told_and_the_application_stays_stopped() {
    let runtime = Runtime::from_now().unwrap();
    for (start, words) in [
        ("(loop br 0) unreachable", "longer than 50 ms"),
        ("unreachable", "unreachable"),
        ("i32.const 1", "it refused to start: NOPE"),
    ] {
        let module = r#"(data (i32.const 65536) "NOPE")"#;
        let app = Guest { start, module, ..QUIET };
        let app = app.installed(&runtime, "[limits]\nstart-ms = 50\n");
        let fault = app.start().unwrap_err();
        assert!(fault.to_string().contains(words), "{fault}");
        assert_eq!(app.status().state, AppState::Stopped);
        assert_eq!(app.status().faults.values().sum::<u64>(), 1);
    }
}

#[test]
fn a_start_out_of_quarantine_is_not_undone_by_it() {
    let runtime = Runtime::from_now().unwrap();
    // Fails at its first batch.
    let guest = Guest {
        batch: "(if (i32.eqz (i32.load (i32.const 100))) (then unreachable)) i32.const 0",
        ..QUIET
    };
    let app = guest.started(&runtime, "[limits]\nfailures = 1\n");
    let mut network = Network::new(&app, 1);
    for round in 1..=100 {
        network.batch(&[(0, 1, &frame(2, 1))]);
        assert_eq!(app.status().faults.get("trap"), Some(&round));
        app.start().unwrap();
    }
}

#[test]
fn an_application_that_recovers_runs_on() {
    let runtime = Runtime::from_now().unwrap();
    let app = TRAPS_AT_NINE.started(&runtime, ALL);
    let mut network = Network::new(&app, 1);
    assert_eq!(network.batch(&[(0, 1, &frame(2, 1))]).sent.len(), 1);
    let mut bad = frame(2, 1);
    bad[0] = 9;
    assert_eq!(network.batch(&[(0, 1, &bad)]).sent.len(), 0);
    assert!(matches!(app.status().state, AppState::Restarting(_)));
    assert_eq!(network.batch(&[(0, 1, &frame(2, 1))]).sent.len(), 0);
    wait("it runs again", || app.status().state == AppState::Running);
    assert_eq!(network.batch(&[(0, 1, &frame(2, 1))]).sent.len(), 1);
}

#[test]
fn a_component_that_does_not_fit_the_contract_is_refused_with_the_field() {
    let runtime = Runtime::from_now().unwrap();
    let cases = [
        (
            Guest {
                component: r#"(import "aldis:app/rockets@0.1.0" (instance (export "launch" (func))))"#,
                ..QUIET
            },
            "import aldis:app/rockets@0.1.0",
        ),
        (
            Guest { component: r#"(import "wasi:http/types@0.2.0" (instance))"#, ..QUIET },
            "import wasi:http/types@0.2.0",
        ),
        (
            Guest {
                component: r#"(import "aldis:app/host@0.1.0" (instance (export "reboot" (func))))"#,
                ..QUIET
            },
            "component.wasm",
        ),
        (Guest { component: r#"(import "f" (func))"#, ..QUIET }, "import f"),
    ];
    for (guest, field) in cases {
        let error = guest.compiled(&runtime, "").unwrap_err();
        assert_eq!(error.field, field, "{error}");
    }
    let empty = packaged(&wat::parse_str("(component)").unwrap(), "");
    let error = Compiled::load(&runtime, Arc::new(empty), None).unwrap_err();
    assert_eq!((error.field.as_str(), error.reason.as_str()), ("export start", "missing"));
    let mut broken = wat::parse_str("(component)").unwrap();
    broken.push(0xff);
    let error = Compiled::load(&runtime, Arc::new(packaged(&broken, "")), None).unwrap_err();
    assert_eq!(error.field, "component.wasm");
}
