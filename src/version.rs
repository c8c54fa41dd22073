//! `aldis version`: which Aldis this is and which OpenFlow versions it speaks.

use aldis_wire::Version;
use std::process::ExitCode;

/// Nothing to choose.
#[derive(clap::Args)]
pub(crate) struct Args {}

/// Prints two lines on stdout.
pub(crate) fn run(Args {}: Args) -> Result<ExitCode, String> {
    println!("aldis {}", env!("CARGO_PKG_VERSION"));
    println!("speaks {}", Version::ALL.map(|version| version.to_string()).join(", "));
    Ok(ExitCode::SUCCESS)
}
