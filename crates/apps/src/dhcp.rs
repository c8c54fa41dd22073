//! DHCP without broadcasts: what clients ask goes to the servers, what servers say to everyone goes to the client.
//!
//! For frames from ports that are no links between switches. Which servers there are is either said beforehand
//! ([`Trust::Only`]); then nobody else is one, and what others offer is dropped. Or it is heard ([`Trust::Anyone`], the
//! default): whoever answers clients is a server, at most [`SERVERS_MAX`] in a VLAN, and all of them are asked; now and then
//! a question goes to everyone, so that a server that nobody knows is found. A rogue server is thus no better off than
//! without a proxy, and no worse; whoever wants it silenced has to say which servers are real.
//!
//! A switch may have cut the frame: then only the ports tell who speaks.

use std::collections::BTreeMap;
use std::time::Duration;

use aldis_control::Time;
use aldis_packet::{Dhcp, Ethernet, Ipv4, Udp, dhcp, ethertype, protocol};
use aldis_wire::MacAddr;

use crate::hosts::Hosts;
use crate::place::SwitchPort;
use crate::proxy::{Decision, PLACES_MAX, Reason, is_for_one};

/// Servers of a VLAN that are remembered: all that a question can be sent to. Networks have one or two.
pub const SERVERS_MAX: usize = PLACES_MAX;

/// VLANs whose servers are remembered: all that there can be.
const VLANS_MAX: usize = 4096;

/// A server that said nothing for so long is not asked any more: half of a usual lease, in which every client asks anew.
pub const REMEMBERED_FOR: Duration = Duration::from_secs(12 * 3600);

/// How often a question goes to everyone though servers are known. A new server gets to hear of clients that much later.
pub const SEARCH_EVERY: Duration = Duration::from_secs(300);

/// A DHCP server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Server {
    /// Its VLAN, 0 where frames carry none.
    pub vlan: u16,
    /// Its address.
    pub mac: MacAddr,
    /// Where it is.
    pub at: SwitchPort,
}

/// Who is believed to be a DHCP server.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Trust {
    /// Whoever answers clients.
    #[default]
    Anyone,
    /// These, and nobody else.
    Only(Vec<Server>),
}

#[derive(Clone, Debug, Default)]
struct Vlan {
    /// Those heard, with when they last spoke.
    heard: Vec<(Server, Time)>,
    searched_at: Option<Time>,
}

/// The servers that are known.
#[derive(Clone, Debug)]
pub struct Servers {
    trust: Trust,
    vlans: BTreeMap<u16, Vlan>,
}

/// A message between a client and a server.
struct Message<'a> {
    frame: Ethernet<'a>,
    from_server: bool,
    /// `None` where it is cut off.
    dhcp: Option<Dhcp<'a>>,
}

impl<'a> Message<'a> {
    fn new(frame: &'a [u8]) -> Option<Message<'a>> {
        let frame = Ethernet::new(frame).filter(|frame| frame.ethertype() == ethertype::IPV4)?;
        let ip = Ipv4::new(frame.payload()).filter(|ip| ip.protocol() == protocol::UDP)?;
        let udp = Udp::new(ip.transport()?)?;
        let from_server = match udp.destination_port() {
            dhcp::SERVER_PORT => false,
            dhcp::CLIENT_PORT if udp.source_port() == dhcp::SERVER_PORT => true,
            _ => return None,
        };
        Some(Message { frame, from_server, dhcp: Dhcp::new(udp.payload()) })
    }

    fn mac(&self) -> MacAddr {
        MacAddr(self.frame.source())
    }

    fn vlan(&self) -> u16 {
        self.frame.vlan().unwrap_or(0)
    }

    /// Whether it asks in the name of another. A relay does, and says so.
    fn is_spoofed(&self) -> bool {
        let is_others = |dhcp: &Dhcp<'_>| {
            dhcp.giaddr().is_unspecified() && dhcp.chaddr().is_some_and(|mac| mac != self.mac().0)
        };
        !self.from_server && self.dhcp.as_ref().is_some_and(is_others)
    }

    /// Whether its direction is the one that its ports say.
    fn is_whole(&self) -> bool {
        let op = if self.from_server { 2 } else { 1 };
        self.dhcp.as_ref().is_none_or(|dhcp| dhcp.op() == op)
    }
}

impl Servers {
    /// Those that are believed from the start.
    pub fn new(trust: Trust) -> Servers {
        Servers { trust, vlans: BTreeMap::new() }
    }

