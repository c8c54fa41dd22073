//! What belongs to the connection and not to the switch: it begins anew with each connection.

use super::RequestFault;
use super::bounds::MISS_SEND_LEN;
use super::flow::Reason;
use aldis_wire::v13::async_config::{AsyncConfig, AsyncMasks};
use aldis_wire::v13::packet_in::PacketInReason;
use aldis_wire::v13::role::{Role, RoleMessage};

/// The treatment of fragments that drops them.
const FRAG_DROP: u16 = 1;

/// What the controller chose.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DatapathSession {
    pub(crate) role: Role,
    pub(crate) generation: Option<u64>,
    pub(crate) events: AsyncConfig,
    /// As in SET_CONFIG: 0 for fragments like other packets, 1 to drop them.
    pub(crate) fragments: u16,
    pub(crate) miss_send_len: u16,
}

impl Default for DatapathSession {
    /// As every connection begins (OpenFlow 1.3.5 §7.3.10).
    fn default() -> DatapathSession {
        let both = |reasons| AsyncMasks { master: reasons, slave: reasons };
        DatapathSession {
            role: Role::EQUAL,
            generation: None,
            events: AsyncConfig {
                packet_in: AsyncMasks { master: 0b011, slave: 0 },
                port_status: both(0b111),
                flow_removed: AsyncMasks { master: 0b1111, slave: 0 },
            },
            fragments: 0,
            miss_send_len: MISS_SEND_LEN,
        }
    }
}

impl DatapathSession {
    /// The next connection's; the switch remembers the generation, so that a controller of the past
    /// stays one.
    pub(crate) fn next(self) -> DatapathSession {
        DatapathSession { generation: self.generation, ..DatapathSession::default() }
    }

    fn wants(&self, masks: AsyncMasks, reason: u8) -> bool {
        let mask = if self.role == Role::SLAVE { masks.slave } else { masks.master };
        mask >> (reason & 31) & 1 == 1
    }

    pub(crate) fn wants_packet_in(&self, reason: PacketInReason) -> bool {
        self.wants(self.events.packet_in, reason.0)
    }

    pub(crate) fn wants_port_status(&self, reason: u8) -> bool {
        self.wants(self.events.port_status, reason)
    }

    pub(crate) fn wants_flow_removed(&self, reason: Reason) -> bool {
        self.wants(self.events.flow_removed, reason.0)
    }

    pub(crate) fn drops_fragments(&self) -> bool {
        self.fragments == FRAG_DROP
    }

    /// Whether it may read only.
    pub(crate) fn is_slave(&self) -> bool {
        self.role == Role::SLAVE
    }

    /// Answers a ROLE_REQUEST. A generation older than the newest seen is stale (§6.3.4).
    pub(crate) fn take_role(&mut self, request: RoleMessage) -> Result<RoleMessage, RequestFault> {
        match request.role {
            Role::NOCHANGE => {}
            Role::EQUAL => self.role = Role::EQUAL,
            Role::MASTER | Role::SLAVE => {
                let seen = self.generation.unwrap_or(request.generation_id);
                if (request.generation_id.wrapping_sub(seen) as i64) < 0 {
                    return Err(RequestFault::StaleRole);
                }
                self.generation = Some(request.generation_id);
                self.role = request.role;
            }
            _ => return Err(RequestFault::BadRole),
        }
        let generation_id = self.generation.unwrap_or(u64::MAX);
        Ok(RoleMessage { role: self.role, generation_id })
    }
}
