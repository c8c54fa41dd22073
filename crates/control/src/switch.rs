//! A switch that finished its handshake, as applications see it.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::any::Any;
use core::net::SocketAddr;

use aldis_wire::msg::Port;
use aldis_wire::{DatapathId, Version};

use crate::account::Account;
use crate::stats::SwitchSnapshot;
use crate::time::Time;

/// What the handshake found out about a switch. It does not change while the switch is connected.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SwitchInfo {
    /// Its name.
    pub dpid: DatapathId,
    /// The version agreed on.
    pub version: Version,
    /// Packets it can hold back while it asks; 0 when it always sends them whole.
    pub buffers: u32,
    /// Number of its flow tables.
    pub tables: u8,
    /// Its ports at the end of the handshake. Later changes come as events.
    pub ports: Vec<Port>,
}

/// A connected switch: what is known of it, and one slot of state for each application of the
/// pipeline.
///
/// Several workers may hold it at once.
pub struct Switch {
    /// What the handshake found out.
    pub info: SwitchInfo,
    /// What is kept because of it.
    pub account: Account,
    pub(crate) slots: Box<[SwitchSlot]>,
    /// The version of the line-up under which it joined.
    pub(crate) since: u64,
}

/// What an application keeps on a switch.
pub(crate) struct SwitchSlot {
    /// The start of the application that made it; 0 where none did.
    pub(crate) generation: u64,
    pub(crate) value: Box<dyn Any + Send + Sync>,
}

impl Switch {
    /// Whether the application in this place made its slot here, since this start of it.
    pub(crate) fn has_slot(&self, index: usize, generation: u64) -> bool {
        self.slots.get(index).is_some_and(|slot| slot.generation == generation)
    }

    /// The version of the line-up under which it joined: applications that were started later are
    /// still to be told of it.
    pub fn since(&self) -> u64 {
        self.since
    }
}

impl core::fmt::Debug for Switch {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Switch").field("info", &self.info).finish_non_exhaustive()
    }
}

/// A connected switch at a moment, as it is seen from outside the workers.
#[derive(Clone, Debug)]
pub struct Seen {
    /// What the handshake found out.
    pub switch: Arc<Switch>,
    /// Its ports as they are now, where any changed since.
    pub ports_now: Option<Arc<[Port]>>,
    /// Where its main connection comes from.
    pub peer: SocketAddr,
    /// When it finished its handshake.
    pub up_since: Time,
    /// Whether it reads what it is sent: nothing waits for its socket.
    pub reads: bool,
    /// Auxiliary connections that it has besides.
    pub auxiliaries: usize,
    /// What was counted for it, on all its connections.
    pub counted: SwitchSnapshot,
}

impl Seen {
    /// Its ports as they are now, by number.
    pub fn ports(&self) -> &[Port] {
        self.ports_now.as_deref().unwrap_or(&self.switch.info.ports)
    }
}
