//! Small components, written by hand: each does one thing, most of them a bad one.

use std::sync::Arc;

use aldis_sandbox::{
    AppSettings, Application, Compiled, Package, PackageError, Runtime, Trust, pack,
};

/// A component whose calls have these bodies. Parameters of the calls lie from byte 4096 on; a
/// result is written from byte 16 on, and its bytes from 65536 on.
#[derive(Clone, Copy)]
pub(crate) struct Guest {
    /// Declarations of the component, such as imports.
    pub(crate) component: &'static str,
    /// Declarations of its core module.
    pub(crate) module: &'static str,
    /// The body of `start`: the result is 0 for yes.
    pub(crate) start: &'static str,
    /// The body of `batch`: `$at` and `$len` are its events; the result is the length of the
    /// commands.
    pub(crate) batch: &'static str,
    /// The body of `tick`, likewise.
    pub(crate) tick: &'static str,
    /// The body of `stop`.
    pub(crate) stop: &'static str,
}

/// Does nothing, and answers nothing.
pub(crate) const QUIET: Guest = Guest {
    component: "",
    module: "",
    start: "i32.const 0",
    batch: "i32.const 0",
    tick: "i32.const 0",
    stop: "",
};

/// Sends the packet of the first request to port 7, and keeps it from the applications that come
/// later.
pub(crate) const SENDS: Guest = Guest {
    module: r#"(data (i32.const 65536) "\02\00\01\00\00\00\00\00\00\00\00\00\07\00\00\00\00\00\00\00\00\00\00\00")"#,
    batch: "i32.const 24",
    ..QUIET
};

impl Guest {
    fn text(&self) -> String {
        let Guest { component, module, start, batch, tick, stop } = self;
        format!(
            r#"(component {component}
  (core module $m
    (memory (export "memory") 40)
    (func (export "realloc") (param i32 i32 i32 i32) (result i32) i32.const 4096)
    (func $answer (param $len i32) (result i32)
      (i32.store (i32.const 16) (i32.const 65536))
      (i32.store (i32.const 20) (local.get $len))
      i32.const 16)
    (func $start (result i32) {start})
    (func (export "start") (param i32 i32) (result i32)
      (i32.store (i32.const 16) (call $start)) (i32.store (i32.const 20) (i32.const 65536))
      (i32.store (i32.const 24) (i32.const 4)) i32.const 16)
    (func $batch (param $at i32) (param $len i32) (result i32) (local $i i32) {batch})
    (func (export "batch") (param i32 i32) (result i32)
      (call $answer (call $batch (local.get 0) (local.get 1))))
    (func $tick (param i64) (result i32) {tick})
    (func (export "tick") (param i64) (result i32) (call $answer (call $tick (local.get 0))))
    (func (export "stop") {stop})
    {module})
  (core instance $i (instantiate $m))
  (alias core export $i "memory" (core memory $memory))
  (alias core export $i "realloc" (core func $realloc))
  (func (export "start") (param "config" string) (result (result (error string)))
    (canon lift (core func $i "start") (memory $memory) (realloc (core func $realloc))))
  (func (export "batch") (param "events" (list u8)) (result (list u8))
    (canon lift (core func $i "batch") (memory $memory) (realloc (core func $realloc))))
  (func (export "tick") (param "now" u64) (result (list u8))
    (canon lift (core func $i "tick") (memory $memory) (realloc (core func $realloc))))
  (func (export "stop") (canon lift (core func $i "stop"))))"#
        )
    }

    /// Its package, with these lines of the manifest besides the least.
    pub(crate) fn package(&self, manifest: &str) -> Package {
        let component = wat::parse_str(self.text()).expect("a component");
        packaged(&component, manifest)
    }

    /// Compiles it.
    pub(crate) fn compiled(
        &self,
        runtime: &Runtime,
        manifest: &str,
    ) -> Result<Compiled, PackageError> {
        Compiled::load(runtime, Arc::new(self.package(manifest)), None)
    }

    /// Installs it.
    pub(crate) fn installed(&self, runtime: &Runtime, manifest: &str) -> Application {
        let compiled = self.compiled(runtime, manifest).expect("it compiles");
        Application::install(runtime, compiled, AppSettings::default()).expect("it is granted")
    }

    /// Installs it with the grants that its commands need, and starts it.
    pub(crate) fn started(&self, runtime: &Runtime, manifest: &str) -> Application {
        let app = self.installed(runtime, manifest);
        app.start().expect("it starts");
        app
    }
}

/// The package of a component, with these lines of the manifest besides the least. It is handed
/// requests alone where they do not say otherwise.
pub(crate) fn packaged(component: &[u8], manifest: &str) -> Package {
    let events = if manifest.starts_with("events") { "" } else { "events = [\"flow-request\"]\n" };
    let least = format!("contract = \"0.1\"\nname = \"guest\"\nversion = \"1\"\n{events}");
    let packed = pack(format!("{least}{manifest}").as_bytes(), component, &[], None);
    Package::read(&packed.expect("a package"), &Trust::Anyone).expect("as it was packed")
}

/// Lines of a manifest: everything is granted.
pub(crate) const ALL: &str = "[grants]\nmessages = [\"packet-out\", \"flow-mod\"]\nkv-bytes = 64\n";
