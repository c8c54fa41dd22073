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
    /// The body of `http`, where it is exported: five pairs of parameters, from `$method` and
    /// `$method_len` to `$body` and `$body_len`; the result is the length of the answer, which
    /// begins at byte 131072. The status is at byte 2048, and `text/plain` the type.
    pub(crate) http: Option<&'static str>,
}

/// Does nothing, and answers nothing.
pub(crate) const QUIET: Guest = Guest {
    component: "",
    module: "",
    start: "i32.const 0",
    batch: "i32.const 0",
    tick: "i32.const 0",
    stop: "",
    http: None,
};

/// Sends the packet of the first request to port 7, and keeps it from the applications that come
/// later.
pub(crate) const SENDS: Guest = Guest {
    module: r#"(data (i32.const 65536) "\02\00\01\00\00\00\00\00\00\00\00\00\07\00\00\00\00\00\00\00\00\00\00\00")"#,
    batch: "i32.const 24",
    ..QUIET
};

impl Guest {
    pub(crate) fn text(&self) -> String {
        let Guest { component, module, start, batch, tick, stop, http } = self;
        let (http_module, http_export) = http.map_or_else(Default::default, answering);
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
    {module}
    {http_module})
  (core instance $i (instantiate $m))
  (alias core export $i "memory" (core memory $memory))
  (alias core export $i "realloc" (core func $realloc))
  (func (export "start") (param "config" string) (result (result (error string)))
    (canon lift (core func $i "start") (memory $memory) (realloc (core func $realloc))))
  (func (export "batch") (param "events" (list u8)) (result (list u8))
    (canon lift (core func $i "batch") (memory $memory) (realloc (core func $realloc))))
  (func (export "tick") (param "now" u64) (result (list u8))
    (canon lift (core func $i "tick") (memory $memory) (realloc (core func $realloc))))
  (func (export "stop") (canon lift (core func $i "stop")))
  {http_export})"#
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

/// The declarations of a call `http` with this body, in the core module and in the component. Its
/// parameters lie one behind the other.
fn answering(body: &str) -> (String, &'static str) {
    let names = ["method", "path", "query", "type", "body"];
    let params: String = names.iter().map(|name| format!("${name} i32 ${name}_len i32 ")).collect();
    let params = params.split_inclusive(" i32 ").map(|one| format!("(param {})", one.trim()));
    let params: String = params.collect();
    let module = format!(
        r#"(global $top (mut i32) (i32.const 8192))
    (data (i32.const 2048) "\c8\00\00\00\b8\0b\00\00\0a\00\00\00\00\00\02\00")
    (data (i32.const 3000) "text/plain")
    (func (export "place") (param i32 i32 i32 i32) (result i32)
      (global.set $top (i32.add (global.get $top) (local.get 3)))
      (i32.sub (global.get $top) (local.get 3)))
    (func (export "http") {params} (result i32) (local $i i32)
      (global.set $top (i32.const 8192))
      (i32.store (i32.const 2064) (block (result i32) {body}))
      i32.const 2048)"#
    );
    let export = r#"(alias core export $i "place" (core func $place))
  (func (export "http") (param "method" string) (param "path" string) (param "query" string)
      (param "content-type" string) (param "body" (list u8))
      (result (tuple u16 string (list u8)))
    (canon lift (core func $i "http") (memory $memory) (realloc (core func $place))))"#;
    (module, export)
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
