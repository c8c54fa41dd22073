//! A learning switch: remembers behind which port it saw each host, and lets flows carry what is
//! sent to them.
//!
//! The example of how an application is written. It is *parallel*: several workers may run it over
//! the requests of one switch at once, because what they share, [`Hosts`], is lock-free. How a
//! batch goes its way (`clerk`) and how its answers are worded (`answer`) are other modules.

mod age;
mod ahead;
mod answer;
mod clerk;
mod config;
mod counters;
mod hosts;
mod look;
pub(crate) mod machine;
mod moves;
mod ports;
mod removal;
mod table;
#[cfg(test)]
mod tests;

use aldis_control::app::{Event, EventCtx, Next, Parallel, Slots};
use aldis_control::stats::Gauge;
use aldis_control::{App, Batch, EventKind, Output, RequestHeader, Time, switch::SwitchInfo};

use ahead::{Kind, header, is_for_bridges};
use answer::{Desk, Dialect};
pub use clerk::LearningSwitch;
pub use {config::Config, counters::Counters, hosts::Hosts, ports::PORTS_MAX, table::Seed};

impl App for LearningSwitch {
    type Slot = Parallel<Hosts>;

    const NAME: &'static str = "learning-switch";
    const EVENTS: &'static [EventKind] =
        &[EventKind::FlowRequest, EventKind::Lldp, EventKind::PortChange, EventKind::Second];
    const COUNTS: &'static [&'static str] = Counters::NAMES;

    fn count(&self, own: &[Gauge]) {
        own.iter().zip(self.counters().in_order()).for_each(|(level, count)| level.set(count));
    }

    fn init_switch(&mut self, now: Time, switch: &SwitchInfo) -> Hosts {
        Hosts::new(&self.config, now, &switch.ports)
    }

    fn packet_ins(&mut self, batch: &mut Batch<'_>, all: Slots<'_, Self::Slot>, out: &mut Output) {
        self.answer(batch, all, out);
    }

    fn event(&mut self, ctx: EventCtx<'_, Self::Slot>, event: &Event, out: &mut Output) -> Next {
        let mut removal = self.removal(ctx.switch.version);
        match event {
            Event::Second => {
                ctx.slot.second(ctx.now).for_each(|port| removal.towards_port(port, out));
            }
            Event::Port(change) if change.is_loss() => {
                ctx.slot.forget_port(change.port.number.0);
                removal.port(change.port.number.0, out);
            }
            _ => {}
        }
        Next::Continue
    }
}

/// What becomes of one request.
fn answer(desk: &mut Desk<'_, '_, impl Dialect>, request: &RequestHeader) {
    let (dst, src, kind) = header(desk.batch.frame(request));
    let Kind::Data(vlan) = kind else { return desk.ignore(request) };
    desk.learn(request, vlan, src);
    match desk.look_up(vlan, dst) {
        Some(port) if port != request.in_port => desk.install(request, vlan, (src, dst), port),
        Some(_) => desk.filter(request),
        None if is_for_bridges(dst) => desk.ignore(request),
        None => desk.flood(request),
    }
}
