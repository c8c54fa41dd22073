//! The routes of guests, over a socket, in front of a controller that only keeps a list of them.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use aldis_apps::acl::Rule;
use aldis_apps::static_flows::StaticFlow;
use aldis_control::command::Failure;
use aldis_control::stats::Snapshot;
use aldis_control::switch::Seen;
use aldis_control::weights::WeightRule;
use aldis_control::{Time, World};
use aldis_guest::GuestSwitch;
use aldis_wire::msg::Message;
use aldis_wire::{DatapathId, Version};
use serde_json::json;

use super::*;
use crate::api::apps::Apps;
use crate::api::weights::{BadKnob, Design};
use crate::desired::{AclChange, ConfigStore, InstallStatus, Only, Reread, SetError, Stored};
use crate::{Access, Commanded, HttpServer, Listening};

/// A guest that is connected at the first of two switches, with a different number in each count.
pub(crate) fn guest(name: &str, state: GuestState) -> GuestStatus {
    let connect = (Ipv4Addr::LOCALHOST, 6654).into();
    let first = GuestSwitch { dpid: DatapathId(1), version: Some(Version::V13), reason: None };
    let reason = Some("no HELLO came within 5 s".to_owned());
    let second = GuestSwitch { dpid: DatapathId(2), version: None, reason };
    GuestStatus {
        spec: GuestSpec::new(name, connect),
        state,
        reason: None,
        switches: vec![first, second],
        counts: GuestCounts {
            requests: 1,
            shed: 2,
            missed: 3,
            messages: 4,
            refused: 5,
            faults: 6,
            replies: 7,
            connections: 8,
        },
    }
}

/// A controller with guests that serve nothing, and with nothing else.
#[derive(Default)]
struct GuestList(Mutex<Vec<GuestStatus>>);

impl GuestList {
    fn set(&self, name: &str, state: GuestState) -> Result<(), NotChanged> {
        let mut list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let there = list.iter_mut().find(|guest| guest.spec.name == name);
        there.map(|guest| guest.state = state).ok_or(NotChanged::Unknown(format!("no {name}")))
    }
}

impl Controller for GuestList {
    fn now(&self) -> Time {
        Time::START
    }

    fn switches(&self) -> Vec<Seen> {
        vec![]
    }

    fn switch(&self, _: DatapathId) -> Option<Seen> {
        None
    }

    fn counters(&self) -> Snapshot {
        Snapshot::default()
    }

    fn world(&self) -> Arc<World> {
        Arc::new(World::NOTHING)
    }

    fn apps(&self) -> Apps {
        Apps { apps: vec![], sequences: vec![], world: vec![] }
    }

    fn start_app(&self, name: &str) -> Result<(), NotChanged> {
        Err(NotChanged::Unknown(name.into()))
    }

    fn stop_app(&self, name: &str) -> Result<(), NotChanged> {
        Err(NotChanged::Unknown(name.into()))
    }

    fn order_apps(&self, event: &str, _: Vec<String>) -> Result<(), NotChanged> {
        Err(NotChanged::Unknown(event.into()))
    }

    fn guests(&self) -> Vec<GuestStatus> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn add_guest(&self, spec: GuestSpec) -> Result<(), NotChanged> {
        let mut list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let tables = |spec: &GuestSpec| spec.tables.clone().map(|tables| tables.0);
        if let Some(other) = list.iter().find(|other| {
            let (one, two) = (tables(&spec), tables(&other.spec));
            one.zip(two).is_some_and(|(one, two)| one.overlaps(&two))
        }) {
            let why = format!("the grants of {} and {} overlap", other.spec.name, spec.name);
            return Err(NotChanged::Refused(why));
        }
        let status = guest(&spec.name, GuestState::Away);
        list.push(GuestStatus { spec, ..status });
        Ok(())
    }

    fn bound_guest(&self, spec: GuestSpec) -> Result<(), NotChanged> {
        let mut list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let there = list.iter_mut().find(|guest| guest.spec.name == spec.name);
        there.map(|guest| guest.spec = spec).ok_or(NotChanged::Unknown("it is gone".into()))
    }