    /// What becomes of a frame that came in at `at`, a port that is no link between switches. A server that speaks is
    /// remembered.
    pub fn decide(&mut self, now: Time, frame: &[u8], at: SwitchPort, hosts: &Hosts) -> Decision {
        let Some(message) = Message::new(frame) else { return Decision::Pass };
        let known = hosts.by_mac(message.mac(), message.vlan());
        if !message.is_whole() {
            return Decision::Drop(Reason::Malformed);
        }
        if message.is_spoofed()
            || message.mac().is_group()
            || known.is_some_and(|host| host.at() != at)
        {
            return Decision::Drop(Reason::Spoofed);
        }
        if message.from_server {
            return self.answer(now, &message, at, hosts);
        }
        if is_for_one(&message.frame) { Decision::Pass } else { self.question(now, &message, at) }
    }

    fn answer(
        &mut self,
        now: Time,
        message: &Message<'_>,
        at: SwitchPort,
        hosts: &Hosts,
    ) -> Decision {
        let server = Server { vlan: message.vlan(), mac: message.mac(), at };
        match &self.trust {
            Trust::Only(servers) if !servers.contains(&server) => {
                return Decision::Drop(Reason::Rogue);
            }
            Trust::Only(_) => {}
            Trust::Anyone => self.remember(now, server),
        }
        let client = message.dhcp.as_ref().and_then(|dhcp| dhcp.chaddr());
        match client.and_then(|mac| hosts.by_mac(MacAddr(mac), message.vlan())) {
            _ if is_for_one(&message.frame) => Decision::Pass,
            Some(client) if client.at() != at => Decision::send_to(client.at()),
            _ => Decision::Flood,
        }
    }

    fn remember(&mut self, now: Time, server: Server) {
        if self.vlans.len() >= VLANS_MAX && !self.vlans.contains_key(&server.vlan) {
            return;
        }
        let heard = &mut self.vlans.entry(server.vlan).or_default().heard;
        heard.retain(|(had, spoke)| had.mac != server.mac && now.since(*spoke) < REMEMBERED_FOR);
        if heard.len() >= SERVERS_MAX {
            heard.remove(0);
        }
        heard.push((server, now));
    }

