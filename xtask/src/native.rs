//! The machine code of the SDK for Python: compiled from `sdk/python/native`, and committed beside
//! the modules that import it, as `pip` has no compiler for it.

use std::path::{Path, PathBuf};
use std::process::Command;

use wit_component::StringEncoding;

use crate::suites::{SuiteTally, succeeds};

/// The crate's first file.
const SOURCE: &str = "sdk/python/native/lib.rs";

/// What is made of it: its name says for which Python, and which machine.
const MODULE: &str = "sdk/python/aldis/_native.cpython-314-wasm32-wasi.so";

/// What of the contract it imports.
const WORLD: &str = "python-native";

/// Compiles the module anew.
pub(crate) fn build(root: &Path) -> bool {
    let made = compile(root);
    made.is_some_and(|made| std::fs::copy(made, root.join(MODULE)).is_ok())
}

/// Whether the module that is committed is what its source compiles to.
pub(crate) fn check(root: &Path) -> SuiteTally {
    let read = |path: PathBuf| std::fs::read(path).ok();
    let made = compile(root).and_then(read);
    let is_fresh = made.is_some() && made == read(root.join(MODULE));
    match is_fresh {
        true => println!("ok    {MODULE} is what its source compiles to"),
        false => println!("FAIL  {MODULE} is not what its source compiles to: cargo xtask native"),
    }
    SuiteTally::one(is_fresh)
}

/// Whether its source is as `rustfmt` writes it: Cargo does not know of it.
pub(crate) fn is_formatted(root: &Path) -> bool {
    let mut rustfmt = Command::new("rustfmt");
    succeeds(rustfmt.args(["--check", "--edition", "2024", SOURCE]).current_dir(root))
}

/// Compiles the module to `target/native`.
///
/// Cargo makes no library of WebAssembly that is linked to another: the compiler makes an object,
/// and the linker that comes with it a library. Both are of the toolchain that
/// `rust-toolchain.toml` names, so that the same source gives the same bytes.
fn compile(root: &Path) -> Option<PathBuf> {
    let folder = root.join("target/native");
    std::fs::create_dir_all(&folder).ok()?;
    let (object, module) = (folder.join("native.o"), folder.join("native.so"));
    let mut rustc = Command::new("rustc");
    rustc.args(["--edition", "2024", "--target", "wasm32-wasip2", "--crate-type", "lib"]);
    rustc.args(["--crate-name", "native", "--emit", "obj", "-D", "warnings"]);
    for option in ["relocation-model=pic", "panic=abort", "opt-level=3", "codegen-units=1"] {
        rustc.args(["-C", option]);
    }
    rustc.args([SOURCE, "-o"]).arg(&object).current_dir(root);
    let mut linker = Command::new(linker(root)?);
    linker.args([
        "-flavor",
        "wasm",
        "-shared",
        "--experimental-pic",
        "--no-entry",
        "--gc-sections",
    ]);
    linker.args(["--export=PyInit__native", "--export=cabi_realloc"]);
    linker.args(["--allow-undefined", "--strip-all"]);
    linker.arg(&object).arg("-o").arg(&module);
    if !succeeds(&mut rustc) || !succeeds(&mut linker) {
        return None;
    }
    let mut bytes = std::fs::read(&module).ok()?;
    bytes.extend(component_type(root)?);
    std::fs::write(&module, bytes).ok()?;
    Some(module)
}

/// The section that says which functions of the contract the module imports: [`WORLD`].
fn component_type(root: &Path) -> Option<Vec<u8>> {
    let mut resolve = wit_parser::Resolve::default();
    let world = resolve.push_dir(root.join("wit")).and_then(|(package, _)| {
        let world = resolve.select_world(&[package], Some(WORLD))?;
        wit_component::metadata::encode(&resolve, world, StringEncoding::UTF8, None)
    });
    let world = world.inspect_err(|error| eprintln!("wit: {error:#}")).ok()?;
    let name = b"component-type:aldis";
    let section = [&[name.len() as u8], &name[..], &world].concat();
    Some([vec![0], leb128(section.len()), section].concat())
}

/// A number as WebAssembly writes it: seven bits a byte, the least first.
fn leb128(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let seven = (number % 128) as u8;
        number /= 128;
        bytes.push(seven | u8::from(number > 0) << 7);
        if number == 0 {
            return bytes;
        }
    }
}

/// The linker of the toolchain.
fn linker(root: &Path) -> Option<PathBuf> {
    let said = |option: &[&str]| {
        let output = Command::new("rustc").args(option).current_dir(root).output().ok()?;
        String::from_utf8(output.stdout).ok().map(|text| text.trim().to_owned())
    };
    let host = said(&["--print", "host-tuple"])?;
    Some(
        Path::new(&said(&["--print", "sysroot"])?)
            .join("lib/rustlib")
            .join(host)
            .join("bin/rust-lld"),
    )
}
