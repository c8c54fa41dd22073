//! Applications that come and go leave nothing behind. A process of its own: what it has open is
//! counted.

use std::sync::Arc;

use aldis_control::AppSet;
use aldis_sandbox::{AppSettings, Application, Compiled, Package, Runtime, Trust, pack};

/// Rounds before the count begins, so that what is made once is there, and rounds that are counted.
const ROUNDS: (usize, usize) = (50, 1000);

const COMPONENT: &str = r#"(component
  (core module $m
    (memory (export "memory") 16)
    (func (export "realloc") (param i32 i32 i32 i32) (result i32) i32.const 4096)
    (func (export "start") (param i32 i32) (result i32) i32.const 16)
    (func (export "batch") (param i32 i32) (result i32) i32.const 16)
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

/// Descriptors, threads, and kilobytes in memory.
fn in_use() -> [usize; 3] {
    let count = |path: &str| std::fs::read_dir(path).expect("of this process").count();
    let status = std::fs::read_to_string("/proc/self/status").expect("of this process");
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = resident.and_then(|line| line.split_whitespace().next()?.parse().ok());
    [count("/proc/self/fd"), count("/proc/self/task"), kilobytes.expect("a number")]
}

#[test]
fn a_thousand_applications_that_came_and_went_leave_nothing_behind() {
    let runtime = Runtime::from_now().unwrap();
    let component = wat::parse_str(COMPONENT).unwrap();
    let packed = |instances: &str| {
        let manifest = "contract = \"0.1\"\nname = \"guest\"\nversion = \"1\"\n";
        let manifest = format!("{manifest}instances = \"{instances}\"\n");
        let packed = pack(manifest.as_bytes(), &component, &[], None).unwrap();
        Arc::new(Package::read(&packed, &Trust::Anyone).unwrap())
    };
    let packages = [packed("one"), packed("per-worker")];
    let round = |round: usize| {
        let package = Arc::clone(&packages[round % 2]);
        let compiled = Compiled::load(&runtime, package, None).unwrap();
        let app = Application::install(&runtime, compiled, AppSettings::default()).unwrap();
        app.start().unwrap();
        let second = app.clone();
        let set = AppSet::default().with(move || second.sandboxed());
        let pipelines = set.build().unwrap();
        drop([pipelines.pipeline(0), pipelines.pipeline(1)]);
        app.stop().unwrap();
    };
    (0..ROUNDS.0).for_each(round);
    let [descriptors, threads, kilobytes] = in_use();
    (0..ROUNDS.1).for_each(round);
    let [descriptors_now, threads_now, kilobytes_now] = in_use();
    assert_eq!((descriptors_now, threads_now), (descriptors, threads));
    // A page of each application, and no more, would be 4 MB.
    assert!(kilobytes_now < kilobytes + 4000, "{kilobytes} KB, then {kilobytes_now}");
}
