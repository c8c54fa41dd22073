//! Laws: whatever comes and goes, no link is false, and none is lost.

use proptest::prelude::*;

use super::*;

/// What happens to a network.
#[derive(Clone, Debug)]
enum TopologyStep {
    Join(u64),
    Leave(u64),
    Up(SwitchPort),
    Down(SwitchPort),
    /// A cable, between ports that went down for it.
    Plug(SwitchPort, SwitchPort),
    Host(SwitchPort),
    Loss,
    Pass(u64),
}

fn step() -> impl Strategy<Value = TopologyStep> {
    let place = || (0u64..5, 1u32..5).prop_map(|(dpid, number)| port(dpid, number));
    prop_oneof![
        1 => (0u64..5).prop_map(TopologyStep::Join),
        1 => (0u64..5).prop_map(TopologyStep::Leave),
        4 => place().prop_map(TopologyStep::Up),
        2 => place().prop_map(TopologyStep::Down),
        3 => (place(), place()).prop_map(|(one, other)| TopologyStep::Plug(one, other)),
        1 => place().prop_map(TopologyStep::Host),
        1 => Just(TopologyStep::Loss),
        3 => (1u64..9000).prop_map(TopologyStep::Pass),
    ]
}

fn apply(net: &mut TestNet, step: TopologyStep) {
    match step {
        TopologyStep::Join(dpid) if net.up.iter().all(|port| port.dpid.0 != dpid) => {
            net.leave(dpid);
            net.join(dpid);
            (1..5).for_each(|number| net.port_up(port(dpid, number)));
        }
        TopologyStep::Leave(dpid) => net.leave(dpid),
        TopologyStep::Up(at) if net.up.iter().any(|port| port.dpid == at.dpid) => net.port_up(at),
        TopologyStep::Down(at) => net.port_down(at),
        TopologyStep::Plug(one, other) if one != other => {
            // Cables are changed where ports are, which go down for it and come up again.
            let ends =
                [one, other].into_iter().flat_map(|at| [Some(at), net.cables.get(&at).copied()]);
            let ends: BTreeSet<_> = ends.flatten().filter(|at| net.up.contains(at)).collect();
            ends.iter().for_each(|&at| net.port_down(at));
            net.unplug(one);
            net.unplug(other);
            net.wire.clear();
            net.plug(one, other);
            ends.iter().for_each(|&at| net.port_up(at));
        }
        // A host is where no cable is.
        TopologyStep::Host(at) if !net.cables.contains_key(&at) => {
            net.discovery.host_shown(net.now, at)
        }
        TopologyStep::Loss => net.wire.clear(),
        TopologyStep::Pass(ms) => net.run(ms),
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever comes and goes: never a link that there is not, and when it is quiet, every link
    /// that there is. Others are told where to look.
    #[test]
    fn no_link_is_false_and_none_is_lost(steps in prop::collection::vec(step(), 1..120)) {
        let mut net = TestNet::new(TopologyConfig::default());
        for step in steps {
            apply(&mut net, step);
            prop_assert!(net.is_true() && net.is_told());
        }
        net.run(100_000);
        prop_assert_eq!(net.states(), net.real());
        prop_assert!(net.is_told());
    }
}
