//! A network that its caller drives: frames of the caller's choice are sent, and those that hosts
//! receive are seen.

use super::TurnController;
use aldis_emulator::network::{CheckFinding, ScriptAction, ScriptNode, drive, host_address};
use std::time::Duration;

const SOON: Duration = Duration::from_millis(50);

#[test]
fn a_frame_arrives_where_it_should_until_a_link_breaks() {
    let (controller, _) = TurnController::start(&[]);
    let plan = controller.plan("single,3", "");
    let seen = drive(&plan, |network| {
        let (to, _) = host_address(2);
        let (from, _) = host_address(1);
        let frame = [&to[..], &from, &[0x88, 0xb6], &[7; 46]].concat();
        let mut seen = vec![];
        for action in
            [None, Some(ScriptAction::LinkDown(ScriptNode::Host(2), ScriptNode::Switch(1)))]
        {
            action.map_or(Ok(()), |action| network.act(action)).unwrap();
            network.pass(SOON)?;
            network.take_arrived();
            network.send(1, &frame);
            network.pass(SOON)?;
            let arrived = network.take_arrived();
            assert!(arrived.iter().all(|(_, bytes)| *bytes == frame));
            seen.push(arrived.into_iter().map(|(host, _)| host).collect::<Vec<_>>());
        }
        Ok((network.hosts(), seen))
    });
    let (hosts, mut seen) = seen.unwrap();
    seen.iter_mut().for_each(|hosts| hosts.sort());
    assert_eq!((hosts, seen), (3, vec![vec![2, 3], vec![3]]));
}

#[test]
fn what_is_asked_is_found_out_and_what_cannot_be_is_refused() {
    let (controller, _) = TurnController::start(&[]);
    let plan = controller.plan("single,2", "");
    let pings = drive(&plan, |network| {
        let ping = |to| ScriptAction::Ping { from: 1, to, v6: false };
        assert!(network.act(ping(9)).unwrap_err().contains("h9"));
        network.act(ping(2)).unwrap();
        network.finish_checks()?;
        Ok(network.take_findings())
    });
    let [CheckFinding::Pinged(pinged)] = &pings.unwrap()[..] else { panic!("one ping") };
    assert_eq!((pinged.sent(), pinged.received()), (1, 1));
}
