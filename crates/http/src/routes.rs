//! Which path leads where, and the list of them, so that the document that describes them can be
//! held against it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::DefaultBodyLimit;
use axum::handler::Handler;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{self, MethodRouter};
use axum::{Extension, Router};
use tokio::sync::watch;

use crate::access::{AccessRole, Needed};
use crate::auth::Authenticator;
use crate::compat::floodlight::entries::EntriesByName;
use crate::compat::ryu::changes::TopologyWatcher;
use crate::compat::{floodlight, ryu};
use crate::controller::Controller;
use crate::desired::ConfigStore;
use crate::events::EventLog;
use crate::extract::BodyMax;
use crate::limits::{APP_BODY_MAX, BODY_MAX, CHANGES_BODY_MAX, PACKAGE_MAX};
use crate::log::LogLines;
use crate::problem::{no_such_method, no_such_resource};
use crate::report_pages::{self, ReportPlace};
use crate::timestamp::Calendar;
use crate::{api, app_pages, auth, docs, etag, memory, metrics, openapi, origin, response_limits};

/// What every resource is made from.
pub(crate) struct Shared {
    pub(crate) controller: Arc<dyn Controller>,
    pub(crate) config_store: Arc<dyn ConfigStore>,
    pub(crate) calendar: Calendar,
    pub(crate) events: EventLog,
    pub(crate) log: LogLines,
    pub(crate) report_place: ReportPlace,
    /// Looks for changes of the network, for followers that speak Ryu's protocol.
    pub(crate) topology_watcher: TopologyWatcher,
    /// What scripts of Floodlight's keep on switches.
    pub(crate) entries: Arc<EntriesByName>,
    /// Held while rules in the words of other controllers change: no two of them get one number.
    pub(crate) rules_changing: tokio::sync::Mutex<()>,
    /// Whether the end has come.
    pub(crate) stopping: watch::Receiver<bool>,
}

impl Shared {
    /// Now, as a date.
    pub(crate) fn date(&self) -> String {
        self.calendar.date(self.controller.now())
    }
}

/// The state of the server, as handlers take it.
pub(crate) type Ctx = axum::extract::State<Arc<Shared>>;

/// Paths, methods, and their handlers.
#[derive(Default)]
pub(crate) struct RouteTable {
    router: Router<Arc<Shared>>,
    /// Method, in small letters, and path.
    pub(crate) known: BTreeSet<(&'static str, &'static str)>,
    /// Those of other controllers, which describe themselves here.
    pub(crate) foreign: Vec<Foreign>,
}

/// A route of another controller.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(test), expect(dead_code, reason = "tests make the OpenAPI document of it"))]
pub(crate) struct Foreign {
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    /// Whose.
    pub(crate) tag: &'static str,
    /// What it is for.
    pub(crate) summary: &'static str,
}

impl RouteTable {
    /// All that there are.
    pub(crate) fn all() -> RouteTable {
        floodlight::add(ryu::add(RouteTable::ours().apps()))
    }

