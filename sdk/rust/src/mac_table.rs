//! Where hosts are: a table from MAC addresses to ports, which waits for memory as little as it
//! can.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

use crate::events::{LOOK_AHEAD, Requests};
use crate::types::{MacAddr, Port};

/// Entries of a line, which is what a processor's caches load at once.
const LINE: usize = 8;

/// Lines that are loaded together: two of each request that an application looks ahead to.
const TOGETHER: usize = 2 * LOOK_AHEAD;

/// Lines that are loaded without a branch between them.
const UNROLLED: usize = 16;

/// Lines of a table: a gigabyte.
const LINES_MAX: usize = 1 << 24;

/// Lines that an address may lie in, from that of its hash on.
const PROBES_MAX: usize = 8;

/// Multipliers that are tried before it is said that entries do not fit.
const MULTIPLIERS: usize = 8;

/// The bits of an entry that are a port's.
const HALF: u64 = 0xffff;

/// Reserved ports are above this in OpenFlow 1.3.
const RESERVED: u32 = 0xffff_ff00;

/// The ports behind which hosts are, by MAC address. Eight bytes for each host; an address lies in
/// one line of a cache, mostly, so that [`MacTable::prefetch`] has it loaded beforehand.
///
/// Ports from 65,280 on are not remembered, but for the reserved ones: no switch has so many.
#[derive(Clone, Debug)]
pub struct MacTable {
    /// An address, and the lower half of a port below it; 0 is none. There are 2^n lines.
    lines: Vec<Line>,
    len: usize,
    /// Odd, and drawn anew for each table: hosts cannot choose addresses that collide.
    multiplier: u64,
    /// What was loaded beforehand, so that it is loaded at all.
    loaded: u64,
}

#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Line([u64; LINE]);

impl Line {
    /// What stands below an address, which is not zero. All entries are compared, without a branch
    /// that the processor would have to guess: the one that has it differs from it least.
    #[inline]
    fn find(&self, mac: u64) -> Option<u64> {
        let wanted = mac << 16;
        let least = self.0.iter().fold(u64::MAX, |least, entry| least.min(entry ^ wanted));
        (least <= HALF).then_some(least)
    }

    /// Entries are written from the first on, and stay.
    #[inline]
    fn is_full(&self) -> bool {
        self.0[LINE - 1] != 0
    }
}

impl Default for MacTable {
    fn default() -> MacTable {
        MacTable::new()
    }
}

impl MacTable {
    /// Without hosts.
    pub fn new() -> MacTable {
        MacTable::with_lines(1)
    }

    fn with_lines(count: usize) -> MacTable {
        let multiplier = RandomState::new().hash_one(0) | 1;
        MacTable { lines: vec![Line([0; LINE]); count], len: 0, multiplier, loaded: 0 }
    }

    /// How many hosts there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Has the processor load what the table says of the sources and destinations of requests: it
    /// waits for all of them at once. WebAssembly has no other instruction for this than one that
    /// loads.
    #[inline]
    pub fn prefetch(&mut self, mut requests: Requests<'_>) {
        let (mut lines, mut loaded) = ([&self.lines[0]; TOGETHER], 0u64);
        loop {
            let mut count = 0usize;
            for (pair, request) in lines.as_chunks_mut().0.iter_mut().zip(requests.by_ref()) {
                if let Some((dst, src)) = request.addresses() {
                    *pair = [dst, src].map(|mac| &self.lines[self.line_of(number(mac))]);
                }
                count += 1;
            }
            // As few instructions as can be, so that many loads are on their way.
            let (unrolled, _) = lines.as_chunks::<UNROLLED>();
            for lines in &unrolled[..(count * 2).div_ceil(UNROLLED)] {
                loaded = lines.iter().fold(loaded, |loaded, line| loaded ^ line.0[0]);
            }
            if count < LOOK_AHEAD {
                break;
            }
        }
        self.loaded ^= loaded;
    }

    /// The port behind which a host is.
    #[inline(always)]
    pub fn get(&self, mac: MacAddr) -> Option<Port> {
        match number(mac) {
            0 => None,
            mac => self.find(mac).map(port),
        }
    }

    /// Remembers the port behind which a host is. False where the table cannot: the port is too
    /// high, the address is zero, or too many others lie where it would.
    #[inline]
    pub fn insert(&mut self, mac: MacAddr, port: Port) -> bool {
        let (mac @ 1.., Some(half)) = (number(mac), half(port)) else { return false };
        // Nearly always it is there already; a line that is written has to go back to memory.
        self.find(mac) == Some(half) || self.put(mac << 16 | half)
    }

    /// Forgets all hosts.
    pub fn clear(&mut self) {
        *self = MacTable::new();
    }

    #[inline]
    fn line_of(&self, mac: u64) -> usize {
        let bits = self.lines.len().trailing_zeros();
        // The high bits of the product depend on all of the address: on its last byte, by which
        // hosts differ mostly, with 24 bits of the multiplier.
        (mac.wrapping_mul(self.multiplier) >> 33 >> (31 - bits)) as usize
    }

    /// The lower half of the port of an address that is not zero.
    #[inline(always)]
    fn find(&self, mac: u64) -> Option<u64> {
        let line = &self.lines[self.line_of(mac)];
        match line.find(mac) {
            None if line.is_full() => self.find_further(mac),
            half => half,
        }
    }

