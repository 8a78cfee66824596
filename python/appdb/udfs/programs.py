"""Functions that only this program has: those of a notebook, of a test, of the started file, inside another function.

Such a function has an id of its own. `client/programs.py` sends it with the request, under a name made from its content.
"""

import os
import sys
from itertools import count

from appdb.declare.declaring import Phase

PREFIX = "appdb_program_"
_numbers = count(1)
_places = None  # By plain function: its place, the same for all its calls.
_token = None  # Random, so that no constant of a request equals an id.


def function_id(target, is_plain=False):
    """The id of a function or class: module and name. `is_plain`: it has no mark that would keep the id."""
    if not is_own(target):
        return f"{target.__module__}:{target.__qualname__}"
    place = _place_of_plain(target) if is_plain else _new_place()
    return f"{place}:{target.__name__}"


def place_of_id(id):
    """The place in the id of a function of this program; None for a function of a module."""
    place = id.partition(":")[0]
    return place if place.startswith(PREFIX) else None


def without_token(data):
    """Bytes with ids of functions, which are the same in each run of the program. Workers give functions other ids."""
    return data if _token is None else data.replace(_token.encode(), b"0" * len(_token))


def is_own(target):
    """Whether no other process can import a function or class by module and name."""
    name = target.__module__
    if name == "__main__" or "<locals>" in target.__qualname__ or target.__name__ == "<lambda>":
        return True
    if Phase.reading:
        return False
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    if module is None or not isinstance(file, str) or not hasattr(target, "__code__"):
        return False
    return of_pytest(module) or not _is_importable(name, file)


def of_pytest(module):
    """Whether pytest loaded it as a module of tests. Without cloudpickle, workers import such modules."""
    if type(getattr(module, "__loader__", None)).__name__ != "AssertionRewritingHook":
        return False
    from importlib.util import find_spec

    is_installed = {"site-packages", "dist-packages"} & set(module.__file__.split(os.sep))
    return not is_installed and find_spec("cloudpickle") is not None


def _is_importable(name, file):
    """Whether the path of a module's file ends as its name says."""
    stem = os.path.splitext(file)[0].split(os.sep)
    if stem[-1] == "__init__":
        stem.pop()
    parts = name.split(".")
    return stem[-len(parts) :] == parts


def _place_of_plain(target):
    global _places
    if _places is None:
        from weakref import WeakKeyDictionary

        _places = WeakKeyDictionary()
    return _places.get(target) or _places.setdefault(target, _new_place())


def _new_place():
    global _token
    if _token is None:
        _token = os.urandom(16).hex()
    return f"{PREFIX}{_token}n{next(_numbers)}"
