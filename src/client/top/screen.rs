//! What is on the screen: totals, delays, and the switches that ask most.

use std::collections::HashMap;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Color, Style, Stylize};
use ratatui::text::Line;
use ratatui::widgets::{Cell, Paragraph, Row, Table};
use serde_json::Value;

use super::CountersSample;
use crate::client::table::printable;

/// The last two samples.
pub(super) struct TopView {
    controller: String,
    before: Value,
    now: Value,
    trouble: Option<String>,
}

impl TopView {
    pub(super) fn new(controller: String) -> TopView {
        TopView { controller, before: Value::Null, now: Value::Null, trouble: None }
    }

    /// A newer sample; where there is none, the one before stays, and why is said.
    pub(super) fn take(&mut self, sample: CountersSample) {
        match sample {
            Ok(sample) => {
                self.before = std::mem::replace(&mut self.now, sample);
                self.trouble = None;
            }
            Err(why) => self.trouble = Some(why),
        }
    }

    /// Why there is no newer sample.
    pub(super) fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    /// Seconds between the two; none where there is one only, or the controller was started again.
    fn seconds(&self) -> Option<f64> {
        let at = |sample: &Value| sample["at_ns"].as_f64();
        let seconds = (at(&self.now)? - at(&self.before)?) / 1e9;
        (seconds > 0.0).then_some(seconds)
    }

    /// How much more of it there is, per second.
    fn rate(&self, now: &Value, before: Option<&Value>, key: &str) -> Option<f64> {
        let grown = now[key].as_f64()? - before?[key].as_f64()?;
        Some((grown / self.seconds()?).max(0.0))
    }

    pub(super) fn draw(&self, frame: &mut Frame<'_>) {
        let [head, delays, switches, foot] = Layout::vertical([
            Constraint::Length(3),
            Constraint::Length(6),
            Constraint::Fill(1),
            Constraint::Length(1),
        ])
        .areas(frame.area());
        frame.render_widget(Paragraph::new(self.totals()), head);
        frame.render_widget(self.delays(), delays);
        let room = usize::from(switches.height.saturating_sub(1));
        let (table, left_out) = self.switches(room);
        frame.render_widget(table, switches);
        let foot_line = match (&self.trouble, left_out) {
            (Some(why), _) => Line::from(printable(why)).style(Style::new().fg(Color::Red)),
            (None, 0) => Line::from("q ends"),
            (None, more) => Line::from(format!("q ends; {more} more switches")),
        };
        frame.render_widget(Paragraph::new(foot_line), foot);
    }

    fn totals(&self) -> Vec<Line<'static>> {
        let (now, before) = (&self.now["total"], Some(&self.before["total"]));
        let rate = |key| shown(self.rate(now, before, key));
        let count = |key: &str| self.now[key].as_array().map_or(0, Vec::len);
        let (switches, workers) = (count("switches"), count("workers"));
        let head =
            format!("{}  {switches} switches  {workers} workers", printable(&self.controller));
        vec![
            Line::from(head).bold(),
            Line::from(format!(
                "requests/s {}  shed/s {}  batches/s {}  bytes/s in {} out {}",
                rate("requests"),
                rate("sheds"),
                rate("batches"),
                rate("bytes_in"),
                rate("bytes_out"),
            )),
        ]
    }

    fn delays(&self) -> Table<'static> {
        let total = &self.now["total"];
        let row = |(name, key): (&'static str, &str)| {
            let us = |quantile: &str| total[key][quantile].as_u64().unwrap_or(0) / 1000;
            let cells = ["p50", "p90", "p99", "max"].map(|quantile| us(quantile).to_string());
            Row::new([name.to_owned()].into_iter().chain(cells))
        };
        let rows = [
            ("queue wait", "queue_wait_ns"),
            ("batching delay", "batching_delay_ns"),
            ("handling a batch", "handling_time_ns"),
            ("writing a batch", "write_time_ns"),
        ]
        .map(row);
        let widths = [18, 10, 10, 10, 10].map(Constraint::Length);
        Table::new(rows, widths).header(head(["delay, us", "p50", "p90", "p99", "max"]))
    }

    /// As many as there is room for, those that ask most first, and how many others there are.
    fn switches(&self, room: usize) -> (Table<'static>, usize) {
        let all = |sample: &'_ Value| sample["switches"].as_array().cloned().unwrap_or_default();
        let dpid = |switch: &Value| printable(switch["dpid"].as_str().unwrap_or("?"));
        let before: HashMap<String, Value> =
            all(&self.before).into_iter().map(|switch| (dpid(&switch), switch)).collect();
        let mut switches: Vec<(f64, String, Value)> = all(&self.now)
            .into_iter()
            .map(|switch| {
                let name = dpid(&switch);
                let asks = self.rate(&switch, before.get(&name), "requests").unwrap_or(0.0);
                (asks, name, switch)
            })
            .collect();
        switches.sort_by(|one, other| other.0.total_cmp(&one.0).then_with(|| one.1.cmp(&other.1)));
        let left_out = switches.len().saturating_sub(room);
        let rows = switches.into_iter().take(room).map(|(_, name, switch)| {
            let rate = |key| shown(self.rate(&switch, before.get(&name), key));
            let number = |key: &str| switch[key].as_u64().unwrap_or(0);
            let cells = [
                number("weight").to_string(),
                rate("requests"),
                rate("sheds"),
                rate("bytes_in"),
                rate("bytes_out"),
                (number("queue_wait_ns_max") / 1000).to_string(),
            ];
            Row::new([name].into_iter().chain(cells).map(Cell::from))
        });
        let widths = [16, 6, 12, 10, 12, 12, 16].map(Constraint::Length);
        let columns =
            ["switch", "weight", "requests/s", "shed/s", "in B/s", "out B/s", "longest wait, us"];
        (Table::new(rows, widths).header(head(columns)), left_out)
    }
}

