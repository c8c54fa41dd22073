//! A learning switch: it remembers behind which port each host was seen, and installs a flow where
//! it knows that of the receiver. Everything else is flooded, so a network with loops needs more.

use aldis_app::{App, Datapath, Event, Flow, MacAddr, Next, Output, Port, Request};
use hashbrown::HashMap;

/// Hosts that are remembered, of all switches together. The frames of further ones are flooded.
const HOSTS_MAX: usize = 2_000_000;

/// Seconds without a packet after which a switch removes a flow.
const IDLE_TIMEOUT_S: u16 = 10;

/// The port behind which each host was seen, by switch and address.
#[derive(Default)]
struct LearningSwitch {
    hosts: HashMap<(u64, MacAddr), Port, foldhash::fast::FixedState>,
}

impl App for LearningSwitch {
    fn start(_: &str) -> Result<LearningSwitch, String> {
        Ok(LearningSwitch::default())
    }

    fn packet_in(&mut self, request: &Request<'_>, out: &mut Output) -> Next {
        let (Some(src), Some(dst)) = (request.src(), request.dst()) else { return Next::Continue };
        let (dpid, in_port) = (request.dpid(), request.in_port());
        if !src.is_group()
            && (self.hosts.len() < HOSTS_MAX || self.hosts.contains_key(&(dpid, src)))
        {
            self.hosts.insert((dpid, src), in_port);
        }
        match self.hosts.get(&(dpid, dst)) {
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
            self.hosts.retain(|(dpid, _), _| *dpid != switch.dpid);
            out.count(0, self.hosts.len() as u64);
        }
        Next::Continue
    }
}

aldis_app::export!(LearningSwitch);
