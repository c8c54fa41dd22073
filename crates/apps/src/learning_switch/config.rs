//! The settings of the learning switch.

use core::time::Duration;

use aldis_control::{App, Cookie, Tables};
use aldis_wire::L2FlowSpec;

use super::LearningSwitch;
use super::table::{LINES_MIN, Seed, WORDS};

/// The settings of the learning switch. What they bound, they bound for each switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LearningConfig {
    /// Spreads addresses over the tables: random, the same for all instances.
    pub seed: Seed,
    /// Seconds without a packet after which a switch removes a flow; 0 for never. Beacon's learning
    /// switch says 5: then every pause in a conversation asks the controller again.
    pub idle_timeout_s: u16,
    /// The higher of two matching flows wins.
    pub priority: u16,
    /// The mark on the flows, by which they are told from those of others. It stays the same: a
    /// controller that comes back removes the flows of the one before where a host moved.
    pub cookie: u64,
    /// Which table they go to.
    pub tables: Tables,
    /// A host that was silent for so long is forgotten, at most an eighth of it earlier. 16 s at
    /// least.
    pub ageing: Duration,
    /// Hosts that a switch has room for, over all its VLANs. The room comes with the hosts, 16 to
    /// 32 bytes for each, and 10 where it ends.
    pub hosts_max: usize,
}

impl LearningConfig {
    /// What suits most networks: flows go after a minute without a packet, hosts after five (IEEE
    /// 802.1Q, table 8-7), and a switch may have a million.
    pub fn new(seed: Seed) -> LearningConfig {
        LearningConfig {
            seed,
            idle_timeout_s: 60,
            priority: 0x8000,
            cookie: Cookie::of(LearningSwitch::NAME).0,
            tables: Tables::One,
            ageing: Duration::from_secs(300),
            hosts_max: 1_000_000,
        }
    }

    /// What all flows have in common.
    pub(super) fn flows(&self) -> L2FlowSpec {
        L2FlowSpec {
            idle_timeout_s: self.idle_timeout_s,
            hard_timeout_s: 0,
            priority: self.priority,
            cookie: self.cookie,
            send_flow_removed: false,
        }
    }

    /// Lines of the largest table: so many hosts leave one word of five free.
    pub(super) fn lines_max(&self) -> usize {
        let words = self.hosts_max.saturating_add(self.hosts_max / 4);
        (words / WORDS).next_power_of_two().max(LINES_MIN)
    }
}