    /// Where its line is full: in those that follow it.
    #[cold]
    fn find_further(&self, mac: u64) -> Option<u64> {
        let (first, mask) = (self.line_of(mac), self.lines.len() - 1);
        let probes = (1..PROBES_MAX).map(|probe| &self.lines[(first + probe) & mask]);
        for line in probes {
            match line.find(mac) {
                None if line.is_full() => {}
                half => return half,
            }
        }
        None
    }

    #[cold]
    fn put(&mut self, entry: u64) -> bool {
        // Where too many lie already, it is mostly because addresses that follow each other are not
        // scattered by the multiplier: another one is drawn.
        let is_in = self.place(entry) || self.rebuild(self.len > self.slots() / 2, Some(entry));
        if self.len > self.slots() - self.slots() / 8 {
            self.rebuild(true, None);
        }
        is_in
    }

    fn slots(&self) -> usize {
        self.lines.len() * LINE
    }

    /// False where each line in which it may lie is full.
    fn place(&mut self, entry: u64) -> bool {
        let (first, mask) = (self.line_of(entry >> 16), self.lines.len() - 1);
        for probe in 0..PROBES_MAX {
            for kept in &mut self.lines[(first + probe) & mask].0 {
                if *kept >> 16 == entry >> 16 {
                    *kept = entry;
                    return true;
                }
                if *kept == 0 {
                    *kept = entry;
                    self.len += 1;
                    return true;
                }
            }
        }
        false
    }

    /// Places the entries and one more anew by another multiplier, in as many lines or in twice as
    /// many. False, and all stays as it is, where they do not fit.
    fn rebuild(&mut self, double: bool, more: Option<u64>) -> bool {
        let count = self.lines.len() << u32::from(double);
        let kept = || self.lines.iter().flat_map(|line| line.0).filter(|&entry| entry != 0);
        let rebuilt = || {
            let mut table = MacTable::with_lines(count);
            kept().chain(more).all(|entry| table.place(entry)).then_some(table)
        };
        let tries = if count <= LINES_MAX { MULTIPLIERS } else { 0 };
        let rebuilt = (0..tries).find_map(|_| rebuilt());
        let fit = rebuilt.is_some();
        if let Some(rebuilt) = rebuilt {
            *self = rebuilt;
        }
        fit
    }
}

#[inline]
fn number(mac: MacAddr) -> u64 {
    let [a, b, c, d, e, f] = mac.0;
    // The lowest byte first: nothing has to be turned around.
    u64::from_le_bytes([a, b, c, d, e, f, 0, 0])
}

/// The lower half of a port that OpenFlow 1.0 has too.
#[inline]
fn half(port: Port) -> Option<u64> {
    (port.0 < 0xff00 || port.0 >= RESERVED).then_some(u64::from(port.0 & 0xffff))
}

#[inline]
fn port(half: u64) -> Port {
    let half = half as u32;
    Port(if half < 0xff00 { half } else { 0xffff_0000 | half })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mac(number: u64) -> MacAddr {
        let [_, _, a, b, c, d, e, f] = number.to_be_bytes();
        MacAddr([a, b, c, d, e, f])
    }

    #[test]
    fn hosts_are_found_where_they_were_seen_last() {
        let mut table = MacTable::new();
        for host in 1..=100_000 {
            assert!(table.insert(mac(host), Port(host as u32 % 48)), "{host}");
        }
        for host in (1..=100_000).step_by(3) {
            assert!(table.insert(mac(host), Port(99)));
        }
        assert_eq!(table.len(), 100_000);
        for host in 1..=100_000 {
            let port = if host % 3 == 1 { 99 } else { host as u32 % 48 };
            assert_eq!(table.get(mac(host)), Some(Port(port)), "{host}");
        }
        assert_eq!(table.get(mac(100_001)), None);
        table.clear();
        assert!(table.is_empty() && table.get(mac(1)).is_none());
    }

    /// One table in sixty met a multiplier that did not scatter them.
    #[test]
    fn no_multiplier_loses_hosts_whose_addresses_follow_each_other() {
        for step in [1, 2, 1 << 8, 1 << 16] {
            for _ in 0..500 {
                let mut table = MacTable::new();
                let mut hosts = (1..=500).map(|host| mac(host * step));
                assert!(hosts.all(|host| table.insert(host, Port(1))), "steps of {step}");
                let mut hosts = (1..=500).map(|host| mac(host * step));
                assert!(hosts.all(|host| table.get(host) == Some(Port(1))), "steps of {step}");
                assert_eq!(table.len(), 500);
            }
        }
    }

    #[test]
    fn ports_come_back_as_they_were_or_are_refused() {
        let mut table = MacTable::new();
        for kept in [Port(0), Port(1), Port(0xfeff), Port::LOCAL, Port::ANY] {
            assert!(table.insert(mac(7), kept));
            assert_eq!(table.get(mac(7)), Some(kept));
        }
        for refused in [Port(0xff00), Port(0x1_0000), Port(0xffff_feff)] {
            assert!(!table.insert(mac(8), refused));
        }
        assert!(!table.insert(mac(0), Port(1)));
        assert_eq!((table.get(mac(8)), table.get(mac(0)), table.len()), (None, None, 1));
    }

    #[test]
    fn addresses_that_collide_have_another_multiplier_drawn() {
        let mut table = MacTable { multiplier: 1 << 48, ..MacTable::new() };
        // With this multiplier only two bytes of an address count.
        let kept = (1..=10_000).filter(|host| table.insert(mac(*host << 24), Port(1))).count();
        assert!(kept == 10_000 && table.lines.len() <= 4096, "{kept}, {}", table.lines.len());
        assert_ne!(table.multiplier, 1 << 48);
    }
}
