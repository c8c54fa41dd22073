//! Which hosts stand against a link, and which do not: those that were hidden do, and those whose
//! frames came through the link itself do not.

use super::*;

fn far(frame: &[u8]) -> bool {
    frame[12..14] == FAR_ETHERTYPE.to_be_bytes()
}

fn flap(net: &mut TestNet, ends: Ends) {
    for at in ends.ports() {
        net.port_down(at);
        net.run(100);
        net.port_up(at);
    }
}

/// Two hosts make their ports go down and up to be forgotten, keep LLDP to themselves, and hand on
/// broadcasts.
#[test]
fn a_port_that_went_down_to_be_forgotten_has_to_prove_a_link_by_broadcasts_too() {
    let mut net = TestNet::of_two();
    let relay = Ends::new(port(1, 2), port(2, 2));
    flap(&mut net, relay);
    net.run_with(30_000, |net, from, frame| {
        if relay.ports().contains(&from) && far(frame) {
            net.send(MS, relay.across(from), frame.to_vec());
        }
    });
    assert_eq!(net.states().get(&relay), Some(&LinkState::Unproven));
}

/// The same among other links, where the relay takes longer than these.
#[test]
fn a_slow_relay_of_broadcasts_never_proves_itself() {
    let mut net = TestNet::new(TopologyConfig::default());
    for dpid in 1..8 {
        net.join(dpid);
        (1..4).for_each(|number| net.port_up(port(dpid, number)));
        (0..20).for_each(|_| net.discovery.control_rtt(DatapathId(dpid), MS / 2));
        net.plug(port(dpid, 2), port(dpid % 7 + 1, 1));
    }
    let relay = Ends::new(port(1, 3), port(4, 3));
    net.run(10_000);
    relay.ports().iter().for_each(|&at| net.discovery.host_shown(net.now, at));
    flap(&mut net, relay);
    net.run_with(200_000, |net, from, frame| {
        if relay.ports().contains(&from) && far(frame) {
            net.send(MS * 4, relay.across(from), frame.to_vec());
        }
    });
    assert_eq!(net.states().remove(&relay), Some(LinkState::Unproven));
    assert!(net.real().into_iter().all(|(ends, state)| net.states()[&ends] == state));
}

#[test]
fn a_host_that_was_silent_for_long_is_not_forgotten() {
    for flaps in [false, true] {
        let mut net = TestNet::of_two();
        let relay = Ends::new(port(1, 2), port(2, 2));
        net.run(310_000);
        if flaps {
            flap(&mut net, relay);
        }
        net.plug(port(1, 2), port(2, 2));
        net.run(10_000);
        assert_eq!(net.states().get(&relay), Some(&LinkState::Unproven), "{flaps}");
        net.run(90_000);
        assert_eq!(net.states(), net.real(), "{flaps}");
    }
}

/// A switch does not read for a while, say: probes are lost, and frames go on through the cable.
#[test]
fn a_link_whose_probes_were_lost_for_a_while_comes_back_though_frames_came_through() {
    let mut net = TestNet::of_two();
    let cable = Ends::new(port(1, 1), port(2, 1));
    net.unplug(port(1, 1));
    net.run(20_000);
    assert!(net.states().is_empty());
    cable.ports().iter().for_each(|&at| net.discovery.host_shown(net.now, at));
    net.plug(port(1, 1), port(2, 1));
    net.run(10_000);
    assert_eq!(net.states(), net.real());
}

/// One end of a cable is turned off and on again, the other does not notice, and a frame is quicker
/// than the first probe.
#[test]
fn a_link_comes_back_with_one_of_its_ports_though_a_frame_was_first() {
    let mut net = TestNet::of_two();
    net.port_down(port(1, 1));
    net.run(3000);
    net.port_up(port(1, 1));
    net.discovery.host_shown(net.now, port(2, 1));
    net.run(2000);
    assert_eq!(net.states(), net.real());
}

/// Two switches lose their controller one after the other, and frames go on through the cable
/// between them.
#[test]
fn a_link_of_switches_that_went_and_came_has_nothing_to_prove() {
    let mut net = TestNet::of_two();
    for dpid in [2, 1] {
        net.leave(dpid);
        net.discovery.host_shown(net.now, port(1, 1));
        net.run(1000);
    }
    for dpid in 1..3 {
        net.join(dpid);
        (1..4).for_each(|number| net.port_up(port(dpid, number)));
    }
    net.run(2000);
    assert_eq!(net.states(), net.real());
}

/// A network ends and another one begins, with switches of the same names and addresses: there is a
/// cable where hosts were.
#[test]
fn what_showed_before_a_switch_went_says_nothing_of_one_that_comes_under_its_name() {
    for flaps in [false, true] {
        let mut net = TestNet::of_two();
        if flaps {
            flap(&mut net, Ends::new(port(1, 2), port(2, 2)));
        }
        [1, 2].into_iter().for_each(|dpid| net.leave(dpid));
        net.unplug(port(1, 1));
        net.plug(port(1, 2), port(2, 3));
        net.run(1000);
        for dpid in 1..3 {
            net.join(dpid);
            (1..4).for_each(|number| net.port_up(port(dpid, number)));
        }
        net.run(2000);
        assert_eq!((net.states(), net.real().len()), (net.real(), 1), "{flaps}");
    }
}

