//! What the learning switch keeps for each switch: where its hosts are.
//!
//! Several workers use it at once. What they share is a [`SwitchTables`], immutable, behind one
//! pointer that they read once for many requests; the tables that it leads to are lock-free
//! ([`super::table`]). A new port, a new VLAN or a larger table makes another map. A worker that
//! still holds the one before is led on by the tables themselves.

use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::Arc;

use aldis_control::Time;
use aldis_wire::msg::Port;
use arc_swap::{ArcSwap, Guard};

use super::LearningConfig;
use super::age::{AGES, Ageing, Epoch};
use super::batch::SwitchView;
use super::moves::Moves;
use super::ports::{PortSlot, PortSlots, is_learnable};
use super::table::{LINES_MIN, LastSeen, MacKey, Put, Seed, WORDS, WordTable};

/// A VLAN id, or the name of frames without one (as in [`aldis_wire::L2Hit::vlan`]).
pub(super) type Vlan = u16;

/// Frames without a VLAN tag.
pub(super) const UNTAGGED: Vlan = 0xffff;

/// The hosts of one switch: the slot of the learning switch.
pub struct SwitchHosts {
    map: ArcSwap<SwitchTables>,
    ageing: Ageing,
    seed: Seed,
    // Lines that its tables may still grow by.
    room: AtomicUsize,
    // Seconds swept so far; `parts` of them are a pass.
    swept: AtomicUsize,
    swept_at: AtomicU64,
    moves: Moves,
}

impl core::fmt::Debug for SwitchHosts {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Hosts").field("map", &self.map.load()).finish_non_exhaustive()
    }
}

/// The ports and tables of a switch, as they are just now.
#[derive(Clone, Debug)]
pub(super) struct SwitchTables {
    pub(super) ports: PortSlots,
    untagged: Arc<WordTable>,
    tagged: Vec<(Vlan, Arc<WordTable>)>,
}

impl SwitchTables {
    /// The table of a VLAN. A frame tagged with VLAN 0 is one without a VLAN that says its
    /// priority.
    #[inline]
    pub(super) fn table(&self, vlan: Vlan) -> Option<&WordTable> {
        self.shared_table(vlan).map(|table| &**table)
    }

    /// The table of frames without a VLAN.
    #[inline]
    pub(super) fn untagged(&self) -> &WordTable {
        &self.untagged
    }

    #[inline]
    fn shared_table(&self, vlan: Vlan) -> Option<&Arc<WordTable>> {
        match vlan {
            UNTAGGED | 0 => Some(&self.untagged),
            _ => self.place(vlan).ok().map(|at| &self.tagged[at].1),
        }
    }

    fn set_table(&mut self, vlan: Vlan, table: Arc<WordTable>) {
        match (vlan, self.place(vlan)) {
            (UNTAGGED | 0, _) => self.untagged = table,
            (_, Ok(at)) => self.tagged[at].1 = table,
            (_, Err(at)) => self.tagged.insert(at, (vlan, table)),
        }
    }

    fn place(&self, vlan: Vlan) -> Result<usize, usize> {
        self.tagged.binary_search_by_key(&vlan, |&(other, _)| other)
    }
}

/// What came of a look at the source of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Learnt {
    /// The host was known to be there, or is now.
    Here,
    /// It was behind another port before; and whether to tell the switch now.
    Moved { tell: bool },
    /// It cannot be remembered: no room in its table, or its port has no slot.
    Not,
}

impl SwitchHosts {
    /// Knows the ports of a switch, and no host yet.
    pub(super) fn new(config: &LearningConfig, now: Time, ports: &[Port]) -> SwitchHosts {
        let ports = ports.iter().fold(PortSlots::new(), |ports, port| ports.with(port.number.0, 0));
        let untagged = Arc::new(WordTable::new(config.seed, LINES_MIN));
        SwitchHosts {
            map: ArcSwap::from_pointee(SwitchTables { ports, untagged, tagged: Vec::new() }),
            ageing: Ageing::after(config.ageing),
            seed: config.seed,
            room: AtomicUsize::new(config.lines_max().saturating_sub(LINES_MIN)),
            swept: AtomicUsize::new(0),
            swept_at: AtomicU64::new(now.0),
            moves: Moves::default(),
        }
    }

