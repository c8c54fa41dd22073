"""Requests over HTTP to an application, and its answers.

    def http(self, request):
        if request.path == "/report":
            return {"doors": self.doors}
"""

import json
from urllib.parse import parse_qs


class Request:
    """A request below `/apps/NAME`."""

    def __init__(self, method, path, query="", content_type="", body=b""):
        # GET, POST, PUT or DELETE.
        self.method = method
        # The path behind the application's name, decoded, from its "/" on.
        self.path = path
        # What is behind the question mark, as it was sent.
        self.query = query
        # The type of the body; empty where there is none.
        self.content_type = content_type
        # The body, up to 64 KiB.
        self.body = body

    @property
    def args(self):
        """The values of the query by name, the first of each."""
        values = parse_qs(self.query, keep_blank_values=True)
        return {name: those[0] for name, those in values.items()}

    def json(self):
        """The body as JSON. A body that is none is a ValueError."""
        return json.loads(self.body)


class Response:
    """An answer. `body` is text, bytes, or what becomes JSON."""

    def __init__(self, body="", status=200, content_type=None):
        usual = "application/json"
        if isinstance(body, str):
            usual, body = "text/plain", body.encode()
        elif isinstance(body, (bytes, bytearray)):
            usual, body = "application/octet-stream", bytes(body)
        else:
            body = json.dumps(body).encode()
        self.status = status
        self.content_type = content_type or usual
        self.body = body
