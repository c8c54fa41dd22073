//! The part of the World that the monitor publishes: of each switch the last sample of each kind,
//! with rates.

use core::time::Duration;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use aldis_control::Time;
use aldis_control::account::Held;
use aldis_control::world::{Part, PublishCtx, Publisher, Shards};
use aldis_wire::DatapathId;
use aldis_wire::msg::{FlowStats, PortStats, QueueStats, TableStats};

use super::multipart::{Multipart, MultipartRows};
use super::rates::Identified;

/// Pieces that the versions share: of a thousand switches, one report copies eight pointers.
const SHARDS: usize = 128;

/// How often switches are looked for of which nothing was heard.
const SWEEP_EVERY: Duration = Duration::from_secs(60);

/// What was counted everywhere.
#[derive(Clone, Debug)]
pub struct Statistics(Shards<BTreeMap<DatapathId, Arc<SwitchStatistics>>>);

/// What was counted at one switch.
#[derive(Clone, Debug, Default)]
pub struct SwitchStatistics {
    /// When the last sample of any kind came.
    pub at: Time,
    /// Its ports.
    pub ports: Arc<SampleTable<PortStats>>,
    /// Its flows, those that carried most bytes.
    pub flows: Arc<SampleTable<FlowStats>>,
    /// Its tables.
    pub tables: Arc<SampleTable<TableStats>>,
    /// Its queues.
    pub queues: Arc<SampleTable<QueueStats>>,
}

/// One sample.
#[derive(Debug)]
pub struct SampleTable<S: Identified> {
    /// When its last part came; nothing where there is none yet.
    pub at: Option<Time>,
    /// What was counted, in the order of the switch.
    pub rows: Vec<StatisticsRow<S>>,
    /// Rows that the switch named and for which there is no room here.
    pub left_out: u64,
    /// What the rows take, on the account of the switch.
    held: Option<Held>,
}

impl<S: Identified> Default for SampleTable<S> {
    fn default() -> Self {
        SampleTable { at: None, rows: vec![], left_out: 0, held: None }
    }
}

/// One of the things that count.
#[derive(Clone, Debug)]
pub struct StatisticsRow<S: Identified> {
    /// Its counters.
    pub stats: S,
    /// What they say of the time since the sample before; nothing where it was not in that.
    pub rates: Option<S::Rates>,
}

impl<S: Identified> SampleTable<S> {
    /// Bytes that its rows take, on the memory account of the switch.
    pub fn bytes(&self) -> usize {
        self.held.as_ref().map_or(0, Held::bytes)
    }

    fn after(
        before: &SampleTable<S>,
        at: Time,
        stats: Vec<S>,
        (left_out, held): (u64, Held),
    ) -> Arc<SampleTable<S>> {
        let rates = before.rates_until(at, &stats);
        let rows =
            stats.into_iter().zip(rates).map(|(stats, rates)| StatisticsRow { stats, rates });
        Arc::new(SampleTable { at: Some(at), rows: rows.collect(), left_out, held: Some(held) })
    }

    /// What each of these says of the time since this sample, if it is in it.
    fn rates_until<'s>(&'s self, at: Time, stats: &'s [S]) -> Vec<Option<S::Rates>> {
        let known: HashMap<S::Key<'s>, &'s S> =
            self.rows.iter().map(|row| (row.stats.key(), &row.stats)).collect();
        let rates = stats.iter().map(|stats| {
            let passed = at.since(self.at?);
            known.get(&stats.key()).map(|before| stats.rates(before, passed))
        });
        rates.collect()
    }
}

impl Statistics {
    /// What was counted at this switch.
    pub fn of(&self, dpid: DatapathId) -> Option<&SwitchStatistics> {
        self.0.of(dpid.0).get(&dpid).map(|switch| &**switch)
    }

    /// What was counted at each.
    pub fn iter(&self) -> impl Iterator<Item = (DatapathId, &SwitchStatistics)> {
        self.0.iter().flatten().map(|(dpid, switch)| (*dpid, &**switch))
    }
}

