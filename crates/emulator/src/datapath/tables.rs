//! All tables of a datapath, and the changes that a FLOW_MOD makes to them.

use super::RequestFault;
use super::bounds::{FLOWS_MAX, TABLES};
use super::fields::{FieldKey, Pattern};
use super::flow::{DatapathFlow, Flags, FlowCounters, FlowModText, Reason};
use super::table::{FlowSlot, Table};
use crate::datapath::action::ActionProgram;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

/// Which flows a deletion, a change or a request is about.
#[derive(Clone, Debug)]
pub(crate) struct Filter {
    /// `None` for every table.
    pub(crate) table: Option<u8>,
    pub(crate) pattern: Pattern,
    /// Where it says one, the flow with just this pattern and priority; else all within the
    /// pattern.
    pub(crate) strict: Option<u16>,
    /// Those with an output there.
    pub(crate) out_port: Option<u32>,
    /// Those that lead there.
    pub(crate) out_group: Option<u32>,
    pub(crate) cookie: u64,
    pub(crate) cookie_mask: u64,
}

impl Filter {
    fn takes(&self, flow: &DatapathFlow) -> bool {
        let (cookie, mask) = (self.cookie, self.cookie_mask);
        let within = match self.strict {
            Some(priority) => flow.priority == priority && flow.pattern == self.pattern,
            None => self.pattern.covers(&flow.pattern),
        };
        within
            && (flow.cookie ^ cookie) & mask == 0
            && self.out_port.is_none_or(|port| flow.program.outputs_to(port))
            && self.out_group.is_none_or(|group| flow.program.leads_to(group))
    }
}

/// A flow to be added.
#[derive(Clone, Debug)]
pub(crate) struct Addition {
    pub(crate) table: u8,
    pub(crate) pattern: Pattern,
    pub(crate) priority: u16,
    pub(crate) cookie: u64,
    pub(crate) idle_timeout: u16,
    pub(crate) hard_timeout: u16,
    pub(crate) flags: Flags,
    pub(crate) program: ActionProgram,
    pub(crate) said: FlowModText,
}

/// A flow that is gone, and where it was.
pub(crate) type Removed = (u8, DatapathFlow, Reason);

/// When a flow may have to go: the time, its table, its slot and the stamp that says it is still
/// the same flow.
type Deadline = (Duration, u8, FlowSlot, u64);

/// The tables, made as they are used.
#[derive(Debug, Default)]
pub(crate) struct DatapathTables {
    tables: Vec<Table>,
    count: u32,
    stamp: u64,
    deadlines: BinaryHeap<Reverse<Deadline>>,
    /// How many flows have a timeout.
    timed: usize,
}

impl DatapathTables {
    /// The flow that a packet meets in a table.
    #[inline]
    pub(crate) fn look_up(&mut self, table: u8, packet: &FieldKey) -> Option<&mut DatapathFlow> {
        self.table_mut(table).look_up(packet)
    }

    /// A table, made where it was not used before: what it counts is asked for.
    fn table_mut(&mut self, table: u8) -> &mut Table {
        let at = usize::from(table);
        if self.tables.len() <= at {
            self.tables.resize_with(at + 1, Table::default);
        }
        &mut self.tables[at]
    }

    /// A table that was used, or may have been.
    pub(crate) fn table(&self, table: u8) -> Option<&Table> {
        self.tables.get(usize::from(table))
    }

    /// How many flows there are.
    pub(crate) fn len(&self) -> u32 {
        self.count
    }

    /// Adds a flow, in place of one with the same pattern and priority.
    pub(crate) fn add(&mut self, new: Addition, now: Duration) -> Result<(), RequestFault> {
        let full = self.count >= FLOWS_MAX;
        let table = self.table_mut(new.table);
        let mut flow = DatapathFlow {
            pattern: new.pattern,
            priority: new.priority,
            cookie: new.cookie,
            idle_timeout: new.idle_timeout,
            hard_timeout: new.hard_timeout,
            flags: new.flags,
            program: new.program,
            said: new.said,
            created: now,
            modified: now,
            used: now,
            counters: FlowCounters::default(),
        };
        if let Some(slot) = table.exact(&flow.pattern, flow.priority) {
            if let Some(old) = self.take(new.table, slot)
                && !flow.flags.contains(Flags::RESET_COUNTS)
            {
                flow.counters = old.counters;
            }
        } else if flow.flags.contains(Flags::CHECK_OVERLAP) && overlaps(table, &flow) {
            return Err(RequestFault::Overlap);
        } else if full {
            return Err(RequestFault::TableFull);
        }
        self.put(new.table, flow)
    }

    fn put(&mut self, table: u8, flow: DatapathFlow) -> Result<(), RequestFault> {
        self.stamp += 1;
        let stamp = self.stamp;
        let end = flow.end();
        let slot =
            self.table_mut(table).insert(flow, stamp).map_err(|_| RequestFault::TableFull)?;
        self.count += 1;
        if let Some((at, _)) = end {
            self.timed += 1;
            self.deadlines.push(Reverse((at, table, slot, stamp)));
            self.sweep();
        }
        Ok(())
    }

    /// Deadlines of flows that are gone are forgotten when they outnumber the others.
    fn sweep(&mut self) {
        if self.deadlines.len() > 2 * self.timed + 64 {
            let mut deadlines = std::mem::take(&mut self.deadlines).into_vec();
            deadlines.retain(|Reverse(deadline)| self.is_current(deadline));
            self.deadlines = deadlines.into();
        }
    }

