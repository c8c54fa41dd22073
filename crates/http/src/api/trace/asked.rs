//! Which applications the controller hands a packet to, guests among them.

use aldis_apps::trace::TracePacket;
use aldis_guest::{GuestState, GuestStatus, Otherwise};
use aldis_wire::DatapathId;

use crate::controller::Controller;

/// The applications that see flow requests, and the guests among them, as they are now.
pub(super) struct Asked {
    apps: Vec<String>,
    guests: Vec<GuestStatus>,
}

impl Asked {
    pub(super) fn of(controller: &dyn Controller) -> Asked {
        let sequences = controller.apps().sequences;
        let on_request = sequences.into_iter().find(|sequence| sequence.on == "flow-request");
        let apps = on_request.map_or_else(Vec::new, |sequence| sequence.apps);
        Asked { apps, guests: controller.guests() }
    }

    /// Those that a packet comes to, in order. A guest that answers, or for which requests are
    /// dropped while it cannot, is the last; one that is passed by is left out.
    pub(super) fn about(&self, dpid: DatapathId, packet: &TracePacket) -> Vec<String> {
        let mut asks = vec![];
        for app in &self.apps {
            let guest = self.guests.iter().find(|guest| guest.spec.name == *app);
            let place = guest.map_or(Place::GoesOn, |guest| place(guest, dpid, packet));
            if place != Place::PassedBy {
                asks.push(app.clone());
            }
            if place == Place::Ends {
                break;
            }
        }
        asks
    }
}

/// What becomes of a packet at an application.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    PassedBy,
    GoesOn,
    Ends,
}

fn place(guest: &GuestStatus, dpid: DatapathId, packet: &TracePacket) -> Place {
    let spec = &guest.spec;
    let has_port = |port| spec.ports.as_ref().is_none_or(|ports| ports.0.contains(port));
    if !spec.has_switch(dpid) || !has_port(packet.in_port().0) || !packet.is_of(&spec.matching.0) {
        return Place::PassedBy;
    }
    let serves = match guest.state {
        GuestState::Serving | GuestState::Shedding | GuestState::Flooding => true,
        GuestState::Away | GuestState::Paused | GuestState::Quarantined => false,
    };
    match (serves, spec.observe, spec.otherwise) {
        (true, true, _) => Place::GoesOn,
        (true, false, _) | (false, false, Otherwise::Drop) => Place::Ends,
        (false, _, _) => Place::PassedBy,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aldis_guest::GuestSpec;
    use aldis_wire::msg::{Match, PortNo};
    use serde_json::json;

    fn guest(name: &str, state: GuestState, more: serde_json::Value) -> GuestStatus {
        let mut spec = json!({"name": name, "connect": "127.0.0.1:6654"});
        let (fields, more) = (spec.as_object_mut().unwrap(), more.as_object().unwrap().clone());
        fields.extend(more);
        let spec: GuestSpec = serde_json::from_value(spec).unwrap();
        GuestStatus { spec, ..crate::api::guests::tests::guest(name, state) }
    }

    #[test]
    fn a_guest_that_answers_is_the_last() {
        let guests = vec![
            guest("lab", GuestState::Serving, json!({"match": {"vlan_vid": "10"}})),
            guest("watch", GuestState::Serving, json!({"observe": true})),
            guest("away", GuestState::Away, json!({"switches": ["1"]})),
            guest("deaf", GuestState::Paused, json!({"switches": ["2"], "otherwise": "drop"})),
        ];
        let apps = ["watch", "lab", "away", "deaf", "hub"].map(str::to_owned).to_vec();
        let asked = Asked { apps, guests };
        let packet = |of: Match| TracePacket::of(PortNo(1), &of).unwrap();
        let (plain, tagged) = (packet(Match::default()), packet(Match::default().vlan(10)));
        let about = |dpid, packet| asked.about(DatapathId(dpid), packet).join(" ");
        assert_eq!(about(1, &plain), "watch hub");
        assert_eq!(about(1, &tagged), "watch lab");
        assert_eq!(about(2, &plain), "watch deaf");
    }
}
