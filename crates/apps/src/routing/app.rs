//! The application: it has the routes published.

use std::sync::Arc;

use aldis_control::world::{Counts, PartId, PublishCtx, Publishers};
use aldis_control::{App, EventKind, Part, Publisher, Time};

use super::engine::Engine;
use super::graph_builder::GraphBuilder;
use super::routes::{RouteTally, Routes};
use crate::topology::Map;

/// Publishes the routes that an engine finds. It sees no event: the publisher does all.
#[derive(Clone, Debug)]
pub struct Routing {
    engine: Arc<dyn Engine>,
    uses_latency: bool,
}

impl Routing {
    /// With this engine; `uses_latency` says whether what links take is something to it.
    pub fn new(engine: Arc<dyn Engine>, uses_latency: bool) -> Routing {
        Routing { engine, uses_latency }
    }
}

impl App for Routing {
    type Slot = ();
    const NAME: &'static str = "routing";
    const EVENTS: &'static [EventKind] = &[];

    fn publishers(&self) -> Publishers {
        let graph_builder = GraphBuilder::new(self.uses_latency);
        Publishers::of(RoutePublisher {
            engine: Arc::clone(&self.engine),
            graph_builder,
            searches: false,
        })
    }
}

impl Part for Routes {
    /// It takes no reports: it is made of the map.
    type Report = ();
    const NAME: &'static str = "routes";

    fn counts(&self) -> Counts {
        let RouteTally { searched, kept, dropped } = self.tally();
        let counters = vec![("searched", searched), ("kept", kept), ("dropped", dropped)];
        Counts { counters, now: vec![("switches", self.graph().switches().len() as u64)] }
    }
}

/// Makes the routes. They are published at once, and destinations that a change made untrue are
/// searched for afterwards, some at a time. A reader that cannot wait for one searches for it
/// itself.
#[derive(Debug)]
struct RoutePublisher {
    engine: Arc<dyn Engine>,
    graph_builder: GraphBuilder,
    searches: bool,
}

impl Publisher for RoutePublisher {
    type Part = Routes;
    const READS: &'static [PartId] = &[Map::ID];

    fn begin(&mut self) -> Routes {
        Routes::new(Arc::clone(&self.engine), Arc::clone(self.graph_builder.graph()))
    }

    fn revise(&mut self, _: Time, ctx: PublishCtx<'_, Routes>) -> Option<Routes> {
        if ctx.changed::<Map>() && self.graph_builder.follow(ctx.world().part::<Map>()) {
            self.searches = true;
            return Some(ctx.current().after(Arc::clone(self.graph_builder.graph())));
        }
        self.searches = self.searches && ctx.current().search_some();
        None
    }

    fn next(&self) -> Time {
        if self.searches { Time::START } else { Time::NEVER }
    }
}
