//! `/metrics`: the counters in Prometheus' text format, with its names and base units (seconds,
//! bytes).
//!
//! Everything is read when it is asked for. Distributions are those of all workers together;
//! counters are given for each worker and for each switch, so that sums are the reader's.

mod guests;
mod ports;
mod process;
mod text;

use std::collections::BTreeMap;

use aldis_control::Time;
use aldis_control::stats::{Distribution, SwitchSnapshot, WorkerCounts};
use aldis_control::switch::Seen;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;

use crate::api::apps::{AppState, Apps, Counted};
use crate::routes::{Ctx, Shared};
use text::{MetricsText, NANOSECOND, ONE, Unit};

/// A number of a worker or of a switch: name, unit, what it is.
type MetricRow<T> = (&'static str, Unit, &'static str, fn(&T) -> u64);

const WORKER: &[MetricRow<WorkerCounts>] = &[
    ("requests_total", ONE, "Flow requests that were handed to the applications", |c| c.requests),
    ("received_bytes_total", ONE, "Bytes that were read from switches", |c| c.bytes_in),
    ("sent_bytes_total", ONE, "Bytes that were to be written to switches", |c| c.bytes_out),
    ("batches_total", ONE, "Runs of the applications over a batch", |c| c.batches),
    ("reads_total", ONE, "Reads from sockets, empty ones included", |c| c.reads),
    ("writes_total", ONE, "Visits that ended with something to write", |c| c.writes),
    ("polls_total", ONE, "Times the kernel was asked what is ready", |c| c.polls),
    ("wakeups_total", ONE, "Polls that slept and were woken", |c| c.wakeups),
    ("visits_total", ONE, "Visits to connections", |c| c.visits),
    ("skips_total", ONE, "Visits put off because another worker was there", |c| c.skips),
    ("revisits_total", ONE, "Visits, later in the same round, to what was skipped", |c| c.revisits),
    ("helped_visits_total", ONE, "Visits to connections of another worker", |c| c.helped_visits),
    ("moves_total", ONE, "Connections taken over from another worker for good", |c| c.moves),
    ("pauses_total", ONE, "Times that reading from a connection paused", |c| c.pauses),
    ("sheds_total", ONE, "Flow requests dropped on purpose", |c| c.sheds),
    ("unsent_total", ONE, "Messages to other switches that were not sent", |c| c.unsent),
    ("evictions_total", ONE, "Switches dropped because they did not read", |c| c.evictions),
    ("connections_total", ONE, "Connections that were adopted", |c| c.connections),
    ("lock_wait_seconds_total", NANOSECOND, "Time spent on waiting for locks", |c| c.lock_wait_ns),
    ("run_seconds_total", NANOSECOND, "Time that the worker ran", |c| c.run_time_ns),
    ("ibt", ONE, "The input batch threshold in force, in requests", |c| c.ibt_now),
];

const SWITCH: &[MetricRow<SwitchSnapshot>] = &[
    ("requests_total", ONE, "Flow requests that were handed to the applications", |s| {
        s.counts.requests
    }),
    ("sheds_total", ONE, "Flow requests dropped on purpose", |s| s.counts.sheds),
    ("received_bytes_total", ONE, "Bytes that were read from it", |s| s.counts.bytes_in),
    ("sent_bytes_total", ONE, "Bytes that were to be written to it", |s| s.counts.bytes_out),
    ("waiting_bytes", ONE, "Bytes that wait for it to read", |s| s.counts.bytes_waiting),
    ("visits_total", ONE, "Visits by workers", |s| s.counts.visits),
    ("full_visits_total", ONE, "Visits that read as much as they might", |s| s.counts.full_visits),
    ("queue_wait_seconds_total", NANOSECOND, "Time from ready to visit, summed", |s| {
        s.counts.queue_wait_ns
    }),
    ("weight", ONE, "Its share compared to that of others", |s| u64::from(s.weight)),
];

/// A distribution of all workers: name, unit, what it is.
type DistributionRow = (&'static str, Unit, &'static str, fn(&WorkerCounts) -> &Distribution);

const SPREADS: &[DistributionRow] = &[
    ("batch_size", ONE, "Requests of each batch", |c| &c.batch_size),
    (
        "batching_delay_seconds",
        NANOSECOND,
        "From the first read of a batch to its last write",
        |c| &c.batching_delay_ns,
    ),
    ("queue_wait_seconds", NANOSECOND, "From a connection's becoming ready to its visit", |c| {
        &c.queue_wait_ns
    }),
    ("handling_time_seconds", NANOSECOND, "One run of the applications over one batch", |c| {
        &c.handling_time_ns
    }),
    ("write_time_seconds", NANOSECOND, "Handing the output of one batch to the sockets", |c| {
        &c.write_time_ns
    }),
    (
        "line_up_pause_seconds",
        NANOSECOND,
        "What a change of the applications keeps a worker from its switches",
        |c| &c.line_up_pause_ns,
    ),
];

