//! What a FLOW_MOD, a PACKET_OUT and a PORT_MOD do, whichever version asked for it.

use super::action::DatapathAction;
use super::bounds::{FRAME_MAX, FRAME_MIN};
use super::flow::Reason;
use super::forward::{PacketWay, ReportOrigin};
use super::packet::DatapathPacket;
use super::port::config;
use super::tables::{Addition, Filter};
use super::{Datapath, RequestFault, Sink};
use aldis_wire::MacAddr;
use aldis_wire::v13::port::PortNo;
use std::time::Duration;

/// What a FLOW_MOD asks for.
#[derive(Debug)]
pub(super) enum FlowChange {
    Add(Box<Addition>),
    /// Gives the flows of the filter another program. As 1.0 has it they get the new cookie too,
    /// and one is added where there is none.
    Modify {
        filter: Filter,
        new: Box<Addition>,
        as_v10: bool,
    },
    Delete(Filter),
}

/// A change to a port: the bits of `mask` become those of `config`.
#[derive(Debug)]
pub(super) struct PortModChange {
    pub(super) port: u32,
    pub(super) address: MacAddr,
    pub(super) config: u32,
    pub(super) mask: u32,
}

impl Datapath {
    pub(super) fn change(
        &mut self,
        change: FlowChange,
        now: Duration,
        out: &mut impl Sink,
    ) -> Result<(), RequestFault> {
        match change {
            FlowChange::Add(new) => self.tables.add(*new, now),
            FlowChange::Modify { filter, new, as_v10 } => {
                let found = self.tables.find(&filter);
                if found.is_empty() && as_v10 {
                    return self.tables.add(*new, now);
                }
                self.tables.modify(&found, &new, as_v10, now);
                Ok(())
            }
            FlowChange::Delete(filter) => {
                let found = self.tables.find(&filter);
                for removed in self.tables.remove(&found, Reason::DELETE) {
                    self.tell_removed(&removed, now, out);
                }
                Ok(())
            }
        }
    }

    /// Sends a frame of the controller's. It came in by `in_port`, as far as flows and actions are
    /// concerned.
    pub(super) fn packet_out(
        &mut self,
        in_port: u32,
        actions: &[DatapathAction],
        frame: &[u8],
        now: Duration,
        out: &mut impl Sink,
    ) -> Result<(), RequestFault> {
        if !(FRAME_MIN..=FRAME_MAX).contains(&frame.len()) {
            return Err(RequestFault::BadPacket);
        }
        let Some(mut packet) = DatapathPacket::new(frame, in_port) else {
            return Err(RequestFault::BadPacket);
        };
        let mut way = PacketWay::new(&mut self.world, out, now, frame.len());
        for action in actions {
            if *action == DatapathAction::Output(PortNo::TABLE.0) {
                // What the tables change of the packet, later actions see, as in Open vSwitch.
                way.walk(&mut self.tables, &mut packet);
            } else if !way.act(std::slice::from_ref(action), &mut packet, ReportOrigin::NO_FLOW, 0)
            {
                break;
            }
        }
        Ok(())
    }

    /// The controller knows what it asked for itself: as Open vSwitch has it, it is told of what
    /// came of that alone, a port that goes down or comes up.
    pub(super) fn port_mod(
        &mut self,
        change: &PortModChange,
        out: &mut impl Sink,
    ) -> Result<(), RequestFault> {
        let port = self.world.ports.get_mut(change.port).ok_or(RequestFault::BadPort)?;
        if port.address != change.address {
            return Err(RequestFault::BadHardwareAddress);
        }
        let wanted = port.config & !change.mask | change.config & change.mask;
        let changed = std::mem::replace(&mut port.config, wanted) ^ wanted;
        if changed & config::DOWN != 0 {
            self.port_changed(change.port, out);
        }
        Ok(())
    }
}
