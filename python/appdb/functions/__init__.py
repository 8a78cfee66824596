"""The library's functions: `from appdb.functions import upper`, or `import appdb.functions as fn` and `fn.json.len`.

Each namespace is a module. Functions of text, those that make UUIDs and `now` are also available without their
namespace, except where the top level has a function of the same name (`count`).
"""

_NAMESPACES = (
    *("string", "json", "math", "timestamp", "date", "uuid", "array"),
    *("image", "audio", "video", "document", "vision", "net"),
)
_AT_TOP = ("string", "uuid")  # Namespaces whose functions are available without it, unless _TOP has the same name.
_TOP = {
    **dict.fromkeys(("sum", "count", "min", "max", "mean", "make_list"), "_aggregates"),
    **dict.fromkeys(("map", "filter", "sort"), "lists"),
    "cast": "_convert",
    "now": "timestamp",
}


def _all():
    """What `from appdb.functions import *` gives: functions, without those that would replace Python's own."""
    import builtins

    return [name for name in __dir__() if name not in _NAMESPACES and not hasattr(builtins, name)]


def __dir__():
    from appdb._imports import load

    named = [name for home in ("string", "uuid") for name in load(f"appdb.functions.{home}").FUNCTIONS]
    return sorted({*named, *_TOP, *_NAMESPACES})


def __getattr__(name):
    from appdb._imports import load

    if name == "__all__":
        return _all()
    if name in _NAMESPACES:
        return load(f"appdb.functions.{name}")
    if name.startswith("_"):
        raise AttributeError(name)  # A library module that is about to be imported, or a builtin name.
    if name in _TOP:
        return getattr(load(f"appdb.functions.{_TOP[name]}"), name)
    for home in _AT_TOP:
        functions = load(f"appdb.functions.{home}").FUNCTIONS
        if name in functions:
            return functions[name]
    from appdb._later import later_function
    from appdb.declare.errors import UnknownAttribute, did_you_mean

    coming = later_function(name)
    if coming is not None:
        raise coming
    found = {home: load(f"appdb.functions.{home}").FUNCTIONS for home in _NAMESPACES}
    iterators = {home: load(f"appdb.functions.{home}").function.__self__.iterators for home in _NAMESPACES}
    homes = [home for home in _NAMESPACES if name in found[home] or name in iterators[home]]
    known = [*found["string"], *found["uuid"], *_TOP, *_NAMESPACES]
    otherwise = did_you_mean(name, known, "See the list of functions in the docs.")
    hint = f"Write {' or '.join(f'fn.{home}.{name}' for home in homes)}" if homes else otherwise
    raise UnknownAttribute(f"appdb.functions has no '{name}'.", hint)
