//! Hundreds of hostile paths, queries and bodies for the routes that there are: each is refused, in
//! words and quickly.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use aldis_http::access::routes;
use aldis_http::limits::BODY_MAX;

use super::serving;
use aldis_testkit::client::{Api, HttpAnswer};

/// In the place of a part of a path.
const PARTS: [&str; 24] = [
    "%00",
    "..%2f..%2f..%2fetc%2fpasswd",
    "%2e%2e%2f%2e%2e%2f",
    "..%5c..%5cwindows",
    "....//....//etc/passwd",
    "%252e%252e%252f",
    "%3Cscript%3Ealert(1)%3C%2Fscript%3E",
    "%22%3E%3Cimg%20src=x%20onerror=alert(1)%3E",
    "'%20OR%20'1'='1",
    "1;reboot",
    "%24(reboot)",
    "%0d%0aX-Injected:%20yes",
    "-1",
    "-0",
    "1.5",
    "1e3",
    "NaN",
    "0x",
    "0x10000000000000000",
    "18446744073709551616",
    "99999999999999999999999999999999999999",
    "%ef%bc%91",
    "%ff%fe",
    "%20",
];

/// Behind the question mark of a list.
const QUERIES: [&str; 14] = [
    "limit=0",
    "limit=-1",
    "limit=10001",
    "limit=18446744073709551616",
    "limit=1e1",
    "limit=",
    "limit=1&limit=2",
    "limit=%00",
    "cursor=%3Cscript%3E&limit=1",
    "cursor=..%2f..%2fetc%2fpasswd",
    "cursor=%ff",
    "colour=red",
    "__proto__=1",
    "%3Cb%3E=1",
];

/// What no route takes, whatever it takes.
fn bodies() -> Vec<Vec<u8>> {
    let deep = |open: &str, close: &str, depth| open.repeat(depth) + "1" + &close.repeat(depth);
    let texts = [
        String::new(),
        " ".into(),
        "nonsense".into(),
        "null".into(),
        "true".into(),
        "17".into(),
        "\"text\"".into(),
        "<html><script>alert(1)</script></html>".into(),
        "<?xml version=\"1.0\"?><!DOCTYPE a [<!ENTITY b SYSTEM \"file:///etc/passwd\">]><a>&b;</a>"
            .into(),
        "{".into(),
        "{\"a\":".into(),
        "{\"a\": 1,}".into(),
        "{'a': 1}".into(),
        "{\"a\": NaN}".into(),
        "{\"a\": Infinity}".into(),
        "{\"a\": 0x10}".into(),
        "{\"a\": 01}".into(),
        "{\"a\": 1e999999}".into(),
        "{\"a\": \"\\ud800\"}".into(),
        "{\"a\": \"\u{1}\"}".into(),
        "{} {}".into(),
        "{}garbage".into(),
        "// a comment\n{}".into(),
        "\u{feff}{}".into(),
        "{\"__proto__\": {\"admin\": true}}".into(),
        "{\"unknown\": 1}".into(),
        "{\"rules\": 1, \"rules\": 2, \"changes\": 1, \"changes\": 2}".into(),
        "{\"rules\": [{\"switches\": \"*\", \"weight\": 4294967297}]}".into(),
        "{\"rules\": [{\"switches\": \"<script>alert(1)</script>\", \"weight\": 1}]}".into(),
        "{\"rules\": [{\"switches\": \"../../etc/passwd\", \"weight\": 1}]}".into(),
        "{\"changes\": [{\"priority\": 65536}]}".into(),
        "{\"changes\": [{\"priority\": -1}]}".into(),
        "{\"changes\": [{\"priority\": 1.5}]}".into(),
        "{\"changes\": [{\"do\": \"<b>\"}]}".into(),
        deep("[", "]", 33),
        deep("[", "]", 100_000),
        deep("{\"a\":", "}", 33),
        deep("{\"a\":", "}", 100_000),
        "[".repeat(1_000_000),
        format!("{{\"a\": \"{}\"}}", "x".repeat(9 << 20)),
        format!("[{}0]", "0,".repeat(200_000)),
        format!("{{\"a\": {}}}", "9".repeat(500_000)),
        format!("{{\"a\": [{}0]}}", "0,".repeat(500_000)),
        format!("{{\"{}\": 1}}", "k".repeat(1 << 20)),
        format!(
            "{{{}\"a\": 1}}",
            (0..50_000).map(|nth| format!("\"{nth}\": {{}},")).collect::<String>()
        ),
        format!("{{\"flows\": [{}0]}}", "{},".repeat(2 << 20)),
        format!("{{\"flows\": [{}0]}}", "{},".repeat((4 << 20) / 3 - 10)),
    ];
    let mut bodies: Vec<_> = texts.into_iter().map(String::into_bytes).collect();
    bodies.extend([b"{\"a\": \"\xff\xfe\"}".to_vec(), vec![0; 1000], b"\x1f\x8b\x08\x00".to_vec()]);
    bodies
}

