#!/usr/bin/env python3
"""Connections that claim the datapath ids of living switches: how many of them get one?

    benches/takeover.py HOST:PORT [--attempts 1230] [--switches 16] [--at-once 8] [--spin 4] [--every 0.4]

The switches are emulated ones with the datapath ids from 1 on, and the controller is busy with others beside them:

    aldis emulate HOST:PORT --topology linear,16 --load 2000 --for 300
    aldis bench HOST:PORT -s 16 -M 1000 --outstanding 100 -l 300 -m 1000 -w 2 -o 100

An attempt is one connection of OpenFlow 1.0 that says HELLO and answers FEATURES_REQUEST with the id. It took the id over
if the controller goes on with the handshake; it was refused if the controller ends the connection. --spin starts so many
processes that take a core each, so that the machine is busy. It prints a line and exits with 1 if any attempt succeeded.
"""

import argparse
import collections
import socket
import struct
import subprocess
import sys
import threading
import time

HELLO, ERROR, ECHO_REQUEST, ECHO_REPLY, FEATURES_REQUEST, FEATURES_REPLY = 0, 1, 2, 3, 5, 6
# How long one attempt may stay undecided. The controller gives a handshake 30 s.
UNDECIDED_AFTER_S = 40


def message(kind, xid, body=b""):
    return struct.pack("!BBHI", 1, kind, 8 + len(body), xid) + body


def messages(connection):
    """The messages that come, as kind, transaction id and body, until the end."""
    heard = b""
    while True:
        try:
            some = connection.recv(65536)
        except ConnectionError:
            return
        if not some:
            return
        heard += some
        while len(heard) >= 8:
            _, kind, length, xid = struct.unpack("!BBHI", heard[:8])
            if len(heard) < length:
                break
            yield kind, xid, heard[8:length]
            heard = heard[length:]


def attempt(address, dpid):
    """What became of one attempt."""
    with socket.create_connection(address, timeout=UNDECIDED_AFTER_S) as connection:
        connection.sendall(message(HELLO, 1))
        claimed = False
        try:
            for kind, xid, body in messages(connection):
                if kind == FEATURES_REQUEST:
                    port = struct.pack("!H6s16s6I", 1, bytes([2, 0xBA, 0, 0, 0, 1]), b"p1", 0, 0, 0, 0, 0, 0)
                    connection.sendall(message(FEATURES_REPLY, xid, struct.pack("!QIB3xII", dpid, 0, 1, 0, 0) + port))
                    claimed = True
                elif kind == ECHO_REQUEST:
                    connection.sendall(message(ECHO_REPLY, xid, body))
                elif claimed and kind not in (HELLO, ERROR):
                    return "taken over"
        except TimeoutError:
            return "undecided"
        except ConnectionError:
            pass
        return "refused" if claimed else "not heard"


def main():
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("address")
    asked.add_argument("--attempts", type=int, default=1230)
    asked.add_argument("--switches", type=int, default=16)
    asked.add_argument("--at-once", type=int, default=8)
    asked.add_argument("--spin", type=int, default=4)
    asked.add_argument("--every", type=float, default=0.4, help="seconds between two attempts of one thread")
    asked = asked.parse_args()
    host, port = asked.address.rsplit(":", 1)
    left = iter(range(asked.attempts))
    lock, became, longest = threading.Lock(), collections.Counter(), [0.0]

    def attack():
        while True:
            with lock:
                nth = next(left, None)
            if nth is None:
                return
            begun = time.monotonic()
            end = attempt((host, int(port)), 1 + nth % asked.switches)
            with lock:
                became[end] += 1
                longest[0] = max(longest[0], time.monotonic() - begun)
            time.sleep(asked.every)

    spinning = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(asked.spin)]
    try:
        threads = [threading.Thread(target=attack) for _ in range(asked.at_once)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        for process in spinning:
            process.kill()
            process.wait()
    said = ", ".join(f"{count} {end}" for end, count in sorted(became.items()))
    print(f"{asked.attempts} attempts: {said}; the longest took {longest[0]:.2f} s")
    sys.exit(1 if became["taken over"] else 0)


if __name__ == "__main__":
    main()
