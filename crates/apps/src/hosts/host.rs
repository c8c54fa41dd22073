//! What is known of one host, in one cache line.

use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use core::time::Duration;
use std::sync::Arc;

use aldis_control::{SwitchPort, Time};
use aldis_wire::msg::PortNo;
use aldis_wire::{DatapathId, MacAddr};

use super::table::seconds;

/// Addresses of one host beyond its first of each family. Hosts have a handful, routers that answer
/// for others some dozens; a host with more loses the one learnt longest ago.
pub const FURTHER_MAX: usize = 14;

const VLAN: u16 = 0x0fff;
const ADVERTISED: u16 = 0x1000;
const ROUTER: u16 = 0x2000;
const NOWHERE: u16 = 0x4000;

/// What tells hosts apart: the address, and the VLAN that it was seen in (0 where frames carry
/// none).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity {
    /// Its address.
    pub mac: MacAddr,
    /// Its VLAN, 0 to 4095.
    pub vlan: u16,
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} vlan {}", self.mac, self.vlan)
    }
}

/// An identity in one word: the address in the lower 48 bits, and above it the VLAN. 0 is that of
/// no host.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct PackedIdentity(pub(crate) u64);

impl PackedIdentity {
    /// The address of no host.
    pub(crate) const NONE: PackedIdentity = PackedIdentity(0);

    /// The bits of the address.
    const MAC: u64 = (1 << 48) - 1;

    /// An address, as the lower 48 bits of a number, in a VLAN.
    #[inline]
    pub(crate) fn new(mac: u64, vlan: u16) -> PackedIdentity {
        PackedIdentity(mac | u64::from(vlan) << 48)
    }

    /// The address, as the lower 48 bits of a number, and the VLAN.
    #[inline]
    pub(super) fn parts(self) -> (u64, u64) {
        (self.0 & PackedIdentity::MAC, self.0 >> 48)
    }

    /// Whether it may be a host's: of no group, and not the address zero.
    #[inline]
    pub(super) fn is_host(self) -> bool {
        let mac = MacAddr::from_u64(self.0);
        !mac.is_group() && mac.to_u64() != 0
    }

    /// The same in its parts.
    #[inline]
    pub(super) fn identity(self) -> Identity {
        Identity { mac: MacAddr::from_u64(self.0), vlan: (self.0 >> 48) as u16 }
    }
}

impl From<Identity> for PackedIdentity {
    #[inline]
    fn from(id: Identity) -> PackedIdentity {
        PackedIdentity::new(id.mac.to_u64(), id.vlan)
    }
}

/// A host.
#[derive(Clone)]
#[repr(align(64))]
pub struct Host {
    mac: [u8; 6],
    /// The VLAN in its lower 12 bits, flags above.
    tags: u16,
    port: u32,
    /// The first IPv4 address; 0.0.0.0 where there is none.
    ipv4: u32,
    dpid: u64,
    first_seen_s: u32,
    last_seen_s: u32,
    /// The first IPv6 address; :: where there is none.
    ipv6: u128,
    further: Option<Arc<[IpAddr]>>,
}

const _: () = assert!(size_of::<Host>() == 64);

impl Default for Host {
    /// A place where no host is.
    fn default() -> Self {
        Host {
            mac: [0; 6],
            tags: 0,
            port: 0,
            ipv4: 0,
            dpid: 0,
            first_seen_s: 0,
            last_seen_s: 0,
            ipv6: 0,
            further: None,
        }
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host")
            .field("id", &self.id())
            .field("at", &self.at())
            .field("addresses", &self.addresses().collect::<Vec<_>>())
            .field("seen_s", &(self.first_seen_s, self.last_seen_s))
            .finish()
    }
}

impl Host {
    /// A host first seen now.
    pub(super) fn new(id: Identity, at: SwitchPort, now_s: u32) -> Host {
        Host {
            mac: id.mac.0,
            tags: id.vlan & VLAN,
            port: at.port.0,
            dpid: at.dpid.0,
            first_seen_s: now_s,
            last_seen_s: now_s,
            ..Host::default()
        }
    }

    /// Whether there is a host here: no host has the address zero.
    pub(super) fn is_some(&self) -> bool {
        self.mac != [0; 6]
    }

    /// What tells it from others.
    #[inline]
    pub fn id(&self) -> Identity {
        Identity { mac: MacAddr(self.mac), vlan: self.tags & VLAN }
    }

    /// The same in one word.
    #[inline]
    pub(super) fn packed_id(&self) -> PackedIdentity {
        PackedIdentity::new(MacAddr(self.mac).to_u64(), self.tags & VLAN)
    }

    /// Its address.
    #[inline]
    pub fn mac(&self) -> MacAddr {
        MacAddr(self.mac)
    }

    /// Where it is attached, or was last ([`Host::is_nowhere`]).
    #[inline]
    pub fn at(&self) -> SwitchPort {
        SwitchPort { dpid: DatapathId(self.dpid), port: PortNo(self.port) }
    }

    /// Whether its port went down, and it was seen nowhere since: what is for it has to go
    /// everywhere.
    #[inline]
    pub fn is_nowhere(&self) -> bool {
        self.tags & NOWHERE != 0
    }

    /// Where to send what is for it; nothing while it is nowhere.
    #[inline]
    pub fn place(&self) -> Option<SwitchPort> {
        (!self.is_nowhere()).then(|| self.at())
    }

    /// Whether it is known to be at another port than this one.
    #[inline]
    pub(crate) fn is_elsewhere(&self, at: SwitchPort) -> bool {
        !self.is_nowhere() && self.at() != at
    }

