"""HTTP and WebSockets for applications: Ryu's `ryu.app.wsgi`, which os-ken has dropped.

An application asks for the context `WSGIApplication`, registers a class derived from
`ControllerBase`, and marks its methods with `route` or `websocket`:

    class Counter(ControllerBase):
        @route("count", "/count/{port}", methods=["GET"])
        def count(self, req, port, **_):
            return Response(content_type="application/json", json_body=self.data[port])

Paths are matched by Routes, requests and responses are WebOb's, the server is eventlet's. Unlike
Ryu's it listens on loopback unless `--wsapi-host` says otherwise.
"""

import inspect
import logging

import eventlet.wsgi
import webob
import webob.exc
from routes import Mapper
from routes.util import URLGenerator
from tinyrpc.client import RPCClient
from tinyrpc.dispatch import RPCDispatcher
from tinyrpc.dispatch import public as rpc_public  # noqa: F401 (a name that applications import)
from tinyrpc.protocols.jsonrpc import JSONRPCProtocol
from tinyrpc.server import RPCServer
from tinyrpc.transports import ClientTransport, ServerTransport

from ryu import cfg
from ryu.lib import hub

DEFAULT_WSGI_HOST = "127.0.0.1"
DEFAULT_WSGI_PORT = 8080
# For `requirements` of a route.
HEX_PATTERN = r"0x[0-9a-z]+"
DIGIT_PATTERN = r"[1-9][0-9]*"

# A larger body is refused: no request of Ryu's samples has a thousandth of it.
BODY_BYTES_MAX = 4 << 20
# A client that neither sends nor takes anything for so long is disconnected; WebSockets may rest.
IDLE_SECONDS_MAX = 60

LOG = logging.getLogger("ryu.app.wsgi")
CONF = cfg.CONF
CONF.register_cli_opts(
    [
        cfg.StrOpt(
            "wsapi-host",
            default=DEFAULT_WSGI_HOST,
            help=f"address that HTTP is served on (default {DEFAULT_WSGI_HOST})",
        ),
        cfg.IntOpt(
            "wsapi-port",
            default=DEFAULT_WSGI_PORT,
            help=f"port that HTTP is served on (default {DEFAULT_WSGI_PORT})",
        ),
    ]
)


class Request(webob.Request):
    """A request, with its text taken for UTF-8."""

    def __init__(self, environ, charset="UTF-8", **more):
        super().__init__(environ, charset=charset, **more)


class Response(webob.Response):
    """A response, with its text in UTF-8. A `body` may be text, whatever its `content_type`."""

    def __init__(self, *args, charset="UTF-8", **more):
        super().__init__(*args, charset=charset, **more)


def route(name, path, methods=None, requirements=None):
    """Marks a method of a `ControllerBase` that answers requests for `path`.

    `path` has variables in braces, `methods` are verbs of HTTP (any, if left out), and
    `requirements` regular expressions by variable.
    """

    def mark(method):
        method.routing_info = dict(
            name=name, path=path, methods=methods, requirements=requirements
        )
        return method

    return mark


def websocket(name, path):
    """Marks a method of a `ControllerBase` that holds a WebSocket at `path`.

    The connection ends when the method returns.
    """

    def mark(method):
        @route(name, path)
        def answer(self, req, **_):
            def converse(ws):
                ws.socket.settimeout(None)
                sockets = self.parent.websocketmanager
                sockets.add_connection(ws)
                try:
                    method(self, ws)
                finally:
                    sockets.delete_connection(ws)

            return hub.WebSocketWSGI(converse)

        answer.__doc__ = method.__doc__
        return answer

    return mark


class ControllerBase:
    """What answers one request: made anew for each.

    `data` is what was registered along with the class, `link` makes addresses out of the names of
    routes, and `parent` is the `WSGIApplication`.
    """

    special_vars = ["action", "controller"]

    def __init__(self, req, link, data, **config):
        self.req = req
        self.link = link
        self.data = data
        self.parent = None
        vars(self).update(config)

    def __call__(self, req):
        values = dict(self.req.urlvars)
        action = values.get("action", "index")
        for name in self.special_vars:
            values.pop(name, None)
        before = getattr(self, "__before__", None)
        if before is not None:
            before()
        return getattr(self, action)(req, **values)


class WebSocketManager:
    """The WebSockets that are open."""

    def __init__(self):
        self._connections = []

    def add_connection(self, ws):
        """Counts a connection among those that are open."""
        self._connections.append(ws)

    def delete_connection(self, ws):
        """Forgets a connection."""
        self._connections.remove(ws)

    def broadcast(self, msg):
        """Sends a text to every connection. One that fails keeps it from no other."""
        for connection in list(self._connections):
            try:
                connection.send(msg)
            except OSError as error:
                LOG.info("a WebSocket is gone: %s", error)


