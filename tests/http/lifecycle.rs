//! The applications of a running controller, started, stopped and put in order over HTTP and by the
//! command, while a network asks.

use aldis_testkit::client::Api;
use aldis_testkit::network::Network;
use aldis_testkit::running::Running;
use aldis_wire::Version;
use serde_json::Value;

use super::ask::{asked, told};
use super::when;

const JSON: (&str, &str) = ("Content-Type", "application/json");

fn state(api: &Api, app: &str) -> (String, Option<String>) {
    of(&api.get("/api/v1/apps").json(), app)
}

fn of(apps: &Value, name: &str) -> (String, Option<String>) {
    let mut all = apps["apps"].as_array().unwrap().iter();
    let app = all.find(|app| app["name"] == name).unwrap();
    (app["state"].as_str().unwrap().to_owned(), app["reason"].as_str().map(str::to_owned))
}

fn order(apps: &Value, on: &str) -> Vec<String> {
    let mut all = apps["sequences"].as_array().unwrap().iter();
    let apps = &all.find(|sequence| sequence["on"] == on).unwrap()["apps"];
    apps.as_array().unwrap().iter().map(|app| app.as_str().unwrap().to_owned()).collect()
}

/// The whole default set: what needs a stopped application stops with it, tells why, and the
/// network works again when it comes back.
#[test]
fn a_stopped_application_takes_those_that_need_it_along_and_brings_them_back() {
    let mut controller = Running::start(&["--http", "127.0.0.1:0"]);
    let api = Api::of(&mut controller);
    let script = ["0s ping h1 h2", "3s pingall", "6s pingall"];
    let _network = Network::start(&controller, Version::V13, "linear,3", &script);
    when(&api, "/api/v1/hosts", |page| page["total"].as_u64() >= Some(2));
    let stopped = api.ask("POST", "/api/v1/apps/hosts/stop", &[JSON], b"{}");
    assert_eq!(stopped.status, 200, "{stopped:?}");
    let apps = stopped.json();
    assert_eq!(of(&apps, "hosts"), ("stopped".into(), None));
    let (waiting, reason) = of(&apps, "route-flow");
    assert_eq!(waiting, "waiting");
    assert!(reason.unwrap().contains("needs what \"hosts\" publishes, and starts with it"));
    assert_eq!(of(&apps, "spanning").0, "running");
    assert!(!order(&apps, "flow-request").contains(&"route-flow".to_owned()), "{apps}");
    let refused = api.ask("POST", "/api/v1/apps/route-flow/start", &[JSON], b"{}");
    assert!(refused.is_problem(409, "start \"hosts\" first"), "{refused:?}");
    let list = told(&api, &["app", "start", "hosts"]);
    assert!(list.contains("\nroute-flow ") && list.ends_with(" run\n"), "{list}");
    assert_eq!(state(&api, "route-flow"), ("running".into(), None));
    // It is told of the three switches once more.
    when(&api, "/api/v1/hosts", |page| page["total"] == 3);
    when(&api, "/api/v1/apps", |apps| {
        let mut all = apps["apps"].as_array().unwrap().iter();
        let routes = all.find(|app| app["name"] == "route-flow").unwrap();
        routes["counted"]["events"]["joining"] == 6
    });
    let metrics = api.get("/metrics");
    let text = String::from_utf8(metrics.body.clone()).unwrap();
    assert!(text.contains("\naldis_app_running{app=\"hosts\"} 1\n"), "{text}");
    assert!(text.contains("\naldis_app_running{app=\"hub\"} 0\n"), "{text}");
    // Each worker took the stop and the start at least.
    let pauses =
        text.lines().find_map(|line| line.strip_prefix("aldis_line_up_pause_seconds_count "));
    assert!(pauses.unwrap().parse::<u64>().unwrap() >= 2, "{text}");
}

#[test]
fn what_is_not_in_the_configuration_can_be_started_and_orders_change_at_once() {
    let mut controller = Running::start(&["--http", "127.0.0.1:0", "--apps", "learning-switch"]);
    let api = Api::of(&mut controller);
    assert_eq!(state(&api, "hub").0, "stopped");
    told(&api, &["app", "stop", "learning-switch"]);
    let list = told(&api, &["app", "start", "hub"]);
    assert!(list.lines().any(|line| line.starts_with("hub ") && line.contains(" running ")));
    let orders = told(&api, &["app", "order", "flow-request", "hub"]);
    assert!(orders.lines().any(|line| line == "flow-request  hub"), "{orders}");
    told(&api, &["app", "start", "learning-switch"]);
    let order = ["app", "order", "flow-request", "learning-switch,hub"];
    assert!(told(&api, &order).contains("learning-switch → hub"));
    told(&api, &["app", "order", "flow-request", "--reset"]);
    let listed = told(&api, &["app", "list"]);
    let place = |name: &str| listed.lines().position(|line| line.starts_with(name)).unwrap();
    assert!(place("hub") < place("learning-switch"), "{listed}");
}

#[test]
fn what_cannot_be_started_or_stopped_is_said_in_a_sentence() {
    let mut controller = Running::start(&["--http", "127.0.0.1:0", "--apps", "learning-switch"]);
    let api = Api::of(&mut controller);
    let says = |words: &[&str], sentence: &str| {
        let (said, errors, code) = asked(&api, words);
        assert_eq!((said.as_str(), code), ("", Some(1)), "{words:?}");
        assert!(errors.contains(sentence), "{errors}");
    };
    says(&["app", "start", "learning-switch"], "\"learning-switch\" runs already");
    says(&["app", "stop", "hub"], "the application \"hub\" does not run");
    says(&["app", "start", "monitor"], "add it to its configuration, or to --apps, and restart");
    says(&["app", "start", "lerning-switch"], "there is no application \"lerning-switch\" here");
    says(&["app", "start", "../../x"], "there is no application \"../../x\" here");
    says(&["app", "order", "flow-request", "hub,hub"], "twice in one sequence");
    says(&["app", "order", "packet-in", "hub"], "there is no event \"packet-in\"");
    let body = br#"{"apps": ["hub"], "more": 1}"#;
    let refused = api.ask("PUT", "/api/v1/sequences/flow-request", &[JSON], body);
    assert!(refused.is_problem(422, "more"), "{refused:?}");
}
