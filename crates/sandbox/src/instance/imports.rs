//! What a component may import: the contract's own interfaces, and those of WASI 0.2 that the tools
//! of Rust and Python bind in any case, which lead nowhere ([`super::inert`]).

use wasmtime::component::types::ComponentItem;
use wasmtime::component::{Component, ComponentType, Lift, Linker, Lower};
use wasmtime::{Engine, Result, StoreContextMut};

use super::InstanceState;
use super::answer::append;
use super::inert;
use crate::limits::{LINE_LEN_MAX, SNAPSHOT_BYTES_MAX};
use crate::lines::Level;
use crate::package::PackageError;

const HOST: &str = "aldis:app/host@0.1.0";
const KV: &str = "aldis:app/kv@0.1.0";
const NETWORK: &str = "aldis:app/network@0.1.0";
const ANSWER: &str = "aldis:app/answer@0.1.0";

/// The functions that a component has to export.
const EXPORTS: [&str; 4] = ["start", "batch", "tick", "stop"];

#[derive(Clone, Copy, ComponentType, Lift, Lower)]
#[component(enum)]
#[repr(u8)]
#[allow(dead_code, reason = "components make the values")]
enum LogLevel {
    #[component(name = "info")]
    Info,
    #[component(name = "warning")]
    Warning,
}

/// The imports of a component, linked.
///
/// # Errors
/// The first import that is not offered, or the first export that is missing.
pub(crate) fn link(
    engine: &Engine,
    component: &Component,
) -> Result<Linker<InstanceState>, PackageError> {
    let mut linker = Linker::new(engine);
    let failed = |name: &str, error: wasmtime::Error| PackageError::new(name, format!("{error:#}"));
    let ty = component.component_type();
    for (name, item) in ty.imports(engine) {
        let not_offered = || PackageError::new(format!("import {name}"), "not offered");
        let ComponentItem::ComponentInstance(instance) = item.ty else { return Err(not_offered()) };
        let linked = match name {
            HOST => host(&mut linker),
            KV => kv(&mut linker),
            NETWORK => network(&mut linker),
            ANSWER => linker.instance(ANSWER).and_then(|mut it| it.func_wrap("append", append)),
            _ if inert::offers(name) => inert::link(engine, &mut linker, name, &instance),
            _ => return Err(not_offered()),
        };
        linked.map_err(|error| failed(&format!("import {name}"), error))?;
    }
    for name in EXPORTS {
        let export = ty.get_export(engine, name);
        if !export.is_some_and(|export| matches!(export.ty, ComponentItem::ComponentFunc(_))) {
            return Err(PackageError::new(format!("export {name}"), "missing"));
        }
    }
    Ok(linker)
}

fn host(linker: &mut Linker<InstanceState>) -> Result<()> {
    let mut host = linker.instance(HOST)?;
    host.func_wrap("log", |mut store: Ctx<'_>, (level, text): (LogLevel, String)| {
        let level = match level {
            LogLevel::Info => Level::Info,
            LogLevel::Warning => Level::Warning,
        };
        store.data_mut().lines.push(level, &text);
        Ok(())
    })?;
    host.func_wrap("now", |store: Ctx<'_>, (): ()| Ok(((store.data().clock)().0,)))
}

type Ctx<'s> = StoreContextMut<'s, InstanceState>;

fn kv(linker: &mut Linker<InstanceState>) -> Result<()> {
    let mut kv = linker.instance(KV)?;
    kv.func_wrap("get", |store: Ctx<'_>, (key,): (String,)| Ok((store.data().kv.value(&key),)))?;
    kv.func_wrap("set", |store: Ctx<'_>, (key, value): (String, Vec<u8>)| {
        Ok((store.data().kv.set(&key, value),))
    })?;
    kv.func_wrap("remove", |store: Ctx<'_>, (key,): (String,)| {
        store.data().kv.remove(&key);
        Ok(())
    })
}

fn network(linker: &mut Linker<InstanceState>) -> Result<()> {
    let mut network = linker.instance(NETWORK)?;
    network.func_wrap("snapshot", |store: Ctx<'_>, (name,): (String,)| {
        Ok((store.data().snapshot(&name),))
    })
}

impl InstanceState {
    fn snapshot(&self, name: &str) -> std::result::Result<Vec<u8>, String> {
        if !self.snapshots.has(name) {
            let name: String = name.chars().take(64).collect();
            return Err(format!("{name:?} is not granted: grants.snapshots of the manifest"));
        }
        let document = self.network.snapshot(name)?;
        match document.len() {
            0..=SNAPSHOT_BYTES_MAX => Ok(document),
            len => Err(format!("{name}: {len} bytes, and {SNAPSHOT_BYTES_MAX} are the most")),
        }
    }

    /// What a component writes to its standard output or error: lines of the log.
    pub(super) fn print(&mut self, level: Level, bytes: &[u8]) {
        self.lines.print(level, bytes, LINE_LEN_MAX);
    }
}
