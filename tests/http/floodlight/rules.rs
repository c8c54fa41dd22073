//! The ACL and the firewall of Floodlight's tutorials, ways, bandwidth and performance.

use aldis_testkit::Folder;
use aldis_testkit::client::HttpAnswer;
use aldis_wire::Version;
use serde_json::{Value, json};

use super::{ONE, Scene, TWO};

const ACL: &str = "/wm/acl/rules/json";
const FIREWALL: &str = "/wm/firewall/rules/json";

fn tell(scene: &Scene, method: &str, path: &str, body: &Value) -> HttpAnswer {
    scene.api.ask(method, path, &[], body.to_string().as_bytes())
}

/// What is done, and what the answer's words are.
fn told(scene: &Scene, method: &str, path: &str, body: &Value) -> Value {
    let answer = tell(scene, method, path, body);
    assert_eq!(answer.status, 200, "{method} {path} {body}: {answer:?}");
    answer.json()
}

fn refused(scene: &Scene, method: &str, path: &str, body: &Value, status: u16, words: &str) {
    let answer = tell(scene, method, path, body);
    let said = answer.json()["status"].as_str().unwrap_or_default().to_owned();
    assert!(answer.status == status && said.contains(words), "{method} {path} {body}: {answer:?}");
}

/// Names of the rules that count, in order, and at how many switches each is said to be.
fn rules(scene: &Scene) -> Vec<(String, usize)> {
    let all = scene.get("/api/v1/acl");
    let rule = |rule: &Value| {
        let at = rule["switches"].as_array().map_or(0, Vec::len);
        (rule["name"].as_str().unwrap().to_owned(), at)
    };
    all["rules"].as_array().unwrap().iter().map(rule).collect()
}

fn names(scene: &Scene) -> Vec<String> {
    rules(scene).into_iter().map(|(name, _)| name).collect()
}

fn scene(store: &str) -> Scene {
    Scene::new(&["--apps", "acl,learning-switch", "--store", store])
}

#[test]
fn rules_of_an_acl_are_added_listed_removed_and_kept() {
    let folder = Folder::new("floodlight-acl");
    let store = folder.file("store");
    {
        let scene = scene(&store);
        let added = json!({"status": "Success! New rule added."});
        let pair = json!({"src-ip": "10.0.0.1/32", "dst-ip": "10.0.0.2/32", "action": "deny"});
        assert_eq!(told(&scene, "POST", ACL, &pair), added);
        let web =
            json!({"dst-ip": "10.0.0.0/8", "nw-proto": "TCP", "tp-dst": "80", "action": "allow"});
        assert_eq!(told(&scene, "POST", ACL, &web), added);
        // Where one is there that matches all that it does it is another of the same.
        refused(
            &scene,
            "POST",
            ACL,
            &pair,
            422,
            "Failed! the rule \"floodlight-acl 3\" is never reached",
        );
        refused(
            &scene,
            "POST",
            ACL,
            &json!({"nw-proto": "TCP"}),
            400,
            "Either nw_src or nw_dst must be specified",
        );
        refused(&scene, "POST", ACL, &json!({"src-ip": "10.0.0.300"}), 400, "nw_src");
        refused(
            &scene,
            "DELETE",
            ACL,
            &json!({"ruleid": "9"}),
            400,
            "a rule with this ID doesn't exist",
        );
    }
    let scene = scene(&store);
    let all = scene.get(ACL);
    assert_eq!(
        all[1],
        json!({
            "id": 2, "nw_src": null, "nw_dst": "10.0.0.0/8", "nw_src_prefix": 0, "nw_src_maskbits": 0, "nw_dst_prefix": 0x0a00_0000,
            "nw_dst_maskbits": 8, "nw_proto": 6, "tp_dst": 80, "action": "ALLOW",
        })
    );
    let removed = told(&scene, "DELETE", ACL, &json!({"ruleid": "1"}));
    assert_eq!(removed, json!({"status": "Success! Rule deleted"}));
    assert_eq!(names(&scene), ["floodlight-acl 2"]);
    let site = [("Sec-Fetch-Site", "cross-site")];
    assert_eq!(scene.api.ask("GET", "/wm/acl/clear/json", &site, b"").status, 403);
    assert_eq!(scene.api.get("/wm/acl/clear/json").status, 200);
    assert_eq!(scene.get(ACL), json!([]));
}

