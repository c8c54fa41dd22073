"""Records: classes whose objects are a row of fields, as messages and headers are.

    @record(port=REQUIRED, max_len=ofp.OFPCML_MAX, ignored=("type_", "len_"))
    class OFPActionOutput:
        ...

is made with `OFPActionOutput(1)` or `OFPActionOutput(port=1, max_len=128)`. In a component the
class is one of `_native`, so that a call takes little more than its arguments.
"""

try:
    from aldis._native import dict_type, record_type
except ImportError:
    dict_type = record_type = None

REQUIRED = ...


def record(*, ignored=(), numbers=(), **fields):
    """Makes a class a record.

    A field that Python knows by a name of its own ends in `_`, and is an attribute without it.
    Arguments that are `ignored` are accepted and not kept. `numbers` are set by the SDK.
    """
    attributes = [name.rstrip("_") for name in fields]

    def decorate(cls):
        if record_type is None:
            cls.__init__ = _init(fields, attributes, ignored)
            return cls
        made = record_type(
            f"{cls.__module__}.{cls.__name__}",
            (tuple(fields), tuple(attributes), tuple(fields.values())),
            tuple(ignored),
            tuple(numbers),
        )
        return _with_methods(made, cls)

    return decorate


def fields_by_name(cls):
    """Makes a subclass of `dict` one that is made from fields by name alone."""
    if dict_type is None:
        return cls
    return _with_methods(dict_type(f"{cls.__module__}.{cls.__name__}"), cls)


def _with_methods(made, cls):
    for name, value in vars(cls).items():
        if name not in ("__dict__", "__weakref__", "__slots__"):
            setattr(made, name, value)
    return made


def _init(fields, attributes, ignored):
    names = (*fields, *ignored)

    def __init__(self, *values, **named):
        if len(values) > len(names):
            raise TypeError(f"{len(values)} values where there are {len(names)}")
        given = dict(zip(names, values))
        for name, value in named.items():
            if name not in names:
                raise TypeError(f"there is no {name}")
            if name in given:
                raise TypeError(f"{name} has more than one value")
            given[name] = value
        for name, attribute in zip(fields, attributes):
            value = given.get(name, fields[name])
            if value is REQUIRED:
                raise TypeError(f"{name} is missing")
            setattr(self, attribute, value)

    return __init__
