"""The kinds of column types, one module each: everything that the library knows about the values of one.

A module is loaded on the first use of its kind, so that reading a file loads only the kinds that it uses.
"""

from appdb import TYPE_NAMES

# The name of the type for people, by kind: String, Int.
DISPLAY = {name.lower(): name for name in TYPE_NAMES}
_loaded = {}
_named = {}


def rules(kind):
    """Returns the Rules of a kind."""
    found = _loaded.get(kind)
    if found is None:
        from appdb._imports import load

        found = _loaded[str(kind)] = load(f"appdb.kinds.{kind}").RULES
    return found


def casting(source, target):
    """Returns the function that converts a value of one kind to another (`astype`); it raises on failure."""
    return rules(source).casts[target]


def kind_named(name):
    """Returns the kind for a type name in a hint: the library's (`Json`) or Python's (`str`)."""
    found = _named.get(name)
    if found is None:
        own = (kind for kind in DISPLAY if DISPLAY[kind] == name)
        python = (kind for kind in DISPLAY if any(name == known for _, known in rules(kind).hints))
        found = _named[name] = next(own, None) or next(python)
    return found
