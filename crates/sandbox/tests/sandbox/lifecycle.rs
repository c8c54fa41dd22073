//! Start, stop and restart, what outlives them, and compiled code that is kept.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use aldis_control::AppSet;
use aldis_control::app::Event;
use aldis_sandbox::{AppSettings, AppState, Application, CodeSource, Compiled, Grants, Runtime};
use aldis_wire::msg::Message;

use crate::guests::{ALL, Guest, QUIET, SENDS};
use crate::network::{Network, frame, info, wait};

#[test]
fn an_application_runs_from_start_to_stop() {
    let runtime = Runtime::from_now().unwrap();
    let app = SENDS.installed(&runtime, ALL);
    let mut network = Network::new(&app, 1);
    let mut sent = || network.batch(&[(0, 1, &frame(2, 1))]).sent.len();
    assert_eq!((sent(), app.status().state), (0, AppState::Stopped));
    app.start().unwrap();
    assert_eq!((sent(), app.status().state), (1, AppState::Running));
    app.start().unwrap();
    app.stop().unwrap();
    assert_eq!((sent(), app.status().state), (0, AppState::Stopped));
    app.start().unwrap();
    assert_eq!(sent(), 1);
}

#[test]
fn a_started_instance_is_told_of_the_switches_that_are_there() {
    let runtime = Runtime::from_now().unwrap();
    // Answers each call with a line of the log that is as long as there were events.
    let guest = Guest {
        module: r#"(data (i32.const 65536) "\06\00\00\00\00\00\00\00\ff\ff\ff\ff\00\00\00\00\00\00\00\00\00\00\00\00eeeeeeee")"#,
        batch: "(i32.store (i32.const 65540) (i32.load (i32.const 4100))) i32.const 32",
        ..QUIET
    };
    let events = "events = [\"flow-request\", \"up\", \"down\"]\n";
    let app = guest.started(&runtime, &format!("{events}{ALL}"));
    let mut network = Network::new(&app, 3);
    network.event(1, &Event::Down);
    app.introduce(info(9));
    app.stop().unwrap();
    app.start().unwrap();
    network.batch(&[(0, 1, &frame(2, 1)), (0, 1, &frame(2, 1))]);
    let lines: Vec<String> = app.lines().into_iter().map(|line| line.text).collect();
    // Three switches came one by one, one went; then there were three, then two requests.
    assert_eq!(lines, ["e", "e", "e", "e", "eee", "ee"]);
}

#[test]
fn workers_share_one_instance_or_have_their_own() {
    let runtime = Runtime::from_now().unwrap();
    // Sends to the port that counts its calls.
    let guest = Guest {
        module: r#"(global $calls (mut i32) (i32.const 0))
          (data (i32.const 65536) "\02\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00")"#,
        batch: "(global.set $calls (i32.add (global.get $calls) (i32.const 1)))
          (i32.store (i32.const 65548) (global.get $calls)) i32.const 24",
        ..QUIET
    };
    for (instances, ports) in [("one", [1, 2]), ("per-worker", [1, 1])] {
        let app = guest.started(&runtime, &format!("instances = \"{instances}\"\n{ALL}"));
        let mut workers = [Network::new(&app, 1), Network::new(&app, 1)];
        let mut at = |worker: usize| {
            let mut sent = vec![];
            wait("an instance of its own", || {
                sent = workers[worker].batch(&[(0, 1, &frame(2, 1))]).sent;
                !sent.is_empty()
            });
            let [(_, _, Message::PacketOut(packet))] = &sent[..] else { panic!("{sent:?}") };
            packet.actions.clone()
        };
        assert_eq!([at(0), at(1)].map(|said| crate::network::ports(&said)[0]), ports);
    }
}

#[test]
fn start_and_stop_race_with_workers_and_nothing_is_lost_but_answers() {
    let runtime = Runtime::from_now().unwrap();
    let app = SENDS.started(&runtime, ALL);
    let ended = Arc::new(AtomicBool::new(false));
    let workers: Vec<_> = (0..2)
        .map(|_| {
            let (app, ended) = (app.clone(), Arc::clone(&ended));
            thread::spawn(move || {
                let (mut network, mut answered) = (Network::new(&app, 1), 0);
                while !ended.load(Ordering::SeqCst) {
                    let answers = network.batch(&[(0, 1, &frame(2, 1))]);
                    assert_eq!(answers.stopped, [answers.sent.len() == 1]);
                    assert!(answers.warnings.is_empty(), "{answers:?}");
                    answered += answers.sent.len() as u64;
                }
                answered
            })
        })
        .collect();
    let mut rounds = 0;
    wait("answers between the stops", || {
        app.stop().unwrap();
        app.start().unwrap();
        rounds += 1;
        rounds >= 200 && app.status().messages >= 200
    });
    ended.store(true, Ordering::SeqCst);
    let answered: u64 = workers.into_iter().map(|worker| worker.join().unwrap()).sum();
    assert_eq!(answered, app.status().messages);
    assert!(app.status().faults.is_empty(), "{:?}", app.status());
}

#[test]
fn a_manifest_that_asks_for_more_than_is_granted_is_refused() {
    let runtime = Runtime::from_now().unwrap();
    let compiled = SENDS.compiled(&runtime, ALL).unwrap();
    let settings = AppSettings { granted: Some(Grants::default()), ..AppSettings::default() };
    let error = Application::install(&runtime, compiled, settings).unwrap_err();
    assert_eq!(error.reason, "grants.messages: packet-out is not granted");
}

#[test]
fn compiled_code_is_kept_and_what_was_altered_is_compiled_again() {
    let runtime = Runtime::from_now().unwrap();
    let folder = std::env::temp_dir().join(format!("aldis-sandbox-{}", std::process::id()));
    let package = Arc::new(SENDS.package(ALL));
    let load = || Compiled::load(&runtime, Arc::clone(&package), Some(&folder)).unwrap().source();
    assert_eq!([load(), load()], [CodeSource::Compiler, CodeSource::Cache]);
    let code = std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path());
    let code = code.into_iter().find(|path| path.extension().is_some_and(|end| end == "code"));
    let (code, mut bytes) = (code.clone().unwrap(), std::fs::read(code.unwrap()).unwrap());
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&code, &bytes).unwrap();
    assert_eq!([load(), load()], [CodeSource::Compiler, CodeSource::Cache]);
    std::fs::write(&code, &bytes[..middle]).unwrap();
    assert_eq!([load(), load()], [CodeSource::Compiler, CodeSource::Cache]);
    std::fs::remove_dir_all(&folder).unwrap();
    // A folder that cannot be made costs only time.
    let nowhere = Compiled::load(&runtime, package, Some("/proc/nowhere".as_ref())).unwrap();
    assert_eq!(nowhere.source(), CodeSource::Compiler);
}

#[test]
fn the_timer_of_the_manifest_calls_tick() {
    let runtime = Runtime::from_now().unwrap();
    let guest = Guest { tick: "unreachable", ..QUIET };
    let app = guest.started(&runtime, "tick-ms = 5\n[limits]\nfailures = 1\n");
    let second = app.clone();
    let set = AppSet::default().with(move || second.sandboxed());
    let mut network = Network::of(&set, 1);
    let world = AppSet::default().build().unwrap().world();
    for ms in [1, 3, 7] {
        let now = aldis_control::Time(ms * 1_000_000);
        network.pipeline.tick(now, &world, network.out.commands());
        let is_quarantined = matches!(app.status().state, AppState::Quarantined(_));
        assert_eq!(is_quarantined, ms == 7, "{ms}");
    }
}
