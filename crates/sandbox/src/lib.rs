//! Hosts applications that are WebAssembly components: each in a sandbox of wasmtime, with limits
//! and capabilities from its manifest.
//!
//! A [`Package`] is read, [`Compiled`] and installed as an [`Application`]; each worker's pipeline
//! gets its [`Sandboxed`] part of it, which is an [`aldis_control::App`] like any other. Events go
//! in and commands come out as flat records ([`aldis_records`]). An application that traps, loops,
//! asks for more than it may or returns garbage costs the batch nothing but its own answers; it is
//! started again after a back-off, and quarantined after some failures. Nothing here compiles or
//! instantiates on a worker.

mod application;
mod apply;
mod compiled;
mod fault;
mod grants;
mod http;
mod instance;
mod kv;
pub mod limits;
mod lines;
mod manifest;
mod network;
mod package;
mod runtime;
mod sandboxed;
mod shadow;
mod slot;
mod supervisor;

pub use application::{AppSettings, AppState, AppStatus, Application};
pub use compiled::{CodeSource, Compiled};
pub use fault::{Fault, FaultKind};
pub use grants::{GrantedMessages, GrantedSwitches, Grants};
pub use http::{ContentType, HttpError, HttpRequest, HttpResponse};
pub use kv::{KeyValue, MemorySpace};
pub use lines::{Level, Line};
pub use manifest::{AppLimits, CONTRACT, FlowsOnStop, Instances, Manifest, ManifestError};
pub use network::{GrantedSnapshots, NetworkSnapshots};
pub use package::{Digest, Package, PackageError, Page, Trust, pack};
pub use runtime::Runtime;
pub use sandboxed::Sandboxed;
pub use shadow::ShadowStatus;
