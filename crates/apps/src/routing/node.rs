//! A node of the graph: what is known of the ports of its switch, and the links that can be used.

use aldis_wire::DatapathId;
use aldis_wire::msg::PortNo;

use super::graph::Node;
use super::metric::Metric;

/// Ports of one switch that may be ends of links: as many as a switch may have ports
/// ([`aldis_control::limits::PORTS_MAX`]). What is heard at further ones is not believed.
pub const LINKS_MAX: usize = aldis_control::limits::PORTS_MAX;

/// A link that can be used, seen from one of its ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Leg {
    /// The switch at its other end.
    pub node: Node,
    /// The port at this end.
    pub port: PortNo,
    /// The port at the other end.
    pub far_port: PortNo,
    /// What it costs from here.
    pub out: Metric,
    /// What it costs towards here.
    pub back: Metric,
}

/// A switch, or a place that no switch has just now.
#[derive(Clone, Debug, Default)]
pub(super) struct NodeLinks {
    /// The switch; none where the place is free.
    pub(super) dpid: Option<DatapathId>,
    // By port.
    ends: Vec<KnownPort>,
    // Of the ports of these a bit each; of several ports the same, and of some that are no ends any
    // more.
    may_know: u64,
    // By port.
    legs: Box<[Leg]>,
    // The neighbours as bits, from word `row_from` on; empty where there are fewer of them than
    // words.
    row: Box<[u64]>,
    row_from: usize,
}

/// What is known of a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct KnownPort {
    port: u32,
    out: Option<FarEnd>,
    back: Option<FarEnd>,
}

/// The other end of one direction of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct FarEnd {
    /// The switch.
    pub(super) node: Node,
    /// Its port.
    pub(super) port: u32,
    /// What it costs in this direction.
    pub(super) metric: Metric,
}

/// One of the two directions of a link, seen from one of its ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Side {
    /// From this end to the other.
    Out,
    /// From the other end to this one.
    Back,
}

/// The bit of a port among 64.
#[inline]
fn bit(port: u32) -> u64 {
    1 << (port.wrapping_mul(0x9e37_79b9) >> 26)
}

impl NodeLinks {
    /// The place of a switch without links.
    pub(super) fn of(dpid: DatapathId) -> NodeLinks {
        NodeLinks { dpid: Some(dpid), ..NodeLinks::default() }
    }

    /// The links that can be used, by port.
    #[inline]
    pub(super) fn legs(&self) -> &[Leg] {
        &self.legs
    }

    /// The neighbours as bits, if that is shorter than to list them, and which word of all it
    /// begins with.
    #[inline]
    pub(super) fn row(&self) -> Option<(usize, &[u64])> {
        (!self.row.is_empty()).then_some((self.row_from, &self.row))
    }

    /// The ports at which anything is known to lead to a switch, in one direction at least, by
    /// number.
    pub(super) fn ends(&self) -> impl Iterator<Item = PortNo> {
        self.ends.iter().map(|known| PortNo(known.port))
    }

    /// Whether anything is known of a port.
    #[inline]
    pub(super) fn knows(&self, port: u32) -> bool {
        self.may_know & bit(port) != 0 && self.place(port).is_ok()
    }

    /// Every other end that is known, with the port here and the direction.
    pub(super) fn far_ends(&self) -> impl Iterator<Item = (u32, Side, FarEnd)> {
        self.ends.iter().flat_map(|known| {
            let out = known.out.map(|far| (known.port, Side::Out, far));
            let back = known.back.map(|far| (known.port, Side::Back, far));
            out.into_iter().chain(back)
        })
    }

    /// What is known of one direction at `port`.
    pub(super) fn far(&self, port: u32, side: Side) -> Option<FarEnd> {
        let known = &self.ends[self.place(port).ok()?];
        match side {
            Side::Out => known.out,
            Side::Back => known.back,
        }
    }

    /// Whether something can be noted of `port`.
    pub(super) fn has_room_for(&self, port: u32) -> bool {
        self.ends.len() < LINKS_MAX || self.place(port).is_ok()
    }

    /// Notes one direction at `port`; nothing is kept of a port that leads nowhere.
    pub(super) fn note(&mut self, port: u32, side: Side, far: Option<FarEnd>) {
        let at = self.place(port).unwrap_or_else(|at| {
            self.ends.insert(at, KnownPort { port, out: None, back: None });
            self.may_know |= bit(port);
            at
        });
        match side {
            Side::Out => self.ends[at].out = far,
            Side::Back => self.ends[at].back = far,
        }
        if self.ends[at].out.is_none() && self.ends[at].back.is_none() {
            self.ends.remove(at);
        }
    }

    /// Finds the links again that can be used, once everything is noted.
    pub(super) fn settle(&mut self) {
        self.legs = self.ends.iter().filter_map(KnownPort::leg).collect();
        self.may_know = self.ends.iter().fold(0, |bits, known| bits | bit(known.port));
        let words = self.legs.iter().map(|leg| leg.node.index() / 64);
        let (first, last) = (words.clone().min().unwrap_or(0), words.max().unwrap_or(0));
        self.row = Box::default();
        self.row_from = first;
        if self.legs.len() > last - first {
            let mut row = vec![0; last - first + 1];
            for leg in &self.legs {
                row[leg.node.index() / 64 - first] |= 1 << (leg.node.index() % 64);
            }
            self.row = row.into();
        }
    }

    fn place(&self, port: u32) -> Result<usize, usize> {
        self.ends.binary_search_by_key(&port, |known| known.port)
    }
}

impl KnownPort {
    /// The link, if it is known from both ends and they agree.
    fn leg(&self) -> Option<Leg> {
        let (out, back) = (self.out?, self.back?);
        let agree = (out.node, out.port) == (back.node, back.port);
        agree.then_some(Leg {
            node: out.node,
            port: PortNo(self.port),
            far_port: PortNo(out.port),
            out: out.metric,
            back: back.metric,
        })
    }
}
