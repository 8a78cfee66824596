"""Loads a function of a program, which the daemon has stored next to the module that asks for it."""

import pickle
import sys
from base64 import b64decode

from appdb.worker.failures import Missing, ProgramEnded

PREFIX = "appdb_program_"


class Absent:
    """A function of a program that cannot be called: its columns have no value, and the others do."""

    is_concurrent = from_json = False
    is_udf = True
    batch_size = timeout_s = parameters = None
    result = ("json", True)
    outputs = ()

    def __init__(self, id, error):
        self.id = id
        self.name = id.partition(":")[2]
        self._error = error

    def function(self, *args, **kwargs):
        raise self._error

    rows = named = function

    def is_skipped(self, args, kwargs):
        return False


def load(module):
    """Puts the function into a module's globals. A function that cannot be loaded fails its calls, not the worker."""
    try:
        name, owner = _opened(module["__file__"].removesuffix(".py") + ".content")
        _rename(owner, f"{module['__name__']}:{name}")
        module[name] = owner
    except Exception as error:
        module["__failure__"] = _failure(error)


def failure_of(module):
    """The error of a module of a program that could not be loaded, if any."""
    return vars(module).get("__failure__")


def ended():
    """The error of a function whose program has ended."""
    return ProgramEnded("it was defined in a notebook or program that has ended")


def _opened(path):
    with open(path, "rb") as file:
        header, _, pickled = b64decode(file.read()).partition(b"\n")
    theirs, own = header.decode("ascii").removeprefix("appdb "), "%d.%d" % sys.version_info[:2]
    if theirs != own:
        raise Missing(f"it was defined with Python {theirs}, and the functions of this table run with Python {own}")
    return pickle.loads(pickled)


def _rename(owner, id):
    if hasattr(owner, "owner") or hasattr(owner, "overloads"):
        owner.id = id
    for overload in getattr(owner, "overloads", ()):
        overload.id = f"{id}#{overload.number}" if overload.number else id


def _failure(error):
    if isinstance(error, Missing):
        return error
    if isinstance(error, ModuleNotFoundError):
        return Missing(
            f"it needs the module {error.name}, which the worker's Python does not find: "
            "add its package to the dependencies of the project, or its file to the project"
        )
    return Missing(f"it cannot be loaded: {type(error).__name__}: {error}")
