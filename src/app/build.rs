//! `aldis app build`: the package of an application, from its folder or its one file.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use aldis_sandbox::{Manifest, Page, pack};
use serde_json::Value;

use super::private_folder::PrivateFolder;
use crate::client::app::package_bytes;
use crate::failure::CommandFailure;

/// What Rust compiles components for.
const TARGET: &str = "wasm32-wasip2";

/// Arguments of `aldis app build`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The application: a folder with a manifest.toml and a crate of Rust, or an app.py; or a
    /// module of Python, with a manifest of the same name, as knock.py and knock.toml. A folder
    /// "pages" beside the manifest goes into the package too
    #[arg(value_name = "FOLDER|FILE.py", default_value = ".")]
    source: PathBuf,
    /// Write the package to this file [default: NAME.app here]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Sign it with this Ed25519 key, in PKCS#8 (DER)
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
}

/// Builds the component, and packs it with its manifest.
///
/// # Errors
/// One sentence that names the file, and the field where there is one.
pub(crate) fn run(args: &Args) -> Result<ExitCode, CommandFailure> {
    let (manifest, package) = package(&args.source, args.key.as_deref())?;
    let usual = || PathBuf::from(format!("{}.app", manifest.name));
    let output = args.output.clone().unwrap_or_else(usual);
    if let Some(folder) = output.parent() {
        // Where it cannot be made, neither can the file, which says why.
        let _ = std::fs::create_dir_all(folder);
    }
    std::fs::write(&output, &package)
        .map_err(|error| format!("cannot write {}: {error}", output.display()))?;
    println!(
        "{}: {} {}, {} KiB; install it with \"aldis app install {}\"",
        output.display(),
        manifest.name,
        manifest.version,
        package.len().div_ceil(1024),
        output.display()
    );
    Ok(ExitCode::SUCCESS)
}

/// The manifest and the package of an application, built now and signed where there is a key.
///
/// # Errors
/// One sentence that names the file, and the field where there is one.
pub(super) fn package(
    path: &Path,
    key: Option<&Path>,
) -> Result<(Manifest, Vec<u8>), CommandFailure> {
    let source = Source::of(path)?;
    let text = read(&source.manifest)?;
    let shown = source.manifest.display();
    let manifest = Manifest::read(&text);
    let manifest = manifest.map_err(|why| CommandFailure::Usage(format!("{shown}: {why}")))?;
    let key = key.map(read).transpose()?;
    let component = source.component()?;
    let pages = source.pages()?;
    let package = pack(&text, &component, &pages, key.as_deref());
    let package = package.map_err(|why| format!("{}: {why}", path.display()))?;
    Ok((manifest, package))
}

/// Whether there is an application here to be built.
///
/// # Errors
/// Why not.
pub(super) fn check(path: &Path) -> Result<(), CommandFailure> {
    Source::of(path).map(drop)
}

/// A package, or a file that becomes a part of one.
///
/// # Errors
/// One sentence that names it.
pub(super) fn read(file: &Path) -> Result<Vec<u8>, CommandFailure> {
    package_bytes(file).map_err(CommandFailure::from)
}

/// What an application is built of.
#[derive(PartialEq, Eq, Debug)]
struct Source {
    manifest: PathBuf,
    code: Code,
}

#[derive(PartialEq, Eq, Debug)]
enum Code {
    /// The folder of a crate.
    Rust(PathBuf),
    /// A module.
    Python(PathBuf),
}

impl Source {
    fn of(path: &Path) -> Result<Source, CommandFailure> {
        let wrong = |why: &str| CommandFailure::Usage(format!("{}: {why}", path.display()));
        if path.extension().is_some_and(|is| is == "py") {
            let manifest = path.with_extension("toml");
            return Ok(Source { manifest, code: Code::Python(path.to_owned()) });
        }
        if !path.is_dir() {
            return Err(wrong("no folder, and no module of Python"));
        }
        let manifest = path.join("manifest.toml");
        let module = path.join("app.py");
        match (path.join("Cargo.toml").exists(), module.exists()) {
            (true, _) => Ok(Source { manifest, code: Code::Rust(path.to_owned()) }),
            (false, true) => Ok(Source { manifest, code: Code::Python(module) }),
            (false, false) => {
                Err(wrong("it has no Cargo.toml and no app.py: what is built is one of these"))
            }
        }
    }

    /// The pages for browsers: the files below `pages`, beside the manifest. Hidden ones are left
    /// out.
    fn pages(&self) -> Result<Vec<Page>, CommandFailure> {
        let root = self.manifest.with_file_name("pages");
        let mut pages = vec![];
        if root.is_dir() {
            add_pages(&root, "", &mut pages)?;
        }
        pages.sort_by(|one: &Page, other| one.path.cmp(&other.path));
        Ok(pages)
    }

    /// Compiles it.
    fn component(&self) -> Result<Vec<u8>, CommandFailure> {
        match &self.code {
            Code::Rust(folder) => read(&compile(folder)?),
            Code::Python(module) => compile_python(module),
        }
    }
}

/// Adds the files of a folder of pages, whose path is `below`.
fn add_pages(folder: &Path, below: &str, pages: &mut Vec<Page>) -> Result<(), CommandFailure> {
    let wrong = |why: String| CommandFailure::from(format!("{}: {why}", folder.display()));
    for entry in std::fs::read_dir(folder).map_err(|error| wrong(error.to_string()))? {
        let entry = entry.map_err(|error| wrong(error.to_string()))?;
        let Some(name) = entry.file_name().to_str().map(str::to_owned) else {
            return Err(wrong("a name that is no UTF-8".to_owned()));
        };
        let kind = entry.file_type().map_err(|error| wrong(error.to_string()))?;
        let path = format!("{below}{name}");
        match name.starts_with('.') {
            true => {}
            false if kind.is_dir() => add_pages(&entry.path(), &format!("{path}/"), pages)?,
            // A link could lead out of the folder.
            false if kind.is_file() => pages.push(Page { path, bytes: read(&entry.path())? }),
            false => return Err(wrong(format!("{name} is neither a file nor a folder"))),
        }
    }
    Ok(())
}

