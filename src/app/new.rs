//! `aldis app new`: the files of an application, to begin with.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use aldis_sandbox::Manifest;

use crate::failure::CommandFailure;

/// The template in Python: the learning switch of Ryu's tutorial.
const PYTHON: &str = include_str!("../../sdk/python/examples/learning_switch.py");
const PYTHON_MANIFEST: &str = include_str!("../../sdk/python/examples/learning_switch.toml");

/// The same in Rust.
const RUST: &str = include_str!("../../sdk/rust/examples/learning-switch/src/lib.rs");
const RUST_MANIFEST: &str = include_str!("../../sdk/rust/examples/learning-switch/manifest.toml");

/// Arguments of `aldis app new`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  aldis app new knock                              knock.py and knock.toml
  aldis app new knock --lang rust --sdk ../aldis/sdk/rust   the folder knock, a crate")]
pub(crate) struct Args {
    /// Its name: small letters, digits and -
    #[arg(value_name = "NAME")]
    name: String,
    /// The language that it is written in
    #[arg(long, value_name = "LANGUAGE", default_value = "python")]
    lang: Language,
    /// The folder sdk/rust of Aldis's repository, for Rust
    #[arg(long, value_name = "FOLDER", required_if_eq("lang", "rust"))]
    sdk: Option<PathBuf>,
}

/// A language with an SDK.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Language {
    /// As Ryu's applications are written.
    Python,
    /// As Aldis's own are.
    Rust,
}

/// Writes them, and says what to do next. Files that are there stay as they are.
///
/// # Errors
/// One sentence: no name, or a file is there or cannot be written.
pub(crate) fn run(args: &Args) -> Result<ExitCode, CommandFailure> {
    let (template, source) = match args.lang {
        Language::Python => (PYTHON_MANIFEST, format!("{}.py", args.name.replace('-', "_"))),
        Language::Rust => (RUST_MANIFEST, args.name.clone()),
    };
    let manifest = named(template, &args.name);
    Manifest::read(manifest.as_bytes()).map_err(|why| CommandFailure::Usage(why.to_string()))?;
    match (args.lang, &args.sdk) {
        (Language::Python, _) => {
            let module = PathBuf::from(&source);
            write(&module, PYTHON)?;
            write(&module.with_extension("toml"), &manifest)?;
        }
        (Language::Rust, sdk) => {
            let sdk = sdk.as_deref().unwrap_or(Path::new("sdk/rust"));
            let sdk = sdk.canonicalize().map_err(|error| {
                CommandFailure::Usage(format!("--sdk {}: {error}", sdk.display()))
            })?;
            let folder = Path::new(&args.name);
            let made = fs::create_dir_all(folder.join("src"));
            made.map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
            write(&folder.join("Cargo.toml"), &crate_file(&args.name, &sdk))?;
            write(&folder.join("src/lib.rs"), RUST)?;
            write(&folder.join("manifest.toml"), &manifest)?;
        }
    }
    println!("next: aldis app build {source}, then aldis app install {}.app", args.name);
    Ok(ExitCode::SUCCESS)
}

/// The manifest with another name.
fn named(manifest: &str, name: &str) -> String {
    let line = |line: &str| match line.starts_with("name = ") {
        true => format!("name = {name:?}\n"),
        false => format!("{line}\n"),
    };
    manifest.lines().map(line).collect()
}

fn crate_file(name: &str, sdk: &Path) -> String {
    format!(
        "[package]\nname = {name:?}\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
         [lib]\ncrate-type = [\"cdylib\"]\n\n\
         [dependencies]\naldis-app = {{ path = {:?} }}\n\
         foldhash = {{ version = \"0.2\", default-features = false }}\n\
         hashbrown = {{ version = \"0.17\", default-features = false }}\n\n\
         [profile.release]\nopt-level = 3\nlto = true\npanic = \"abort\"\n\n[workspace]\n",
        sdk.display().to_string()
    )
}

fn write(file: &Path, text: &str) -> Result<(), CommandFailure> {
    let shown = file.display();
    let written = OpenOptions::new().write(true).create_new(true).open(file);
    match written.and_then(|mut file| file.write_all(text.as_bytes())) {
        Ok(()) => {
            println!("{shown}");
            Ok(())
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            Err(CommandFailure::Usage(format!("{shown} is there already, and stays as it is")))
        }
        Err(error) => Err(format!("cannot write {shown}: {error}").into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_templates_are_in_order_under_any_name() {
        for template in [PYTHON_MANIFEST, RUST_MANIFEST] {
            let manifest = Manifest::read(named(template, "knock").as_bytes()).unwrap();
            assert_eq!(manifest.name, "knock");
            assert!(Manifest::read(named(template, "No Name").as_bytes()).is_err());
        }
    }
}