impl Statistics {
    /// The counters of ports: `max` at most, of the switches with the lowest datapath ids; and how
    /// many others there are. A counter is `u64::MAX` where the switch does not count.
    pub fn ports(&self, max: usize) -> (Vec<(DatapathId, PortStats)>, u64) {
        let mut switches: Vec<_> = self.iter().collect();
        switches.sort_unstable_by_key(|(dpid, _)| *dpid);
        let (mut ports, mut left_out) = (vec![], 0);
        for (dpid, switch) in switches {
            let (rows, room) = (&switch.ports.rows, max - ports.len());
            ports.extend(rows.iter().take(room).map(|row| (dpid, row.stats)));
            left_out += switch.ports.left_out + rows.len().saturating_sub(room) as u64;
        }
        (ports, left_out)
    }
}

/// What the monitor tells: a sample of a switch, or that it is gone.
#[derive(Debug)]
pub struct MonitorReport {
    pub(super) dpid: DatapathId,
    pub(super) sample: Option<(Time, Multipart)>,
}

impl Part for Statistics {
    type Report = MonitorReport;
    const NAME: &'static str = "statistics";
}

/// Makes it.
#[derive(Debug)]
pub(super) struct StatisticsPublisher {
    stays: Duration,
    sweep_at: Time,
}

impl StatisticsPublisher {
    pub(super) fn new(interval: Duration) -> StatisticsPublisher {
        StatisticsPublisher {
            stays: SWEEP_EVERY.max(3 * interval),
            sweep_at: Time::START + SWEEP_EVERY,
        }
    }

    /// Forgets switches whose farewell did not come through.
    fn sweep(&mut self, now: Time, statistics: &mut Statistics) -> bool {
        self.sweep_at = now + SWEEP_EVERY;
        let is_old = |switch: &SwitchStatistics| now.since(switch.at) > self.stays;
        let old: Vec<_> =
            statistics.iter().filter(|(_, switch)| is_old(switch)).map(|(dpid, _)| dpid).collect();
        old.iter().for_each(|dpid| drop(statistics.0.of_mut(dpid.0).remove(dpid)));
        !old.is_empty()
    }
}

impl Publisher for StatisticsPublisher {
    type Part = Statistics;

    fn begin(&mut self) -> Statistics {
        Statistics(Shards::new(SHARDS))
    }

    fn revise(&mut self, now: Time, mut ctx: PublishCtx<'_, Statistics>) -> Option<Statistics> {
        let mut statistics = ctx.current().clone();
        let mut changed = now >= self.sweep_at && self.sweep(now, &mut statistics);
        while let Some(MonitorReport { dpid, sample }) = ctx.report() {
            changed = true;
            let switches = statistics.0.of_mut(dpid.0);
            match sample {
                Some((at, multipart)) => {
                    add(Arc::make_mut(switches.entry(dpid).or_default()), at, multipart);
                }
                None => drop(switches.remove(&dpid)),
            }
        }
        changed.then_some(statistics)
    }

    fn next(&self) -> Time {
        self.sweep_at
    }
}

fn add(switch: &mut SwitchStatistics, at: Time, multipart: Multipart) {
    switch.at = switch.at.max(at);
    let kept = (multipart.left_out, multipart.held);
    match multipart.rows {
        MultipartRows::Ports(rows) => {
            switch.ports = SampleTable::after(&switch.ports, at, rows, kept)
        }
        MultipartRows::Flows(rows) => {
            switch.flows = SampleTable::after(&switch.flows, at, rows, kept)
        }
        MultipartRows::Tables(rows) => {
            switch.tables = SampleTable::after(&switch.tables, at, rows, kept)
        }
        MultipartRows::Queues(rows) => {
            switch.queues = SampleTable::after(&switch.queues, at, rows, kept)
        }
    }
}