    fn ours() -> RouteTable {
        RouteTable::default()
            .get("/api/v1/health", api::health::show)
            .get("/api/v1/version", api::version::show)
            .get("/api/v1/switches", api::switches::list)
            .get("/api/v1/switches/{dpid}", api::switches::show)
            .get("/api/v1/switches/{dpid}/ports", api::ports::of_switch)
            .get("/api/v1/switches/{dpid}/ports/{number}", api::ports::show)
            .get("/api/v1/ports", api::ports::list)
            .get("/api/v1/port-statistics", api::port_statistics::list)
            .get("/api/v1/statistics", api::statistics::show)
            .get("/api/v1/events", api::events::follow)
            .get("/api/v1/events/recent", api::events::recent)
            .get("/api/v1/events/ws", api::events::socket)
            .get("/api/v1/log", api::log::list)
            .get("/api/v1/log/follow", api::log::follow)
            .get("/api/v1/me", api::me::show)
            .get("/api/v1/recording", api::recording::show)
            .get("/api/v1/reports", api::reports::list)
            .get("/api/v1/hosts", api::hosts::list)
            .get("/api/v1/links", api::links::list)
            .get("/api/v1/paths", api::paths::show)
            .get("/api/v1/design", api::weights::design)
            .put("/api/v1/design", api::weights::set_design)
            .get("/api/v1/weights", api::weights::show)
            .put("/api/v1/weights", api::weights::set)
            .delete("/api/v1/weights", api::weights::reset)
            .get("/api/v1/static-flows", api::static_flows::list)
            .post("/api/v1/static-flows", api::static_flows::change)
            .get("/api/v1/static-flows/{name}", api::static_flows::show)
            .put("/api/v1/static-flows/{name}", api::static_flows::put)
            .delete("/api/v1/static-flows/{name}", api::static_flows::remove)
            .get("/api/v1/acl", api::acl::list)
            .put("/api/v1/acl", api::acl::put_all)
            .get("/api/v1/acl/{name}", api::acl::show)
            .put("/api/v1/acl/{name}", api::acl::put)
            .delete("/api/v1/acl/{name}", api::acl::remove)
            .get("/api/v1/names", api::names::list)
            .put("/api/v1/names/{dpid}", api::names::put)
            .delete("/api/v1/names/{dpid}", api::names::remove)
            .post("/api/v1/reload", api::reload::reload)
            .post("/api/v1/trace", api::trace::follow)
            .get("/api/v1/switches/{dpid}/flows", api::flows::list)
            .post("/api/v1/switches/{dpid}/flows", api::flows::change)
            .delete("/api/v1/switches/{dpid}/flows", api::flows::remove)
            .post("/api/v1/flows", api::flows::change_many)
            .get("/api/v1/switches/{dpid}/groups", api::inventory::groups)
            .get("/api/v1/switches/{dpid}/meters", api::inventory::meters)
            .get("/api/v1/switches/{dpid}/ports/stats", api::inventory::ports)
            .get("/api/v1/switches/{dpid}/queues", api::inventory::queues)
            .get("/api/v1/switches/{dpid}/tables", api::inventory::tables)
            .of_apps()
            .get("/metrics", metrics::show)
            .get(openapi::PATH, openapi::show)
    }

    /// What installed applications answer themselves.
    fn of_apps(self) -> RouteTable {
        self.get("/apps/{name}", api::app_routes::home_redirect)
            .get("/apps/{name}/", api::app_routes::home)
            .below_apps("get", routing::get(api::app_routes::get))
            .below_apps("post", routing::post(api::app_routes::post))
            .below_apps("put", routing::put(api::app_routes::put))
            .below_apps("delete", routing::delete(api::app_routes::delete))
    }

    /// Applications, their order, and guests.
    fn apps(self) -> RouteTable {
        self.get("/api/v1/apps", api::apps::show)
            .long("post", "/api/v1/apps", routing::post(api::apps::install))
            .long("put", "/api/v1/apps/{name}", routing::put(api::apps::replace))
            .delete("/api/v1/apps/{name}", api::apps::remove)
            .long("put", "/api/v1/apps/{name}/candidate", routing::put(api::apps::shadow))
            .delete("/api/v1/apps/{name}/candidate", api::apps::end_shadow)
            .post("/api/v1/apps/{name}/promote", api::apps::promote)
            .get("/api/v1/apps/{name}/log", api::apps::log)
            .post("/api/v1/apps/{name}/start", api::apps::start)
            .post("/api/v1/apps/{name}/stop", api::apps::stop)
            .put("/api/v1/sequences/{on}", api::apps::order)
            .delete("/api/v1/sequences/{on}", api::apps::reset_order)
            .get("/api/v1/guests", api::guests::list)
            .get("/api/v1/guests/{name}", api::guests::show)
            .put("/api/v1/guests/{name}", api::guests::put)
            .delete("/api/v1/guests/{name}", api::guests::remove)
            .post("/api/v1/guests/{name}/pause", api::guests::pause)
            .post("/api/v1/guests/{name}/resume", api::guests::resume)
    }