    fn is_current(&self, &(_, table, slot, stamp): &Deadline) -> bool {
        let flow = self.table(table).and_then(|table| table.get(slot));
        flow.is_some_and(|(_, current)| current == stamp)
    }

    fn take(&mut self, table: u8, slot: FlowSlot) -> Option<DatapathFlow> {
        let flow = self.tables.get_mut(usize::from(table))?.remove(slot)?;
        self.count -= 1;
        self.timed -= usize::from(flow.end().is_some());
        Some(flow)
    }

    /// The flows that a filter is about, by table.
    pub(crate) fn find(&self, filter: &Filter) -> Vec<(u8, FlowSlot)> {
        let tables = match filter.table {
            Some(table) => table..=table,
            None => 0..=TABLES - 1,
        };
        let mut found = Vec::new();
        for number in tables {
            let Some(table) = self.table(number) else { break };
            match filter.strict {
                Some(priority) => {
                    let slot = table.exact(&filter.pattern, priority);
                    let slot = slot.filter(|slot| {
                        table.get(*slot).is_some_and(|(flow, _)| filter.takes(flow))
                    });
                    found.extend(slot.map(|slot| (number, slot)));
                }
                None => {
                    let flows = table.iter().filter(|(_, flow)| filter.takes(flow));
                    found.extend(flows.map(|(slot, _)| (number, slot)));
                }
            }
        }
        found
    }

    /// The flows that pass through the meters that are `gone`.
    pub(crate) fn metered(&self, gone: impl Fn(u32) -> bool) -> Vec<(u8, FlowSlot)> {
        let tables = (0..TABLES).zip(&self.tables);
        let flows = tables.flat_map(|(number, table)| table.iter().map(move |at| (number, at)));
        let metered = flows.filter(|(_, (_, flow))| flow.program.meter.is_some_and(&gone));
        metered.map(|(number, (slot, _))| (number, slot)).collect()
    }

    /// What `of` says of each flow, summed up.
    pub(crate) fn sum(&self, of: impl Fn(&DatapathFlow) -> usize) -> usize {
        self.tables.iter().flat_map(Table::iter).map(|(_, flow)| of(flow)).sum()
    }

    /// The flow in a slot.
    pub(crate) fn get(&self, (table, slot): (u8, FlowSlot)) -> Option<&DatapathFlow> {
        self.table(table)?.get(slot).map(|(flow, _)| flow)
    }

    /// Gives flows another program, and where `recookie` says so another cookie; their timeouts
    /// stay.
    pub(crate) fn modify(
        &mut self,
        found: &[(u8, FlowSlot)],
        new: &Addition,
        recookie: bool,
        now: Duration,
    ) {
        for (table, slot) in found {
            let Some(flow) =
                self.tables.get_mut(usize::from(*table)).and_then(|t| t.get_mut(*slot))
            else {
                continue;
            };
            flow.program = new.program.clone();
            flow.said = respoken(&flow.said, &new.said);
            flow.modified = now;
            if recookie {
                flow.cookie = new.cookie;
            }
            if new.flags.contains(Flags::RESET_COUNTS) {
                flow.counters = FlowCounters::default();
            }
        }
    }

    /// Removes flows.
    pub(crate) fn remove(&mut self, found: &[(u8, FlowSlot)], reason: Reason) -> Vec<Removed> {
        let taken = found.iter().filter_map(|(table, slot)| {
            self.take(*table, *slot).map(|flow| (*table, flow, reason))
        });
        taken.collect()
    }

    /// Removes flows whose time is over.
    pub(crate) fn expire(&mut self, now: Duration) -> Vec<Removed> {
        let mut removed = Vec::new();
        while let Some(Reverse(deadline)) = self.deadlines.peek().copied().filter(|d| d.0.0 <= now)
        {
            self.deadlines.pop();
            let (_, table, slot, stamp) = deadline;
            let current = self.is_current(&deadline);
            let end = self.get((table, slot)).filter(|_| current).and_then(DatapathFlow::end);
            match end {
                Some((at, reason)) if at <= now => {
                    removed.extend(self.take(table, slot).map(|flow| (table, flow, reason)));
                }
                Some((at, _)) => self.deadlines.push(Reverse((at, table, slot, stamp))),
                None => {}
            }
        }
        removed
    }

    /// When to look again; earlier than needed where the flow that would have gone was used since,
    /// or is gone.
    pub(crate) fn next_deadline(&self) -> Option<Duration> {
        self.deadlines.peek().map(|Reverse((at, ..))| *at)
    }
}

/// Whether a flow of the same priority is for some of the same packets.
fn overlaps(table: &Table, flow: &DatapathFlow) -> bool {
    table
        .iter()
        .any(|(_, other)| other.priority == flow.priority && other.pattern.overlaps(&flow.pattern))
}

/// The match of one, the actions of the other.
fn respoken(match_of: &FlowModText, actions_of: &FlowModText) -> FlowModText {
    match (match_of, actions_of) {
        (FlowModText::V10 { match_, .. }, FlowModText::V10 { actions, .. }) => {
            FlowModText::V10 { match_: *match_, actions: actions.clone() }
        }
        (FlowModText::V13 { match_, .. }, FlowModText::V13 { instructions, .. }) => {
            FlowModText::V13 { match_: match_.clone(), instructions: instructions.clone() }
        }
        _ => actions_of.clone(),
    }
}
