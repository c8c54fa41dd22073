//! DHCP without broadcasts: what clients broadcast goes to the servers only, and what servers
//! broadcast goes to the client only.
//!
//! For frames from ports that are no links between switches. Either the servers are configured
//! ([`Trust::Only`]), and what others offer is dropped. Or they are learnt ([`Trust::AnyServer`],
//! the default): a host that answers clients is a server, and requests go to the ports where one
//! answered. Now and then a request is flooded, so that an unknown server is found; where a VLAN
//! has more than [`SERVERS_MAX`] such ports, each request is. A rogue server is thus no better off
//! than without a proxy, and no worse; to silence it, the real servers have to be configured.
//!
//! A switch may have cut the frame: then only the ports tell clients and servers apart.

use std::collections::BTreeMap;
use std::time::Duration;

use aldis_control::app::Slots;
use aldis_control::world::{PartId, PublishCtx, Publishers};
use aldis_control::{App, Batch, EventKind, Output, Part, Publisher, SwitchPort, Time};
use aldis_packet::{Dhcp, Ethernet, Ipv4, Udp, dhcp, ethertype, protocol};
use aldis_wire::MacAddr;

use crate::hosts::Hosts;
use crate::proxy::{DropReason, PLACES_MAX, ProxyDecision, front, is_for_one};
use crate::topology::Map;

/// Servers of a VLAN that are remembered, one of each port: all that a question can be sent to.
/// Networks have one or two.
pub const SERVERS_MAX: usize = PLACES_MAX;

/// VLANs whose servers are remembered: all that there can be.
const VLANS_MAX: usize = 4096;

/// A server that said nothing for so long is not asked any more: half of a usual lease, in which
/// every client asks anew.
pub const REMEMBERED_FOR: Duration = Duration::from_secs(12 * 3600);

/// For so long after an answer of a server for which there was no room, requests are flooded. Those
/// that are there answer such a question, and it begins anew.
const CROWDED_FOR: Duration = Duration::from_secs(300);

/// How often a request is flooded though servers are known. A new server hears of clients that much
/// later.
pub const SEARCH_EVERY: Duration = Duration::from_secs(300);

/// A server that is known and speaks again is news after so long.
const TELL_EVERY: Duration = Duration::from_secs(60);

/// A DHCP server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DhcpServer {
    /// Its VLAN, 0 where frames carry none.
    pub vlan: u16,
    /// Its address.
    pub mac: MacAddr,
    /// Where it is.
    pub at: SwitchPort,
}

/// Which hosts are believed to be DHCP servers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Trust {
    /// Every host that answers clients.
    #[default]
    AnyServer,
    /// These, and no other.
    Only(Vec<DhcpServer>),
}

/// The servers that were heard, by VLAN, with when they last spoke: a part of the World.
#[derive(Clone, Debug, Default)]
pub struct KnownServers(BTreeMap<u16, Spoke>);

/// The hosts that answered as servers in one VLAN.
#[derive(Clone, Debug, Default)]
struct Spoke {
    /// One of each port, and when it spoke last.
    servers: Vec<(DhcpServer, Time)>,
    /// When one spoke for which there was no room last.
    crowded: Option<Time>,
}

impl KnownServers {
    /// The servers of a VLAN that spoke lately enough to be asked, one of each port; none where
    /// there are more than a question can be sent to: a host that poses as many servers would keep
    /// the real ones from being asked.
    pub fn of(&self, now: Time, vlan: u16) -> impl Iterator<Item = DhcpServer> {
        let is_crowded = |then: Time| now.since(then) < CROWDED_FOR;
        let spoke = self.0.get(&vlan).filter(|spoke| !spoke.crowded.is_some_and(is_crowded));
        let is_there = move |(_, spoke): &&(DhcpServer, Time)| now.since(*spoke) < REMEMBERED_FOR;
        let heard = spoke.into_iter().flat_map(|spoke| &spoke.servers);
        heard.filter(is_there).map(|(server, _)| *server)
    }

    fn is_news(&self, now: Time, server: DhcpServer) -> bool {
        let is_it = |(had, spoke): &(DhcpServer, Time)| {
            had.at == server.at && now.since(*spoke) < TELL_EVERY
        };
        let Some(Spoke { servers, crowded }) = self.0.get(&server.vlan) else { return true };
        let is_told = crowded.is_some_and(|then| now.since(then) < TELL_EVERY);
        let is_left_out = is_told && servers.len() >= SERVERS_MAX;
        !is_left_out && !servers.iter().any(is_it)
    }

