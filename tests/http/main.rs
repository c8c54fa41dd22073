//! `aldis run --http` as scripts, browsers and strangers meet it, with emulated switches behind it.

mod app_routes;
mod ask;
mod doctor;
mod floodlight;
mod flows;
mod follow;
mod found;
mod greedy;
mod hostile;
mod installed;
mod kept;
mod lifecycle;
mod locked;
mod memory;
mod paths;
mod ports;
mod recording;
mod replay;
mod report;
mod ryu;
mod tutorial;

use std::io::Write;
use std::net::TcpListener;
use std::time::Instant;

use aldis_testkit::client::{Api, read};
use aldis_testkit::network::Network;
use aldis_testkit::running::{Running, WITHIN, failed, refused};
use aldis_wire::Version;
use serde_json::Value;

fn serving() -> (Running, Api) {
    // One application, which looks for no hosts and no links.
    let mut running = Running::start(&["--http", "127.0.0.1:0", "--apps", "learning-switch"]);
    let api = Api::of(&mut running);
    (running, api)
}

/// Asks until the answer is as it should be.
fn when(api: &Api, path: &str, is: impl Fn(&Value) -> bool) -> Value {
    let deadline = Instant::now() + WITHIN;
    loop {
        let answer = api.get(path);
        let json = answer.json();
        if answer.status == 200 && is(&json) {
            return json;
        }
        assert!(Instant::now() < deadline, "{path} stayed {json}");
        std::thread::yield_now();
    }
}

#[test]
fn switches_are_shown_while_they_are_there() {
    let (controller, api) = serving();
    assert_eq!(api.get("/api/v1/switches").json()["total"], 0);
    assert_eq!(api.get("/api/v1/version").json()["openflow"], serde_json::json!(["1.0", "1.3"]));
    {
        let script = ["0s link-down s1 s2", "0s ping h1 h2"];
        let _network = Network::start(&controller, Version::V13, "linear,3", &script);
        when(&api, "/api/v1/health", |health| health["state"] == "up" && health["switches"] == 3);
        // A port that goes down while the switch is connected is one less, and none goes away.
        let is = |switch: &Value| switch["ports_up"] == 1 && switch["counters"]["requests"] != 0;
        let switch = when(&api, "/api/v1/switches/1", is);
        assert_eq!(switch["dpid"], "0000000000000001");
        assert_eq!((&switch["version"], &switch["state"]), (&"1.3".into(), &"up".into()));
        assert_eq!((&switch["ports"], &switch["weight"]), (&2.into(), &1.into()));
        assert!(switch["address"].as_str().unwrap().starts_with("127.0.0.1:"));
        let since = switch["up_since"].as_str().unwrap();
        assert!(since.starts_with("20") && since.ends_with('Z'), "{since}");
        assert_ne!(switch["counters"]["bytes_out"], 0);
        for name in ["0x2", "0000000000000002", "00:00:00:00:00:00:00:02", "of:0000000000000002"] {
            let answer = api.get(&format!("/api/v1/switches/{name}"));
            assert_eq!(answer.json()["dpid"], "0000000000000002", "{name}");
        }
    }
    when(&api, "/api/v1/switches", |switches| switches["total"] == 0);
    assert!(api.get("/api/v1/switches/1").is_problem(404, "switch 0000000000000001 is not"));
}

#[test]
fn the_server_takes_no_processor_from_a_worker_in_its_batch() {
    // SCHED_OTHER and SCHED_BATCH.
    let (controller, _api) = serving();
    assert_eq!(controller.policies("http"), [3]);
    assert_eq!(controller.policies("worker-0"), [0]);
}

#[test]
fn lists_come_in_pages_and_through_filters() {
    let (controller, api) = serving();
    let _old = Network::start(&controller, Version::V10, "linear,5", &[]);
    when(&api, "/api/v1/switches?version=1.0", |page| page["total"] == 5);
    assert_eq!(api.get("/api/v1/switches?version=1.3").json()["items"], serde_json::json!([]));
    assert_eq!(api.get("/api/v1/switches?state=up").json()["total"], 5);
    let (mut seen, mut path) = (vec![], "/api/v1/switches?limit=2".to_owned());
    loop {
        let page = api.get(&path).json();
        assert_eq!(page["total"], 5);
        let items = page["items"].as_array().unwrap();
        seen.extend(items.iter().map(|switch| switch["dpid"].as_str().unwrap().to_owned()));
        let Some(next) = page["next"].as_str() else { break };
        path = format!("/api/v1/switches?limit=2&cursor={next}");
    }
    assert_eq!(seen, [1, 2, 3, 4, 5].map(|dpid| format!("{dpid:016x}")));
}

