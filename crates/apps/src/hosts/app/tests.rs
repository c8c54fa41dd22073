//! The application over the pipeline, together with the topology that it reads.

use std::net::IpAddr;

use aldis_control::AppSet;
use aldis_packet::{Arp, Ethernet, arp, ethernet, ethertype};
use aldis_wire::{MacAddr, Version};

use super::*;
use crate::learning_switch::Seed;
use crate::testing::network::TestNetwork;
use crate::topology::{TagKey, Topology};

const HERE: SwitchPort = SwitchPort::new(1, 2);
const THERE: SwitchPort = SwitchPort::new(2, 2);

fn mac(host: u8) -> MacAddr {
    MacAddr([2, 0, 0, 0, 0, host])
}

fn ip(host: u8) -> IpAddr {
    IpAddr::from([10, 0, 0, host])
}

/// A broadcast by which a host says its address.
fn says(host: u8) -> Vec<u8> {
    let message =
        arp::ArpMessage::request(mac(host).0, [10, 0, 0, host].into(), [10, 0, 0, 99].into());
    let head = ethernet::header(ethernet::BROADCAST, mac(host).0, ethertype::ARP);
    [&head[..], &message.to_bytes(), &[0; 18]].concat()
}

/// Two switches with a cable between their ports 1, known for a while; ports 2 and 3 are for hosts.
fn two() -> TestNetwork {
    let app_set = AppSet::default()
        .with(|| Topology::new(topology::TopologyConfig::default(), TagKey::new([9; 32])))
        .with(|| HostTracker::new(HostsConfig::new(Seed::new([7; 16]))));
    let mut net = TestNetwork::new(&app_set);
    net.plug(SwitchPort::new(1, 1), SwitchPort::new(2, 1));
    net.join(1, Version::V10, 3);
    net.join(2, Version::V13, 3);
    net.pass(2000);
    net
}

fn place_of(net: &TestNetwork, host: u8) -> Option<SwitchPort> {
    net.part::<Hosts>().by_mac(mac(host), 0).map(Host::at)
}

#[test]
fn a_host_is_seen_where_it_is_and_not_behind_links() {
    let mut net = two();
    net.asks(HERE, &says(1));
    // Flooded on, it comes in at the other end of the cable too.
    net.asks(SwitchPort::new(2, 1), &says(1));
    net.pass(1);
    assert_eq!(place_of(&net, 1), Some(HERE));
    assert_eq!(net.part::<Hosts>().by_ip(ip(1), 0).map(Host::mac), Some(mac(1)));
    net.pass(1000);
    assert_eq!((place_of(&net, 1), net.part::<Hosts>().len()), (Some(HERE), 1));
    assert!(net.part::<Map>().port(HERE).unwrap().host);
    assert!(net.said.iter().any(|said| said.starts_with("hosts: ") && said.contains("is at")));
}

#[test]
fn what_says_nothing_new_is_not_reported() {
    let mut net = two();
    net.asks(HERE, &says(1));
    net.pass(10);
    let version = net.world.version();
    for _ in 0..200 {
        net.asks(HERE, &says(1));
        net.pass(1);
    }
    let hosts = net.part::<Hosts>();
    assert_eq!(hosts.changes().ended(), 2, "one host, one address");
    assert!(net.world.version() - version < 200, "the World is not made anew for it");
}

#[test]
fn a_host_that_moves_is_asked_about_and_believed_when_it_does_not_answer_there() {
    let mut net = two();
    net.asks(HERE, &says(1));
    net.pass(10);
    net.left.clear();
    net.asks(THERE, &says(1));
    net.pass(10);
    assert_eq!(place_of(&net, 1), Some(HERE));
    let asked: Vec<_> = net.left.iter().filter(|(at, _)| *at == HERE).collect();
    let frame = Ethernet::new(&asked[0].1).unwrap();
    let question = Arp::new(frame.payload()).unwrap();
    assert_eq!((frame.source(), IpAddr::from(question.target_ip())), (PROBER.0, ip(1)));
    for _ in 0..20 {
        net.pass(100);
        net.asks(THERE, &says(1));
    }
    assert_eq!(place_of(&net, 1), Some(THERE));
    assert!(net.said.iter().any(|said| said.contains("moved from")));
}

