//! The network as it was found: links, rules that drop, hosts that cannot hear each other.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use crate::facts::{Facts, HostFacts, LinkFacts};
use crate::finding::{Diagnosis, Finding, Severity};

/// The application whose flows are rules.
const ACL: &str = "acl";

/// Bits of an address that hosts of one subnet have in common, as most networks have it.
const SUBNET: u32 = 0xffff_ff00;

/// A link works one way.
pub const ONE_WAY: Diagnosis = Diagnosis {
    id: "one-way-link",
    severity: Severity::Fault,
    title: "the link between switches {a} and {b} works one way only, and carries no traffic",
    shown_by: "probes that come through from one end and not from the other",
    what_to_do: "Check the cable, the transceivers and the flows of the end whose probes do not \
                 arrive; a flow that drops or forwards LLDP does this.",
    command: "aldis links",
};

/// A rule drops packets.
pub const DENIED: Diagnosis = Diagnosis {
    id: "acl-drops",
    severity: Severity::Hint,
    title: "rules of the ACL drop packets at switch {about}",
    shown_by: "flows of the application acl without an action, and the packets that they matched",
    what_to_do: "See whether the rule is meant; remove it, or put a rule that allows before it.",
    command: "aldis acl",
};

/// Hosts of one subnet are in different VLANs.
pub const VLANS: Diagnosis = Diagnosis {
    id: "hosts-in-different-vlans",
    severity: Severity::Hint,
    title: "hosts of the subnet {subnet} are in different VLANs, and do not hear each other",
    shown_by: "the hosts that the controller has seen, with their addresses and VLANs",
    what_to_do: "Put both into one VLAN, or a router between them.",
    command: "aldis hosts",
};

/// A link works one way only until probes crossed it both ways: for some seconds this is no fault.
const NEW_S: f64 = 5.0;

/// Links that carry nothing.
pub fn links(facts: &Facts) -> Vec<Finding> {
    let is_new = |link: &LinkFacts| link.found_s_ago.is_some_and(|ago| ago < NEW_S);
    let is_one_way = |link: &&LinkFacts| link.state == "one-way" && !is_new(link);
    let all: Vec<_> = facts.controller.links.iter().filter(is_one_way).collect();
    let Some(first) = all.first() else { return vec![] };
    let words = all.iter().map(|link| {
        let (a, b) = (&link.a, &link.b);
        format!("{} port {} - {} port {}: {}", a.dpid, a.port, b.dpid, b.port, link.state)
    });
    vec![ONE_WAY.found(&[("a", &first.a.dpid), ("b", &first.b.dpid)], words)]
}

/// Rules that drop something.
pub fn denied(facts: &Facts) -> Vec<Finding> {
    let mut dropping: Vec<(u64, &str, String)> = Vec::new();
    for (dpid, flows) in &facts.controller.flows {
        for flow in flows {
            let does_nothing = flow.actions.is_empty() && flow.then.is_empty();
            let packets = flow.packets.unwrap_or(0);
            if flow.owner.as_deref() == Some(ACL) && does_nothing && packets > 0 {
                let fields = flow.matching.iter().map(|(name, value)| format!("{name}={value}"));
                let fields = fields.collect::<Vec<_>>().join(",");
                dropping.push((packets, dpid, fields));
            }
        }
    }
    dropping.sort_by_key(|(packets, ..)| std::cmp::Reverse(*packets));
    let Some((_, dpid, _)) = dropping.first() else { return vec![] };
    let words = dropping.iter().map(|(packets, dpid, fields)| {
        format!("switch {dpid}: {fields}: {packets} packets dropped")
    });
    vec![DENIED.found(&[("about", dpid)], words)]
}

/// Hosts that have addresses of one subnet, and are in VLANs that do not meet.
pub fn vlans(facts: &Facts) -> Vec<Finding> {
    let mut subnets: BTreeMap<u32, BTreeMap<u16, &HostFacts>> = BTreeMap::new();
    for host in &facts.controller.hosts {
        let addresses = host.ips.iter().filter_map(|ip| ip.parse::<Ipv4Addr>().ok());
        for address in addresses.filter(|address| !address.is_link_local()) {
            subnets.entry(u32::from(address) & SUBNET).or_default().insert(host.vlan, host);
        }
    }
    let split: Vec<_> = subnets.iter().filter(|(_, vlans)| vlans.len() > 1).collect();
    let Some((subnet, _)) = split.first() else { return vec![] };
    let words = split.iter().flat_map(|(_, vlans)| vlans.values()).map(|host| {
        let vlan = match host.vlan {
            0 => "no VLAN".into(),
            vlan => format!("VLAN {vlan}"),
        };
        format!(
            "{} ({}) at switch {} port {} is in {vlan}",
            host.ips.join(" "),
            host.mac,
            host.dpid,
            host.port
        )
    });
    let subnet = format!("{}/24", Ipv4Addr::from(**subnet));
    vec![VLANS.found(&[("subnet", &subnet)], words)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::{EndFacts, FlowFacts};

    fn ids(facts: &Facts) -> Vec<&'static str> {
        let rules = [links, denied, vlans];
        rules.iter().flat_map(|rule| rule(facts)).map(|found| found.id).collect()
    }

    #[test]
    fn a_link_that_works_one_way_is_named_with_its_ends() {
        let mut facts = Facts::default();
        let end = |dpid: &str| EndFacts { dpid: dpid.into(), port: 2 };
        let (a, b, state) = (end("01"), end("02"), "one-way".into());
        let link = LinkFacts { a, b, state, found_s_ago: Some(9.0), ..LinkFacts::default() };
        facts.controller.links = vec![LinkFacts { state: "up".into(), ..link.clone() }];
        assert!(ids(&facts).is_empty());
        facts.controller.links.push(LinkFacts { found_s_ago: Some(0.4), ..link.clone() });
        assert!(ids(&facts).is_empty(), "it was found just now");
        facts.controller.links.push(link);
        assert!(links(&facts)[0].title.contains("between switches 01 and 02"));
    }

    #[test]
    fn a_rule_that_dropped_something_is_named() {
        let mut facts = Facts::default();
        let fields = [("ipv4_src".to_owned(), "10.0.0.1".to_owned())].into();
        let mut flow = FlowFacts { matching: fields, ..FlowFacts::default() };
        (flow.owner, flow.packets) = (Some(ACL.into()), Some(0));
        let with = |facts: &mut Facts, flow: &FlowFacts| {
            facts.controller.flows.insert("01".into(), vec![flow.clone()]);
        };
        with(&mut facts, &flow);
        assert!(ids(&facts).is_empty(), "it dropped nothing yet");
        flow.packets = Some(3);
        with(&mut facts, &flow);
        assert_eq!(denied(&facts)[0].evidence, ["switch 01: ipv4_src=10.0.0.1: 3 packets dropped"]);
        flow.then = vec!["goto-table:1".into()];
        with(&mut facts, &flow);
        assert!(ids(&facts).is_empty(), "it lets them pass");
    }

    #[test]
    fn hosts_of_one_subnet_in_two_vlans_are_named() {
        let mut facts = Facts::default();
        let host =
            |ip: &str, vlan| HostFacts { ips: vec![ip.into()], vlan, ..HostFacts::default() };
        facts.controller.hosts = vec![host("10.0.0.1", 10), host("10.0.1.2", 20)];
        assert!(ids(&facts).is_empty(), "two subnets");
        facts.controller.hosts.push(host("10.0.0.7", 20));
        assert!(vlans(&facts)[0].title.contains("10.0.0.0/24"));
    }
}
