//! The learning switch that is written with the Rust SDK, compiled as its author would.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use aldis_control::app::Event;
use aldis_sandbox::limits::SNAPSHOT_BYTES_MAX;
use aldis_sandbox::{
    AppSettings, AppState, Application, Compiled, HttpRequest, NetworkSnapshots, Package, Runtime,
    Trust, pack,
};
use aldis_wire::msg::{Field, Message, PortNo};

use crate::network::{Network, frame, ports, wait};

const TARGET: &str = "wasm32-wasip2";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// Builds a package in a folder, as its author would.
fn build(folder: &Path, package: &str, options: &[&str]) -> PathBuf {
    let target = root().join("target/sdk");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--release", "--target", TARGET, "-p", package]).args(options);
    cargo.env_remove("RUSTFLAGS").env("CARGO_TARGET_DIR", &target).current_dir(folder);
    let built = cargo.output().expect("cargo");
    let said = String::from_utf8_lossy(&built.stderr);
    assert!(
        built.status.success(),
        "{package} does not build; where the target is missing: rustup target add {TARGET}\n{said}"
    );
    target.join(TARGET).join("release").join(package.replace('-', "_") + ".wasm")
}

fn started(runtime: &Runtime, manifest: &str, component: &Path) -> Application {
    let component = std::fs::read(component).expect("what was built");
    let packed = pack(manifest.as_bytes(), &component, &[], None);
    let package = Package::read(&packed.expect("a package"), &Trust::Anyone).expect("as packed");
    let compiled = Compiled::load(runtime, Arc::new(package), None).expect("it compiles");
    let app = Application::install(runtime, compiled, AppSettings::default()).expect("granted");
    app.start().expect("it starts");
    app
}

fn text(path: PathBuf) -> String {
    std::fs::read_to_string(path).expect("a file of the SDK")
}

/// The SDK is no member of this workspace: its tests are run here.
#[test]
fn the_sdk_of_rust_passes_its_own_tests() {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["test", "--lib", "--locked", "-p", "aldis-app"]);
    cargo.env_remove("RUSTFLAGS").env("CARGO_TARGET_DIR", root().join("target/sdk"));
    let ran = cargo.current_dir(root().join("sdk/rust")).output().expect("cargo");
    let said = String::from_utf8_lossy(&ran.stdout);
    let errors = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success() && said.contains("test result: ok"), "{said}{errors}");
}

