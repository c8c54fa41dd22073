//! An application for simulations: it answers every request with the same flow.

use aldis_control::app::Slots;
use aldis_control::{App, Batch, EventKind, Output};
use aldis_wire::types::L2FlowSpec;
use aldis_wire::types::L2Hit;
use aldis_wire::v10::template::L2Flow;

/// One FLOW_MOD of OpenFlow 1.0 for each request, with its transaction id. Parallel: several
/// workers may answer one switch.
#[derive(Clone, Debug)]
pub struct SimResponder(L2Flow);

impl Default for SimResponder {
    fn default() -> SimResponder {
        SimResponder(L2Flow::new(&L2FlowSpec {
            idle_timeout_s: 5,
            hard_timeout_s: 0,
            priority: 1,
            cookie: 0,
            send_flow_removed: false,
        }))
    }
}

impl App for SimResponder {
    type Slot = ();

    const NAME: &'static str = "responder";

    const EVENTS: &'static [EventKind] = &[EventKind::FlowRequest];

    fn packet_ins(&mut self, batch: &mut Batch<'_>, _: Slots<'_, ()>, out: &mut Output) {
        for (place, run) in batch.runs.iter().enumerate() {
            out.select(place);
            for request in &batch.requests[run.requests.clone()] {
                let hit = L2Hit {
                    xid: request.xid,
                    in_port: request.in_port,
                    eth_src: 1,
                    eth_dst: 2,
                    vlan: u16::MAX,
                    buffer_id: request.buffer_id,
                    out_port: 2,
                };
                self.0.stamp(out.stamp(), &hit);
            }
        }
    }
}
