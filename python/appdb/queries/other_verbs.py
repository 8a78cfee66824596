"""Advice for users of other libraries' verbs: `filter`, `first`, `having`."""

import os
import sys

from appdb.declare.declaring import Phase
from appdb.declare.errors import AppFileError, Error, UnknownAttribute, asked_while_running, did_you_mean
from appdb.queries.query import VERBS

# Verbs with another name here.
_RENAMED = {
    **dict.fromkeys(("filter", "filter_by", "find"), "where"),
    **dict.fromkeys(("sort", "sort_by", "orderby", "order"), "order_by"),
    **dict.fromkeys(("groupby", "group"), "group_by"),
    **dict.fromkeys(("take", "top"), "limit"),
    "unique": "distinct",
}
# Verbs with another form here, and what to write.
_OTHERWISE = {
    "offset": "Write limit(n, offset=...).",
    "first": "Write head(1), and one_row=True at the route.",
    "one": "Write one_row=True at the route.",
    "all": "Omit it: a query returns all rows.",
    "aggregate": "Write select(n=count()), with aggregates of appdb.functions.",
    "having": "Sort by the aggregate and cut with limit(); groups have no filter.",
}
_RUN = ("collect", "show", "cursor")
_CHANGE = ("insert", "update", "delete")


def is_verb_elsewhere(name):
    """Whether other systems have a verb of this name, which has another form here."""
    return name in _RENAMED or name in _OTHERWISE


def not_run(model, act, detail):
    """The error for a query that is used like a result."""
    if Phase.running:
        return asked_while_running(f"To {act}")
    if _is_in_program():
        return unbound(model)
    return AppFileError(detail, "Return it from a function marked @db.query, and call that.")


def unbound(model):
    """The error for a model of a program that needs a table and has none."""
    name = name_of_base(model.__mro__[1])
    hint = f'Bind it: {name}.bind_all("main"), or create its table: {name}.create_all("main")'
    if "PYTEST_CURRENT_TEST" in os.environ:
        hint = f"Create its table in the test's database: database.create_all({name}), with appdb.testing's fixture."
    return Error(f"The model {model.__name__} is not bound to a table.", hint)


def name_of_base(base):
    """What the module of its models calls a base: `Base`."""
    module = base.__appdb_models__[0].__module__ if base.__appdb_models__ else None
    values = vars(sys.modules.get(module, sys)).items()
    return next((name for name, value in values if value is base), base.__name__)


def _is_in_program():
    return not (Phase.reading or Phase.running or Phase.in_body())


def unknown_verb(what, name, model=None, of=None):
    """The error for a verb that a query of the model `of`, or the model of this name, does not have."""
    owner = model or ""
    if name in _RUN and of is not None and _is_in_program():
        return unbound(of)
    if name in _RUN:
        if Phase.running:
            return asked_while_running(f"{owner}.{name}()")
        return UnknownAttribute(
            f"{owner}.{name}() runs a query, and no database is available while the file is read.",
            "Omit it: a function marked @db.query returns the query itself.",
        )
    if name in _CHANGE and model is not None:
        what = "a function that computes cannot" if Phase.running else "no database is available while the file is read"
        return UnknownAttribute(
            f"{owner}.{name}() changes rows, and {what}.",
            f"Call it in a handler of a router, or declare a route: router.add_{name}_route({model}, ...)",
        )
    if name in _OTHERWISE:
        return UnknownAttribute(f"{what} has no '{name}'.", _OTHERWISE[name])
    if name in (*_CHANGE, "recompute_columns"):
        return UnknownAttribute(f".{name}() changes rows, but a query cannot.", "Use a separate route.")
    if name in _RENAMED:
        return UnknownAttribute(f"{what} has no '{name}'.", f"Write {owner}.{_RENAMED[name]}(...)")
    return UnknownAttribute(f"{what} has no '{name}'.", did_you_mean(name, VERBS, f"It has {', '.join(sorted(VERBS))}."))
