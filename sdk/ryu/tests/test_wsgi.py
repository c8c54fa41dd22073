"""`ryu.app.wsgi` without a socket, and over one where WebSockets need it."""

import json
import unittest

import ryu  # noqa: F401 (installs the names)
import webob
from ryu.app import wsgi
from ryu.app.wsgi import ControllerBase, Response, WSGIApplication, route, websocket
from ryu.lib import hub
from tinyrpc.exc import RPCError


class Things(ControllerBase):
    """The controller that is asked."""

    def __before__(self):
        self.before = "yes"

    @route("things", "/things", methods=["GET"])
    def list_things(self, req, **_):
        return Response(content_type="application/json", body=json.dumps(self.data["things"]))

    @route("thing", "/things/{number}", methods=["GET"], requirements={"number": wsgi.DIGIT_PATTERN})
    def thing(self, req, number, **_):
        return Response(text=f"{number} {self.link('things')} {self.before} {self.extra}")

    @route("thing", "/things", methods=["PUT"])
    def put(self, req, **_):
        return Response(status=201, json_body=req.json_body)

    @route("text", "/text")
    def text(self, req, **_):
        return "grüße"

    @route("fails", "/fails")
    def fails(self, req, **_):
        raise RuntimeError("of this test")

    @route("gone", "/gone")
    def gone(self, req, **_):
        raise webob.exc.HTTPGone

    def by_hand(self, req, word, **_):
        return Response(text=word)


def ask(application, path, **more):
    return webob.Request.blank(path, **more).get_response(application)


class ApplicationTest(unittest.TestCase):
    def setUp(self):
        self.application = WSGIApplication(extra="more")
        self.application.register(Things, {"things": [1, 2]})

    def test_a_path_finds_its_method_and_the_data_that_was_registered(self):
        answer = ask(self.application, "/things")
        self.assertEqual((answer.status_int, answer.json), (200, [1, 2]))
        self.assertEqual(answer.content_type, "application/json")

    def test_variables_links_settings_and_what_is_done_before_reach_the_method(self):
        self.assertEqual(ask(self.application, "/things/12").text, "12 /things yes more")

    def test_a_variable_that_does_not_fit_and_a_path_that_is_not_there_are_404(self):
        for path in ("/things/x", "/nothing", "/things/0"):
            self.assertEqual(ask(self.application, path).status_int, 404)

    def test_the_verb_decides_among_methods_of_one_path(self):
        answer = ask(self.application, "/things", method="PUT", json={"a": 1})
        self.assertEqual((answer.status_int, answer.json), (201, {"a": 1}))
        self.assertEqual(ask(self.application, "/things", method="DELETE").status_int, 404)

    def test_text_is_an_answer_and_an_exception_is_a_500_that_does_not_show_itself(self):
        self.assertEqual(ask(self.application, "/text").text, "grüße")
        self.assertEqual(ask(self.application, "/gone").status_int, 410)
        with self.assertLogs("ryu.app.wsgi", "ERROR"):
            answer = ask(self.application, "/fails")
        self.assertEqual(answer.status_int, 500)
        self.assertNotIn("of this test", answer.text)

    def test_a_body_that_is_too_large_is_refused_unread(self):
        request = webob.Request.blank("/things", method="PUT")
        request.content_length = wsgi.BODY_BYTES_MAX + 1
        self.assertEqual(request.get_response(self.application).status_int, 413)

    def test_paths_that_are_connected_by_hand_work_as_in_old_applications(self):
        self.application.registory["Things"] = {"things": []}
        self.application.mapper.connect(
            "hand", "/hand/{word}", controller=Things, action="by_hand",
            conditions={"method": ["GET"]},
        )
        self.assertEqual(ask(self.application, "/hand/x").text, "x")
        self.assertEqual(ask(self.application, "/hand/x", method="POST").status_int, 404)


class Wire:
    """One end of a WebSocket in memory; what is sent goes to the other end's queue."""

    def __init__(self):
        self.arrived, self.other = hub.Queue(), None

    def send(self, message):
        self.other.arrived.put(message)

    def wait(self):
        return self.arrived.get()


def wires():
    one, two = Wire(), Wire()
    one.other, two.other = two, one
    return one, two


class Adder:
    @wsgi.rpc_public
    def add(self, a, b):
        return a + b

    def hidden(self):
        return 1


class RpcTest(unittest.TestCase):
    def test_a_client_calls_the_public_methods_of_a_server_and_no_others(self):
        here, there = wires()
        server = wsgi.WebSocketRPCServer(there, Adder())
        client = wsgi.WebSocketRPCClient(here)
        threads = [hub.spawn(server.serve_forever), hub.spawn(client.serve_forever)]
        proxy = client.get_proxy()
        self.assertEqual(proxy.add(2, 3), 5)
        with self.assertRaises(RPCError):
            proxy.hidden()
        here.arrived.put(None)
        there.arrived.put(None)
        hub.joinall(threads)

    def test_a_broadcast_passes_over_a_connection_that_is_gone(self):
        class Gone:
            def send(self, message):
                raise BrokenPipeError

        here, there = wires()
        sockets = wsgi.WebSocketManager()
        sockets.add_connection(Gone())
        sockets.add_connection(here)
        sockets.broadcast("hello")
        self.assertEqual(there.wait(), "hello")

    def test_a_marked_method_holds_the_connection(self):
        class Chat(ControllerBase):
            @websocket("chat", "/chat")
            def chat(self, ws):
                """Said."""

        self.assertEqual(Chat.chat.routing_info["path"], "/chat")
        self.assertEqual(Chat.chat.__doc__, "Said.")
        answer = ask(WSGIApplication(), "/chat")
        self.assertEqual(answer.status_int, 404)
