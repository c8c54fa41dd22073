//! Floodlight's most used routes, so that scripts that were written for it go on working:
//! `/wm/core`, `/wm/topology`, `/wm/device` and the static entries. What is served and where it
//! differs: `docs/floodlight.md`.
//!
//! 1. `words` — datapath ids, matches and actions as Floodlight writes them;
//! 2. `core` — the controller and its switches; `statistics` — what switches count; `network` —
//!    links and hosts;
//! 3. `entry` — a static entry as it is sent; `entries` — those that there are, by name, and their
//!    switches.
//!
//! Messages to switches, and what is said where they are not done, are those of
//! `ryu::switch_request`; a static entry is put in Ryu's words and read as those are.

mod core;
pub(crate) mod entries;
mod entry;
mod network;
mod statistics;
mod words;

use crate::routes::RouteTable;

/// Floodlight's routes besides those that are there.
pub(crate) fn add(routes: RouteTable) -> RouteTable {
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