    /// When it was first seen, to a second.
    pub fn first_seen(&self) -> Time {
        Time::START + Duration::from_secs(self.first_seen_s.into())
    }

    /// When it was last seen, to a second; an eighth of the ageing time late at most.
    pub fn last_seen(&self) -> Time {
        Time::START + Duration::from_secs(self.last_seen_s.into())
    }

    /// When it was first seen, in seconds since the controller started.
    pub fn first_seen_s(&self) -> u32 {
        self.first_seen_s
    }

    /// When it was last seen, in seconds since the controller started; an eighth of the ageing time
    /// late at most.
    pub fn last_seen_s(&self) -> u32 {
        self.last_seen_s
    }

    /// Whether it was seen within this time before `now`, to a second.
    pub fn was_seen_within(&self, time: Duration, now: Time) -> bool {
        u64::from(seconds(now).saturating_sub(self.last_seen_s)) <= time.as_secs()
    }

    /// Whether it is a router, if it said so or the contrary (the R flag of RFC 4861 §4.4).
    pub fn is_router(&self) -> Option<bool> {
        (self.tags & ADVERTISED != 0).then_some(self.tags & ROUTER != 0)
    }

    /// Its IP addresses.
    pub fn addresses(&self) -> impl Iterator<Item = IpAddr> {
        let ipv4 = (self.ipv4 != 0).then(|| IpAddr::V4(Ipv4Addr::from_bits(self.ipv4)));
        let ipv6 = (self.ipv6 != 0).then(|| IpAddr::V6(Ipv6Addr::from_bits(self.ipv6)));
        ipv4.into_iter()
            .chain(ipv6)
            .chain(self.further.iter().flat_map(|list| list.iter().copied()))
    }

    /// Whether this is one of its addresses.
    #[inline]
    pub fn has(&self, ip: IpAddr) -> bool {
        let first = match ip {
            IpAddr::V4(ip) => ip.to_bits() == self.ipv4,
            IpAddr::V6(ip) => ip.to_bits() == self.ipv6,
        };
        first || self.further.as_ref().is_some_and(|list| list.contains(&ip))
    }

    pub(super) fn seen(&mut self, now_s: u32) {
        self.last_seen_s = self.last_seen_s.max(now_s);
    }

    /// It is there now.
    pub(super) fn move_to(&mut self, at: SwitchPort) {
        (self.dpid, self.port) = (at.dpid.0, at.port.0);
        self.tags &= !NOWHERE;
    }

    /// Its port went down.
    pub(super) fn lose(&mut self) {
        self.tags |= NOWHERE;
    }

    pub(super) fn say_router(&mut self, router: bool) {
        self.tags &= !ROUTER;
        self.tags |= ADVERTISED | if router { ROUTER } else { 0 };
    }

    /// Adds an address that it does not have; answers the one that had to go for it.
    pub(super) fn add(&mut self, ip: IpAddr) -> Option<IpAddr> {
        match ip {
            IpAddr::V4(ip) if self.ipv4 == 0 => self.ipv4 = ip.to_bits(),
            IpAddr::V6(ip) if self.ipv6 == 0 => self.ipv6 = ip.to_bits(),
            _ => return self.add_further(ip),
        }
        None
    }

    fn add_further(&mut self, ip: IpAddr) -> Option<IpAddr> {
        let list = self.further.as_deref().unwrap_or_default();
        let (gone, kept) = match list.split_first() {
            Some((&oldest, rest)) if list.len() >= FURTHER_MAX => (Some(oldest), rest),
            _ => (None, list),
        };
        self.further = Some(kept.iter().copied().chain([ip]).collect());
        gone
    }

    pub(super) fn remove(&mut self, ip: IpAddr) {
        match ip {
            IpAddr::V4(ip) if ip.to_bits() == self.ipv4 => self.ipv4 = 0,
            IpAddr::V6(ip) if ip.to_bits() == self.ipv6 => self.ipv6 = 0,
            _ => {
                let list = self.further.as_deref().unwrap_or_default();
                let left: Arc<[IpAddr]> = list.iter().copied().filter(|&had| had != ip).collect();
                self.further = (!left.is_empty()).then_some(left);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_keeps_its_addresses_and_loses_the_oldest_of_too_many() {
        let id = Identity { mac: MacAddr::from_u64(2), vlan: 7 };
        let mut host = Host::new(id, SwitchPort::new(1, 2), 5);
        let v4 = |n: u8| IpAddr::from([10, 0, 0, n]);
        let v6 = |n: u8| IpAddr::from([0xfe80, 0, 0, 0, 0, 0, 0, u16::from(n)]);
        assert!((1..8).all(|n| host.add(v4(n)).is_none() && host.add(v6(n)).is_none()));
        assert!((8..10).all(|n| host.add(v4(n)).is_none()));
        assert_eq!(host.addresses().count(), 2 + FURTHER_MAX);
        assert_eq!(host.add(v6(9)), Some(v4(2)));
        host.remove(v4(1));
        host.remove(v6(5));
        assert!(!host.has(v4(1)) && !host.has(v4(2)) && !host.has(v6(5)) && host.has(v6(9)));
        assert_eq!(host.add(v4(1)), None);
        host.say_router(true);
        assert_eq!(
            (host.id(), host.at(), host.is_router()),
            (id, SwitchPort::new(1, 2), Some(true))
        );
        host.lose();
        host.say_router(false);
        assert_eq!((host.place(), host.is_router(), host.id()), (None, Some(false), id));
        host.move_to(SwitchPort::new(1, 2));
        assert_eq!((host.place(), host.is_nowhere()), (Some(SwitchPort::new(1, 2)), false));
    }
}
