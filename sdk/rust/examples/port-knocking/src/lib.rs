//! A firewall that is opened by knocking: a port of TCP is closed until a source has sent something
//! to a sequence of other ports, in order and in time. Then it is open to that source for a while.
//!
//! Everything else goes to the applications that come later. Three kinds of flows do the work:
//!
//! | priority | for | does |
//! | --- | --- | --- |
//! | 0xf000 | the closed port, and those to knock at | asks the controller |
//! | 0xf001 | the closed port, from a source that did not knock, for a second | drops |
//! | 0xf002 | the closed port, from a source that did, as long as it is open | forwards |

use std::collections::{HashMap, HashSet};

use aldis_app::message::{FlowMod, Match, actions};
use aldis_app::packet::{Ipv4Packet, protocol};
use aldis_app::{App, Datapath, Event, MacAddr, Next, Output, Port, Request, host};
use serde::Deserialize;

const ASK: u16 = 0xf000;
const DROP: u16 = 0xf001;
const FORWARD: u16 = 0xf002;

/// Sources and hosts that are remembered; when there are more, they are forgotten.
const REMEMBERED_MAX: usize = 10_000;

const SECOND_NS: u64 = 1_000_000_000;
const DAY_S: u64 = 86_400;

/// The manifest's table `config`.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Settings {
    port: u16,
    knocks: Vec<u16>,
    within_s: u64,
    open_s: u64,
}

/// A source that knocked: how often in order, and when it began.
struct Knocked {
    times: usize,
    since: u64,
}

struct PortKnocking {
    settings: Settings,
    knocked: HashMap<[u8; 4], Knocked>,
    /// Until when the port is open, by source.
    open: HashMap<[u8; 4], u64>,
    /// Behind which port of each switch a host was seen.
    hosts: HashMap<(u64, MacAddr), Port>,
    switches: HashSet<u64>,
    opened: u64,
    refused: u64,
}

impl App for PortKnocking {
    fn start(config: &str) -> Result<PortKnocking, String> {
        let settings: Settings = toml::from_str(config).map_err(|why| why.to_string())?;
        if settings.knocks.is_empty() || settings.knocks.contains(&settings.port) {
            return Err("knocks: one port at least, and not the one that is closed".to_owned());
        }
        if ![settings.within_s, settings.open_s].iter().all(|s| (1..=DAY_S).contains(s)) {
            return Err("within-s and open-s: 1 to 86400 seconds".to_owned());
        }
        Ok(PortKnocking {
            settings,
            knocked: HashMap::new(),
            open: HashMap::new(),
            hosts: HashMap::new(),
            switches: HashSet::new(),
            opened: 0,
            refused: 0,
        })
    }

    fn event(&mut self, switch: &Datapath, event: &Event<'_>, out: &mut Output) -> Next {
        match event {
            Event::Up(_) => {
                self.switches.insert(switch.dpid);
                self.watch(out);
            }
            Event::Down => {
                self.switches.remove(&switch.dpid);
                self.hosts.retain(|(dpid, _), _| *dpid != switch.dpid);
            }
            _ => {}
        }
        Next::Continue
    }

    fn packet_in(&mut self, request: &Request<'_>, out: &mut Output) -> Next {
        if let Some(src) = request.src().filter(|src| !src.is_group()) {
            forget_if_full(&mut self.hosts);
            self.hosts.insert((request.dpid(), src), request.in_port());
        }
        let Some(packet) = Ipv4Packet::of(request.frame()) else { return Next::Continue };
        if self.settings.knocks.contains(&packet.dst_port) {
            self.knock(&packet, out);
            out.discard(request);
            return Next::Stop;
        }
        if packet.protocol != protocol::TCP || packet.dst_port != self.settings.port {
            return Next::Continue;
        }
        match self.open.get(&packet.src).and_then(|until| until.checked_sub(host::now())) {
            Some(left) => self.forward(request, &packet, left / SECOND_NS, out),
            None => self.drop(request, &packet, out),
        }
        Next::Stop
    }
}

impl PortKnocking {
    /// Has a switch ask for what this application is about, whatever other flows it has.
    fn watch(&self, out: &mut Output) {
        let knocks = self.settings.knocks.iter().flat_map(|port| {
            [
                Match::new().ip_proto(protocol::TCP).tcp_dst(*port),
                Match::new().ip_proto(protocol::UDP).udp_dst(*port),
            ]
        });
        let closed = Match::new().ip_proto(protocol::TCP).tcp_dst(self.settings.port);
        for match_ in knocks.chain([closed]) {
            let flow = FlowMod::add(match_).priority(ASK);
            out.answer(&flow.actions(actions::output(Port::CONTROLLER)).message());
        }
    }

    fn knock(&mut self, packet: &Ipv4Packet, out: &mut Output) {
        let (now, knocks) = (host::now(), &self.settings.knocks);
        forget_if_full(&mut self.knocked);
        let knocked = self.knocked.entry(packet.src).or_insert(Knocked { times: 0, since: now });
        let late = now - knocked.since > self.settings.within_s * SECOND_NS;
        let again = knocked.times > 0 && knocks[knocked.times - 1] == packet.dst_port;
        if late || (knocks[knocked.times] != packet.dst_port && !again) {
            *knocked = Knocked { times: 0, since: now };
        }
        if knocks[knocked.times] != packet.dst_port {
            return;
        }
        knocked.times += 1;
        if knocked.times < knocks.len() {
            return;
        }
        self.knocked.remove(&packet.src);
        forget_if_full(&mut self.open);
        self.open.insert(packet.src, now + self.settings.open_s * SECOND_NS);
        self.opened += 1;
        out.count(0, self.opened);
        let [a, b, c, d] = packet.src;
        out.info(&format!("opened {} to {a}.{b}.{c}.{d}", self.settings.port));
        // Those that drop what it sent before.
        let dropped = FlowMod::delete(self.from(packet)).message();
        self.switches.iter().for_each(|dpid| out.message(*dpid, &dropped));
    }

    fn forward(&self, request: &Request<'_>, packet: &Ipv4Packet, left: u64, out: &mut Output) {
        let dst = request.dst().and_then(|dst| self.hosts.get(&(request.dpid(), dst)));
        let Some(port) = dst.filter(|_| left > 0) else { return out.send(request, Port::FLOOD) };
        let match_ = self.from(packet).ipv4_dst(packet.dst).in_port(request.in_port());
        let flow = FlowMod::add(match_).priority(FORWARD).actions(actions::output(*port));
        let seconds = left.min(u16::MAX.into()) as u16;
        out.answer_and_release(&flow.hard_timeout(seconds).message());
    }

    fn drop(&mut self, request: &Request<'_>, packet: &Ipv4Packet, out: &mut Output) {
        self.refused += 1;
        out.count(1, self.refused);
        out.answer(&FlowMod::add(self.from(packet)).priority(DROP).hard_timeout(1).message());
        out.discard(request);
    }

    /// What a source sends to the closed port.
    fn from(&self, packet: &Ipv4Packet) -> Match {
        let closed = Match::new().ip_proto(protocol::TCP).tcp_dst(self.settings.port);
        closed.ipv4_src(packet.src)
    }
}

fn forget_if_full<K, V>(remembered: &mut HashMap<K, V>) {
    if remembered.len() >= REMEMBERED_MAX {
        remembered.clear();
    }
}

aldis_app::export!(PortKnocking);
