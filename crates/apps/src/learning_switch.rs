//! A learning switch: remembers behind which port it saw each host, and lets flows carry what is sent to them.
//!
//! The example of how an application is written. It is *parallel*: several workers may run it over the requests of one
//! switch at once, because what they share, [`Hosts`], is lock-free. What requests need of the tables
//! is on its way before their turn comes (`stages`).

mod age;
mod ahead;
mod answer;
mod config;
mod counters;
mod hosts;
mod look;
pub(crate) mod machine;
mod moves;
mod ports;
mod removal;
mod stages;
mod table;
#[cfg(test)]
mod tests;

use aldis_control::app::{Event, Next, Slots};
use aldis_control::switch::Info;
use aldis_control::{App, Batch, Output, Request, Time};
use aldis_wire::msg::{PortChange, PortChangeReason};

use ahead::{Kind, header, is_for_bridges};
use answer::{Desk, Dialect, V10, V13};
use removal::Removal;
use stages::Sheet;

pub use config::Config;
pub use counters::Counters;
pub use hosts::Hosts;
pub use ports::PORTS_MAX;
pub use table::Seed;

/// The application: one instance for each worker.
#[derive(Debug)]
pub struct LearningSwitch {
    config: Config,
    v10: V10,
    v13: V13,
    counters: Counters,
    sheets: Vec<Sheet>,
    scratch: Vec<u8>,
}

impl LearningSwitch {
    /// An instance; those of other workers get the same settings.
    pub fn new(config: Config) -> LearningSwitch {
        let flows = config.flows();
        LearningSwitch {
            config,
            v10: V10::new(&flows),
            v13: V13::new(&flows),
            counters: Counters::default(),
            sheets: Vec::new(),
            scratch: Vec::new(),
        }
    }

    /// What this instance did so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }
}

/// What becomes of one request.
fn answer(desk: &mut Desk<'_, '_, impl Dialect>, request: &Request) {
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

/// Whether nobody can be behind the port any more.
fn is_loss(change: &PortChange) -> bool {
    change.reason == PortChangeReason::Removed || !change.port.is_up()
}

impl App for LearningSwitch {
    type Slot = Hosts;

    const NAME: &'static str = "learning-switch";

    fn join(&mut self, now: Time, switch: &Info) -> Hosts {
        Hosts::new(&self.config, now, &switch.ports)
    }

    fn packet_ins(&mut self, batch: &mut Batch<'_>, slots: Slots<'_, Hosts>, out: &mut Output) {
        self.answer(batch, slots, out);
    }

    fn event(
        &mut self,
        now: Time,
        (switch, hosts): (&Info, &Hosts),
        event: &Event,
        out: &mut Output,
    ) -> Next {
        let (version, cookie) = (switch.version, self.config.cookie);
        let mut removal = Removal { version, cookie, scratch: &mut self.scratch };
        match event {
            Event::Second => hosts.second(now).for_each(|port| removal.towards_port(port, out)),
            Event::Port(change) if is_loss(change) => {
                hosts.forget_port(change.port.number.0);
                removal.port(change.port.number.0, out);
            }
            Event::Up | Event::Down | Event::Port(_) => {}
        }
        Next::Continue
    }
}