/// All counters in Prometheus' text format
#[cfg_attr(test, utoipa::path(get, path = "/metrics", operation_id = "metrics", tag = "statistics", responses(
    (status = 200, description = "Text of version 0.0.4", content_type = "text/plain", body = String),
)))]
pub(crate) async fn show(State(shared): Ctx) -> impl IntoResponse {
    ([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], render(&shared))
}

fn render(shared: &Shared) -> String {
    let counters = shared.controller.counters();
    let switches = shared.controller.switches();
    let mut text = MetricsText::default();
    about(&mut text, shared, &switches);
    for (name, unit, help, of) in WORKER {
        text.family(name, help);
        for worker in &counters.workers {
            let labels = [("worker", worker.worker.to_string())];
            text.sample(name, &labels, *unit, of(&worker.counts));
        }
    }
    for (name, unit, help, of) in SPREADS {
        text.histogram(name, *unit, help, of(&counters.total));
    }
    for (name, unit, help, of) in SWITCH {
        let name = format!("switch_{name}");
        text.family(&name, help);
        for switch in &counters.switches {
            text.sample(&name, &[("dpid", switch.dpid.to_string())], *unit, of(switch));
        }
    }
    ports::render(&mut text, shared);
    apps(&mut text, &shared.controller.apps());
    guests::render(&mut text, &shared.controller.guests());
    process::render(&mut text);
    text.finish()
}

/// What one application counts, by the labels that it has besides.
type AppCounts = fn(&Counted) -> Vec<(Option<(&'static str, String)>, u64)>;

/// What the applications did: name, what it is, the numbers.
const APPS: &[(&str, &str, AppCounts)] = &[
    ("app_events_total", "Events that the application was handed, flow requests included", |app| {
        labelled("on", &app.events)
    }),
    ("app_sent_bytes_total", "Bytes that the application wrote to switches", |app| {
        vec![(None, app.bytes_out)]
    }),
    ("app_failed", "Whether the application failed, and is left out since then", |app| {
        vec![(None, u64::from(app.failed))]
    }),
    ("app_counts_total", "What the application counts itself", |app| labelled("what", &app.own)),
    ("app_published", "How much there is of what the application publishes", |app| {
        labelled("what", &app.now)
    }),
];

fn labelled(
    label: &'static str,
    numbers: &BTreeMap<String, u64>,
) -> Vec<(Option<(&'static str, String)>, u64)> {
    numbers.iter().map(|(name, number)| (Some((label, name.clone())), *number)).collect()
}

fn apps(text: &mut MetricsText, apps: &Apps) {
    text.family("app_running", "Whether the application runs");
    for app in &apps.apps {
        let runs = u64::from(app.state == AppState::Running);
        text.sample("app_running", &[("app", app.name.clone())], ONE, runs);
    }
    for (name, help, of) in APPS {
        text.family(name, help);
        for app in &apps.apps {
            for (label, number) in app.counted.iter().flat_map(of) {
                let labels: Vec<_> = [("app", app.name.clone())].into_iter().chain(label).collect();
                text.sample(name, &labels, ONE, number);
            }
        }
    }
}

fn about(text: &mut MetricsText, shared: &Shared, switches: &[Seen]) {
    text.family("build_info", "Which Aldis this is");
    text.sample("build_info", &[("version", env!("CARGO_PKG_VERSION").into())], ONE, 1);
    text.family("uptime_seconds", "How long it has been running");
    let up = shared.controller.now().since(Time::START).as_nanos();
    text.sample("uptime_seconds", &[], NANOSECOND, u64::try_from(up).unwrap_or(u64::MAX));
    text.family("switches", "Switches that are connected");
    text.sample("switches", &[], ONE, switches.len() as u64);
    text.family("switch_ports", "Ports of each switch, by whether they are up");
    for seen in switches {
        let up = seen.ports().iter().filter(|port| port.is_up()).count();
        for (state, count) in [("up", up), ("down", seen.ports().len() - up)] {
            let labels = [("dpid", seen.switch.info.dpid.to_string()), ("state", state.into())];
            text.sample("switch_ports", &labels, ONE, count as u64);
        }
    }
    let mut findings: BTreeMap<_, u64> = BTreeMap::new();
    for found in shared.controller.findings() {
        *findings.entry((found.id, found.severity)).or_default() += 1;
    }
    text.family("findings", "What the controller knows to be wrong, by what it is about");
    for ((id, severity), count) in findings {
        text.sample("findings", &[("id", id), ("severity", severity)], ONE, count);
    }
    text.family("events_total", "Events that were told to those who follow");
    text.sample("events_total", &[], ONE, shared.events.newest().count());
}
