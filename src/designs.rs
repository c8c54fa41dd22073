//! `aldis designs`: the workload distributions that `aldis run --design` knows, with their knobs.

use std::process::ExitCode;

use aldis_engine::Design;
use aldis_engine::design::{Batching, Read, Write};

/// Nothing to choose.
#[derive(clap::Args)]
pub(crate) struct Args {}

/// Prints the designs and their knobs on stdout, the default first.
pub(crate) fn run(Args {}: Args) -> Result<ExitCode, String> {
    println!(
        "{:<25} {:<28} {:>8}  {:<16} {:<9} {:<6} {:<6} {:<6} {:<4}",
        "design", "switches", "max read", "batches", "writes", "core", "request", "output", "PRT"
    );
    for design in Design::ALL {
        println!(
            "{:<25} {:<28} {:>5} KB  {:<16} {:<9} {:<6} {:<7} {:<6} {:<4}\n{:27}{}",
            design.name,
            read(design.read),
            design.read_max / 1024,
            batching(design.batching),
            match design.write {
                Write::Batched => "batched",
                Write::Immediate => "immediate",
                Write::PerLoop => "per-loop",
            },
            on_off(design.core_binding),
            on_off(design.request_binding),
            on_off(design.output_batching),
            design.prt.map_or_else(|| "-".into(), |prt| prt.to_string()),
            "",
            design.source,
        );
    }
    println!(
        "\ncore, request: bound to a core, to one worker from parsing on; output: all answers of a batch to a switch in one write\n\
         each can be changed by itself: \"aldis run --help\" says how"
    );
    Ok(ExitCode::SUCCESS)
}

fn read(read: Read) -> String {
    match read {
        Read::FairRounds => "own first, common rounds".into(),
        Read::StaticPartition => "static partition".into(),
        Read::DynamicPartition { period, hysteresis } => {
            format!("dynamic partition, {period:?}, {hysteresis} %")
        }
        Read::RoundRobin => "round robin".into(),
        Read::SharedQueue { io_threads, per_switch } => {
            let queues = if per_switch { "queue a switch" } else { "shared queue" };
            let threads = if io_threads == 1 { "thread" } else { "threads" };
            format!("{queues}, {io_threads} I/O {threads}")
        }
    }
}

fn batching(batching: Batching) -> String {
    match batching {
        Batching::PerRead => "per read".into(),
        Batching::Fixed(ibt) => format!("{} requests", ibt.requests()),
        Batching::Adaptive(bdu) => format!("adaptive, {:?}", bdu.longest()),
    }
}

fn on_off(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}