#[test]
fn a_host_that_answers_where_it_was_is_not_hijacked() {
    let mut net = two();
    net.asks(HERE, &says(1));
    net.pass(10);
    for _ in 0..100 {
        net.asks(THERE, &says(1));
        net.pass(20);
        let is_asked = net.left.drain(..).any(|(at, frame)| at == HERE && frame[6..12] == PROBER.0);
        if is_asked {
            let request = arp::ArpMessage::request(mac(1).0, [10, 0, 0, 1].into(), [0; 4].into());
            let head = ethernet::header(PROBER.0, mac(1).0, ethertype::ARP);
            net.asks(HERE, &[&head[..], &request.to_bytes(), &[0; 18]].concat());
        }
    }
    assert_eq!(place_of(&net, 1), Some(HERE));
    assert!(net.said.iter().any(|said| said.contains("not believed")), "{:?}", net.said);
}

#[test]
fn who_was_behind_a_port_that_went_down_is_believed_elsewhere_at_once() {
    let mut net = two();
    net.asks(HERE, &says(1));
    net.pass(10);
    net.turn(HERE, false);
    net.pass(2);
    net.asks(THERE, &says(1));
    net.pass(2);
    assert_eq!(place_of(&net, 1), Some(THERE));
    net.leave(2);
    net.pass(2);
    net.asks(SwitchPort::new(1, 3), &says(1));
    net.pass(2);
    assert_eq!(place_of(&net, 1), Some(SwitchPort::new(1, 3)));
}

/// A broadcast by which a host says where it is: a gratuitous ARP, or a RARP request as hypervisors
/// send it.
fn announcements(host: u8) -> [Vec<u8>; 2] {
    let (address, mac) = ([10, 0, 0, host].into(), mac(host).0);
    let arp = arp::ArpMessage::request(mac, address, address).to_bytes();
    // Hardware and protocol as in ARP, operation 3, and no addresses but the sender's own (RFC
    // 903).
    let rarp = [&[0, 1, 8, 0, 6, 4, 0, 3][..], &mac, &[0; 4], &mac, &[0; 4]].concat();
    [(ethertype::ARP, &arp[..]), (0x8035, &rarp)].map(|(ethertype, payload)| {
        let head = ethernet::header(ethernet::BROADCAST, mac, ethertype);
        [&head[..], payload, &[0; 18]].concat()
    })
}

/// How long it takes until a host is at a port, in milliseconds.
fn moved_after(net: &mut TestNetwork, host: u8, at: SwitchPort) -> Option<u64> {
    (0..5000).find(|_| {
        net.pass(1);
        place_of(net, host) == Some(at)
    })
}

#[test]
fn who_moves_and_says_so_once_before_its_port_is_known_is_believed_there() {
    for announcement in announcements(1) {
        let mut net = two();
        net.turn(THERE, false);
        net.asks(HERE, &says(1));
        net.pass(10);
        // As the switches tell it: one knows the new port, and what came in there, before the other
        // misses the old one.
        net.turn(THERE, true);
        net.asks(THERE, &announcement);
        net.pass(10);
        assert_eq!(place_of(&net, 1), Some(HERE));
        net.turn(HERE, false);
        let after = moved_after(&mut net, 1, THERE);
        assert!(after.is_some_and(|ms| ms < 10), "{after:?} ms");
    }
}

#[test]
fn who_moves_from_a_port_that_stays_up_to_a_new_one_and_says_so_once_is_believed_there() {
    for announcement in announcements(1) {
        let mut net = two();
        net.turn(THERE, false);
        net.asks(HERE, &says(1));
        net.pass(10);
        net.turn(THERE, true);
        net.pass(10);
        net.asks(THERE, &announcement);
        let after = moved_after(&mut net, 1, THERE);
        // Until it is known what the new port leads to, and three questions at the old one.
        assert!(after.is_some_and(|ms| ms < 2000), "{after:?} ms");
    }
}

#[test]
fn a_broadcast_that_comes_in_by_a_new_link_moves_nobody() {
    let mut net = two();
    net.asks(HERE, &says(1));
    net.pass(10);
    let ends = [SwitchPort::new(1, 3), SwitchPort::new(2, 3)];
    ends.into_iter().for_each(|at| net.turn(at, false));
    net.plug(ends[0], ends[1]);
    net.pass(10);
    ends.into_iter().for_each(|at| net.turn(at, true));
    ends.into_iter().for_each(|at| net.asks(at, &announcements(1)[0]));
    for _ in 0..4000 {
        net.pass(1);
        assert_eq!(place_of(&net, 1), Some(HERE));
    }
    assert_eq!(net.part::<Map>().links().count(), 2, "and shows no host there");
    assert_eq!(net.part::<Hosts>().counters().probed, 0);
}

