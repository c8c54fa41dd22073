//! A topology while it is made: numbers the ports, and counts what there may be too many of.

use super::{End, HOSTS_MAX, LINKS_MAX, Link, PORTS_MAX, Refusal, SWITCHES_MAX, Topology};

/// It counts everything and keeps no more than there may be; [`Builder::finish`] says whether that
/// was all.
#[derive(Default)]
pub(super) struct Builder {
    topology: Unfinished,
    refusal: Option<Refusal>,
}

#[derive(Default)]
struct Unfinished {
    ports: Vec<u32>,
    links: Vec<Link>,
    hosts: Vec<End>,
}

impl Builder {
    /// The number of a new switch with so many hosts.
    pub(super) fn switch(&mut self, hosts: u32) -> u32 {
        if self.topology.ports.len() >= SWITCHES_MAX as usize {
            self.refuse(Refusal::TooMany { what: "switches", max: SWITCHES_MAX as usize });
            return SWITCHES_MAX;
        }
        self.topology.ports.push(0);
        let switch = self.topology.ports.len() as u32;
        for _ in 0..hosts.min(PORTS_MAX + 1) {
            self.host(switch);
        }
        switch
    }

    fn host(&mut self, switch: u32) {
        if self.topology.hosts.len() >= HOSTS_MAX {
            return self.refuse(Refusal::TooMany { what: "hosts", max: HOSTS_MAX });
        }
        let end = self.port(switch);
        self.topology.hosts.push(end);
    }

    /// Links two switches that there are.
    pub(super) fn link(&mut self, a: u32, b: u32) {
        if self.topology.links.len() >= LINKS_MAX {
            return self.refuse(Refusal::TooMany { what: "links", max: LINKS_MAX });
        }
        let (a, b) = (self.port(a), self.port(b));
        self.topology.links.push(Link { a, b });
    }

    fn port(&mut self, switch: u32) -> End {
        let ports = &mut self.topology.ports[switch as usize - 1];
        *ports += 1;
        let port = *ports;
        if port > PORTS_MAX {
            self.refuse(Refusal::Ports { switch, max: PORTS_MAX });
        }
        End { switch, port }
    }

    /// Whether there is more than there may be already, so that going on would be for nothing.
    pub(super) fn is_full(&self) -> bool {
        self.refusal.is_some()
    }

    fn refuse(&mut self, refusal: Refusal) {
        self.refusal.get_or_insert(refusal);
    }

    /// The topology; with names of its switches where there are any.
    ///
    /// # Errors
    /// There was too much of something.
    pub(super) fn finish(self, labels: Vec<String>) -> Result<Topology, Refusal> {
        let Unfinished { ports, links, hosts } = self.topology;
        match self.refusal {
            Some(refusal) => Err(refusal),
            None => Ok(Topology { ports, links, hosts, labels }),
        }
    }
}
