//! What an application answers does not stay in its memory, in whichever language it is written.

use std::path::Path;
use std::process::Command;

use aldis_testkit::Folder;
use aldis_testkit::client::Api;
use aldis_testkit::running::Running;
use aldis_testkit::sdk::package;
use serde_json::Value;

use super::ask::{asked, told};
use super::installed::{app, repacked};

/// Has it answer requests of these many hosts, until it answered so many bytes. All answers that
/// may be under way to a switch, 8 of 16 KiB, have room in its outbox: no switch is dropped where
/// the load gets no processor for a while.
fn answers(controller: &Running, api: &Api, name: &str, hosts: &str, bytes: u64) {
    let wrote = |it: &Value| it["counted"]["bytes_out"].as_u64().unwrap_or_default();
    for _ in 0..50 {
        let mut bench = Command::new(env!("CARGO_BIN_EXE_aldis"));
        bench.args(["bench", &controller.address, "-s", "4", "-M", hosts, "--outstanding", "8"]);
        bench.args(["-w", "0", "-l", "2", "-m", "1000", "--json"]);
        let said = bench.output().expect("it starts");
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
        if wrote(&running(api, name)) > bytes {
            return;
        }
    }
    panic!("fewer than {bytes} bytes: {}", running(api, name));
}

/// The application, which never failed.
fn running(api: &Api, name: &str) -> Value {
    let apps = api.get("/api/v1/apps").json();
    let it = app(&apps, name);
    assert_eq!((&it["state"], &it["counted"]["failures"]), (&"running".into(), &0.into()), "{it}");
    it
}

#[test]
fn a_component_of_python_does_not_grow_by_what_it_answers() {
    let mut controller = Running::start(&["--http", "127.0.0.1:0", "--apps", "hub"]);
    let api = Api::of(&mut controller);
    let file = package("sdk/python/tests/answers.py");
    // It is said that it takes some seconds to compile.
    let (_, errors, code) = asked(&api, &["app", "install", file.to_str().unwrap()]);
    assert_eq!(code, Some(0), "{errors}");
    // It may have 80 MiB, and keeps and shows 768 KiB each time.
    for _ in 0..200 {
        let page = api.get("/apps/answers/page");
        assert_eq!(page.status, 200, "{page:?}");
        let text = String::from_utf8(page.body).unwrap();
        assert!(text.starts_with("the space is full: 1048576 bytes are granted\nanswer: "));
        assert_eq!(text.lines().last().map(str::len), Some(768 << 10));
    }
    answers(&controller, &api, "answers", "10", 300_000_000);
}

#[test]
fn a_component_of_rust_does_not_grow_by_what_it_answers() {
    let folder = Folder::new("memory");
    let mut controller = Running::start(&["--http", "127.0.0.1:0", "--apps", "hub"]);
    let api = Api::of(&mut controller);
    let small = folder.join("small.app");
    repacked(Path::new(&small), |manifest| manifest.replace("268435456", "4194304"));
    told(&api, &["app", "install", small.to_str().unwrap()]);
    answers(&controller, &api, "simple-switch", "100", 40_000_000);
}