    fn question(&mut self, now: Time, message: &Message<'_>, at: SwitchPort) -> Decision {
        let vlan = message.vlan();
        let places: Vec<SwitchPort> = match &self.trust {
            Trust::Only(servers) => servers
                .iter()
                .filter(|server| server.vlan == vlan)
                .map(|server| server.at)
                .collect(),
            Trust::Anyone => {
                let Some(known) = self.vlans.get_mut(&vlan) else { return Decision::Flood };
                let is_due = |then: Time| now.since(then) >= SEARCH_EVERY;
                known.heard.retain(|(_, spoke)| now.since(*spoke) < REMEMBERED_FOR);
                if known.heard.is_empty() || known.searched_at.is_none_or(is_due) {
                    known.searched_at = Some(now);
                    return Decision::Flood;
                }
                known.heard.iter().map(|(server, _)| server.at).collect()
            }
        };
        let elsewhere: Vec<_> = places.iter().copied().filter(|&place| place != at).collect();
        match (places.is_empty(), elsewhere.is_empty()) {
            (true, _) => Decision::Flood,
            (false, true) => Decision::Drop(Reason::Heard),
            (false, false) => Decision::SendTo(elsewhere.into_iter().collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts::testing::{at_s, host_mac, network, place};
    use etherparse::PacketBuilder;
    use proptest::prelude::*;
    use smoltcp::wire::{DhcpMessageType, DhcpPacket, DhcpRepr, EthernetAddress};

    /// What smoltcp and etherparse make of a message of this kind from host to host, or to all.
    fn said(kind: DhcpMessageType, from: u64, to: Option<u64>, client: u64) -> Vec<u8> {
        let repr = DhcpRepr {
            message_type: kind,
            transaction_id: 7,
            secs: 0,
            client_hardware_address: EthernetAddress(host_mac(client).0),
            client_ip: [0; 4].into(),
            your_ip: [0; 4].into(),
            server_ip: [0; 4].into(),
            router: None,
            subnet_mask: None,
            relay_agent_ip: [0; 4].into(),
            broadcast: true,
            requested_ip: None,
            client_identifier: None,
            server_identifier: None,
            parameter_request_list: None,
            dns_servers: None,
            max_size: None,
            lease_duration: None,
            renew_duration: None,
            rebind_duration: None,
            additional_options: &[],
        };
        let mut dhcp = vec![0; repr.buffer_len()];
        repr.emit(&mut DhcpPacket::new_unchecked(&mut dhcp)).unwrap();
        let from_server = matches!(kind, DhcpMessageType::Offer | DhcpMessageType::Ack);
        let (source, destination) = if from_server { (67, 68) } else { (68, 67) };
        let to = to.map_or([0xff; 6], |to| host_mac(to).0);
        let mut frame = Vec::new();
        PacketBuilder::ethernet2(host_mac(from).0, to)
            .ipv4([0; 4], [255; 4], 64)
            .udp(source, destination)
            .write(&mut frame, &dhcp)
            .unwrap();
        frame
    }

    fn discover(client: u64) -> Vec<u8> {
        said(DhcpMessageType::Discover, client, None, client)
    }

    fn offer(server: u64, client: u64) -> Vec<u8> {
        said(DhcpMessageType::Offer, server, None, client)
    }

    fn decided(servers: &mut Servers, s: u64, frame: &[u8], from: u64) -> Decision {
        servers.decide(at_s(s), frame, place(from), &network())
    }

    #[test]
    fn a_server_that_was_heard_is_asked_and_others_are_looked_for_now_and_then() {
        let mut servers = Servers::new(Trust::Anyone);
        assert_eq!(decided(&mut servers, 10, &discover(1), 1), Decision::Flood);
        assert_eq!(decided(&mut servers, 11, &offer(2, 1), 2), Decision::send_to(place(1)));
        assert_eq!(decided(&mut servers, 12, &discover(1), 1), Decision::Flood);
        assert_eq!(decided(&mut servers, 13, &discover(1), 1), Decision::send_to(place(2)));
        decided(&mut servers, 14, &offer(3, 1), 3);
        let both = Decision::SendTo([place(2), place(3)].into_iter().collect());
        assert_eq!(decided(&mut servers, 15, &discover(1), 1), both);
        assert_eq!(decided(&mut servers, 16, &discover(6), 6), Decision::send_to(place(3)));
        assert_eq!(decided(&mut servers, 312, &discover(1), 1), Decision::Flood);
        assert_eq!(decided(&mut servers, 313, &discover(1), 1), both);
        let later = 14 + REMEMBERED_FOR.as_secs();
        assert_eq!(decided(&mut servers, later, &discover(1), 1), Decision::Flood);
    }

    #[test]
    fn where_it_is_said_who_is_a_server_nobody_else_is() {
        let real = Server { vlan: 0, mac: host_mac(2), at: place(2) };
        let mut servers = Servers::new(Trust::Only(vec![real]));
        assert_eq!(decided(&mut servers, 10, &discover(1), 1), Decision::send_to(place(2)));
        assert_eq!(decided(&mut servers, 10, &offer(3, 1), 3), Decision::Drop(Reason::Rogue));
        assert_eq!(decided(&mut servers, 10, &offer(2, 1), 2), Decision::send_to(place(1)));
        assert_eq!(decided(&mut servers, 10, &discover(6), 6), Decision::Drop(Reason::Heard));
        let renews = said(DhcpMessageType::Request, 1, Some(2), 1);
        assert_eq!(decided(&mut servers, 10, &renews, 1), Decision::Pass);
    }

    #[test]
    fn nobody_asks_or_answers_in_the_name_of_another() {
        let mut servers = Servers::new(Trust::Anyone);
        let spoofed = Decision::Drop(Reason::Spoofed);
        let asks = said(DhcpMessageType::Discover, 1, None, 3);
        assert_eq!(decided(&mut servers, 10, &asks, 1), spoofed);
        assert_eq!(decided(&mut servers, 10, &offer(2, 1), 1), spoofed);
        let mut turned = discover(1);
        turned[42] = 2;
        assert_eq!(decided(&mut servers, 10, &turned, 1), Decision::Drop(Reason::Malformed));
        assert!(servers.vlans.is_empty());
    }

    #[test]
    fn a_frame_that_a_switch_cut_finds_its_server() {
        let mut servers = Servers::new(Trust::Anyone);
        decided(&mut servers, 10, &offer(2, 1)[..128], 2);
        decided(&mut servers, 11, &discover(1)[..128], 1);
        assert_eq!(decided(&mut servers, 12, &discover(1)[..128], 1), Decision::send_to(place(2)));
    }

    proptest! {
        /// No bytes do harm; what is remembered is bounded.
        #[test]
        fn any_bytes_are_harmless(frames in prop::collection::vec((0usize..280, prop::collection::vec(any::<u8>(), 0..80), any::<bool>()), 1..40)) {
            let mut servers = Servers::new(Trust::Anyone);
            for (at, (keep, bytes, server)) in frames.iter().enumerate() {
                let whole = if *server { offer(2, 1) } else { discover(2) };
                let frame = [&whole[..*keep], bytes].concat();
                decided(&mut servers, at as u64, &frame, 2);
                prop_assert!(servers.vlans.values().all(|vlan| vlan.heard.len() <= SERVERS_MAX));
            }
        }
    }
}
