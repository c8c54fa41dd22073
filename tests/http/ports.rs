//! Counters of ports in `/metrics`: those that the application `monitor` was told by the switches.

use std::time::Instant;

use aldis_wire::Version;

use super::{serving, when};
use aldis_testkit::client::Api;
use aldis_testkit::network::Network;
use aldis_testkit::running::{Running, WITHIN};

/// The samples of a family, by their labels.
fn samples(api: &Api, family: &str) -> Vec<(String, u64)> {
    let text = String::from_utf8(api.get("/metrics").body).unwrap();
    let lines = text.lines().filter_map(|line| line.strip_prefix(&format!("aldis_{family}")));
    let samples = lines.filter_map(|line| line.rsplit_once(' '));
    samples.map(|(labels, number)| (labels.to_owned(), number.parse().unwrap())).collect()
}

#[test]
fn metrics_have_what_ports_carried_while_the_monitor_asks() {
    let file = std::env::temp_dir().join(format!("aldis-ports-{}.toml", std::process::id()));
    let toml = "apps = [\"learning-switch\", \"monitor\"]\n[monitor]\ninterval-s = 1\n";
    std::fs::write(&file, toml).unwrap();
    for version in Version::ALL {
        let args = ["--http", "127.0.0.1:0", "--config", file.to_str().unwrap()];
        let mut controller = Running::start(&args);
        let api = Api::of(&mut controller);
        let _network = Network::start(&controller, version, "linear,2", &["0s pingall"]);
        when(&api, "/api/v1/switches", |page| page["total"] == 2);
        // What the switch says now is what was shown then, or more; and in the end both are the
        // same.
        let deadline = Instant::now() + WITHIN;
        loop {
            let shown = samples(&api, "port_received_bytes_total");
            let now = api.get("/api/v1/switches/2/ports/stats").json();
            let rows = now["items"].as_array().unwrap();
            let is = |row: &serde_json::Value| {
                let labels = format!(
                    "{{dpid=\"0000000000000002\",port=\"{}\"}}",
                    row["port"].as_str().unwrap()
                );
                let there = shown.iter().find(|(there, _)| *there == labels);
                there.is_some_and(|(_, bytes)| {
                    *bytes > 0 && Some(*bytes) == row["rx_bytes"].as_u64()
                })
            };
            if rows.iter().filter(|row| row["rx_bytes"] != 0).count() >= 2
                && rows.iter().filter(|row| row["rx_bytes"] != 0).all(is)
            {
                break;
            }
            assert!(Instant::now() < deadline, "{version}: {shown:?} {now}");
            std::thread::yield_now();
        }
        assert_eq!(samples(&api, "ports_left_out"), [(String::new(), 0)]);
        assert!(samples(&api, "port_sent_packets_total").iter().any(|(_, packets)| *packets > 0));
    }
    std::fs::remove_file(&file).unwrap();
}

#[test]
fn metrics_have_no_ports_where_nobody_asks() {
    let (_controller, api) = serving();
    assert!(samples(&api, "port_").is_empty());
    assert!(samples(&api, "ports_left_out").is_empty());
}
