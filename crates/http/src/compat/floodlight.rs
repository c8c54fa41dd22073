//! Floodlight's most used routes, so that scripts that were written for it go on working:
//! `/wm/core`, `/wm/topology`, `/wm/routing`, `/wm/device`, the static entries, `/wm/acl`,
//! `/wm/firewall`, `/wm/statistics` and `/wm/performance`. What is served and where it
//! differs: `docs/floodlight.md`.
//!
//! 1. `words` — datapath ids, matches and actions as Floodlight writes them;
//! 2. `core` — the controller and its switches; `statistics` — what switches count; `network` —
//!    links and hosts;
//! 3. `entry` — a static entry as it is sent; `entries` — those that there are, by name, and their
//!    switches;
//! 4. `rules` — the firewall and the ACL, as rules of ours; `monitoring` — bandwidth, performance.
//!
//! Messages to switches, and what is said where they are not done, are those of
//! `ryu::switch_request`; a static entry is put in Ryu's words and read as those are.

mod core;
pub(crate) mod entries;
mod entry;
mod monitoring;
mod network;
mod rules;
mod statistics;
mod words;

use crate::routes::RouteTable;

/// Floodlight's routes besides those that are there.
pub(crate) fn add(routes: RouteTable) -> RouteTable {
    rules(monitoring(network(routes)))
}

fn network(routes: RouteTable) -> RouteTable {
    let tag = "floodlight";
    let routes = routes
        .shown(tag, "/wm/core/controller/switches/json", "Switches", core::switches)
        .shown(tag, "/wm/core/controller/summary/json", "How many of what", core::summary)
        .shown(tag, "/wm/core/health/json", "That the controller runs", core::health)
        .shown(tag, "/wm/core/memory/json", "The memory of the machine", core::memory)
        .shown(tag, "/wm/core/role/json", "The role of the controller", core::role)
        .shown(tag, "/wm/core/system/uptime/json", "Since when it runs", core::uptime)
        .shown(tag, "/wm/core/version/json", "Its name and version", core::version)
        .shown(
            tag,
            "/wm/core/switch/all/{stat}/json",
            "Statistics of all switches",
            statistics::all,
        )
        .shown(tag, "/wm/core/switch/{dpid}/{stat}/json", "Statistics of a switch", statistics::one)
        .shown(tag, "/wm/topology/links/json", "Links", network::links)
        .shown(tag, "/wm/topology/directed-links/json", "Links that go one way", network::directed)
        .shown(tag, "/wm/topology/external-links/json", "Links through others", network::external)
        .shown(
            tag,
            "/wm/topology/switchclusters/json",
            "Parts that hang together",
            network::clusters,
        )
        .shown(
            tag,
            "/wm/topology/route/{src_dpid}/{src_port}/{dst_dpid}/{dst_port}/json",
            "A way between two ports",
            network::route,
        )
        .shown(
            tag,
            "/wm/routing/path/{src_dpid}/{src_port}/{dst_dpid}/{dst_port}/json",
            "A way between two ports",
            network::path,
        )
        .shown(
            tag,
            "/wm/routing/paths/{src_dpid}/{dst_dpid}/{count}/json",
            "Ways of least cost",
            network::paths,
        )
        .shown(
            tag,
            "/wm/routing/paths/fast/{src_dpid}/{dst_dpid}/{count}/json",
            "Ways of least cost",
            network::paths,
        )
        .shown(
            tag,
            "/wm/routing/paths/slow/{src_dpid}/{dst_dpid}/{count}/json",
            "Ways of least cost",
            network::paths,
        )
        .shown(tag, "/wm/device/", "Hosts, as a list", network::devices)
        .shown(tag, "/wm/device/all/json", "Hosts, as `devices`", network::all_devices);
    pushers().into_iter().fold(routes, |routes, [entry, list, clear]| {
        routes
            .told(tag, entry, "Keep an entry", entries::push)
            .removed(tag, entry, "Remove an entry", entries::delete)
            .shown(tag, list, "Entries", entries::list)
            .shown(tag, clear, "Remove all entries", entries::clear)
    })
}

fn monitoring(routes: RouteTable) -> RouteTable {
    let tag = "floodlight";
    let (enable, disable) =
        ("/wm/statistics/config/enable/json", "/wm/statistics/config/disable/json");
    routes
        .shown(
            tag,
            "/wm/statistics/bandwidth/{dpid}/{port}/json",
            "What ports carry in a second",
            monitoring::bandwidth,
        )
        .told(tag, enable, "Statistics are collected", monitoring::collect)
        .switched(tag, enable, "Statistics are collected", monitoring::collect)
        .told(tag, disable, "Statistics are not collected", monitoring::collect_no_more)
        .switched(tag, disable, "Statistics are not collected", monitoring::collect_no_more)
        .shown(
            tag,
            "/wm/performance/data/json",
            "What the applications take",
            monitoring::performance,
        )
        .shown(tag, "/wm/performance/{word}/json", "That it counts", monitoring::performance_is)
}

fn rules(routes: RouteTable) -> RouteTable {
    let tag = "floodlight";
    routes
        .shown(tag, "/wm/acl/rules/json", "Rules of the ACL", rules::acl)
        .told(tag, "/wm/acl/rules/json", "Add a rule", rules::add_acl)
        .removed(tag, "/wm/acl/rules/json", "Remove a rule", rules::remove_acl)
        .shown(tag, "/wm/acl/clear/json", "Remove all rules", rules::clear_acl)
        .shown(tag, "/wm/firewall/module/status/json", "Whether it runs", rules::module)
        .switched(tag, "/wm/firewall/module/enable/json", "Let rules count", rules::enable)
        .switched(tag, "/wm/firewall/module/disable/json", "Let no rule count", rules::disable)
        .shown(tag, "/wm/firewall/rules/json", "Rules of the firewall", rules::firewall)
        .told(tag, "/wm/firewall/rules/json", "Add a rule", rules::add_firewall)
        .removed(tag, "/wm/firewall/rules/json", "Remove a rule", rules::remove_firewall)
}

/// The static entries, under the name that they have and those that they had.
fn pushers() -> [[&'static str; 3]; 3] {
    [
        [
            "/wm/staticentrypusher/json",
            "/wm/staticentrypusher/list/{dpid}/json",
            "/wm/staticentrypusher/clear/{dpid}/json",
        ],
        [
            "/wm/staticflowpusher/json",
            "/wm/staticflowpusher/list/{dpid}/json",
            "/wm/staticflowpusher/clear/{dpid}/json",
        ],
        [
            "/wm/staticflowentrypusher/json",
            "/wm/staticflowentrypusher/list/{dpid}/json",
            "/wm/staticflowentrypusher/clear/{dpid}/json",
        ],
    ]
}
