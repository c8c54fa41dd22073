//! A hub: every packet leaves by every port but the one that it came in on.
//!
//! ```text
//! cargo run --example hub -- 127.0.0.1:6653
//! mn --controller remote,ip=127.0.0.1,port=6653 --switch ovs,protocols=OpenFlow13 --topo single,3 --test pingall
//! ```

use aldis::prelude::*;

struct Hub;

impl App for Hub {
    type Slot = ();

    const NAME: &'static str = "hub";
    const STARTS: &'static [On] = &[On::FlowRequest];

    fn join(&mut self, _: Time, _: &Info) {}

    fn packet_ins(&mut self, batch: &mut Batch<'_>, _: Slots<'_, ()>, out: &mut Output) {
        batch.each(|asked| {
            if let Some(packet) = asked.packet() {
                out.answer(asked, packet.actions([Action::output(PortNo::FLOOD)]));
            }
            Next::Continue
        });
    }
}

fn main() -> Result<(), aldis::Refused> {
    aldis::Controller::from_args()?.with(|| Hub).run()
}