#[test]
fn the_template_is_an_application() {
    let (sdk, folder) = (root().join("sdk/rust"), root().join("target/sdk/template"));
    std::fs::create_dir_all(folder.join("src")).unwrap();
    let filled = |name: &str| {
        let text = text(sdk.join("template").join(name));
        text.replace("NAME", "new-app").replace("SDK", &sdk.display().to_string())
    };
    std::fs::write(folder.join("Cargo.toml"), filled("Cargo.toml.template")).unwrap();
    std::fs::write(folder.join("src/lib.rs"), filled("src/lib.rs")).unwrap();
    std::fs::copy(sdk.join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    let component = build(&folder, "new-app", &["--offline"]);
    let runtime = Runtime::from_now().unwrap();
    let app = started(&runtime, &filled("manifest.toml"), &component);
    let mut network = Network::new(&app, 2);
    let answers = network.batch(&[(0, 1, &frame(2, 1)), (1, 1, &frame(2, 1))]);
    assert_eq!((answers.sent.len(), answers.stopped), (2, vec![true, true]));
    for (_, _, message) in &answers.sent {
        let Message::PacketOut(packet) = message else { panic!("{message:?}") };
        assert_eq!(ports(&packet.actions), [PortNo::FLOOD.0]);
    }
}

#[test]
fn the_learning_switch_learns_floods_and_installs() {
    let runtime = Runtime::from_now().unwrap();
    let sdk = root().join("sdk/rust");
    let component = build(&sdk, "learning-switch", &["--locked"]);
    let manifest = text(sdk.join("examples/learning-switch/manifest.toml"));
    let app = started(&runtime, &manifest, &component);
    let mut network = Network::new(&app, 2);
    for switch in [0, 1] {
        // Host 1 is behind port 1, and host 2 is not known.
        let answers = network.batch(&[(switch, 1, &frame(2, 1))]);
        let [(_, _, Message::PacketOut(packet))] = &answers.sent[..] else { panic!("{answers:?}") };
        assert_eq!(ports(&packet.actions), [PortNo::FLOOD.0]);
        assert_eq!(answers.stopped, [true]);
        // Host 2 answers: a flow to host 1, and the packet along it.
        let answers = network.batch(&[(switch, 2, &frame(1, 2)), (switch, 1, &frame(2, 1))]);
        let flows = answers.sent.iter().filter_map(|(_, _, message)| match message {
            Message::FlowMod(flow) => {
                Some((flow, flow.match_.fields.contains(&Field::InPort(PortNo(2)))))
            }
            _ => None,
        });
        let flows: Vec<_> =
            flows.map(|(flow, towards_one)| (flow.idle_timeout, towards_one)).collect();
        assert_eq!(flows, [(10, true), (10, false)], "{answers:?}");
        assert_eq!((answers.sent.len(), answers.stopped), (4, vec![true, true]));
    }
    // What is known of a switch that is gone is forgotten.
    network.event(1, &Event::Down);
    assert_eq!(app.status().own.get("hosts"), Some(&2));
    let status = app.status();
    assert_eq!((status.refused, status.faults.len()), (0, 0), "{status:?}");
}

#[test]
fn an_application_has_a_log_a_clock_and_a_space_that_survives_it() {
    let runtime = Runtime::from_now().unwrap();
    let sdk = root().join("sdk/rust");
    let component = build(&sdk, "packet-count", &["--locked"]);
    let manifest = text(sdk.join("examples/packet-count/manifest.toml"));
    let app = started(&runtime, &manifest, &component);
    let mut network = Network::new(&app, 1);
    let three = [(0, 1, &frame(2, 1)[..]), (0, 1, &frame(2, 3)), (0, 1, &frame(3, 1))];
    network.batch(&three);
    let own = |name| app.status().own.get(name).copied();
    assert_eq!((own("packets"), own("senders")), (Some(3), Some(2)));
    // A frame without a sender is a panic: the reason is what the component said of it.
    let warnings = network.batch(&[(0, 1, &[1, 2, 3])]).warnings;
    let last = warnings.last().unwrap();
    assert!(last.ends_with("its last line was: a frame has a sender"), "{warnings:?}");
    wait("it runs again", || app.status().state == AppState::Running);
    network.batch(&three[..1]);
    assert_eq!((own("packets"), own("senders")), (Some(4), Some(1)));
    app.stop().unwrap();
    let lines: Vec<String> = app.lines().into_iter().map(|line| line.text).collect();
    let begins = |packets: u64| format!("begins at {packets} packets, ");
    assert!(lines[0].starts_with(&begins(0)) && lines[0].ends_with("ns after the controller"));
    assert!(lines.iter().any(|line| line.starts_with(&begins(3))), "{lines:?}");
    assert_eq!(lines.last().map(String::as_str), Some("ends at 4 packets"));
}

/// A network of one switch.
struct SmallNetwork;

impl NetworkSnapshots for SmallNetwork {
    fn snapshot(&self, name: &str) -> Result<Vec<u8>, String> {
        assert_eq!(name, "switches", "another one is not granted");
        Ok(br#"{"items":[{"dpid":"1"}],"total":1}"#.to_vec())
    }
}

/// One whose lists are a byte too long.
struct LongNetwork;

impl NetworkSnapshots for LongNetwork {
    fn snapshot(&self, _: &str) -> Result<Vec<u8>, String> {
        Ok(vec![b' '; SNAPSHOT_BYTES_MAX + 1])
    }
}

#[test]
fn an_application_answers_requests_and_reads_the_network_as_it_is_granted() {
    let runtime = Runtime::from_now().unwrap();
    let sdk = root().join("sdk/rust");
    let component = std::fs::read(build(&sdk, "packet-count", &["--locked"])).unwrap();
    let manifest = text(sdk.join("examples/packet-count/manifest.toml"));
    let installed = |manifest: &str, network: Option<Arc<dyn NetworkSnapshots>>| {
        let packed = pack(manifest.as_bytes(), &component, &[], None).unwrap();
        let package = Arc::new(Package::read(&packed, &Trust::Anyone).unwrap());
        let compiled = Compiled::load(&runtime, package, None).unwrap();
        let settings = AppSettings { network, ..AppSettings::default() };
        let app = Application::install(&runtime, compiled, settings).unwrap();
        app.start().unwrap();
        app
    };
    let app = installed(&manifest, Some(Arc::new(SmallNetwork)));
    let ask = |app: &Application, method: &str, path: &str| {
        let (method, path) = (method.to_owned(), path.to_owned());
        let answer = app.http(HttpRequest { method, path, ..HttpRequest::default() }).unwrap();
        (answer.status, String::from_utf8(answer.body).unwrap())
    };
    Network::new(&app, 1).batch(&[(0, 1, &frame(2, 1)), (0, 1, &frame(2, 3))]);
    let counts = |packets, senders| format!("{{\"packets\":{packets},\"senders\":{senders}}}");
    assert_eq!(ask(&app, "GET", "/counts"), (200, counts(2, 2)));
    assert_eq!(ask(&app, "POST", "/forget"), (200, "forgotten\n".to_owned()));
    assert_eq!(ask(&app, "GET", "/counts"), (200, counts(0, 0)));
    assert_eq!(ask(&app, "GET", "/other").0, 404);
    assert_eq!(ask(&app, "GET", "/switches").1, r#"{"items":[{"dpid":"1"}],"total":1}"#);
    // What is not granted, not there, or too long is an error with its reason.
    for (manifest, network, words) in [
        (manifest.replace("\"switches\"", ""), Some(Arc::new(SmallNetwork) as _), "not granted"),
        (manifest.clone(), None, "publishes no switches"),
        (manifest.clone(), Some(Arc::new(LongNetwork) as _), "1048576 are the most"),
    ] {
        let (status, said) = ask(&installed(&manifest, network), "GET", "/switches");
        assert!(status == 503 && said.contains(words), "{said}");
    }
}

#[test]
fn settings_that_an_application_does_not_take_are_refused_with_its_words() {
    let runtime = Runtime::from_now().unwrap();
    let sdk = root().join("sdk/rust");
    let component = std::fs::read(build(&sdk, "packet-count", &["--locked"])).unwrap();
    let manifest = text(sdk.join("examples/packet-count/manifest.toml"));
    let packed = pack(manifest.as_bytes(), &component, &[], None).unwrap();
    let package = Arc::new(Package::read(&packed, &Trust::Anyone).unwrap());
    let compiled = Compiled::load(&runtime, package, None).unwrap();
    let settings = AppSettings { config: "wings = 2".to_owned(), ..AppSettings::default() };
    let app = Application::install(&runtime, compiled, settings).unwrap();
    let fault = app.start().unwrap_err();
    assert!(fault.reason.contains("it has no settings") && fault.reason.contains("wings = 2"));
}