/// A client, and how long its answers took.
struct Course {
    api: Api,
    times: Vec<(Duration, String)>,
}

impl Course {
    fn ask(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> HttpAnswer {
        let request = self.api.request(method, path, headers, body);
        let began = Instant::now();
        let answer = self.api.say(&request);
        let shown: String = path.chars().take(60).collect();
        let what = format!("{method} {shown}, {} bytes", body.len());
        self.times.push((began.elapsed(), what.clone()));
        // 501 where nothing of the kind is served, whatever was said.
        let is_refused = (400..500).contains(&answer.status) || answer.status == 501;
        assert!(is_refused, "{what}: {answer:?}");
        // hyper itself answers what is no HTTP, with an empty body.
        let kind = answer.header("content-type").unwrap_or("application/problem+json");
        // Floodlight's clients read its own form.
        let is_floodlights = path.starts_with("/wm/") && kind == "application/json";
        assert!(kind == "application/problem+json" || is_floodlights, "{what}: {answer:?}");
        assert!(answer.header("x-injected").is_none());
        answer
    }

    fn ask_with_bodies(&mut self, method: &str, path: &str) {
        let json = ("Content-Type", "application/json");
        for body in bodies() {
            self.ask(method, path, &[json], &body);
        }
        for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"] {
            self.ask(method, path, &[("Content-Type", kind)], b"{}");
        }
        self.ask_from_elsewhere(method, path);
    }

    /// As a page of another server has a browser ask.
    fn ask_from_elsewhere(&mut self, method: &str, path: &str) {
        let json = ("Content-Type", "application/json");
        let evil = [json, ("Origin", "http://evil.example")];
        assert_eq!(self.ask(method, path, &evil, b"{}").status, 403);
        let evil = [json, ("Host", "evil.example")];
        assert_eq!(self.ask(method, path, &evil, b"{}").status, 421);
    }
}

#[test]
fn hundreds_of_hostile_requests_are_refused_quickly() {
    let (_controller, api) = serving();
    let mut course = Course { api, times: vec![] };
    let document = serde_json::from_str::<serde_json::Value>(aldis_http::openapi::TEXT).unwrap();
    let ours = routes().into_iter().filter(|route| route.path.starts_with("/api/v1/"));
    for route in ours {
        let (method, path) = (route.method.to_uppercase(), route.path);
        if path.contains('{') {
            let (before, rest) = path.split_once('{').unwrap();
            let after = rest.split_once('}').unwrap().1.replace("{number}", "1");
            for part in PARTS {
                course.ask(&method, &format!("{before}{part}{after}"), &[], b"");
            }
            course.ask(&method, &format!("{before}{}{after}", "1".repeat(10_000)), &[], b"");
        }
        let parameters = document["paths"][path][route.method]["parameters"].as_array();
        if parameters.is_some_and(|all| all.iter().any(|one| one["name"] == "limit")) {
            let path = path.replace("{dpid}", "1");
            QUERIES.iter().for_each(|query| {
                course.ask(&method, &format!("{path}?{query}"), &[], b"");
            });
        }
        if document["paths"][path][route.method]["requestBody"].is_object() {
            course.ask_with_bodies(&method, &path.replace("{dpid}", "1"));
        }
    }
    // Ryu's and Floodlight's, which take what has the wrong type, and more: nothing of this.
    let theirs = routes().into_iter().filter(|route| !route.path.starts_with("/api/"));
    let theirs: Vec<_> = theirs.filter(|route| !route.path.starts_with("/metrics")).collect();
    assert!(theirs.len() > 60, "{}", theirs.len());
    for route in theirs {
        let (method, path) = (route.method.to_uppercase(), route.path);
        for (at, _) in path.match_indices('{') {
            let rest = &path[at..];
            let after = &rest[rest.find('}').unwrap() + 1..];
            let one = |path: &str| {
                path.split('{')
                    .map(|piece| {
                        piece.split_once('}').map_or(piece.into(), |(_, end)| format!("1{end}"))
                    })
                    .collect::<String>()
            };
            let (before, after) = (one(&path[..at]), one(&format!("/{after}")));
            for part in PARTS {
                course.ask(&method, &format!("{before}{part}{}", &after[1..]), &[], b"");
            }
        }
        if ["POST", "PUT"].contains(&method.as_str()) {
            let asked = path.replace("{dpid}", "1");
            // What takes no body looks at none.
            match document["paths"][path][route.method]["requestBody"].is_object() {
                true => course.ask_with_bodies(&method, &asked),
                false => course.ask_from_elsewhere(&method, &asked),
            }
        }
    }
    for path in
        ["/../../etc/passwd", "//etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/api/docs/../../../etc"]
    {
        course.ask("GET", path, &[], b"");
    }
    judge(course.times);
}

