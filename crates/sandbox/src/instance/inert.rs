//! WASI 0.2, without a way out: what the tools of Rust and Python bind in any case is there, and
//! leads nowhere.
//!
//! There are clocks and random numbers; standard output and error are the log; the environment, the
//! arguments and the folders are empty; everything else traps when it is called. Functions are
//! defined as the component declares them, so that every patch version of WASI fits. Nothing here
//! is on the path of a request.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ring::rand::SecureRandom as _;
use wasmtime::component::types::{ComponentInstance, ComponentItem};
use wasmtime::component::{Linker, ResourceDynamic, ResourceType, Val};
use wasmtime::{Engine, Error, Result, StoreContextMut, bail};

use super::InstanceState;
use crate::lines::Level;

/// The packages whose interfaces may be imported.
const PACKAGES: [&str; 6] =
    ["wasi:cli/", "wasi:io/", "wasi:clocks/", "wasi:random/", "wasi:filesystem/", "wasi:sockets/"];

/// The version whose functions are known here.
const VERSION: &str = "@0.2.";

/// Resource types by name, whichever interface declares or uses them.
const RESOURCES: [&str; 14] = [
    "input-stream",
    "output-stream",
    "error",
    "pollable",
    "terminal-input",
    "terminal-output",
    "descriptor",
    "directory-entry-stream",
    "network",
    "tcp-socket",
    "udp-socket",
    "incoming-datagram-stream",
    "outgoing-datagram-stream",
    "resolve-address-stream",
];

const INPUT_STREAM: u32 = 0;
const OUTPUT_STREAM: u32 = 1;
const POLLABLE: u32 = 3;

/// The representations of the two output streams.
const STDOUT: u32 = 1;
const STDERR: u32 = 2;

/// Bytes that an output stream takes at a time, and random bytes of one call.
const CHUNK: u64 = 64 << 10;

/// Pollables of one call.
const POLLABLES_MAX: usize = 1024;

/// Whether an interface may be imported.
pub(super) fn offers(interface: &str) -> bool {
    PACKAGES.iter().any(|package| interface.starts_with(package)) && interface.contains(VERSION)
}

/// Defines an interface as `instance` declares it.
pub(super) fn link(
    engine: &Engine,
    linker: &mut Linker<InstanceState>,
    name: &str,
    instance: &ComponentInstance,
) -> Result<()> {
    let mut interface = linker.instance(name)?;
    let base = name.split('@').next().unwrap_or_default().to_owned();
    for (item_name, item) in instance.exports(engine) {
        match item.ty {
            ComponentItem::ComponentFunc(_) => {
                let called = format!("{base}#{item_name}");
                interface.func_new(item_name, move |mut store, _, params, results| {
                    let value = call(&mut store, &called, params)?;
                    if !writes(&called) {
                        release(&mut store, params)?;
                    }
                    match (results, value) {
                        ([result], Some(value)) => *result = value,
                        ([], None) => {}
                        _ => bail!("{called} has other results in this version of WASI"),
                    }
                    Ok(())
                })?;
            }
            ComponentItem::Resource(_) => {
                let Some(kind) = RESOURCES.iter().position(|known| *known == item_name) else {
                    bail!("the resource {item_name} is not offered");
                };
                let ty = ResourceType::host_dynamic(kind as u32);
                interface.resource(item_name, ty, |_, _| Ok(()))?;
            }
            // Records and variants are only names.
            _ => {}
        }
    }
    Ok(())
}

type Ctx<'s> = StoreContextMut<'s, InstanceState>;

/// What a function of WASI answers; nothing where it has no result.
fn call(store: &mut Ctx<'_>, called: &str, params: &[Val]) -> Result<Option<Val>> {
    let (interface, function) = called.split_once('#').unwrap_or((called, ""));
    match interface {
        "wasi:cli/environment" | "wasi:filesystem/preopens" => nothing_around(function, called),
        "wasi:cli/stdin" => own(store, 0, INPUT_STREAM).map(Some),
        "wasi:cli/stdout" => own(store, STDOUT, OUTPUT_STREAM).map(Some),
        "wasi:cli/stderr" => own(store, STDERR, OUTPUT_STREAM).map(Some),
        "wasi:cli/terminal-stdin" | "wasi:cli/terminal-stdout" | "wasi:cli/terminal-stderr" => {
            Ok(Some(Val::Option(None)))
        }
        "wasi:io/streams" => stream(store, function, called, params),
        "wasi:io/poll" => poll(function, called, params),
        "wasi:clocks/monotonic-clock" => monotonic(store, function),
        "wasi:clocks/wall-clock" => Ok(Some(wall(function)?)),
        "wasi:random/random" | "wasi:random/insecure" | "wasi:random/insecure-seed" => {
            random(store, function, params).map(Some)
        }
        "wasi:cli/exit" => bail!("it called exit"),
        _ => Err(not_offered(called)),
    }
}

