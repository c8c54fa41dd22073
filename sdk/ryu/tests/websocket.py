"""A client of one WebSocket (RFC 6455): short texts, whole in a frame each."""

import base64
import hashlib
import json
import os
import socket
import struct

MAGIC = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
TEXT = 1
LENGTH_MAX = 1 << 20


class WebSocket:
    """Connected when it has been made."""

    def __init__(self, host, port, path, seconds):
        self._socket = socket.create_connection((host, port), seconds)
        self._stream = self._socket.makefile("rb")
        key = base64.b64encode(os.urandom(16)).decode()
        lines = [
            f"GET {path} HTTP/1.1",
            f"Host: {host}:{port}",
            "Upgrade: websocket",
            "Connection: Upgrade",
            f"Sec-WebSocket-Key: {key}",
            "Sec-WebSocket-Version: 13",
        ]
        self._socket.sendall("\r\n".join([*lines, "", ""]).encode())
        status = self._stream.readline().decode()
        if " 101 " not in status:
            raise AssertionError(f"no WebSocket at {path}: {status}")
        headers = {}
        while (line := self._stream.readline().decode().strip()) != "":
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        wanted = base64.b64encode(hashlib.sha1((key + MAGIC).encode()).digest()).decode()
        if headers.get("sec-websocket-accept") != wanted:
            raise AssertionError(f"no handshake of a WebSocket: {headers}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._stream.close()
        self._socket.close()

    def send(self, message):
        """Sends JSON."""
        data = json.dumps(message).encode()
        head = bytes([0x80 | TEXT])
        head += bytes([0x80 | len(data)]) if len(data) < 126 else struct.pack("!BH", 0xFE, len(data))
        mask = os.urandom(4)
        body = bytes(byte ^ mask[index % 4] for index, byte in enumerate(data))
        self._socket.sendall(head + mask + body)

    def receive(self):
        """The JSON of the next text."""
        first, length = self._read(2)
        if length == 126:
            (length,) = struct.unpack("!H", self._read(2))
        elif length == 127:
            (length,) = struct.unpack("!Q", self._read(8))
        if first != 0x80 | TEXT or length > LENGTH_MAX:
            raise AssertionError(f"a frame that begins with {first:#x}, of {length} bytes")
        return json.loads(self._read(length))

    def call(self, method, *values):
        """Calls a method of JSON-RPC and returns its result."""
        self.send({"jsonrpc": "2.0", "id": 1, "method": method, "params": values})
        return self.receive()["result"]

    def _read(self, count):
        data = self._stream.read(count)
        if len(data) < count:
            raise AssertionError("the WebSocket was closed")
        return data
