//! Meters (OpenFlow 1.3.5 §5.7): token buckets that drop what is above a rate.

use super::flow::FlowCounters;
use aldis_wire::v13::meter_band::MeterBand;
use aldis_wire::v13::meter_mod::MeterFlags;
use std::collections::BTreeMap;
use std::time::Duration;

/// Nanotokens of one token: a packet, or a bit in thousands.
const TOKEN: u128 = 1_000_000_000;

/// One rate, and what is left to it.
#[derive(Clone, Debug)]
pub(crate) struct Band {
    pub(crate) said: MeterBand,
    pub(crate) counters: FlowCounters,
    /// In billionths of a packet, or of a kilobit.
    tokens: u128,
}

/// A meter and what it counted.
#[derive(Clone, Debug)]
pub(crate) struct Meter {
    pub(crate) flags: MeterFlags,
    pub(crate) bands: Vec<Band>,
    pub(crate) created: Duration,
    pub(crate) counters: FlowCounters,
    filled: Duration,
}

/// The meters of a datapath, by number.
pub(crate) type Meters = BTreeMap<u32, Meter>;

impl Band {
    /// Full. It holds the burst that it names, whatever the meter's flags say of bursts, or without
    /// one what passes in a second, which is then what it says of itself: all that as in Open
    /// vSwitch.
    fn new(mut said: MeterBand) -> Band {
        if said.burst_size == 0 {
            said.burst_size = said.rate;
        }
        let tokens = u128::from(said.burst_size) * TOKEN;
        Band { said, counters: FlowCounters::default(), tokens }
    }

    /// Lets the time fill it.
    fn fill(&mut self, elapsed_ns: u128) {
        let filled = self.tokens + elapsed_ns * u128::from(self.said.rate);
        self.tokens = filled.min(u128::from(self.said.burst_size) * TOKEN);
    }
}

impl Meter {
    pub(crate) fn new(flags: MeterFlags, bands: Vec<MeterBand>, now: Duration) -> Meter {
        Meter {
            flags,
            bands: bands.into_iter().map(Band::new).collect(),
            created: now,
            counters: FlowCounters::default(),
            filled: now,
        }
    }

    /// Counts a packet; whether it passes. Of the bands that it exceeds, that of the highest rate
    /// drops it.
    pub(crate) fn passes(&mut self, bytes: usize, now: Duration) -> bool {
        self.counters.count(bytes);
        let elapsed = now.saturating_sub(self.filled).as_nanos();
        self.filled = self.filled.max(now);
        let cost = match self.flags.contains(MeterFlags::PKTPS) {
            true => TOKEN,
            false => bytes as u128 * 8 * TOKEN / 1000,
        };
        let mut exceeded: Option<&mut Band> = None;
        for band in &mut self.bands {
            band.fill(elapsed);
            if band.tokens >= cost {
                band.tokens -= cost;
            } else if exceeded.as_ref().is_none_or(|other| other.said.rate < band.said.rate) {
                exceeded = Some(band);
            }
        }
        match exceeded {
            Some(band) => {
                band.counters.count(bytes);
                false
            }
            None => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aldis_wire::v13::meter_band::BandEffect;

    #[test]
    fn a_rate_of_packets_is_kept() {
        let band = MeterBand { rate: 10, burst_size: 5, effect: BandEffect::Drop };
        let flags = MeterFlags::PKTPS | MeterFlags::BURST;
        let mut meter = Meter::new(flags, vec![band], Duration::ZERO);
        let burst = (0..20).filter(|_| meter.passes(64, Duration::ZERO)).count();
        assert_eq!(burst, 5);
        let second = (1..=1000).filter(|ms| meter.passes(64, Duration::from_millis(*ms))).count();
        assert_eq!(second, 10);
        assert_eq!((meter.counters.packets, meter.bands[0].counters.packets), (1020, 1005));
    }

    #[test]
    fn a_rate_of_kilobits_counts_bytes() {
        let band = MeterBand { rate: 8, burst_size: 0, effect: BandEffect::Drop };
        let mut meter = Meter::new(MeterFlags::KBPS, vec![band], Duration::ZERO);
        assert_eq!((0..20).filter(|_| meter.passes(100, Duration::ZERO)).count(), 10);
    }
}
