//! Requests over HTTP that applications answer, and what becomes of those that they do not.

use std::sync::Arc;
use std::thread;

use aldis_sandbox::{
    AppState, Application, Compiled, ContentType, HttpError, HttpRequest, Runtime,
};

use crate::guests::{Guest, QUIET, SENDS};
use crate::network::{Network, frame, wait};

/// The manifest of an application that answers.
const ANSWERS: &str = "[grants]\nhttp = true\nmessages = [\"packet-out\"]\n";

/// Answers with method, path, query, type and body, one behind the other.
const ECHO: Guest = Guest {
    http: Some(
        "(local.set $i (i32.add (i32.add (i32.add (local.get $method_len) (local.get $path_len))
            (i32.add (local.get $query_len) (local.get $type_len))) (local.get $body_len)))
        (memory.copy (i32.const 131072) (local.get $method) (local.get $i)) local.get $i",
    ),
    ..SENDS
};

/// Takes some tenths of a second, and answers nothing.
const SLOW: Guest = Guest {
    http: Some(
        "(loop $again (local.set $i (i32.add (local.get $i) (i32.const 1)))
          (br_if $again (i32.lt_u (local.get $i) (i32.const 400000000)))) i32.const 0",
    ),
    ..QUIET
};

fn request(path: &str) -> HttpRequest {
    let (method, content_type) = ("POST".to_owned(), "text/plain".to_owned());
    let (query, body) = ("a=%20".to_owned(), b"body".to_vec());
    HttpRequest { method, path: path.to_owned(), query, content_type, body }
}

#[test]
fn a_request_is_handed_over_whole_and_answered() {
    let runtime = Runtime::from_now().unwrap();
    for instances in ["one", "per-worker"] {
        let app = ECHO.started(&runtime, &format!("instances = \"{instances}\"\n{ANSWERS}"));
        let mut network = Network::new(&app, 1);
        wait("the instance of the first worker", || {
            network.batch(&[(0, 3, &frame(2, 1))]).sent.len() == 1
        });
        for _ in 0..3 {
            let answer = app.http(request("/é/x")).unwrap();
            assert_eq!((answer.status, answer.content_type), (200, ContentType::Text));
            assert_eq!(String::from_utf8(answer.body).unwrap(), "POST/é/xa=%20text/plainbody");
        }
        let status = app.status();
        assert_eq!((status.http_requests, status.messages), (3, 1));
        assert_eq!(network.batch(&[(0, 3, &frame(2, 1))]).sent.len(), 1);
    }
}

#[test]
fn an_application_that_is_not_granted_it_or_has_no_such_export_is_not_asked() {
    let runtime = Runtime::from_now().unwrap();
    let app = ECHO.started(&runtime, "");
    assert_eq!(app.http(request("/")), Err(HttpError::NotOffered));
    let package = Arc::new(SENDS.package(ANSWERS));
    let refused = Compiled::load(&runtime, package, None).unwrap_err();
    assert!(refused.field == "export http" && refused.reason.contains("grants.http"), "{refused}");
    // Another function of that name is none.
    let component = r#"(alias core export $i "stop" (core func $other))
        (func (export "http") (canon lift (core func $other)))"#;
    let odd = Guest { http: None, component: "", ..QUIET }.text();
    let odd = format!("{} {component})", odd.trim_end().strip_suffix(')').unwrap());
    let package = crate::guests::packaged(&wat::parse_str(odd).unwrap(), ANSWERS);
    let compiled = Compiled::load(&runtime, Arc::new(package), None).unwrap();
    let app = Application::install(&runtime, compiled, Default::default()).unwrap();
    let fault = app.start().unwrap_err();
    assert!(fault.reason.contains("expected 5-tuple"), "{fault}");
}

#[test]
fn an_application_that_does_not_run_says_why() {
    let runtime = Runtime::from_now().unwrap();
    let app = ECHO.installed(&runtime, ANSWERS);
    assert_eq!(app.http(request("/")), Err(HttpError::NotRunning(AppState::Stopped)));
    app.start().unwrap();
    assert!(app.http(request("/")).is_ok());
    app.stop().unwrap();
    let refused = app.http(request("/")).unwrap_err();
    assert_eq!(refused.to_string(), "it is stopped");
}

#[test]
fn a_failure_in_a_request_counts_like_any_other() {
    let runtime = Runtime::from_now().unwrap();
    let traps = Guest { http: Some("unreachable"), ..ECHO };
    let loops = Guest { http: Some("(loop $on (br $on)) unreachable"), ..ECHO };
    for (guest, kind) in [(traps, "trap"), (loops, "time")] {
        let app = guest.started(&runtime, &format!("{ANSWERS}[limits]\nbatch-ms = 20\n"));
        for failures in 1..=3 {
            let runs = || app.status().state == AppState::Running;
            wait("it runs", runs);
            let failed = app.http(request("/")).unwrap_err();
            assert!(matches!(&failed, HttpError::Failed(words) if words.starts_with("guest: ")));
            assert_eq!(app.status().faults.get(kind), Some(&failures), "{failed}");
        }
        assert!(matches!(app.status().state, AppState::Quarantined(_)));
        let refused = app.http(request("/")).unwrap_err().to_string();
        assert!(refused.contains("quarantined until it is started again"), "{refused}");
        app.start().unwrap();
        assert_eq!(Network::new(&app, 1).batch(&[(0, 3, &frame(2, 1))]).sent.len(), 1);
    }
}

#[test]
fn an_answer_that_may_not_be_given_is_refused_and_the_application_goes_on() {
    let runtime = Runtime::from_now().unwrap();
    let status = "(i32.store16 (i32.const 2048) (i32.const 302)) i32.const 0";
    let kind = "(i32.store8 (i32.const 3005) (i32.const 88)) i32.const 0";
    let long = "i32.const 1048577";
    for (body, words) in [(status, "status 302"), (kind, "\"text/Xlain\""), (long, "the most")] {
        let app = Guest { http: Some(body), ..ECHO }.started(&runtime, ANSWERS);
        let refused = app.http(request("/")).unwrap_err();
        assert!(matches!(&refused, HttpError::Unfit(why) if why.contains(words)), "{refused}");
        let status = app.status();
        assert_eq!((status.state, status.faults.len()), (AppState::Running, 0));
    }
}

#[test]
fn more_requests_than_may_wait_are_told_to_come_later_and_workers_go_on() {
    let runtime = Runtime::from_now().unwrap();
    let slow = Guest { batch: SENDS.batch, module: SENDS.module, ..SLOW };
    let app =
        slow.started(&runtime, &format!("{ANSWERS}[limits]\nbatch-ms = 1000\nfailures = 99\n"));
    let ask = |_| {
        let app = app.clone();
        thread::spawn(move || app.http(request("/")))
    };
    let asked: Vec<_> = (0..16).map(ask).collect();
    let mut network = Network::new(&app, 1);
    assert_eq!(network.batch(&[(0, 3, &frame(2, 1))]).sent.len(), 1);
    let answers: Vec<_> = asked.into_iter().map(|thread| thread.join().unwrap()).collect();
    let busy = answers.iter().filter(|answer| **answer == Err(HttpError::Busy)).count();
    let answered = answers.iter().filter(|answer| answer.is_ok()).count();
    assert!(busy >= 8 && answered >= 1 && busy + answered == 16, "{answers:?}");
}
