"""Why an application cannot be loaded, as one sentence with its file and line."""

import linecache
import pathlib
import traceback

_HERE = str(pathlib.Path(__file__).resolve().parent)
_OTHERS = ("os_ken", "eventlet", "importlib", "oslo_config")


def explain(error, application):
    """The sentence for `error`, which came up while `application` was loaded or made.

    `application` is as it stood on the command line: the path of a file, or a module's name.
    """
    syntax = _syntax_error(error)
    if syntax is not None:
        line = (syntax.text or "").strip()
        return f"{_place(syntax.filename, syntax.lineno)}: {syntax.msg}: {line}"
    place = _last_place(error)
    if isinstance(error, ModuleNotFoundError):
        if place is None or error.name == application:
            return f"{application}: there is neither a file nor a module of that name"
        return f"{place}: the module {error.name} is not installed"
    if _raised_in(error, "set_app_supported_versions"):
        return f"{application}: it has no version of OpenFlow in common with the applications before"
    said = "".join(traceback.format_exception_only(error)).strip().splitlines()[-1]
    return f"{place or application}: {said}"


def _syntax_error(error):
    """The syntax error in a chain of exceptions: os-ken hides it behind a failed import."""
    while error is not None:
        if isinstance(error, SyntaxError):
            return error
        error = error.__cause__ or error.__context__
    return None


def _last_place(error):
    """The file and line that raised `error`; of the packages underneath, the line that called."""
    frames = traceback.extract_tb(error.__traceback__)
    for frame in reversed(frames):
        if frame.filename.startswith(("<", _HERE)) or frame.lineno is None:
            continue
        parts = pathlib.PurePath(frame.filename).parts
        if not any(other in parts for other in _OTHERS) and linecache.getlines(frame.filename):
            return _place(frame.filename, frame.lineno)
    return None


def _raised_in(error, function):
    frames = traceback.extract_tb(error.__traceback__)
    return bool(frames) and frames[-1].name == function


def _place(filename, line):
    return f"{filename}, line {line}"