    fn get<H: Handler<T, Arc<Shared>>, T: 'static>(self, path: &'static str, by: H) -> RouteTable {
        self.on("get", path, routing::get(by))
    }

    fn put<H: Handler<T, Arc<Shared>>, T: 'static>(self, path: &'static str, by: H) -> RouteTable {
        self.on("put", path, routing::put(by))
    }

    fn post<H: Handler<T, Arc<Shared>>, T: 'static>(self, path: &'static str, by: H) -> RouteTable {
        let by: MethodRouter<_> = routing::post(by).layer(DefaultBodyLimit::max(CHANGES_BODY_MAX));
        self.on("post", path, by.layer(Extension(BodyMax(CHANGES_BODY_MAX))))
    }

    /// A route whose body is a package.
    fn long(
        self,
        method: &'static str,
        path: &'static str,
        by: MethodRouter<Arc<Shared>>,
    ) -> RouteTable {
        let by: MethodRouter<_> = by.layer(DefaultBodyLimit::max(PACKAGE_MAX));
        self.on(method, path, by.layer(Extension(BodyMax(PACKAGE_MAX))))
    }

    /// A route that an application answers, however many parts its path has.
    fn below_apps(mut self, method: &'static str, by: MethodRouter<Arc<Shared>>) -> RouteTable {
        let path = "/apps/{name}/{path}";
        self.known.insert((method, path));
        let by: MethodRouter<_> = by.layer(DefaultBodyLimit::max(APP_BODY_MAX));
        let by = by.layer(Extension(BodyMax(APP_BODY_MAX)));
        let by = by.layer(from_fn_with_state(AccessRole::needed(method, path), auth::require));
        RouteTable { router: self.router.route("/apps/{name}/{*path}", by), ..self }
    }

    fn delete<H: Handler<T, Arc<Shared>>, T: 'static>(
        self,
        path: &'static str,
        by: H,
    ) -> RouteTable {
        self.on("delete", path, routing::delete(by))
    }

    fn on(
        mut self,
        method: &'static str,
        path: &'static str,
        by: MethodRouter<Arc<Shared>>,
    ) -> RouteTable {
        self.known.insert((method, path));
        let by = by.layer(from_fn_with_state(AccessRole::needed(method, path), auth::require));
        RouteTable { router: self.router.route(path, by), ..self }
    }

    /// A route of another controller that shows something.
    pub(crate) fn shown<H: Handler<T, Arc<Shared>>, T: 'static>(
        self,
        tag: &'static str,
        path: &'static str,
        summary: &'static str,
        by: H,
    ) -> RouteTable {
        self.foreign(Foreign { method: "get", path, tag, summary }, routing::get(by))
    }

    /// One that is told something.
    pub(crate) fn told<H: Handler<T, Arc<Shared>>, T: 'static>(
        self,
        tag: &'static str,
        path: &'static str,
        summary: &'static str,
        by: H,
    ) -> RouteTable {
        self.foreign(Foreign { method: "post", path, tag, summary }, routing::post(by))
    }

    /// One that sets something without a body.
    pub(crate) fn switched<H: Handler<T, Arc<Shared>>, T: 'static>(
        self,
        tag: &'static str,
        path: &'static str,
        summary: &'static str,
        by: H,
    ) -> RouteTable {
        self.foreign(Foreign { method: "put", path, tag, summary }, routing::put(by))
    }

    /// One that removes something.
    pub(crate) fn removed<H: Handler<T, Arc<Shared>>, T: 'static>(
        self,
        tag: &'static str,
        path: &'static str,
        summary: &'static str,
        by: H,
    ) -> RouteTable {
        self.foreign(Foreign { method: "delete", path, tag, summary }, routing::delete(by))
    }

    fn foreign(mut self, route: Foreign, by: MethodRouter<Arc<Shared>>) -> RouteTable {
        self.foreign.push(route);
        self.on(route.method, route.path, by)
    }

    /// What each needs, by method and path; the files of the web interface need no key.
    pub(crate) fn needs(&self) -> Vec<Needed> {
        let page = docs::FILES.into_iter().map(|(path, _, _)| ("get", path));
        let all = self.known.iter().copied().chain(page).chain([("get", docs::HOME)]);
        all.map(|(method, path)| Needed { method, path, role: AccessRole::needed(method, path) })
            .collect()
    }

    /// The service behind authentication, the origin check and the limits of answers, with the
    /// pages for browsers.
    pub(crate) fn serve(
        self,
        shared: Arc<Shared>,
        authenticator: Authenticator,
        answer_within: Duration,
    ) -> Router {
        let home =
            routing::get(docs::home).layer(from_fn_with_state(AccessRole::Read, auth::require));
        let router = self.router.route(docs::HOME, home);
        let page = docs::FILES.into_iter().fold(router, |router, (path, kind, text)| {
            let by = routing::get(move || async move { docs::file(kind, text) });
            router.route(path, by.layer(from_fn_with_state(AccessRole::Read, auth::require)))
        });
        let page = page
            .fallback(no_such_resource)
            .method_not_allowed_fallback(no_such_method)
            .layer(DefaultBodyLimit::max(BODY_MAX))
            .layer(from_fn(etag::etag))
            .layer(from_fn_with_state(Arc::clone(&shared), memory::check))
            .layer(from_fn_with_state(Arc::new(authenticator), auth::authenticate));
        let page = page.merge(app_pages::routes(&shared)).merge(report_pages::routes(&shared));
        #[cfg(feature = "ui")]
        let page = page.merge(crate::ui::routes());
        page.layer(from_fn(origin::check))
            .layer(from_fn_with_state(answer_within, response_limits::limit))
            .with_state(shared)
    }
}
