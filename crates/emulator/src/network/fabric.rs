//! Switches, wires and hosts, and the frames and messages that move among them.
//!
//! Everything happens on one thread: a visit of a connection, an arrival of a frame and a fault
//! each run to their end. What they cause stands in the wires and in the connections' queues until
//! its turn.

use super::NetworkPlan;
use super::host::{EmulatedHost, Heard};
use super::session::{READ_MAX, SessionEnd, SwitchSession};
use super::tally::Messages;
use super::wires::{WireEnd, Wires};
use crate::datapath::{Datapath, PortSpec, Sink};
use crate::poll::{Poll, Ready};
use crate::stream::ReceiveBuffer;
use crate::topology::{End, TopologyLink};
use aldis_wire::header::kind;
use aldis_wire::{DatapathId, MacAddr, Version};
use std::collections::HashSet;
use std::io;
use std::time::Duration;

/// Frames that arrive before the connections are looked at again.
const FRAMES_A_TURN: usize = 512;

/// Most frames that are kept until they are taken: further ones are seen by their host alone.
const ARRIVED_MAX: usize = 65_536;

/// The number of the broadcasts of a storm, which are not counted one by one.
pub(super) const STORM: u32 = 0;

/// A switch: what forwards, and what speaks to the controller.
struct FabricSwitch {
    /// Its number in the topology, of a double that of the other.
    number: u32,
    ports: u32,
    datapath: Datapath,
    session: SwitchSession,
    /// It has no power.
    gone: bool,
    /// Its connection ended, or could not be opened, and nothing here asked for that; until it is
    /// up again.
    lost: bool,
    /// It has something to write.
    dirty: bool,
    /// It has no links, and the datapath id of another one.
    double: bool,
}

pub(super) struct Fabric<'a> {
    plan: &'a NetworkPlan,
    poll: Poll,
    inbox: ReceiveBuffer,
    /// Switch s1 is the first; doubles stand behind the last.
    switches: Vec<FabricSwitch>,
    pub(super) wires: Wires,
    hosts: Vec<EmulatedHost>,
    /// Ends of links that were broken.
    cut: HashSet<End>,
    /// Ports that nothing is plugged into, by switch.
    spare: Vec<End>,
    dirty: Vec<usize>,
    out: Vec<Vec<u8>>,
    /// What the hosts heard since it was last taken.
    heard: Vec<(u32, Heard)>,
    /// The frames that came to hosts since they were last taken, where they are kept.
    arrived: Option<Vec<(u32, Vec<u8>)>>,
    /// Connections that ended since they were last taken, and whether the handshake had been over.
    lost: Vec<(u32, bool, SessionEnd)>,
    pub(super) messages: Messages,
    /// Packets that came to a host with a wrong checksum.
    pub(super) spoilt: u64,
    /// Copies of a storm's frames that came to hosts.
    pub(super) storm_copies: u64,
}

/// Where the output of one switch goes.
struct Outlet<'a> {
    session: &'a mut SwitchSession,
    wires: &'a mut Wires,
    messages: &'a mut Messages,
    version: Version,
    /// Its number in the topology; 0 for a double, whose ports lead nowhere.
    switch: u32,
    now: Duration,
    wrote: &'a mut bool,
}

impl Sink for Outlet<'_> {
    fn to_controller(&mut self, message: &[u8]) {
        *self.wrote = true;
        match message[1] {
            kind::PACKET_IN if !self.session.is_up() => {}
            kind::PACKET_IN => match self.session.try_push(message) {
                true => self.messages.packet_ins += 1,
                false => self.messages.packet_ins_dropped += 1,
            },
            kind::ERROR => {
                self.messages.erred(self.version, message);
                self.session.push(message);
            }
            _ => self.session.push(message),
        }
    }

    fn to_port(&mut self, port: u32, frame: &[u8]) {
        self.wires.send(WireEnd::Port(End { switch: self.switch, port }), frame, self.now);
    }
}