class WSGIApplication:
    """From paths to methods of controllers: a context that applications share.

    `mapper` is the `Mapper` of Routes, for applications that connect their paths themselves, and
    `registory` (Ryu's spelling) holds the data of each controller by the name of its class.
    """

    def __init__(self, **config):
        self.config = config
        self.mapper = Mapper()
        self.registory = {}
        self.websocketmanager = WebSocketManager()

    def register(self, controller, data=None):
        """Registers the marked methods of a class derived from `ControllerBase`."""
        for action, method in inspect.getmembers(controller, inspect.isroutine):
            info = getattr(method, "routing_info", None)
            if info is None:
                continue
            conditions = {"method": info["methods"]} if info["methods"] else {}
            self.mapper.connect(
                info["name"],
                info["path"],
                controller=controller,
                action=action,
                requirements=info["requirements"] or {},
                conditions=conditions,
            )
        if data:
            self.registory[controller.__name__] = data

    def __call__(self, environ, start_response):
        req = Request(environ)
        try:
            answer = self._answer(req)
        except webob.exc.HTTPException as error:
            answer = error
        except Exception:
            LOG.exception("%s %s failed", req.method, req.path)
            answer = webob.exc.HTTPInternalServerError()
        return _as_response(answer)(environ, start_response)

    def _answer(self, req):
        if (req.content_length or 0) > BODY_BYTES_MAX:
            return webob.exc.HTTPRequestEntityTooLarge()
        values = self.mapper.match(environ=req.environ)
        if not values:
            return webob.exc.HTTPNotFound()
        req.urlvars = values
        controller = values["controller"]
        data = self.registory.get(controller.__name__)
        link = URLGenerator(self.mapper, req.environ)
        handler = controller(req, link, data, **self.config)
        handler.parent = self
        return handler(req)


def _as_response(answer):
    """A WSGI application out of what a method of a controller returned."""
    if answer is None:
        return Response()
    if isinstance(answer, bytes):
        return Response(body=answer)
    if isinstance(answer, str):
        return Response(text=answer)
    return answer


class WebSocketDisconnectedError(Exception):
    """The other end of a WebSocket is gone."""


class _WebSocketServerTransport(ServerTransport):
    """Calls that come over a WebSocket, for tinyrpc."""

    def __init__(self, ws):
        self.ws = ws

    def receive_message(self):
        message = self.ws.wait()
        if message is None:
            raise WebSocketDisconnectedError
        return None, _as_bytes(message)

    def send_reply(self, context, reply):
        self.ws.send(_as_text(reply))


class WebSocketRPCServer(RPCServer):
    """Answers JSON-RPC over a WebSocket with the `rpc_public` methods of an object."""

    def __init__(self, ws, rpc_callback):
        dispatcher = RPCDispatcher()
        dispatcher.register_instance(rpc_callback)
        super().__init__(_WebSocketServerTransport(ws), JSONRPCProtocol(), dispatcher)

    def serve_forever(self):
        """Answers until the other end is gone."""
        try:
            super().serve_forever()
        except WebSocketDisconnectedError:
            LOG.debug("a WebSocket was closed")

    def _spawn(self, func, *args, **kwargs):
        hub.spawn(func, *args, **kwargs)


class _WebSocketClientTransport(ClientTransport):
    """Calls that go over a WebSocket, for tinyrpc."""

    def __init__(self, ws, replies):
        self.ws = ws
        self.replies = replies

    def send_message(self, message, expect_reply=True):
        self.ws.send(_as_text(message))
        return _as_bytes(self.replies.get()) if expect_reply else None


class WebSocketRPCClient(RPCClient):
    """Calls JSON-RPC methods of the other end of a WebSocket.

    `serve_forever` has to run in the thread that holds the WebSocket: it takes in the replies.
    """

    def __init__(self, ws):
        self.ws = ws
        self.queue = hub.Queue()
        super().__init__(JSONRPCProtocol(), _WebSocketClientTransport(ws, self.queue))

    def serve_forever(self):
        """Takes in replies until the other end is gone."""
        while (message := self.ws.wait()) is not None:
            self.queue.put(message)


def _as_text(message):
    return message.decode() if isinstance(message, bytes) else str(message)


def _as_bytes(message):
    return message.encode() if isinstance(message, str) else message


class WSGIServer(hub.WSGIServer):
    """Serves an application on the address that the options say."""

    def __init__(self, application, **config):
        super().__init__((CONF.wsapi_host, CONF.wsapi_port), application, **config)

    def serve_forever(self):
        """Serves, with a line in the log for each request; a fault is not shown to the client."""
        eventlet.wsgi.server(
            self.server, self.handle, LOG, debug=False, socket_timeout=IDLE_SECONDS_MAX
        )

    def __call__(self):
        self.serve_forever()


def start_service(app_mgr):
    """A server for the shared `WSGIApplication`; `None` where no application asked for one."""
    for context in app_mgr.contexts.values():
        if isinstance(context, WSGIApplication):
            return WSGIServer(context)
    return None
