//! Applications that are installed while the controller runs: built as their author would,
//! installed by the command, serving an emulated network from their sandbox.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use aldis_sandbox::{Package, Trust, pack};
use aldis_testkit::Folder;
use aldis_testkit::client::Api;
use aldis_testkit::network::Network;
use aldis_testkit::running::Running;
use aldis_wire::Version;
use serde_json::Value;

use super::ask::{asked, told};
use super::when;

/// The package of the SDK's learning switch in Rust, built by the command.
fn package() -> &'static PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| built("learning-switch", "simple-switch"))
}

/// The package of an example of the SDK.
pub(super) fn built(example: &str, name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let file = root.join("target/sdk").join(format!("{name}.app"));
    let source = format!("sdk/rust/examples/{example}");
    let mut build = Command::new(env!("CARGO_BIN_EXE_aldis"));
    build.args(["app", "build", &source, "--output"]).arg(&file);
    build.env_remove("RUSTFLAGS").env("CARGO_TARGET_DIR", root.join("target/sdk"));
    let output = build.current_dir(root).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains(&format!("{name} 0.1.0, ")) && said.contains("aldis app install"));
    file
}

/// The same application with another manifest.
pub(super) fn repacked(file: &Path, change: impl Fn(&str) -> String) {
    let manifest = include_str!("../../sdk/rust/examples/learning-switch/manifest.toml");
    let component = Package::read(&std::fs::read(package()).unwrap(), &Trust::Anyone).unwrap();
    let packed = pack(change(manifest).as_bytes(), component.component(), &[], None).unwrap();
    std::fs::write(file, packed).unwrap();
}

pub(super) fn app(apps: &Value, name: &str) -> Value {
    let mut all = apps["apps"].as_array().unwrap().iter();
    all.find(|app| app["name"] == name).cloned().unwrap_or_default()
}

fn state(api: &Api) -> Value {
    app(&api.get("/api/v1/apps").json(), "simple-switch")["state"].clone()
}

#[test]
fn an_application_is_installed_serves_a_network_and_is_replaced_stopped_and_removed() {
    let folder = Folder::new("installed");
    let mut controller = Running::start(&["--http", "127.0.0.1:0", "--apps", "hub"]);
    let api = Api::of(&mut controller);
    let file = package().to_str().unwrap();
    let list = told(&api, &["app", "install", file]);
    let is_it = |line: &str| line.starts_with("simple-switch ") && line.contains(" running ");
    assert!(list.lines().any(is_it), "{list}");
    let script = ["0s pingall", "2s pingall", "4s pingall"];
    let _network = Network::start(&controller, Version::V13, "single,4", &script);
    let answered = |apps: &Value| {
        let counted = &app(apps, "simple-switch")["counted"];
        (counted["events"]["flow-request"].as_u64(), counted["bytes_out"].as_u64())
    };
    when(&api, "/api/v1/apps", |apps| answered(apps).0 >= Some(8) && answered(apps).1 > Some(0));
    // It stops what it answers: nothing is left for the hub, which comes behind it.
    let apps = api.get("/api/v1/apps").json();
    assert_eq!(app(&apps, "hub")["counted"]["bytes_out"], 0, "{apps}");
    assert_eq!(app(&apps, "simple-switch")["version"], "0.1.0");
    let flows = api.get("/api/v1/switches/1/flows").json();
    assert!(flows["total"].as_u64() > Some(0), "{flows}");
    // A version that is the next one.
    let next = folder.join("next.app");
    repacked(&next, |manifest| manifest.replace("0.1.0", "0.2.0"));
    let list = told(&api, &["app", "replace", next.to_str().unwrap()]);
    assert!(list.contains("simple-switch"), "{list}");
    assert_eq!(app(&api.get("/api/v1/apps").json(), "simple-switch")["version"], "0.2.0");
    told(&api, &["app", "stop", "simple-switch"]);
    assert_eq!(state(&api), "stopped");
    told(&api, &["app", "start", "simple-switch"]);
    assert_eq!(state(&api), "running");
    assert!(told(&api, &["app", "logs", "simple-switch"]).starts_with("level "));
    let list = told(&api, &["app", "remove", "simple-switch"]);
    assert!(!list.contains("simple-switch"), "{list}");
    let (_, errors, code) = asked(&api, &["app", "logs", "simple-switch"]);
    assert!(code == Some(1) && errors.contains("was installed from a package"), "{errors}");
}

