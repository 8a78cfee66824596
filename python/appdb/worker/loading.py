"""Finds functions of a graph in the application's modules."""

import sys

from appdb.worker import programs
from appdb.worker.failures import Missing


def loaded(function):
    """The Overload or Uda of a GraphFunction. Raises Missing when its module or its name no longer exists."""
    module = module_of(function["module"])
    failure = programs.failure_of(module)
    if failure is not None:
        raise failure
    name, _, number = function["id"].partition(":")[2].partition("#")
    found = getattr(module, name, None)
    if number == "answer":
        return _answered(function)
    if number == "apply":
        from appdb.expressions.apply import Applied

        if not callable(found):
            raise Missing(f"module {function['module']} has no function '{name}'")
        return Applied(found)
    overloads = getattr(found, "overloads", None) or [found]
    place = int(number or 0)
    if not hasattr(found, "owner") and not hasattr(found, "overloads"):
        raise Missing(f"module {function['module']} has no function '{name}' marked @udf or @uda")
    if place >= len(overloads):
        raise Missing(f"{function['module']}:{name} has {len(overloads)} signatures; number {place + 1} is missing")
    return overloads[place]


def callee(function):
    """What `loaded` returns, or what fails each call of a function of a program that is missing."""
    try:
        return loaded(function)
    except Missing as error:
        if not function["module"].startswith(programs.PREFIX):
            raise
        return programs.Absent(function["id"], error)


def described(modules):
    """The engine's required facts on the functions in the modules' globals."""
    from appdb.udfs.udf import Udf

    found = {}
    own = sys.modules.get("appdb.iterators.own")  # Loaded if the application has an iterator.
    for module in modules:
        for value in list(vars(sys.modules[module]).values()) if module in sys.modules else ():
            for overload in value.overloads if isinstance(value, Udf) else ():
                found[overload.id] = _shown(overload)
            if own is not None and isinstance(value, own.OwnIterator):
                found[value.id] = _shown(value)
    answerers = sys.modules.get("appdb.routes.answerers")
    for answerer in answerers.known.values() if answerers is not None else ():
        overload = answerers.Answered(answerer.function)
        found[overload.id] = _shown(overload)
    return list(found.values())


def _shown(overload):
    return {
        "id": overload.id,
        "is_concurrent": overload.is_concurrent,
        "batch_size": overload.batch_size,
        "timeout_s": overload.timeout_s,
        "resource_pool": overload.resource_pool,
    }


def _answered(function):
    """The function of a route, registered by the import of its module."""
    from appdb.routes.answerers import MARK, Answered, known

    answerer = known.get(function["id"].removesuffix(MARK))
    if answerer is None:
        raise Missing(f"module {function['module']} has no function '{function['name']}' that answers a route")
    return Answered(answerer.function)


def module_of(name):
    from appdb._imports import load

    try:
        return load(name)
    except ModuleNotFoundError as error:
        if not is_missing(name, error):
            raise
        if name.startswith(programs.PREFIX):
            raise programs.ended() from error
        raise Missing(f"the project has no module {name}") from error


def is_missing(module, error):
    """True when the module itself, or a parent package, is missing."""
    return isinstance(error, ModuleNotFoundError) and f"{module}.".startswith(f"{error.name}.")
