//! Every interleaving, up to a bound of preemptions, of threads that use a table while it moves on
//! to another.

use loom::sync::atomic::AtomicU64 as Watched;

use super::*;

type Shared = Arc<WordTable<Watched>>;

fn table() -> Shared {
    Arc::new(WordTable::new(Seed::new([9; 16]), LINES_MIN))
}

fn host() -> MacKey {
    MacKey::from(MacAddr([2, 0, 0, 0, 0, 1]))
}

fn seen(slot: u16) -> LastSeen {
    LastSeen::new(PortSlot(slot), Epoch::from_bits(0))
}

/// Runs `others` beside a thread that moves from the first table to the second, and then hands both
/// to `check`.
fn model(
    before: impl Fn(&Shared) + Send + Sync + 'static,
    others: &'static [fn(&Shared)],
    check: impl Fn(&Shared, &Shared) + Send + Sync + 'static,
) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(4 - others.len());
    model.check(move || {
        let (first, second) = (table(), table());
        before(&first);
        let threads: Vec<_> = others
            .iter()
            .map(|other| {
                let first = Arc::clone(&first);
                loom::thread::spawn(move || other(&first))
            })
            .collect();
        assert_eq!(first.move_to(Arc::clone(&second), |_| true), 0);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        check(&first, &second);
    });
}

fn holders(table: &Shared) -> usize {
    table.each().count()
}

#[test]
fn a_host_that_moves_during_a_growth_stays_moved() {
    model(
        |first| assert_eq!(first.put(host(), seen(1)), Put::New),
        &[|first| {
            assert_eq!(first.put(host(), seen(2)), Put::Known(seen(1)));
            assert_eq!(first.find(host()), Some(seen(2)));
        }],
        |first, second| {
            assert_eq!(second.find(host()), Some(seen(2)));
            assert_eq!((first.find(host()), holders(second)), (Some(seen(2)), 1));
        },
    );
}

#[test]
fn a_host_that_comes_during_a_growth_is_kept() {
    model(
        |_| {},
        &[|first| assert_eq!(first.put(host(), seen(2)), Put::New)],
        |_, second| assert_eq!((second.find(host()), holders(second)), (Some(seen(2)), 1)),
    );
}

#[test]
fn a_host_that_comes_to_two_workers_during_a_growth_has_one_word() {
    model(
        |_| {},
        &[
            |first| drop_put(first.put(host(), seen(2))),
            |first| drop_put(first.put(host(), seen(3))),
        ],
        |first, second| {
            assert_eq!(holders(second), 1);
            assert!([Some(seen(2)), Some(seen(3))].contains(&second.find(host())));
            assert_eq!(first.find(host()), second.find(host()));
        },
    );
}

#[test]
fn a_sweep_during_a_growth_forgets_nobody_else() {
    model(
        |first| drop_put(first.put(host(), seen(1))),
        &[
            |first| first.sweep(home(first), LINES_MIN, |there| there == seen(1)),
            |first| drop_put(first.put(host(), seen(2))),
        ],
        |_, second| assert_eq!(second.find(host()), Some(seen(2))),
    );
}

/// The place of the host's first line.
fn home(table: &Shared) -> usize {
    let home = table.router().home(host());
    table.lines.iter().position(|line| core::ptr::eq(line, home)).unwrap()
}

fn drop_put(put: Put) {
    assert_ne!(put, Put::Full);
}
