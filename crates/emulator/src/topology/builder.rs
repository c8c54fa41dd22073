//! A topology while it is made: numbers the ports, and counts what there may be too many of.

use super::{
    End, HOSTS_MAX, LINKS_MAX, PORTS_MAX, SWITCHES_MAX, ShapeRefusal, Topology, TopologyLink,
};

/// It counts everything and keeps no more than there may be; [`Builder::finish`] says whether that
/// was all.
#[derive(Default)]
pub(super) struct Builder {
    topology: UnfinishedTopology,
    refusal: Option<ShapeRefusal>,
}

#[derive(Default)]
struct UnfinishedTopology {
    ports: Vec<u32>,
    links: Vec<TopologyLink>,
    hosts: Vec<End>,
}

impl Builder {
    /// The number of a new switch with so many hosts.
    pub(super) fn switch(&mut self, hosts: u32) -> u32 {
        if self.topology.ports.len() >= SWITCHES_MAX as usize {
            self.refuse(ShapeRefusal::TooMany { what: "switches", max: SWITCHES_MAX as usize });
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
            return self.refuse(ShapeRefusal::TooMany { what: "hosts", max: HOSTS_MAX });
        }
        let end = self.port(switch);
        self.topology.hosts.push(end);
    }

    /// Links two switches that there are.
    pub(super) fn link(&mut self, a: u32, b: u32) {
        if self.topology.links.len() >= LINKS_MAX {
            return self.refuse(ShapeRefusal::TooMany { what: "links", max: LINKS_MAX });
        }
        let (a, b) = (self.port(a), self.port(b));
        self.topology.links.push(TopologyLink { a, b });
    }

    fn port(&mut self, switch: u32) -> End {
        let ports = &mut self.topology.ports[switch as usize - 1];
        *ports += 1;
        let port = *ports;
        if port > PORTS_MAX {
            self.refuse(ShapeRefusal::Ports { switch, max: PORTS_MAX });
        }
        End { switch, port }
    }

    /// Whether there is more than there may be already, so that going on would be for nothing.
    pub(super) fn is_full(&self) -> bool {
        self.refusal.is_some()
    }

    fn refuse(&mut self, refusal: ShapeRefusal) {
        self.refusal.get_or_insert(refusal);
    }

    /// The topology; with names of its switches where there are any.
    ///
    /// # Errors
    /// There was too much of something.
    pub(super) fn finish(self, labels: Vec<String>) -> Result<Topology, ShapeRefusal> {
        let UnfinishedTopology { ports, links, hosts } = self.topology;
        match self.refusal {
            Some(refusal) => Err(refusal),
            None => Ok(Topology { ports, links, hosts, labels }),
        }
    }
}
