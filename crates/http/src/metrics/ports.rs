//! What ports carried: while the application `monitor` runs, which asks the switches; as they said
//! when it last did.
//!
//! A sample for each port and counter would grow with the network: [`METRICS_PORTS_MAX`] ports are
//! shown.

use aldis_wire::DatapathId;
use aldis_wire::msg::PortStats;

use super::text::{MetricsText, ONE};
use crate::limits::METRICS_PORTS_MAX;
use crate::routes::Shared;

/// A counter of a port: name, what it is.
type PortMetricRow = (&'static str, &'static str, fn(&PortStats) -> u64);

const PORT: &[PortMetricRow] = &[
    ("port_received_packets_total", "Packets that the port received", |port| port.rx_packets),
    ("port_received_bytes_total", "Bytes that the port received", |port| port.rx_bytes),
    ("port_sent_packets_total", "Packets that the port sent", |port| port.tx_packets),
    ("port_sent_bytes_total", "Bytes that the port sent", |port| port.tx_bytes),
    ("port_received_dropped_total", "Packets dropped on the way in", |port| port.rx_dropped),
    ("port_sent_dropped_total", "Packets dropped on the way out", |port| port.tx_dropped),
    ("port_received_errors_total", "Errors on the way in", |port| port.rx_errors),
    ("port_sent_errors_total", "Errors on the way out", |port| port.tx_errors),
];

/// Nothing where no application asks the switches.
pub(super) fn render(text: &mut MetricsText, shared: &Shared) {
    if let Some((ports, left_out)) = shared.controller.port_counters(METRICS_PORTS_MAX) {
        show(text, &ports, left_out);
    }
}

fn show(text: &mut MetricsText, ports: &[(DatapathId, PortStats)], left_out: u64) {
    for (name, help, of) in PORT {
        text.family(name, help);
        let those = ports.iter().map(|(dpid, port)| (dpid, port, of(port)));
        for (dpid, port, number) in those.filter(|(.., number)| *number != u64::MAX) {
            text.sample(name, &labels(*dpid, port), ONE, number);
        }
    }
    text.family("ports_left_out", "Ports whose counters are not shown");
    text.sample("ports_left_out", &[], ONE, left_out);
}

fn labels(dpid: DatapathId, port: &PortStats) -> [(&'static str, String); 2] {
    let number = port.port_no;
    let name = number.name().map_or_else(|| number.0.to_string(), str::to_ascii_lowercase);
    [("dpid", dpid.to_string()), ("port", name)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use aldis_wire::msg::PortNo;

    fn port(number: u32, rx_bytes: u64) -> PortStats {
        PortStats {
            port_no: PortNo(number),
            rx_packets: 1,
            tx_packets: 2,
            rx_bytes,
            tx_bytes: 4,
            rx_dropped: 5,
            tx_dropped: 6,
            rx_errors: 7,
            tx_errors: 8,
            rx_frame_err: 0,
            rx_over_err: 0,
            rx_crc_err: 0,
            collisions: 0,
            duration_sec: 0,
            duration_nsec: 0,
        }
    }

    #[test]
    fn each_port_has_a_line_for_each_counter_that_it_has() {
        let ports =
            vec![(DatapathId(1), port(7, 3)), (DatapathId(1), port(PortNo::LOCAL.0, u64::MAX))];
        let mut text = MetricsText::default();
        show(&mut text, &ports, 9);
        let text = text.finish();
        for line in [
            "# TYPE aldis_port_received_bytes_total counter",
            "aldis_port_received_bytes_total{dpid=\"0000000000000001\",port=\"7\"} 3",
            "aldis_port_sent_errors_total{dpid=\"0000000000000001\",port=\"local\"} 8",
            "aldis_ports_left_out 9",
        ] {
            assert!(text.lines().any(|there| there == line), "{line} is missing:\n{text}");
        }
        // It does not count those.
        assert!(!text.contains("received_bytes_total{dpid=\"0000000000000001\",port=\"local\""));
        assert_eq!(text.lines().filter(|line| !line.starts_with('#')).count(), 16);
    }
}
