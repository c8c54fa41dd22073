use alloc::format;
use alloc::string::ToString;
use alloc::vec;
use core::sync::atomic::{AtomicU64, Ordering};

use aldis_wire::Version;

use super::*;
use crate::app::{App, Event, EventCtx, Next, Parallel};
use crate::output::Output;
use crate::pipeline::{Pipeline, Pipelines};
use crate::stats::AppSnapshot;
use crate::switch::{Switch, SwitchInfo};
use crate::time::Time;
use crate::world::{Part, PartId, PublishCtx, Publisher, Publishers, World};

/// Says at each event how many it has heard of at that switch.
struct Counts;

impl App for Counts {
    type Slot = Parallel<AtomicU64>;
    const NAME: &'static str = "counts";
    const EVENTS: &'static [EventKind] = ALL;

    fn init_switch(&mut self, _: Time, _: &SwitchInfo) -> AtomicU64 {
        AtomicU64::new(0)
    }

    fn event(&mut self, ctx: EventCtx<'_, Self::Slot>, event: &Event, out: &mut Output) -> Next {
        let count = ctx.slot.fetch_add(1, Ordering::Relaxed) + 1;
        out.append(format!("{}{count} ", event.kind()).as_bytes());
        assert!(!matches!(event, Event::Down), "down");
        Next::Continue
    }

    fn publishers(&self) -> Publishers {
        Publishers::of(CountsPublisher)
    }
}

const ALL: &[EventKind] = &[EventKind::Joining, EventKind::Up, EventKind::Second, EventKind::Down];

struct Total;

impl Part for Total {
    type Report = ();
    const NAME: &'static str = "total";
}

struct CountsPublisher;

impl Publisher for CountsPublisher {
    type Part = Total;
    fn begin(&mut self) -> Total {
        Total
    }
    fn revise(&mut self, _: Time, _: PublishCtx<'_, Total>) -> Option<Total> {
        None
    }
}

/// Reads what the other publishes, and says its name.
struct Reads;

impl App for Reads {
    type Slot = ();
    const NAME: &'static str = "reads";
    const EVENTS: &'static [EventKind] = &[EventKind::Second];
    const READS: &'static [PartId] = &[Total::ID];

    fn event(&mut self, _: EventCtx<'_, ()>, _: &Event, out: &mut Output) -> Next {
        out.append(b"reads ");
        Next::Continue
    }
}

