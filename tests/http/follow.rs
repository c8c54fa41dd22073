//! Following what happens, and reading what is counted.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Instant;

use aldis_wire::Version;
use serde_json::Value;

use super::{serving, when};
use aldis_testkit::client::Api;
use aldis_testkit::network::Network;
use aldis_testkit::running::{Running, WITHIN};

/// A follower of the events, as a browser is.
pub(super) struct Listener(BufReader<TcpStream>);

impl Listener {
    pub(super) fn start(api: &Api, path: &str, headers: &str) -> Listener {
        let mut stream = api.connect();
        let host = &api.address;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\n{headers}\r\n").unwrap();
        let mut listener = Listener(BufReader::new(stream));
        assert_eq!(listener.line(), "HTTP/1.1 200 OK");
        while listener.line() != ": aldis" {}
        listener
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        assert_ne!(self.0.read_line(&mut line).unwrap(), 0, "the stream ended");
        line.trim_end().to_owned()
    }

    /// The next event.
    fn event(&mut self) -> Value {
        let deadline = Instant::now() + WITHIN;
        loop {
            // Where nothing happens, a comment comes.
            if let Some(data) = self.line().strip_prefix("data: ") {
                return serde_json::from_str(data).unwrap();
            }
            assert!(Instant::now() < deadline, "no event came");
        }
    }

    /// The next event of this kind about this switch.
    pub(super) fn hears(&mut self, kind: &str, dpid: u64) -> Value {
        self.hears_that(|event| event["kind"] == kind && event["dpid"] == format!("{dpid:016x}"))
    }

    pub(super) fn hears_that(&mut self, is: impl Fn(&Value) -> bool) -> Value {
        loop {
            let event = self.event();
            if is(&event) {
                return event;
            }
        }
    }
}

#[test]
fn what_happens_is_heard_and_who_comes_back_misses_nothing() {
    let (controller, api) = serving();
    let mut listener = Listener::start(&api, "/api/v1/events", "");
    // What changes while a switch shakes hands is part of that, and no event: so it changes again
    // and again.
    let script: Vec<String> = (0..100)
        .map(|step| {
            let what = if step % 2 == 0 { "link-down" } else { "link-up" };
            format!("{}ms {what} s1 s2", step * 300)
        })
        .collect();
    let script: Vec<&str> = script.iter().map(String::as_str).collect();
    let network = Network::start(&controller, Version::V13, "linear,2", &script);
    let is_down = |event: &Value| {
        let (kind, dpid, port) = (&event["kind"], &event["dpid"], &event["port"]);
        *kind == "port-changed" && *dpid == "0000000000000001" && port["up"] == false
    };
    let change = listener.hears_that(is_down);
    assert_eq!(change["port"]["dpid"], change["dpid"]);
    assert!(change["text"].as_str().unwrap().contains("it has no link"), "{change}");
    when(&api, "/api/v1/health", |health| health["switches"] == 2);
    drop(network);
    let gone = listener.hears("switch-down", 2);
    // All of it again, from the first on, and from the middle on.
    let mut again = Listener::start(&api, "/api/v1/events?after=oldest", "");
    let up = again.event();
    assert_eq!(up["kind"], "switch-up");
    assert!(up["text"].as_str().unwrap().contains("OpenFlow 1.3, 2 ports"), "{up}");
    assert_eq!(again.hears_that(is_down), change);
    let id = change["id"].as_str().unwrap();
    let mut resumed = Listener::start(&api, "/api/v1/events", &format!("Last-Event-ID: {id}\r\n"));
    assert_eq!(resumed.hears("switch-down", 2), gone);
    let mut stranger = Listener::start(&api, "/api/v1/events?after=0123abc-7", "");
    assert_eq!(stranger.event()["kind"], "restarted");
    assert_eq!(stranger.event(), up);
    for id in ["7", "newest", "-"] {
        let answer = api.get(&format!("/api/v1/events?after={id}"));
        assert!(answer.is_problem(400, "no event's id"), "{answer:?}");
    }
}

