//! `aldis._native`: what the SDK for Python does for every request, as machine code.
//!
//! The module is linked into each component by `componentize-py`, which takes extensions of CPython
//! 3.14 for WebAssembly. It stands on nothing but Python's C API, of which [`python`] declares what
//! is used, and everything that it does Python does as well outside of a component:
//!
//! - [`record`] and [`mapping`] make classes whose objects are made by one call;
//! - [`batch`] hands the events of a batch to the handlers;
//! - [`ethernet`] reads headers, and keeps the texts of addresses;
//! - [`methods`] are those of the SDK's classes that are called for every request;
//! - [`answer`] and [`commands`] write what the application answers;
//! - [`contract`] hands bytes over to the controller.
//!
//! `cargo xtask native` compiles it to the file beside the modules of Python, which is committed:
//! users of the SDK have no compiler for it.
//!
//! # Safety
//! All of it is `unsafe`, as it works on Python's objects by their addresses, and three things make
//! that sound. Python runs one thread here and calls the functions with live objects, so that what
//! is static has one user at a time, and no reference to it is kept over a call of Python. A
//! reference that is kept is counted ([`python::shared`]) and given back ([`python::release`]). And
//! bytes are read within the bounds that Python, or the length of the batch, says. A mistake harms
//! the component alone: its memory is its sandbox.

#![no_std]
#![allow(unsafe_op_in_unsafe_fn)]

mod answer;
mod batch;
mod commands;
mod contract;
mod ethernet;
mod mapping;
mod methods;
mod python;
mod record;
mod setup;

use python::*;

static mut METHODS: [MethodDef; 11] = [
    MethodDef::new(c"record_type", record::record_type, METH_VARARGS),
    MethodDef::new(c"dict_type", mapping::dict_type, METH_O),
    MethodDef::new(c"bind", setup::bind, METH_VARARGS),
    MethodDef::new(c"read_ethernet", ethernet::read_ethernet, METH_O),
    MethodDef::new(c"run", batch::run, METH_VARARGS),
    MethodDef::new(c"emit", commands::emit, METH_O),
    MethodDef::new(c"taken", commands::taken, METH_NOARGS),
    MethodDef::new(c"clear", commands::clear, METH_NOARGS),
    MethodDef::new(c"append", contract::append, METH_O),
    MethodDef::new(c"store", contract::store, METH_VARARGS),
    MethodDef::END,
];

static mut MODULE: ModuleDef = ModuleDef::new(c"aldis._native", (&raw mut METHODS).cast());

/// The version of the C API, as a module names it.
const API: i32 = 1013;

/// What `import aldis._native` calls.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PyInit__native() -> Ptr {
    PyModule_Create2(&raw mut MODULE, API)
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    core::arch::wasm32::unreachable()
}
