//! A learning switch: it remembers behind which port each host was seen, and installs a flow where
//! it knows that of the receiver. Everything else is flooded, so a network with loops needs more.
//!
//! ```text
//! cargo run --example learning_switch -- --listen 127.0.0.1:6653
//! mn --controller remote,port=6653 --switch ovs,datapath=user --topo single,3 --test pingall
//! ```

use std::collections::HashMap;

use aldis::prelude::*;

/// Hosts of a switch that are remembered. The frames of further ones are flooded.
const HOSTS_MAX: usize = 10_000;

struct LearningSwitch;

impl App for LearningSwitch {
    /// The port behind which each host of the switch was seen.
    type Slot = Exclusive<HashMap<MacAddr, PortNo>>;

    const NAME: &'static str = "my-learning-switch";

    fn init_switch(&mut self, _: Time, _: &SwitchInfo) -> HashMap<MacAddr, PortNo> {
        HashMap::new()
    }

    fn packet_in(
        &mut self,
        request: &Request<'_>,
        mut hosts: State<'_, Self>,
        out: &mut Output,
    ) -> Next {
        let (Some(src), Some(dst)) = (request.src(), request.dst()) else { return Next::Continue };
        let in_port = request.in_port();
        if !src.is_group() && (hosts.len() < HOSTS_MAX || hosts.contains_key(&src)) {
            let before = hosts.insert(src, in_port);
            if before.is_some_and(|port| port != in_port) {
                // The host moved: flows still lead to where it was.
                out.answer(request, FlowMod::delete(Match::new().eth_dst(src)));
            }
        }
        let to = hosts.get(&dst).copied();
        if let Some(to) = to.filter(|to| *to != in_port) {
            let flow = Match::new().in_port(in_port).eth_dst(dst).eth_src(src);
            let flow = FlowMod::add(flow).idle_timeout(10).actions([Action::output(to)]);
            out.answer(request, flow.cookie(Cookie::of(Self::NAME).0));
        }
        if let Some(packet) = request.packet() {
            // A receiver behind the same port has heard the frame: no action drops the packet.
            let to = Some(to.unwrap_or(PortNo::FLOOD)).filter(|to| *to != in_port);
            out.answer(request, packet.actions(to.map(Action::output)));
        }
        Next::Stop
    }
}

fn main() -> Result<(), aldis::Refused> {
    aldis::Controller::from_args().with(|| LearningSwitch).run()
}