#[test]
fn what_is_left_out_is_told_though_nothing_follows() {
    let (controller, api) = serving();
    let mut listener = Listener::start(&api, "/api/v1/events", "");
    const STRANGERS: u64 = 250;
    for _ in 0..STRANGERS {
        let mut stranger = TcpStream::connect(&controller.address).unwrap();
        stranger.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        // The controller closes it.
        let _ = stranger.read_to_end(&mut vec![]);
    }
    let (mut kept, mut left_out) = (0, 0);
    while kept + left_out < STRANGERS {
        let event = listener.event();
        match event["kind"].as_str().unwrap() {
            "stranger" => kept += 1,
            "left-out" => left_out += event["missed"].as_u64().unwrap(),
            _ => panic!("{event}"),
        }
    }
    // A hundred of a kind are kept in ten seconds.
    assert!(kept >= 100 && left_out > 0, "{kept} and {left_out}");
    assert_eq!(kept + left_out, STRANGERS);
}

#[test]
fn the_newest_events_are_a_list() {
    let (controller, api) = serving();
    let network = Network::start(&controller, Version::V10, "linear,3", &[]);
    when(&api, "/api/v1/health", |health| health["switches"] == 3);
    drop(network);
    let is = |page: &Value| page["total"].as_u64() >= Some(6);
    let page = when(&api, "/api/v1/events/recent", is);
    let all = page["items"].as_array().unwrap();
    let (mut seen, mut cursor) = (vec![], String::new());
    loop {
        let page = api.get(&format!("/api/v1/events/recent?limit=2{cursor}")).json();
        seen.extend(page["items"].as_array().unwrap().clone());
        let Some(next) = page["next"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(seen, *all);
    let ids: BTreeSet<_> = all.iter().map(|event| event["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), all.len());
}

#[test]
fn a_websocket_says_the_same() {
    let (controller, api) = serving();
    let mut stream = api.connect();
    let request = "GET /api/v1/events/ws HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                   Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    write!(stream, "{request}Host: {}\r\n\r\n", api.address).unwrap();
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert_ne!(reader.read_line(&mut head).unwrap(), 0, "{head}");
    }
    // RFC 6455 §1.3 has the answer to this key.
    assert!(head.starts_with("HTTP/1.1 101") && head.contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
    let network = Network::start(&controller, Version::V13, "single,1", &[]);
    let event = message(&mut reader);
    assert_eq!((&event["kind"], &event["dpid"]), (&"switch-up".into(), &"0000000000000001".into()));
    drop(network);
    assert_eq!(message(&mut reader)["kind"], "switch-down");
    let answer = api.get("/api/v1/events/ws");
    assert!(answer.is_problem(400, "for WebSockets"), "{answer:?}");
    let origin = [("Origin", "http://evil.example")];
    assert!(api.ask("GET", "/api/v1/events/ws", &origin, b"").is_problem(403, "another origin"));
}

/// The next text message; none is longer than 64 KiB.
fn message(reader: &mut impl Read) -> Value {
    let mut head = [0; 2];
    reader.read_exact(&mut head).unwrap();
    assert_eq!(head[0], 0x81, "one whole text message");
    let mut len = usize::from(head[1]);
    if len == 126 {
        let mut long = [0; 2];
        reader.read_exact(&mut long).unwrap();
        len = usize::from(u16::from_be_bytes(long));
    }
    let mut text = vec![0; len];
    reader.read_exact(&mut text).unwrap();
    serde_json::from_slice(&text).unwrap()
}

#[test]
fn what_is_counted_is_the_same_in_every_form() {
    let (controller, api) = serving();
    let network = Network::start(&controller, Version::V13, "linear,2", &["0s pingall"]);
    let is = |page: &Value| {
        let items = page["items"].as_array().unwrap();
        items.len() == 2 && items.iter().all(|switch| switch["counters"]["requests"] != 0)
    };
    when(&api, "/api/v1/switches", is);
    assert_eq!(api.get("/api/v1/ports?up=true").json()["total"], 4);
    let port = api.get("/api/v1/switches/1/ports/1").json();
    assert_eq!((&port["number"], &port["up"]), (&1.into(), &true.into()));
    assert_eq!(api.get("/api/v1/switches/0x2/ports?limit=1").json()["total"], 2);
    assert!(api.get("/api/v1/switches/1/ports/77").is_problem(404, "has no port 77"));
    let statistics = api.get("/api/v1/statistics").json();
    assert_eq!(statistics["switches"].as_array().unwrap().len(), 2);
    let mut apps = statistics["apps"].as_array().unwrap().iter();
    let learns = apps.find(|app| app["app"] == "learning-switch").unwrap();
    assert!(learns["events"]["flow-request"].as_u64() >= Some(1));
    let answer = api.get("/metrics");
    assert!(answer.header("content-type").unwrap().starts_with("text/plain; version=0.0.4"));
    let text = String::from_utf8(answer.body).unwrap();
    let value = |name: &str| -> f64 {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("no {name} in\n{text}")).parse().unwrap()
    };
    assert_eq!(value("aldis_switches"), 2.0);
    assert_eq!(value("aldis_switch_ports{dpid=\"0000000000000002\",state=\"up\"}"), 2.0);
    assert!(value("aldis_switch_requests_total{dpid=\"0000000000000001\"}") >= 1.0);
    assert!(value("aldis_requests_total{worker=\"0\"}") >= 0.0);
    assert_eq!(value("aldis_batch_size_bucket{le=\"+Inf\"}"), value("aldis_batch_size_count"));
    assert!(value("process_resident_memory_bytes") > 1e6);
    assert!(value("aldis_app_events_total{app=\"learning-switch\",on=\"flow-request\"}") >= 1.0);
    assert!(value("aldis_app_sent_bytes_total{app=\"learning-switch\"}") >= 1.0);
    assert!(value("aldis_app_counts_total{app=\"learning-switch\",what=\"cut\"}") >= 0.0);
    well_formed(&text);
    for name in dashboard() {
        assert!(text.contains(&format!("# TYPE {name} ")), "the dashboard asks for {name}");
    }
    drop(network);
}

#[test]
fn what_applications_did_is_shown_with_them() {
    let (controller, api) = serving();
    let _network = Network::start(&controller, Version::V13, "linear,2", &["0s pingall"]);
    // Every request is one of these four; a reader may come between two of the numbers.
    when(&api, "/api/v1/apps", |apps| {
        let mut all = apps["apps"].as_array().unwrap().iter();
        let counted = &all.find(|app| app["name"] == "learning-switch").unwrap()["counted"];
        let own = |name: &str| counted["own"][name].as_u64().unwrap();
        let answered: u64 = ["installed", "flooded", "filtered", "ignored"].map(own).iter().sum();
        answered > 0 && counted["events"]["flow-request"] == answered
    });
    let text = super::ask::told(&api, &["apps"]);
    assert!(text.contains("\n    was handed ") && text.contains("flow-request "), "{text}");
    assert!(text.contains("\n    counted          cut 0, evicted 0, filtered "), "{text}");
    // Applications that publish say how much there is.
    let mut controller = Running::start(&["--http", "127.0.0.1:0"]);
    let api = Api::of(&mut controller);
    let _other = Network::start(&controller, Version::V13, "linear,3", &["0s pingall"]);
    when(&api, "/api/v1/apps", |apps| {
        let of = |name: &str| {
            let mut all = apps["apps"].as_array().unwrap().iter();
            all.find(|app| app["name"] == name).unwrap()["counted"].clone()
        };
        let (links, hosts) = (of("topology"), of("hosts"));
        let is_known = links["now"]["links_up"] == 2 && hosts["now"]["hosts"] == 3;
        is_known
            && links["own"]["probes_heard"].as_u64() >= Some(4)
            && hosts["own"]["new"].as_u64() >= Some(3)
            && of("routing")["now"]["switches"] == 3
            && of("static-flows")["now"]["flows_missing"] == 0
    });
}

/// The names that the dashboard asks for.
fn dashboard() -> BTreeSet<String> {
    let text = include_str!("../../docs/grafana.json");
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let words = text.split(|letter| !is_name(letter));
    let names = words.filter(|word| word.starts_with("aldis_") || word.starts_with("process_"));
    let names: BTreeSet<_> =
        names.map(|name| name.trim_end_matches("_bucket").to_owned()).collect();
    assert!(names.len() > 10, "{names:?}");
    names
}

/// Every sample belongs to the family above it, and none comes twice.
fn well_formed(text: &str) {
    let (mut family, mut seen) = ("", BTreeSet::new());
    for line in text.lines() {
        if let Some(words) = line.strip_prefix("# TYPE ") {
            family = words.split(' ').next().unwrap();
        } else if !line.starts_with("# HELP ") {
            let (sample, value) = line.rsplit_once(' ').unwrap();
            let name = sample.split('{').next().unwrap();
            assert!(name.starts_with(family) && !family.is_empty(), "{line} is not of {family}");
            assert!(value.parse::<f64>().is_ok(), "{line}");
            assert!(seen.insert(sample), "{sample} comes twice");
        }
    }
}

#[test]
fn who_has_it_already_is_told_so() {
    let (_controller, api) = serving();
    let first = api.get("/api/v1/version");
    let tag = first.header("etag").unwrap();
    let again = api.ask("GET", "/api/v1/version", &[("If-None-Match", tag)], b"");
    assert_eq!((again.status, again.body.len(), again.header("etag")), (304, 0, Some(tag)));
    let other = api.ask("GET", "/api/v1/version", &[("If-None-Match", "\"other\"")], b"");
    assert_eq!((other.status, &other.body), (200, &first.body));
}

#[test]
fn the_description_is_a_page_that_needs_nothing_from_elsewhere() {
    let (_controller, api) = serving();
    for (path, kind) in [
        ("/api/docs", "text/html; charset=utf-8"),
        ("/api/docs/page.css", "text/css; charset=utf-8"),
        ("/api/docs/page.js", "text/javascript; charset=utf-8"),
    ] {
        let answer = api.get(path);
        assert_eq!((answer.status, answer.header("content-type")), (200, Some(kind)));
        assert!(answer.header("content-security-policy").unwrap().contains("script-src 'self';"));
        let text = String::from_utf8(answer.body).unwrap();
        assert!(!text.contains("http://") && !text.contains("https://"), "{path}");
    }
    let document = api.get("/api/v1/openapi.json").json();
    assert!(document["paths"]["/api/v1/events"]["get"].is_object());
    // Every body that the page shows as an example is one that is accepted, or is refused for what
    // there is not.
    let example = |method: &str, path: &str| {
        let body = &document["paths"][path][method]["requestBody"]["content"]["application/json"];
        body["example"].to_string()
    };
    let json = [("Content-Type", "application/json")];
    let set =
        api.ask("PUT", "/api/v1/weights", &json, example("put", "/api/v1/weights").as_bytes());
    assert_eq!((set.status, &set.json()["rules"][0]["weight"]), (200, &4.into()));
    let trace =
        api.ask("POST", "/api/v1/trace", &json, example("post", "/api/v1/trace").as_bytes());
    assert_eq!(trace.status, 404, "there is no switch 1 here: {}", trace.json());
}

/// The URL that the banner says, in a browser.
#[test]
fn the_root_is_the_web_interface_which_needs_nothing_from_elsewhere() {
    let (_controller, api) = serving();
    for (path, kind, is_packed) in [
        ("/", "text/html; charset=utf-8", false),
        ("/app.js", "text/javascript; charset=utf-8", true),
        ("/app.css", "text/css; charset=utf-8", true),
        ("/icon.svg", "image/svg+xml", false),
    ] {
        let answer = api.get(path);
        assert_eq!((answer.status, answer.header("content-type")), (200, Some(kind)), "{path}");
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'; script-src 'self';"), "{path}: {policy}");
        assert!(!policy.contains("unsafe") && !policy.contains("http"), "{path}: {policy}");
        assert_eq!(answer.header("content-encoding"), is_packed.then_some("gzip"), "{path}");
        assert_eq!(answer.header("cache-control"), Some("no-cache"), "{path}");
        let tag = answer.header("etag").unwrap();
        let again = api.ask("GET", path, &[("If-None-Match", tag)], b"");
        assert_eq!((again.status, again.body.len()), (304, 0), "{path}");
    }
    assert_eq!(api.ask("POST", "/", &[], b"").status, 405);
}

#[test]
fn the_summary_is_a_page() {
    let (_plain, api) = serving();
    let text = String::from_utf8(api.get("/api").body).unwrap();
    assert!(text.contains("Hosts</th><td>no application looks for them"), "{text}");
    let mut running = Running::start(&["--http", "127.0.0.1:0"]);
    let api = Api::of(&mut running);
    let answer = api.get("/api");
    assert_eq!(
        (answer.status, answer.header("content-type")),
        (200, Some("text/html; charset=utf-8"))
    );
    let policy = answer.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none';") && !policy.contains("script"), "{policy}");
    let text = String::from_utf8(answer.body).unwrap();
    assert!(text.contains(&format!("Aldis {}", env!("CARGO_PKG_VERSION"))), "{text}");
    for row in ["Switches</th><td>0", "Links</th><td>0", "Hosts</th><td>0"] {
        assert!(text.contains(row), "{row}: {text}");
    }
    assert!(
        !text.contains("http://") && !text.contains("https://") && !text.contains('{'),
        "{text}"
    );
    let links: Vec<&str> =
        text.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    for link in ["/api/docs", "/metrics", "/api/v1/health"] {
        assert!(links.contains(&link), "{link}: {links:?}");
    }
    for link in links {
        assert_eq!(api.get(link).status, 200, "{link}");
    }
}

#[test]
fn the_log_is_listed_by_level_and_followed_from_a_line_on() {
    let (controller, api) = serving();
    let network = Network::start(&controller, Version::V13, "linear,2", &[]);
    let says = |line: &Value, word: &str| line["text"].as_str().unwrap().contains(word);
    let mut listener = Listener::start(&api, "/api/v1/log/follow?after=oldest", "");
    let up = listener.hears_that(|line| says(line, "switch 0000000000000002 is up"));
    assert_eq!(up["level"], "info");
    let all = when(&api, "/api/v1/log", |log| log["total"].as_u64() >= Some(2));
    let items = all["items"].as_array().unwrap();
    assert!(items.contains(&up) && all["total"] == items.len(), "{all}");
    let warned = api.get("/api/v1/log?level=warn").json();
    let is_grave = |line: &Value| ["error", "warn"].contains(&line["level"].as_str().unwrap());
    assert!(warned["items"].as_array().unwrap().iter().all(is_grave), "{warned}");
    // Page by page it is the same list, and a follower that comes back goes on behind its line.
    let first = api.get("/api/v1/log?limit=1").json();
    assert_eq!(first["items"][0], items[0]);
    let rest = api.get(&format!("/api/v1/log?cursor={}", first["next"].as_str().unwrap()));
    let rest = rest.json();
    assert_eq!(rest["items"][0], items[1]);
    drop(network);
    let last = format!("Last-Event-ID: {}\r\n", up["id"].as_str().unwrap());
    let mut again = Listener::start(&api, "/api/v1/log/follow", &last);
    again.hears_that(|line| {
        assert_ne!(line["id"], up["id"]);
        says(line, "switch 0000000000000002 is down") || says(line, "is gone")
    });
    let bad = api.get("/api/v1/log?level=loud");
    assert!(bad.is_problem(400, "`loud`"), "{bad:?}");
    assert!(api.get("/api/v1/log?cursor=x").is_problem(400, "no line's id"));
}
