//! What `aldis bench --mode connect` prints.

use super::controller::Usage;
use super::table::{self, ReportRow, row};
use aldis_emulator::load::{Handshakes, Load};
use serde_json::json;

/// All rows, in order.
pub(super) fn rows(
    load: &Load,
    handshakes: &Handshakes,
    usage: Option<&Usage>,
    partial: Option<&str>,
) -> Vec<ReportRow> {
    let mut rows = table::setting(load);
    let last = rows.len() - 1;
    rows[last] = row(
        "mode",
        json!({ "mode": "connect" }),
        "mode",
        "connect: every switch connects, shakes hands, disconnects, and begins again".into(),
    );
    rows.extend([
        table::loops_row("handshakes_per_second", "handshakes/s", &handshakes.loops),
        table::delay_row("delay_us", "delay µs", &handshakes.delay),
        counts_row(handshakes),
        table::generator_row(
            handshakes.idle,
            handshakes.is_generator_limited().then_some(""),
            handshakes.generator_cpu.as_nanos() as f64,
            handshakes.done,
        ),
        table::cpu_row(handshakes.done, usage),
        table::partial_row(partial),
    ]);
    rows
}

fn counts_row(handshakes: &Handshakes) -> ReportRow {
    let Handshakes { done, failed, port_waits, .. } = *handshakes;
    let mut words = format!("{done} handshakes · {failed} broken off by the controller");
    if port_waits > 0 {
        words += &format!(" · {port_waits} times no local port was left: take fewer switches");
    }
    let value = json!({ "done": done, "failed": failed, "port_waits": port_waits });
    row("counts", value, "counts", words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn a_generator_that_was_the_limit_is_marked() {
        let load = Load::new(([127, 0, 0, 1], 1).into());
        for (idle, limited) in [(0.049, true), (0.05, false)] {
            let rows = rows(&load, &Handshakes { idle, ..Handshakes::empty() }, None, None);
            assert_eq!(table::text(&rows).contains("** generator-limited **"), limited, "{idle}");
            let object = Value::Object(table::object(&rows));
            assert_eq!(object["generator"]["limited"], limited, "{idle}");
        }
    }
}
