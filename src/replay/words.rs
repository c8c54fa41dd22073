//! Times and messages in words.

use aldis_wire::{Chop, DatapathId};

/// A time, in seconds from the beginning of the recording.
pub(super) fn seconds(at_ns: u64, begin_ns: u64) -> String {
    let us = at_ns.saturating_sub(begin_ns) / 1000;
    format!("{}.{:06} s", us / 1_000_000, us % 1_000_000)
}

/// A switch, or that its connection has not said which one it is.
pub(super) fn switch(dpid: Option<DatapathId>) -> String {
    dpid.map_or("a switch that has not said its dpid".into(), |dpid| format!("switch {dpid}"))
}

/// A message in words, each line behind this.
pub(super) fn message(bytes: &[u8], behind: &str) -> String {
    let words = match Chop::new(bytes).next() {
        Some(Ok(raw)) => crate::decode::words(raw),
        _ => format!("{} bytes that are no message", bytes.len()),
    };
    words.lines().map(|line| format!("{behind}{line}\n")).collect()
}
