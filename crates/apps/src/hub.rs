//! A hub, for teaching: every packet leaves by every port but the one that it came in on, and no
//! flow is installed.
//!
//! What is seen with it is what a controller is asked: each packet of each conversation, on every
//! switch.

use aldis_control::app::Next;
use aldis_control::{App, Output, Request};
use aldis_wire::msg::{Action, PortNo};

/// The application.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hub;

impl App for Hub {
    type Slot = ();

    const NAME: &'static str = "hub";

    fn packet_in(&mut self, request: &Request<'_>, (): (), out: &mut Output) -> Next {
        if let Some(packet) = request.packet() {
            out.answer(request, packet.actions([Action::output(PortNo::FLOOD)]));
        }
        // Nothing is left to be answered: a later application would send the packet twice.
        Next::Stop
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::switch::{TestSwitch, request};
    use aldis_wire::Version;
    use aldis_wire::msg::Message;

    #[test]
    fn every_packet_leaves_by_every_other_port() {
        for version in Version::ALL {
            let mut bench = TestSwitch::new(version, |app_set| app_set.with(|| Hub));
            let frame = [[0xff; 6], [2; 6]].concat();
            let said = bench.request(&mut [request(3, &frame), request(4, &frame)]);
            let ports: Vec<_> = said
                .into_iter()
                .map(|(_, message)| match message {
                    Message::PacketOut(packet) => {
                        assert_eq!(packet.actions, [Action::output(PortNo::FLOOD)]);
                        (packet.in_port.0, packet.data)
                    }
                    other => panic!("{other:?}"),
                })
                .collect();
            assert_eq!(ports, [(3, frame.clone()), (4, frame)]);
        }
    }
}