impl<'a> Fabric<'a> {
    /// All switches, not connected yet. `moves` is the switches to which hosts will be moved, each
    /// time one is: they have a port more each time.
    pub(super) fn new(
        plan: &'a NetworkPlan,
        moves: impl Iterator<Item = u32>,
    ) -> io::Result<Fabric<'a>> {
        let topology = &plan.topology;
        let mut ports: Vec<u32> = (1..=topology.switches()).map(|s| topology.ports(s)).collect();
        let mut spare = Vec::new();
        for switch in moves {
            ports[switch as usize - 1] += 1;
            spare.push(End { switch, port: ports[switch as usize - 1] });
        }
        let mut fabric = Fabric {
            plan,
            poll: Poll::new()?,
            inbox: ReceiveBuffer::new(READ_MAX),
            switches: Vec::new(),
            wires: Wires::new(topology, &ports, plan.delay),
            hosts: (1..=topology.hosts().len() as u32)
                .map(|host| EmulatedHost::new(plan.address(host)))
                .collect(),
            cut: HashSet::new(),
            spare,
            dirty: Vec::new(),
            out: Vec::new(),
            heard: Vec::new(),
            arrived: None,
            lost: Vec::new(),
            messages: Messages::default(),
            spoilt: 0,
            storm_copies: 0,
        };
        for (number, ports) in (1..).zip(ports) {
            fabric.add(number, ports, false);
        }
        for end in fabric.spare.clone() {
            fabric.set_link(end, false, Duration::ZERO);
        }
        Ok(fabric)
    }

    fn add(&mut self, number: u32, ports: u32, double: bool) {
        self.switches.push(FabricSwitch {
            number,
            ports,
            datapath: datapath(self.plan, number, ports),
            session: SwitchSession::new(self.plan.version, self.switches.len() as u64),
            gone: false,
            lost: false,
            dirty: false,
            double,
        });
    }

    /// How many switches have shaken hands, those that double another one left out; and the first
    /// that has not.
    pub(super) fn up(&self) -> (u32, Option<u32>) {
        let singles = || self.switches.iter().filter(|switch| !switch.double);
        let up = singles().filter(|switch| switch.session.is_up()).count() as u32;
        let late = singles().find(|switch| !switch.session.is_up());
        (up, late.map(|late| late.number))
    }

    /// How many switches have lost the controller and not found it again, and the first of them.
    /// Those that read slowly and those whose datapath id another switch has were to lose it.
    pub(super) fn forsaken(&self) -> (u32, Option<u32>) {
        let doubles: HashSet<u32> =
            self.switches.iter().filter(|switch| switch.double).map(|it| it.number).collect();
        let forsaken = || {
            self.switches.iter().filter(|FabricSwitch { number, session, lost, .. }| {
                *lost && !session.is_up() && !session.is_slow() && !doubles.contains(number)
            })
        };
        (forsaken().count() as u32, forsaken().next().map(|switch| switch.number))
    }

    /// Whether the controller is done for now with every switch that has shaken hands.
    pub(super) fn is_quiet(&self) -> bool {
        self.switches.iter().all(|switch| switch.session.is_quiet() || !switch.session.is_up())
    }

    /// A host, from 1.
    pub(super) fn host_mut(&mut self, host: u32) -> &mut EmulatedHost {
        &mut self.hosts[host as usize - 1]
    }

    /// How many hosts there are.
    pub(super) fn hosts(&self) -> u32 {
        self.hosts.len() as u32
    }

    /// What the hosts heard since the last call.
    pub(super) fn take_heard(&mut self) -> Vec<(u32, Heard)> {
        std::mem::take(&mut self.heard)
    }

    /// The frames that came to hosts since the last call, each with its receiver. They are kept
    /// from the first call on, [`ARRIVED_MAX`] at most.
    pub(super) fn take_arrived(&mut self) -> Vec<(u32, Vec<u8>)> {
        self.arrived.replace(Vec::new()).unwrap_or_default()
    }

    /// Which connections ended since the last call, whether their handshake had been over, and why.
    pub(super) fn take_lost(&mut self) -> Vec<(u32, bool, SessionEnd)> {
        std::mem::take(&mut self.lost)
    }

    /// A host does something; the frames it sends go on its wire.
    pub(super) fn with_host(
        &mut self,
        host: u32,
        now: Duration,
        act: impl FnOnce(&mut EmulatedHost, &mut Vec<Vec<u8>>),
    ) {
        act(&mut self.hosts[host as usize - 1], &mut self.out);
        self.speak(host, now);
    }

    fn speak(&mut self, host: u32, now: Duration) {
        for frame in self.out.drain(..) {
            self.wires.send(WireEnd::Host(host), &frame, now);
        }
    }

    /// Lets frames arrive that are due, some hundred at most.
    pub(super) fn carry(&mut self, now: Duration) {
        for _ in 0..FRAMES_A_TURN {
            let Some(arrival) = self.wires.arrival(now) else { return };
            match arrival.to {
                WireEnd::Port(end) => {
                    self.through(end.switch as usize - 1, now, |datapath, outlet| {
                        datapath.frame(end.port, &arrival.frame, now, outlet);
                    })
                }
                WireEnd::Host(host) => self.arrive(host, &arrival.frame, now),
            }
            self.wires.recycle(arrival.frame);
        }
    }

    fn arrive(&mut self, host: u32, frame: &[u8], now: Duration) {
        if let Some(arrived) = self.arrived.as_mut().filter(|kept| kept.len() < ARRIVED_MAX) {
            arrived.push((host, frame.to_vec()));
        }
        let heard = self.hosts[host as usize - 1].frame(frame, &mut self.out);
        self.speak(host, now);
        match heard {
            Heard::Nothing => {}
            Heard::Spoilt => self.spoilt += 1,
            Heard::Broadcast(STORM) => self.storm_copies += 1,
            heard => self.heard.push((host, heard)),
        }
    }

    /// Has a switch do something, and notes that it has something to write afterwards.
    fn through(
        &mut self,
        index: usize,
        now: Duration,
        act: impl FnOnce(&mut Datapath, &mut Outlet<'_>),
    ) {
        let switch = &mut self.switches[index];
        let mut wrote = false;
        let mut outlet = Outlet {
            session: &mut switch.session,
            wires: &mut self.wires,
            messages: &mut self.messages,
            version: self.plan.version,
            switch: if switch.double { 0 } else { switch.number },
            now,
            wrote: &mut wrote,
        };
        act(&mut switch.datapath, &mut outlet);
        if wrote && !std::mem::replace(&mut switch.dirty, true) {
            self.dirty.push(index);
        }
    }

    /// Waits for the connections, for so long at most, and serves those that are ready.
    pub(super) fn serve(
        &mut self,
        timeout: Duration,
        clock: impl Fn() -> Duration,
    ) -> io::Result<()> {
        let ready = self.poll.wait(Some(timeout))?;
        let now = clock();
        for index in 0..ready {
            let ready = self.poll.ready(index);
            let index = ready.key as usize;
            if let Err(ended) = self.visit(index, ready, now) {
                self.lose(index, ended, now);
            }
        }
        self.flush(now);
        Ok(())
    }

    fn visit(&mut self, index: usize, ready: Ready, now: Duration) -> Result<(), SessionEnd> {
        let session = &mut self.switches[index].session;
        if session.settle(ready.writable)? {
            return Ok(());
        }
        if ready.readable && !session.is_listening() {
            return Err(SessionEnd::Broken(io::ErrorKind::ConnectionReset.into()));
        }
        if ready.readable && !session.is_slow() {
            self.read(index, now)?;
        }
        self.switches[index].session.flush(&self.poll)
    }

    fn read(&mut self, index: usize, now: Duration) -> Result<(), SessionEnd> {
        let Fabric { switches, wires, messages, inbox, plan, .. } = self;
        let FabricSwitch { number, datapath, session, double, .. } = &mut switches[index];
        let (version, switch) = (plan.version, if *double { 0 } else { *number });
        let Some(bytes) = session.read(inbox)? else { return Ok(()) };
        session.chop(bytes, |session, raw| {
            messages.heard(version, raw.bytes);
            if raw.header.kind != kind::ERROR {
                let wrote = &mut false;
                let mut outlet = Outlet { session, wires, messages, version, switch, now, wrote };
                datapath.message(raw.bytes, now, &mut outlet);
            }
        })
    }

    /// Writes what the switches have to say.
    pub(super) fn flush(&mut self, now: Duration) {
        for index in std::mem::take(&mut self.dirty) {
            self.switches[index].dirty = false;
            if let Err(ended) = self.switches[index].session.flush(&self.poll) {
                self.lose(index, ended, now);
            }
        }
    }

    fn lose(&mut self, index: usize, why: SessionEnd, now: Duration) {
        let FabricSwitch { number, datapath, session, lost, .. } = &mut self.switches[index];
        self.lost.push((*number, session.is_up(), why));
        *lost = true;
        session.end(now);
        datapath.disconnected();
    }

    /// Does what has become due: connects again, reads slowly, removes flows whose time is over.
    pub(super) fn tick(&mut self, now: Duration, passed: Duration) {
        for index in 0..self.switches.len() {
            let switch = &mut self.switches[index];
            let mut outcome = Ok(());
            if switch.session.is_due(now) {
                let secure = self.plan.secure.as_ref();
                let secure = secure.map(|secure| (secure, self.plan.dpid(switch.number)));
                outcome = switch.session.open(self.plan.controller, secure, &self.poll);
            } else if switch.session.grant(passed) {
                outcome = self
                    .read(index, now)
                    .and_then(|()| self.switches[index].session.flush(&self.poll));
            }
            if let Err(ended) = outcome {
                self.lose(index, ended, now);
            }
            if self.switches[index].datapath.flows() > 0 {
                self.through(index, now, |datapath, outlet| {
                    datapath.expire(now, outlet);
                });
            }
        }
        self.flush(now);
    }
}

