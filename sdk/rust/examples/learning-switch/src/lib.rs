//! A learning switch: it remembers behind which port each host was seen, and installs a flow where
//! it knows that of the receiver. Everything else is flooded, so a network with loops needs more.

use aldis_app::{
    App, Datapath, Event, Flow, MacTable, Next, Output, PerSwitch, Port, Request, Requests, export,
};

/// Hosts of a switch that are remembered. The frames of further ones are flooded.
const HOSTS_MAX: usize = 200_000;

/// Seconds without a packet after which a switch removes a flow.
const IDLE_TIMEOUT_S: u16 = 10;

#[derive(Default)]
struct LearningSwitch {
    /// The port behind which each host of a switch was seen.
    switches: PerSwitch<MacTable>,
}

impl App for LearningSwitch {
    const LOOKS_AHEAD: bool = true;

    fn start(_: &str) -> Result<LearningSwitch, String> {
        Ok(LearningSwitch::default())
    }

    fn look_ahead(&mut self, dpid: u64, requests: Requests<'_>) {
        self.switches.of(dpid).prefetch(requests);
    }

    fn packet_in(&mut self, request: &Request<'_>, out: &mut Output) -> Next {
        let Some((dst, src)) = request.addresses() else { return Next::Continue };
        let in_port = request.in_port();
        let hosts = self.switches.of(request.dpid());
        if !src.is_group() && (hosts.len() < HOSTS_MAX || hosts.get(src).is_some()) {
            hosts.insert(src, in_port);
        }
        match hosts.get(dst) {
            Some(port) if port != in_port => {
                out.flow(request, port, Flow::new().idle_timeout(IDLE_TIMEOUT_S));
            }
            // A receiver behind the same port has heard the frame.
            Some(_) => out.discard(request),
            None => out.send(request, Port::FLOOD),
        }
        Next::Stop
    }

    fn event(&mut self, switch: &Datapath, event: &Event<'_>, out: &mut Output) -> Next {
        if let Event::Down = event {
            self.switches.remove(switch.dpid);
            out.count(0, self.switches.iter().map(|(_, hosts)| hosts.len() as u64).sum());
        }
        Next::Continue
    }
}

export!(LearningSwitch);
