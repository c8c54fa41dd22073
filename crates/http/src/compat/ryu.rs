//! Ryu's REST, so that scripts that were written for it go on working: `ofctl_rest` under `/stats`,
//! `rest_topology` and its WebSocket under `/v1.0/topology`, `rest_firewall` and `rest_qos` under
//! their names. What is served and where it differs: `docs/ryu.md`.
//!
//! ```text
//! body ──▶ literal ──▶ body ──▶ fields, actions ──▶ switch_request ──▶ flows, groups, … ──▶ {"1": …}
//!          JSON, Python  dicts    what is meant       one command        as Ryu shows it
//! ```
//!
//! 1. `literal`, `body`, `names` — what was sent, and its fields with Ryu's defaults;
//! 2. `fields`, `actions` — matches and actions, read and shown;
//! 3. `switch_request` — one message to a switch, its answer, and Ryu's status where there is none;
//! 4. `flows`, `tables`, `ports`, `queues`, `groups`, `meters`, `roles` — the routes under
//!    `/stats`;
//! 5. `topology`, `changes` — the routes under `/v1.0/topology`, and what is told over the
//!    WebSocket;
//! 6. `rules`, `firewall`, `qos` — rules that are kept as static flows; `router` — where the router
//!    is.
//!
//! Deliberately absent: what needs OpenFlow 1.4 or later is answered with 501, as Ryu does for a
//! switch that speaks 1.3.

pub(crate) mod actions;
pub(crate) mod body;
pub(crate) mod changes;
pub(crate) mod fields;
mod firewall;
mod flows;
mod groups;
mod literal;
mod meters;
pub(crate) mod names;
mod ports;
mod qos;
mod queues;
mod roles;
mod router;
mod rules;
pub(crate) mod switch_request;
mod tables;
pub(crate) mod topology;

use crate::routes::RouteTable;

/// Ryu's routes besides those that are there.
pub(crate) fn add(routes: RouteTable) -> RouteTable {
    routers(limits(walls(topology(changes(statistics(routes))))))
}

fn statistics(routes: RouteTable) -> RouteTable {
    let tag = "ryu";
    routes
        .shown(tag, "/stats/switches", "The switches that are connected", flows::switches)
        .shown(tag, "/stats/desc/{dpid}", "What a switch says of itself", tables::desc)
        .shown(tag, "/stats/flow/{dpid}", "Flows", flows::flow)
        .told(tag, "/stats/flow/{dpid}", "Flows that the body describes", flows::flow)
        .shown(tag, "/stats/flowdesc/{dpid}", "Flows", flows::flow)
        .told(tag, "/stats/flowdesc/{dpid}", "Flows that the body describes", flows::flow)
        .shown(tag, "/stats/aggregateflow/{dpid}", "Flows, summed up", flows::aggregate)
        .told(tag, "/stats/aggregateflow/{dpid}", "Flows of the body, summed up", flows::aggregate)
        .shown(tag, "/stats/table/{dpid}", "Counters of tables", tables::table)
        .shown(tag, "/stats/tablefeatures/{dpid}", "What tables can do", tables::features)
        .shown(tag, "/stats/port/{dpid}", "Counters of ports", ports::port)
        .shown(tag, "/stats/port/{dpid}/{port}", "Counters of a port", ports::port)
        .shown(tag, "/stats/portdesc/{dpid}", "Ports", ports::desc)
        .shown(tag, "/stats/portdesc/{dpid}/{port_no}", "Ports", ports::desc)
        .shown(tag, "/stats/queue/{dpid}", "Counters of queues", queues::queue)
        .shown(tag, "/stats/queue/{dpid}/{port}", "Counters of queues", queues::queue)
        .shown(tag, "/stats/queue/{dpid}/{port}/{queue_id}", "Counters of a queue", queues::queue)
        .shown(tag, "/stats/queueconfig/{dpid}", "Queues", queues::config)
        .shown(tag, "/stats/queueconfig/{dpid}/{port}", "Queues of a port", queues::config)
        .shown(tag, "/stats/queuedesc/{dpid}", "Not before OpenFlow 1.4", switch_request::later)
        .shown(
            tag,
            "/stats/queuedesc/{dpid}/{port}",
            "Not before OpenFlow 1.4",
            switch_request::later,
        )
        .shown(
            tag,
            "/stats/queuedesc/{dpid}/{port}/{queue}",
            "Not before OpenFlow 1.4",
            switch_request::later,
        )
        .shown(tag, "/stats/meterfeatures/{dpid}", "What meters can do", meters::features)
        .shown(tag, "/stats/meterconfig/{dpid}", "Meters", meters::config)
        .shown(tag, "/stats/meterconfig/{dpid}/{meter_id}", "A meter", meters::config)
        .shown(tag, "/stats/meterdesc/{dpid}", "Not before OpenFlow 1.5", switch_request::later)
        .shown(
            tag,
            "/stats/meterdesc/{dpid}/{meter_id}",
            "Not before OpenFlow 1.5",
            switch_request::later,
        )
        .shown(tag, "/stats/meter/{dpid}", "Counters of meters", meters::meter)
        .shown(tag, "/stats/meter/{dpid}/{meter_id}", "Counters of a meter", meters::meter)
        .shown(tag, "/stats/groupfeatures/{dpid}", "What groups can do", groups::features)
        .shown(tag, "/stats/groupdesc/{dpid}", "Groups", groups::desc)
        .shown(tag, "/stats/groupdesc/{dpid}/{group_id}", "Groups", groups::desc)
        .shown(tag, "/stats/group/{dpid}", "Counters of groups", groups::group)
        .shown(tag, "/stats/group/{dpid}/{group_id}", "Counters of a group", groups::group)
        .shown(tag, "/stats/role/{dpid}", "The role of this controller", roles::show)
}

