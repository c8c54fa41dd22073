//! The learning switch that is written with the Rust SDK, compiled as its author would.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use aldis_control::app::Event;
use aldis_sandbox::{AppSettings, Application, Compiled, Package, Runtime, Trust, pack};
use aldis_wire::msg::{Field, Message, PortNo};

use crate::network::{Network, frame, ports};

const TARGET: &str = "wasm32-wasip2";

/// Builds an example of the SDK.
fn build(example: &str) -> PathBuf {
    let sdk = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sdk/rust");
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/sdk");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--release", "--locked", "--target", TARGET, "-p", example]);
    cargo.env_remove("RUSTFLAGS").env("CARGO_TARGET_DIR", &target).current_dir(sdk);
    let built = cargo.output().expect("cargo");
    let said = String::from_utf8_lossy(&built.stderr);
    assert!(
        built.status.success(),
        "the example does not build; where the target is missing: rustup target add {TARGET}\n{said}"
    );
    target.join(TARGET).join("release").join(example.replace('-', "_") + ".wasm")
}

fn installed(runtime: &Runtime, example: &str) -> Application {
    let read = |path: &Path| std::fs::read(path).expect("a file of the example");
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sdk/rust/examples").join(example);
    let packed = pack(&read(&folder.join("manifest.toml")), &read(&build(example)), &[], None);
    let package = Package::read(&packed.expect("a package"), &Trust::Anyone).expect("as packed");
    let compiled = Compiled::load(runtime, Arc::new(package), None).expect("it compiles");
    let app = Application::install(runtime, compiled, AppSettings::default()).expect("granted");
    app.start().expect("it starts");
    app
}

#[test]
fn the_learning_switch_learns_floods_and_installs() {
    let runtime = Runtime::from_now().unwrap();
    let app = installed(&runtime, "learning-switch");
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
