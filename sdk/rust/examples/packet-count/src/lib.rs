//! Counts packets, and by how many senders they are; the sum is kept over restarts. It shows what
//! an application has of its host besides events and commands: a log, a clock, a key–value space,
//! routes over HTTP, a page in `pages/`, and what is known of the whole network.

use std::collections::HashSet;

use aldis_app::{App, HttpRequest, HttpResponse, MacAddr, Next, Output, Request, host};

/// Senders that are told apart.
const SENDERS_MAX: usize = 10_000;

/// The key of the sum.
const SUM: &str = "packets";

struct PacketCount {
    packets: u64,
    senders: HashSet<MacAddr>,
}

impl App for PacketCount {
    fn start(config: &str) -> Result<PacketCount, String> {
        if !config.is_empty() {
            return Err(format!("it has no settings, and was given {config:?}"));
        }
        let kept = host::value(SUM).and_then(|bytes| bytes.try_into().ok());
        let packets = kept.map_or(0, u64::from_le_bytes);
        println!("begins at {packets} packets, {} ns after the controller", host::now());
        Ok(PacketCount { packets, senders: HashSet::new() })
    }

    fn packet_in(&mut self, request: &Request<'_>, out: &mut Output) -> Next {
        let src = request.src().expect("a frame has a sender");
        if self.senders.len() < SENDERS_MAX {
            self.senders.insert(src);
        }
        self.packets += 1;
        if let Err(reason) = host::set_value(SUM, &self.packets.to_le_bytes()) {
            out.warn(&reason);
        }
        out.count(0, self.packets);
        out.count(1, self.senders.len() as u64);
        Next::Continue
    }

    fn http(&mut self, request: &HttpRequest) -> HttpResponse {
        match (request.method.as_str(), request.path.as_str()) {
            ("GET", "/counts") => {
                let (packets, senders) = (self.packets, self.senders.len());
                HttpResponse::json(format!("{{\"packets\":{packets},\"senders\":{senders}}}"))
            }
            ("GET", "/switches") => match host::snapshot("switches") {
                Ok(json) => HttpResponse::json(String::from_utf8_lossy(&json)),
                Err(reason) => HttpResponse::text(reason).with_status(503),
            },
            ("POST", "/forget") => {
                self.packets = 0;
                self.senders.clear();
                host::remove_value(SUM);
                HttpResponse::text("forgotten\n")
            }
            _ => HttpResponse::not_found(),
        }
    }

    fn stop(&mut self) {
        host::log(&format!("ends at {} packets", self.packets));
    }
}

aldis_app::export!(PacketCount);