fn changes(routes: RouteTable) -> RouteTable {
    let tag = "ryu";
    routes
        .told(tag, "/stats/flowentry/add", "Add a flow", flows::add)
        .told(tag, "/stats/flowentry/modify", "Change all flows that match", flows::modify)
        .told(tag, "/stats/flowentry/modify_strict", "Change one flow", flows::modify_strict)
        .told(tag, "/stats/flowentry/delete", "Remove all flows that match", flows::delete)
        .told(tag, "/stats/flowentry/delete_strict", "Remove one flow", flows::delete_strict)
        .removed(tag, "/stats/flowentry/clear/{dpid}", "Remove every flow", flows::clear)
        .told(tag, "/stats/groupentry/add", "Add a group", groups::add)
        .told(tag, "/stats/groupentry/modify", "Change a group", groups::modify)
        .told(tag, "/stats/groupentry/delete", "Remove a group", groups::delete)
        .told(tag, "/stats/meterentry/add", "Add a meter", meters::add)
        .told(tag, "/stats/meterentry/modify", "Change a meter", meters::modify)
        .told(tag, "/stats/meterentry/delete", "Remove a meter", meters::delete)
        .told(tag, "/stats/portdesc/modify", "Configure a port", ports::modify)
        .told(
            tag,
            "/stats/experimenter/{dpid}",
            "Send an experimenter's message",
            roles::experiment,
        )
        .told(tag, "/stats/role", "Choose the role of this controller", roles::set)
}

fn topology(routes: RouteTable) -> RouteTable {
    let tag = "ryu";
    routes
        .shown(tag, "/v1.0/topology/switches", "Switches and their ports", topology::switches)
        .shown(tag, "/v1.0/topology/switches/{dpid}", "A switch", topology::switches)
        .shown(tag, "/v1.0/topology/links", "Links, each in both directions", topology::links)
        .shown(tag, "/v1.0/topology/links/{dpid}", "Links that leave a switch", topology::links)
        .shown(tag, "/v1.0/topology/hosts", "Hosts", topology::hosts)
        .shown(tag, "/v1.0/topology/hosts/{dpid}", "Hosts at a switch", topology::hosts)
        .shown(
            tag,
            "/v1.0/topology/ws",
            "Changes, over a WebSocket, as JSON-RPC 2.0",
            changes::socket,
        )
}

fn walls(routes: RouteTable) -> RouteTable {
    let tag = "ryu";
    let routes = routes
        .shown(tag, "/firewall/module/status", "Which switches are firewalls", firewall::status)
        .switched(tag, "/firewall/module/enable/{switchid}", "Let rules count", firewall::enable)
        .switched(tag, "/firewall/module/disable/{switchid}", "Block all", firewall::disable)
        .shown(tag, "/firewall/log/status", "Which switches log", firewall::log_status)
        .switched(tag, "/firewall/log/enable/{switchid}", "Not here", firewall::log)
        .switched(tag, "/firewall/log/disable/{switchid}", "Not here", firewall::log);
    ["/firewall/rules/{switchid}", "/firewall/rules/{switchid}/{vlanid}"].into_iter().fold(
        routes,
        |routes, path| {
            routes
                .shown(tag, path, "Rules of a firewall", firewall::list)
                .told(tag, path, "Add a rule", firewall::add)
                .removed(tag, path, "Remove a rule", firewall::delete)
        },
    )
}

fn limits(routes: RouteTable) -> RouteTable {
    let tag = "ryu";
    let routes = routes
        .shown(tag, "/qos/queue/status/{switchid}", "Counters of queues", qos::queue_status)
        .shown(tag, "/qos/queue/{switchid}", "Queues that were made here: none", qos::queues)
        .told(tag, "/qos/queue/{switchid}", "Not here", qos::ovsdb)
        .removed(tag, "/qos/queue/{switchid}", "Not here", qos::ovsdb)
        .switched(tag, "/v1.0/conf/switches/{switchid}/ovsdb_addr", "Not here", qos::ovsdb)
        .shown(tag, "/qos/meter/{switchid}", "Counters of meters", qos::meters)
        .told(tag, "/qos/meter/{switchid}", "Add a meter", qos::add_meter)
        .removed(tag, "/qos/meter/{switchid}", "Remove a meter", qos::delete_meter);
    ["/qos/rules/{switchid}", "/qos/rules/{switchid}/{vlanid}"].into_iter().fold(
        routes,
        |routes, path| {
            routes
                .shown(tag, path, "Rules about the quality of service", qos::list)
                .told(tag, path, "Add a rule", qos::add)
                .removed(tag, path, "Remove a rule", qos::delete)
        },
    )
}

fn routers(routes: RouteTable) -> RouteTable {
    let tag = "ryu";
    ["/router/{switchid}", "/router/{switchid}/{vlanid}"].into_iter().fold(
        routes,
        |routes, path| {
            routes
                .shown(tag, path, "Not here", router::elsewhere)
                .told(tag, path, "Not here", router::elsewhere)
                .removed(tag, path, "Not here", router::elsewhere)
        },
    )
}