/// How many flows of the application are at the first switch.
fn own_flows(flows: &Value) -> usize {
    let flows = flows["items"].as_array().into_iter().flatten();
    flows.filter(|flow| flow["owner"] == "simple-switch").count()
}

#[test]
fn flows_stay_or_go_or_are_handed_over_as_the_manifest_says() {
    let folder = Folder::new("flows-on-stop");
    let mut controller = Running::start(&["--http", "127.0.0.1:0", "--apps", "hub"]);
    let api = Api::of(&mut controller);
    let file = |flows: &str, version: &str| {
        let file = folder.join(format!("{flows}-{version}.app"));
        repacked(&file, |manifest| {
            let manifest = manifest.replace("counts =", &format!("flows = \"{flows}\"\ncounts ="));
            manifest.replace("0.1.0", version)
        });
        file.to_str().unwrap().to_owned()
    };
    let cases = [
        ("stay", ["app", "stop", "simple-switch"], true),
        ("stay", ["app", "remove", "simple-switch"], true),
        ("go", ["app", "stop", "simple-switch"], false),
        ("go", ["app", "remove", "simple-switch"], false),
        ("go", ["app", "replace", ""], false),
        ("hand-over", ["app", "remove", "simple-switch"], false),
        ("hand-over", ["app", "replace", ""], true),
    ];
    for (version, (flows, change, stay)) in
        Version::ALL.into_iter().flat_map(|version| cases.map(|case| (version, case)))
    {
        told(&api, &["app", "install", &file(flows, "1")]);
        let _network = Network::start(&controller, version, "single,3", &["0s pingall"]);
        when(&api, "/api/v1/switches", |switches| switches["total"] == 1);
        let other = br#"{"flows":[{"match":"eth_type=0x88b5","actions":["output:1"]}]}"#;
        let json = [("Content-Type", "application/json")];
        api.ask("POST", "/api/v1/switches/1/flows", &json, other);
        let all = || api.get("/api/v1/switches/1/flows").json();
        // Those of six pairs, and no more to come.
        when(&api, "/api/v1/switches/1/flows", |flows| own_flows(flows) == 6);
        let before = all()["total"].clone();
        let next = file(flows, "2");
        told(&api, &change.map(|word| if word.is_empty() { next.as_str() } else { word }));
        let (after, what) = (all(), format!("{version} {flows} {change:?}"));
        match stay {
            true => assert_eq!(after["total"], before, "{what}: {after}"),
            false => {
                assert_eq!(own_flows(&after), 0, "{what}: {after}");
                assert_eq!(after["total"], before.as_u64().unwrap() - 6, "{what}: {after}");
            }
        }
        if change[1] != "remove" {
            told(&api, &["app", "remove", "simple-switch"]);
        }
    }
}

#[test]
fn what_is_kept_starts_with_the_controller_and_what_was_stopped_stays_so() {
    let folder = Folder::new("app-folder");
    let kept = folder.join("apps");
    let kept = kept.to_str().unwrap();
    let args = ["--http", "127.0.0.1:0", "--apps", "hub", "--app-folder", kept];
    let mut controller = Running::start(&args);
    let api = Api::of(&mut controller);
    told(&api, &["app", "install", package().to_str().unwrap()]);
    assert_eq!(controller.end("-INT"), Some(0));
    // One that is none is told about, and the others start.
    std::fs::write(folder.join("apps/broken.app"), "no package").unwrap();
    let mut controller = Running::start(&args);
    let told_of = |line: &String| line.contains("broken.app: the package is refused");
    assert!(controller.said.iter().any(told_of), "{:?}", controller.said);
    let api = Api::of(&mut controller);
    assert_eq!(state(&api), "running");
    told(&api, &["app", "stop", "simple-switch"]);
    assert_eq!(controller.end("-INT"), Some(0));
    let mut controller = Running::start(&args);
    let api = Api::of(&mut controller);
    assert_eq!(state(&api), "stopped");
    told(&api, &["app", "start", "simple-switch"]);
    told(&api, &["app", "remove", "simple-switch"]);
    assert_eq!(controller.end("-INT"), Some(0));
    let mut controller = Running::start(&args);
    let api = Api::of(&mut controller);
    assert_eq!(state(&api), Value::Null);
}

