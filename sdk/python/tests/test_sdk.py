"""The SDK without a component: `python3 -m unittest discover -s sdk/python/tests`."""

import pathlib
import sys
import unittest
from struct import Struct

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent.parent / name) for name in ("", "examples", "template")]

import app  # noqa: E402
import fast_learning_switch  # noqa: E402
import learning_switch  # noqa: E402
from aldis import kv, network  # noqa: E402
from aldis._batch import Dispatcher  # noqa: E402
from aldis._http import answer  # noqa: E402
from aldis.base.app_manager import App  # noqa: E402
from aldis.http import Response  # noqa: E402
from aldis.lib.packet import arp, ethernet, packet, tcp, vlan  # noqa: E402
from aldis.ofproto import ofproto_v1_3_parser as parser  # noqa: E402

EVENT = Struct("<HBBIQIIIIII")
COMMAND = Struct("<HHIIIQ")
NO_INDEX = 0xFFFFFFFF
ONE, TWO = "02:00:00:00:00:01", "02:00:00:00:00:02"


def mac(text):
    return bytes.fromhex(text.replace(":", ""))


def frame(dst, src, rest=b"\x08\x00" + bytes(46)):
    return mac(dst) + mac(src) + rest


def event(kind, body=b"", index=0, dpid=7, in_port=0):
    head = EVENT.pack(kind, 4, 0, len(body), dpid, in_port, NO_INDEX, 9, 0, index, len(body))
    return head + body + bytes(-len(body) % 8)


def batch(*events):
    return b"ALB1" + Struct("<IQ").pack(len(events), 0) + b"".join(events)


def commands(data):
    read, at = [], 0
    while at < len(data):
        kind, flags, length, request, value, dpid = COMMAND.unpack_from(data, at)
        read.append((kind, request, value, data[at + 24 : at + 24 + length]))
        at += 24 + (length + 7 & -8)
    return read


class LearningSwitchTest(unittest.TestCase):
    def test_it_floods_then_installs_then_forgets_nothing(self):
        dispatcher = Dispatcher(learning_switch.LearningSwitch())
        up = Struct("<III4x").pack(0, 1, 0)
        ((kind, request, _, miss),) = commands(dispatcher.batch(batch(event(4, up))))
        self.assertEqual((kind, request, len(miss)), (4, 0, 80))
        first = event(1, frame(TWO, ONE), index=0, in_port=1)
        second = event(1, frame(ONE, TWO), index=1, in_port=2)
        flood, stop, flow, send, stop_too = commands(dispatcher.batch(batch(first, second)))
        self.assertEqual(flood, (2, 0, 0xFFFFFFFB, b""))
        self.assertEqual((stop[:2], stop_too[:2]), ((1, 0), (1, 1)))
        self.assertEqual(send, (2, 1, 1, b""))
        match = parser.OFPMatch(in_port=2, eth_dst=ONE, eth_src=TWO)
        apply = parser.OFPInstructionActions(4, [parser.OFPActionOutput(1)])
        flow_mod = parser.OFPFlowMod(None, priority=1, match=match, instructions=[apply])
        self.assertEqual(flow, (4, 1, 0, flow_mod.serialize()))


    def test_the_short_way_does_the_same(self):
        dispatcher = Dispatcher(fast_learning_switch.FastLearningSwitch())
        first = event(1, frame(TWO, ONE), index=0, in_port=1)
        second = event(1, frame(ONE, TWO), index=1, in_port=2)
        flood, stop, flow, stop_too = commands(dispatcher.batch(batch(first, second)))
        self.assertEqual(flood, (2, 0, 0xFFFFFFFB, b""))
        self.assertEqual((stop[:2], stop_too[:2]), ((1, 0), (1, 1)))
        self.assertEqual(flow[:3], (3, 1, 1))
        self.assertEqual(Struct("<HHH2xI4x").unpack(flow[3]), (10, 0, 0x8000, 0))


    def test_the_template_floods(self):
        answers = commands(Dispatcher(app.NewApp()).batch(batch(event(1, frame(TWO, ONE)))))
        self.assertEqual([answer[:3] for answer in answers], [(2, 0, 0xFFFFFFFB), (1, 0, 0)])