#[test]
fn a_port_with_another_address_is_another_port() {
    for other_mac in [false, true] {
        let mut net = TestNet::of_two();
        let cable = Ends::new(port(1, 2), port(2, 2));
        cable.ports().iter().for_each(|&at| net.port_down(at));
        net.plug(port(1, 2), port(2, 2));
        for at in cable.ports() {
            if other_mac {
                net.discovery.port_up(net.now, at, MacAddr::from_u64(0x0a00_0000_0000));
            }
            net.port_up(at);
        }
        net.run(2000);
        let expected = if other_mac { LinkState::Up } else { LinkState::Unproven };
        assert_eq!(net.states().get(&cable), Some(&expected));
    }
}

#[test]
fn a_cable_proves_itself_in_seconds() {
    let mut net = TestNet::of_two();
    let cable = Ends::new(port(1, 2), port(2, 2));
    flap(&mut net, cable);
    net.plug(port(1, 2), port(2, 2));
    net.run(11_000);
    assert_eq!(net.states().get(&cable), Some(&LinkState::Unproven));
    net.run(3_000);
    assert_eq!(net.states(), net.real());
}

#[test]
fn where_a_link_was_no_other_one_is_excused() {
    let mut net = TestNet::of_two();
    net.join(3);
    net.port_up(port(3, 1));
    net.run(10_000);
    net.unplug(port(1, 1));
    net.run(20_000);
    net.discovery.host_shown(net.now, port(1, 1));
    net.plug(port(1, 1), port(3, 1));
    net.run(10_000);
    assert_eq!(net.states(), BTreeMap::new());
    assert!(net.discovery.counters().host_port > 0);
}

/// With so many ports that the first probe of most leaves late, after frames of hosts came through
/// the cable.
#[test]
fn a_link_is_found_however_long_its_first_probe_had_to_wait() {
    let mut net =
        TestNet::new(TopologyConfig { probes_per_s_max: 20, ..TopologyConfig::default() });
    let ends = [port(1, 150), port(2, 150)];
    net.plug(ends[0], ends[1]);
    for dpid in 1..3 {
        net.join(dpid);
        (1..=200).for_each(|number| net.port_up(port(dpid, number)));
    }
    for _ in 0..60 {
        net.run(1000);
        ends.iter().for_each(|&at| net.discovery.host_shown(net.now, at));
    }
    assert_eq!(net.states(), net.real());
}

/// More ports than one may have links to: what comes in first is a matter of chance.
#[test]
fn a_link_through_a_crowded_switch_of_others_stays() {
    let (mut net, mut random) = (TestNet::new(TopologyConfig::default()), Random::new(3));
    let segment: Vec<_> = (1..=24).map(|dpid| port(dpid, 1)).collect();
    for &at in &segment {
        net.join(at.dpid.0);
        net.port_up(at);
    }
    let mut pass = |net: &mut TestNet, ms| {
        net.run_with(ms, |net, from, frame| {
            for &to in segment.iter().filter(|&&to| to != from && far(frame)) {
                net.send(Duration::from_micros(500 + random.below(1000)), to, frame.to_vec());
            }
        });
    };
    pass(&mut net, 60_000);
    let mut up = net.states();
    up.retain(|_, state| *state == LinkState::Up);
    assert!(up.len() > 100);
    for _ in 0..100 {
        pass(&mut net, 10_000);
        let states = net.states();
        assert!(up.keys().all(|ends| states.get(ends) == Some(&LinkState::Up)), "{:?}", net.now);
    }
}

/// It may be given one while it is up.
#[test]
fn a_port_that_is_given_another_address_sends_probes_with_it() {
    let mut net = TestNet::of_two();
    let (at, mac) = (port(1, 1), MacAddr::from_u64(0x0a0a_0a0a_0a0a));
    net.discovery.port_up(net.now, at, mac);
    let mut left = vec![];
    net.run_with(10_000, |_, from, frame| {
        if from == at {
            left.push(frame[6..12].to_vec());
        }
    });
    assert!(!left.is_empty() && left.iter().all(|source| *source == mac.0));
    assert_eq!(net.discovery.ports_of(at.dpid).next().map(|port| port.mac), Some(mac));
    assert_eq!(net.states(), net.real());
}

/// A restarted controller that kept its key counts from the beginning, and sends nothing that it
/// sent before.
#[test]
fn what_was_sent_in_a_run_before_is_not_believed_in_this_one() {
    let run = |drawn: u8, lie: &mut dyn FnMut(&mut TestNet, SwitchPort, &[u8])| {
        let mut net = TestNet::new(TopologyConfig::default());
        net.discovery = Discovery::new(TopologyConfig::default(), TagKey::kept(KEY, [drawn; 32]));
        for at in [port(1, 1), port(2, 1)] {
            net.join(at.dpid.0);
            net.port_up(at);
        }
        net.run_with(30_000, lie);
        (net.states(), *net.discovery.counters())
    };
    let mut before = BTreeMap::new();
    run(1, &mut |_, from, frame| {
        before.insert(frame.to_vec(), from);
    });
    let (states, counters) = run(2, &mut |net, _, frame| {
        assert!(!before.contains_key(frame));
        for (old, from) in &before {
            let to = if from.dpid.0 == 1 { port(2, 1) } else { port(1, 1) };
            net.send(MS, to, old.clone());
        }
    });
    assert_eq!((states, counters.heard), (BTreeMap::new(), 0));
    assert!(counters.replayed > 0 && counters.forged == 0);
}
