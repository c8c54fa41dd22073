"""Hands a request over HTTP to an application."""

from aldis.http import Request, Response


def answer(app, method, path, query, content_type, body):
    """What the application answers, as the controller takes it: status, type and body."""
    said = app.http(Request(method, path, query, content_type, body))
    if said is None:
        said = Response("there is nothing at this path\n", 404)
    elif not isinstance(said, Response):
        said = Response(said)
    return said.status, said.content_type, said.body