    fn remove_guest(&self, name: &str) -> Result<(), NotChanged> {
        self.set(name, GuestState::Away)?;
        let mut list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        list.retain(|guest| guest.spec.name != name);
        Ok(())
    }

    fn pause_guest(&self, name: &str) -> Result<(), NotChanged> {
        self.set(name, GuestState::Paused)
    }

    fn resume_guest(&self, name: &str) -> Result<(), NotChanged> {
        self.set(name, GuestState::Away)
    }

    fn design(&self) -> Design {
        Design { design: "none".into(), weighs: false, workers: 0, knobs: BTreeMap::new() }
    }

    fn set_knobs(&self, _: serde_json::Map<String, Value>) -> Result<(), BadKnob> {
        Ok(())
    }

    fn check(&self, _: DatapathId, _: &[Message]) -> Result<(), Failure> {
        Err(Failure::NotConnected)
    }

    fn command(&self, _: DatapathId, _: Vec<Message>, _: Duration) -> Commanded {
        Box::pin(async { Err(Failure::NotConnected) })
    }
}

/// Nothing is kept.
struct KeepsNothing;

impl ConfigStore for KeepsNothing {
    fn is_durable(&self) -> bool {
        false
    }

    fn static_flows(&self) -> Result<Vec<Stored<StaticFlow>>, SetError> {
        Ok(vec![])
    }

    fn flow_status(&self, _: &str) -> Vec<InstallStatus> {
        vec![]
    }

    fn change_static_flows(
        &self,
        _: Vec<StaticFlow>,
        _: Vec<String>,
        _: Only,
    ) -> Result<(), SetError> {
        Err(SetError::NotRunning("static-flows"))
    }

    fn acl(&self) -> Result<Vec<Stored<Rule>>, SetError> {
        Ok(vec![])
    }

    fn rule_status(&self, _: &str) -> Vec<InstallStatus> {
        vec![]
    }

    fn change_acl(&self, _: AclChange) -> Result<(), SetError> {
        Err(SetError::NotRunning("acl"))
    }

    fn floodlight_entries(&self) -> BTreeMap<String, Value> {
        BTreeMap::new()
    }

    fn change_floodlight_entries(&self, _: Vec<(String, Option<Value>)>) -> Result<(), SetError> {
        Err(SetError::Disk("there is none".into()))
    }

    fn names(&self) -> BTreeMap<DatapathId, String> {
        BTreeMap::new()
    }

    fn set_name(&self, _: DatapathId, _: Option<String>) -> Result<(), SetError> {
        Err(SetError::Disk("there is none".into()))
    }

    fn weights(&self) -> (Vec<WeightRule>, crate::desired::Source) {
        (vec![], crate::desired::Source::Configuration)
    }

    fn set_weights(&self, _: Option<Vec<WeightRule>>) -> Result<(), SetError> {
        Err(SetError::Disk("there is none".into()))
    }

    fn reread(&self) -> Result<Reread, SetError> {
        Ok(Reread { applied: vec![], waiting: vec![] })
    }
}

fn serve() -> HttpServer {
    let access = Access::of_this_machine();
    let listening = Listening::on((Ipv4Addr::LOCALHOST, 0).into(), &access).unwrap();
    let (_, incoming) = crate::events::channel();
    let controller = Arc::new(GuestList::default());
    let (keeps, log) = (Arc::new(KeepsNothing), crate::log::LogLines::new());
    HttpServer::start(listening, controller, keeps, incoming, log, access).unwrap()
}

/// The status and the JSON of an answer.
fn ask(server: &HttpServer, method: &str, path: &str, body: &str) -> (u16, Value) {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let head = format!(
        "{method} /api/v1/guests{path} HTTP/1.0\r\nHost: 127.0.0.1\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + body).as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head[9..12].parse().unwrap(), serde_json::from_str(body).unwrap())
}

/// Whether an answer is a problem of this kind, with these words in its detail.
fn is_problem((status, answer): &(u16, Value), code: u16, kind: &str, words: &str) -> bool {
    let text = |key: &str| answer[key].as_str().unwrap_or_default();
    *status == code && text("type") == format!("urn:aldis:{kind}") && text("detail").contains(words)
}

const SPEC: &str = r#"{"connect": "127.0.0.1:7001", "switches": ["1-4"], "match": {"vlan_vid": 10},
    "tables": "10-19", "otherwise": "drop"}"#;

