use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

use super::*;
use crate::app::{App, EventCtx, Exclusive, Slots, State, TickCtx};
use crate::batch::{Request, RequestHeader};
use crate::stats::{AppSnapshot, Gauge};
use crate::world::{Part, PartId, PublishCtx, Publisher, Publishers};
use aldis_wire::{DatapathId, Version};

/// Declares a part and its publisher, which is made of others and never changes.
macro_rules! part {
    ($Part:ident $name:literal by $Publisher:ident of $reads:expr) => {
        struct $Part;
        impl Part for $Part {
            type Report = ();
            const NAME: &'static str = $name;
        }
        struct $Publisher;
        impl Publisher for $Publisher {
            type Part = $Part;
            const READS: &'static [PartId] = $reads;
            fn begin(&mut self) -> $Part {
                $Part
            }
            fn revise(&mut self, _: Time, _: PublishCtx<'_, $Part>) -> Option<$Part> {
                None
            }
        }
    };
}

part!(Links "links" by FindsLinks of &[]);
part!(Routes "routes" by FindsRoutes of &[Links::ID]);
part!(Chicken "chicken" by Hatches of &[Egg::ID]);
part!(Egg "egg" by Lays of &[Chicken::ID]);

/// Declares an application that does what `$body` says.
macro_rules! app {
    ($App:ident $name:literal kind $starts:expr; reads $reads:expr; publishes $publishers:expr) => {
        struct $App;
        impl App for $App {
            type Slot = ();
            const NAME: &'static str = $name;
            const EVENTS: &'static [EventKind] = $starts;
            const READS: &'static [PartId] = $reads;
            fn event(&mut self, _: EventCtx<'_, ()>, _: &Event, out: &mut Output) -> Next {
                out.append($name.as_bytes());
                Next::Continue
            }
            fn publishers(&self) -> Publishers {
                $publishers
            }
        }
    };
}

/// Counts what it sees, and tells all switches.
#[derive(Default)]
struct Tells {
    seconds: u64,
}

impl App for Tells {
    type Slot = ();
    const NAME: &'static str = "tells";
    const EVENTS: &'static [EventKind] = &[EventKind::Up, EventKind::Second];
    const COUNTS: &'static [&'static str] = &["seconds", "nothing"];

    fn event(&mut self, _: EventCtx<'_, ()>, event: &Event, out: &mut Output) -> Next {
        out.commands().to(DatapathId(7));
        out.commands().append(b"said");
        self.seconds += u64::from(matches!(event, Event::Second));
        Next::Stop
    }

    fn count(&self, own: &[Gauge]) {
        own[0].set(self.seconds);
    }
}

