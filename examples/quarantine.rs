//! A quarantine before a learning switch: a host that asks too much within a second is cut off for
//! a minute.
//!
//! It is *exclusive*: what it keeps for each switch comes to it as `&mut`. What it stops, the
//! learning switch does not see.
//!
//! ```text
//! cargo run --example quarantine -- --listen 127.0.0.1:6653
//! ```

use std::collections::HashMap;

use aldis::apps::{LearningSwitch, learning_switch};
use aldis::prelude::*;

/// Requests a second of one host that are answered.
const REQUESTS_MAX: u32 = 50;

struct Quarantine;

impl App for Quarantine {
    type Slot = Exclusive<HashMap<MacAddr, u32>>;

    const NAME: &'static str = "quarantine";
    const EVENTS: &'static [EventKind] = &[EventKind::FlowRequest, EventKind::Second];

    fn init_switch(&mut self, _: Time, _: &SwitchInfo) -> HashMap<MacAddr, u32> {
        HashMap::new()
    }

    fn packet_in(
        &mut self,
        request: &Request<'_>,
        mut hosts: State<'_, Self>,
        out: &mut Output,
    ) -> Next {
        let Some(src) = request.src() else { return Next::Continue };
        let requests = hosts.entry(src).or_default();
        *requests += 1;
        if *requests == REQUESTS_MAX + 1 {
            // A flow without actions drops.
            let cut_off = FlowMod::add(Match::new().eth_src(src)).priority(0xffff);
            out.answer(request, cut_off.hard_timeout(60));
        }
        if *requests > REQUESTS_MAX { Next::Stop } else { Next::Continue }
    }

    fn event(&mut self, mut ctx: EventCtx<'_, Self::Slot>, _: &Event, _: &mut Output) -> Next {
        ctx.slot.clear();
        Next::Continue
    }
}

fn main() -> Result<(), aldis::Refused> {
    let settings = learning_switch::LearningConfig::new(learning_switch::Seed::random());
    let controller = aldis::Controller::from_args().with(|| Quarantine);
    controller.with(move || LearningSwitch::new(settings)).run()
}