class ParserTest(unittest.TestCase):
    def test_fields_come_in_the_order_of_their_numbers(self):
        match = parser.OFPMatch(ipv4_dst="10.0.0.1", eth_type=0x0800, in_port=1)
        port, kind, dst = "8000000400000001", "80000a020800", "800018040a000001"
        self.assertEqual(match.serialize().hex(), f"0001001a{port}{kind}{dst}" + "000000000000")

    def test_arguments_are_taken_as_python_takes_them(self):
        output = parser.OFPActionOutput(7, max_len=8, len_=16)
        self.assertEqual((output.port, output.max_len), (7, 8))
        self.assertEqual(parser.OFPInstructionActions(4, [output]).type, 4)
        wrong = [((), {}), ((1,), {"port": 1}), ((1, 2, 0, 16, 5), {}), ((), {"prt": 1})]
        for args, named in wrong:
            with self.assertRaises(TypeError):
                parser.OFPActionOutput(*args, **named)

    def test_fields_with_masks_and_unknown_fields(self):
        match = parser.OFPMatch(ipv4_dst=("10.0.0.0", "255.0.0.0"))
        self.assertEqual(match.serialize().hex(), "00010010800019080a000000ff000000")
        with self.assertRaises(TypeError):
            parser.OFPMatch(ipv4_dest="10.0.0.0").serialize()
        with self.assertRaises(TypeError):
            parser.OFPFlowMod(None, prio=1)


class PacketTest(unittest.TestCase):
    def test_headers_are_read_as_far_as_they_are_there(self):
        tag = bytes.fromhex("810000070806")
        body = bytes.fromhex("0001080006040001") + mac(ONE) + bytes([10, 0, 0, 1])
        body += bytes(6) + bytes([10, 0, 0, 2])
        whole = frame(TWO, ONE, tag + body)
        asked = packet.Packet(whole)
        self.assertEqual(asked.get_protocol(vlan.vlan).vid, 7)
        message = asked.get_protocol(arp.arp)
        self.assertEqual((message.src_mac, message.src_ip), (ONE, "10.0.0.1"))
        self.assertIsNone(asked.get_protocol(tcp.tcp))
        for length in range(len(whole)):
            list(packet.Packet(whole[:length]))


class HttpTest(unittest.TestCase):
    class Doors(App):
        def http(self, request):
            if request.path == "/args":
                return request.args
            if request.path == "/body":
                return request.json()["a"]
            if request.path == "/bytes":
                return request.body
            if request.path == "/made":
                return Response("a,b", 201, "text/csv")

    def ask(self, path, query="", body=b"", method="GET"):
        return answer(self.Doors(), method, path, query, "text/plain", body)

    def test_what_a_handler_returns_is_an_answer(self):
        cases = [
            (self.ask("/args", "last=10&last=11&all&name=a%20b"), 200, "application/json", b'{"last": "10", "all": "", "name": "a b"}'),
            (self.ask("/body", body=b'{"a": "b"}', method="POST"), 200, "text/plain", b"b"),
            (self.ask("/bytes", body=b"\0"), 200, "application/octet-stream", b"\0"),
            (self.ask("/made"), 201, "text/csv", b"a,b"),
        ]
        for said, *expected in cases:
            self.assertEqual(said, tuple(expected))
        self.assertEqual(self.ask("/other")[:2], (404, "text/plain"))
        self.assertEqual(answer(App(), "GET", "/", "", "", b"")[0], 404)
        with self.assertRaises(ValueError):
            self.ask("/body", body=b"no json")


class PacketTest(unittest.TestCase):
    def test_a_packet_of_headers_is_read_as_it_was_written(self):
        made = packet.Packet()
        made.add_protocol(ethernet.ethernet(TWO, ONE, 0x0806))
        made.add_protocol(arp.arp(arp.ARP_REPLY, ONE, "10.0.0.1", TWO, "10.0.0.2"))
        made.serialize()
        self.assertEqual(len(made.data), 14 + 28)
        read = packet.Packet(made.data)
        header, message = read.get_protocol(ethernet.ethernet), read.get_protocol(arp.arp)
        self.assertEqual((header.dst, header.src, header.ethertype), (TWO, ONE, 0x0806))
        self.assertEqual((message.opcode, message.src_mac, message.src_ip), (2, ONE, "10.0.0.1"))
        self.assertEqual((message.dst_mac, message.dst_ip), (TWO, "10.0.0.2"))


class HostTest(unittest.TestCase):
    def test_values_are_bytes_and_go_where_they_are_bound(self):
        kv.set("a", "é")
        kv.set("b", bytearray(b"1"))
        self.assertEqual((kv.get("a"), kv.get("b"), kv.get("c")), ("é".encode(), b"1", None))
        kv.remove("a")
        kv.remove("a")
        self.assertIsNone(kv.get("a"))

    def test_a_snapshot_is_read_or_says_why_there_is_none(self):
        with self.assertRaises(OSError):
            network.snapshot("hosts")
        before = network._call[0]
        network.bind(lambda name: b'{"items": [{"name": "%s"}], "total": 1}' % name.encode())
        self.assertEqual(network.snapshot("hosts")["items"], [{"name": "hosts"}])
        network.bind(before)


if __name__ == "__main__":
    unittest.main()