/// Whether a function of WASI writes to a stream: it releases the stream itself.
fn writes(called: &str) -> bool {
    called.ends_with("output-stream.write") || called.ends_with(".blocking-write-and-flush")
}

/// Gives back the resources that a function was lent or given.
fn release(store: &mut Ctx<'_>, values: &[Val]) -> Result<()> {
    for value in values {
        match value {
            Val::Resource(resource) => resource.resource_drop(&mut *store)?,
            Val::List(values) => release(store, values)?,
            _ => {}
        }
    }
    Ok(())
}

fn not_offered(called: &str) -> Error {
    Error::msg(format!("it called {called}, which is not offered"))
}

fn nothing_around(function: &str, called: &str) -> Result<Option<Val>> {
    match function {
        "get-environment" | "get-arguments" | "get-directories" => Ok(Some(Val::List(Vec::new()))),
        "initial-cwd" => Ok(Some(Val::Option(None))),
        _ => Err(not_offered(called)),
    }
}

fn own(store: &mut Ctx<'_>, representation: u32, kind: u32) -> Result<Val> {
    let resource = ResourceDynamic::new_own(representation, kind);
    Ok(Val::Resource(resource.try_into_resource_any(store)?))
}

/// Output is the log, input is at its end.
fn stream(
    store: &mut Ctx<'_>,
    function: &str,
    called: &str,
    params: &[Val],
) -> Result<Option<Val>> {
    let done = Val::Result(Ok(None));
    Ok(Some(match function {
        "[method]output-stream.check-write" => Val::Result(Ok(Some(Box::new(Val::U64(CHUNK))))),
        _ if writes(called) => {
            let [Val::Resource(stream), Val::List(bytes)] = params else { bail!("odd parameters") };
            let stream = stream.try_into_resource_dynamic(&mut *store)?.rep();
            let level = if stream == STDOUT { Level::Info } else { Level::Warning };
            let byte = |value: &Val| if let Val::U8(byte) = value { *byte } else { b'?' };
            let bytes: Vec<u8> = bytes.iter().take(CHUNK as usize).map(byte).collect();
            store.data_mut().print(level, &bytes);
            done
        }
        "[method]output-stream.flush" | "[method]output-stream.blocking-flush" => done,
        "[method]input-stream.read" | "[method]input-stream.blocking-read" => {
            Val::Result(Err(Some(Box::new(Val::Variant("closed".to_owned(), None)))))
        }
        "[method]output-stream.subscribe" | "[method]input-stream.subscribe" => {
            own(store, 0, POLLABLE)?
        }
        _ => return Err(not_offered(called)),
    }))
}

/// Everything is ready at once: nothing sleeps on a worker.
fn poll(function: &str, called: &str, params: &[Val]) -> Result<Option<Val>> {
    match (function, params) {
        ("poll", [Val::List(pollables)]) if pollables.len() <= POLLABLES_MAX => {
            let all = (0..pollables.len() as u32).map(Val::U32);
            Ok(Some(Val::List(all.collect())))
        }
        ("[method]pollable.ready", _) => Ok(Some(Val::Bool(true))),
        ("[method]pollable.block", _) => Ok(None),
        _ => Err(not_offered(called)),
    }
}

fn monotonic(store: &mut Ctx<'_>, function: &str) -> Result<Option<Val>> {
    Ok(Some(match function {
        "now" => Val::U64((store.data().clock)().0),
        "resolution" => Val::U64(1000),
        _ => own(store, 0, POLLABLE)?,
    }))
}

fn wall(function: &str) -> Result<Val> {
    let time = match function {
        "now" => SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default(),
        "resolution" => Duration::from_micros(1),
        _ => bail!("the wall clock has no {function}"),
    };
    Ok(Val::Record(vec![
        ("seconds".to_owned(), Val::U64(time.as_secs())),
        ("nanoseconds".to_owned(), Val::U32(time.subsec_nanos())),
    ]))
}

fn random(store: &mut Ctx<'_>, function: &str, params: &[Val]) -> Result<Val> {
    let number = || -> Result<u64> {
        let mut bytes = [0; 8];
        let filled = store.data().random.fill(&mut bytes);
        filled.map_err(|_| Error::msg("there are no random numbers"))?;
        Ok(u64::from_le_bytes(bytes))
    };
    match (function, params) {
        ("get-random-u64" | "get-insecure-random-u64", _) => Ok(Val::U64(number()?)),
        ("insecure-seed" | "get-insecure-seed", _) => {
            Ok(Val::Tuple(vec![Val::U64(number()?), Val::U64(number()?)]))
        }
        ("get-random-bytes" | "get-insecure-random-bytes", [Val::U64(len)]) if *len <= CHUNK => {
            let bytes: Result<Vec<Val>> = (0..*len).map(|_| Ok(Val::U8(number()? as u8))).collect();
            Ok(Val::List(bytes?))
        }
        _ => bail!("more than {CHUNK} random bytes at once"),
    }
}
