"""Switches over HTTP, to read and to change: `ryu.app.ofctl_rest`.

    GET /stats/switches                 the datapath ids
    GET /stats/flow/DPID                what a switch has; `QUERIES` lists the words
    POST /stats/flowentry/add           a change; `CHANGES` lists the words
    DELETE /stats/flowentry/clear/DPID  removes every flow of a switch

Bodies are literals of Python, so that an experimenter's message can be bytes; JSON is read too.
A change is answered when it has been sent, as Ryu does: what the switch says of it is logged.
"""

import ast
import json
import logging

from ryu.app.wsgi import ControllerBase, Response, WSGIApplication
from ryu.base import app_manager
from ryu.controller import dpset, ofp_event
from ryu.controller.handler import MAIN_DISPATCHER, set_ev_cls
from ryu.lib import ofctl_v1_0, ofctl_v1_2, ofctl_v1_3, ofctl_v1_4, ofctl_v1_5
from ryu.ofproto import ofproto_v1_0, ofproto_v1_2, ofproto_v1_3, ofproto_v1_4, ofproto_v1_5

LOG = logging.getLogger("ryu.app.ofctl_rest")

V15 = ofproto_v1_5.OFP_VERSION
OFCTL = {
    ofproto_v1_0.OFP_VERSION: ofctl_v1_0,
    ofproto_v1_2.OFP_VERSION: ofctl_v1_2,
    ofproto_v1_3.OFP_VERSION: ofctl_v1_3,
    ofproto_v1_4.OFP_VERSION: ofctl_v1_4,
    V15: ofctl_v1_5,
}

# The word of a path, the function of `ryu.lib.ofctl_*`, what may stand behind the datapath id, and
# the first version in which that is sent along.
QUERIES = {
    "desc": ("get_desc_stats", (), 0),
    "table": ("get_table_stats", (), 0),
    "tablefeatures": ("get_table_features", (), 0),
    "port": ("get_port_stats", ("port",), 0),
    "portdesc": ("get_port_desc", ("port_no",), V15),
    "queue": ("get_queue_stats", ("port", "queue_id"), 0),
    "queueconfig": ("get_queue_config", ("port",), 0),
    "queuedesc": ("get_queue_desc", ("port", "queue"), 0),
    "meter": ("get_meter_stats", ("meter_id",), 0),
    "meterfeatures": ("get_meter_features", (), 0),
    "meterconfig": ("get_meter_config", ("meter_id",), 0),
    "meterdesc": ("get_meter_desc", ("meter_id",), 0),
    "group": ("get_group_stats", ("group_id",), 0),
    "groupfeatures": ("get_group_features", (), 0),
    "groupdesc": ("get_group_desc", ("group_id",), V15),
    "role": ("get_role", (), 0),
}

# These may be asked with a body that says which flows.
FLOW_QUERIES = {
    "flow": "get_flow_stats",
    "flowdesc": "get_flow_stats",
    "aggregateflow": "get_aggregate_flow_stats",
}

# The word of a path, the function of `ryu.lib.ofctl_*`, and the prefix of its commands.
CHANGES = {
    "flowentry": ("mod_flow_entry", "OFPFC_"),
    "groupentry": ("mod_group_entry", "OFPGC_"),
    "meterentry": ("mod_meter_entry", "OFPMC_"),
}
COMMANDS = ("add", "modify", "modify_strict", "delete", "delete_strict")


class _Refused(Exception):
    """A request that cannot be served, with the status of the answer."""

    def __init__(self, status, why):
        super().__init__(why)
        self.status = status


