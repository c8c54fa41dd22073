"""Changes of the topology over a WebSocket, as calls of JSON-RPC: `ryu.app.ws_topology`.

A client of /v1.0/topology/ws is called with `event_switch_enter`, `event_switch_leave`,
`event_link_add`, `event_link_delete` or `event_host_add`, and answers each call.
"""

from tinyrpc.exc import RPCError

from ryu.app.wsgi import ControllerBase, WebSocketRPCClient, WSGIApplication, websocket
from ryu.base import app_manager
from ryu.controller.handler import set_ev_cls
from ryu.lib import hub
from ryu.topology import event, switches


class WebSocketTopology(app_manager.RyuApp):
    """Calls every client for every change. A client that answers nothing holds up itself alone."""

    _CONTEXTS = {"wsgi": WSGIApplication, "switches": switches.Switches}

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.rpc_clients = []
        kwargs["wsgi"].register(WebSocketTopologyController, {"app": self})

    @set_ev_cls(event.EventSwitchEnter)
    def _switch_enter(self, ev):
        self._call_all("event_switch_enter", ev.switch)

    @set_ev_cls(event.EventSwitchLeave)
    def _switch_leave(self, ev):
        self._call_all("event_switch_leave", ev.switch)

    @set_ev_cls(event.EventLinkAdd)
    def _link_add(self, ev):
        self._call_all("event_link_add", ev.link)

    @set_ev_cls(event.EventLinkDelete)
    def _link_delete(self, ev):
        self._call_all("event_link_delete", ev.link)

    @set_ev_cls(event.EventHostAdd)
    def _host_add(self, ev):
        self._call_all("event_host_add", ev.host)

    def _call_all(self, method, subject):
        for client in list(self.rpc_clients):
            client.offer(method, subject.to_dict())


class _TopologyClient(WebSocketRPCClient):
    """A client, with the changes that it has still to be told in their order."""

    # More than a client that reads has waiting; one that does not is closed.
    CHANGES_MAX = 10_000

    def __init__(self, ws, logger):
        super().__init__(ws)
        self._changes = hub.Queue(self.CHANGES_MAX)
        self._logger = logger

    def offer(self, method, subject):
        """Has the client called, after the calls before."""
        if self._changes.full():
            self._logger.info("a client of the topology does not answer; closed")
            self.ws.close()
        else:
            self._changes.put((method, subject))

    def tell(self):
        """Calls the client for one change after another, until it is gone."""
        proxy = self.get_proxy()
        while (change := self._changes.get()) is not None:
            method, subject = change
            try:
                getattr(proxy, method)(subject)
            except OSError:
                return
            except RPCError as error:
                self._logger.error("a client of the topology answered wrongly: %s", error)


class WebSocketTopologyController(ControllerBase):
    """Holds the WebSockets."""

    def __init__(self, req, link, data, **config):
        super().__init__(req, link, data, **config)
        self.app = data["app"]

    @websocket("topology", "/v1.0/topology/ws")
    def _changes(self, ws):
        client = _TopologyClient(ws, self.app.logger)
        self.app.rpc_clients.append(client)
        teller = hub.spawn(client.tell)
        try:
            client.serve_forever()
        finally:
            self.app.rpc_clients.remove(client)
            hub.kill(teller)
