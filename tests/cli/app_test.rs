//! `aldis app test`: applications are tried in a controller and a network of the command's own.

use std::path::Path;
use std::process::Command;

use aldis_testkit::Folder;
use aldis_testkit::sdk::{author, package, root};
use serde_json::Value;

/// What a command says, and its exit code.
fn said(command: &mut Command) -> (String, String, Option<i32>) {
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr), output.status.code())
}

fn tested(package: &Path, more: &[&str]) -> (String, String, Option<i32>) {
    said(author().args(["app", "test"]).arg(package).args(more))
}

#[test]
fn the_examples_of_both_sdks_do_as_their_scenarios_say() {
    for (source, scenario) in [
        ("sdk/rust/examples/learning-switch", None),
        ("sdk/rust/examples/port-knocking", Some("port-knocking/tests/knock.toml")),
        ("sdk/rust/examples/rate-monitor", Some("rate-monitor/tests/rates.toml")),
        ("sdk/python/examples/load_balancer.py", Some("tests/load_balancer.toml")),
    ] {
        let beside = root().join(source).with_file_name("");
        let scenario = scenario.map(|file| beside.join(file).display().to_string());
        let options = scenario.iter().flat_map(|file| ["--scenario", file.as_str()]);
        let (table, errors, code) = tested(&package(source), &options.collect::<Vec<_>>());
        assert_eq!((errors.as_str(), code), ("", Some(0)), "{table}");
        assert!(table.ends_with("2 of 2 passed\n"), "{table}");
    }
}

/// The application compares both, and starts where they are the same.
#[test]
fn the_machine_code_of_the_python_sdk_does_what_its_python_does() {
    let scenario = root().join("sdk/python/template/tests/app.toml").display().to_string();
    let both = package("sdk/python/tests/both_ways.py");
    let (table, errors, code) = tested(&both, &["--scenario", &scenario]);
    assert_eq!((errors.as_str(), code), ("", Some(0)), "{table}");
}

#[test]
fn a_name_that_python_has_already_is_refused_and_a_module_beside_does_not_stop_a_build() {
    let folder = Folder::new("app-names");
    let ran = |args: &[&str]| said(author().arg("app").args(args).current_dir(&*folder));
    for name in ["aldis", "class", "json", "queue"] {
        let (_, errors, code) = ran(&["new", name]);
        assert_eq!(code, Some(2), "{errors}");
        assert!(errors.contains(&format!("{name}.py: Python has")), "{errors}");
    }
    assert_eq!(std::fs::read_dir(&*folder).unwrap().count(), 0);
    let (_, errors, code) = ran(&["new", "My App"]);
    assert!(code == Some(2) && errors.contains("NAME: \"My App\" is no name"), "{errors}");
    let (_, errors, code) = ran(&["new", "hub"]);
    assert_eq!((errors.as_str(), code), ("", Some(0)));
    folder.write("tempfile.py", "raise SystemExit('a file of another program')\n");
    let (_, errors, code) = ran(&["build", "hub.py"]);
    assert_eq!((errors.as_str(), code), ("", Some(0)));
    folder.write("json.toml", std::fs::read_to_string(folder.file("hub.toml")).unwrap());
    let (_, errors, code) = ran(&["build", "json.py"]);
    assert!(code == Some(2) && errors.contains("json.py: Python has"), "{errors}");
}

/// That of Python is in the tutorial.
#[test]
fn a_new_application_passes_the_scenario_that_it_comes_with() {
    let folder = Folder::new("app-new");
    let sdk = root().join("sdk/rust");
    let mut new = author();
    new.args(["app", "new", "hub-rs", "--lang", "rust", "--sdk"]).arg(&sdk);
    let (_, errors, code) = said(new.current_dir(&*folder));
    assert_eq!((errors.as_str(), code), ("", Some(0)));
    // What it is built of is here already.
    std::fs::copy(sdk.join("Cargo.lock"), folder.join("hub-rs/Cargo.lock")).unwrap();
    let mut test = author();
    test.args(["app", "test", "hub-rs"]).env("CARGO_NET_OFFLINE", "true");
    let (table, errors, code) = said(test.current_dir(&*folder));
    assert_eq!(code, Some(0), "{table}{errors}");
    assert!(table.contains("OpenFlow 1.3: 2 steps, 6 of 6 pings answered"), "{table}");
    assert!(table.ends_with("2 of 2 passed\n"), "{table}");
}

#[test]
fn what_goes_wrong_is_told_with_the_line_of_its_step() {
    let folder = Folder::new("app-test");
    let switch = package("sdk/rust/examples/learning-switch");
    let try_it = |scenario: &str| {
        let file = folder.write("wrong.toml", scenario);
        tested(&switch, &["--scenario", &file])
    };
    // Each of these does not happen, and is told with what did.
    for (line, step, words) in [
        (4, "send = \"h1\"\nframe = { to = \"h2\" }\nreceived-by = []", "h2 received the frame"),
        (
            4,
            "send = \"h1\"\nframe = { to = \"h2\", udp_dst = 7 }\nreceived-by = [\"h2\"]\n\
             with = { udp_dst = 8 }",
            "its udp_dst is 7, not 8",
        ),
        (
            4,
            "send = \"h1\"\nframe = { arp_tpa = \"10.0.0.9\" }\nanswered-with = { arp_op = 2 }\n\
             within = \"200ms\"",
            "no such answer within 0.2 s",
        ),
        (4, "ping = [\"h1\", \"h2\"]\nanswered = false", "there was an answer: h1 → h2"),
        (4, "flow = { match = { tcp_dst = 1 } }\nwithin = \"100ms\"", "0 such flows"),
        (4, "log = \"opened\"\nwithin = \"100ms\"", "no line of the log has \"opened\""),
        (4, "count = \"doors\"\nis = 1\nwithin = \"100ms\"", "did not count \"doors\""),
    ] {
        let (table, _, code) =
            try_it(&format!("topology = \"single,2\"\nopenflow = [\"1.0\"]\n\n[[step]]\n{step}\n"));
        assert_eq!(code, Some(1), "{table}");
        let told = table.lines().nth(1).unwrap_or_default();
        assert!(told.contains(&format!("wrong.toml:{line}: ")) && told.contains(words), "{table}");
    }
    let (_, errors, code) = try_it("[[step]]\nping = [\"h1\", \"s2\"]\n");
    assert!(errors.contains("wrong.toml:2: ping: \"s2\" is no host"), "{errors}");
    assert_eq!(code, Some(2));
    let (_, errors, code) = try_it("apps = [\"hubs\"]\n[[step]]\npingall = true\n");
    assert!(errors.contains("did you mean `hub`?"), "{errors}");
    assert_eq!(code, Some(2));
}

