"""Switches, links and hosts over HTTP: `ryu.app.rest_topology`.

    GET /v1.0/topology/switches[/DPID]
    GET /v1.0/topology/links[/DPID]
    GET /v1.0/topology/hosts[/DPID]

DPID has 16 hexadecimal digits. Links are found with `--observe-links` alone.
"""

import json

from ryu.app.wsgi import ControllerBase, Response, WSGIApplication, route
from ryu.base import app_manager
from ryu.lib.dpid import DPID_PATTERN, str_to_dpid
from ryu.topology.api import get_host, get_link, get_switch

ROOT = "/v1.0/topology"
ONE_SWITCH = {"dpid": DPID_PATTERN}


class TopologyAPI(app_manager.RyuApp):
    """Registers the paths."""

    _CONTEXTS = {"wsgi": WSGIApplication}

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        kwargs["wsgi"].register(TopologyController, {"topology_api_app": self})


class TopologyController(ControllerBase):
    """Answers for the whole network, or for one switch."""

    def __init__(self, req, link, data, **config):
        super().__init__(req, link, data, **config)
        self.topology_api_app = data["topology_api_app"]

    def _list(self, find, dpid):
        found = find(self.topology_api_app, None if dpid is None else str_to_dpid(dpid))
        items = [item.to_dict() for item in found]
        return Response(content_type="application/json", text=json.dumps(items))

    @route("topology", ROOT + "/switches", methods=["GET"])
    def list_switches(self, req, **_):
        """Every switch, with its ports."""
        return self._list(get_switch, None)

    @route("topology", ROOT + "/switches/{dpid}", methods=["GET"], requirements=ONE_SWITCH)
    def get_switch(self, req, dpid, **_):
        """One switch, in a list."""
        return self._list(get_switch, dpid)

    @route("topology", ROOT + "/links", methods=["GET"])
    def list_links(self, req, **_):
        """Every link, once in each direction."""
        return self._list(get_link, None)

    @route("topology", ROOT + "/links/{dpid}", methods=["GET"], requirements=ONE_SWITCH)
    def get_links(self, req, dpid, **_):
        """The links that leave one switch."""
        return self._list(get_link, dpid)

    @route("topology", ROOT + "/hosts", methods=["GET"])
    def list_hosts(self, req, **_):
        """Every host that has been seen."""
        return self._list(get_host, None)

    @route("topology", ROOT + "/hosts/{dpid}", methods=["GET"], requirements=ONE_SWITCH)
    def get_hosts(self, req, dpid, **_):
        """The hosts at one switch."""
        return self._list(get_host, dpid)
