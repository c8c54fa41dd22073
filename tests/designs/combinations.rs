//! The combinations of knobs that there are: `Read × Write × batching`, where [`Design::check`]
//! allows them, with one worker and with three.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use aldis_control::batching::{Bdu, Ibt};
use aldis_engine::Design;
use aldis_engine::design::{Batching, Read, Write};
use aldis_engine::limits::{READ_MAX, READ_MAX_MAESTRO};

/// Every way of reading.
pub(crate) const READS: [Read; 7] = [
    Read::FairRounds,
    Read::StaticPartition,
    // As often as may be, so that switches move while they are served.
    Read::DynamicPartition { period: Duration::from_millis(10), hysteresis: 5 },
    Read::RoundRobin,
    Read::SharedQueue { io_threads: 1, per_switch: false },
    Read::SharedQueue { io_threads: 2, per_switch: false },
    Read::SharedQueue { io_threads: 2, per_switch: true },
];

const WRITES: [Write; 3] = [Write::Batched, Write::Immediate, Write::PerLoop];

/// Combinations that are played at the same time, where a scenario mostly waits.
const AT_ONCE: usize = 4;

/// One of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Combination {
    pub(crate) design: Design,
    pub(crate) workers: usize,
}

impl fmt::Display for Combination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Combination { design, workers } = self;
        write!(
            f,
            "{}: {:?} reading {} bytes, {:?}, {:?}, binding {}, output batching {}, {workers} workers",
            design.name,
            design.read,
            design.read_max,
            design.write,
            design.batching,
            design.request_binding,
            design.output_batching
        )
    }
}

fn batchings() -> [Batching; 4] {
    let fixed = |requests| Batching::Fixed(Ibt::new(requests).expect("within bounds"));
    let bdu = Bdu::new(Duration::from_micros(150)).expect("within bounds");
    [Batching::PerRead, fixed(10), fixed(1000), Batching::Adaptive(bdu)]
}

fn design(read: Read, write: Write, batching: Batching) -> Design {
    let one_reader = matches!(read, Read::SharedQueue { io_threads: 1, .. });
    let little = one_reader || matches!(read, Read::RoundRobin | Read::DynamicPartition { .. });
    Design {
        name: "a combination",
        read,
        read_max: if little { READ_MAX_MAESTRO } else { READ_MAX },
        batching,
        write,
        // The tests of this file share the cores.
        core_binding: false,
        request_binding: true,
        output_batching: write != Write::Immediate,
        prt: one_reader.then_some(400),
        ..Design::default()
    }
}

/// All of a read design: all writes, every batching, one worker and three; and three workers that
/// share what they read, and do not bring answers together.
pub(crate) fn of(read: Read) -> Vec<Combination> {
    let mut all = Vec::new();
    for write in WRITES {
        for batching in batchings() {
            let bound = design(read, write, batching);
            all.extend([1, 3].map(|workers| Combination { design: bound, workers }));
            let loose = Design { request_binding: false, output_batching: false, ..bound };
            all.push(Combination { design: loose, workers: 3 });
        }
    }
    all.retain(|combination| combination.design.check().is_ok());
    all
}

/// Every read design with every batching, one of the writes and of the two numbers of workers each.
/// What is left out is the other writes and the other number; each of them does meet every read
/// design, and some of the batchings.
pub(crate) fn covering() -> Vec<Combination> {
    let mut covering = Vec::new();
    for (row, read) in READS.into_iter().enumerate() {
        for (column, batching) in batchings().into_iter().enumerate() {
            let design = design(read, WRITES[(row + column) % WRITES.len()], batching);
            covering.push(Combination { design, workers: [3, 1][(row + column / 2) % 2] });
        }
    }
    covering.retain(|combination| combination.design.check().is_ok());
    covering
}

/// Every design that has a name, with two workers.
pub(crate) fn named() -> Vec<Combination> {
    Design::ALL.into_iter().map(|design| Combination { design, workers: 2 }).collect()
}

/// Plays a scenario on each, some at a time.
pub(crate) fn everywhere(combinations: &[Combination], scenario: impl Fn(&Combination) + Sync) {
    let next = AtomicUsize::new(0);
    let play = || {
        while let Some(combination) = combinations.get(next.fetch_add(1, Ordering::Relaxed)) {
            scenario(combination);
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(play)).collect();
        for thread in threads {
            thread.join().unwrap_or_else(|failure| std::panic::resume_unwind(failure));
        }
    });
}

#[test]
fn every_knob_meets_every_read_design() {
    let all: Vec<_> = READS.into_iter().flat_map(of).collect();
    for read in READS {
        let of_read = |list: &[Combination]| {
            list.iter()
                .map(|one| one.design)
                .filter(|design| design.read == read)
                .collect::<Vec<_>>()
        };
        for designs in [of_read(&all), of_read(&covering())] {
            for write in WRITES {
                let per_read_only = matches!(read, Read::SharedQueue { per_switch: true, .. });
                assert!(per_read_only || designs.iter().any(|design| design.write == write));
            }
            for batching in batchings() {
                let allowed = design(read, Write::Batched, batching).check().is_ok();
                assert_eq!(allowed, designs.iter().any(|design| design.batching == batching));
            }
        }
    }
}
