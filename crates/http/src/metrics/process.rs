//! What the system says of this process, by the names that Prometheus' own clients give it.

use std::fs;

use super::text::MetricsText;

/// Ticks of the times in `/proc/self/stat`: what Linux promises programs, whatever its own clock
/// is.
const TICKS_PER_S: f64 = 100.0;

/// Where the system does not say, nothing is shown.
pub(super) fn render(text: &mut MetricsText) {
    let rows = [
        ("process_cpu_seconds_total", "counter", "Time on processors", cpu_s()),
        ("process_resident_memory_bytes", "gauge", "Memory in use", resident()),
        ("process_open_fds", "gauge", "Open descriptors", descriptors()),
    ];
    for (name, kind, help, value) in rows {
        value.into_iter().for_each(|value| text.foreign(name, kind, help, value));
    }
}

fn cpu_s() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the process, in parentheses, may hold anything; user and system time are twelve
    // fields behind it.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut ticks = fields.split_whitespace().skip(11).map_while(|field| field.parse::<f64>().ok());
    Some((ticks.next()? + ticks.next()?) / TICKS_PER_S)
}

fn resident() -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse::<f64>().ok().map(|kib| kib * 1024.0)
}

fn descriptors() -> Option<f64> {
    Some(fs::read_dir("/proc/self/fd").ok()?.count() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_says_how_we_are() {
        assert!(cpu_s().is_some_and(|seconds| seconds >= 0.0));
        assert!(resident().is_some_and(|bytes| bytes > 4096.0));
        assert!(descriptors().is_some_and(|count| count >= 3.0));
    }
}
