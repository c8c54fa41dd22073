//! `cargo xtask`: the checks of the repository itself, behind the thin targets of the Makefile.
//!
//! Each command prints what it does and ends with a non-zero status when anything is wrong.

#![forbid(unsafe_code)]

mod book;
mod client;
mod e2e;
mod fuzz;
mod native;
mod package;
mod peers;
mod reference;
mod ryu;
mod suites;
mod tidy;
mod unit;
mod web;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
cargo xtask COMMAND

  test [SUITE…]     every suite in order, or the named ones; installs missing peers first
  tidy              the rules of the repository that no compiler knows
  peers             what the end-to-end tests need, and install what is missing
  e2e [SCENARIO…]   a real network: Open vSwitch and Mininet against the controller
  book [WORD…]      the commands of the book, on the pages that a word names
  make-book         the book of docs/, in target/book/html; compiles mdBook where it is missing
  native            the machine code of the SDK for Python, compiled anew
  reference         the pages of the book that are made from the code
  ryu [WORD…]       Ryu's samples, unchanged, and the package that runs them
  client [WORD…]    the client of Python: makes it, and tries it with the controller
  web [WORD…]       the web interface in a browser, or the scenarios that a word names
  package [KIND…]   in target/package: the package of Debian for this machine (here) or arm64,
                    the static program, a container image (static, container)
  fuzz [SECONDS]    the fuzz targets, for a minute or as long as you say
";

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let command = args.next().unwrap_or_default();
    let rest: Vec<String> = args.collect();
    let root = root();
    let good = match command.as_str() {
        "test" => suites::test(&root, &rest),
        "tidy" => tidy::run(&root).failed == 0,
        "peers" => peers::provide(),
        "e2e" => peers::provide() && e2e::run(&root, &rest).is_good(),
        "book" => peers::provide() && book::run(&root, &rest).is_good(),
        "make-book" => book::build(&root),
        "native" => native::build(&root),
        "reference" => reference::write(&root),
        "ryu" => peers::provide() && ryu::run(&root, &rest).is_good(),
        "client" => client::run(&root, &rest).is_good(),
        "web" => web::run(&root, &rest).is_good(),
        "package" => package::build(&root, &rest),
        "fuzz" => peers::provide() && fuzz::run(&root, &rest).is_good(),
        _ => {
            eprint!("{USAGE}");
            false
        }
    };
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The top folder of the repository: the parent of this package.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}