#[test]
fn a_package_that_is_not_in_order_is_refused_with_its_field() {
    let folder = Folder::new("bad-packages");
    let mut controller = Running::start(&["--http", "127.0.0.1:0", "--apps", "hub"]);
    let api = Api::of(&mut controller);
    let good = std::fs::read(package()).unwrap();
    let refused = |bytes: &[u8], status: u16, words: &str| {
        let kind = [("Content-Type", "application/octet-stream")];
        let answer = api.ask("POST", "/api/v1/apps", &kind, bytes);
        assert!(answer.is_problem(status, words), "{answer:?}");
    };
    refused(b"", 422, "the package is refused");
    refused(&good[..good.len() / 2], 422, "the package is refused");
    let mut altered = good.clone();
    altered[good.len() / 2] ^= 1;
    refused(&altered, 422, "altered");
    let file = folder.join("other.app");
    let bytes = |change: &dyn Fn(&str) -> String| {
        repacked(&file, change);
        std::fs::read(&file).unwrap()
    };
    // It takes the name of one that came with the controller.
    refused(&bytes(&|of| of.replace("simple-switch", "hub")), 409, "\"hub\" already");
    let small = |of: &str| of.replace("268435456", "65536");
    refused(&bytes(&small), 422, "it does not start");
    told(&api, &["app", "install", package().to_str().unwrap()]);
    refused(&good, 409, "there is an application \"simple-switch\" already");
    // Another application in its place, and one that does not start: the running version stays.
    let replaced = |bytes: &[u8], words: &str| {
        let kind = [("Content-Type", "application/octet-stream")];
        let answer = api.ask("PUT", "/api/v1/apps/simple-switch", &kind, bytes);
        assert!(answer.is_problem(422, words), "{answer:?}");
        assert_eq!(state(&api), "running");
    };
    replaced(&bytes(&|of| of.replace("simple-switch", "other")), "not of \"simple-switch\"");
    replaced(&bytes(&small), "it does not start");
    let answer = api.ask("DELETE", "/api/v1/apps/hub", &[], b"");
    assert!(answer.is_problem(409, "came with the controller"), "{answer:?}");
}

