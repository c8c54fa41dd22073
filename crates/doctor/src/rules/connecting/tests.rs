use super::*;
use crate::facts::{KnownFacts, OvsFacts, ProcessFacts, SwitchFacts};

fn up() -> Facts {
    let mut facts = Facts::default();
    facts.controller.answer = Answer::Yes;
    facts.controller.url = "http://127.0.0.1:8080".into();
    facts.controller.is_here = true;
    facts.machine.process =
        Some(ProcessFacts { ports: vec![8080, 6653], files_max: 1024, ..Default::default() });
    facts
}

fn bridge(target: &str, tried: Tried) -> BridgeFacts {
    let is_here = target.contains("127.0.0.1");
    let target = TargetFacts {
        target: target.into(),
        is_here,
        tried: Some(tried),
        last_error: "Connection refused".into(),
        ..TargetFacts::default()
    };
    BridgeFacts {
        name: "s1".into(),
        dpid: Some("0000000000000001".into()),
        controllers: vec![target],
        ..BridgeFacts::default()
    }
}

fn with(bridge: BridgeFacts) -> Facts {
    Facts { ovs: Some(OvsFacts { bridges: vec![bridge], ..OvsFacts::default() }), ..up() }
}

fn first(facts: &Facts) -> (String, String) {
    let all = crate::diagnose(facts);
    let first = all.first().unwrap_or_else(|| panic!("nothing was found"));
    (first.id.into(), first.command.clone())
}

fn id(facts: &Facts) -> String {
    first(facts).0
}

fn listener(port: u16, name: &str) -> ListenerFacts {
    let address = "0.0.0.0".parse().unwrap();
    ListenerFacts { address, port, process: Some((42, name.into())) }
}

#[test]
fn without_a_controller_that_is_said_and_what_has_its_port() {
    let mut facts = Facts::default();
    facts.controller.is_here = true;
    assert_eq!(first(&facts), ("controller-not-running".into(), "aldis run".into()));
    facts.machine.listeners = vec![listener(22, "sshd"), listener(6653, "ryu-manager")];
    assert_eq!(first(&facts), ("port-taken".into(), "kill 42 && aldis run".into()));
    facts.machine.listeners = vec![listener(7000, "aldis")];
    assert_eq!(id(&facts), "controller-without-http");
    facts.controller.is_here = false;
    assert_eq!(id(&facts), "controller-not-reached");
}

#[test]
fn a_controller_that_says_no_is_not_judged() {
    let mut facts = up();
    facts.controller.answer = Answer::No("a key".into());
    assert!(crate::diagnose(&facts).is_empty());
}

#[test]
fn a_wrong_port_is_told_from_a_wrong_address_and_from_a_firewall() {
    let refused = with(bridge("tcp:127.0.0.1:6699", Tried::Refused));
    let command = "ovs-vsctl set-controller s1 tcp:127.0.0.1:6653";
    assert_eq!(first(&refused), ("wrong-port".into(), command.into()));
    let away = with(bridge("tcp:10.9.9.9:6653", Tried::NoRoute));
    assert_eq!(first(&away), ("wrong-address".into(), command.into()));
    assert_eq!(id(&with(bridge("tcp:10.9.9.9:6653", Tried::Refused))), "wrong-address");
    assert_eq!(id(&with(bridge("tcp:10.9.9.9:6653", Tried::Silent))), "firewall");
}

#[test]
fn a_bridge_that_is_served_is_not_judged() {
    let mut facts = with(bridge("tcp:127.0.0.1:6699", Tried::Refused));
    let dpid = "0000000000000001".to_owned();
    facts.controller.switches[1] = vec![SwitchFacts { dpid, ..SwitchFacts::default() }];
    assert!(crate::diagnose(&facts).is_empty());
}

#[test]
fn versions_are_compared() {
    let mut other = bridge("tcp:127.0.0.1:6653", Tried::Accepted);
    other.protocols = vec!["OpenFlow14".into()];
    let mut facts = with(other);
    let known = KnownFacts { id: VERSION.id.into(), about: "x".into(), ..KnownFacts::default() };
    facts.controller.health.findings = vec![known];
    let command = "ovs-vsctl set bridge s1 protocols=OpenFlow10,OpenFlow13";
    assert_eq!(first(&facts), ("version-mismatch".into(), command.into()));
    assert_eq!(crate::diagnose(&facts).len(), 1, "it is said once");
    facts.ovs = None;
    assert_eq!(id(&facts), "version-mismatch");
}

#[test]
fn a_bridge_that_is_to_encrypt_needs_a_certificate() {
    let mut facts = with(bridge("ssl:127.0.0.1:6654", Tried::Accepted));
    assert_eq!(id(&facts), "tls-without-certificate");
    facts.ovs.as_mut().unwrap().has_certificate = true;
    let known =
        KnownFacts { id: TLS_REFUSED.id.into(), about: "1".into(), ..KnownFacts::default() };
    facts.controller.health.findings = vec![known];
    assert_eq!(id(&facts), "tls-refused");
}

#[test]
fn where_nothing_else_is_wrong_it_is_said_that_no_switch_connects() {
    assert_eq!(id(&up()), "no-switch");
    let alone = BridgeFacts { name: "br0".into(), ..BridgeFacts::default() };
    assert_eq!(id(&with(alone)), "bridge-without-controller");
}
