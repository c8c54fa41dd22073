//! `aldis doctor` at a controller with emulated switches: faults that are made for real, and a
//! large network in order. Faults that need Open vSwitch are in `tests/mininet/doctor.py`.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use aldis_testkit::client::Api;
use aldis_testkit::network::Network;
use aldis_testkit::running::{Running, WITHIN};
use aldis_wire::Version;
use serde_json::Value;

use super::ask::asked;
use super::{serving, when};

/// Three times what the whole look may take: other tests beside this one take all processors.
const LOOK: Duration = Duration::from_secs(15);

/// What neighbours of this machine and other tests take, which is no fault of a network.
const OF_NEIGHBOURS: [&str; 3] = ["processor-stolen", "processor-busy", "processor-throttled"];

/// The exit code and what it says.
fn doctor(api: &Api) -> (Option<i32>, Value) {
    let start = Instant::now();
    let (said, errors, code) = asked(api, &["doctor", "--json"]);
    assert!(start.elapsed() < LOOK, "it took {:?}", start.elapsed());
    let json = serde_json::from_str(&said).unwrap_or_else(|_| panic!("{said}{errors}"));
    (code, json)
}

/// What it says of the network and the controller.
fn of_network(said: &Value) -> Vec<&Value> {
    let found = said["findings"].as_array().unwrap().iter();
    found.filter(|found| OF_NEIGHBOURS.iter().all(|id| found["id"] != *id)).collect()
}

/// Waits until this diagnosis stands first.
fn finds(api: &Api, id: &str) -> Value {
    let deadline = Instant::now() + WITHIN;
    loop {
        let (code, said) = doctor(api);
        if let Some(first) = of_network(&said).first().filter(|first| first["id"] == id) {
            assert_eq!(code, Some(1));
            return (*first).clone();
        }
        assert!(Instant::now() < deadline, "{id} did not come first: {said:#}");
    }
}

/// What ends with the test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Load on a controller, until it is dropped.
fn load(controller: &Running, args: &[&str]) -> Ended {
    let mut bench = Command::new(env!("CARGO_BIN_EXE_aldis"));
    bench.args(["bench", &controller.address, "--loops", "60"]).args(args);
    Ended(bench.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
}

#[test]
fn nothing_is_found_in_a_network_of_1347_switches_that_is_in_order() {
    let mut running = Running::start(&["--http", "127.0.0.1:0"]);
    let api = Api::of(&mut running);
    let _network = Network::start(&running, Version::V13, "waxman,1347", &["0s pingall 50"]);
    when(&api, "/api/v1/health", |health| health["switches"] == 1347);
    when(&api, "/api/v1/links", |links| {
        let links = links["items"].as_array().unwrap();
        links.len() > 2000 && links.iter().all(|link| link["state"] == "up")
    });
    let deadline = Instant::now() + WITHIN;
    loop {
        let (code, said) = doctor(&api);
        if of_network(&said).is_empty() {
            assert!(said["looked_at"][0].as_str().unwrap().contains("1347 switches"), "{said:#}");
            assert_eq!(code, Some(i32::from(said["findings"][0].is_object())), "{said:#}");
            return;
        }
        assert!(Instant::now() < deadline, "{said:#}");
    }
}

#[test]
fn two_switches_of_one_name_are_found_from_afar_and_the_controller_says_so_by_itself() {
    let (mut controller, api) = serving();
    let _one = Network::start(&controller, Version::V13, "single,1", &[]);
    when(&api, "/api/v1/health", |health| health["switches"] == 1);
    let _other = Network::start(&controller, Version::V13, "single,1", &[]);
    let found = finds(&api, "duplicate-dpid");
    assert!(found["title"].as_str().unwrap().contains("0000000000000001"), "{found}");
    let health = api.get("/api/v1/health").json();
    assert_eq!(health["findings"][0]["id"], "duplicate-dpid", "{health}");
    assert_eq!(health["findings"][0]["severity"], "fault");
    let metrics = String::from_utf8(api.get("/metrics").body).unwrap();
    let line = "aldis_findings{id=\"duplicate-dpid\",severity=\"fault\"} 1\n";
    assert!(metrics.contains(line), "{metrics}");
    controller.says("duplicate-dpid: ");
}

#[test]
fn a_storm_and_a_switch_that_does_not_read_are_found() {
    let (controller, api) = serving();
    {
        let _storm = load(&controller, &["-t", "--switches", "1"]);
        finds(&api, "storm");
    }
    let _dead = load(&controller, &["--mode", "latency", "--switches", "1", "--dead", "1"]);
    let deadline = Instant::now() + WITHIN;
    loop {
        let (_, said) = doctor(&api);
        let found = said["findings"].as_array().unwrap().iter();
        if found.clone().any(|found| found["id"] == "slow-switch") {
            return;
        }
        assert!(Instant::now() < deadline, "no slow switch: {said:#}");
    }
}

/// Keeps the first request of each batch from the applications behind it, and says nothing: at 16
/// and at 2080 are results, at 2048 the command.
const HOLE: &str = r#"(component
  (core module $m
    (memory (export "memory") 4)
    (global $top (mut i32) (i32.const 8192))
    (data (i32.const 2048) "\01\00\00\00")
    (data (i32.const 2080) "\00\08\00\00\18\00\00\00")
    (func (export "realloc") (param i32 i32 i32 i32) (result i32)
      (global.set $top (i32.add (global.get $top) (local.get 3)))
      (i32.sub (global.get $top) (local.get 3)))
    (func (export "start") (param i32 i32) (result i32) i32.const 16)
    (func (export "batch") (param i32 i32) (result i32)
      (global.set $top (i32.const 8192)) i32.const 2080)
    (func (export "tick") (param i64) (result i32) i32.const 16)
    (func (export "stop")))
  (core instance $i (instantiate $m))
  (alias core export $i "memory" (core memory $memory))
  (alias core export $i "realloc" (core func $realloc))
  (func (export "start") (param "config" string) (result (result (error string)))
    (canon lift (core func $i "start") (memory $memory) (realloc (core func $realloc))))
  (func (export "batch") (param "events" (list u8)) (result (list u8))
    (canon lift (core func $i "batch") (memory $memory) (realloc (core func $realloc))))
  (func (export "tick") (param "now" u64) (result (list u8))
    (canon lift (core func $i "tick") (memory $memory) (realloc (core func $realloc))))
  (func (export "stop") (canon lift (core func $i "stop"))))"#;