/// What faults do.
impl Fabric<'_> {
    /// Breaks a link, or mends it.
    pub(super) fn cut(&mut self, TopologyLink { a, b }: TopologyLink, broken: bool, now: Duration) {
        for end in [a, b] {
            if broken {
                self.cut.insert(end)
            } else {
                self.cut.remove(&end)
            };
        }
        self.refresh(WireEnd::Port(a), WireEnd::Port(b), now);
    }

    /// The same for what a host is plugged in with; whether it is plugged in at this switch.
    pub(super) fn cut_host(&mut self, host: u32, switch: u32, broken: bool, now: Duration) -> bool {
        let Some(end) = self.wires.port_of(host).filter(|end| end.switch == switch) else {
            return false;
        };
        if broken {
            self.cut.insert(end)
        } else {
            self.cut.remove(&end)
        };
        self.refresh(WireEnd::Host(host), WireEnd::Port(end), now);
        true
    }

    /// Sets both directions of a link to what its ends are.
    fn refresh(&mut self, a: WireEnd, b: WireEnd, now: Duration) {
        let up = [a, b].iter().all(|place| self.is_whole(place));
        for place in [a, b] {
            self.wires.set_up(place, up);
            if let WireEnd::Port(end) = place {
                self.set_link(end, up, now);
            }
        }
    }

    fn is_whole(&self, place: &WireEnd) -> bool {
        match place {
            WireEnd::Port(end) => {
                !self.cut.contains(end) && !self.switches[end.switch as usize - 1].gone
            }
            WireEnd::Host(_) => true,
        }
    }

    fn set_link(&mut self, end: End, up: bool, now: Duration) {
        let index = end.switch as usize - 1;
        if !self.switches[index].gone {
            self.through(index, now, |datapath, outlet| {
                datapath.set_link(end.port, up, outlet);
            });
        }
    }

    /// Takes a switch's power, or gives it back; it starts without flows.
    pub(super) fn power(&mut self, number: u32, on: bool, now: Duration) {
        let switch = &mut self.switches[number as usize - 1];
        if switch.gone != on {
            return;
        }
        (switch.gone, switch.lost) = (!on, false);
        if on {
            switch.datapath = datapath(self.plan, number, switch.ports);
            switch.session.come_back(now);
            for end in self.spare.clone().into_iter().filter(|end| end.switch == number) {
                self.set_link(end, false, now);
            }
        } else {
            switch.session.leave();
        }
        self.refresh_around(number, now);
    }

    fn refresh_around(&mut self, switch: u32, now: Duration) {
        for &TopologyLink { a, b } in self.plan.topology.links() {
            if a.switch == switch || b.switch == switch {
                self.refresh(WireEnd::Port(a), WireEnd::Port(b), now);
            }
        }
        for host in 1..=self.hosts() {
            if let Some(end) = self.wires.port_of(host).filter(|end| end.switch == switch) {
                self.refresh(WireEnd::Host(host), WireEnd::Port(end), now);
            }
        }
    }

    /// Resets a switch's connection; whether it had one.
    pub(super) fn reset(&mut self, number: u32, now: Duration) -> bool {
        let switch = &mut self.switches[number as usize - 1];
        let had = switch.session.has_socket();
        if had {
            self.lost.push((number, switch.session.is_up(), SessionEnd::Told));
            switch.session.reset(now);
            switch.lost = false;
            switch.datapath.disconnected();
        }
        had
    }

    /// Has a switch read slowly, or as ever.
    pub(super) fn read_slowly(&mut self, number: u32, rate: Option<u64>) -> io::Result<()> {
        self.switches[number as usize - 1].session.read_slowly(rate, &self.poll)
    }

    /// Adds a switch that claims to be this one.
    pub(super) fn double(&mut self, number: u32) {
        let ports = self.switches[number as usize - 1].ports;
        self.add(number, ports, true);
    }

    /// Moves a host to another switch, where it says that it is there.
    pub(super) fn move_host(&mut self, host: u32, switch: u32, now: Duration) {
        let Some(new) = self.spare.iter().position(|end| end.switch == switch) else { return };
        let new = self.spare.remove(new);
        if let Some(old) = self.wires.pull(host) {
            self.cut.remove(&old);
            self.set_link(old, false, now);
            self.spare.push(old);
        }
        self.wires.plug(host, new);
        self.refresh(WireEnd::Host(host), WireEnd::Port(new), now);
        self.with_host(host, now, |host, out| out.push(host.address.announce()));
    }
}

fn datapath(plan: &NetworkPlan, number: u32, ports: u32) -> Datapath {
    let dpid = plan.dpid(number);
    let port = |port: u32| PortSpec {
        number: port,
        address: address(dpid, port),
        name: format!("s{number}-eth{port}"),
    };
    let ports: Vec<PortSpec> = (1..=ports).map(port).collect();
    Datapath::new(plan.version, DatapathId(dpid.into()), &ports)
}

/// A locally administered address that is none of the hosts'.
fn address(dpid: u32, port: u32) -> MacAddr {
    let [_, _, s0, s1] = dpid.to_be_bytes();
    let [_, _, p0, p1] = port.to_be_bytes();
    MacAddr([0x06, 0, s0, s1, p0, p1])
}
