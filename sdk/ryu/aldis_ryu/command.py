"""The command `aldis-ryu`: loads Ryu's applications as `ryu-manager` does, and serves them."""

import ctypes
import errno
import logging
import os
import signal
import socket
import sys

HELP = """\
usage: aldis-ryu [OPTION…] APP…

Runs applications of the OpenFlow controller Ryu unchanged. APP is a file of Python, or the name of
a module such as ryu.app.simple_switch_13.

  --listen HOST:PORT    where switches connect (127.0.0.1:6654)
  --wsapi HOST:PORT     where applications serve HTTP, if they do (127.0.0.1:8080)
  --observe-links       find links with LLDP, for applications of ryu.topology
  --verbose             log everything, and tracebacks
  --config-file FILE    settings of applications, in the format of oslo.config
  --user-flags FILE     a file of Python that registers options of applications
  --help-options        every option; those of ryu-manager are understood
  --version             the versions of this package and of os-ken

Example: a learning switch, and a network to try it with.

  aldis-ryu ryu.app.simple_switch_13 &
  aldis emulate 127.0.0.1:6654 --topology linear,3 --pingall

The log goes to standard error, a line an event. The exit code is 1 when an application cannot be
loaded or an address is taken, and 2 when an option is wrong. SIGTERM and SIGINT end it at once.
"""

DEFAULT_LISTEN = ("127.0.0.1", 6654)
# How long applications have to close when a signal came. Ryu's may be busy for ever.
CLOSE_SECONDS = 1.0
USAGE_CODE = 2
# Of prctl(2).
PR_SET_PDEATHSIG = 1

LOG = logging.getLogger("aldis-ryu")


class _Stop(Exception):
    """What ends the command before it serves: a sentence and an exit code."""

    def __init__(self, sentence, code=1):
        super().__init__(sentence)
        self.code = code


def main(args=None, prog=None):
    """Loads the applications that `args` name and serves them until a signal comes.

    Without `args` they come from the command line. Returns the exit code.
    """
    args = sys.argv[1:] if args is None else list(args)
    if {"-h", "--help"} & set(args):
        print(HELP, end="")
        return 0
    try:
        return _run(args, prog or "aldis-ryu")
    except _Stop as stop:
        print(f"aldis-ryu: {stop}", file=sys.stderr)
        return stop.code


def _run(args, prog):
    # Before anything that takes sockets or locks is imported.
    _patch()
    conf = _configure(args, prog)
    _log_to_stderr(conf)
    if conf.with_parent:
        _end_with_parent()
    return _serve(conf, _load(conf))


def _end_with_parent():
    """SIGTERM comes when the process that started this one is gone, however it ended."""
    before = os.getppid()
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != before:
        raise _Stop("the process that started it is gone")


def _patch():
    try:
        import ryu  # noqa: F401 (installs the names)
        from ryu.lib import hub
    except ModuleNotFoundError as error:
        raise _Stop(f"the package {error.name} is missing; it comes with aldis-ryu") from None
    # To eventlet the first means everything but threads, and the second threads alone.
    hub.patch(thread=False)
    hub.patch(thread=True)


def _configure(args, prog):
    """The options of the command, of os-ken and of the applications, as they were set."""
    import os_ken

    from aldis_ryu import __version__
    from ryu import cfg

    # These register options. The first is imported before what it imports in a circle.
    import ryu.base.app_manager  # noqa: F401
    import ryu.log  # noqa: F401
    import ryu.flags  # noqa: F401
    import ryu.app.wsgi  # noqa: F401
    import ryu.controller.controller  # noqa: F401
    import ryu.topology.switches  # noqa: F401

    conf = cfg.CONF
    conf.register_cli_opts(
        [
            cfg.StrOpt("listen", help="HOST:PORT where switches connect"),
            cfg.StrOpt("wsapi", help="HOST:PORT where applications serve HTTP"),
            cfg.ListOpt("app-lists", default=[], help="applications, separated by commas"),
            cfg.MultiStrOpt("app", positional=True, default=[], help="an application to load"),
            cfg.BoolOpt("with-parent", default=False, help="end with the process that started it"),
            cfg.StrOpt("pid-file", help="a file to write the process's number to"),
            cfg.StrOpt("user-flags", help="a file of Python that registers options"),
            cfg.BoolOpt("enable-debugger", default=False, help="taken for Ryu's sake; no effect"),
        ]
    )
    _load_user_flags(args)
    usage = None if "--help-options" in args else "aldis-ryu [OPTION…] APP…; see --help"
    asked = ["--help" if arg == "--help-options" else arg for arg in args]
    version = f"aldis-ryu {__version__}, os-ken {os_ken.__version__}"
    files = [name for name in ["/usr/local/etc/ryu/ryu.conf"] if os.path.exists(name)]
    try:
        conf(asked, "ryu", prog, version, usage, default_config_files=files)
    except cfg.ConfigFilesNotFoundError as error:
        raise _Stop(str(error), USAGE_CODE) from None
    _set_addresses(conf)
    return conf


def _load_user_flags(args):
    from aldis_ryu.loading import explain
    from ryu import utils

    names = [arg.partition("=")[2] for arg in args if arg.startswith("--user-flags=")]
    names += [after for arg, after in zip(args, args[1:]) if arg == "--user-flags"]
    for name in names:
        if not os.path.isfile(name):
            raise _Stop(f"--user-flags {name}: there is no such file", USAGE_CODE)
        try:
            utils.import_module(os.path.abspath(name))
        except Exception as error:
            raise _Stop(explain(error, name)) from None