#[test]
fn what_cannot_be_understood_is_a_problem_in_words() {
    let (_controller, api) = serving();
    for (path, status, words) in [
        ("/api/v1/switches/one", 400, "\"one\" is not a datapath id"),
        ("/api/v1/switches/%ff", 400, "the path: "),
        ("/api/v1/switches/77777777777777777777", 400, "is not a datapath id"),
        ("/api/v1/switches?limit=0", 400, "limit: accepted are 1 to 10000"),
        ("/api/v1/switches?limit=-1", 400, "limit: a whole number is wanted"),
        ("/api/v1/switches?cursor=%3Cscript%3E", 400, "cursor: \"<script>\" is none"),
        ("/api/v1/switches?colour=red", 400, "there is no key `colour` here"),
        ("/api/v1/switches?state=dead", 400, "`up` or `not-reading`"),
        ("/api/v1/switches?limit=1&limit=2", 400, "is there twice"),
        ("/nowhere", 404, "/api/v1/openapi.json lists"),
        ("/../../../../etc/passwd", 404, "there is no"),
        ("/api/v1/../../etc/passwd", 404, "there is no"),
        ("/api/v1/%2e%2e%2fetc%2fpasswd", 404, "there is no"),
        ("/api/v1/switches/", 404, "there is no"),
    ] {
        let answer = api.get(path);
        assert!(answer.is_problem(status, words), "{path}: {answer:?}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert!(answer.header("content-security-policy").is_some());
    }
    let answer = api.ask("DELETE", "/api/v1/switches/1", &[], b"");
    assert!(answer.is_problem(405, "with DELETE"), "{answer:?}");
    assert_eq!(answer.header("allow"), Some("GET,HEAD"));
}

#[test]
fn strangers_and_their_pages_stay_outside() {
    let (_controller, api) = serving();
    let path = "/api/v1/health";
    let answer = api.ask("GET", path, &[("Host", "evil.example:8080")], b"");
    assert!(answer.is_problem(421, "not called \"evil.example:8080\""), "{answer:?}");
    let answer = api.ask("GET", path, &[("Origin", "http://evil.example")], b"");
    assert!(answer.is_problem(403, "another origin"), "{answer:?}");
    let answer = api.ask("POST", path, &[("Sec-Fetch-Site", "cross-site")], b"");
    assert!(answer.is_problem(403, "another site"), "{answer:?}");
    let own = format!("http://{}", api.address);
    assert_eq!(api.ask("GET", path, &[("Origin", &own)], b"").status, 200);
    assert!(api.say(b"GET /api/v1/health HTTP/1.0\r\n\r\n").is_problem(400, "for which host"));
}

#[test]
fn too_much_is_refused_and_others_are_served_meanwhile() {
    let (_controller, api) = serving();
    // Some clients connect and say nothing, or half of something, for as long as the test takes.
    let idle: Vec<_> = (0..100)
        .map(|index| {
            let mut stream = api.connect();
            stream.write_all(&b"GET /api/v1/health HTTP/1.1\r\nHost: loc"[..index % 38]).unwrap();
            stream
        })
        .collect();
    let long = format!("/{}", "a".repeat(100_000));
    assert!((400..500).contains(&api.get(&long).status));
    let many = vec![("X-Many", "1"); 200];
    assert_eq!(api.ask("GET", "/api/v1/health", &many, b"").status, 431);
    assert_eq!(api.say(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n").status, 400);
    assert_eq!(api.get("/api/v1/health").status, 200);
    drop(idle);
}

#[test]
fn more_connections_than_there_is_room_for_are_told_so() {
    let (_controller, api) = serving();
    let mut taken: Vec<_> = (0..512).map(|_| api.connect()).collect();
    let answer = read(&mut api.connect());
    assert!(answer.is_problem(503, "512 connections already"), "{answer:?}");
    assert_eq!(answer.header("retry-after"), Some("1"));
    taken.truncate(500);
    let deadline = Instant::now() + WITHIN;
    while api.get("/api/v1/health").status != 200 {
        assert!(Instant::now() < deadline, "those who left take no room");
    }
}

#[test]
fn it_ends_with_the_controller_whoever_is_connected() {
    let (mut controller, api) = serving();
    let mut silent = api.connect();
    let mut half = api.connect();
    half.write_all(b"GET /api/v1/health HTTP/1.1\r\n").unwrap();
    assert_eq!(controller.end("-TERM"), Some(0));
    assert!(std::net::TcpStream::connect(&api.address).is_err(), "nobody serves any more");
    let mut byte = [0];
    assert!(!matches!(std::io::Read::read(&mut silent, &mut byte), Ok(1)));
}

#[test]
fn a_port_that_is_taken_is_one_sentence() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let said = failed(&["run", "--listen", "127.0.0.1:0", "--http", &address]);
    assert!(said.contains(&address) && said.contains("--http off") && said.lines().count() == 1);
    let said = refused(&["run", "--listen", "127.0.0.1:0", "--http", "0.0.0.0:0"]);
    assert!(said.contains("without a password") && said.lines().count() == 1, "{said}");
    let said = refused(&["run", "--http", "here"]);
    assert!(said.contains("write it as \"here:8080\", or \"off\""), "{said}");
}