/// The version before is kept while the new one is watched, for half a minute without requests, and
/// no longer than the new one is there.
#[test]
fn what_is_removed_while_it_is_watched_leaves_no_version_before_it() {
    let mut controller = Running::start(&["--http", "127.0.0.1:0", "--apps", "hub"]);
    let api = Api::of(&mut controller);
    let watches = || controller.threads().iter().filter(|name| name.starts_with("watch-")).count();
    let wait_for = |count: usize| {
        let deadline = Instant::now() + Duration::from_secs(10);
        while watches() != count {
            assert!(Instant::now() < deadline, "{:?}", controller.threads());
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    let package = package().to_str().unwrap();
    told(&api, &["app", "install", package]);
    told(&api, &["app", "replace", package]);
    wait_for(1);
    told(&api, &["app", "replace", package]);
    told(&api, &["app", "remove", "simple-switch"]);
    wait_for(0);
}

/// Its memory is used up by hosts without end: it is started again, and quarantined in the end,
/// while the hub behind it goes on. A version that may have more takes its place and stays.
#[test]
fn an_application_that_needs_more_than_it_may_have_is_quarantined_and_the_others_go_on() {
    let folder = Folder::new("quarantined");
    let mut controller = Running::start(&["--http", "127.0.0.1:0", "--apps", "hub"]);
    let api = Api::of(&mut controller);
    let small = folder.join("small.app");
    repacked(&small, |manifest| manifest.replace("268435456", "2097152"));
    told(&api, &["app", "install", small.to_str().unwrap()]);
    let mut bench = Command::new(env!("CARGO_BIN_EXE_aldis"));
    bench.args(["bench", &controller.address, "-s", "4", "-M", "100000", "--outstanding", "50"]);
    bench.args(["-l", "4", "-m", "1000", "--json"]);
    let report = bench.output().unwrap();
    let report: Value = serde_json::from_slice(&report.stdout).unwrap();
    assert!(report["counts"]["answered"].as_u64() > Some(1000), "{report}");
    when(&api, "/api/v1/apps", |apps| app(apps, "simple-switch")["state"] == "quarantined");
    let told_of = controller.says("simple-switch: quarantined after ");
    assert!(told_of.contains("memory"), "{told_of}");
    let apps = api.get("/api/v1/apps").json();
    let it = app(&apps, "simple-switch");
    assert!(it["reason"].as_str().unwrap().contains("memory"), "{it}");
    assert!(app(&apps, "hub")["counted"]["bytes_out"].as_u64() > Some(0), "{apps}");
    told(&api, &["app", "start", "simple-switch"]);
    assert_eq!(state(&api), "running");
    told(&api, &["app", "replace", package().to_str().unwrap()]);
    assert_eq!(state(&api), "running");
}

/// The same code agrees, batch by batch, and takes the place of the version that runs by itself;
/// one that knows less is told apart, and is given up.
#[test]
fn a_candidate_runs_in_the_shadow_until_it_is_promoted_or_given_up() {
    let folder = Folder::new("candidate");
    let mut controller = Running::start(&["--http", "127.0.0.1:0", "--apps", "hub"]);
    let api = Api::of(&mut controller);
    told(&api, &["app", "install", package().to_str().unwrap()]);
    let next = folder.join("next.app");
    repacked(&next, |manifest| manifest.replace("0.1.0", "0.2.0"));
    let next = next.to_str().unwrap();
    let table = told(&api, &["app", "shadow", next, "--after", "2"]);
    assert!(table.contains("simple-switch") && table.contains("0.2.0"), "{table}");
    let network = Network::start(&controller, Version::V13, "single,6", &["0s pingall"]);
    when(&api, "/api/v1/apps", |apps| app(apps, "simple-switch")["version"] == "0.2.0");
    controller.says("the candidate agreed, and is promoted");
    // One that comes when the hosts are known floods what the other one has a flow for: when the
    // first flow was idle for its ten seconds, the switch asks again.
    drop(network);
    let asked_for = |apps: &Value| {
        app(apps, "simple-switch")["counted"]["events"]["flow-request"].as_u64().unwrap()
    };
    let before = asked_for(&api.get("/api/v1/apps").json());
    let script = ["0s ping h1 h2", "14s ping h1 h2"];
    let _other = Network::start(&controller, Version::V13, "single,2", &script);
    when(&api, "/api/v1/apps", |apps| asked_for(apps) >= before + 3);
    told(&api, &["app", "shadow", next]);
    when(&api, "/api/v1/apps", |apps| {
        let candidate = &app(apps, "simple-switch")["candidate"];
        candidate["differed"].as_u64() > Some(0) && candidate["last_difference"].is_string()
    });
    assert_eq!(app(&api.get("/api/v1/apps").json(), "simple-switch")["version"], "0.2.0");
    let ended = api.ask("DELETE", "/api/v1/apps/simple-switch/candidate", &[], b"");
    assert_eq!(app(&ended.json(), "simple-switch")["candidate"], Value::Null, "{ended:?}");
    let (_, errors, code) = asked(&api, &["app", "promote", "simple-switch"]);
    assert!(code == Some(1) && errors.contains("no version runs in the shadow"), "{errors}");
}

#[test]
fn what_an_application_keeps_is_there_after_a_restart_and_for_its_next_version() {
    let folder = Folder::new("app-space");
    let kept = folder.join("apps");
    let args = ["--http", "127.0.0.1:0", "--apps", "hub", "--app-folder", kept.to_str().unwrap()];
    let mut controller = Running::start(&args);
    let api = Api::of(&mut controller);
    let file = built("packet-count", "packet-count");
    told(&api, &["app", "install", file.to_str().unwrap()]);
    let network = Network::start(&controller, Version::V13, "single,3", &["0s pingall"]);
    let packets = |apps: &Value| app(apps, "packet-count")["counted"]["own"]["packets"].as_u64();
    when(&api, "/api/v1/apps", |apps| packets(apps) > Some(0));
    drop(network);
    // The next version goes on where the one before is.
    told(&api, &["app", "replace", file.to_str().unwrap()]);
    let logs = told(&api, &["app", "logs", "packet-count"]);
    let begins = |text: &str| {
        let at = text.split("begins at ").nth(1).and_then(|rest| rest.split(' ').next());
        at.and_then(|number| number.parse::<u64>().ok())
    };
    let sum = begins(&logs).unwrap();
    assert!(sum > 0, "{logs}");
    assert_eq!(controller.end("-INT"), Some(0));
    let mut controller = Running::start(&args);
    let api = Api::of(&mut controller);
    let logs = told(&api, &["app", "logs", "packet-count"]);
    assert!(begins(&logs) >= Some(sum), "{sum}: {logs}");
    // What is no space is said, with its file, and the others start.
    assert_eq!(controller.end("-INT"), Some(0));
    std::fs::write(folder.join("apps/packet-count.kv"), "no space").unwrap();
    let controller = Running::start(&args);
    let told_of = |line: &String| line.contains("packet-count.kv is no key–value space");
    assert!(controller.said.iter().any(told_of), "{:?}", controller.said);
}