class StatsController(ControllerBase):
    """Answers one request."""

    def __init__(self, req, link, data, **config):
        super().__init__(req, link, data, **config)
        self.dpset = data["dpset"]
        self.waiters = data["waiters"]

    def get_dpids(self, req, **_):
        """The datapath ids of the switches that are connected."""
        return _json(list(self.dpset.dps))

    def query(self, req, what, dpid, **more):
        """What a switch has of one kind."""
        function, names, since = QUERIES[what]

        def ask(datapath, ofctl):
            given = [more.get(name) for name in names if datapath.ofproto.OFP_VERSION >= since]
            values = [None if value == "ALL" else value for value in given]
            return _json(getattr(ofctl, function)(datapath, self.waiters, *values))

        return self._with_switch(dpid, ask)

    def query_flows(self, req, what, dpid, **_):
        """The flows of a switch, or those that the body says."""

        def ask(datapath, ofctl):
            flow = _body(req)
            return _json(getattr(ofctl, FLOW_QUERIES[what])(datapath, self.waiters, flow))

        return self._with_switch(dpid, ask)

    def change(self, req, what, cmd, **_):
        """Adds, modifies or deletes flows, groups or meters."""
        function, prefix = CHANGES[what]

        def send(datapath, ofctl, body):
            if cmd not in COMMANDS:
                raise _Refused(404, f"there is no command {cmd}")
            command = getattr(datapath.ofproto, prefix + cmd.upper())
            getattr(ofctl, function)(datapath, body, command)

        return self._with_body(req, send)

    def clear_flows(self, req, dpid, **_):
        """Removes every flow of a switch, in every table."""

        def send(datapath, ofctl):
            old = datapath.ofproto.OFP_VERSION == ofproto_v1_0.OFP_VERSION
            flow = {} if old else {"table_id": datapath.ofproto.OFPTT_ALL}
            ofctl.mod_flow_entry(datapath, flow, datapath.ofproto.OFPFC_DELETE)
            return Response()

        return self._with_switch(dpid, send)

    def change_port(self, req, cmd, **_):
        """Changes how a port behaves."""

        def send(datapath, ofctl, body):
            number = int(str(body.get("port_no")), 0)
            port = self.dpset.port_state.get(datapath.id, {}).get(number)
            if port is None or cmd != "modify":
                raise _Refused(404, f"there is no port {number}, or no command {cmd}")
            body.setdefault("hw_addr", port.hw_addr)
            if datapath.ofproto.OFP_VERSION < ofproto_v1_4.OFP_VERSION:
                body.setdefault("advertise", port.advertised)
            else:
                body.setdefault("properties", port.properties)
            ofctl.mod_port_behavior(datapath, body)

        return self._with_body(req, send)

    def set_role(self, req, **_):
        """Changes the role of this controller at a switch."""
        return self._with_body(req, lambda datapath, ofctl, body: ofctl.set_role(datapath, body))

    def send_experimenter(self, req, dpid, **_):
        """Sends an experimenter's message."""

        def send(datapath, ofctl, body):
            ofctl.send_experimenter(datapath, body)

        return self._with_body(req, send, dpid)

    def _with_body(self, req, send, dpid=None):
        """Sends a change to the switch that the body names, or else the path."""
        try:
            body = _body(req)
        except _Refused as refused:
            return _refuse(refused)

        def change(datapath, ofctl):
            send(datapath, ofctl, body)
            return Response()

        return self._with_switch(body.get("dpid", dpid), change)

    def _with_switch(self, dpid, act):
        try:
            datapath = self._switch(dpid)
            return act(datapath, OFCTL[datapath.ofproto.OFP_VERSION])
        except _Refused as refused:
            return _refuse(refused)
        except (ValueError, TypeError) as error:
            return _refuse(_Refused(400, error))
        except (AttributeError, KeyError) as error:
            return _refuse(_Refused(501, f"not in this version of OpenFlow: {error}"))

    def _switch(self, dpid):
        if dpid is None:
            raise _Refused(400, "the request names no switch")
        datapath = self.dpset.get(int(str(dpid), 0))
        if datapath is None:
            raise _Refused(404, f"there is no switch {dpid}")
        return datapath


def _json(value):
    return Response(content_type="application/json", text=json.dumps(value))


def _refuse(refused):
    LOG.warning("a request was refused: %s", refused)
    return Response(status=refused.status)


