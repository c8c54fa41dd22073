"""Follows the events of a controller, as they happen."""

import json
from collections.abc import Iterator

import httpx

from .client import AuthenticatedClient, Client
from .errors import UnexpectedStatus
from .models.event import Event

# Seconds without a word after which the connection is given up: the controller says something every 15 seconds.
SILENCE_S = 40


def follow(client: AuthenticatedClient | Client, after: str | None = None) -> Iterator[Event]:
    """The events from now on, or those behind `after`: the id of an event, or `oldest`.

    It ends where the controller does; `after` with the id of the last event goes on behind it.

    Raises:
        UnexpectedStatus: The controller refuses it.
        httpx.TransportError: It cannot be reached, or is silent.
    """
    params = {"after": after} if after is not None else None
    timeout = httpx.Timeout(10, read=SILENCE_S)
    with client.get_httpx_client().stream("GET", "/api/v1/events", params=params, timeout=timeout) as answer:
        if answer.status_code != 200:
            raise UnexpectedStatus(answer.status_code, answer.read())
        data: list[str] = []
        for line in answer.iter_lines():
            field, _, value = line.partition(":")
            if field == "data":
                data.append(value.removeprefix(" "))
            elif not line and data:
                yield Event.from_dict(json.loads("\n".join(data)))
                data = []