#[test]
fn a_firewall_denies_what_no_rule_allows_while_it_is_enabled() {
    let folder = Folder::new("floodlight-firewall");
    let store = folder.file("store");
    let scene = scene(&store);
    let result = |scene: &Scene| scene.get("/wm/firewall/module/status/json")["result"].clone();
    assert_eq!(result(&scene), "firewall disabled");
    for (priority, id) in [("20", "1"), ("10", "2")] {
        let rule = json!({"src-ip": "10.0.0.1/32", "dst-ip": "10.0.0.2/32", "dl-type": "ARP", "priority": priority, "switchid": ONE});
        let mut other = rule.clone();
        other["dl-type"] = if id == "1" { "ARP" } else { "IPv4" }.into();
        assert_eq!(
            told(&scene, "POST", FIREWALL, &other),
            json!({"status": "Rule added", "rule-id": id})
        );
    }
    told(&scene, "POST", ACL, &json!({"src-ip": "10.0.0.9/32"}));
    let running = told(&scene, "PUT", "/wm/firewall/module/enable/json", &json!({}));
    assert_eq!(running, json!({"status": "success", "details": "firewall running"}));
    assert_eq!(result(&scene), "firewall enabled");
    let first = "floodlight-firewall 2 priority 10 at 0000000000000001";
    let second = "floodlight-firewall 1 priority 20 at 0000000000000001";
    let expected = [
        "floodlight-acl 1",
        "floodlight-firewall broadcast",
        first,
        second,
        "floodlight-firewall rest",
    ];
    assert_eq!(names(&scene), expected);
    let shown = scene.get(FIREWALL);
    assert_eq!((&shown[0]["ruleid"], &shown[0]["dpid"]), (&2.into(), &ONE.into()));
    assert_eq!((&shown[0]["any_dpid"], &shown[0]["action"]), (&false.into(), &"ALLOW".into()));
    assert_eq!(
        (&shown[0]["nw_src_prefix"], &shown[0]["nw_src_maskbits"]),
        (&"10.0.0.1".into(), &32.into())
    );
    assert_eq!((&shown[1]["dl_type"], &shown[0]["any_tp_dst"]), (&0x0806.into(), &true.into()));
    // At no switch that there is, without the first and the last.
    told(&scene, "PUT", "/wm/firewall/module/disable/json", &json!({}));
    assert_eq!(names(&scene), ["floodlight-acl 1", first, second]);
    assert_eq!(scene.get("/api/v1/acl")["rules"][1]["switches"], json!(["0000000000000000"]));
    assert_eq!(scene.get(FIREWALL).as_array().unwrap().len(), 2);
    assert_eq!(
        told(&scene, "DELETE", FIREWALL, &json!({"ruleid": "1"})),
        json!({"status": "Rule deleted"})
    );
    refused(&scene, "DELETE", FIREWALL, &json!({"ruleid": "1"}), 400, "Error! Can't delete");
    refused(
        &scene,
        "POST",
        FIREWALL,
        &json!({"src-pi": "x"}),
        400,
        "src-pi: there is no such field",
    );
    let scene = Scene::new(&["--apps", "learning-switch"]);
    refused(&scene, "POST", FIREWALL, &json!({"src-ip": "10.0.0.1"}), 409, "does not run here");
    refused(&scene, "POST", ACL, &json!({"src-ip": "10.0.0.1"}), 409, "--apps");
}

#[test]
fn ways_bandwidth_and_performance_are_shown() {
    let scene = Scene::new(&["--apps", "hosts,topology,routing,route-flow,monitor"]);
    let _network = scene.network(Version::V13);
    let path = format!("/wm/routing/paths/{ONE}/{TWO}/4/json");
    let found = scene.when(&path, |all| all["results"].as_array().unwrap().len() == 1);
    let way = &found["results"][0];
    assert_eq!((&way["src_dpid"], &way["dst_dpid"]), (&ONE.into(), &TWO.into()));
    assert_eq!((&way["hop_count"], &way["path_index"]), (&"1".into(), &"0".into()));
    assert_eq!((&way["path"][0]["dpid"], &way["path"][1]["dpid"]), (&ONE.into(), &TWO.into()));
    for kind in ["fast", "slow"] {
        assert_eq!(scene.get(&format!("/wm/routing/paths/{kind}/{ONE}/{TWO}/4/json")), found);
    }
    let one = scene.get(&format!("/wm/routing/path/{ONE}/1/{TWO}/1/json"));
    assert_eq!(one["results"].as_array().unwrap().len(), 4);
    assert_eq!(one["results"][0], json!({"switch": ONE, "port": 1}));
    assert!(
        scene.api.get(&format!("/wm/routing/paths/{ONE}/{TWO}/0/json")).is_problem(400, "1 to 256")
    );
    let on = scene.api.ask("POST", "/wm/statistics/config/enable/json", &[], b"");
    assert_eq!(on.json(), json!({"statistics-collection": "enabled"}));
    let off = scene.api.ask("PUT", "/wm/statistics/config/disable/json", &[], b"");
    assert!(off.is_problem(501, "monitor"), "{off:?}");
    let all = scene.api.get("/wm/statistics/bandwidth/all/all/json");
    assert_eq!(all.status, 200, "{all:?}");
    assert!(scene.api.get("/wm/statistics/bandwidth/all/x/json").is_problem(400, "no port number"));
    let data = scene.get("/wm/performance/data/json");
    assert!(data["total-packets"].as_u64() > Some(0) && data["max"].as_u64() > Some(0), "{data}");
    assert!(data["average"].as_u64() > Some(0) && data["modules"].is_array(), "{data}");
    assert_eq!(scene.get("/wm/performance/enable/json"), json!({"enabled": true}));
    assert!(scene.api.get("/wm/performance/reset/json").is_problem(501, "difference"));
}

#[test]
fn bandwidth_is_that_of_the_last_interval() {
    let folder = Folder::new("floodlight-bandwidth");
    let config = folder.file("aldis.toml");
    folder.write(
        "aldis.toml",
        "apps = [\"learning-switch\", \"monitor\"]\n[monitor]\ninterval-s = 1\n",
    );
    let scene = Scene::new(&["--config", &config]);
    let _network = scene.network(Version::V13);
    let path = format!("/wm/statistics/bandwidth/{ONE}/1/json");
    let rows = scene.when(&path, |rows| rows.as_array().unwrap().len() == 1);
    assert_eq!((&rows[0]["dpid"], &rows[0]["port"]), (&ONE.into(), &"1".into()));
    assert!(rows[0]["bits-per-second-rx"].as_str().is_some_and(|text| text.parse::<u64>().is_ok()));
    assert!(rows[0]["updated"].is_string());
}
