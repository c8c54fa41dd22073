//! The learning switch that is written with the Rust SDK, compiled as its author would.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use aldis_control::app::Event;
use aldis_sandbox::{AppSettings, Application, Compiled, Package, Runtime, Trust, pack};
use aldis_wire::msg::{Field, Message, PortNo};

use crate::network::{Network, frame, ports};

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
