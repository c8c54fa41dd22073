"""A module finder: the names of Ryu for the modules of os-ken.

`import ryu.base.app_manager` gives the very object that `import os_ken.base.app_manager` gives.
Identity matters: events are found by their class, options are registered once, and applications
share what a module holds. What os-ken lacks is looked for in the folder `ryu/app` of a checkout of
Ryu, if an application was loaded from there, and then in the package `ryu` beside this one.

    >>> from aldis_ryu import names
    >>> names.install()
    >>> import ryu.lib.mac, os_ken.lib.mac
    >>> ryu.lib.mac is os_ken.lib.mac
    True
"""

import functools
import importlib
import importlib.machinery
import importlib.util
import os
import pathlib
import sys
import threading
import warnings

ALIAS = "ryu"
REAL = "os_ken"

# Ryu's applications are written for threads that give way only where they wait. os-ken's own
# threads, its default since 4.0, can be neither killed nor woken from a wait by a timeout.
os.environ["OSKEN_HUB_TYPE"] = "eventlet"

_OWN = pathlib.Path(__file__).resolve().parent.parent / ALIAS
_checkouts = []
# Never taken from a checkout: Ryu's own no longer runs.
_REPLACED = {"ryu.app.wsgi"}


def real_name(name):
    """The name in os-ken of a module of Ryu; the name itself where os-ken has no such module.

    >>> real_name("ryu.topology.switches")
    'os_ken.topology.switches'
    """
    if not name.startswith(ALIAS + "."):
        return name
    real = REAL + name[len(ALIAS) :]
    try:
        found = importlib.util.find_spec(real)
    except ModuleNotFoundError as error:
        if error.name == REAL:
            raise
        found = None
    if found is None or found.name == name or isinstance(found.loader, _SameModule):
        return name
    return real


def add_checkout(application):
    """Has `ryu.app.X` found beside an application that lies in a folder `ryu/app`.

    `application` is the path of a file. One that lies elsewhere changes nothing.
    """
    parents = pathlib.Path(application).resolve().parents
    for folder in parents:
        if folder.name == "app" and folder.parent.name == ALIAS and folder != _OWN / "app":
            if folder.parent not in _checkouts:
                _checkouts.append(folder.parent)
            return


class _SameModule:
    """A loader that loads nothing: it imports the module by its other name."""

    def __init__(self, other):
        self._other = other
        self._spec = None

    def create_module(self, spec):
        module = importlib.import_module(self._other)
        self._spec = module.__spec__
        return module

    def exec_module(self, module):
        # The import system has written the alias's spec into the module that it was given.
        module.__spec__ = self._spec


class _Completed:
    """A loader that adds Ryu's names to a module of os-ken when it has been loaded."""

    def __init__(self, loader, complete):
        self._loader = loader
        self._complete = complete

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        self._loader.exec_module(module)
        self._complete(module)


class _Finder:
    """Stands first among the finders, so that Ryu's names never reach the others."""

    def find_spec(self, fullname, path=None, target=None):
        if fullname.startswith(REAL + "."):
            return self._real(fullname, path)
        if not fullname.startswith(ALIAS + "."):
            return None
        real = real_name(fullname)
        return self._own(fullname, path) if real == fullname else _same_as(fullname, real)

    def _real(self, fullname, path):
        """A module of os-ken. `from ryu.app import X` asks for os_ken.app.X, the package's name."""
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        if spec is None:
            alias = ALIAS + fullname[len(REAL) :]
            return _same_as(fullname, alias) if self._own(alias, None) else None
        if fullname in _COMPLETED:
            spec.loader = _Completed(spec.loader, _COMPLETED[fullname])
        return spec

    @staticmethod
    def _own(fullname, path):
        """A module of Ryu that os-ken has dropped."""
        rooms = fullname.split(".")[1:-1]
        checkouts = _checkouts if rooms[:1] == ["app"] and fullname not in _REPLACED else []
        folders = [str(root.joinpath(*rooms)) for root in [*checkouts, _OWN]]
        return importlib.machinery.PathFinder.find_spec(fullname, [*folders, *(path or [])])


def _same_as(fullname, other):
    return importlib.machinery.ModuleSpec(fullname, _SameModule(other), origin=other)


def _complete_exception(module):
    module.RyuException = module.OSKenException


def _complete_app_manager(module):
    module.RyuApp = module.OSKenApp
    module.require_app = _require_app
    load_apps = module.AppManager.load_apps

    @functools.wraps(load_apps)
    def load_apps_by_either_name(self, app_lists):
        names = [name for entry in app_lists for name in entry.split(",")]
        return load_apps(self, [real_name(name) for name in names])

    module.AppManager.load_apps = load_apps_by_either_name


def _complete_vsctl(module):
    """Gives the package ovs a function back that os-ken calls and that went with ovs 2.17.

    The function finds the row that a value refers to. Since then it needs the database for that,
    which is the one that the thread is at work with.
    """
    idl = module.ovs.db.idl
    if hasattr(idl, "_uuid_to_row"):
        return
    thread = threading.local()
    do_vsctl = module.VSCtl._do_vsctl

    @functools.wraps(do_vsctl)
    def do_vsctl_at_database(self, database, commands):
        thread.database = database
        return do_vsctl(self, database, commands)

    def uuid_to_row(value, base):
        if base.ref_table is None:
            return value
        table = thread.database.tables.get(base.ref_table.name)
        return None if table is None else table.rows.get(value)

    module.VSCtl._do_vsctl = do_vsctl_at_database
    idl._uuid_to_row = uuid_to_row


def _require_app(app_name, api_style=False):
    """Has an application loaded along with the module that calls this.

    With `api_style` it is along with the module that imports the caller.
    """
    callers = _modules_of_callers()
    caller = callers[1] if api_style and len(callers) > 1 else callers[0]
    caller._REQUIRED_APP = [*getattr(caller, "_REQUIRED_APP", []), real_name(app_name)]


def _modules_of_callers():
    """The modules on the stack, nearest first, without those that only import others."""
    modules = []
    frame = sys._getframe(2)
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        module = sys.modules.get(name)
        machinery = name.partition(".")[0] in ("importlib", "_frozen_importlib", "aldis_ryu")
        if module is not None and not machinery and module not in modules[-1:]:
            modules.append(module)
        frame = frame.f_back
    return modules


_COMPLETED = {
    "os_ken.base.app_manager": _complete_app_manager,
    "os_ken.exception": _complete_exception,
    "os_ken.lib.ovs.vsctl": _complete_vsctl,
}


def install():
    """Puts the finder in its place. A second call does nothing."""
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    # Ryu's applications need eventlet; that it advises against itself helps no reader of a log.
    warnings.filterwarnings("ignore", message=r"\s*Eventlet is deprecated")
    sys.meta_path.insert(0, _Finder())
    for name, complete in _COMPLETED.items():
        if name in sys.modules:
            complete(sys.modules[name])