/// Says its name, and nothing else.
struct Plain(&'static str);

impl App for Plain {
    type Slot = ();
    const NAME: &'static str = "plain";
    const EVENTS: &'static [EventKind] = &[EventKind::Second];

    fn event(&mut self, _: EventCtx<'_, ()>, _: &Event, out: &mut Output) -> Next {
        out.append(self.0.as_bytes());
        Next::Continue
    }
}

fn guard(call: &mut dyn FnMut()) -> Result<(), String> {
    extern crate std;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    catch_unwind(AssertUnwindSafe(call)).map_err(|_| "it panicked".to_string())
}

/// Two workers that follow the line-ups.
struct Stage {
    line_up: Arc<LineUp>,
    workers: [Pipeline; 2],
    out: Output,
    world: Arc<World>,
}

impl Stage {
    fn of(app_set: &AppSet) -> Stage {
        let pipelines: Pipelines = app_set.build().unwrap().guarded(guard);
        Stage {
            line_up: pipelines.line_up(),
            workers: [pipelines.pipeline(0), pipelines.pipeline(1)],
            out: pipelines.output(0),
            world: pipelines.world(),
        }
    }

    fn take(&mut self, line_up: Result<LineUp, LineUpError>) {
        self.line_up = Arc::new(line_up.unwrap());
        self.workers.iter_mut().for_each(|worker| worker.take(Arc::clone(&self.line_up)));
        self.line_up.drop_handed_back();
    }

    /// Both steps, between which the switch of this number joins.
    fn start(&mut self, name: &str, switches: &[Arc<Switch>], joins: u64) -> Arc<Switch> {
        self.take(self.line_up.joining(name, 2));
        let joined = self.join(joins);
        let all: Vec<_> = switches.iter().chain([&joined]).map(Arc::clone).collect();
        self.take(self.line_up.running(Time::START, &all));
        joined
    }

    fn join(&mut self, dpid: u64) -> Arc<Switch> {
        let dpid = DatapathId(dpid);
        let info = SwitchInfo { dpid, version: Version::V13, buffers: 0, tables: 1, ports: vec![] };
        self.workers[0].join(Time::START, info)
    }

    /// What the applications say to an event, on both workers.
    fn say(&mut self, switch: &Switch, event: &Event) -> String {
        for worker in &mut self.workers {
            worker.event(Time::START, &self.world, switch, event, &mut self.out);
        }
        self.said()
    }

    fn greet(&mut self, switch: &Switch) -> String {
        let since = self.line_up.started_in().unwrap();
        self.workers[0].greet(Time::START, &self.world, (switch, since), &mut self.out);
        self.said()
    }

    fn said(&mut self) -> String {
        let said = String::from_utf8(self.out.bytes().to_vec()).unwrap();
        self.out.clear();
        said
    }

    fn states(&self) -> Vec<(&'static str, &'static str)> {
        self.line_up.apps().map(|(_, name, state)| (name, state.name())).collect()
    }
}

fn both() -> AppSet {
    AppSet::default().with(|| Counts).with(|| Reads)
}

#[test]
fn an_application_that_starts_again_has_new_slots_on_switches_new_and_old() {
    let mut stage = Stage::of(&both());
    let old = stage.join(1);
    assert_eq!(stage.say(&old, &Event::Second), "second1 reads second2 reads ");
    stage.take(stage.line_up.stopping("counts"));
    assert_eq!(stage.say(&old, &Event::Second), "", "what needs it stopped with it");
    assert_eq!(stage.states(), [("counts", "stopped"), ("reads", "waiting")]);
    let between = stage.join(2);
    let joining = stage.start("counts", &[Arc::clone(&old), Arc::clone(&between)], 3);
    assert_eq!(stage.states(), [("counts", "running"), ("reads", "running")]);
    let new = stage.join(4);
    for switch in [&old, &between, &joining] {
        assert!(switch.since() < stage.line_up.version());
        assert_eq!(stage.greet(switch), "joining1 up2 ");
        assert_eq!(stage.say(switch, &Event::Second), "second3 reads second4 reads ");
    }
    assert_eq!(new.since(), stage.line_up.version());
    assert_eq!(stage.say(&new, &Event::Second), "second1 reads second2 reads ");
}

#[test]
fn an_application_that_was_removed_is_dropped_by_none_of_the_workers() {
    let mut stage = Stage::of(&both());
    let kept = Arc::new(());
    let of = Arc::clone(&kept);
    let make = move || {
        let _ = &of;
        Plain("plain ")
    };
    stage.take(stage.line_up.adding(Arc::new(AppEntry::of(make)), None));
    stage.start("plain", &[], 1);
    assert!(Arc::strong_count(&kept) > 1);
    stage.take(stage.line_up.stopping("plain"));
    // As the engine does it, which holds the line-up before until all workers have the next.
    let before = Arc::clone(&stage.line_up);
    stage.take(stage.line_up.removing("plain"));
    assert!(Arc::strong_count(&kept) > 1, "a worker dropped it");
    drop(before);
    assert_eq!(Arc::strong_count(&kept), 1, "a worker holds it");
}

#[test]
fn an_application_that_failed_can_be_started_again() {
    let mut stage = Stage::of(&both());
    let switch = stage.join(1);
    stage.say(&switch, &Event::Down);
    assert_eq!(stage.states(), [("counts", "failed"), ("reads", "failed")]);
    let reasons: Vec<_> = stage.line_up.apps().filter_map(|(_, _, state)| state.reason()).collect();
    let needed = "it needs what counts publishes, which failed".to_string();
    assert_eq!(reasons, ["it panicked".to_string(), needed]);
    assert!(stage.line_up.has_failed("counts"));
    stage.take(stage.line_up.stopping("counts"));
    assert!(!stage.line_up.has_failed("counts"));
    stage.start("counts", &[Arc::clone(&switch)], 2);
    assert_eq!(stage.say(&switch, &Event::Second), "second1 reads second2 reads ");
    let counted = stage.workers.each_ref().map(Pipeline::counted);
    let all = AppSnapshot::all(&stage.line_up, &counted);
    // Both workers counted what their instances before and after heard.
    assert_eq!((all[0].failures, all[0].failed, all[0].events["second"]), (1, false, 2));
}

#[test]
fn applications_are_added_in_their_place_replaced_and_removed() {
    let named = |name, says| AppEntry::of(move || Plain(says)).named(name, Plain::EVENTS);
    let mut stage = Stage::of(&AppSet::default().with(|| Plain("plain ")));
    let switch = stage.join(1);
    stage.take(stage.line_up.adding(Arc::new(named("guest", "one ")), Some("plain")));
    assert_eq!(stage.say(&switch, &Event::Second), "plain plain ", "it does not run yet");
    stage.start("guest", &[Arc::clone(&switch)], 2);
    assert_eq!(stage.say(&switch, &Event::Second), "one plain one plain ");
    stage.take(stage.line_up.replacing(Arc::new(named("guest", "two ")), 2));
    assert_eq!(stage.say(&switch, &Event::Second), "two plain two plain ");
    let order = ["plain", "guest"].map(String::from).to_vec();
    stage.take(stage.line_up.ordered(EventKind::Second, order));
    assert_eq!(stage.say(&switch, &Event::Second), "plain two plain two ");
    assert_eq!(stage.line_up.removing("guest").unwrap_err(), LineUpError::Runs("guest"));
    stage.take(stage.line_up.stopping("guest"));
    // The order that names it goes on without it.
    stage.take(stage.line_up.removing("guest"));
    assert_eq!(stage.say(&switch, &Event::Second), "plain plain ");
    // And has the next one, at its place.
    stage.take(stage.line_up.adding(Arc::new(named("guest", "three ")), Some("plain")));
    stage.start("guest", &[Arc::clone(&switch)], 4);
    assert_eq!(stage.say(&switch, &Event::Second), "three plain three plain ");
    stage.take(stage.line_up.stopping("guest"));
    stage.take(stage.line_up.removing("guest"));
    stage.take(stage.line_up.ordered(EventKind::Second, vec![]));
    // Another one gets the place, and none of what the first left there.
    stage.take(stage.line_up.adding(Arc::new(AppEntry::of(|| Counts).named("other", ALL)), None));
    stage.start("other", &[Arc::clone(&switch)], 3);
    assert_eq!(stage.say(&switch, &Event::Second), "plain second1 plain second2 ");
    assert_eq!(stage.states(), [("plain", "running"), ("other", "running")]);
}

#[test]
fn what_cannot_be_is_refused_and_nothing_changes() {
    let set = both().with(|| Plain("plain ")).idle(&[]);
    let mut stage = Stage::of(&set);
    assert_eq!(stage.states()[2], ("plain", "stopped"));
    let version = stage.line_up.version();
    let line_up = Arc::clone(&stage.line_up);
    let refused = |change: Result<LineUp, LineUpError>, words: &str| {
        let said = change.unwrap_err().to_string();
        assert!(said.contains(words), "{said}");
    };
    refused(line_up.stopping("conuts"), "\"conuts\" here; there are: counts, reads, plain");
    refused(line_up.joining("counts", 1), "runs already");
    refused(line_up.stopping("plain"), "does not run");
    refused(line_up.removing("plain"), "came with the controller");
    refused(line_up.replacing(Arc::new(AppEntry::of(|| Plain("p"))), 1), "came with the");
    refused(line_up.adding(Arc::new(AppEntry::of(|| Counts)), None), "\"counts\" already");
    refused(line_up.ordered(EventKind::Up, vec!["reads".into()]), "not start on \"up\"");
    assert_eq!(stage.line_up.version(), version);
    stage.take(stage.line_up.stopping("counts"));
    let needs = LineUpError::Needs { app: "reads", part: "total", publisher: Some("counts") };
    assert_eq!(stage.line_up.joining("reads", 1).unwrap_err(), needs);
    // What is published is fixed at the start.
    let late =
        Stage::of(&AppSet::default().with(|| Plain("plain ")).with(|| Counts).idle(&["plain"]));
    refused(late.line_up.joining("counts", 1), "publishes \"total\", and what is published is");
    // There is an end to it.
    let mut full = Arc::clone(&stage.line_up);
    for number in 3..APPS_MAX {
        let name = alloc::boxed::Box::leak(format!("guest-{number}").into_boxed_str());
        let app = AppEntry::of(|| Plain("p")).named(name, Plain::EVENTS);
        full = Arc::new(full.adding(Arc::new(app), None).unwrap());
    }
    let more = AppEntry::of(|| Plain("p")).named("one-more", Plain::EVENTS);
    refused(full.adding(Arc::new(more), None), "64 applications at most");
}