#[test]
fn a_guest_is_added_shown_paused_resumed_and_removed() {
    let server = serve();
    assert_eq!(ask(&server, "GET", "", ""), (200, json!({"items": [], "total": 0})));
    let (status, added) = ask(&server, "PUT", "/lab-3", SPEC);
    assert_eq!((status, &added["name"], &added["state"]), (201, &json!("lab-3"), &json!("away")));
    assert_eq!(added["connect"], "127.0.0.1:7001");
    let spec = json!({
        "name": "lab-3", "connect": "127.0.0.1:7001", "tables": "10-19", "queue": 1 << 20,
        "switches": ["0000000000000001-0000000000000004"], "match": {"vlan_vid": "10"},
        "otherwise": "drop"
    });
    assert_eq!(added["spec"], spec);
    let switches = json!([
        {"dpid": "0000000000000001", "version": "1.3"},
        {"dpid": "0000000000000002", "reason": "no HELLO came within 5 s"}
    ]);
    assert_eq!((&added["switches"], &added["counts"]["refused"]), (&switches, &json!(5)));
    assert_eq!(ask(&server, "GET", "/lab-3", ""), (200, added.clone()));
    assert_eq!(ask(&server, "GET", "", ""), (200, json!({"items": [added], "total": 1})));
    for (how, state) in [("pause", "paused"), ("resume", "away")] {
        let (status, answer) = ask(&server, "POST", &format!("/lab-3/{how}"), "{}");
        assert_eq!((status, &answer["state"]), (200, &json!(state)), "{how}");
    }
    assert_eq!(ask(&server, "DELETE", "/lab-3", ""), (200, json!({"items": [], "total": 0})));
    assert!(is_problem(&ask(&server, "GET", "/lab-3", ""), 404, "no-such-guest", "\"lab-3\""));
}

