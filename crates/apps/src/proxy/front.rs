//! What the proxies do with what they decide: a frame is answered, sent where it belongs, dropped,
//! or goes its way.

use aldis_control::app::Next;
use aldis_control::batch::Request;
use aldis_control::world::PartId;
use aldis_control::{Batch, Output, Part, SwitchPort, Time};
use aldis_packet::Ethernet;
use aldis_wire::NO_BUFFER;
use aldis_wire::msg::{Action, PacketOut};

use super::ProxyDecision;
use crate::hosts::{Edges, Hosts};
use crate::send::send_out;
use crate::topology::Map;

/// What every proxy reads.
pub(crate) const READS: &[PartId] = &[Hosts::ID, Map::ID];

/// Carries out what `decide` says of each request that is the proxy's business, by its frame, and
/// comes from a port that is no link between switches. What has to be flooded goes on to the
/// applications that know how.
///
/// Nearly all frames are none of a proxy's business. They cost it a look at their ethertype and no
/// look at the map.
#[inline]
pub(crate) fn serve(
    batch: &mut Batch<'_>,
    out: &mut Output,
    is_ours: impl Fn(&Ethernet<'_>) -> bool,
    mut decide: impl FnMut(Time, &[u8], SwitchPort, &Hosts) -> ProxyDecision,
) {
    let concerns = |frame: &[u8]| Ethernet::new(frame).is_some_and(|frame| is_ours(&frame));
    if !batch.requests.iter().any(|request| concerns(batch.frame(request))) {
        return;
    }
    let (now, world) = (batch.now, batch.world);
    let (hosts, map) = (world.part::<Hosts>(), world.part::<Map>());
    let mut edges = Edges::new(map);
    batch.each(|request| {
        if !concerns(request.frame) {
            return Next::Continue;
        }
        let Some(at) = edges.of(request) else { return Next::Continue };
        match decide(now, request.frame, at, hosts) {
            ProxyDecision::Pass | ProxyDecision::Flood => return Next::Continue,
            ProxyDecision::Drop(_) => {}
            ProxyDecision::Answer(frame) => {
                let back = [Action::output(request.in_port())];
                out.answer(request, PacketOut::frame(frame).actions(back));
            }
            ProxyDecision::SendTo(places) => {
                // What the switch cut cannot be sent on from here.
                if request.header.frame_len < request.header.total_len {
                    return Next::Continue;
                }
                for place in places.iter() {
                    if let Some(switch) = map.switch(place.dpid) {
                        send_out(out.commands(), switch.version, place, request.frame);
                    }
                }
            }
        }
        forget(request, out);
        Next::Stop
    });
}

/// Lets the switch forget the packet that it keeps, if it does.
fn forget(request: &Request<'_>, out: &mut Output) {
    if request.header.buffer_id != NO_BUFFER {
        let packet = PacketOut::buffered(request.header.buffer_id);
        out.answer(request, packet.from_port(request.in_port()));
    }
}
