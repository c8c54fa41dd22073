use alloc::vec::Vec;
use core::time::Duration;

use super::*;
use crate::limits::REPORTS_MAX;
use crate::output::Commands;

/// Numbers that were reported.
#[derive(Clone, Default)]
struct Numbers(Vec<u32>);

impl Part for Numbers {
    type Report = u32;
    const NAME: &'static str = "numbers";
}

struct Keeps;

impl Publisher for Keeps {
    type Part = Numbers;

    fn begin(&mut self) -> Numbers {
        Numbers::default()
    }

    fn revise(&mut self, _: Time, mut ctx: PublishCtx<'_, Numbers>) -> Option<Numbers> {
        let mut numbers = ctx.current().clone();
        // A zero changes nothing.
        numbers.0.extend(core::iter::from_fn(|| ctx.report()).filter(|&number| number > 0));
        (numbers.0 != ctx.current().0).then_some(numbers)
    }
}

/// Their sum.
struct Sum(u32);

impl Part for Sum {
    type Report = ();
    const NAME: &'static str = "sum";
}

struct Adds(Time);

impl Publisher for Adds {
    type Part = Sum;

    const READS: &'static [PartId] = &[Numbers::ID];

    fn begin(&mut self) -> Sum {
        Sum(0)
    }

    fn revise(&mut self, now: Time, ctx: PublishCtx<'_, Sum>) -> Option<Sum> {
        if self.0 <= now {
            self.0 = Time::NEVER;
            return Some(Sum(u32::MAX));
        }
        assert!(ctx.changed::<Numbers>());
        Some(Sum(ctx.world().part::<Numbers>().0.iter().sum()))
    }

    fn next(&self) -> Time {
        self.0
    }
}

const READS: &[PartId] = &[Numbers::ID, Sum::ID];

fn press() -> (WorldBuilder, Commands) {
    let Publishers(makers) = Publishers::of(Keeps).and(Adds(Time::NEVER));
    let queues = makers.iter().map(|maker| (maker.part(), maker.queue())).collect();
    (WorldBuilder::new(makers), Commands::new(0, Arc::new(Queues::new(queues))))
}

fn seen(world: &World) -> (u64, usize, u32) {
    let view = View::of(world, READS);
    (view.version(), view.part::<Numbers>().0.len(), view.part::<Sum>().0)
}

#[test]
fn what_is_made_of_a_part_is_of_the_same_version() {
    let (mut press, mut commands) = press();
    assert_eq!(seen(press.world()), (1, 0, 0));
    assert!(press.step(Time(1)).is_none());
    commands.report::<Numbers>(4).unwrap();
    commands.report::<Numbers>(5).unwrap();
    let old = Arc::clone(press.world());
    assert_eq!(seen(&press.step(Time(2)).unwrap()), (2, 2, 9));
    assert_eq!(seen(&old), (1, 0, 0));
    commands.report::<Numbers>(0).unwrap();
    assert!(press.step(Time(u64::MAX / 2)).is_none(), "nothing changed");
}

#[test]
fn versions_keep_their_distance() {
    let (mut press, mut commands) = press();
    commands.report::<Numbers>(1).unwrap();
    let first = Time::START + Duration::from_secs(1);
    assert!(press.step(first).is_some());
    commands.report::<Numbers>(1).unwrap();
    assert_eq!(press.next(), first + PUBLISH_EVERY);
    assert!(press.step(first + PUBLISH_EVERY / 2).is_none());
    assert_eq!(seen(&press.step(press.next()).unwrap()), (3, 2, 2));
    assert_eq!(press.next(), Time::NEVER);
}

#[test]
fn a_publisher_may_ask_for_a_time() {
    let Publishers(makers) = Publishers::of(Keeps).and(Adds(Time(50)));
    let mut press = WorldBuilder::new(makers);
    assert_eq!(press.next(), Time(50));
    assert!(press.step(Time(49)).is_none());
    let world = press.step(Time(50)).unwrap();
    assert_eq!(seen(&world).2, u32::MAX);
    // The numbers stayed as they were.
    let version = |reads| View::of(&world, reads).version();
    assert_eq!([version(&[Numbers::ID]), version(&[Sum::ID]), version(READS)], [1, 2, 2]);
}

#[test]
fn a_full_queue_gives_the_report_back() {
    let (mut press, mut commands) = press();
    for _ in 0..REPORTS_MAX {
        commands.report::<Numbers>(1).unwrap();
    }
    assert_eq!(commands.report::<Numbers>(7), Err(7));
    assert!(press.step(Time(1)).is_some());
    assert_eq!(commands.report::<Numbers>(7), Ok(()));
}

#[test]
#[should_panic(expected = "READS has to name the part \"sum\"")]
fn what_was_not_declared_is_not_read() {
    let (press, _) = press();
    View::of(press.world(), &[Numbers::ID]).part::<Sum>();
}