def _body(req):
    """What a body says: a table."""
    if not req.body:
        return {}
    try:
        text = req.body.decode()
        try:
            body = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            # `true`, `false` and `null` are no literals of Python.
            body = json.loads(text)
    except (ValueError, RecursionError, MemoryError) as error:
        raise _Refused(400, f"the body cannot be read: {error}") from None
    if not isinstance(body, dict):
        raise _Refused(400, "the body is no table")
    return body


class RestStatsApi(app_manager.RyuApp):
    """Connects the paths, and hands replies of switches to the requests that wait for them."""

    OFP_VERSIONS = list(OFCTL)
    _CONTEXTS = {"dpset": dpset.DPSet, "wsgi": WSGIApplication}

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.dpset = kwargs["dpset"]
        # By datapath id and xid: an event, and the replies so far.
        self.waiters = {}
        self.data = {"dpset": self.dpset, "waiters": self.waiters}
        self._mapper = kwargs["wsgi"].mapper
        kwargs["wsgi"].registory[StatsController.__name__] = self.data
        self._connect()

    def _connect(self):
        self._path("/switches", "get_dpids", ["GET"])
        for what, (_, names, _) in QUERIES.items():
            path = f"/{what}/{{dpid}}"
            self._path(path, "query", ["GET"], what=what)
            for name in names:
                path += f"/{{{name}}}"
                self._path(path, "query", ["GET"], what=what)
        for what in FLOW_QUERIES:
            self._path(f"/{what}/{{dpid}}", "query_flows", ["GET", "POST"], what=what)
        for what in CHANGES:
            self._path(f"/{what}/{{cmd}}", "change", ["POST"], what=what)
        self._path("/flowentry/clear/{dpid}", "clear_flows", ["DELETE"])
        self._path("/portdesc/{cmd}", "change_port", ["POST"])
        self._path("/experimenter/{dpid}", "send_experimenter", ["POST"])
        self._path("/role", "set_role", ["POST"])

    def _path(self, path, action, methods, **more):
        self._mapper.connect(
            "stats",
            "/stats" + path,
            controller=StatsController,
            action=action,
            conditions={"method": methods},
            **more,
        )

    @set_ev_cls(
        [
            ofp_event.EventOFPStatsReply,
            ofp_event.EventOFPDescStatsReply,
            ofp_event.EventOFPFlowStatsReply,
            ofp_event.EventOFPAggregateStatsReply,
            ofp_event.EventOFPTableStatsReply,
            ofp_event.EventOFPTableFeaturesStatsReply,
            ofp_event.EventOFPPortStatsReply,
            ofp_event.EventOFPQueueStatsReply,
            ofp_event.EventOFPQueueDescStatsReply,
            ofp_event.EventOFPMeterStatsReply,
            ofp_event.EventOFPMeterFeaturesStatsReply,
            ofp_event.EventOFPMeterConfigStatsReply,
            ofp_event.EventOFPGroupStatsReply,
            ofp_event.EventOFPGroupFeaturesStatsReply,
            ofp_event.EventOFPGroupDescStatsReply,
            ofp_event.EventOFPPortDescStatsReply,
        ],
        MAIN_DISPATCHER,
    )
    def stats_reply_handler(self, ev):
        """One of several replies, or the last."""
        ofproto = ev.msg.datapath.ofproto
        more = getattr(ofproto, "OFPMPF_REPLY_MORE", None) or ofproto.OFPSF_REPLY_MORE
        self._hand_over(ev.msg, bool(ev.msg.flags & more))

    @set_ev_cls(
        [
            ofp_event.EventOFPSwitchFeatures,
            ofp_event.EventOFPQueueGetConfigReply,
            ofp_event.EventOFPRoleReply,
        ],
        MAIN_DISPATCHER,
    )
    def features_reply_handler(self, ev):
        """A reply that is always whole."""
        self._hand_over(ev.msg, False)

    def _hand_over(self, msg, more):
        waiting = self.waiters.get(msg.datapath.id, {})
        if msg.xid not in waiting:
            return
        event, replies = waiting[msg.xid]
        replies.append(msg)
        if not more:
            del waiting[msg.xid]
            event.set()
