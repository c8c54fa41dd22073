//! `aldis stats`: what a controller counts, in a few lines.

use std::process::ExitCode;

use serde_json::Value;

use super::ClientArgs;
use super::table::TextTable;

/// Arguments of `aldis stats`.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    ask: ClientArgs,
}

/// Prints what all workers counted together; with `--json`, everything.
///
/// # Errors
/// One sentence.
pub(crate) fn run(args: Args) -> Result<ExitCode, String> {
    args.ask.show("/api/v1/statistics", |counters: &Value| {
        let total = &counters["total"];
        let number = |key: &str| total[key].to_string();
        let times = |key: &str| {
            let us = |quantile: &str| total[key][quantile].as_u64().unwrap_or(0) / 1000;
            format!("{} {} {} {} us", us("p50"), us("p90"), us("p99"), us("max"))
        };
        let sizes = &total["batch_size"];
        let count = |key: &str| counters[key].as_array().map_or(0, Vec::len).to_string();
        TextTable::pairs(vec![
            ("switches", count("switches")),
            ("workers", count("workers")),
            ("requests", format!("{}, {} shed", number("requests"), number("sheds"))),
            ("batches", number("batches")),
            ("bytes in, out", format!("{}, {}", number("bytes_in"), number("bytes_out"))),
            ("connections", format!("{}, {} dropped", number("connections"), number("evictions"))),
            ("waiting for locks", format!("{} ppm", counters["lock_wait_ppm"])),
            ("", "p50 p90 p99 max".into()),
            (
                "requests of a batch",
                format!("{} {} {} {}", sizes["p50"], sizes["p90"], sizes["p99"], sizes["max"]),
            ),
            ("queue wait", times("queue_wait_ns")),
            ("batching delay", times("batching_delay_ns")),
            ("handling a batch", times("handling_time_ns")),
            ("writing a batch", times("write_time_ns")),
        ])
    })
}
