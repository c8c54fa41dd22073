#!/usr/bin/env python3
"""One switch of OpenFlow 1.0 that sends ARP requests, each of another host for another address, at a rate.

    benches/arp_storm.py HOST:PORT [--rate 400000] [--seconds 20] [--dpid 4096]

What honest switches get beside it is measured by `aldis bench` at the same time:

    aldis bench HOST:PORT -s 16 -M 1000 --switch-rate 500 -l 10

It prints how many requests it sent a second: fewer than --rate where the controller does not read as fast.
"""

import argparse
import socket
import struct
import threading
import time

HELLO, ERROR, ECHO_REQUEST, ECHO_REPLY, FEATURES_REQUEST, FEATURES_REPLY = 0, 1, 2, 3, 5, 6
GET_CONFIG_REQUEST, GET_CONFIG_REPLY, PACKET_IN, STATS_REQUEST, BARRIER_REQUEST, BARRIER_REPLY = 7, 8, 10, 16, 18, 19
NO_BUFFER = 0xFFFFFFFF
PORTS = 4
# Different requests, which are sent round and round: 60 bytes each.
REQUESTS = 200_000
# Requests of one write.
BLOCK = 1000


def message(kind, xid, body=b""):
    return struct.pack("!BBHI", 1, kind, 8 + len(body), xid) + body


def features(dpid):
    ports = b"".join(struct.pack("!H6s16s6I", port, bytes([2, 0xAF, 0, 0, 0, port]), b"p%d" % port, 0, 0, 0, 0, 0, 0)
                     for port in range(1, PORTS + 1))
    return struct.pack("!QIB3xII", dpid, 0, 1, 0, 0) + ports


def arp_request(number):
    """Who has 10.x.x.x? asks a host of its own, in a PACKET_IN."""
    mac, own = struct.pack("!HI", 0x02AF, number), struct.pack("!I", 0x0B000000 + number)
    asked = struct.pack("!I", 0x0A000000 + number)
    arp = struct.pack("!HHBBH", 1, 0x0800, 6, 4, 1) + mac + own + bytes(6) + asked
    frame = b"\xff" * 6 + mac + b"\x08\x06" + arp
    return message(PACKET_IN, number, struct.pack("!IHHBx", NO_BUFFER, len(frame), 1 + number % PORTS, 0) + frame)


class Switch:
    """Shakes hands, and then answers whatever it is asked, on a thread of its own."""

    def __init__(self, address, dpid):
        host, port = address.rsplit(":", 1)
        self.connection = socket.create_connection((host, int(port)))
        self.lock, self.dpid, self.ready = threading.Lock(), dpid, threading.Event()
        self.send(message(HELLO, 1))
        threading.Thread(target=self.listen, daemon=True).start()

    def send(self, some):
        with self.lock:
            self.connection.sendall(some)

    def listen(self):
        kept = b""
        while more := self.connection.recv(1 << 16):
            kept += more
            at = 0
            while len(kept) - at >= 8:
                _, kind, length, xid = struct.unpack_from("!BBHI", kept, at)
                if len(kept) - at < length:
                    break
                self.answer(kind, xid, kept[at + 8:at + length])
                at += length
            kept = kept[at:]

    def answer(self, kind, xid, body):
        replies = {
            ECHO_REQUEST: lambda: (ECHO_REPLY, body),
            FEATURES_REQUEST: lambda: (FEATURES_REPLY, features(self.dpid)),
            GET_CONFIG_REQUEST: lambda: (GET_CONFIG_REPLY, struct.pack("!HH", 0, 0xFFFF)),
            # OFPET_BAD_REQUEST, OFPBRC_BAD_STAT.
            STATS_REQUEST: lambda: (ERROR, struct.pack("!HH", 1, 2)),
            BARRIER_REQUEST: lambda: (BARRIER_REPLY, b""),
        }
        if kind in replies:
            reply, body = replies[kind]()
            self.send(message(reply, xid, body))
        if kind in (BARRIER_REQUEST, FEATURES_REQUEST):
            self.ready.set()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("address")
    parser.add_argument("--rate", type=int, default=400_000)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--dpid", type=int, default=4096)
    args = parser.parse_args()
    requests = [arp_request(number) for number in range(1, REQUESTS + 1)]
    blocks = [b"".join(requests[at:at + BLOCK]) for at in range(0, REQUESTS, BLOCK)]
    switch = Switch(args.address, args.dpid)
    switch.ready.wait(10)
    time.sleep(0.2)
    start, sent = time.monotonic(), 0
    while (passed := time.monotonic() - start) < args.seconds:
        if sent > passed * args.rate:
            time.sleep(0.001)
            continue
        switch.send(blocks[sent // BLOCK % len(blocks)])
        sent += BLOCK
    print(f"{sent / (time.monotonic() - start):,.0f} ARP requests a second for {args.seconds:g} s")


if __name__ == "__main__":
    main()
