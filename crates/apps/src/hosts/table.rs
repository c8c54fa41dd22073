//! The published table: every host that is known, found by address, as it was when this version was
//! made.

use core::hint::select_unpredictable;
use core::net::IpAddr;

use aldis_control::world::Counts;
use aldis_control::{Part, SwitchPort, Time};
use aldis_wire::{DatapathId, MacAddr};

use crate::learning_switch::Seed;
use crate::learning_switch::simd::prefetch;
use crate::log::Log;

use super::generations::Generations;
use super::host::{Host, Identity, PackedIdentity};
use super::index::{Hash, Index};
use super::observation::Observation;
use super::paged::Paged;
use super::publisher::HostReport;
use super::tracker::{Counters, Effect};

/// Hosts of a page: 4 KiB.
const PAGE: usize = 64;

/// Keys that are looked for at once: as many lines as memory brings at a time, several times over.
pub(crate) const BATCH: usize = 64;

/// So few keys are looked for in less memory, which has to be prepared.
const FEW: usize = 8;

/// A version of the table of hosts. Making one costs some hundred pointers and what changed since
/// the last; reading it takes no lock.
#[derive(Clone, Debug)]
pub struct Hosts {
    seed: Seed,
    epoch_s: u32,
    hosts: Paged<Host, PAGE>,
    by_mac: Index,
    by_ip: Index,
    generations: Generations,
    changes: Log<Effect>,
    counters: Counters,
}

impl Part for Hosts {
    type Report = HostReport;
    const NAME: &'static str = "hosts";

    fn counts(&self) -> Counts {
        let of = &self.counters;
        let counters = vec![
            ("new", of.new),
            ("moved", of.moved),
            ("aged", of.aged),
            ("evicted", of.evicted),
            ("on_links", of.on_links),
            ("on_down", of.on_down),
            ("no_room", of.no_room),
            ("claims_asked", of.probed),
            ("claims_refuted", of.refuted),
            ("claims_refused", of.refused),
            ("claims_beyond_room", of.checks_full),
        ];
        Counts { counters, now: vec![("hosts", self.len() as u64)] }
    }
}

impl Hosts {
    pub(super) fn new(seed: Seed, hosts_max: usize, epoch_s: u32) -> Hosts {
        let by_ip = Index::new(hosts_max.saturating_mul(ADDRESSES_A_HOST));
        let (hosts, by_mac) = (Paged::default(), Index::new(hosts_max));
        let (changes, counters) = (Log::default(), Counters::default());
        let generations = Generations::default();
        Hosts { seed, epoch_s, hosts, by_mac, by_ip, generations, changes, counters }
    }

    /// How many hosts there are.
    pub fn len(&self) -> usize {
        self.by_mac.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The host with this address in this VLAN (0 where frames carry none).
    pub fn by_mac(&self, mac: MacAddr, vlan: u16) -> Option<&Host> {
        self.get(Identity { mac, vlan })
    }

    /// The host that has this IP address in this VLAN.
    pub fn by_ip(&self, ip: IpAddr, vlan: u16) -> Option<&Host> {
        self.get((ip, vlan))
    }

    /// The hosts with these addresses, in their order, behind those in `found`. Faster than one
    /// after the other: what one needs of the memory is on its way while others are looked for.
    pub fn by_macs<'a>(&'a self, keys: &[Identity], found: &mut Vec<Option<&'a Host>>) {
        self.batched(keys, found);
    }

    /// The same of the first [`BATCH`] of them, each found in its place.
    pub(crate) fn by_few_macs<'a>(
        &'a self,
        keys: &[PackedIdentity],
        found: &mut [Option<&'a Host>; BATCH],
    ) {
        self.together(&keys[..keys.len().min(BATCH)], found);
    }