    /// The ports and tables as they are just now.
    #[inline]
    fn map(&self, now: Time) -> Guard<Arc<SwitchTables>> {
        if now.since(Time(self.swept_at.load(Ordering::Relaxed))) > self.ageing.silence_max() {
            self.forget_all(now);
        }
        self.map.load()
    }

    /// What is known before requests are looked at.
    #[inline]
    pub(super) fn view(&self, now: Time) -> SwitchView {
        SwitchView { map: self.map(now), epoch: self.ageing.epoch(now) }
    }

    /// The port that the host is behind.
    #[cold]
    pub(super) fn find(&self, vlan: Vlan, key: MacKey, epoch: Epoch) -> Option<u32> {
        let map = self.map.load();
        let seen = map.table(vlan)?.find(key)?;
        map.ports.port(seen.slot()).filter(|_| epoch.counts(seen.epoch()))
    }

    /// Notes that the host is behind `port`. The second is how many others were forgotten for it.
    #[cold]
    pub(super) fn learn(
        &self,
        vlan: Vlan,
        key: MacKey,
        port: u32,
        epoch: Epoch,
    ) -> (Learnt, usize) {
        let slot = self.slot(port);
        if slot == PortSlot::NONE {
            return (Learnt::Not, 0);
        }
        let (table, seen) = (self.table(vlan), LastSeen::new(slot, epoch));
        let mut put = table.put(key, seen);
        let mut evicted = 0;
        let may_grow = self.has_room_for(table.lines());
        if table.is_crowded() || may_grow && (table.is_half_full() || put == Put::Full) {
            evicted = self.grow(vlan, &table, epoch);
            put = if put == Put::Full { table.put(key, seen) } else { put };
        }
        let counts = |seen| is_worth_keeping(&self.map.load().ports, seen, epoch);
        let learnt = match put {
            Put::Known(before) if before.slot() != slot && counts(before) => {
                Learnt::Moved { tell: self.moves.tell(before.slot()) }
            }
            Put::New | Put::Known(_) | Put::Yielded => Learnt::Here,
            Put::Full => Learnt::Not,
        };
        (learnt, evicted)
    }

    /// Forgets every host behind `port`.
    pub(super) fn forget_port(&self, port: u32) {
        let passes = self.passes();
        self.change(|map| map.ports = map.ports.without(port, passes));
    }

    /// A second passed: forgets, in a part of each table, the hosts that were silent for too long.
    /// Answers the ports that so many hosts left that all flows there are to go.
    pub(super) fn second(&self, now: Time) -> impl Iterator<Item = u32> {
        let map = self.map(now);
        let epoch = self.ageing.epoch(now);
        let stale = |seen: LastSeen| !is_worth_keeping(&map.ports, seen, epoch);
        let (parts, second) = (self.ageing.pass_s(), self.swept.load(Ordering::Relaxed));
        for table in core::iter::once(&map.untagged).chain(map.tagged.iter().map(|(_, t)| t)) {
            table.sweep(second % parts, parts, stale);
        }
        self.swept.store(second.wrapping_add(1), Ordering::Relaxed);
        self.swept_at.store(now.0, Ordering::Relaxed);
        self.moves.settle().filter_map(move |slot| map.ports.port(slot))
    }

    fn passes(&self) -> usize {
        self.swept.load(Ordering::Relaxed) / self.ageing.pass_s()
    }

    /// The slot of a port, a new one if need be.
    fn slot(&self, port: u32) -> PortSlot {
        let slot = self.map.load().ports.slot(port);
        if slot != PortSlot::NONE || !is_learnable(port) {
            return slot;
        }
        let passes = self.passes();
        self.change(|map| map.ports = map.ports.with(port, passes));
        self.map.load().ports.slot(port)
    }

    /// The table of a VLAN, a new one if need be.
    fn table(&self, vlan: Vlan) -> Arc<WordTable> {
        if let Some(table) = self.map.load().shared_table(vlan) {
            return Arc::clone(table);
        }
        let fresh = Arc::new(WordTable::new(self.seed, LINES_MIN));
        self.change(|map| {
            if map.table(vlan).is_none() {
                map.set_table(vlan, Arc::clone(&fresh));
            }
        });
        self.map.load().shared_table(vlan).map_or(fresh, Arc::clone)
    }

