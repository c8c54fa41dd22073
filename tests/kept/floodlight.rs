//! The static entries of Floodlight's scripts: what was answered is on disk, and sent again after a `kill -9`.

use aldis_wire::Version;
use serde_json::{Value, json};

use super::{Folder, network::Network, serving, when};
use crate::client::{Answer, Api};

const PUSHER: &str = "/wm/staticentrypusher/json";
const LIST: &str = "/wm/staticentrypusher/list/all/json";

fn ask(api: &Api, method: &str, body: &Value) -> Answer {
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
            // What the disk does not take does not stay on the switch either, and what it would have replaced does.
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
