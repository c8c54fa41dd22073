//! `aldis app new`: the files of an application, to begin with.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use aldis_sandbox::Manifest;

use super::build::check_module;
use crate::failure::CommandFailure;

/// The templates, where `NAME` stands for the name, `SOURCE` for what is built, and `SDK` for the
/// folder of the SDK.
const PYTHON: [&str; 3] = [
    include_str!("../../sdk/python/template/app.py"),
    include_str!("../../sdk/python/template/manifest.toml"),
    include_str!("../../sdk/python/template/tests/app.toml"),
];
const RUST: [&str; 4] = [
    include_str!("../../sdk/rust/template/Cargo.toml.template"),
    include_str!("../../sdk/rust/template/src/lib.rs"),
    include_str!("../../sdk/rust/template/manifest.toml"),
    include_str!("../../sdk/rust/template/tests/app.toml"),
];

/// Arguments of `aldis app new`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  aldis app new knock                              knock.py, knock.toml and tests/knock.toml
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
    let named = |template: &str| template.replace("NAME", &args.name);
    let (manifest, source) = match args.lang {
        Language::Python => (PYTHON[1], format!("{}.py", args.name.replace('-', "_"))),
        Language::Rust => (RUST[2], args.name.clone()),
    };
    let manifest = named(manifest);
    let scenario = |template: &str| named(template).replace("SOURCE", &source);
    // A template is in order under any name, so that this is about the name.
    let read = Manifest::read(manifest.as_bytes());
    read.map_err(|why| CommandFailure::Usage(format!("NAME: {}", why.reason)))?;
    match (args.lang, &args.sdk) {
        (Language::Python, _) => {
            let module = PathBuf::from(&source);
            check_module(&module)?;
            write(&module, &named(PYTHON[0]))?;
            write(&module.with_extension("toml"), &manifest)?;
            make(Path::new("tests"))?;
            let file = Path::new("tests").join(module.with_extension("toml"));
            write(&file, &scenario(PYTHON[2]))?;
        }
        (Language::Rust, sdk) => {
            let sdk = sdk.as_deref().unwrap_or(Path::new("sdk/rust"));
            let sdk = sdk.canonicalize().map_err(|error| {
                CommandFailure::Usage(format!("--sdk {}: {error}", sdk.display()))
            })?;
            let folder = Path::new(&args.name);
            make(&folder.join("src"))?;
            make(&folder.join("tests"))?;
            let crate_file = named(RUST[0]).replace("SDK", &sdk.display().to_string());
            write(&folder.join("Cargo.toml"), &crate_file)?;
            write(&folder.join("src/lib.rs"), &named(RUST[1]))?;
            write(&folder.join("manifest.toml"), &manifest)?;
            write(&folder.join("tests/app.toml"), &scenario(RUST[3]))?;
        }
    }
    println!(
        "next: aldis app test {source}, aldis app build {source}, then aldis app install {}.app",
        args.name
    );
    Ok(ExitCode::SUCCESS)
}

fn make(folder: &Path) -> Result<(), CommandFailure> {
    let made = fs::create_dir_all(folder);
    made.map_err(|error| format!("cannot make {}: {error}", folder.display()).into())
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
        for template in [PYTHON[1], RUST[2]] {
            let manifest = Manifest::read(template.replace("NAME", "knock").as_bytes()).unwrap();
            assert_eq!(manifest.name, "knock");
            assert!(Manifest::read(template.replace("NAME", "No Name").as_bytes()).is_err());
        }
    }
}
