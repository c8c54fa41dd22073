//! What people set over HTTP: it is on disk before it is acknowledged, counts at once, and is found
//! again after a restart, a reading of the configuration and a `kill -9`.

mod floodlight;
mod full;
mod guests;
mod killed;
mod trace;

use std::process::Command;
use std::time::Instant;

use aldis_testkit::Folder;
use aldis_testkit::client::{Api, HttpAnswer};
use aldis_testkit::network::Network;
use aldis_testkit::running::{Running, WITHIN};
use aldis_wire::Version;
use serde_json::{Value, json};

const JSON: (&str, &str) = ("Content-Type", "application/json");

fn serving(args: &[&str]) -> (Running, Api) {
    let mut running = Running::start(&[&["--http", "127.0.0.1:0"], args].concat());
    let api = Api::of(&mut running);
    (running, api)
}

fn put(api: &Api, path: &str, body: &Value) -> HttpAnswer {
    api.ask("PUT", path, &[JSON], body.to_string().as_bytes())
}

fn post(api: &Api, path: &str, body: &Value) -> HttpAnswer {
    api.ask("POST", path, &[JSON], body.to_string().as_bytes())
}

fn delete(api: &Api, path: &str) -> HttpAnswer {
    api.ask("DELETE", path, &[], b"")
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
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

/// Priorities and cookies of the flows of a switch that match this.
fn flows(api: &Api, matching: &str) -> Vec<(u64, String)> {
    let page = api.get(&format!("/api/v1/switches/1/flows?match={matching}")).json();
    let flow = |flow: &Value| {
        (flow["priority"].as_u64().unwrap(), flow["cookie"].as_str().unwrap().to_owned())
    };
    page["items"].as_array().map_or_else(Vec::new, |flows| flows.iter().map(flow).collect())
}

fn names(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect()
}

#[test]
fn a_static_flow_goes_to_its_switches_and_is_found_again() {
    let folder = Folder::new("kept-flows");
    let store = folder.file("store");
    let args = ["--store", &store];
    let (mut controller, api) = serving(&args);
    let uplink = json!({"switch": 1, "priority": 500, "match": {"eth_type": "0x0800", "udp_dst": 7}, "actions": ["output:1"]});
    {
        let _network = Network::start(&controller, Version::V13, "linear,2", &[]);
        when(&api, "/api/v1/switches", |page| page["total"] == 2);
        let answer = put(&api, "/api/v1/static-flows/up%20link", &uplink);
        assert_eq!(answer.status, 200, "{answer:?}");
        let flow = when(&api, "/api/v1/static-flows/up%20link", |flow| flow["there"] == 1);
        assert_eq!(
            (&flow["switch"], &flow["source"]),
            (&json!("0000000000000001"), &json!("http"))
        );
        assert_eq!(flow["at"][0]["words"], "there");
        assert_eq!(flow["match"], json!({"eth_type": "0x0800", "ip_proto": "17", "udp_dst": "7"}));
        assert_eq!(flows(&api, "udp_dst=7,eth_type=0x0800").len(), 1);
        // What was refused by its switch says so.
        let refused = json!({"switch": "*", "match": {"eth_type": "0x0800", "udp_dst": 8}, "actions": ["group:99"]});
        assert_eq!(put(&api, "/api/v1/static-flows/no%20group", &refused).status, 200);
        when(&api, "/api/v1/static-flows/no%20group", |flow| {
            let refused = |at: &Value| at["words"].to_string().contains("OFPBAC_BAD_OUT_GROUP");
            flow["missing"] == 2 && flow["at"].as_array().unwrap().iter().all(refused)
        });
        // All or nothing.
        let many = json!({"set": [{"name": "a", "switch": "1", "match": {"eth_type": "0x0800", "udp_dst": 9}}], "remove": ["nobody"]});
        assert!(post(&api, "/api/v1/static-flows", &many).is_problem(404, "no \"nobody\""));
        let many = json!({"set": [{"name": "a", "switch": "1", "match": {"eth_type": "0x0800", "udp_dst": 9}}], "remove": ["no group"]});
        let answer = post(&api, "/api/v1/static-flows", &many);
        assert_eq!(answer.json(), json!({"set": 1, "removed": 1, "durable": true}));
        assert_eq!(names(&api.get("/api/v1/static-flows").json()["items"]), ["a", "up link"]);
        when(&api, "/api/v1/static-flows/a", |flow| flow["there"] == 1);
        assert_eq!(delete(&api, "/api/v1/static-flows/a").status, 200);
        let deadline = Instant::now() + WITHIN;
        while !flows(&api, "udp_dst=9,eth_type=0x0800").is_empty() {
            assert!(Instant::now() < deadline, "it stays on the switch");
        }
    }
    assert_eq!(controller.end("-KILL"), None);
    let (controller, api) = serving(&args);
    assert_eq!(names(&api.get("/api/v1/static-flows").json()["items"]), ["up link"]);
    let _network = Network::start(&controller, Version::V10, "linear,2", &[]);
    when(&api, "/api/v1/static-flows/up%20link", |flow| flow["there"] == 1);
}

#[test]
fn a_static_flow_that_cannot_be_is_refused_and_nothing_is_changed() {
    let (_controller, api) = serving(&[]);
    let one = "/api/v1/static-flows/one";
    let good = json!({"switch": "1-9", "match": {"in_port": 1}, "actions": ["output:2"]});
    assert_eq!(put(&api, one, &good).status, 200);
    assert_eq!(api.get(one).json()["switch"], "0000000000000001-0000000000000009");
    let answer = api.ask("PUT", one, &[JSON, ("If-None-Match", "*")], good.to_string().as_bytes());
    assert!(answer.is_problem(412, "there is a flow \"one\" already"), "{answer:?}");
    for (name, body, status, words) in [
        ("one", json!({}), 422, "`switch` is missing"),
        ("one", json!({"switch": "x"}), 422, "switch: "),
        ("one", json!({"switch": 1, "priority": 60001}), 422, "accepted are 0 to 60000"),
        ("one", json!({"switch": 1, "priority": -1}), 422, "priority: "),
        ("one", json!({"switch": 1, "table": 255}), 422, "accepted are 0 to 254"),
        ("one", json!({"switch": 1, "match": {"tcp_dst": 1, "udp_dst": 1}}), 422, "match: "),
        ("one", json!({"switch": 1, "actions": ["fly"]}), 422, "actions[0]: "),
        ("one", json!({"switch": 1, "then": ["goto-table:0"]}), 422, "later tables"),
        ("one", json!({"switch": 1, "name": "two"}), 422, "the path says another"),
        ("one", json!({"switch": 1, "colour": "red"}), 422, "there is no key `colour` here"),
        ("%20", json!({"switch": 1}), 422, "name: there is none"),
        ("a%0ab", json!({"switch": 1}), 422, "letters nobody can see"),
        (&"x".repeat(201), json!({"switch": 1}), 422, "longer than 200"),
        (
            "two",
            json!({"switch": "1-9", "match": {"in_port": 1}}),
            422,
            "would overwrite the other",
        ),
    ] {
        let answer = put(&api, &format!("/api/v1/static-flows/{name}"), &body);
        assert!(answer.is_problem(status, words), "{name} {body}: {answer:?}");
    }
    for (body, words) in [
        (json!({}), "0 changes; accepted are 1 to 10000"),
        (json!({"set": [{"switch": 1}]}), "set[0]: `name` is missing"),
        (json!({"set": [{"name": "a", "switch": 1}], "remove": ["a"]}), "named twice"),
    ] {
        let answer = post(&api, "/api/v1/static-flows", &body);
        assert!(answer.is_problem(422, words), "{body}: {answer:?}");
    }
    assert!(delete(&api, "/api/v1/static-flows/two").is_problem(404, "there is no \"two\""));
    assert_eq!(names(&api.get("/api/v1/static-flows").json()["items"]), ["one"]);
    assert_eq!(delete(&api, one).json(), json!({"set": 0, "removed": 1, "durable": false}));
}

#[test]
fn rules_count_at_once_and_again_after_a_restart() {
    let folder = Folder::new("kept-acl");
    let (store, file) = (folder.file("store"), folder.file("aldis.toml"));
    let text =
        "[[acl]]\nname = \"file\"\naction = \"deny\"\nmatch = { eth-type = 0x0800, udp-dst = 1 }\n";
    std::fs::write(&file, text).unwrap();
    let args = ["--store", &store, "--config", &file, "--apps", "acl,learning-switch"];
    let (mut controller, api) = serving(&args);
    {
        let _network = Network::start(&controller, Version::V13, "single,2", &[]);
        let deny =
            |port: u32| json!({"action": "deny", "match": {"eth_type": "0x0800", "udp_dst": port}});
        for (name, port) in [("c", 4), ("a?before=c", 2), ("b?before=c", 3)] {
            let answer = put(&api, &format!("/api/v1/acl/{name}"), &deny(port));
            assert_eq!(answer.status, 200, "{answer:?}");
        }
        let all = api.get("/api/v1/acl");
        assert_eq!(names(&all.json()["rules"]), ["file", "a", "b", "c"]);
        for rule in ["file", "a", "b", "c"] {
            when(&api, &format!("/api/v1/acl/{rule}"), |rule| rule["at"][0]["there"] == true);
        }
        assert_eq!(flows(&api, "udp_dst=3,eth_type=0x0800")[0].0, 65532);
        // What is shown can be put back; what the asker does not know is not overwritten.
        let tag = all.header("etag").unwrap();
        let known = [JSON, ("If-Match", tag)];
        assert_eq!(api.ask("PUT", "/api/v1/acl", &known, &all.body).status, 200);
        assert_eq!(delete(&api, "/api/v1/acl/b").status, 200);
        let answer = api.ask("PUT", "/api/v1/acl", &known, &all.body);
        assert!(answer.is_problem(412, "read them again"), "{answer:?}");
        assert!(put(&api, "/api/v1/acl/file", &deny(9)).is_problem(409, "of the configuration"));
        assert!(put(&api, "/api/v1/acl/x", &deny(2)).is_problem(422, "is never reached: \"a\""));
        for (body, words) in [
            (json!({"action": "mirror"}), "needs mirror_to"),
            (json!({"action": "allow", "mirror_to": 1}), "\"mirror\" only"),
            (json!({"action": "burn"}), "action: `burn` is not accepted"),
            (json!({"action": "mirror", "mirror_to": "flood"}), "no port for copies"),
        ] {
            let answer = put(&api, "/api/v1/acl/x", &body);
            assert!(answer.is_problem(422, words), "{body}: {answer:?}");
        }
    }
    assert_eq!(controller.end("-KILL"), None);
    let (_controller, api) = serving(&args);
    assert_eq!(names(&api.get("/api/v1/acl").json()["rules"]), ["file", "a", "c"]);
    let (_other, api) = serving(&[]);
    assert!(api.get("/api/v1/acl").is_problem(409, "the application \"acl\" does not run here"));
    assert!(put(&api, "/api/v1/acl", &json!({"rules": []})).is_problem(409, "does not run here"));
}

#[test]
fn the_configuration_is_read_again_and_only_what_is_different_is_applied() {
    let folder = Folder::new("kept-reload");
    let (store, file) = (folder.file("store"), folder.file("aldis.toml"));
    let flow = |name: &str, port: u32| {
        format!(
            "[[static-flow]]\nname = \"{name}\"\nswitch = 1\nmatch = {{ eth-type = 0x0800, udp-dst = {port} }}\n"
        )
    };
    let write = |text: &[String]| std::fs::write(&file, text.concat()).unwrap();
    write(&["[weights]\n\"1\" = 4\n".into(), flow("old", 1), flow("stays", 2)]);
    let args = ["--store", &store, "--config", &file];
    let (mut controller, api) = serving(&args);
    let _network = Network::start(&controller, Version::V13, "single,2", &[]);
    when(&api, "/api/v1/static-flows/old", |flow| flow["there"] == 1);
    let since = api.get("/api/v1/switches/1").json()["up_since"].clone();
    let over_http = json!({"switch": 1, "match": {"eth_type": "0x0800", "udp_dst": 4}});
    assert_eq!(put(&api, "/api/v1/static-flows/http", &over_http).status, 200);
    let rules = json!({"rules": [{"switches": "*", "weight": 7}]});
    assert_eq!(put(&api, "/api/v1/weights", &rules).status, 200);
    write(&["[weights]\n\"1\" = 5\n".into(), flow("new", 3), flow("stays", 2)]);
    let answer = post(&api, "/api/v1/reload", &json!({})).json();
    let applied = ["static-flow \"new\" is new", "static-flow \"old\" is gone"];
    assert_eq!(answer, json!({"applied": applied, "waiting": []}));
    when(&api, "/api/v1/static-flows/new", |flow| flow["there"] == 1);
    when(&api, "/api/v1/static-flows/http", |flow| flow["there"] == 1);
    when(&api, "/api/v1/switches/1", |switch| switch["weight"] == 7);
    assert!(flows(&api, "udp_dst=1,eth_type=0x0800").is_empty());
    // An invalid file leaves all as it is, and says where.
    write(&[
        flow("new", 3),
        "[[static-flow]]\nname = \"x\"\nswitch = 1\nactions = [\"fly\"]\n".into(),
    ]);
    let answer = post(&api, "/api/v1/reload", &json!({}));
    assert!(answer.is_problem(422, "aldis.toml:8: actions: "), "{answer:?}");
    controller.signal("-HUP");
    controller.says("aldis.toml:8: actions: ");
    assert_eq!(names(&api.get("/api/v1/static-flows").json()["items"]), ["http", "new", "stays"]);
    // The same by a signal.
    write(&["workers = 3\n".into(), flow("stays", 2), flow("http", 5)]);
    controller.signal("-HUP");
    controller.says("the flow \"http\" was set over HTTP, and the configuration has one");
    controller.says("static-flow \"http\" is new");
    controller.says("only a restart applies it: workers");
    let flow = when(&api, "/api/v1/static-flows/http", |flow| flow["there"] == 1);
    assert_eq!(flow["source"], "configuration");
    assert_eq!(api.get("/api/v1/switches/1").json()["up_since"], since, "the session went on");
    assert_eq!(api.get("/api/v1/weights").json()["rules"], rules["rules"]);
    assert_eq!(controller.end("-TERM"), Some(0));
    write(&["[weights]\n\"1\" = 5\n".into()]);
    let (_controller, api) = serving(&args);
    assert_eq!(api.get("/api/v1/weights").json()["rules"], rules["rules"]);
    assert_eq!(names(&api.get("/api/v1/static-flows").json()["items"]), ["http"]);
    let answer = delete(&api, "/api/v1/weights").json();
    assert_eq!(answer["rules"], json!([{"switches": "1", "weight": 5}]));
    let (_other, api) = serving(&[]);
    assert!(post(&api, "/api/v1/reload", &json!({})).is_problem(409, "without --config"));
}

#[test]
fn a_guest_is_there_again_after_a_restart_until_it_is_removed() {
    let folder = Folder::new("kept-guests");
    let (store, file) = (folder.file("store"), folder.file("aldis.toml"));
    let spec = json!({"connect": "127.0.0.1:1", "match": {"vlan_vid": "10"}, "rate": 500});
    let guests = |api: &Api| api.get("/api/v1/guests").json()["items"].clone();
    let (mut controller, api) = serving(&["--store", &store]);
    assert_eq!(put(&api, "/api/v1/guests/lab-3", &spec).status, 201);
    // Other bounds are kept, in the place of those that it was added with.
    let spec = json!({"connect": "127.0.0.1:1", "match": {"vlan_vid": "10"}, "weight": 3});
    assert_eq!(put(&api, "/api/v1/guests/lab-3", &spec).status, 200);
    let there = guests(&api)[0]["spec"].clone();
    assert_eq!((&there["weight"], &there["rate"]), (&3.into(), &Value::Null));
    let event = |state: &str| {
        when(&api, "/api/v1/events/recent", |events| {
            let mut events = events["items"].as_array().unwrap().iter();
            events.any(|event| event["guest"] == json!({"name": "lab-3", "state": state}))
        });
    };
    event("away");
    assert_eq!(post(&api, "/api/v1/guests/lab-3/pause", &json!({})).status, 200);
    event("paused");
    assert_eq!(controller.end("-KILL"), None);
    // The configuration has another one of this name: it counts.
    std::fs::write(&file, "[[guest]]\nname = \"lab-3\"\nconnect = \"127.0.0.1:2\"\n").unwrap();
    let (mut controller, api) = serving(&["--store", &store, "--config", &file]);
    assert_eq!(guests(&api)[0]["connect"], "127.0.0.1:2");
    // Its bounds may change, until the configuration is read again.
    let bounded = json!({"connect": "127.0.0.1:2", "rate": 7});
    assert_eq!(put(&api, "/api/v1/guests/lab-3", &bounded).status, 200);
    assert_eq!(guests(&api)[0]["spec"]["rate"], 7);
    assert!(put(&api, "/api/v1/guests/lab-3", &spec).is_problem(409, "remove that one first"));
    assert_eq!(controller.end("-TERM"), Some(0));
    let (mut controller, api) = serving(&["--store", &store]);
    assert_eq!(guests(&api)[0]["spec"], there);
    assert_eq!(delete(&api, "/api/v1/guests/lab-3").status, 200);
    assert_eq!(controller.end("-TERM"), Some(0));
    let (_controller, api) = serving(&["--store", &store]);
    assert_eq!(guests(&api), json!([]));
}

#[test]
fn switches_have_names_and_a_backup_holds_everything() {
    let folder = Folder::new("kept-names");
    let (store, backup, again) =
        (folder.file("store"), folder.file("backup.json"), folder.file("again.json"));
    let args = ["--store", &store, "--apps", "acl,static-flows,topology,learning-switch"];
    let (mut controller, api) = serving(&args);
    assert_eq!(put(&api, "/api/v1/names/0x1", &json!({"name": "core-1"})).status, 200);
    assert!(put(&api, "/api/v1/names/2", &json!({"name": "core-1"})).is_problem(422, "already"));
    assert!(put(&api, "/api/v1/names/2", &json!({"name": "\u{1b}[2J"})).is_problem(422, "name: "));
    assert!(delete(&api, "/api/v1/names/3").is_problem(404, "0000000000000003"));
    assert_eq!(put(&api, "/api/v1/static-flows/f", &json!({"switch": "*"})).status, 200);
    assert_eq!(put(&api, "/api/v1/acl/r", &json!({"action": "allow"})).status, 200);
    let rules = json!({"rules": [{"switches": "1", "weight": 3}]});
    assert_eq!(put(&api, "/api/v1/weights", &rules).status, 200);
    {
        let _network = Network::start(&controller, Version::V13, "single,1", &[]);
        when(&api, "/api/v1/switches", |page| page["items"][0]["name"] == "core-1");
    }
    assert_eq!(controller.end("-TERM"), Some(0));
    let aldis = |args: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_aldis")).args(args).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    aldis(&["store", "export", &store, "--to", &backup]);
    let text = std::fs::read_to_string(&backup).unwrap();
    let json: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["names"], json!({"0000000000000001": "core-1"}));
    assert_eq!(json["weights"], json!({"rules": [["1", 3]]}));
    assert_eq!(json["static-flows"]["f"]["switch"], "*");
    assert_eq!(json["acl"]["r"]["action"], "allow");
    assert_eq!(json["keys"]["lldp"].as_str().unwrap().len(), 64);
    let other = folder.file("other");
    aldis(&["store", "import", &other, "--from", &backup]);
    let (mut controller, api) = serving(&["--store", &other, args[2], args[3]]);
    let all = |path: &str| api.get(path).json();
    assert_eq!(
        all("/api/v1/names")["names"],
        json!([{"dpid": "0000000000000001", "name": "core-1"}])
    );
    assert_eq!(names(&all("/api/v1/static-flows")["items"]), ["f"]);
    assert_eq!(names(&all("/api/v1/acl")["rules"]), ["r"]);
    assert_eq!(all("/api/v1/weights")["rules"], rules["rules"]);
    assert_eq!(controller.end("-TERM"), Some(0));
    // Nothing was written by running with it: the key of the probes is the same.
    aldis(&["store", "export", &other, "--to", &again]);
    let key = |text: &str| serde_json::from_str::<Value>(text).unwrap()["keys"].clone();
    assert_eq!(key(&std::fs::read_to_string(&again).unwrap()), key(&text));
}
