"""The application's own key-value space, which survives its restarts and its next version.

The manifest says how much it holds (`kv-bytes`). Outside a component, in tests, it is a dictionary.
"""

_values = {}


def _set(key, value):
    _values[key] = value


_calls = [_values.get, _set, lambda key: _values.pop(key, None)]


def bind(get_value, set_value, remove_value):
    """Has these functions do what is asked from now on."""
    _calls[:] = get_value, set_value, remove_value


def get(key):
    """The value of a key, as bytes; None where there is none."""
    return _calls[0](key)


def set(key, value):  # noqa: A001
    """Sets the value of a key: bytes, or text. What does not fit is an OSError with the bound."""
    _calls[1](key, value.encode() if isinstance(value, str) else bytes(value))


def remove(key):
    """Removes a key, if it is there."""
    _calls[2](key)
