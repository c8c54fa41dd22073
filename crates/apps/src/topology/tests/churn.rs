//! A network in which four times a second something is pulled or restarted, and comes back later,
//! and one probe in a hundred is lost: no link is ever found that there is not, and none that stays
//! whole is lost.
//!
//! An hour of simulated time; a day takes
//!
//! ```text
//! ALDIS_CHURN_S=86400 cargo test -p aldis-apps churn
//! ```

use super::*;
use crate::testing::random::Random;

const SWITCHES: u64 = 100;
/// Cables of a switch to others, by which it is one end: a ring, and two far across.
const ACROSS: [u64; 3] = [1, 7, 31];
const HOSTS_FROM: u32 = 10;
const CHURN_S: u64 = 3600;
const STEP_MS: u64 = 250;
/// A cable that was whole for so long is a link: a few probes after a loss, and the first of a port
/// half a second apart.
const FOUND_WITHIN: Duration = Duration::from_secs(8);

struct Churn {
    net: TestNet,
    draws: Random,
    cables: Vec<Cable>,
    /// Switches that are away, and until when.
    away: BTreeMap<u64, Time>,
    pulled: u64,
    restarted: u64,
}

struct Cable {
    ends: [SwitchPort; 2],
    /// Since when it is plugged in and both of its switches are there; none while it is not.
    whole: Option<Time>,
    /// Pulled until then.
    until: Time,
}

impl Churn {
    fn new(seed: u64) -> Churn {
        let mut net = TestNet::new(TopologyConfig::default());
        let mut cables = vec![];
        for dpid in 0..SWITCHES {
            for (at, across) in (1..).zip(ACROSS) {
                let ends = [port(dpid, at), port((dpid + across) % SWITCHES, at + 3)];
                net.plug(ends[0], ends[1]);
                cables.push(Cable { ends, whole: None, until: Time::START });
            }
        }
        (0..SWITCHES).for_each(|dpid| net.join(dpid));
        let draws = Random::new(seed);
        let mut churn =
            Churn { net, draws, cables, away: BTreeMap::new(), pulled: 0, restarted: 0 };
        churn.mend();
        churn
    }

    /// Whatever is due to come back does.
    fn mend(&mut self) {
        let now = self.net.now;
        let back: Vec<u64> =
            self.away.iter().filter(|(_, until)| **until <= now).map(|(dpid, _)| *dpid).collect();
        for dpid in back {
            self.away.remove(&dpid);
            self.net.join(dpid);
        }
        for cable in &mut self.cables {
            let is_there = |end: &SwitchPort| !self.away.contains_key(&end.dpid.0);
            if cable.whole.is_none() && cable.until <= now && cable.ends.iter().all(is_there) {
                cable.ends.iter().for_each(|&end| self.net.port_up(end));
                cable.whole = Some(now);
            }
        }
        for dpid in (0..SWITCHES).filter(|dpid| !self.away.contains_key(dpid)) {
            let host = port(dpid, HOSTS_FROM);
            if !self.net.up.contains(&host) {
                self.net.port_up(host);
            }
        }
    }

    fn break_something(&mut self) {
        let away_ms = 200 + self.draws.below(20_000);
        let until = self.net.now + MS * away_ms as u32;
        match self.draws.below(10) {
            0 => {
                let dpid = self.draws.below(SWITCHES);
                self.net.leave(dpid);
                self.away.entry(dpid).or_insert(until);
                self.restarted += 1;
                for at in 0..self.cables.len() {
                    if self.cables[at].ends.iter().any(|end| end.dpid.0 == dpid) {
                        self.pull(at, until);
                    }
                }
            }
            1..=2 => {
                let host = port(self.draws.below(SWITCHES), HOSTS_FROM);
                self.net.discovery.host_shown(self.net.now, host);
            }
            _ => {
                let at = self.draws.below(self.cables.len() as u64) as usize;
                self.pull(at, until);
                self.pulled += 1;
            }
        }
    }

    /// The ports of a cable go down, and what is on its way is lost.
    fn pull(&mut self, at: usize, until: Time) {
        let cable = &mut self.cables[at];
        cable.until = cable.until.max(until);
        if cable.whole.take().is_some() {
            let ends = cable.ends;
            ends.iter().for_each(|&end| self.net.port_down(end));
            self.net.wire.retain(|_, (to, _)| !ends.contains(to));
        }
    }

    fn step(&mut self) {
        let (net, draws) = (&mut self.net, &mut self.draws);
        net.run_with(STEP_MS, |net, _, _| {
            if draws.below(100) == 0 {
                net.wire.pop_last();
            }
        });
        assert!(net.is_true(), "a link that there is not, {:?} after the start", net.now);
        let states = net.states();
        for Cable { ends: [one, other], whole, .. } in &self.cables {
            let found = states.get(&Ends::new(*one, *other)) == Some(&LinkState::Up);
            let is_old = whole.is_some_and(|since| net.now.since(since) >= FOUND_WITHIN);
            assert!(found || !is_old, "no link from {one} to {other} at {:?}", net.now);
        }
    }
}

#[test]
fn churn_makes_no_false_link_and_loses_no_real_one() {
    let length = std::env::var("ALDIS_CHURN_S").map(|text| text.parse::<u64>().expect("seconds"));
    let mut churn = Churn::new(5);
    for _ in 0..length.unwrap_or(CHURN_S) * 1000 / STEP_MS {
        churn.step();
        churn.break_something();
        churn.mend();
    }
    let Churn { pulled, restarted, .. } = churn;
    println!("{pulled} cables pulled, {restarted} switches restarted");
    assert!(pulled > 0 && restarted > 0);
}
