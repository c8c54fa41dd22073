//! Rates of ports: each second it asks every switch what its ports have carried, and what they have
//! carried since the last answer is their rate.
//!
//! `/apps/rate-monitor/rates` gives the rates of the last minute as JSON; the page of the
//! application, which lies in `pages/`, draws them.

use std::collections::{BTreeMap, VecDeque};

use aldis_app::message::Message;
use aldis_app::{App, Datapath, Event, HttpRequest, HttpResponse, Next, Output, Port, host};
use serde_json::{Value, json};

/// The statistics of ports (OpenFlow 1.3.5, §7.3.5.6): what they are asked by, and an entry's
/// length.
const PORT_STATS: u16 = 4;
const ENTRY_LEN: usize = 112;
/// Bytes of a reply before its entries.
const HEAD_LEN: usize = 16;

/// Rates that are remembered of a port: a minute of them.
const SAMPLES_MAX: usize = 60;
/// Ports of all switches that are remembered.
const PORTS_MAX: usize = 10_000;

/// What a port had carried at a time, and its rates until then.
struct PortRates {
    at: u64,
    received: u64,
    sent: u64,
    /// Bits a second, received and sent, oldest first.
    samples: VecDeque<(u64, u64)>,
}

#[derive(Default)]
struct RateMonitor {
    /// The ports of each switch that is here, by its dpid.
    switches: BTreeMap<u64, BTreeMap<u32, PortRates>>,
}

impl App for RateMonitor {
    fn start(_: &str) -> Result<RateMonitor, String> {
        Ok(RateMonitor::default())
    }

    fn event(&mut self, switch: &Datapath, event: &Event<'_>, out: &mut Output) -> Next {
        match event {
            Event::Up(_) => {
                self.switches.insert(switch.dpid, BTreeMap::new());
                out.message(switch.dpid, &question());
            }
            Event::Down => drop(self.switches.remove(&switch.dpid)),
            Event::Reply(_, reply) => self.reply(switch.dpid, reply),
            _ => {}
        }
        out.count(0, self.received_bps());
        Next::Continue
    }

    fn tick(&mut self, _: u64, out: &mut Output) {
        self.switches.keys().for_each(|dpid| out.message(*dpid, &question()));
    }

    fn http(&mut self, request: &HttpRequest) -> HttpResponse {
        match (request.method.as_str(), request.path.as_str()) {
            ("GET", "/rates") => HttpResponse::json(self.rates().to_string()),
            _ => HttpResponse::not_found(),
        }
    }
}

impl RateMonitor {
    /// Takes what a switch says of its ports.
    fn reply(&mut self, dpid: u64, reply: &[u8]) {
        let is_of_ports = reply.get(8..10) == Some(&PORT_STATS.to_be_bytes());
        let remembered: usize = self.switches.values().map(BTreeMap::len).sum();
        let Some(ports) = self.switches.get_mut(&dpid).filter(|_| is_of_ports) else { return };
        let (entries, now) = (reply.get(HEAD_LEN..).unwrap_or_default(), host::now());
        for entry in entries.chunks_exact(ENTRY_LEN) {
            let number = u32::from_be_bytes([entry[0], entry[1], entry[2], entry[3]]);
            let (received, sent) = (counter(entry, 24), counter(entry, 32));
            if let Some(port) = ports.get_mut(&number) {
                port.add(now, received, sent);
            } else if number < 0xffff_ff00 && remembered < PORTS_MAX {
                let samples = VecDeque::new();
                ports.insert(number, PortRates { at: now, received, sent, samples });
            }
        }
    }

    /// Bits a second that all ports together receive.
    fn received_bps(&self) -> u64 {
        let ports = self.switches.values().flat_map(BTreeMap::values);
        ports.filter_map(|port| port.samples.back()).map(|(received, _)| received).sum()
    }

    fn rates(&self) -> Value {
        let switches = self.switches.iter().map(|(dpid, ports)| {
            let ports: Vec<Value> =
                ports.iter().map(|(port, rates)| rates.in_json(*port)).collect();
            json!({"dpid": format!("{dpid:016x}"), "ports": ports})
        });
        json!({"switches": switches.collect::<Vec<_>>()})
    }
}

impl PortRates {
    fn add(&mut self, now: u64, received: u64, sent: u64) {
        let passed = now.saturating_sub(self.at);
        if passed == 0 {
            return;
        }
        // A counter that went back is one that began again.
        let rate = |now: u64, before: u64| {
            let bits = u128::from(now.checked_sub(before).unwrap_or(now)) * 8;
            u64::try_from(bits * 1_000_000_000 / u128::from(passed)).unwrap_or(u64::MAX)
        };
        self.samples.push_back((rate(received, self.received), rate(sent, self.sent)));
        if self.samples.len() > SAMPLES_MAX {
            self.samples.pop_front();
        }
        (self.at, self.received, self.sent) = (now, received, sent);
    }

    fn in_json(&self, port: u32) -> Value {
        let (received, sent): (Vec<u64>, Vec<u64>) = self.samples.iter().copied().unzip();
        let last = self.samples.back().copied().unwrap_or_default();
        json!({
            "port": port, "rx_bps": last.0, "tx_bps": last.1,
            "rx_history": received, "tx_history": sent,
        })
    }
}

/// What all ports of a switch have carried.
fn question() -> Message {
    let all = [&Port::ANY.0.to_be_bytes()[..], &[0; 4]].concat();
    Message::stats_request(PORT_STATS, 1, &all)
}

fn counter(entry: &[u8], at: usize) -> u64 {
    let bytes = entry.get(at..).and_then(|rest| rest.first_chunk());
    // All ones stand for a counter that the switch does not have.
    bytes.map(|bytes| u64::from_be_bytes(*bytes)).filter(|count| *count != u64::MAX).unwrap_or(0)
}

aldis_app::export!(RateMonitor);
