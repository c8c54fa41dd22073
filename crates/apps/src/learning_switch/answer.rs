//! The answers of a learning switch, stamped from the templates of the version that the switch
//! speaks.

use aldis_control::{Batch, Output, RequestHeader};
use aldis_wire::msg::{PortNo, TableNo};
use aldis_wire::types::{L2FlowSpec, L2Hit, NO_BUFFER};
use aldis_wire::{v10, v13};

use super::age::Epoch;
use super::ahead::Sight;
use super::hosts::{Hosts, Learnt, Vlan};
use super::look::Look;
use super::ports::{PortSlot, Ports};
use super::removal::Removal;
use super::table::{Key, Seen};
use super::{Counters, answer};

/// How a version says what a learning switch has to say.
pub(super) trait Dialect {
    /// Adds a flow.
    fn flow(&self, hit: &L2Hit, out: &mut Output);

    /// Sends a packet out of `out_port`: `frame`, or, if that is empty, the one that the switch
    /// keeps. One that is longer than a message is dropped; the answer says whether it is on its
    /// way.
    fn release(
        &self,
        request: &RequestHeader,
        out_port: u32,
        frame: &[u8],
        out: &mut Output,
    ) -> bool;
}

/// The templates of one version.
#[derive(Clone, Debug)]
pub(super) struct Templates<F, R> {
    flow: F,
    release: R,
}

macro_rules! dialect {
    ($name:ident, $version:ident) => {
        /// The answers in this version.
        pub(super) type $name = Templates<$version::template::L2Flow, $version::template::Release>;

        impl $name {
            /// For flows of this kind.
            pub(super) fn new(flows: &L2FlowSpec) -> $name {
                let flow = $version::template::L2Flow::new(flows);
                Templates { flow, release: $version::template::Release::new() }
            }
        }

        impl Dialect for $name {
            #[inline(always)]
            fn flow(&self, hit: &L2Hit, out: &mut Output) {
                self.flow.stamp(out.stamp(), hit);
            }

            #[inline]
            fn release(
                &self,
                request: &RequestHeader,
                out_port: u32,
                frame: &[u8],
                out: &mut Output,
            ) -> bool {
                if frame.len() > usize::from($version::template::Release::FRAME_LEN_MAX) {
                    return false;
                }
                let RequestHeader { xid, buffer_id, in_port, .. } = *request;
                let len = frame.len() as u16;
                self.release.stamp(out.stamp(), xid, buffer_id, in_port, out_port, len);
                out.append(frame);
                true
            }
        }
    };
}

dialect!(V10, v10);
dialect!(V13, v13);

impl V13 {
    /// With flows for this table.
    pub(super) fn in_table(self, table: TableNo) -> V13 {
        Templates { flow: self.flow.in_table(table), ..self }
    }
}

/// Where requests of one switch are answered.
pub(super) struct Desk<'d, 'm, D> {
    /// The switch's version and its templates.
    pub(super) dialect: &'d D,
    /// What is known of its hosts.
    pub(super) hosts: &'d Hosts,
    /// Its ports.
    pub(super) ports: &'m Ports,
    /// Now.
    pub(super) epoch: Epoch,
    /// The received bytes.
    pub(super) batch: &'d Batch<'d>,
    /// How to say what is said rarely.
    pub(super) removal: Removal<'d>,
    /// Where answers go.
    pub(super) out: &'d mut Output,
    /// What was done.
    pub(super) counters: &'d mut Counters,
}

impl<'d, 'm> Desk<'d, 'm, ()> {
    /// In this dialect.
    pub(super) fn of<D>(self, dialect: &'d D) -> Desk<'d, 'm, D> {
        let Desk { hosts, ports, epoch, batch, removal, out, counters, .. } = self;
        Desk { dialect, hosts, ports, epoch, batch, removal, out, counters }
    }
}