fn head<const N: usize>(columns: [&'static str; N]) -> Row<'static> {
    Row::new(columns).style(Style::new().reversed())
}

fn shown(rate: Option<f64>) -> String {
    rate.map_or_else(|| "-".into(), |rate| format!("{rate:.0}"))
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use serde_json::json;

    use super::*;

    fn drawn(view: &TopView, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(100, height)).unwrap();
        terminal.draw(|frame| view.draw(frame)).unwrap();
        terminal.backend().to_string()
    }

    fn sample(at_s: u64, requests: u64) -> Value {
        let switch = |dpid: &str, requests: u64| {
            json!({"dpid": dpid, "weight": 3, "requests": requests, "sheds": 0,
            "bytes_in": requests * 100, "bytes_out": 0, "queue_wait_ns_max": 7_000_000})
        };
        json!({"at_ns": at_s * 1_000_000_000, "workers": [{}, {}],
            "total": {"requests": requests, "sheds": 0, "batches": requests / 10, "bytes_in": 0, "bytes_out": 0,
                "queue_wait_ns": {"p50": 12_000, "p90": 34_000, "p99": 56_000, "max": 78_000}},
            "switches": [switch("01", 0), switch("02", requests), switch("\u{1b}[2J", 0)]})
    }

    #[test]
    fn rates_come_from_two_samples_and_the_busiest_is_first() {
        let mut view = TopView::new("http://127.0.0.1:8080".into());
        view.take(Ok(sample(10, 1000)));
        let one = drawn(&view, 20);
        assert!(one.contains("3 switches  2 workers") && one.contains("requests/s -"), "{one}");
        view.take(Ok(sample(12, 5000)));
        let two = drawn(&view, 20);
        assert!(two.contains("requests/s 2000  shed/s 0  batches/s 200 "), "{two}");
        assert!(two.contains("queue wait         12         34         56         78"), "{two}");
        let place = |name: &str| two.find(name).unwrap_or_else(|| panic!("{name}: {two}"));
        assert!(place("\"02  ") < place("\"01  "), "{two}");
        assert!(two.contains("200000") && two.contains("7000") && !two.contains('\u{1b}'), "{two}");
        let low = drawn(&view, 12);
        assert!(low.contains("q ends; 2 more switches"), "{low}");
        for height in 1..12 {
            drawn(&view, height);
        }
    }

    #[test]
    fn what_was_known_stays_while_nobody_answers_and_a_restart_gives_no_rates() {
        let mut view = TopView::new("http://127.0.0.1:8080".into());
        view.take(Ok(sample(10, 1000)));
        view.take(Err("no controller answers".into()));
        let shown = drawn(&view, 20);
        assert!(shown.contains("no controller answers") && shown.contains("3 switches"), "{shown}");
        view.take(Ok(sample(1, 7)));
        let shown = drawn(&view, 20);
        assert!(shown.contains("requests/s -") && shown.contains("q ends"), "{shown}");
        view.take(Ok(json!({"switches": 7, "total": []})));
        assert!(drawn(&view, 20).contains("0 switches"));
    }
}
