//! The answers of a learning switch, stamped from the templates of the version that the switch
//! speaks.

use aldis_control::{Batch, Output, RequestHeader};
use aldis_wire::msg::{PortNo, TableNo};
use aldis_wire::types::{L2FlowSpec, L2Hit, NO_BUFFER};
use aldis_wire::{v10, v13};

use super::LearningCounters;
use super::age::Epoch;
use super::hosts::{Learnt, SwitchHosts, Vlan};
use super::lookup::HostLookup;
use super::ports::{PortSlot, PortSlots};
use super::prefetch::{FrameKind, Lookahead, header, is_for_bridges};
use super::removal::Removal;
use super::table::{LastSeen, MacKey};

/// Encodes the answers in one version of OpenFlow.
pub(super) trait Encoder {
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

macro_rules! encoder {
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

        impl Encoder for $name {
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

encoder!(V10, v10);
encoder!(V13, v13);

impl V13 {
    /// With flows for this table.
    pub(super) fn in_table(self, table: TableNo) -> V13 {
        Templates { flow: self.flow.in_table(table), ..self }
    }
}

/// Answers the requests of one switch.
pub(super) struct Responder<'d, 'm, D> {
    /// The switch's version and its templates.
    pub(super) encoder: &'d D,
    /// What is known of its hosts.
    pub(super) hosts: &'d SwitchHosts,
    /// Its ports.
    pub(super) ports: &'m PortSlots,
    /// Now.
    pub(super) epoch: Epoch,
    /// The received bytes.
    pub(super) batch: &'d Batch<'d>,
    /// The rare messages.
    pub(super) removal: Removal<'d>,
    /// Where answers go.
    pub(super) out: &'d mut Output,
    /// What was done.
    pub(super) counters: &'d mut LearningCounters,
}

impl<'d, 'm> Responder<'d, 'm, ()> {
    /// With the encoder of the switch's version.
    pub(super) fn of<D>(self, encoder: &'d D) -> Responder<'d, 'm, D> {
        let Responder { hosts, ports, epoch, batch, removal, out, counters, .. } = self;
        Responder { encoder, hosts, ports, epoch, batch, removal, out, counters }
    }
}

impl<D: Encoder> Responder<'_, '_, D> {
    /// Answers requests in order.
    ///
    /// Nearly all of them, in a network that has been running for a while, are from a host where it
    /// was and to a host that is known: they are told apart in one go, and everything else is
    /// answered apart.
    #[inline(always)]
    pub(super) fn answer_all(
        mut self,
        requests: &[RequestHeader],
        lookaheads: &[Lookahead<'_>],
        lookup: impl HostLookup,
    ) {
        let (ports, epoch) = (self.ports, self.epoch);
        let mut installed = 0;
        for (request, lookahead) in requests.iter().zip(lookaheads) {
            let slot = ports.slot(request.in_port);
            let seen = lookup.seen(lookahead.dst_line, lookahead.dst);
            let port = ports.number(seen.slot());
            if lookup.holds(lookahead.src_line, lookahead.src, LastSeen::new(slot, epoch))
                && slot != PortSlot::NONE
                && epoch.counts(seen.epoch())
                && port != 0
                && port != request.in_port
                && !request.stopped
            {
                installed += 1;
                self.flow(request, lookahead.vlan, (lookahead.src, lookahead.dst), port);
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
    pub(super) fn learn(&mut self, request: &RequestHeader, vlan: Vlan, src: MacKey) {
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
    pub(super) fn look_up(&self, vlan: Vlan, dst: MacKey) -> Option<u32> {
        self.hosts.find(vlan, dst, self.epoch).filter(|_| dst.is_host())
    }

    /// Has a flow carry what goes this way from now on, and this packet first.
    pub(super) fn install(
        &mut self,
        request: &RequestHeader,
        vlan: Vlan,
        way: (MacKey, MacKey),
        port: u32,
    ) {
        self.counters.installed += 1;
        self.flow(request, vlan, way, port);
    }

    #[inline(always)]
    fn flow(
        &mut self,
        request: &RequestHeader,
        vlan: Vlan,
        (src, dst): (MacKey, MacKey),
        port: u32,
    ) {
        let hit = L2Hit {
            xid: request.xid,
            in_port: request.in_port,
            eth_src: src.bits(),
            eth_dst: dst.bits(),
            vlan,
            buffer_id: request.buffer_id,
            out_port: port,
        };
        self.encoder.flow(&hit, self.out);
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
        if !whole || !self.encoder.release(request, port, frame, self.out) {
            self.counters.cut += 1;
        }
    }
}

/// Decides about one request.
fn answer(responder: &mut Responder<'_, '_, impl Encoder>, request: &RequestHeader) {
    let (dst, src, kind) = header(responder.batch.frame(request));
    let FrameKind::Data(vlan) = kind else { return responder.ignore(request) };
    responder.learn(request, vlan, src);
    match responder.look_up(vlan, dst) {
        Some(port) if port != request.in_port => responder.install(request, vlan, (src, dst), port),
        Some(_) => responder.filter(request),
        None if is_for_bridges(dst) => responder.ignore(request),
        None => responder.flood(request),
    }
}
