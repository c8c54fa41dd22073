//! What belongs to one connection of a guest and is answered here: configuration, role, which
//! events it wants.

use aldis_wire::msg::{AsyncConfig, ConfigFlags, Role, RoleMessage, SwitchConfig};
use aldis_wire::v13::async_config::AsyncMasks;

use crate::refusal::Refusal;

/// What a switch sends of a packet that it holds, where nothing else was said (1.3.5 §7.3.2).
const MISS_SEND_LEN: u16 = 128;

/// What the guest chose.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GuestSession {
    pub(crate) config: SwitchConfig,
    pub(crate) events: AsyncConfig,
    role: Role,
    generation: Option<u64>,
}

impl Default for GuestSession {
    /// As every connection begins (1.3.5 §7.3.10).
    fn default() -> GuestSession {
        let both = |reasons| AsyncMasks { master: reasons, slave: reasons };
        GuestSession {
            config: SwitchConfig { flags: ConfigFlags::default(), miss_send_len: MISS_SEND_LEN },
            events: AsyncConfig {
                packet_in: AsyncMasks { master: 0b011, slave: 0 },
                port_status: both(0b111),
                flow_removed: AsyncMasks { master: 0b1111, slave: 0 },
            },
            role: Role::EQUAL,
            generation: None,
        }
    }
}

impl GuestSession {
    /// Answers a ROLE_REQUEST: a guest is the one controller of the switches that it sees, so every
    /// role is given that has a name and no old generation (1.3.5 §6.3.4).
    pub(crate) fn take_role(&mut self, request: RoleMessage) -> Result<RoleMessage, Refusal> {
        match request.role {
            Role::NOCHANGE => {}
            Role::EQUAL => self.role = Role::EQUAL,
            Role::MASTER | Role::SLAVE => {
                let newest = self.generation.unwrap_or(request.generation_id);
                if (request.generation_id.wrapping_sub(newest) as i64) < 0 {
                    return Err(Refusal::StaleRole);
                }
                (self.generation, self.role) = (Some(request.generation_id), request.role);
            }
            _ => return Err(Refusal::BadRole),
        }
        let generation_id = self.generation.unwrap_or(u64::MAX);
        Ok(RoleMessage { role: self.role, generation_id })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_generation_is_refused() {
        let mut session = GuestSession::default();
        let ask = |role, generation_id| RoleMessage { role, generation_id };
        assert_eq!(session.take_role(ask(Role::NOCHANGE, 0)).unwrap().role, Role::EQUAL);
        assert_eq!(session.take_role(ask(Role::MASTER, 7)).unwrap(), ask(Role::MASTER, 7));
        assert_eq!(session.take_role(ask(Role::SLAVE, 6)), Err(Refusal::StaleRole));
        assert_eq!(session.take_role(ask(Role(9), 8)), Err(Refusal::BadRole));
    }
}