    /// Moves on from a crowded table to one with room: twice as large, or as large but without the
    /// hosts that do not count any more, or, where it may not grow, without those that were silent
    /// longest. Answers how many those were.
    #[cold]
    fn grow(&self, vlan: Vlan, table: &Arc<WordTable>, epoch: Epoch) -> usize {
        if !table.claim() {
            return 0;
        }
        let map = self.map.load();
        let age = |seen: LastSeen| {
            let kept = is_worth_keeping(&map.ports, seen, epoch);
            kept.then(|| usize::from(epoch.age_from_next(seen.epoch())))
        };
        let mut counts = [0; AGES];
        table.each().filter_map(age).for_each(|age| counts[age] += 1);
        let lines = self.lines_for(counts.iter().sum(), table.lines());
        let next = Arc::new(WordTable::new(self.seed, lines));
        let mut shares = shares(counts, most(lines));
        let mut evicted = 0;
        evicted += table.move_to(Arc::clone(&next), |seen| {
            let Some(age) = age(seen) else { return false };
            let kept = shares[age].next();
            evicted += usize::from(!kept);
            kept
        });
        self.change(|map| {
            if map.shared_table(vlan).is_some_and(|current| Arc::ptr_eq(current, table)) {
                map.set_table(vlan, Arc::clone(&next));
            }
        });
        evicted
    }

    fn has_room_for(&self, lines: usize) -> bool {
        self.room.load(Ordering::Relaxed) >= lines
    }

    /// Lines of the table that comes after one of `lines` lines with so many hosts in it.
    fn lines_for(&self, hosts: usize, lines: usize) -> usize {
        // Fewer than that, and the rest of the words are of hosts that do not count any more.
        let crowded = hosts > lines * WORDS / 4;
        let take = |room: usize| room.checked_sub(lines);
        let taken =
            crowded && self.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok();
        if taken { 2 * lines } else { lines }
    }

    /// Forgets every host: there was no sweep for so long that old words may look young.
    #[cold]
    fn forget_all(&self, now: Time) {
        self.change(|map| {
            let empty = |table: &Arc<WordTable>| Arc::new(WordTable::new(self.seed, table.lines()));
            map.untagged = empty(&map.untagged);
            map.tagged.iter_mut().for_each(|(_, table)| *table = empty(table));
        });
        self.swept_at.store(now.0, Ordering::Relaxed);
    }

    fn change(&self, change: impl Fn(&mut SwitchTables)) {
        self.map.rcu(|map| {
            let mut map = SwitchTables::clone(map);
            change(&mut map);
            map
        });
    }
}

fn is_worth_keeping(ports: &PortSlots, seen: LastSeen, epoch: Epoch) -> bool {
    ports.port(seen.slot()).is_some() && epoch.counts(seen.epoch())
}

/// Hosts that a table takes over where not all of them have room: few enough that it is not crowded
/// again at once.
fn most(lines: usize) -> usize {
    lines * WORDS * 7 / 10
}

/// How many of some hosts are kept, evenly over the table: taken from one end, they would leave it
/// lopsided, and its full end could learn no host any more.
#[derive(Clone, Copy, Debug)]
struct Share {
    kept: usize,
    of: usize,
    owed: usize,
}

impl Share {
    /// Whether the next host is kept. Where all of those counted are, so are those that came after
    /// the counting.
    fn next(&mut self) -> bool {
        self.owed += self.kept;
        let keep = self.owed >= self.of;
        self.owed -= if keep { self.of } else { 0 };
        keep
    }
}

/// The shares of the hosts of each age, youngest first, that leave `most` in all.
fn shares(counts: [usize; AGES], most: usize) -> [Share; AGES] {
    let mut room = most;
    counts.map(|count| {
        // One at least, for an age whose first host comes after the counting.
        let of = count.max(1);
        let kept = of.min(room);
        room -= kept;
        Share { kept, of, owed: 0 }
    })
}

#[cfg(test)]
mod tests;
