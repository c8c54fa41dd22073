//! Generations of hosts: a reader that remembers what the table said of a host knows by one number
//! whether the table may say something else now.
//!
//! Hosts share their numbers with others, five hundred of a million: a number that counted up says
//! that one of them left, moved or lost its port. For example, where a full table has one host
//! leave it for each that comes, what is remembered of nearly all others still holds.

use std::sync::Arc;

use aldis_wire::MacAddr;

/// The bits of a product that tell which number a host has: 8 KiB of numbers stay near a core that
/// asks for each request, and a new version of all of them costs little.
const NUMBER_BITS: u32 = 11;

/// Counts up where the place of a host changes. Versions share it until then.
#[derive(Clone, Debug)]
pub(super) struct Generations(Arc<[u32; 1 << NUMBER_BITS]>);

impl Default for Generations {
    fn default() -> Self {
        Generations(Arc::new([0; 1 << NUMBER_BITS]))
    }
}

impl Generations {
    /// That of a host.
    #[inline]
    pub(super) fn of(&self, mac: MacAddr) -> u32 {
        self.0[number(mac)]
    }

    /// The next one of a host begins, and of those that share its number.
    pub(super) fn end(&mut self, mac: MacAddr) {
        let generation = &mut Arc::make_mut(&mut self.0)[number(mac)];
        *generation = generation.wrapping_add(1);
    }
}

/// The number of a host. A sender that chooses addresses of one number gains nothing: what is
/// remembered of them is looked for once more.
#[inline]
fn number(mac: MacAddr) -> usize {
    (mac.to_u64().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - NUMBER_BITS)) as usize
}
