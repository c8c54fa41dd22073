"""The base class of applications."""

import logging


class App:
    """An application. Its methods that `set_ev_cls` decorates are called with events."""

    OFP_VERSIONS = None

    def __init__(self, *args, **kwargs):
        self.name = type(self).__name__
        self.logger = logging.getLogger(self.name)
        # The application's own settings, as TOML.
        self.config = kwargs.get("config", "")

    def tick(self, now):
        """The interval of the manifest (`tick-ms`) is over. `now` is in nanoseconds."""

    def http(self, request):
        """A request over HTTP below `/apps/NAME`, where the manifest asks for them
        (`grants.http`). The answer is text, bytes, or what becomes JSON; an `aldis.http.Response`
        where it has a status or a type of its own; None where there is nothing at the path.
        """

    def stop(self):
        """The application is stopped."""


# The name by which applications of Ryu know it.
RyuApp = App