#[test]
fn what_each_application_does_is_counted_over_all_workers() {
    let app_set = AppSet::default().with(|| Topology).with(Tells::default).with(|| Routing);
    let pipelines = app_set.build().unwrap();
    let mut counted = vec![];
    for (worker, events) in [(0, &[Event::Up, Event::Second][..]), (1, &[Event::Second])] {
        let (mut pipeline, mut out) = (pipelines.pipeline(worker), pipelines.output(worker));
        let switch = pipeline.join(Time::START, info());
        for event in events {
            pipeline.event(Time::START, &pipelines.world(), &switch, event, &mut out);
        }
        counted.push(pipeline.counted());
    }
    let all = AppSnapshot::all(&pipelines.line_up(), &counted);
    let numbers = |numbers: [(&'static str, u64); 2]| BTreeMap::from(numbers);
    assert_eq!(all[0].events, numbers([("up", 1), ("second", 2)]));
    assert_eq!((all[0].app, all[0].bytes_out, all[0].own.len()), ("topology", 3 * 8, 0));
    assert_eq!(all[1].events, all[0].events);
    assert_eq!(all[1].own, numbers([("seconds", 2), ("nothing", 0)]));
    assert_eq!(all[1].bytes_out, 3 * 4);
    // The one before it stopped everything.
    assert_eq!((all[2].app, all[2].events.len(), all[2].bytes_out), ("routing", 0, 0));
}

/// Answers what comes, until it panics amid a message.
struct Fragile;

impl App for Fragile {
    type Slot = Exclusive<u32>;
    const NAME: &'static str = "fragile";
    const EVENTS: &'static [EventKind] = BOTH;

    fn init_switch(&mut self, _: Time, switch: &SwitchInfo) -> u32 {
        assert!(switch.dpid != DatapathId(13), "thirteen");
        0
    }

    fn event(&mut self, _: EventCtx<'_, Self::Slot>, event: &Event, out: &mut Output) -> Next {
        out.append(b"frag");
        out.commands().to(DatapathId(9));
        out.commands().append(b"half");
        assert!(!matches!(event, Event::Second), "no seconds");
        Next::Continue
    }

    fn publishers(&self) -> Publishers {
        Publishers::of(FindsLinks)
    }
}

fn guard(call: &mut dyn FnMut()) -> Result<(), String> {
    extern crate std;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    let words = |panic: Box<dyn core::any::Any + Send>| panic.downcast_ref::<&str>().copied();
    catch_unwind(AssertUnwindSafe(call))
        .map_err(|panic| words(panic).unwrap_or_default().to_string())
}

#[test]
fn an_application_that_panics_is_left_out_with_those_that_need_it_and_the_others_go_on() {
    let app_set = AppSet::default().with(|| Fragile).with(|| Routing).with(|| Walks);
    let app_set = app_set.with(Tells::default);
    let pipelines = app_set.build().unwrap().guarded(guard);
    let (mut one, mut other) = (pipelines.pipeline(0), pipelines.pipeline(1));
    let (mut out, world) = (pipelines.output(0), pipelines.world());
    let switch = one.join(Time::START, info());
    one.event(Time::START, &world, &switch, &Event::Up, &mut out);
    assert_eq!(out.bytes(), b"fragroutingwalks");
    assert_eq!(out.commands().take_failures().count(), 0);
    out.clear();
    out.commands().clear();
    one.event(Time::START, &world, &switch, &Event::Second, &mut out);
    // Routing is made of links, and walks reads routes.
    assert_eq!(out.bytes(), b"");
    assert_eq!(out.commands().pieces().0, b"said");
    let told: Vec<_> = out.commands().take_failures().collect();
    let left_out =
        "failed, and is left out from now on: it needs what fragile publishes, which failed";
    let expected = [
        "fragile: failed, and is left out from now on: no seconds".to_string(),
        format!("routing: {left_out}"),
        format!("walks: {left_out}"),
    ];
    assert_eq!(told, expected);
    // On no worker, and at no switch.
    let mut out = pipelines.output(1);
    other.event(Time::START, &world, &switch, &Event::Up, &mut out);
    let switch = other.join(Time::START, info());
    other.event(Time::START, &world, &switch, &Event::Up, &mut out);
    assert_eq!(out.bytes(), b"");
    assert_eq!(out.commands().take_failures().count(), 0);
    let all = AppSnapshot::all(&pipelines.line_up(), &[one.counted(), other.counted()]);
    let failed: Vec<_> = all.iter().filter(|app| app.failed).map(|app| app.app).collect();
    assert_eq!(failed, ["fragile", "routing", "walks"]);
}

#[test]
fn an_application_that_panics_when_a_switch_joins_is_left_out_of_it() {
    let app_set = AppSet::default().with(|| Fragile).with(Tells::default);
    let pipelines = app_set.build().unwrap().guarded(guard);
    let (mut pipeline, mut out) = (pipelines.pipeline(0), pipelines.output(0));
    let unlucky = SwitchInfo { dpid: DatapathId(13), ..info() };
    let switch = pipeline.join(Time::START, unlucky);
    pipeline.event(Time::START, &pipelines.world(), &switch, &Event::Up, &mut out);
    assert_eq!(out.bytes(), b"");
    assert_eq!(out.commands().pieces().0, b"said");
    let told = out.commands().take_failures().next();
    assert_eq!(told, Some("fragile: failed, and is left out from now on: thirteen".to_string()));
}

/// Panics when its time comes, half a message written.
struct Late;

impl App for Late {
    type Slot = ();
    const NAME: &'static str = "late";
    const EVENTS: &'static [EventKind] = &[EventKind::Timer];

    fn timer(&self) -> Timer {
        Timer::OnEach(Duration::from_secs(1))
    }

    fn tick(&mut self, _: TickCtx<'_>, commands: &mut Commands) {
        commands.to(DatapathId(7));
        commands.append(b"half");
        panic!("too late")
    }
}

#[test]
fn an_application_that_panics_when_its_time_comes_ticks_no_more_and_counts_nothing() {
    let app_set = AppSet::default().with(|| Late);
    let pipelines = app_set.build().unwrap().guarded(guard);
    let (mut pipeline, mut out) = (pipelines.pipeline(0), pipelines.output(0));
    let (world, at) = (pipelines.world(), |s| Time::START + Duration::from_secs(s));
    (0..4).for_each(|second| pipeline.tick(at(second), &world, out.commands()));
    assert!(out.commands().is_empty() && pipeline.next_tick() == Time::NEVER);
    let told: Vec<_> = out.commands().take_failures().collect();
    assert_eq!(told, ["late: failed, and is left out from now on: too late"]);
    let all = AppSnapshot::all(&pipelines.line_up(), &[pipeline.counted()]);
    assert!(all[0].failed && all[0].events.is_empty() && all[0].bytes_out == 0);
}

/// Publishes nothing, and panics when it should.
struct Breaks;

impl Publisher for Breaks {
    type Part = Links;
    fn begin(&mut self) -> Links {
        Links
    }
    fn revise(&mut self, _: Time, _: PublishCtx<'_, Links>) -> Option<Links> {
        panic!("no links")
    }
    fn next(&self) -> Time {
        Time::START
    }
}

app!(Broken "broken" kind BOTH; reads &[]; publishes Publishers::of(Breaks));

#[test]
fn a_publisher_that_panics_fails_together_with_its_application() {
    let app_set = AppSet::default().with(|| Broken).with(Tells::default);
    let pipelines = app_set.build().unwrap().guarded(guard);
    let (mut pipeline, mut out) = (pipelines.pipeline(0), pipelines.output(0));
    let mut world_builder = pipelines.world_builder();
    assert!(world_builder.next() < Time::NEVER);
    assert!(world_builder.step(Time::START).is_none() && world_builder.step(Time::START).is_none());
    assert_eq!(world_builder.next(), Time::NEVER);
    let switch = pipeline.join(Time::START, info());
    pipeline.event(Time::START, world_builder.world(), &switch, &Event::Up, &mut out);
    assert_eq!(out.bytes(), b"");
    assert_eq!(out.commands().pieces().0, b"said");
    let told = out.commands().take_failures().next();
    assert_eq!(told, Some("broken: failed, and is left out from now on: no links".to_string()));
}

const BOTH: &[EventKind] = &[EventKind::Up, EventKind::Second];

app!(Topology "topology" kind BOTH; reads &[]; publishes Publishers::of(FindsLinks));
app!(Routing "routing" kind BOTH; reads &[]; publishes Publishers::of(FindsRoutes));
app!(Walks "walks" kind &[EventKind::Up]; reads &[Routes::ID]; publishes Publishers::default());
app!(Farm "farm" kind BOTH; reads &[]; publishes Publishers::of(Hatches).and(Lays));

fn info() -> SwitchInfo {
    SwitchInfo { dpid: DatapathId(1), version: Version::V13, buffers: 0, tables: 1, ports: vec![] }
}

fn all() -> AppSet {
    AppSet::default().with(|| Walks).with(|| Routing).with(|| Topology)
}

fn said(app_set: &AppSet, event: &Event) -> String {
    let pipelines = app_set.build().unwrap();
    let (mut pipeline, mut out) = (pipelines.pipeline(0), pipelines.output(0));
    let switch = pipeline.join(Time::START, info());
    pipeline.event(Time::START, pipelines.world_builder().world(), &switch, event, &mut out);
    String::from_utf8(out.bytes().to_vec()).unwrap()
}

#[test]
fn applications_see_what_they_start_on_in_the_order_of_the_sequence() {
    assert_eq!(said(&all(), &Event::Up), "walksroutingtopology");
    assert_eq!(said(&all(), &Event::Second), "routingtopology");
    assert_eq!(said(&all(), &Event::Down), "");
    let sequence = all().sequence(EventKind::Up, ["topology", "walks"]);
    assert_eq!(said(&sequence, &Event::Up), "topologywalks");
    assert_eq!(said(&sequence, &Event::Second), "routingtopology");
    let branches = all()
        .sequence(EventKind::Up, ["topology", "walks"])
        .sequence(EventKind::Up, ["topology", "routing"]);
    assert_eq!(said(&branches, &Event::Up), "topologywalksrouting");
    let graph = branches.graph().unwrap();
    assert_eq!(graph.sequences[0].1, ["topology", "walks", "routing"]);
    let told = vec![vec!["topology", "walks"], vec!["topology", "routing"]];
    assert_eq!(graph.branches, [(EventKind::Up, told)]);
    assert_eq!(sequence.graph().unwrap().branches, []);
}

#[test]
fn parts_are_made_after_those_that_they_are_made_of() {
    let graph = all().graph().unwrap();
    let parts: Vec<_> = graph.parts.iter().map(|part| (part.name, part.publisher)).collect();
    assert_eq!(parts, [("links", "topology"), ("routes", "routing")]);
    assert_eq!(graph.parts[1].made_of, ["links"]);
    assert_eq!(
        (&graph.apps[0].reads, &graph.apps[1].publishes),
        (&vec!["routes"], &vec!["routes"])
    );
    assert_eq!(graph.sequences[0], (EventKind::Up, vec!["walks", "routing", "topology"]));
}

#[test]
fn what_cannot_work_is_refused_with_a_sentence() {
    let walks = || AppSet::default().with(|| Walks);
    let refused = |app_set: AppSet| {
        let wrong = app_set.build().expect_err("it cannot work");
        (wrong.sequence(), wrong.to_string())
    };
    let cases = [
        (walks(), None, "\"walks\" reads \"routes\", which no application publishes"),
        (walks().with(|| Routing), None, "\"routing\" reads \"links\", which no application"),
        (all().with(|| Walks), None, "\"walks\" is there twice"),
        (AppSet::default().with(|| Farm), None, "in a circle: chicken of egg of chicken"),
        (
            all().sequence(EventKind::Up, ["wlaks"]),
            Some(0),
            "no application \"wlaks\" here; those that",
        ),
        (
            all().sequence(EventKind::Second, ["walks"]),
            Some(0),
            "not start on \"second\"; it starts on: up",
        ),
        (
            all().sequence(EventKind::Up, ["walks", "walks"]),
            Some(0),
            "\"walks\" is twice in one sequence",
        ),
        (
            all()
                .sequence(EventKind::Up, ["walks", "routing"])
                .sequence(EventKind::Up, ["routing", "walks"]),
            Some(1),
            "the sequences on \"up\" go in a circle: \"",
        ),
    ];
    for (app_set, sequence, words) in cases {
        let (place, sentence) = refused(app_set);
        assert!(place == sequence && sentence.contains(words), "{place:?}: {sentence}");
    }
    app!(Rival "rival" kind BOTH; reads &[]; publishes Publishers::of(FindsLinks));
    let (_, sentence) = refused(all().with(|| Rival));
    assert!(sentence.contains("\"topology\" and \"rival\" both publish \"links\""), "{sentence}");
}

/// Counts batches of each switch, alone with it, and ticks.
struct Counter {
    timer: Timer,
}

impl App for Counter {
    type Slot = Exclusive<u8>;
    const NAME: &'static str = "counter";
    const EVENTS: &'static [EventKind] =
        &[EventKind::FlowRequest, EventKind::Second, EventKind::Timer];

    fn init_switch(&mut self, _: Time, _: &SwitchInfo) -> u8 {
        0
    }

    fn packet_ins(
        &mut self,
        batch: &mut Batch<'_>,
        mut slots: Slots<'_, Exclusive<u8>>,
        _: &mut Output,
    ) {
        batch.runs.iter().for_each(|run| *slots.of(run.switch) += 1);
    }

    fn event(&mut self, mut ctx: EventCtx<'_, Exclusive<u8>>, _: &Event, out: &mut Output) -> Next {
        *ctx.slot += 10;
        out.append(&[*ctx.slot]);
        Next::Stop
    }

    fn timer(&self) -> Timer {
        self.timer
    }

    fn tick(&mut self, ctx: TickCtx<'_>, commands: &mut Commands) {
        commands.to(DatapathId(ctx.now.0));
        commands.append(&[1]);
        self.timer = Timer::OnEach(Duration::from_millis(5));
    }
}

#[test]
fn an_exclusive_slot_comes_to_be_changed_even_twice_in_a_batch() {
    let app_set = AppSet::default().with(|| Counter { timer: Timer::Never });
    let pipelines = app_set.build().unwrap();
    let (mut pipeline, mut out) = (pipelines.pipeline(0), pipelines.output(0));
    assert!(pipeline.is_exclusive());
    let switch = pipeline.join(Time::START, info());
    let run = |switch| crate::Run { switch, requests: 0..0 };
    let mut batch = Batch {
        kind: EventKind::FlowRequest,
        now: Time::START,
        world: View::nothing(),
        bytes: &[],
        switches: &[&switch, &switch],
        runs: &[run(0), run(1)],
        requests: &mut [],
    };
    pipeline.packet_ins(&mut batch, &mut out);
    pipeline.event(Time::START, &World::NOTHING, &switch, &Event::Second, &mut out);
    assert_eq!(out.bytes(), [12]);
}

/// Answers each request by itself, with its number among those of its switch.
struct NumbersRequests;

impl App for NumbersRequests {
    type Slot = Exclusive<u8>;
    const NAME: &'static str = "numbers";

    fn init_switch(&mut self, _: Time, _: &SwitchInfo) -> u8 {
        0
    }

    fn packet_in(
        &mut self,
        request: &Request<'_>,
        mut count: State<'_, Self>,
        out: &mut Output,
    ) -> Next {
        *count += 1;
        out.select(request.run);
        out.append(&[*count]);
        if request.header.xid == 2 { Next::Stop } else { Next::Continue }
    }
}

#[test]
fn requests_come_one_by_one_with_the_slot_of_their_switch() {
    let app_set = AppSet::default().with(|| NumbersRequests);
    let pipelines = app_set.build().unwrap();
    let (mut pipeline, mut out) = (pipelines.pipeline(0), pipelines.output(0));
    let switches = [1, 2].map(|_| pipeline.join(Time::START, info()));
    let request = |xid, stopped| RequestHeader {
        frame_at: 0,
        head_len: 0,
        frame_len: 0,
        total_len: 0,
        reason: 0,
        stopped,
        in_port: 1,
        buffer_id: 0,
        xid,
    };
    let mut requests = [request(1, false), request(2, false), request(3, true), request(4, false)];
    let mut batch = Batch {
        kind: EventKind::FlowRequest,
        now: Time::START,
        world: View::nothing(),
        bytes: &[],
        switches: &[&switches[0], &switches[1]],
        runs: &[
            crate::Run { switch: 0, requests: 0..1 },
            crate::Run { switch: 1, requests: 1..3 },
            crate::Run { switch: 0, requests: 3..4 },
        ],
        requests: &mut requests,
    };
    pipeline.packet_ins(&mut batch, &mut out);
    // The second request of the second switch was stopped before: it is passed over.
    assert_eq!(out.bytes(), [1, 1, 2]);
    assert_eq!(requests.map(|request| request.stopped), [false, true, true, false]);
}

#[test]
fn timers_fire_when_their_time_comes_and_where_they_should() {
    let millis = |count: u64| Time::START + Duration::from_millis(count);
    let app_set =
        AppSet::default().with(|| Counter { timer: Timer::OnOne(Duration::from_millis(2)) });
    let pipelines = app_set.build().unwrap();
    assert_eq!(pipelines.pipeline(1).next_tick(), Time::NEVER);
    let (mut pipeline, mut out) = (pipelines.pipeline(0), pipelines.output(0));
    let mut ticks = |now| {
        pipeline.tick(now, &World::NOTHING, out.commands());
        let ticks = out.commands().pieces().1.len();
        out.commands().clear();
        (ticks, pipeline.next_tick())
    };
    assert_eq!(ticks(millis(7)), (0, millis(9)));
    assert_eq!(ticks(millis(8)), (0, millis(9)));
    assert_eq!(ticks(millis(10)), (1, millis(15)), "it says another interval now");
    assert_eq!(ticks(millis(15)), (1, millis(20)));
}