    fn remember(&mut self, now: Time, server: DhcpServer) {
        if self.0.len() >= VLANS_MAX && !self.0.contains_key(&server.vlan) {
            return;
        }
        let Spoke { servers, crowded } = self.0.entry(server.vlan).or_default();
        let is_another = |had: &DhcpServer| had.mac != server.mac && had.at != server.at;
        servers.retain(|(had, spoke)| is_another(had) && now.since(*spoke) < REMEMBERED_FOR);
        if servers.len() >= SERVERS_MAX {
            *crowded = Some(now);
            return;
        }
        servers.push((server, now));
    }
}

impl Part for KnownServers {
    type Report = (Time, DhcpServer);
    const NAME: &'static str = "dhcp-servers";
    /// A server that finds no room is told of with its next answer.
    const REPORTS_MAX: usize = 1024;
}

struct KnownServersPublisher;

impl Publisher for KnownServersPublisher {
    type Part = KnownServers;

    fn begin(&mut self) -> KnownServers {
        KnownServers::default()
    }

    fn revise(&mut self, _: Time, mut ctx: PublishCtx<'_, KnownServers>) -> Option<KnownServers> {
        let mut heard = ctx.current().clone();
        while let Some((now, server)) = ctx.report() {
            heard.remember(now, server);
        }
        Some(heard)
    }
}

/// What becomes of DHCP messages.
#[derive(Clone, Debug)]
pub struct Servers {
    trust: Trust,
    /// When a request of a VLAN was last flooded.
    searched: BTreeMap<u16, Time>,
    /// Servers that spoke and were not heard lately.
    news: Vec<(Time, DhcpServer)>,
}

/// A message between a client and a server.
struct DhcpMessage<'a> {
    frame: Ethernet<'a>,
    from_server: bool,
    /// `None` where it is cut off.
    dhcp: Option<Dhcp<'a>>,
}

