//! Actions within a grant.

use aldis_wire::msg::{Action, PortNo};

use super::Inbound;
use crate::limits::PORTS_SPLIT_MAX;
use crate::refusal::Refusal;

impl Inbound<'_> {
    /// The actions, where all of them are within the grant. Flooding goes to the ports of the grant
    /// alone.
    pub(super) fn actions(&self, actions: Vec<Action>) -> Result<Vec<Action>, Refusal> {
        let grant = &self.datapath.guest.grant;
        let mut within = Vec::with_capacity(actions.len());
        for action in actions {
            let is_granted = match &action {
                Action::Output { port, .. } => {
                    if grant.has_ports_named() && matches!(*port, PortNo::FLOOD | PortNo::ALL) {
                        within.extend(self.every_port()?.map(Action::output));
                        continue;
                    }
                    self.may_output(*port)
                }
                Action::Group(group) => grant.has_group(group.0),
                _ if grant.is_whole() => true,
                Action::SetField(field) => grant.may_set(field),
                Action::PushVlan(_) | Action::PopVlan => !grant.is_by_vlan(),
                Action::Experimenter { .. } | Action::Unknown { .. } => false,
                _ => true,
            };
            if !is_granted {
                return Err(Refusal::Action);
            }
            within.push(action);
        }
        Ok(within)
    }

    fn may_output(&self, port: PortNo) -> bool {
        let grant = &self.datapath.guest.grant;
        match port {
            PortNo::IN_PORT | PortNo::CONTROLLER | PortNo::TABLE => true,
            PortNo::NORMAL => grant.is_whole(),
            port => grant.has_port(port),
        }
    }

    /// The ports of the grant that the switch has.
    pub(super) fn every_port(&self) -> Result<impl Iterator<Item = PortNo>, Refusal> {
        let ports = self.datapath.granted_ports();
        match ports.len() <= PORTS_SPLIT_MAX {
            true => Ok(ports.into_iter()),
            false => Err(Refusal::Action),
        }
    }
}
