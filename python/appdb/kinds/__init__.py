"""The kinds of column types, one module each: all that the library knows about the values of one.

A module is loaded when something is first asked of its kind, so that reading a file loads the few that it uses.
"""

from appdb import TYPE_NAMES

# By kind, how a person calls the type: String, Int.
DISPLAY = {name.lower(): name for name in TYPE_NAMES}
_loaded = {}
_named = {}


def rules(kind):
    """Returns what the library knows about the values of a kind (_base.py)."""
    found = _loaded.get(kind)
    if found is None:
        from appdb._imports import load

        found = _loaded[str(kind)] = load(f"appdb.kinds.{kind}").RULES
    return found


def casting(source, target):
    """Returns the function that converts a value of one kind to another (`astype`); it raises where it cannot."""
    return rules(source).casts[target]


def kind_named(name):
    """Returns the kind of a type by the name that a hint gives it: the library's (`Json`) or Python's (`str`)."""
    found = _named.get(name)
    if found is None:
        own = (kind for kind in DISPLAY if DISPLAY[kind] == name)
        python = (kind for kind in DISPLAY if any(name == known for _, known in rules(kind).hints))
        found = _named[name] = next(own, None) or next(python)
    return found