#[test]
fn the_same_spec_again_changes_nothing_and_another_grant_is_a_conflict() {
    let server = serve();
    assert_eq!(ask(&server, "PUT", "/lab-3", SPEC).0, 201);
    // Its own name may stand in it, and the same may be spelled otherwise.
    let same = SPEC.replace("{\"connect\"", "{\"name\": \"lab-3\", \"connect\"");
    let same = same.replace("\"1-4\"", "\"0x1-0x4\"");
    assert_eq!(ask(&server, "PUT", "/lab-3", &same).0, 200);
    let other = ask(&server, "PUT", "/lab-3", r#"{"connect": "127.0.0.1:7001"}"#);
    assert!(is_problem(&other, 409, "guest-not-changed", "\"lab-3\""), "{other:?}");
    let other = ask(&server, "PUT", "/lab-3", &SPEC.replace("7001", "7002"));
    assert!(is_problem(&other, 409, "guest-not-changed", "remove that one first"), "{other:?}");
    let overlap = ask(&server, "PUT", "/lab-4", SPEC);
    assert!(is_problem(&overlap, 409, "guest-not-changed", "lab-3 and lab-4"), "{overlap:?}");
    assert_eq!(ask(&server, "GET", "", "").1["total"], 1);
}

#[test]
fn a_guest_that_is_there_gets_other_bounds() {
    let server = serve();
    assert_eq!(ask(&server, "PUT", "/lab-3", SPEC).0, 201);
    let bounds = r#""rate": 500, "weight": 3, "queue": 65536"#;
    let bounded = SPEC.replace("\"otherwise\": \"drop\"", bounds);
    let (status, guest) = ask(&server, "PUT", "/lab-3", &bounded);
    let spec = &guest["spec"];
    assert_eq!(
        (status, &spec["rate"], &spec["weight"], &spec["queue"]),
        (200, &json!(500), &json!(3), &json!(65536))
    );
    // What is left out has its default again, and the grant is the same.
    assert_eq!((&spec["otherwise"], &spec["tables"]), (&json!("next"), &json!("10-19")));
    assert_eq!(ask(&server, "GET", "/lab-3", ""), (200, guest));
    // Bounds are checked as those of a new one.
    let zero = ask(&server, "PUT", "/lab-3", &bounded.replace("500", "0"));
    assert!(is_problem(&zero, 422, "bad-field", "rate: "), "{zero:?}");
}

#[test]
fn a_field_that_cannot_be_so_is_named() {
    let server = serve();
    let spec = |rest: &str| format!("{{\"connect\": \"127.0.0.1:7001\"{rest}}}");
    for (path, body, words) in [
        ("/lab-3", "{}".to_owned(), "`connect` is missing"),
        ("/lab-3", r#"{"connect": "127.0.0.1"}"#.to_owned(), "connect: "),
        ("/lab-3", spec(r#", "tables": "19-10""#), "tables: "),
        ("/lab-3", spec(r#", "tables": -1"#), "tables: "),
        ("/lab-3", spec(r#", "switches": ["s1"]"#), "switches[0]: "),
        ("/lab-3", spec(r#", "match": {"vlan": 10}"#), "match: vlan: "),
        ("/lab-3", spec(r#", "queue": 1"#), "queue: from 4096"),
        ("/lab-3", spec(r#", "rate": 0"#), "rate: "),
        ("/lab-3", spec(r#", "otherwise": "wait""#), "otherwise: "),
        ("/lab-3", spec(r#", "table": "1""#), "did you mean `tables`?"),
        ("/lab-3", spec(r#", "name": "lab-4""#), "name: the path says another"),
        ("/Lab%203", spec(""), "name: \"Lab 3\""),
    ] {
        let answer = ask(&server, "PUT", path, &body);
        assert!(is_problem(&answer, 422, "bad-field", words), "{body}: {answer:?}");
    }
    assert_eq!(ask(&server, "PUT", "/lab-3", "[").0, 400);
    for (method, path) in [("POST", "/x/pause"), ("POST", "/x/resume"), ("DELETE", "/x")] {
        let answer = ask(&server, method, path, "{}");
        assert!(is_problem(&answer, 404, "no-such-guest", "no x"), "{method} {path}: {answer:?}");
    }
    assert_eq!(ask(&server, "GET", "", "").1["total"], 0);
}

#[test]
fn a_state_is_spelled_as_json_has_it() {
    for state in [
        GuestState::Away,
        GuestState::Serving,
        GuestState::Shedding,
        GuestState::Flooding,
        GuestState::Paused,
        GuestState::Quarantined,
    ] {
        assert_eq!(serde_json::to_value(state).unwrap(), state.name());
    }
}

/// Types that are described by hand have the fields that they are read and written with.
#[test]
fn the_description_names_every_field() {
    let document: Value = serde_json::from_str(crate::openapi::TEXT).unwrap();
    let described = |name: &str| -> BTreeSet<String> {
        let fields = &document["components"]["schemas"][name]["properties"];
        fields.as_object().unwrap().keys().cloned().collect()
    };
    let fields =
        |value: Value| -> BTreeSet<String> { value.as_object().unwrap().keys().cloned().collect() };
    let spec = json!({
        "name": "a", "connect": ":1", "switches": ["*"], "match": {"vlan_vid": 1}, "ports": "1",
        "tables": "1", "priorities": "1", "groups": "1", "meters": "1", "read_only": true,
        "observe": true, "rate": 1, "queue": 5000, "weight": 2, "otherwise": "drop",
        "experimenters": "7", "tls": {
            "authority": "ca.pem", "certificate": "a.pem", "key": "a.key", "name": "a.example"
        }
    });
    let spec: GuestSpec = serde_json::from_value(spec).unwrap();
    let spec = serde_json::to_value(spec).unwrap();
    assert_eq!(described("NewGuest"), fields(spec.clone()));
    assert_eq!(described("GuestTls"), fields(spec["tls"].clone()));
    let counts = serde_json::to_value(GuestCounts::default()).unwrap();
    assert_eq!(described("GuestCounts"), fields(counts));
}
