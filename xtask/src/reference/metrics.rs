//! The page of the metrics: what a controller serves while it has a network, `monitor` and a guest.

use super::MADE;
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// What the controller is started with.
const CONFIGURATION: &str = r#"
listen = ["127.0.0.1:0"]
http = "127.0.0.1:0"
workers = 1
apps = ["acl", "static-flows", "topology", "hosts", "arp-proxy", "nd-proxy", "dhcp", "routing", "route-flow", "spanning", "monitor"]

[monitor]
interval-s = 1

[[guest]]
name = "example"
connect = "127.0.0.1:1"
"#;

/// Longest that the controller, and then a sample of a port, is waited for.
const WITHIN: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(100);

/// A sample that comes last.
const LAST: &str = "aldis_port_received_packets_total{";

/// A program that ends with this.
struct EndedProcess(Child);

impl Drop for EndedProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Every metric with its kind, its labels and what it is.
///
/// # Errors
/// A controller that does not start or serve within half a minute.
pub(super) fn page(aldis: &Path, folder: &Path) -> io::Result<String> {
    let configuration = folder.join("metrics.toml");
    fs::write(&configuration, CONFIGURATION)?;
    let mut run = Command::new(aldis);
    run.arg("run").arg("--config").arg(&configuration);
    let mut controller = EndedProcess(run.stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?);
    let said = controller.0.stderr.take().ok_or_else(|| io::Error::other("no standard error"))?;
    let mut lines = BufReader::new(said).lines();
    let switches = behind(&mut lines, "Listening for switches on ")?;
    let http = behind(&mut lines, "HTTP on ")?;
    // What it logs further on has to be read, or it would be dropped.
    std::thread::spawn(move || lines.for_each(drop));
    let mut network = Command::new(aldis);
    network.args(["emulate", &switches, "--topology", "linear,2", "--for", "5m"]);
    let _network = EndedProcess(network.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?);
    let deadline = Instant::now() + WITHIN;
    loop {
        let text = super::said(Command::new(aldis).args(["metrics", "--http", &http]))?;
        if text.contains(LAST) {
            return Ok(table(&text));
        }
        if Instant::now() > deadline {
            return Err(io::Error::other(format!("there is no {LAST} in {text}")));
        }
        std::thread::sleep(POLL);
    }
}

/// The word behind these, in the line that has them.
fn behind(lines: &mut impl Iterator<Item = io::Result<String>>, words: &str) -> io::Result<String> {
    for line in lines {
        if let Some((_, rest)) = line?.split_once(words) {
            return Ok(rest.split_whitespace().next().unwrap_or_default().to_owned());
        }
    }
    Err(io::Error::other(format!("the controller did not say {words:?}")))
}

/// The families of a text of Prometheus' format, in its order.
fn table(text: &str) -> String {
    let mut page = format!(
        "# Metrics\n\n{MADE}\n\nWhat `/metrics` serves, and `aldis metrics` prints. Counters end in \
         `_total`; a histogram has\n`_bucket`, `_sum` and `_count`. Those of ports are there while \
         [monitor](../monitor.md) runs, those of guests\nwhile there is a [guest](../guests.md).\n\n\
         | metric | kind | labels | what it is |\n| --- | --- | --- | --- |\n"
    );
    let families = text.split("# HELP ").skip(1);
    for family in families {
        let (head, samples) = family.split_once('\n').unwrap_or((family, ""));
        let (name, help) = head.split_once(' ').unwrap_or((head, ""));
        let kind = samples.lines().next().and_then(|line| line.rsplit(' ').next());
        let labels: Vec<String> = labels(samples).into_iter().map(|it| format!("`{it}`")).collect();
        let (kind, labels) = (kind.unwrap_or_default(), labels.join(", "));
        page += &format!("| `{name}` | {kind} | {labels} | {} |\n", help.replace('|', "\\|"));
    }
    page
}

/// The labels that samples have, but for the bound of a bucket.
fn labels(samples: &str) -> BTreeSet<&str> {
    let sets = samples.lines().filter_map(|line| line.split_once('{')?.1.rsplit_once('}'));
    let names = sets.flat_map(|(set, _)| set.split("\",").filter_map(|it| it.split('=').next()));
    names.filter(|name| *name != "le").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_is_a_row_with_its_labels() {
        let text = "# HELP aldis_a_total What | it is\n# TYPE aldis_a_total counter\n\
                    aldis_a_total{dpid=\"1\",port=\"2\"} 3\n# HELP b Seconds\n# TYPE b histogram\n\
                    b_bucket{le=\"1\"} 0\n";
        let page = table(text);
        assert!(page.contains("| `aldis_a_total` | counter | `dpid`, `port` | What \\| it is |\n"));
        assert!(page.contains("| `b` | histogram |  | Seconds |\n"), "{page}");
    }
}