def _set_addresses(conf):
    """Loopback and port 6654, unless `--listen` or an option of `ryu-manager` says otherwise."""
    if conf.listen:
        host, port = _address("--listen", conf.listen)
        conf.set_override("ofp_listen_host", host)
        conf.set_override("ofp_tcp_listen_port", port)
        conf.set_override("ofp_ssl_listen_port", port)
    else:
        conf.set_default("ofp_listen_host", DEFAULT_LISTEN[0])
        conf.set_default("ofp_tcp_listen_port", DEFAULT_LISTEN[1])
        conf.set_default("ofp_ssl_listen_port", DEFAULT_LISTEN[1])
    if conf.wsapi:
        host, port = _address("--wsapi", conf.wsapi)
        conf.set_override("wsapi_host", host)
        conf.set_override("wsapi_port", port)


def _address(option, text):
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise _Stop(f"{option} {text}: this is not HOST:PORT, for example 127.0.0.1:6654", USAGE_CODE)
    return host, int(port)


def _log_to_stderr(conf):
    from ryu import log

    log.init_log()
    form = logging.Formatter("%(asctime)s %(levelname)-5s %(name)s: %(message)s")
    for handler in logging.getLogger().handlers:
        handler.setFormatter(form)
    if conf.pid_file:
        with open(conf.pid_file, "w") as file:
            file.write(str(os.getpid()))


def _load(conf):
    """The manager of applications, with the classes of all of them loaded."""
    from aldis_ryu import names
    from ryu.base.app_manager import AppManager

    manager = AppManager.get_instance()
    loading = []

    def load_app(name):
        loading.append(name)
        made = AppManager.load_app(manager, name)
        if made is None:
            LOG.warning("%s: there is no class derived from RyuApp in it", name)
        return made

    manager.load_app = load_app
    asked = [name for entry in conf.app_lists + conf.app for name in entry.split(",") if name]
    for name in asked:
        if name.endswith(".py") and not os.path.isfile(name):
            raise _Stop(f"{name}: there is no such file")
        names.add_checkout(name)
    try:
        manager.load_apps([*asked, "aldis_ryu.watch"])
    except Exception as error:
        raise _failed(conf, error, loading[-1]) from None
    return manager


def _failed(conf, error, application):
    from aldis_ryu.loading import explain

    if conf.verbose:
        LOG.error("the exception in full", exc_info=error)
    return _Stop(explain(error, application))


def _start(conf, manager):
    """Makes and starts the applications. Returns the threads that serve."""
    from ryu.app import wsgi
    from ryu.lib import hub

    _check_free("--listen", conf.ofp_listen_host, conf.ofp_tcp_listen_port)
    try:
        services = manager.instantiate_apps(**manager.create_contexts())
    except Exception as error:
        raise _failed(conf, error, "an application") from None
    try:
        web = wsgi.start_service(manager)
    except OSError as error:
        raise _cannot_listen(error, "--wsapi", conf.wsapi_host, conf.wsapi_port) from None
    LOG.info("switches connect to %s:%s", conf.ofp_listen_host, conf.ofp_tcp_listen_port)
    if web is not None:
        LOG.info("HTTP is served on http://%s:%s", conf.wsapi_host, conf.wsapi_port)
        services.append(hub.spawn(web))
    return services


def _check_free(option, host, port):
    """os-ken listens in a thread of its own, whose failure has no sentence."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
            probe.listen(1)
        except OSError as error:
            raise _cannot_listen(error, option, host, port) from None


def _cannot_listen(error, option, host, port):
    if error.errno == errno.EADDRINUSE:
        why = f"it is taken, perhaps by another controller; choose another with {option}"
    else:
        why = error.strerror or str(error)
    return _Stop(f"cannot listen on {host}:{port}: {why}")


def _serve(conf, manager):
    """Serves until a signal comes, or until all that serves has ended by itself."""
    from ryu.lib import hub

    ended = hub.Queue()
    # The second is written to by the interpreter, as long as it is there.
    signals, _written = _watch_signals()

    def wait_for_services(services):
        hub.joinall(services)
        ended.put("nothing serves any more; the log says why")

    def wait_for_signal():
        signals.recv(1)
        ended.put(None)

    hub.spawn(wait_for_services, _start(conf, manager))
    hub.spawn(wait_for_signal)
    failure = ended.get()
    LOG.info("ending")
    # Applications that are busy are not waited for.
    signal.signal(signal.SIGALRM, lambda *_: os._exit(0 if failure is None else 1))
    signal.setitimer(signal.ITIMER_REAL, CLOSE_SECONDS)
    manager.close()
    signal.setitimer(signal.ITIMER_REAL, 0)
    if failure is not None:
        raise _Stop(failure)
    return 0


def _watch_signals():
    """Two ends of a socket: the first can be read once SIGTERM or SIGINT has come.

    The handler itself wakes nothing: it interrupts whatever runs. If that is an application that
    never gives way, the process ends when the alarm rings.
    """
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    signal.set_wakeup_fd(theirs.fileno())

    def arm(number, _frame):
        signal.signal(signal.SIGALRM, lambda *_: os._exit(128 + number))
        signal.setitimer(signal.ITIMER_REAL, 2 * CLOSE_SECONDS)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, arm)
    return ours, theirs
