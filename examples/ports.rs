//! Says on standard output which switches and ports come and go, beside a learning switch.
//!
//! It starts on events and answers none of them, so that it changes nothing.
//!
//! ```text
//! cargo run --example ports -- --listen 127.0.0.1:6653
//! mn --controller remote,port=6653 --switch ovs,datapath=user --topo single,3
//! mininet> link s1 h1 down
//! ```

use aldis::apps::{LearningSwitch, learning_switch};
use aldis::prelude::*;

struct Ports;

impl App for Ports {
    type Slot = ();

    const NAME: &'static str = "ports";
    const EVENTS: &'static [EventKind] = &[EventKind::Up, EventKind::Down, EventKind::PortChange];

    fn event(&mut self, ctx: EventCtx<'_, ()>, event: &Event, _: &mut Output) -> Next {
        let SwitchInfo { dpid, ports, .. } = ctx.switch;
        match event {
            Event::Up => println!("{dpid} has {} ports", ports.len()),
            Event::Port(change) if change.is_loss() => println!("{dpid} lost {}", change.port.name),
            Event::Port(change) => println!("{dpid} has {}", change.port.name),
            _ => println!("{dpid} is gone"),
        }
        Next::Continue
    }
}

fn main() -> Result<(), aldis::Refused> {
    let settings = learning_switch::LearningConfig::new(learning_switch::Seed::random());
    let controller = aldis::Controller::from_args().with(|| Ports);
    controller.with(move || LearningSwitch::new(settings)).run()
}
