//! `aldis designs`: the workload distributions that `aldis run --design` knows, with their knobs.

use std::process::ExitCode;

use aldis_engine::Design;
use aldis_engine::design::{Read, Write};

/// Nothing to choose.
#[derive(clap::Args)]
pub(crate) struct Args {}

/// Prints a line a design on stdout, the default first.
pub(crate) fn run(Args {}: Args) -> Result<ExitCode, String> {
    println!("{:<18} {:<17} {:>9}  {:<10} what it is", "design", "switches", "max read", "writes");
    for Design { name, source, read, read_max, write } in Design::ALL {
        let read = match read {
            Read::StaticPartition => "static partition",
        };
        let write = match write {
            Write::Batched => "batched",
            Write::Immediate => "immediate",
        };
        println!("{name:<18} {read:<17} {:>6} KB  {write:<10} {source}", read_max / 1024);
    }
    Ok(ExitCode::SUCCESS)
}
