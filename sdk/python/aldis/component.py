"""The component's side of the contract: makes the class that the bindings look for."""

import logging

from componentize_py_types import Err
from wit_world.imports import host
from wit_world.imports import kv as host_kv
from wit_world.imports import network as host_network

from aldis import _native, kv, network
from aldis._batch import Dispatcher
from aldis._http import answer
from aldis.base.app_manager import App


class _Log(logging.Handler):
    """The log of the controller."""

    def emit(self, record):
        level = host.Level.WARNING if record.levelno >= logging.WARNING else host.Level.INFO
        host.log(level, self.format(record))


def bind():
    """Binds what the modules `aldis.kv` and `aldis.network` call to the controller."""
    kv.bind(host_kv.get, _store, host_kv.remove)
    network.bind(raising(host_network.snapshot))


def _store(key, value):
    refusal = _native.store(key, value)
    if refusal is not None:
        raise OSError(refusal)


def raising(call):
    """The call, which raises what the controller refuses as an error with its sentence."""

    def called(*args):
        try:
            return call(*args)
        except Err as error:
            raise OSError(str(error.value)) from None

    return called


def application(module):
    """The one application of a module."""
    classes = [
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, App)
        and value.__module__ == module.__name__
    ]
    if len(classes) != 1:
        raise TypeError(f"{module.__name__} has {len(classes)} classes of applications, not one")
    return classes[0]


def world(module):
    """The class that the component exports."""
    app_class = application(module)

    class WitWorld:
        """An application, for the controller."""

        dispatcher = None

        def start(self, config):
            bind()
            logging.basicConfig(level=logging.INFO, format="%(message)s", handlers=[_Log()])
            try:
                WitWorld.dispatcher = Dispatcher(app_class(config=config))
            except Exception as error:
                raise Err(f"{type(error).__name__}: {error}") from error

        def batch(self, events):
            _native.append(WitWorld.dispatcher.batch(events))

        def tick(self, now):
            _native.append(WitWorld.dispatcher.tick(now))

        def http(self, method, path, query, content_type, body):
            app = WitWorld.dispatcher.app
            status, content_type, body = answer(app, method, path, query, content_type, body)
            _native.append(body)
            return status, content_type

        def stop(self):
            WitWorld.dispatcher.app.stop()

    return WitWorld