#[test]
fn who_was_behind_a_port_that_went_down_is_nowhere_until_it_is_seen() {
    let mut net = two();
    let place = |net: &TestNetwork| net.part::<Hosts>().by_ip(ip(1), 0).map(Host::place);
    net.asks(HERE, &says(1));
    net.pass(10);
    assert_eq!(place(&net), Some(Some(HERE)));
    net.turn(HERE, false);
    net.pass(2);
    assert_eq!(place(&net), Some(None));
    net.turn(HERE, true);
    // A worker says the same once in a tenth of a second.
    net.pass(150);
    assert_eq!(place(&net), Some(None));
    net.asks(HERE, &says(1));
    net.pass(2);
    assert_eq!(place(&net), Some(Some(HERE)));
    // Down and up again, so soon that nothing was reported in between.
    net.pass(1000);
    net.turn(HERE, false);
    net.turn(HERE, true);
    net.pass(10);
    assert_eq!(place(&net), Some(None));
    net.asks(HERE, &says(1));
    net.pass(2);
    assert_eq!(place(&net), Some(Some(HERE)));
    // Whose switch is gone is forgotten.
    net.leave(1);
    net.pass(10);
    assert_eq!(place(&net), None);
}

#[test]
fn what_was_seen_in_one_session_of_a_switch_is_not_believed_in_the_next() {
    let mut net = two();
    net.turn(THERE, false);
    net.asks(HERE, &says(1));
    net.pass(10);
    // The observation is kept until it is known what the port leads to.
    net.turn(THERE, true);
    net.asks(THERE, &says(1));
    net.pass(10);
    // Another switch comes under the name of that one, and its port is known within the five
    // seconds.
    net.leave(2);
    net.pass(10);
    net.join(2, Version::V13, 3);
    net.pass(4000);
    assert!(net.part::<Map>().port(THERE).is_some_and(|port| port.known));
    assert_eq!((place_of(&net, 1), net.part::<Hosts>().counters().probed), (Some(HERE), 0));
}

#[test]
fn hosts_behind_what_turns_out_to_be_a_link_are_forgotten() {
    let mut net = two();
    net.asks(SwitchPort::new(1, 3), &says(5));
    net.pass(10);
    assert_eq!(place_of(&net, 5), Some(SwitchPort::new(1, 3)));
    for number in [1, 2] {
        net.turn(SwitchPort::new(number, 3), false);
    }
    net.plug(SwitchPort::new(1, 3), SwitchPort::new(2, 3));
    for number in [1, 2] {
        net.turn(SwitchPort::new(number, 3), true);
    }
    net.pass(3000);
    assert_eq!((place_of(&net, 5), net.part::<Map>().links().count()), (None, 2));
}

/// A switch of three ports, known for two seconds.
fn lab_of(config: HostsConfig) -> TestNetwork {
    let app_set = AppSet::default()
        .with(|| Topology::new(topology::TopologyConfig::default(), TagKey::new([9; 32])))
        .with(move || HostTracker::new(config));
    let mut net = TestNetwork::new(&app_set);
    net.join(1, Version::V13, 3);
    net.pass(2000);
    net
}

#[test]
fn silent_hosts_are_forgotten() {
    let config =
        HostsConfig { ageing: Duration::from_secs(20), ..HostsConfig::new(Seed::new([7; 16])) };
    let mut net = lab_of(config);
    net.asks(HERE, &says(1));
    let (elsewhere, mut plain) = (SwitchPort::new(1, 3), says(3));
    // Neither ARP nor anything else that claims an address.
    plain[12..14].copy_from_slice(&[8, 0]);
    for quarter in 0..120 {
        net.pass(250);
        net.asks(elsewhere, &plain);
        if quarter % 4 == 3 {
            net.asks(elsewhere, &says(2));
        }
    }
    net.pass(10);
    let places = [1, 2, 3].map(|host| place_of(&net, host));
    assert_eq!(places, [None, Some(elsewhere), Some(elsewhere)]);
}

#[test]
fn newcomers_push_others_out_of_a_full_table_one_by_one() {
    let config = HostsConfig { hosts_max: 8, ..HostsConfig::new(Seed::new([7; 16])) };
    let mut net = lab_of(config);
    for host in 1..=8 {
        net.asks(HERE, &says(host));
        net.pass(1);
    }
    let new = |net: &TestNetwork| net.part::<Hosts>().counters().new;
    assert_eq!((new(&net), net.part::<Hosts>().len()), (8, 8));
    for _ in 0..20 {
        for host in 9..=200 {
            net.asks(HERE, &says(host));
        }
        net.pass(5);
    }
    // A tenth of a second: one in a tick of the set, which is 17 ms, and not 3,840.
    let came = new(&net) - 8;
    assert!((3..=10).contains(&came), "{came}");
    // Another port is not held up by that.
    net.asks(SwitchPort::new(1, 3), &says(201));
    net.pass(1);
    assert_eq!(place_of(&net, 201), Some(SwitchPort::new(1, 3)));
    assert!(net.part::<Map>().port(HERE).unwrap().host);
}

