//! Machine code of a package: compiled once, off the workers, and kept in a folder so that it is
//! loaded in milliseconds from then on.

use std::collections::hash_map::DefaultHasher;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::hash::{Hash as _, Hasher as _};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use wasmtime::Engine;
use wasmtime::component::{Component, InstancePre};

use crate::instance::{HTTP, InstanceState, link};
use crate::package::{Package, PackageError};
use crate::runtime::Runtime;

/// A package that can be run.
#[derive(Clone)]
pub struct Compiled {
    package: Arc<Package>,
    pre: InstancePre<InstanceState>,
    source: CodeSource,
}

/// Where the machine code of a package came from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CodeSource {
    /// It was compiled.
    Compiler,
    /// It was kept from an earlier time.
    Cache,
}

impl std::fmt::Debug for Compiled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Compiled").field("digest", &self.package.digest()).finish_non_exhaustive()
    }
}

impl Compiled {
    /// Loads or compiles a package, which takes some seconds for a large one. The folder is made
    /// where it is missing, readable by its owner alone: what is in it is run as machine code. A
    /// folder that cannot be written costs only time.
    ///
    /// # Errors
    /// The component is no valid WebAssembly, imports what is not offered, or lacks an export.
    pub fn load(
        runtime: &Runtime,
        package: Arc<Package>,
        cache: Option<&Path>,
    ) -> Result<Compiled, PackageError> {
        let engine = runtime.engine();
        let path = cache.map(|folder| folder.join(file_name(engine, &package)));
        let kept = path.as_deref().and_then(|path| load_kept(engine, path));
        let (component, source) = match kept {
            Some(component) => (component, CodeSource::Cache),
            None => (compile(engine, &package, path.as_deref())?, CodeSource::Compiler),
        };
        let answers = component.component_type().get_export(engine, HTTP).is_some();
        if package.manifest().grants.http && !answers {
            let why = "missing, and grants.http of the manifest says that it answers requests";
            return Err(PackageError::new(format!("export {HTTP}"), why));
        }
        let linker = link(engine, &component)?;
        let pre = linker.instantiate_pre(&component);
        let pre = pre.map_err(|error| PackageError::new("component.wasm", format!("{error:#}")))?;
        Ok(Compiled { package, pre, source })
    }

    /// The package.
    pub fn package(&self) -> &Arc<Package> {
        &self.package
    }

    /// Where its code came from.
    pub fn source(&self) -> CodeSource {
        self.source
    }

    pub(crate) fn pre(&self) -> &InstancePre<InstanceState> {
        &self.pre
    }
}

/// One for each package and each version of wasmtime, with all that code depends on.
fn file_name(engine: &Engine, package: &Package) -> PathBuf {
    let mut hasher = DefaultHasher::new();
    engine.precompile_compatibility_hash().hash(&mut hasher);
    env!("CARGO_PKG_VERSION").hash(&mut hasher);
    PathBuf::from(format!("{}-{:016x}.code", package.digest(), hasher.finish()))
}

fn compile(
    engine: &Engine,
    package: &Package,
    path: Option<&Path>,
) -> Result<Component, PackageError> {
    let wrong = |error: wasmtime::Error| PackageError::new("component.wasm", format!("{error:#}"));
    let component = Component::from_binary(engine, package.component()).map_err(wrong)?;
    if let Some(path) = path {
        // Without it the next start takes longer.
        let _ = component.serialize().map(|code| keep(path, &code));
    }
    Ok(component)
}

/// Writes code and its checksum, each under another name first, so that nothing half written has
/// the right one.
fn keep(path: &Path, code: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let sum = checksum(code)?.to_le_bytes();
    for (path, bytes) in [(path.to_owned(), code), (sum_path(path), &sum[..])] {
        let new = path.with_extension(format!("{}.new", std::process::id()));
        let options =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).to_owned();
        let mut file = options.open(&new)?;
        let written = file.write_all(bytes).and_then(|()| file.sync_all());
        if let Err(error) = written.and_then(|()| fs::rename(&new, &path)) {
            let _ = fs::remove_file(&new);
            return Err(error);
        }
    }
    Ok(())
}

fn sum_path(path: &Path) -> PathBuf {
    path.with_extension("sum")
}

/// Code that was kept, where it is whole and this engine's.
fn load_kept(engine: &Engine, path: &Path) -> Option<Component> {
    let sum = fs::read(sum_path(path)).ok()?;
    let whole = checksum(File::open(path).ok()?).ok()?;
    if sum != whole.to_le_bytes() {
        return None;
    }
    // SAFETY: the file is what `keep` wrote, in a folder that only its owner may write, under a
    // name of this package and this engine; its checksum says that it did not change since.
    unsafe { Component::deserialize_file(engine, path) }.ok()
}

/// A checksum against accidents, fast enough for code of 35 MB in a few milliseconds: four sums of
/// words, each multiplied on, so that the place of a word counts.
fn checksum(mut bytes: impl io::Read) -> io::Result<u64> {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let (mut sums, mut len) = ([1u64, 2, 3, 4], 0u64);
    let mut buffer = vec![0; 256 << 10];
    loop {
        let read = read_full(&mut bytes, &mut buffer)?;
        buffer[read..].fill(0);
        for words in buffer[..read.next_multiple_of(32)].chunks_exact(32) {
            for (sum, word) in sums.iter_mut().zip(words.chunks_exact(8)) {
                let word = u64::from_le_bytes(word.try_into().unwrap_or_default());
                *sum = (*sum ^ word).wrapping_mul(FACTOR).rotate_left(29);
            }
        }
        len += read as u64;
        if read < buffer.len() {
            let fold = |all: u64, sum: &u64| (all ^ sum).wrapping_mul(FACTOR).rotate_left(31);
            return Ok(sums.iter().fold(len, fold));
        }
    }
}

fn read_full(bytes: &mut impl io::Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut read = 0;
    while read < buffer.len() {
        match bytes.read(&mut buffer[read..]) {
            Ok(0) => break,
            Ok(more) => read += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(read)
}
