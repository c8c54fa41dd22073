//! The static entries of Floodlight's scripts: what was answered is on disk, and sent again after a
//! `kill -9`.

use aldis_wire::Version;
use serde_json::{Value, json};

use super::{Folder, Network, serving, when};
use aldis_testkit::client::{Api, HttpAnswer};

const PUSHER: &str = "/wm/staticentrypusher/json";
const LIST: &str = "/wm/staticentrypusher/list/all/json";

fn ask(api: &Api, method: &str, body: &Value) -> HttpAnswer {
    api.ask(method, PUSHER, &[], body.to_string().as_bytes())
}

/// The names that are listed, over all switches.
fn listed(api: &Api) -> Vec<String> {
    let list = api.get(LIST).json();
    let all = list.as_object().unwrap().values().flat_map(|entries| entries.as_array().unwrap());
    all.flat_map(|entry| entry.as_object().unwrap().keys().cloned()).collect()
}

/// Waits until the first switch has flows of just these priorities, below those of applications.
fn until(api: &Api, expected: &[&str]) {
    when(api, "/wm/core/switch/1/flow/json", |flows| {
        let flows = flows["flows"].as_array().unwrap();
        let mine = flows.iter().filter_map(|flow| flow["priority"].as_str());
        let mut mine: Vec<_> = mine.filter(|priority| priority.starts_with("70")).collect();
        mine.sort_unstable();
        mine == expected
    });
}

#[test]
fn a_floodlight_entry_that_was_acknowledged_is_found_again() {
    for version in Version::ALL {
        let folder = Folder::new(&format!("kept-floodlight-{version:?}"));
        let store = folder.file("store");
        let args = ["--store", &store, "--apps", "learning-switch"];
        let entry = |name: &str, priority: &str| json!({"switch": "1", "name": name, "priority": priority, "in_port": "1", "actions": "output=2"});
        let pushed = |api: &Api, entry: &Value| {
            let answer = ask(api, "POST", entry);
            assert_eq!(answer.status, 200, "{entry}: {answer:?}");
        };
        let (mut controller, api) = serving(&args);
        {
            let _network = Network::start(&controller, version, "linear,2", &[]);
            when(&api, "/api/v1/switches", |page| page["total"] == 2);
            pushed(&api, &entry("a/b \"c\"", "7001"));
            pushed(&api, &entry("moved", "7002"));
            pushed(&api, &entry("moved", "7003"));
            pushed(&api, &entry("gone", "7004"));
            assert_eq!(ask(&api, "DELETE", &json!({"name": "gone"})).status, 200);
            // What the disk does not take does not stay on the switch either, and what it would
            // have replaced does.
            let mut long = entry("long", "7005");
            long["cookie"] = format!("0x{}1", "0".repeat(70_000)).into();
            for (name, priority) in [("long", "7005"), ("moved", "7003"), ("moved", "7006")] {
                (long["name"], long["priority"]) = (name.into(), priority.into());
                let answer = ask(&api, "POST", &long);
                let said = answer.json()["status"].as_str().unwrap().to_owned();
                assert!(answer.status == 422 && said.contains("bytes"), "{answer:?}");
            }
            until(&api, &["7001", "7003"]);
        }
        assert_eq!(controller.end("-KILL"), None);
        let (mut controller, api) = serving(&args);
        assert_eq!(listed(&api), ["a/b \"c\"", "moved"]);
        {
            let _network = Network::start(&controller, version, "linear,2", &[]);
            when(&api, "/api/v1/switches", |page| page["total"] == 2);
            until(&api, &["7001", "7003"]);
            assert_eq!(api.get("/wm/staticentrypusher/clear/1/json").status, 200);
            until(&api, &[]);
        }
        assert_eq!(controller.end("-KILL"), None);
        let (_controller, api) = serving(&args);
        assert_eq!(api.get(LIST).json(), json!({}));
    }
}

/// The priorities of flows of these tests that the first switch has.
fn has(api: &Api, expected: &[&str]) {
    when(api, "/api/v1/switches", |page| page["total"] == 2);
    until(api, expected);
}

#[test]
fn an_entry_that_is_removed_while_its_switch_is_away_is_taken_from_it_when_it_comes_back() {
    for version in Version::ALL {
        let folder = Folder::new(&format!("kept-floodlight-away-{version:?}"));
        let store = folder.file("store");
        let kept = ["--store", &store, "--apps", "learning-switch"];
        let entry = |name: &str, priority: &str| json!({"switch": "1", "name": name, "priority": priority, "in_port": "1", "actions": "output=2"});
        let pushed = |api: &Api, entry: &Value| {
            let answer = ask(api, "POST", entry);
            assert_eq!(answer.status, 200, "{entry}: {answer:?}");
        };
        // The switches find the controller at the same place again, and keep their flows meanwhile.
        let (mut controller, api) = serving(&kept);
        let place = controller.address.clone();
        let _network = Network::start(&controller, version, "linear,2", &[]);
        when(&api, "/api/v1/switches", |page| page["total"] == 2);
        for (name, priority) in
            [("stays", "7001"), ("gone", "7002"), ("moved", "7003"), ("again", "7004")]
        {
            pushed(&api, &entry(name, priority));
        }
        has(&api, &["7001", "7002", "7003", "7004"]);
        assert_eq!(controller.end("-KILL"), None);
        // Without the switches entries are removed, and one takes another's place.
        let (mut controller, api) = serving(&kept);
        for name in ["gone", "again"] {
            assert_eq!(ask(&api, "DELETE", &json!({"name": name})).status, 200);
        }
        pushed(&api, &entry("moved", "7005"));
        pushed(&api, &entry("another", "7004"));
        let mut names = listed(&api);
        names.sort_unstable();
        assert_eq!(names, ["another", "moved", "stays"]);
        assert_eq!(controller.end("-KILL"), None);
        let (mut controller, api) = serving(&[&kept[..], &["--listen", &place]].concat());
        has(&api, &["7001", "7004", "7005"]);
        // Nothing is owed any more: what comes to the same place by other ways stays there.
        let flow = json!({"dpid": 1, "priority": 7002, "match": {"in_port": 1}, "actions": []});
        let added = api.ask("POST", "/stats/flowentry/add", &[], flow.to_string().as_bytes());
        assert_eq!(added.status, 200, "{added:?}");
        assert_eq!(controller.end("-KILL"), None);
        let (_controller, api) = serving(&[&kept[..], &["--listen", &place]].concat());
        has(&api, &["7001", "7002", "7004", "7005"]);
    }
}