#[test]
fn an_application_that_swallows_requests_is_found() {
    let (controller, api) = serving();
    let manifest = "contract = \"0.1\"\nname = \"hole\"\nversion = \"1\"\n\
                    events = [\"flow-request\"]\n";
    let component = wat::parse_str(HOLE).unwrap();
    let package = aldis_sandbox::pack(manifest.as_bytes(), &component, &[], None).unwrap();
    let kind = [("Content-Type", "application/octet-stream")];
    let answer = api.ask("POST", "/api/v1/apps", &kind, &package);
    assert_eq!(answer.status, 200, "{answer:?}");
    let deadline = Instant::now() + 2 * WITHIN;
    // Hosts ask for each other in their first seconds alone: a look that came too late has them
    // begin anew.
    let found = loop {
        let mut emulate = Command::new(env!("CARGO_BIN_EXE_aldis"));
        emulate.args(["emulate", &controller.address, "--topology", "single,8", "--load", "200"]);
        emulate.args(["--for", "60"]).stdin(Stdio::null());
        let _load = Ended(emulate.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        let looks = std::iter::repeat_with(|| {
            let (_, said) = doctor(&api);
            of_network(&said).first().map(|first| (*first).clone())
        });
        let mut first = looks.take(3).flatten();
        let found = first.find(|found| found["id"] == "app-swallows-requests");
        if let Some(found) = found {
            break found;
        }
        assert!(Instant::now() < deadline, "it is not found");
    };
    assert_eq!(found["command"], "aldis app stop hole");
    let (said, errors, code) = asked(&api, &["app", "stop", "hole"]);
    assert_eq!(code, Some(0), "{said}{errors}");
    when(&api, "/api/v1/apps", |apps| {
        let app = apps["apps"].as_array().unwrap().iter().find(|app| app["name"] == "hole");
        app.unwrap()["state"] == "stopped"
    });
    let (_, said) = doctor(&api);
    assert!(!said["findings"].to_string().contains("app-swallows"), "{said:#}");
}

#[test]
fn neighbours_that_take_the_processor_are_found() {
    let (controller, api) = serving();
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    let burn = || {
        let mut shell = Command::new("sh");
        Ended(shell.args(["-c", "while :; do :; done"]).stdin(Stdio::null()).spawn().unwrap())
    };
    let _neighbours: Vec<_> = (0..4 * cores).map(|_| burn()).collect();
    // So much work that its threads want a processor all the time, and no storm.
    let _load = load(&controller, &["--rate", "15000", "--switches", "8"]);
    let deadline = Instant::now() + WITHIN;
    loop {
        let (_, said) = doctor(&api);
        let found = said["findings"].as_array().unwrap().iter();
        if found.clone().any(|found| found["id"] == "processor-busy") {
            return;
        }
        assert!(Instant::now() < deadline, "the processor is not busy: {said:#}");
    }
}

#[test]
fn a_key_that_is_not_taken_is_no_finding_and_has_a_code_of_its_own() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || answer(&listener, "401 Unauthorized", "{}"));
    let (code, said) = doctor(&Api { address });
    assert_eq!(code, Some(2), "{said:#}");
    assert_eq!(
        (&said["healthy"], said["findings"].as_array().map(Vec::len)),
        (&false.into(), Some(0))
    );
    assert!(said["not_seen"][0].as_str().unwrap().contains("401"), "{said:#}");
}

#[test]
fn a_clock_that_is_another_is_found() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let old = r#"{"switches":1,"up_since":"2001-02-03T04:05:06Z","up_for_s":1}"#;
    std::thread::spawn(move || answer(&listener, "200 OK", old));
    let found = finds(&Api { address }, "clock-wrong");
    assert!(found["evidence"][0].as_str().unwrap().contains("behind"), "{found}");
}

/// Answers everything alike.
fn answer(listener: &TcpListener, status: &str, body: &str) {
    let text = format!("HTTP/1.0 {status}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    for mut stream in listener.incoming().flatten() {
        let text = text.clone();
        // One that connects and asks nothing keeps no other waiting.
        std::thread::spawn(move || {
            let mut request = [0; 4096];
            let _ = stream.set_read_timeout(Some(Duration::from_secs(1)));
            let _ = stream.read(&mut request);
            let _ = stream.write_all(text.as_bytes());
        });
    }
}