/// Refuses a module that Python would not import by its name, because another is found before it.
/// Where there is no Python, it is found out where Python is needed.
///
/// # Errors
/// One sentence that names the file.
pub(super) fn check_module(module: &Path) -> Result<(), CommandFailure> {
    const ASK: &str = "import keyword, sys; name = sys.argv[1]; taken = name == 'aldis' or \
                       keyword.iskeyword(name) or name in sys.stdlib_module_names; sys.exit(7 * taken)";
    let Some(name) = module.file_stem() else { return Ok(()) };
    let mut python = Command::new("python3");
    let asked = python.args(["-I", "-c", ASK]).arg(name).stdin(Stdio::null()).output();
    match asked.is_ok_and(|asked| asked.status.code() == Some(7)) {
        true => {
            let why = "Python has a word or a module of that name: choose another";
            Err(CommandFailure::Usage(format!("{}: {why}", module.display())))
        }
        false => Ok(()),
    }
}

/// Compiles a module of Python, with the package `aldis` of the Python that is first in the path.
fn compile_python(module: &Path) -> Result<Vec<u8>, CommandFailure> {
    check_module(module)?;
    let folder = PrivateFolder::new("build")?;
    let file = folder.path().join("component.wasm");
    let mut python = Command::new("python3");
    python.args(["-m", "aldis.build"]).arg(module).arg("--output").arg(&file);
    // What lies in this folder by chance, as a json.py, is no part of what builds.
    python.env("PYTHONSAFEPATH", "1");
    let status = python.status().map_err(|error| format!("cannot run python3: {error}"))?;
    if !status.success() {
        return Err(format!(
            "{} does not build; where Python finds no module \"aldis\": pip install sdk/python, \
             from Aldis's repository",
            module.display()
        )
        .into());
    }
    read(&file)
}

/// Compiles the crate in a folder; the file of its component.
fn compile(folder: &Path) -> Result<PathBuf, CommandFailure> {
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--release", "--target", TARGET, "--message-format"]);
    cargo.arg("json-render-diagnostics").current_dir(folder);
    let mut child = cargo.stdout(Stdio::piped()).spawn().map_err(|error| {
        format!("cannot run cargo: {error}; Rust is needed to build {}", folder.display())
    })?;
    let said = child.stdout.take().map(BufReader::new);
    let said = said.into_iter().flat_map(|out| out.lines().map_while(Result::ok));
    let found = said.filter_map(|line| artifact(&line)).last();
    let status = child.wait().map_err(|error| format!("cargo: {error}"))?;
    if !status.success() {
        return Err(format!(
            "{} does not build; where the target is missing: rustup target add {TARGET}",
            folder.display()
        )
        .into());
    }
    found.ok_or_else(|| {
        let why = "it builds no component; has its Cargo.toml crate-type = [\"cdylib\"]?";
        format!("{}: {why}", folder.display()).into()
    })
}

/// The component that a line of cargo's messages names.
fn artifact(line: &str) -> Option<PathBuf> {
    let message: Value = serde_json::from_str(line).ok()?;
    let files = message["filenames"].as_array()?.iter().filter_map(Value::as_str);
    files.map(PathBuf::from).find(|file| file.extension().is_some_and(|is| is == "wasm"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_holds_no_application_is_refused() {
        let refused = Source::of(Path::new("/nowhere/at/all")).unwrap_err();
        assert!(refused.sentence().contains("no folder"), "{refused:?}");
        let refused = Source::of(Path::new("src/app")).unwrap_err();
        assert!(refused.sentence().contains("no Cargo.toml and no app.py"), "{refused:?}");
        let python = Source::of(Path::new("sdk/python/examples/learning_switch.py")).unwrap();
        assert!(python.manifest.ends_with("learning_switch.toml"), "{python:?}");
    }

    #[test]
    fn the_pages_beside_a_manifest_are_found_and_hidden_ones_are_not() {
        let folder = std::env::temp_dir().join(format!("aldis-pages-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("pages/parts")).unwrap();
        for name in ["pages/index.html", "pages/parts/a.js", "pages/.swp", "beside.html"] {
            std::fs::write(folder.join(name), name).unwrap();
        }
        let code = Code::Rust(folder.clone());
        let source = Source { manifest: folder.join("manifest.toml"), code };
        let found: Vec<_> = source.pages().unwrap().into_iter().map(|page| page.path).collect();
        assert_eq!(found, ["index.html", "parts/a.js"]);
        std::os::unix::fs::symlink("/etc/hostname", folder.join("pages/name")).unwrap();
        assert!(source.pages().unwrap_err().sentence().contains("name is neither a file"));
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(source.pages().unwrap().is_empty());
    }

    #[test]
    fn the_component_is_found_in_what_cargo_says() {
        let line = r#"{"reason":"compiler-artifact","filenames":["/t/a.d","/t/a.wasm"]}"#;
        assert_eq!(artifact(line), Some("/t/a.wasm".into()));
        assert_eq!(artifact(r#"{"reason":"build-finished","success":true}"#), None);
        assert_eq!(artifact("nonsense"), None);
    }
}