impl<D: Dialect> Desk<'_, '_, D> {
    /// Answers requests in order.
    ///
    /// Nearly all of them, in a network that has been running for a while, are from a host where it
    /// was and to a host that is known: they are told apart in one go, and everything else is
    /// answered apart.
    #[inline(always)]
    pub(super) fn answer_all(
        mut self,
        requests: &[RequestHeader],
        sights: &[Sight<'_>],
        look: impl Look,
    ) {
        let (ports, epoch) = (self.ports, self.epoch);
        let mut installed = 0;
        for (request, sight) in requests.iter().zip(sights) {
            let slot = ports.slot(request.in_port);
            let seen = look.seen(sight.dst_line, sight.dst);
            let port = ports.number(seen.slot());
            if look.holds(sight.src_line, sight.src, Seen::new(slot, epoch))
                && slot != PortSlot::NONE
                && epoch.counts(seen.epoch())
                && port != 0
                && port != request.in_port
                && !request.stopped
            {
                installed += 1;
                self.flow(request, sight.vlan, (sight.src, sight.dst), port);
            } else {
                self.answer(request);
            }
        }
        self.counters.installed += installed;
    }

    #[cold]
    #[inline(never)]
    fn answer(&mut self, request: &RequestHeader) {
        if !request.stopped {
            answer(self, request);
        }
    }

    /// Notes behind which port the source is.
    pub(super) fn learn(&mut self, request: &RequestHeader, vlan: Vlan, src: Key) {
        if !src.is_host() {
            return;
        }
        let (learnt, evicted) = self.hosts.learn(vlan, src, request.in_port, self.epoch);
        self.counters.evicted += evicted as u64;
        match learnt {
            Learnt::Here => {}
            Learnt::Not => self.counters.unlearnt += 1,
            Learnt::Moved { tell } => {
                self.counters.moves += 1;
                if tell {
                    self.removal.host(vlan, src.mac(), request.xid, self.out);
                }
            }
        }
    }

    /// The port that the destination is behind.
    pub(super) fn look_up(&self, vlan: Vlan, dst: Key) -> Option<u32> {
        self.hosts.find(vlan, dst, self.epoch).filter(|_| dst.is_host())
    }

    /// Has a flow carry what goes this way from now on, and this packet first.
    pub(super) fn install(
        &mut self,
        request: &RequestHeader,
        vlan: Vlan,
        way: (Key, Key),
        port: u32,
    ) {
        self.counters.installed += 1;
        self.flow(request, vlan, way, port);
    }

    #[inline(always)]
    fn flow(&mut self, request: &RequestHeader, vlan: Vlan, (src, dst): (Key, Key), port: u32) {
        let hit = L2Hit {
            xid: request.xid,
            in_port: request.in_port,
            eth_src: src.bits(),
            eth_dst: dst.bits(),
            vlan,
            buffer_id: request.buffer_id,
            out_port: port,
        };
        self.dialect.flow(&hit, self.out);
        if request.buffer_id == NO_BUFFER {
            self.send(request, port);
        }
    }

    /// Sends the packet out of every port but its own.
    pub(super) fn flood(&mut self, request: &RequestHeader) {
        self.counters.flooded += 1;
        self.send(request, PortNo::FLOOD.0);
    }

    /// Drops the packet: where it came from, its destination hears it anyway.
    #[cold]
    pub(super) fn filter(&mut self, request: &RequestHeader) {
        self.counters.filtered += 1;
        self.removal.packet(request, self.out);
    }

    /// Drops the packet: it is for bridges, or none.
    #[cold]
    pub(super) fn ignore(&mut self, request: &RequestHeader) {
        self.counters.ignored += 1;
        self.removal.packet(request, self.out);
    }

    fn send(&mut self, request: &RequestHeader, port: u32) {
        let frame: &[u8] = match request.buffer_id {
            NO_BUFFER => self.batch.frame(request),
            _ => &[],
        };
        let whole = request.buffer_id != NO_BUFFER || request.total_len <= request.frame_len;
        if !whole || !self.dialect.release(request, port, frame, self.out) {
            self.counters.cut += 1;
        }
    }
}