    /// The hosts that have these IP addresses in these VLANs, likewise.
    pub fn by_ips<'a>(&'a self, keys: &[(IpAddr, u16)], found: &mut Vec<Option<&'a Host>>) {
        self.batched(keys, found);
    }

    /// All hosts, in no order. Reads the whole table, as the next two do: for people, not for
    /// workers.
    pub fn iter(&self) -> impl Iterator<Item = &Host> {
        self.hosts.iter().filter(|host| host.is_some())
    }

    /// The hosts of a switch.
    pub fn on_switch(&self, dpid: DatapathId) -> impl Iterator<Item = &Host> {
        self.iter().filter(move |host| host.at().dpid == dpid)
    }

    /// The hosts of a port.
    pub fn on_port(&self, at: SwitchPort) -> impl Iterator<Item = &Host> {
        self.iter().filter(move |host| host.at() == at)
    }

    /// What happened to the table lately, for readers of publications: [`Log::since`] an earlier
    /// version.
    pub fn changes(&self) -> &Log<Effect> {
        &self.changes
    }

    /// What was done until this version, which comes when hosts change.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The generation of what this table says of where a host is. While it stays, so does the
    /// answer, but for a host that was not known or nowhere.
    #[inline]
    pub(crate) fn generation(&self, mac: MacAddr) -> u32 {
        self.generations.of(mac)
    }

    /// The same table, in which this happened lately, and this since the start.
    pub(super) fn with_changes(self, changes: Log<Effect>, counters: Counters) -> Hosts {
        Hosts { changes, counters, ..self }
    }

    /// Whether an observation says what this table does not: a host, place or address that is new,
    /// or a host that was not seen for an epoch (an eighth of the ageing time). Workers report
    /// these and no others.
    pub fn is_news(&self, observation: &Observation, now: Time) -> bool {
        let host = self.by_mac(observation.id.mac, observation.id.vlan);
        self.no_news_for(host, observation, now).is_none()
    }

    /// Whether a frame that came in there from this host, and claims nothing, is no news.
    #[inline]
    pub(super) fn is_no_news_of(&self, host: &Host, at: SwitchPort, now: Time) -> bool {
        let silent_s = seconds(now).saturating_sub(host.last_seen_s());
        host.at() == at && !host.is_nowhere() && silent_s < self.epoch_s
    }

    /// For how many seconds an observation is no news, one at least, where the host was looked for
    /// already and the table stays as it is; none where it is news.
    pub(super) fn no_news_for(
        &self,
        host: Option<&Host>,
        observation: &Observation,
        now: Time,
    ) -> Option<u32> {
        let host = host?;
        let is_news = host.at() != observation.at
            || host.is_nowhere()
            || observation.ip.is_some_and(|ip| !host.has(ip))
            || observation.router.is_some() && observation.router != host.is_router();
        let silent_s = seconds(now).saturating_sub(host.last_seen_s());
        self.epoch_s.checked_sub(silent_s).filter(|&left_s| left_s > 0 && !is_news)
    }

    #[inline]
    fn batched<'a, K: HostKey>(&'a self, keys: &[K], found: &mut Vec<Option<&'a Host>>) {
        for keys in keys.chunks(BATCH) {
            let mut hosts = [None; BATCH];
            self.together(keys, &mut hosts);
            found.extend(&hosts[..keys.len()]);
        }
    }

    /// At most [`BATCH`] of them.
    #[inline]
    fn together<'a, K: HostKey>(&'a self, keys: &[K], found: &mut [Option<&'a Host>; BATCH]) {
        match keys.len() {
            0 => {}
            1..=FEW => self.at_most::<K, FEW>(keys, found),
            _ => self.at_most::<K, BATCH>(keys, found),
        }
    }

    /// At most `N` of them.
    #[inline]
    fn at_most<'a, K: HostKey, const N: usize>(
        &'a self,
        keys: &[K],
        found: &mut [Option<&'a Host>; BATCH],
    ) {
        let (index, nothing) = (K::index(self), Hash::new(0));
        let mut hashes = [(nothing, index.ask_for(nothing)); N];
        for (key, place) in keys.iter().zip(&mut hashes) {
            let hash = key.hash(self.seed);
            *place = (hash, index.ask_for(hash));
        }
        if self.is_empty() {
            return;
        }
        // Whether a host is known cannot be foreseen, and so nothing branches on it: the key of one
        // that is not is compared with what stands in the first place, and the result not used.
        let last = (self.hosts.pages() * PAGE - 1) as u32;
        let (mut is_there, mut may_be_elsewhere) = (0u64, 0u64);
        for (at, ((hash, page), place)) in
            hashes.iter().zip(&mut *found).enumerate().take(keys.len())
        {
            let seen = page.glance(*hash);
            is_there |= u64::from(seen.is_there) << at;
            may_be_elsewhere |= u64::from(seen.may_be_elsewhere) << at;
            let host = self.host(seen.number.min(last));
            prefetch(host);
            *place = Some(host);
        }
        let mut is_other = 0u64;
        for (at, (key, place)) in keys.iter().zip(&mut *found).enumerate() {
            let is_it = place.is_some_and(|host| key.is_of(host)) & (is_there >> at & 1 != 0);
            *place = select_unpredictable(is_it, *place, None);
            is_other |= u64::from(!is_it) << at;
        }
        let mut left = is_other & may_be_elsewhere;
        while left != 0 {
            let at = left.trailing_zeros() as usize;
            found[at] = self.get(keys[at]);
            left &= left - 1;
        }
    }

    fn get<K: HostKey>(&self, key: K) -> Option<&Host> {
        self.find(key).map(|number| self.host(number))
    }

    /// The number of the host with this key.
    pub(super) fn find<K: HostKey>(&self, key: K) -> Option<u32> {
        K::index(self).find(key.hash(self.seed), |number| key.is_of(self.host(number)))
    }

    pub(super) fn host(&self, number: u32) -> &Host {
        self.hosts.item(number as usize)
    }

    pub(super) fn host_mut(&mut self, number: u32) -> &mut Host {
        self.hosts.item_mut(number as usize)
    }

    /// Room for so many hosts more, in places numbered from here on.
    pub(super) fn widen(&mut self) -> core::ops::Range<u32> {
        let first = self.hosts.pages() * PAGE;
        self.hosts.push_page();
        first as u32..(first + PAGE) as u32
    }

    /// Puts a host into a free place; false where the index has no room for it.
    pub(super) fn put(&mut self, number: u32, host: Host) -> bool {
        let added = self.by_mac.insert(host.id().hash(self.seed), number);
        if added {
            *self.host_mut(number) = host;
        }
        added
    }

    /// A host is at this port now.
    pub(super) fn move_to(&mut self, number: u32, at: SwitchPort) {
        self.generations.end(self.host(number).mac());
        self.host_mut(number).move_to(at);
    }

    /// The port of a host went down.
    pub(super) fn lose(&mut self, number: u32) {
        self.generations.end(self.host(number).mac());
        self.host_mut(number).lose();
    }

    /// Takes a host out of its place, with its addresses.
    pub(super) fn take(&mut self, number: u32) -> Host {
        let host = core::mem::take(self.host_mut(number));
        self.generations.end(host.mac());
        self.by_mac.remove(host.id().hash(self.seed), number);
        for ip in host.addresses() {
            self.by_ip.remove((ip, host.id().vlan).hash(self.seed), number);
        }
        host
    }

    /// Gives a host an address that no other has; false where there is no room.
    pub(super) fn bind(&mut self, number: u32, ip: IpAddr) -> bool {
        let vlan = self.host(number).id().vlan;
        if !self.by_ip.insert((ip, vlan).hash(self.seed), number) {
            return false;
        }
        if let Some(gone) = self.host_mut(number).add(ip) {
            self.by_ip.remove((gone, vlan).hash(self.seed), number);
        }
        true
    }

    /// Takes an address from the host that has it.
    pub(super) fn unbind(&mut self, number: u32, ip: IpAddr) {
        let vlan = self.host(number).id().vlan;
        self.by_ip.remove((ip, vlan).hash(self.seed), number);
        self.host_mut(number).remove(ip);
    }

    /// Pages that this version does not share with `other`.
    #[cfg(test)]
    pub(super) fn own_pages(&self, other: &Hosts) -> usize {
        let indexes = self.by_mac.own_pages(&other.by_mac) + self.by_ip.own_pages(&other.by_ip);
        self.hosts.own_pages(&other.hosts) + indexes
    }
}

