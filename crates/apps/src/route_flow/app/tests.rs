//! The application over the pipeline, with the hosts that it reads.

use aldis_control::{AppSet, Tables};
use aldis_packet::{ethernet, ethertype};
use aldis_wire::msg::{Action, FlowMod, FlowModCommand, Instruction};
use aldis_wire::{MacAddr, Version};

use super::*;
use crate::hosts::{HostTracker, HostsConfig};
use crate::learning_switch::Seed;
use crate::routing::{Routing, Shortest};
use crate::testing::network::TestNetwork;
use crate::topology::{TagKey, Topology, TopologyConfig};

fn mac(host: u8) -> MacAddr {
    MacAddr([2, 0, 0, 0, 0, host])
}

fn packet(from: u8, to: u8) -> Vec<u8> {
    let head = ethernet::header(mac(to).0, mac(from).0, ethertype::IPV4);
    [&head[..], &[0x45; 60]].concat()
}

/// A switch whose ports are known to be hosts' alone.
fn lab() -> TestNetwork {
    let path_log = Arc::new(PathLog::new(100));
    let style = Style::of_route_flow(60, Tables::One);
    let app_set = AppSet::default()
        .with(|| Topology::new(TopologyConfig::default(), TagKey::new([9; 32])))
        .with(|| HostTracker::new(HostsConfig::new(Seed::new([7; 16]))))
        .with(|| Routing::new(Arc::new(Shortest::default()), false))
        .with(move || RouteFlow::new(style, Arc::clone(&path_log)));
    let mut net = TestNetwork::new(&app_set);
    net.join(1, Version::V10, 5);
    net.pass(2000);
    net
}

/// The ports that packets between two hosts are sent out of, and that their flows lead out of.
fn sends(net: &mut TestNetwork, at: SwitchPort, (from, to): (u8, u8)) -> (Vec<u32>, Vec<u32>) {
    net.sent.clear();
    net.flows.clear();
    net.asks(at, &packet(from, to));
    let sent = net.sent.iter().filter(|(_, frame)| frame[..6] == mac(to).0);
    let added = net.flows.iter().filter(|(_, flow)| flow.command == FlowModCommand::ADD);
    let leads_to = |flow: &FlowMod| match &flow.instructions[..] {
        [Instruction::ApplyActions(actions)] => match actions[..] {
            [Action::Output { port, .. }] => port.0,
            _ => panic!("{actions:?}"),
        },
        others => panic!("{others:?}"),
    };
    let leads_to = added.map(|(_, flow)| leads_to(flow)).collect();
    (sent.map(|(at, _)| at.port.0).collect(), leads_to)
}

/// What a worker remembers of a flow holds as long as its receiver stays where it is, whatever
/// other hosts do; and not when that moved, though it is the same flow a moment later.
#[test]
fn a_flow_leads_to_where_its_receiver_is_now() {
    let mut net = lab();
    let [one, two, moved] = [1, 2, 3].map(|port| SwitchPort::new(1, port));
    net.asks(two, &packet(2, 9));
    net.asks(one, &packet(1, 9));
    net.pass(2);
    assert_eq!(sends(&mut net, one, (1, 2)), (vec![2], vec![2]), "installed");
    assert_eq!(sends(&mut net, one, (1, 2)), (vec![2], vec![]), "on its way");
    net.asks(one, &packet(7, 9));
    net.pass(2);
    assert!(net.part::<Hosts>().by_mac(mac(7), 0).is_some(), "another host came");
    assert_eq!(sends(&mut net, one, (1, 2)), (vec![2], vec![]), "and it still is");
    net.turn(two, false);
    net.pass(2);
    assert_eq!(sends(&mut net, one, (1, 2)), (vec![], vec![]), "its receiver is nowhere");
    net.asks(moved, &packet(2, 9));
    net.pass(2);
    assert_eq!(sends(&mut net, one, (1, 2)), (vec![3], vec![3]), "it is elsewhere");
    assert_eq!(sends(&mut net, one, (1, 2)), (vec![3], vec![]));
}