impl<'a> DhcpMessage<'a> {
    #[inline]
    fn new(frame: &Ethernet<'a>) -> Option<DhcpMessage<'a>> {
        if frame.ethertype() != ethertype::IPV4 {
            return None;
        }
        let ip = Ipv4::new(frame.payload()).filter(|ip| ip.protocol() == protocol::UDP)?;
        let udp = Udp::new(ip.transport()?)?;
        let from_server = match udp.destination_port() {
            dhcp::SERVER_PORT => false,
            dhcp::CLIENT_PORT if udp.source_port() == dhcp::SERVER_PORT => true,
            _ => return None,
        };
        Some(DhcpMessage { frame: *frame, from_server, dhcp: Dhcp::new(udp.payload()) })
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
    /// With those that are believed.
    pub fn new(trust: Trust) -> Servers {
        Servers { trust, searched: BTreeMap::new(), news: Vec::new() }
    }

    /// What becomes of a frame that came in at `at`, a port that is no link between switches. A
    /// server that speaks is news.
    pub fn decide(
        &mut self,
        now: Time,
        frame: &[u8],
        at: SwitchPort,
        hosts: &Hosts,
        heard: &KnownServers,
    ) -> ProxyDecision {
        let message = Ethernet::new(frame).and_then(|frame| DhcpMessage::new(&frame));
        let Some(message) = message else { return ProxyDecision::Pass };
        let known = hosts.by_mac(message.mac(), message.vlan());
        if !message.is_whole() {
            return ProxyDecision::Drop(DropReason::Malformed);
        }
        if message.is_spoofed()
            || message.mac().is_group()
            || known.is_some_and(|host| host.is_elsewhere(at))
        {
            return ProxyDecision::Drop(DropReason::Spoofed);
        }
        if message.from_server {
            let server = DhcpServer { vlan: message.vlan(), mac: message.mac(), at };
            return self.answer(now, &message, server, hosts, heard);
        }
        match is_for_one(&message.frame) {
            true => ProxyDecision::Pass,
            false => self.question(now, &message, at, heard),
        }
    }

    fn answer(
        &mut self,
        now: Time,
        message: &DhcpMessage<'_>,
        server: DhcpServer,
        hosts: &Hosts,
        heard: &KnownServers,
    ) -> ProxyDecision {
        match &self.trust {
            Trust::Only(servers) if !servers.contains(&server) => {
                return ProxyDecision::Drop(DropReason::Rogue);
            }
            Trust::AnyServer if heard.is_news(now, server) => self.news.push((now, server)),
            Trust::Only(_) | Trust::AnyServer => {}
        }
        let client = message.dhcp.as_ref().and_then(|dhcp| dhcp.chaddr());
        match client.and_then(|mac| hosts.by_mac(MacAddr(mac), message.vlan())) {
            _ if is_for_one(&message.frame) => ProxyDecision::Pass,
            Some(client) if client.is_elsewhere(server.at) => ProxyDecision::send_to(client.at()),
            _ => ProxyDecision::Flood,
        }
    }

    fn question(
        &mut self,
        now: Time,
        message: &DhcpMessage<'_>,
        at: SwitchPort,
        heard: &KnownServers,
    ) -> ProxyDecision {
        let vlan = message.vlan();
        let places: Vec<SwitchPort> = match &self.trust {
            Trust::Only(servers) => {
                let here = servers.iter().filter(|server| server.vlan == vlan);
                here.map(|server| server.at).collect()
            }
            Trust::AnyServer => heard.of(now, vlan).map(|server| server.at).collect(),
        };
        if places.is_empty() || self.trust == Trust::AnyServer && self.searches(now, vlan) {
            return ProxyDecision::Flood;
        }
        let elsewhere: Vec<_> = places.into_iter().filter(|&place| place != at).collect();
        match elsewhere.is_empty() {
            true => ProxyDecision::Drop(DropReason::Heard),
            false => ProxyDecision::SendTo(elsewhere.into_iter().collect()),
        }
    }

    /// Whether it is time to flood a request; the time is noted.
    fn searches(&mut self, now: Time, vlan: u16) -> bool {
        let searched = self.searched.get(&vlan);
        let is_due = searched.is_none_or(|then| now.since(*then) >= SEARCH_EVERY);
        if is_due {
            self.searched.insert(vlan, now);
        }
        is_due
    }
}

/// Whether a packet of IPv4 may be of DHCP, by its protocol and its ports.
#[inline]
fn may_be(frame: &Ethernet<'_>) -> bool {
    let Some(packet) = frame.payload().first_chunk::<24>() else { return false };
    // Behind options the ports are elsewhere.
    let (has_options, port) = (packet[0] & 0xf != 5, [packet[22], packet[23]]);
    let is_port = [dhcp::SERVER_PORT, dhcp::CLIENT_PORT].contains(&u16::from_be_bytes(port));
    packet[9] == protocol::UDP && (has_options || is_port)
}

/// The application: one instance for each worker.
#[derive(Clone, Debug)]
pub struct DhcpProxy(Servers);

impl DhcpProxy {
    /// An instance; those of other workers get the same settings.
    pub fn new(trust: Trust) -> DhcpProxy {
        DhcpProxy(Servers::new(trust))
    }
}

impl App for DhcpProxy {
    type Slot = ();

    const NAME: &'static str = "dhcp";
    const EVENTS: &'static [EventKind] = &[EventKind::FlowRequest];
    const READS: &'static [PartId] = &[Hosts::ID, Map::ID, KnownServers::ID];

    fn packet_ins(&mut self, batch: &mut Batch<'_>, _: Slots<'_, ()>, out: &mut Output) {
        let heard = batch.world.part::<KnownServers>();
        let DhcpProxy(servers) = self;
        // Nearly all packets of IPv4 have another protocol or other ports: seen without reading
        // their headers whole.
        let is_ours = |frame: &Ethernet<'_>| frame.ethertype() == ethertype::IPV4 && may_be(frame);
        front::serve(batch, out, is_ours, |now, frame, at, hosts| {
            servers.decide(now, frame, at, hosts, heard)
        });
        for news in servers.news.drain(..) {
            // Where there is no room for it, the server speaks again.
            let _ = out.report::<KnownServers>(news);
        }
    }

    fn publishers(&self) -> Publishers {
        Publishers::of(KnownServersPublisher)
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

    /// A proxy, and what it published.
    struct DhcpLab(Servers, KnownServers);

    fn lab(trust: Trust) -> DhcpLab {
        DhcpLab(Servers::new(trust), KnownServers::default())
    }

    fn decided(lab: &mut DhcpLab, s: u64, frame: &[u8], from: u64) -> ProxyDecision {
        let DhcpLab(servers, heard) = lab;
        let decision = servers.decide(at_s(s), frame, place(from), &network(), heard);
        servers.news.drain(..).for_each(|(now, server)| heard.remember(now, server));
        decision
    }

    #[test]
    fn a_server_that_was_heard_is_asked_and_others_are_looked_for_now_and_then() {
        let mut servers = lab(Trust::AnyServer);
        assert_eq!(decided(&mut servers, 10, &discover(1), 1), ProxyDecision::Flood);
        assert_eq!(decided(&mut servers, 11, &offer(2, 1), 2), ProxyDecision::send_to(place(1)));
        assert_eq!(decided(&mut servers, 12, &discover(1), 1), ProxyDecision::Flood);
        assert_eq!(decided(&mut servers, 13, &discover(1), 1), ProxyDecision::send_to(place(2)));
        decided(&mut servers, 14, &offer(3, 1), 3);
        let both = ProxyDecision::SendTo([place(2), place(3)].into_iter().collect());
        assert_eq!(decided(&mut servers, 15, &discover(1), 1), both);
        assert_eq!(decided(&mut servers, 16, &discover(6), 6), ProxyDecision::send_to(place(3)));
        assert_eq!(decided(&mut servers, 312, &discover(1), 1), ProxyDecision::Flood);
        assert_eq!(decided(&mut servers, 313, &discover(1), 1), both);
        let later = 14 + REMEMBERED_FOR.as_secs();
        assert_eq!(decided(&mut servers, later, &discover(1), 1), ProxyDecision::Flood);
    }

    #[test]
    fn who_says_to_be_many_servers_does_not_push_out_the_real_one() {
        let mut servers = lab(Trust::AnyServer);
        let offers = |DhcpLab(servers, heard): &mut DhcpLab, s, server, at| {
            servers.decide(at_s(s), &offer(server, 1), at, &network(), heard);
            servers.news.drain(..).for_each(|(now, server)| heard.remember(now, server));
        };
        offers(&mut servers, 11, 2, place(2));
        assert_eq!(decided(&mut servers, 12, &discover(1), 1), ProxyDecision::Flood);
        let liars = SwitchPort::new(9, 1);
        for liar in 0..2 * SERVERS_MAX as u64 {
            offers(&mut servers, 12, 100 + liar, liars);
        }
        let both = ProxyDecision::SendTo([place(2), liars].into_iter().collect());
        assert_eq!(decided(&mut servers, 13, &discover(1), 1), both);
        // From more ports than a request can be sent to: it is flooded, as without a proxy.
        for port in 2..2 + SERVERS_MAX as u32 {
            offers(&mut servers, 14, 200 + u64::from(port), SwitchPort::new(9, port));
        }
        assert_eq!(decided(&mut servers, 15, &discover(1), 1), ProxyDecision::Flood);
        assert_eq!(decided(&mut servers, 16, &discover(1), 1), ProxyDecision::Flood);
        let later = 14 + 2 * SEARCH_EVERY.as_secs();
        assert_eq!(decided(&mut servers, later, &discover(1), 1), ProxyDecision::Flood);
        assert!(matches!(decided(&mut servers, later, &discover(1), 1), ProxyDecision::SendTo(_)));
    }

    #[test]
    fn where_it_is_said_who_is_a_server_nobody_else_is() {
        let real = DhcpServer { vlan: 0, mac: host_mac(2), at: place(2) };
        let mut servers = lab(Trust::Only(vec![real]));
        assert_eq!(decided(&mut servers, 10, &discover(1), 1), ProxyDecision::send_to(place(2)));
        assert_eq!(
            decided(&mut servers, 10, &offer(3, 1), 3),
            ProxyDecision::Drop(DropReason::Rogue)
        );
        assert_eq!(decided(&mut servers, 10, &offer(2, 1), 2), ProxyDecision::send_to(place(1)));
        assert_eq!(
            decided(&mut servers, 10, &discover(6), 6),
            ProxyDecision::Drop(DropReason::Heard)
        );
        let renews = said(DhcpMessageType::Request, 1, Some(2), 1);
        assert_eq!(decided(&mut servers, 10, &renews, 1), ProxyDecision::Pass);
    }

    #[test]
    fn nobody_asks_or_answers_in_the_name_of_another() {
        let mut servers = lab(Trust::AnyServer);
        let spoofed = ProxyDecision::Drop(DropReason::Spoofed);
        let asks = said(DhcpMessageType::Discover, 1, None, 3);
        assert_eq!(decided(&mut servers, 10, &asks, 1), spoofed);
        assert_eq!(decided(&mut servers, 10, &offer(2, 1), 1), spoofed);
        let mut turned = discover(1);
        turned[42] = 2;
        assert_eq!(
            decided(&mut servers, 10, &turned, 1),
            ProxyDecision::Drop(DropReason::Malformed)
        );
        assert!(servers.1.0.is_empty());
    }

    #[test]
    fn a_frame_that_a_switch_cut_finds_its_server() {
        let mut servers = lab(Trust::AnyServer);
        decided(&mut servers, 10, &offer(2, 1)[..128], 2);
        decided(&mut servers, 11, &discover(1)[..128], 1);
        assert_eq!(
            decided(&mut servers, 12, &discover(1)[..128], 1),
            ProxyDecision::send_to(place(2))
        );
    }

    proptest! {
        /// No bytes do harm; what is remembered is bounded.
        #[test]
        fn any_bytes_are_harmless(frames in prop::collection::vec((0usize..280, prop::collection::vec(any::<u8>(), 0..80), any::<bool>()), 1..40)) {
            let mut servers = lab(Trust::AnyServer);
            for (at, (keep, bytes, server)) in frames.iter().enumerate() {
                let whole = if *server { offer(2, 1) } else { discover(2) };
                let frame = [&whole[..*keep], bytes].concat();
                decided(&mut servers, at as u64, &frame, 2);
                prop_assert!(servers.1.0.values().all(|heard| heard.servers.len() <= SERVERS_MAX));
            }
        }
    }
}
