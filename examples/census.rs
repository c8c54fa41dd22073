//! A census: says how many hosts the network has whenever one is seen for the first time. It
//! publishes a part of the World, and acts when that changes. Try it: `cargo run --example census
//! -- --listen 127.0.0.1:6653`, and `aldis apps --http http://127.0.0.1:8080` beside it: it has all
//! that `aldis run` has.

use std::collections::BTreeSet;

use aldis::prelude::*;

/// The part of the World: all addresses that were ever seen. One that is large is made of `Shards`.
#[derive(Clone, PartialEq)]
struct Hosts(BTreeSet<u64>);

impl Part for Hosts {
    type Report = MacAddr;
    const NAME: &'static str = "hosts";
}

struct Census;

impl Publisher for Census {
    type Part = Hosts;
    fn begin(&mut self) -> Hosts {
        Hosts(BTreeSet::new())
    }
    fn revise(&mut self, _: Time, mut ctx: PublishCtx<'_, Hosts>) -> Option<Hosts> {
        let mut hosts = ctx.current().clone();
        hosts.0.extend(std::iter::from_fn(|| ctx.report()).map(MacAddr::to_u64));
        (hosts != *ctx.current()).then_some(hosts)
    }
}

impl App for Census {
    type Slot = ();
    const NAME: &'static str = "census";
    const EVENTS: &'static [EventKind] = &[EventKind::FlowRequest, EventKind::Publication];
    const READS: &'static [PartId] = &[Hosts::ID];

    fn packet_ins(&mut self, batch: &mut Batch<'_>, _: Slots<'_, ()>, out: &mut Output) {
        let Hosts(hosts) = batch.world.part();
        batch.each(|request| {
            // Where there is no room for the report, the host's next request makes another.
            let unseen = request.src().filter(|src| !hosts.contains(&src.to_u64()));
            let _ = unseen.map(|src| out.report::<Hosts>(src));
            Next::Continue
        });
    }

    fn published(&mut self, _: View<'_>, ctx: TickCtx<'_>, _: &mut Commands) {
        println!("{} hosts", ctx.world.part::<Hosts>().0.len());
    }

    fn publishers(&self) -> Publishers {
        Publishers::of(Census)
    }
}

fn main() -> Result<(), aldis::Refused> {
    aldis::Controller::from_args().with(|| Census).run()
}