/// An answer to our question.
fn answers(host: u8) -> Vec<u8> {
    let message = arp::ArpMessage::request(mac(host).0, [10, 0, 0, host].into(), [0; 4].into());
    [&ethernet::header(PROBER.0, mac(host).0, ethertype::ARP)[..], &message.to_bytes(), &[0; 18]]
        .concat()
}

#[test]
fn hosts_of_a_switch_that_comes_back_are_asked_and_are_there_when_they_answer() {
    let mut net = two();
    (1..4).for_each(|host| net.asks(if host == 3 { THERE } else { HERE }, &says(host)));
    net.pass(10);
    net.leave(1);
    net.pass(100);
    assert_eq!([1, 2, 3].map(|host| place_of(&net, host)), [None, None, Some(THERE)]);
    net.left.clear();
    net.join(1, Version::V10, 3);
    net.pass(1000);
    let asked = |net: &TestNetwork, host| {
        let is_asked = |frame: &[u8]| frame[..6] == mac(host).0 && frame[6..12] == PROBER.0;
        net.left.iter().filter(|(at, frame)| *at == HERE && is_asked(frame)).count()
    };
    assert_eq!(asked(&net, 1), 0, "it is not known yet what the port leads to");
    net.pass(1000);
    assert_eq!([1, 2, 3].map(|host| asked(&net, host)), [1, 1, 0]);
    assert_eq!(place_of(&net, 1), None);
    net.asks(HERE, &answers(1));
    net.pass(10);
    assert_eq!([1, 2].map(|host| place_of(&net, host)), [Some(HERE), None]);
    assert!(net.said.iter().any(|said| said.contains("its switch is gone")), "{:?}", net.said);
}

/// In the network that comes next there is a cable where the host was.
#[test]
fn where_a_cable_is_now_nobody_is_asked_for() {
    let mut net = two();
    (1..3).for_each(|host| net.asks(if host == 1 { HERE } else { THERE }, &says(host)));
    net.pass(10);
    [1, 2].into_iter().for_each(|dpid| net.leave(dpid));
    net.pass(100);
    net.plug(HERE, THERE);
    net.sent.clear();
    [1, 2].into_iter().for_each(|dpid| net.join(dpid, Version::V13, 3));
    net.pass(3000);
    assert!(net.part::<Map>().port(HERE).unwrap().is_link());
    assert!(net.sent.iter().all(|(_, frame)| frame[6..12] != PROBER.0));
    assert!(net.part::<Hosts>().is_empty());
}

#[test]
fn a_link_that_has_to_prove_itself_is_warned_of_and_so_is_the_end_told() {
    let mut net = two();
    net.asks(HERE, &says(1));
    net.pass(10);
    net.turn(HERE, false);
    net.plug(HERE, THERE);
    net.pass(100);
    net.turn(HERE, true);
    net.pass(1000);
    let ends = "the link 0000000000000001/2 - 0000000000000002/2";
    let said = |net: &TestNetwork, words: &str| net.said.iter().any(|said| said.contains(words));
    let warning = format!("{ends} carries nothing until it has proven itself, which takes 12 s");
    assert!(said(&net, &warning), "{:?}", net.said);
    let end = format!("{ends} has proven itself, and carries traffic");
    assert!(!said(&net, &end));
    net.pass(13_000);
    assert!(said(&net, &end), "{:?}", net.said);
}

#[test]
fn a_host_is_no_news_until_the_second_that_was_noted_whenever_that_is() {
    for start_s in [0u64, 65_500, 65_535, 1_000_000] {
        let at = |s| Time::START + Duration::from_secs(start_s + s);
        let news_at = NewsAt::within(37, at(0));
        assert!([0, 1, 36].into_iter().all(|s| news_at.is_to_come(at(s))), "{start_s}");
        assert!([37, 38, 3600].into_iter().all(|s| !news_at.is_to_come(at(s))), "{start_s}");
        assert!(NewsAt::within(u32::MAX, at(0)).is_to_come(at(9 * 3600)), "{start_s}");
    }
}