/// A connection that did not end by a reset, and what was answered on it.
fn answered(stream: &mut TcpStream) -> String {
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap_or_else(|error| panic!("{error} behind {text:?}"));
    text
}

#[test]
fn who_sends_a_long_body_to_its_end_reads_why_it_was_refused() {
    let (_controller, api) = serving();
    for (method, path) in
        [("POST", "/api/v1/flows"), ("PUT", "/api/v1/acl"), ("POST", "/stats/flowentry/add")]
    {
        let headers = [("Content-Type", "application/json")];
        let request = api.request(method, path, &headers, &vec![b' '; 20 << 20]);
        let mut stream = api.connect();
        stream.write_all(&request).unwrap();
        let text = answered(&mut stream);
        assert!(text.starts_with("HTTP/1.1 413 ") && text.contains("is longer than"), "{text}");
        assert!(text.contains("connection: close"), "{text}");
    }
}

#[test]
fn a_body_that_says_that_it_is_too_long_is_not_asked_for() {
    let (_controller, api) = serving();
    let ask = |length: usize| {
        let expects = [("Content-Type", "application/json"), ("Expect", "100-continue")];
        let head = api.request("PUT", "/api/v1/acl", &expects, b"");
        let head = String::from_utf8(head).unwrap();
        let head = head.replace("\r\n\r\n", &format!("\r\nContent-Length: {length}\r\n\r\n"));
        let mut stream = api.connect();
        stream.write_all(head.as_bytes()).unwrap();
        let mut begin = [0; 12];
        stream.read_exact(&mut begin).unwrap();
        String::from_utf8_lossy(&begin).into_owned()
    };
    assert_eq!(ask(BODY_MAX), "HTTP/1.1 100");
    assert_eq!(ask(BODY_MAX + 1), "HTTP/1.1 413");
}

#[test]
fn a_body_without_a_length_is_refused_once_it_is_too_long() {
    let (_controller, api) = serving();
    let head = api.request("PUT", "/api/v1/acl", &[("Content-Type", "application/json")], b"");
    let head = String::from_utf8(head).unwrap();
    let head = head.replace("\r\n\r\n", "\r\nTransfer-Encoding: chunked\r\n\r\n");
    let mut stream = api.connect();
    stream.write_all(head.as_bytes()).unwrap();
    let chunk = format!("10000\r\n{}\r\n", " ".repeat(0x10000));
    for _ in 0..=BODY_MAX / 0x10000 {
        stream.write_all(chunk.as_bytes()).unwrap();
    }
    // It has no end yet, and is answered.
    let text = answered(&mut stream);
    assert!(text.starts_with("HTTP/1.1 413 ") && text.contains("is longer than"), "{text}");
}

/// Tells what took long; the goal is a release build's on a quiet machine, so that the limit is far
/// from it.
fn judge(mut times: Vec<(Duration, String)>) {
    times.sort();
    let worst = times.last().unwrap();
    println!(
        "{} requests; worst {:?}: {}; median {:?}",
        times.len(),
        worst.0,
        worst.1,
        times[times.len() / 2].0
    );
    for (time, what) in times.iter().rev().take(10) {
        println!("{time:?}: {what}");
    }
    assert!(times.len() >= 500, "{}", times.len());
    assert!(worst.0 < Duration::from_secs(10), "{worst:?}");
}
