//! A learning switch: it remembers behind which port each host was seen, and installs a flow where
//! it knows that of the receiver. Everything else is flooded, so a network with loops needs more.

use aldis_app::{App, Datapath, Event, Flow, MacAddr, Next, Output, Port, Request};
use foldhash::fast::FixedState;
use hashbrown::HashMap;

/// Hosts of a switch that are remembered. The frames of further ones are flooded.
const HOSTS_MAX: usize = 200_000;

/// Seconds without a packet after which a switch removes a flow.
const IDLE_TIMEOUT_S: u16 = 10;

/// The port behind which each host of a switch was seen.
type Hosts = HashMap<MacAddr, Port, FixedState>;

#[derive(Default)]
struct LearningSwitch {
    /// By dpid.
    switches: HashMap<u64, Hosts, FixedState>,
}

impl App for LearningSwitch {
    fn start(_: &str) -> Result<LearningSwitch, String> {
        Ok(LearningSwitch::default())
    }

    fn packet_in(&mut self, request: &Request<'_>, out: &mut Output) -> Next {
        let (Some(src), Some(dst)) = (request.src(), request.dst()) else { return Next::Continue };
        let in_port = request.in_port();
        let hosts = self.switches.entry(request.dpid()).or_default();
        if !src.is_group() && (hosts.len() < HOSTS_MAX || hosts.contains_key(&src)) {
            hosts.insert(src, in_port);
        }
        match hosts.get(&dst) {
            Some(port) if *port != in_port => {
                out.flow(request, *port, Flow::new().idle_timeout(IDLE_TIMEOUT_S));
            }
            // A receiver behind the same port has heard the frame.
            Some(_) => out.discard(request),
            None => out.send(request, Port::FLOOD),
        }
        Next::Stop
    }

    fn event(&mut self, switch: &Datapath, event: &Event<'_>, out: &mut Output) -> Next {
        if let Event::Down = event {
            self.switches.remove(&switch.dpid);
            out.count(0, self.switches.values().map(|hosts| hosts.len() as u64).sum());
        }
        Next::Continue
    }
}

aldis_app::export!(LearningSwitch);