#[test]
fn a_link_that_breaks_and_a_path_around_it_can_be_tried() {
    let folder = Folder::new("app-test-links");
    let scenario = "topology = \"linear,2\"\nopenflow = [\"1.3\"]\n\
        [[step]]\npingall = true\n[[step]]\ndo = \"link-down s1 s2\"\n\
        [[step]]\nping = [\"h1\", \"h2\"]\nanswered = false\n\
        [[step]]\ndo = \"link-up s1 s2\"\n[[step]]\nping = [\"h1\", \"h2\"]\n";
    let file = folder.write("links.toml", scenario);
    let switch = package("sdk/rust/examples/learning-switch");
    let (report, errors, code) = tested(&switch, &["--scenario", &file, "--json"]);
    assert_eq!((errors.as_str(), code), ("", Some(0)), "{report}");
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!((&report["passed"], &report["app"]), (&true.into(), &"simple-switch".into()));
    let one = &report["scenarios"][0];
    assert_eq!((&one["pings"], &one["answered"]), (&4.into(), &3.into()), "{report}");
    assert!(one["flows"].as_u64() > Some(0) && one["wrong"].as_array().unwrap().is_empty());
}

#[test]
fn an_application_that_fails_or_may_not_do_what_it_does_has_not_passed() {
    let folder = Folder::new("app-test-fails");
    // It may add no flows, which it does for each pair of hosts.
    let source = root().join("sdk/rust/examples/learning-switch/manifest.toml");
    let manifest = std::fs::read_to_string(source).unwrap();
    let component = std::fs::read(package("sdk/rust/examples/learning-switch")).unwrap();
    let read = aldis_sandbox::Package::read(&component, &aldis_sandbox::Trust::Anyone).unwrap();
    let less = manifest.replace("\"flow-mod\", ", "");
    let less = aldis_sandbox::pack(less.as_bytes(), read.component(), &[], None).unwrap();
    let file = folder.write("less.app", less);
    let (table, _, code) = tested(Path::new(&file), &[]);
    assert_eq!(code, Some(1), "{table}");
    assert!(table.contains("of its commands were refused, and 0 may be"), "{table}");
    assert!(table.contains("simple-switch 0.1.0: 0 of 2 passed"), "{table}");
}

/// Does nothing until it is handed events, and traps then.
const TRAPS: &str = r#"(component
  (core module $m
    (memory (export "memory") 4)
    (func (export "realloc") (param i32 i32 i32 i32) (result i32) i32.const 4096)
    (func (export "start") (param i32 i32) (result i32) i32.const 16)
    (func (export "batch") (param i32 i32) (result i32) unreachable)
    (func (export "tick") (param i64) (result i32) i32.const 16)
    (func (export "stop")))
  (core instance $i (instantiate $m))
  (alias core export $i "memory" (core memory $memory))
  (alias core export $i "realloc" (core func $realloc))
  (func (export "start") (param "config" string) (result (result (error string)))
    (canon lift (core func $i "start") (memory $memory) (realloc (core func $realloc))))
  (func (export "batch") (param "events" (list u8)) (result (list u8))
    (canon lift (core func $i "batch") (memory $memory) (realloc (core func $realloc))))
  (func (export "tick") (param "now" u64) (result (list u8))
    (canon lift (core func $i "tick") (memory $memory) (realloc (core func $realloc))))
  (func (export "stop") (canon lift (core func $i "stop"))))"#;

#[test]
fn an_application_that_traps_has_not_passed_though_the_network_goes_on() {
    let folder = Folder::new("app-test-traps");
    let manifest = "contract = \"0.1\"\nname = \"traps\"\nversion = \"1\"\n";
    let component = wat::parse_str(TRAPS).unwrap();
    let packed = aldis_sandbox::pack(manifest.as_bytes(), &component, &[], None).unwrap();
    let file = folder.write("traps.app", packed);
    let (table, _, code) = tested(Path::new(&file), &[]);
    assert_eq!(code, Some(1), "{table}");
    assert!(table.contains("6 of 6 pings answered"), "{table}");
    assert!(table.contains("it failed ") && table.contains(" times, and may 0"), "{table}");
    // Where that is what is tried, it is no mistake.
    let scenario = "apps = [\"hub\"]\nfailures = 100\n[[step]]\npingall = true\n";
    let scenario = folder.write("traps.toml", scenario);
    let (table, _, code) = tested(Path::new(&file), &["--scenario", &scenario]);
    assert_eq!(code, Some(0), "{table}");
}
