//! Routes and pages of installed applications: handed over, answered, refused, and behind the same
//! authentication as everything else.

use std::time::{Duration, Instant};

use aldis_sandbox::{Page, pack};
use aldis_testkit::Folder;
use aldis_testkit::client::{Api, HttpAnswer};
use aldis_testkit::network::Network;
use aldis_testkit::running::Running;
use aldis_wire::Version;
use serde_json::Value;

use super::installed::built;
use super::when;

/// Answers a request with its method, path, query, type and body; traps where the body begins with
/// an exclamation mark.
const COMPONENT: &str = r#"(component
  (core module $m
    (memory (export "memory") 4)
    (global $top (mut i32) (i32.const 8192))
    (data (i32.const 2048) "\c8\00\00\00\b8\0b\00\00\0a\00\00\00\00\20\00\00")
    (data (i32.const 3000) "text/plain")
    (func (export "realloc") (param i32 i32 i32 i32) (result i32)
      (global.set $top (i32.add (global.get $top) (local.get 3)))
      (i32.sub (global.get $top) (local.get 3)))
    (func (export "start") (param i32 i32) (result i32) i32.const 16)
    (func (export "batch") (param i32 i32) (result i32)
      (global.set $top (i32.const 8192)) i32.const 16)
    (func (export "tick") (param i64) (result i32) i32.const 16)
    (func (export "http") (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
      (if (i32.ne (local.get 9) (i32.const 0))
        (then (if (i32.eq (i32.load8_u (local.get 8)) (i32.const 33)) (then unreachable))))
      (i32.store (i32.const 2064) (i32.sub (global.get $top) (i32.const 8192)))
      (global.set $top (i32.const 8192))
      i32.const 2048)
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
  (func (export "http") (param "method" string) (param "path" string) (param "query" string)
      (param "content-type" string) (param "body" (list u8))
      (result (tuple u16 string (list u8)))
    (canon lift (core func $i "http") (memory $memory) (realloc (core func $realloc))))
  (func (export "stop") (canon lift (core func $i "stop"))))"#;

/// The package of an application that answers, or of one that does not, with these pages.
fn package(name: &str, answers: bool, pages: &[(&str, &str)]) -> Vec<u8> {
    let manifest = format!(
        "contract = \"0.1\"\nname = \"{name}\"\nversion = \"1\"\n[grants]\nhttp = {answers}\n"
    );
    let page = |(path, text): &(&str, &str)| Page {
        path: (*path).to_owned(),
        bytes: text.as_bytes().to_vec(),
    };
    let pages: Vec<_> = pages.iter().map(page).collect();
    pack(manifest.as_bytes(), &wat::parse_str(COMPONENT).unwrap(), &pages, None).unwrap()
}

fn install(api: &Api, package: &[u8]) {
    let kind = [("Content-Type", "application/octet-stream")];
    let answer = api.ask("POST", "/api/v1/apps", &kind, package);
    assert_eq!(answer.status, 200, "{answer:?}");
}

fn started() -> (Running, Api) {
    let mut controller = Running::start(&["--http", "127.0.0.1:0", "--apps", "hub"]);
    let api = Api::of(&mut controller);
    (controller, api)
}

fn text(answer: &HttpAnswer) -> String {
    assert_eq!(answer.status, 200, "{answer:?}");
    String::from_utf8(answer.body.clone()).unwrap()
}

#[test]
fn a_request_below_an_applications_path_is_its_own_to_answer() {
    let (_controller, api) = started();
    install(&api, &package("echo", true, &[]));
    let answer = api.get("/apps/echo/a%20b/c?d=%20e");
    assert_eq!(text(&answer), "GET/a b/cd=%20e");
    assert!(answer.says("content-type", "text/plain"), "{answer:?}");
    assert!(answer.says("content-security-policy", "sandbox; default-src 'none'"), "{answer:?}");
    assert!(answer.says("x-content-type-options", "nosniff"), "{answer:?}");
    assert_eq!(text(&api.get("/apps/echo/")), "GET/");
    for method in ["POST", "PUT", "DELETE"] {
        let answer = api.ask(method, "/apps/echo/x", &[("Content-Type", "text/csv")], b"1,2");
        assert_eq!(text(&answer), format!("{method}/xtext/csv1,2"));
    }
    let head = api.ask("HEAD", "/apps/echo/x", &[], b"");
    assert_eq!((head.status, head.body.len()), (200, 0));
    let own = echo(&api.get("/api/v1/apps").json())["counted"]["own"].clone();
    assert_eq!(own["http_requests"], 6, "{own}");
    let without_slash = api.get("/apps/echo");
    assert!(without_slash.status == 307 && without_slash.says("location", "echo/"));
}

#[test]
fn paths_that_could_mean_another_place_and_bodies_that_are_too_long_are_refused() {
    let (_controller, api) = started();
    install(&api, &package("echo", true, &[]));
    for path in [
        "/apps/echo/../hub",
        "/apps/echo/%2e%2e/hub",
        "/apps/echo//x",
        "/apps/echo/a%2fb",
        "/apps/echo/a%5c..%5cb",
        "/apps/echo/%00",
        "/apps/echo/%ff",
        "/apps/echo/@else",
    ] {
        let answer = api.get(path);
        assert!(answer.is_problem(400, "the path: "), "{path}: {answer:?}");
    }
    let long = format!("/apps/echo/{}", "a".repeat(3000));
    assert!(api.get(&long).is_problem(400, "2048 bytes"));
    let body = vec![b'a'; 64 * 1024 + 1];
    let answer = api.ask("POST", "/apps/echo/x", &[], &body);
    assert!(answer.is_problem(413, "65536 bytes"), "{answer:?}");
    let most = api.ask("POST", "/apps/echo/x", &[], &body[1..]);
    assert_eq!(text(&most).len(), "POST/x".len() + 64 * 1024);
    assert!(api.ask("PATCH", "/apps/echo/x", &[], b"").is_problem(405, "PATCH"));
    // A page of another site in a browser of this machine.
    let foreign = [("Origin", "http://evil.example")];
    assert!(api.ask("POST", "/apps/echo/x", &foreign, b"").is_problem(403, "another origin"));
}

#[test]
fn an_application_that_cannot_answer_says_why() {
    let (mut controller, api) = started();
    install(&api, &package("echo", true, &[]));
    install(&api, &package("mute", false, &[]));
    assert!(api.get("/apps/other/x").is_problem(404, "\"other\" was installed"));
    assert!(api.get("/apps/hub/x").is_problem(404, "\"hub\" was installed"));
    assert!(api.get("/apps/mute/x").is_problem(404, "mute: it answers no requests"));
    for failures in 1..=3_u64 {
        let failed = api.ask("POST", "/apps/echo/x", &[], b"!");
        assert!(failed.is_problem(502, "echo: "), "{failed:?}");
        when(&api, "/api/v1/apps", |apps| {
            let it = echo(apps);
            let counted = &it["counted"]["failures"];
            counted.as_u64() == Some(failures) && it["state"] != "restarting"
        });
    }
    let refused = api.get("/apps/echo/x");
    assert!(refused.is_problem(503, "quarantined"), "{refused:?}");
    controller.says("echo: quarantined after 3 failures");
    assert_eq!(api.ask("POST", "/api/v1/apps/echo/start", &[], b"").status, 200);
    assert_eq!(text(&api.get("/apps/echo/x")), "GET/x");
    assert_eq!(api.ask("POST", "/api/v1/apps/echo/stop", &[], b"").status, 200);
    assert!(api.get("/apps/echo/x").is_problem(503, "echo: it is stopped"));
}

fn echo(apps: &Value) -> Value {
    let mut all = apps["apps"].as_array().unwrap().iter();
    all.find(|app| app["name"] == "echo").cloned().unwrap_or_default()
}

#[test]
fn the_pages_of_a_package_are_served_under_its_digest_and_nothing_else_is() {
    let (_controller, api) = started();
    let pages = [
        ("index.html", "<!doctype html><title>Echo</title>"),
        ("parts/a b.js", "1"),
        ("parts/data.xyz", "2"),
    ];
    install(&api, &package("echo", true, &pages));
    let place = echo(&api.get("/api/v1/apps").json())["page"].as_str().unwrap().to_owned();
    let home = api.get("/apps/echo/");
    let to = home.header("location").unwrap();
    assert!(home.status == 307 && format!("apps/echo/{to}") == place, "{home:?}");
    let page = api.get(&format!("/{place}"));
    assert_eq!(text(&page), pages[0].1);
    assert!(page.says("content-security-policy", "sandbox allow-scripts; default-src 'none'"));
    assert!(page.says("content-security-policy", "frame-ancestors 'self'"), "{page:?}");
    assert!(page.says("cache-control", "immutable") && page.says("content-type", "text/html"));
    let kind = |path: &str| {
        let answer = api.get(&format!("/{place}{path}"));
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        answer.header("content-type").unwrap().to_owned()
    };
    assert_eq!(kind("parts/a%20b.js"), "text/javascript; charset=utf-8");
    assert_eq!(kind("aldis.js"), "text/javascript; charset=utf-8");
    assert_eq!(kind("parts/data.xyz"), "application/octet-stream");
    // Its parts are asked for by a page without an origin.
    let null = [("Origin", "null")];
    assert_eq!(api.ask("GET", &format!("/{place}aldis.js"), &null, b"").status, 200);
    assert!(api.ask("GET", "/apps/echo/parts", &null, b"").is_problem(403, "another origin"));
    // What the application answers is beside the page.
    assert_eq!(text(&api.get("/apps/echo/parts")), "GET/parts");
    for path in ["manifest.toml", "../manifest.toml", "%2e%2e/manifest.toml", "parts", "parts/"] {
        assert_eq!(api.get(&format!("/{place}{path}")).status, 404, "{path}");
    }
    let other = place.replace("@pages/", "@pages/0");
    assert_eq!(api.get(&format!("/{other}")).status, 404);
    // The pages stay while the application is stopped, and go with it.
    assert_eq!(api.ask("POST", "/api/v1/apps/echo/stop", &[], b"").status, 200);
    assert_eq!(api.get(&format!("/{place}")).status, 200);
    assert_eq!(api.ask("DELETE", "/api/v1/apps/echo", &[], b"").status, 200);
    assert_eq!(api.get(&format!("/{place}")).status, 404);
}

#[test]
fn an_application_reads_the_lists_that_rest_gives() {
    let folder = Folder::new("app-snapshots");
    folder.write("aldis.toml", "apps = [\"hub\", \"monitor\"]\n[monitor]\ninterval-s = 1\n");
    let config = folder.file("aldis.toml");
    let mut controller = Running::start(&["--http", "127.0.0.1:0", "--config", &config]);
    let api = Api::of(&mut controller);
    let file = built("packet-count", "packet-count");
    install(&api, &std::fs::read(file).unwrap());
    let _network = Network::start(&controller, Version::V13, "linear,2", &["0s pingall"]);
    when(&api, "/api/v1/switches", |switches| switches["total"] == 2);
    let json = [("Content-Type", "application/json")];
    let named = api.ask("PUT", "/api/v1/names/2", &json, br#"{"name": "<b>core</b>"}"#);
    assert!(named.status < 300, "{named:?}");
    let mut seen = api.get("/apps/packet-count/switches").json();
    let mut listed = api.get("/api/v1/switches").json();
    assert_eq!((&seen["total"], &seen["items"][1]["name"]), (&2.into(), &"<b>core</b>".into()));
    // What goes on meanwhile differs.
    for list in [&mut seen, &mut listed] {
        for item in list["items"].as_array_mut().unwrap() {
            let fields = item.as_object_mut().unwrap();
            let gone = ["counters", "kept", "up_since"].map(|field| fields.remove(field));
            assert!(gone.iter().all(Option::is_some), "{gone:?}");
        }
    }
    assert_eq!(seen, listed);
    let samples = when(&api, "/api/v1/port-statistics", |samples| {
        samples["items"]
            .as_array()
            .is_some_and(|all| all.iter().any(|one| one["per_s"].is_object()))
    });
    let first = &samples["items"][0];
    assert!(
        first["dpid"] == "0000000000000001" && first["counted"]["rx_bytes"].is_u64(),
        "{first}"
    );
    let page = api.get("/api/v1/port-statistics?limit=1").json();
    let next = page["next"].as_str().unwrap();
    let rest = api.get(&format!("/api/v1/port-statistics?cursor={next}")).json();
    let rest = rest["items"].as_array().unwrap().len() + 1;
    assert_eq!(samples["total"], rest, "{page}");
}

#[test]
fn without_the_monitor_there_are_no_port_statistics() {
    let (_controller, api) = started();
    assert!(api.get("/api/v1/port-statistics").is_problem(404, "port statistics"));
}

/// One that takes three seconds to fail at its start, all of which the installation takes.
#[test]
fn everything_else_is_answered_while_an_application_is_installed() {
    let (_controller, api) = started();
    install(&api, &package("echo", true, &[("index.html", "")]));
    let start = "(func (export \"start\") (param i32 i32) (result i32) i32.const 16)";
    let slow = COMPONENT.replace(
        start,
        "(func (export \"start\") (param i32 i32) (result i32) (loop $on (br $on)) unreachable)",
    );
    assert_ne!(slow, COMPONENT);
    let manifest =
        "contract = \"0.1\"\nname = \"slow\"\nversion = \"1\"\n[limits]\nstart-ms = 3000\n";
    let slow = pack(manifest.as_bytes(), &wat::parse_str(slow).unwrap(), &[], None).unwrap();
    let installing = {
        let api = api.clone();
        std::thread::spawn(move || {
            let kind = [("Content-Type", "application/octet-stream")];
            let begun = Instant::now();
            let answer = api.ask("POST", "/api/v1/apps", &kind, &slow);
            assert!(answer.is_problem(422, "it does not start"), "{answer:?}");
            begun.elapsed()
        })
    };
    let mut slowest = Duration::ZERO;
    let mut asked = 0;
    while !installing.is_finished() {
        for path in ["/api/v1/apps", "/apps/echo/x", "/apps/echo/", "/metrics"] {
            let begun = Instant::now();
            assert!(api.get(path).status < 400, "{path}");
            slowest = slowest.max(begun.elapsed());
            asked += 1;
        }
    }
    let took = installing.join().unwrap();
    assert!(took >= Duration::from_secs(3) && asked > 20, "{asked} in {took:?}");
    assert!(slowest < Duration::from_secs(2), "{slowest:?} of {took:?}");
}
