//! How often an address may do something: so many at once, and then one every so often (GCRA, the
//! generic cell rate algorithm: one moment an address is all there is to remember).

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

/// Addresses that are told apart. When there are more, all others share one allowance.
const ADDRESSES_MAX: usize = 8192;

/// An allowance for each address.
pub(crate) struct AddressRate {
    at_once: u32,
    /// For each address, when its allowance is whole again.
    whole_at: HashMap<IpAddr, Instant>,
}

impl AddressRate {
    /// So many at once.
    pub(crate) fn new(at_once: u32) -> AddressRate {
        AddressRate { at_once: at_once.max(1), whole_at: HashMap::new() }
    }

    /// Takes one, where there is one left; else says how long until there is.
    pub(crate) fn take(
        &mut self,
        peer: IpAddr,
        every: Duration,
        now: Instant,
    ) -> Result<(), Duration> {
        let peer = self.place(peer, now);
        let whole_at = self.whole_at.get(&peer).copied().unwrap_or(now).max(now);
        let wait = (whole_at + every).saturating_duration_since(now + every * self.at_once);
        if wait > Duration::ZERO {
            return Err(wait);
        }
        self.whole_at.insert(peer, whole_at + every);
        Ok(())
    }

    /// Gives one back.
    pub(crate) fn give_back(&mut self, peer: IpAddr, every: Duration) {
        if let Some(whole_at) = self.whole_at.get_mut(&network(peer)) {
            *whole_at = whole_at.checked_sub(every).unwrap_or(*whole_at);
        }
    }

    /// Under which address it is counted.
    fn place(&mut self, peer: IpAddr, now: Instant) -> IpAddr {
        let peer = network(peer);
        if self.whole_at.len() < ADDRESSES_MAX || self.whole_at.contains_key(&peer) {
            return peer;
        }
        self.whole_at.retain(|_, whole_at| *whole_at > now);
        match self.whole_at.len() < ADDRESSES_MAX {
            true => peer,
            false => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        }
    }
}

/// A machine with an IPv6 address has 2^64 of them.
pub(crate) fn network(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V6(address) => {
            let network = address.to_bits() >> 64 << 64;
            IpAddr::V6(Ipv6Addr::from_bits(network))
        }
        old => old,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn so_many_at_once_and_then_one_every_so_often() {
        let (mut rate, now) = (AddressRate::new(3), Instant::now());
        let peer = ip("192.0.2.1");
        for _ in 0..3 {
            assert_eq!(rate.take(peer, SECOND, now), Ok(()));
        }
        assert_eq!(rate.take(peer, SECOND, now), Err(SECOND));
        assert_eq!(rate.take(ip("192.0.2.2"), SECOND, now), Ok(()), "another has its own");
        assert_eq!(rate.take(peer, SECOND, now + SECOND), Ok(()));
        assert_eq!(rate.take(peer, SECOND, now + SECOND), Err(SECOND));
        rate.give_back(peer, SECOND);
        assert_eq!(rate.take(peer, SECOND, now + SECOND), Ok(()));
        for _ in 0..3 {
            assert_eq!(rate.take(peer, SECOND, now + 9 * SECOND), Ok(()), "no more than whole");
        }
        assert!(rate.take(peer, SECOND, now + 9 * SECOND).is_err());
    }

    #[test]
    fn addresses_of_one_network_are_one_and_many_are_bounded() {
        let (mut rate, now) = (AddressRate::new(1), Instant::now());
        assert_eq!(rate.take(ip("2001:db8::1"), SECOND, now), Ok(()));
        assert!(rate.take(ip("2001:db8::ffff:2"), SECOND, now).is_err());
        assert_eq!(rate.take(ip("2001:db8:0:1::1"), SECOND, now), Ok(()));
        assert_eq!(rate.take(ip("192.0.2.9"), SECOND, now), Ok(()));
        assert!(rate.take(ip("::ffff:192.0.2.9"), SECOND, now).is_err());
        for number in 0..20_000_u32 {
            let _ = rate.take(IpAddr::from(number.to_be_bytes()), SECOND, now);
        }
        assert!(rate.whole_at.len() <= ADDRESSES_MAX + 1, "{}", rate.whole_at.len());
        let later = now + 9 * SECOND;
        assert_eq!(rate.take(ip("203.0.113.1"), SECOND, later), Ok(()));
        assert_eq!(rate.whole_at.len(), 1, "who is quiet is forgotten");
    }
}
