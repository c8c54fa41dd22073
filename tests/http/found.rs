//! Events about what applications find out: hosts and links.

use aldis_wire::Version;
use serde_json::{Value, json};

use super::ask::told;
use super::follow::Listener;
use super::when;
use aldis_testkit::client::Api;
use aldis_testkit::network::Network;
use aldis_testkit::running::Running;

#[test]
fn hosts_and_links_come_and_go_as_events() {
    let name = format!("aldis-found-{}.toml", std::process::id());
    let file = std::env::temp_dir().join(name);
    std::fs::write(&file, "[hosts]\nageing-s = 8\n").unwrap();
    let config = ["--config", file.to_str().unwrap()];
    let mut controller = Running::start(&[&["--http", "127.0.0.1:0"], &config[..]].concat());
    std::fs::remove_file(&file).unwrap();
    let api = Api::of(&mut controller);
    let mut listener = Listener::start(&api, "/api/v1/events", "");
    // Again and again, so that nothing depends on how fast it is found out.
    let mut script = vec![];
    for step in 0..60 {
        script.push(format!("{step}s ping h1 h2"));
        let (link, switch) = if step % 20 < 10 { ("down", 2) } else { ("up", 1) };
        if step % 10 == 5 {
            script.push(format!("{step}s link-{link} s1 s2"));
            script.push(format!("{step}s host-move h1 s{switch}"));
        }
    }
    let script: Vec<&str> = script.iter().map(String::as_str).collect();
    let network = Network::start(&controller, Version::V13, "linear,2", &script);
    let end = |dpid: u64, port: &Value| json!({"dpid": format!("{dpid:016x}"), "port": port});
    let mut link = |kind: &str, state: &str| {
        let event = listener.hears(kind, 1);
        let (a, b) = (&event["link"]["a"]["port"], &event["link"]["b"]["port"]);
        let expected = json!({"a": end(1, a), "b": end(2, b), "state": state});
        assert_eq!(event["link"], expected, "{event}");
        let words = format!("topology: the link 0000000000000001/{a} - 0000000000000002/{b} is ");
        assert!(event["text"].as_str().unwrap().starts_with(&words), "{event}");
    };
    link("link-up", "up");
    link("link-down", "gone");
    link("link-up", "up");
    // What happened before can be read again.
    let mac = "00:00:00:00:00:01";
    let host = |event: &Value, kind: &str| event["kind"] == kind && event["host"]["mac"] == mac;
    let mut again = Listener::start(&api, "/api/v1/events?after=oldest", "");
    let seen = again.hears_that(|event| host(event, "host-seen"));
    let at = end(1, &seen["host"]["at"]["port"]);
    assert_eq!(seen["host"], json!({"mac": mac, "vlan": 0, "at": at}));
    assert_eq!(seen["dpid"], "0000000000000001");
    let moved = again.hears_that(|event| host(event, "host-moved"));
    let (from, to) = (&moved["host"]["from"], &moved["host"]["at"]);
    assert_eq!(moved["dpid"], to["dpid"]);
    let places = [&from["dpid"], &to["dpid"]];
    assert!(places[0] != places[1] && places.iter().all(|dpid| dpid.is_string()), "{moved}");
    assert!(from["port"].is_u64() && to["port"].is_u64(), "{moved}");
    // No word of it is said twice, as a note.
    let recent = api.get("/api/v1/events/recent").json();
    let twice = |event: &&Value| {
        let text = event["text"].as_str().unwrap();
        event["kind"] == "note" && (text.contains(" is at ") || text.contains(" the link "))
    };
    assert_eq!(recent["items"].as_array().unwrap().iter().find(twice), None);
    drop(network);
    let gone = again.hears_that(|event| host(event, "host-gone"));
    assert!(gone["text"].as_str().unwrap().contains("is forgotten: "), "{gone}");
    when(&api, "/api/v1/hosts", |page| page["total"] == 0);
    controller.says("is forgotten: its switch is gone");
}

/// A host whose port went down is listed where it was, and the list says that it is not there.
#[test]
fn a_host_whose_port_went_down_is_said_to_be_attached_no_more() {
    let mut controller = Running::start(&["--http", "127.0.0.1:0"]);
    let api = Api::of(&mut controller);
    let script = ["0s ping h1 h2", "2s link-down h2 s1", "8s link-up h2 s1", "9s ping h2 h1"];
    let _network = Network::start(&controller, Version::V13, "single,2", &script);
    let seen = |attached: [bool; 2]| {
        when(&api, "/api/v1/hosts", |page| {
            let host = |at: usize| page["items"][at]["attached"] == attached[at];
            page["total"] == 2 && host(0) && host(1)
        })
    };
    seen([true; 2]);
    let down = seen([true, false]);
    assert_eq!(down["items"][1]["port"], 2, "where it was: {down}");
    let listed = told(&api, &["hosts"]);
    assert!(listed.contains("2 (down)"), "{listed}");
    // Those that show hosts in others' words have no place for one that is nowhere.
    let ryu = api.get("/v1.0/topology/hosts").json();
    assert_eq!(ryu.as_array().unwrap().len(), 1, "{ryu}");
    let floodlight = api.get("/wm/device/").json();
    assert_eq!(floodlight[1]["attachmentPoint"], json!([]), "{floodlight}");
    let answer = api.get("/api/v1/paths?from=10.0.0.1&to=10.0.0.2");
    assert!(answer.is_problem(404, "went down"), "{answer:?}");
    seen([true; 2]);
}
