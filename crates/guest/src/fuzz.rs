//! Any bytes of a guest: what it says must not do to the switch what it was not granted.

use aldis_control::Cookie;
use aldis_control::switch::SwitchInfo;
use aldis_wire::msg::{Message, Port, PortDetails, PortNo};
use aldis_wire::{Chop, DatapathId, FixedText, MacAddr, Version};

use crate::datapath::Datapath;
use crate::guest::{Guest, NoWorkers, Workers};
use crate::inbound::Inbound;
use crate::relay::Relay;
use crate::session::GuestSession;
use crate::spec::GuestSpec;

/// Grants, from everything to little.
const GRANTS: [&str; 4] = [
    r#"{"name": "fuzz", "connect": ":1"}"#,
    r#"{"name": "fuzz", "connect": ":1", "match": {"vlan_vid": "10"}, "ports": "1-2"}"#,
    r#"{"name": "fuzz", "connect": ":1", "tables": "1-3", "priorities": "5-9", "groups": "7", "experimenters": "8992"}"#,
    r#"{"name": "fuzz", "connect": ":1", "read_only": true}"#,
];

/// Says `bytes` behind the first, which chooses a grant and both versions. Panics where a message
/// reaches the switch that cannot be, or a flow that does not carry the mark of the guest.
pub fn inbound(bytes: &[u8]) {
    let Some((choice, bytes)) = bytes.split_first() else { return };
    let of = |bit: u8| if choice >> bit & 1 == 1 { Version::V13 } else { Version::V10 };
    let (native, version) = (of(2), of(3));
    let text = GRANTS[usize::from(choice & 3)];
    let Ok(spec) = serde_json::from_str::<GuestSpec>(text) else { panic!("{text}") };
    let datapath = datapath(spec, native);
    let (mut session, mut relay, mut back) = (GuestSession::default(), Relay::default(), vec![]);
    let mut inbound = Inbound {
        datapath: &datapath,
        session: &mut session,
        version,
        relay: &mut relay,
        back: &mut back,
    };
    Chop::new(bytes).map_while(Result::ok).for_each(|raw| inbound.take(raw));
    assert_eq!(Chop::new(&relay.bytes).count(), relay.meta.len());
    assert!(Chop::new(&back).all(|raw| raw.is_ok()));
    for raw in Chop::new(&relay.bytes).flatten() {
        assert_eq!(raw.header.version, native.wire());
        let Ok((_, message)) = Message::decode(native, raw.bytes) else { continue };
        if let Message::FlowMod(flow) = message.meaning() {
            assert!(Cookie(flow.cookie).same_app(Cookie::of("fuzz")), "{flow:?}");
        }
    }
}

fn datapath(spec: GuestSpec, version: Version) -> Datapath {
    let port = |number| Port {
        number: PortNo(number),
        hw_addr: MacAddr([2, 0, 0, 0, 0, 1]),
        name: FixedText::default(),
        admin_down: false,
        link_down: false,
        speed_kbps: 0,
        details: PortDetails::default(),
    };
    let ports = vec![port(1), port(2), port(3)];
    let info = SwitchInfo { dpid: DatapathId(7), version, buffers: 0, tables: 8, ports };
    Datapath::new(Guest::new(spec, Workers::new(NoWorkers), None).expect("a descriptor"), &info)
}

#[cfg(test)]
mod tests {
    use super::inbound;
    use proptest::prelude::*;

    proptest! {
        /// The fuzz target's law over bytes that look like messages.
        #[test]
        fn it_holds_for_messages_of_any_kind(
            choice: u8,
            kind in 0u8..32,
            body in prop::collection::vec(any::<u8>(), 0..120),
        ) {
            let version = if choice >> 3 & 1 == 1 { 4 } else { 1 };
            let length = (8 + body.len() as u16).to_be_bytes();
            inbound(&[&[choice, version, kind, length[0], length[1], 0, 0, 0, 1], &body[..]].concat());
        }
    }
}