/// Addresses that the table of all hosts has room for, a host; one host may have more
/// ([`super::host::FURTHER_MAX`]).
const ADDRESSES_A_HOST: usize = 3;

/// What a host is looked for by.
pub(super) trait HostKey: Copy {
    /// The index that has the numbers of hosts under their keys.
    fn index(hosts: &Hosts) -> &Index;

    /// Its hash there.
    fn hash(self, seed: Seed) -> Hash;

    /// Whether it is this host's.
    fn is_of(self, host: &Host) -> bool;
}

impl HostKey for Identity {
    #[inline]
    fn index(hosts: &Hosts) -> &Index {
        &hosts.by_mac
    }

    #[inline]
    fn hash(self, seed: Seed) -> Hash {
        PackedIdentity::from(self).hash(seed)
    }

    #[inline]
    fn is_of(self, host: &Host) -> bool {
        host.id() == self
    }
}

impl HostKey for PackedIdentity {
    #[inline]
    fn index(hosts: &Hosts) -> &Index {
        &hosts.by_mac
    }

    #[inline]
    fn hash(self, seed: Seed) -> Hash {
        let (mac, vlan) = self.parts();
        Hash::new(seed.mix(mac, vlan))
    }

    #[inline]
    fn is_of(self, host: &Host) -> bool {
        host.packed_id() == self
    }
}

/// An address in a VLAN.
impl HostKey for (IpAddr, u16) {
    #[inline]
    fn index(hosts: &Hosts) -> &Index {
        &hosts.by_ip
    }

    #[inline]
    fn hash(self, seed: Seed) -> Hash {
        let (family, bits) = match self.0 {
            IpAddr::V4(ip) => (1 << 16, u128::from(ip.to_bits())),
            IpAddr::V6(ip) => (1 << 17, ip.to_bits()),
        };
        let high = (bits >> 64) as u64 ^ (family | u64::from(self.1)).rotate_right(17);
        Hash::new(seed.mix(bits as u64, high))
    }

    #[inline]
    fn is_of(self, host: &Host) -> bool {
        host.id().vlan == self.1 && host.has(self.0)
    }
}

/// Whole seconds since the controller started.
pub(super) fn seconds(now: Time) -> u32 {
    u32::try_from(now.0 / 1_000_000_000).unwrap_or(u32::MAX)
}
