//! What is counted for a switch, beside what is counted for workers.

use std::time::Instant;

use aldis_control::stats::{SwitchCounts, SwitchDistributions};
use aldis_wire::Version;

use crate::pump::Pump;
use crate::stage::{PATIENCE, Stage};

const REQUESTS: u32 = 60;
const ROUNDS: u32 = 3;

/// Its visits and batches each have a place in a distribution, and so has what writing the answers
/// took.
pub(crate) fn each_visit_and_each_batch_of_a_switch(stage: &Stage, version: Version) {
    let mut pump = Pump::join(stage, version);
    for _ in 0..ROUNDS {
        pump.ask(REQUESTS).expect("answers");
    }
    let deadline = Instant::now() + PATIENCE;
    // What a write took is counted behind it, and the answer may be here already.
    loop {
        let it = stage.counted(pump.number).expect("it is there");
        if is_whole(&it.counts, &it.spread) {
            break;
        }
        assert!(Instant::now() < deadline, "{it:?}");
        std::thread::yield_now();
    }
}

fn is_whole(counts: &SwitchCounts, spread: &SwitchDistributions) -> bool {
    let SwitchDistributions { handling_time_ns, write_time_ns, batching_delay_ns, .. } = spread;
    let written = [handling_time_ns, write_time_ns, batching_delay_ns];
    let answers = written[0].count();
    counts.requests == u64::from(ROUNDS * REQUESTS)
        && spread.batch_size.count() == counts.batches
        && spread.batch_size.quantile(1000) < u64::from(2 * REQUESTS)
        // Those of the handshake are not among them.
        && (1..counts.visits).contains(&spread.queue_waits_ns.count())
        && counts.skips >= counts.revisits
        && (1..=counts.batches).contains(&answers)
        && written.iter().all(|of| of.count() == answers && of.quantile(1000) > 0)
        && batching_delay_ns.quantile(1000) >= handling_time_ns.quantile(1000)
}
