//! The application: it has the routes published.

use std::sync::Arc;

use aldis_control::world::{PartId, PublishCtx, Publishers};
use aldis_control::{App, EventKind, Part, Publisher, Time};

use super::charter::Charter;
use super::engine::Engine;
use super::routes::Routes;
use crate::topology::Map;

/// Publishes the routes that an engine finds. It sees no event: the publisher does all.
#[derive(Clone, Debug)]
pub struct Routing {
    engine: Arc<dyn Engine>,
    heeds_latency: bool,
}

impl Routing {
    /// With this engine; `heeds_latency` says whether what links take is something to it.
    pub fn new(engine: Arc<dyn Engine>, heeds_latency: bool) -> Routing {
        Routing { engine, heeds_latency }
    }
}

impl App for Routing {
    type Slot = ();
    const NAME: &'static str = "routing";
    const EVENTS: &'static [EventKind] = &[];

    fn publishers(&self) -> Publishers {
        let charter = Charter::new(self.heeds_latency);
        Publishers::of(Finder { engine: Arc::clone(&self.engine), charter, searches: false })
    }
}

impl Part for Routes {
    /// Nobody reports to it: it is made of the map.
    type Report = ();
    const NAME: &'static str = "routes";
}

/// Makes the routes. They are published at once, and destinations that a change made untrue are
/// looked into afterwards, some at a time: who cannot wait for one looks into it himself.
#[derive(Debug)]
struct Finder {
    engine: Arc<dyn Engine>,
    charter: Charter,
    searches: bool,
}

impl Publisher for Finder {
    type Part = Routes;
    const READS: &'static [PartId] = &[Map::ID];

    fn begin(&mut self) -> Routes {
        Routes::new(Arc::clone(&self.engine), Arc::clone(self.charter.graph()))
    }

    fn revise(&mut self, _: Time, ctx: PublishCtx<'_, Routes>) -> Option<Routes> {
        if ctx.changed::<Map>() && self.charter.follow(ctx.world().part::<Map>()) {
            self.searches = true;
            return Some(ctx.current().after(Arc::clone(self.charter.graph())));
        }
        self.searches = self.searches && ctx.current().search_some();
        None
    }

    fn next(&self) -> Time {
        if self.searches { Time::START } else { Time::NEVER }
    }
}
