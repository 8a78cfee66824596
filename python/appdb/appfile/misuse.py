"""Explains Python's own errors about wrong arguments of the library, or of Python code that gets a column."""

import re

from appdb._imports import load
from appdb.client.elsewhere import option_hint
from appdb.declare.errors import did_you_mean

_HOMES = {
    "Query": "appdb.queries.query",
    "Router": "appdb.serving",
    "Cors": "appdb.routes.including",
    "Background": "appdb.routes.background",
    "SqlExport": "appdb.routes.sql_export",
    "ResourcePool": "appdb.declare.pools",
    "BtreeIndex": "appdb.declare.indexes",
    "EmbeddingIndex": "appdb.declare.indexes",
    "Column": "appdb.declare.declared",
    "Expr": "appdb.expressions.expr",
    "model_base": "appdb.declare.model",
    "udf": "appdb.udfs.udf",
    "uda": "appdb.udfs.uda",
    "query": "appdb.queries.named_query",
}
_CALLED = re.compile(r"((?:\w+\.)*\w+)\(\) (got an unexpected keyword argument '(\w+)'|takes .* given|missing .*|got multiple .*)")
_STAND_IN = re.compile(r"\b(?:ColumnRef|ParameterRef|Expr)\b")


def reworded(error):
    """(detail, hint) for a TypeError or AttributeError about a call of the library, or a column in Python's own code;
    else None."""
    text = str(error)
    called = _CALLED.match(text)
    if called is not None:
        function = _function(called[1])
        if function is not None:
            return _bad_call(called, function)
    if _STAND_IN.search(text):
        return (
            "A column is given to code of Python, which runs once, while the file is read; a row gives it a value.",
            "Use a method or an operator of the column, or compute it in a function marked @db.udf.",
        )
    return None


def wrong_call(error, function):
    """(detail, hint) for the TypeError of a call whose arguments the function does not take."""
    return _bad_call(_CALLED.match(str(error)), function)


def _function(qualname):
    first, *rest = qualname.split(".")
    home = _HOMES.get(first)
    found = getattr(load(home), first, None) if home is not None else None
    for name in rest:
        found = getattr(found, "__dict__", {}).get(name)
    return found


def _bad_call(called, function):
    from inspect import signature

    owner, _, last = called[1].rpartition(".")
    name = owner if last == "__init__" else last
    kinds = list(signature(function).parameters.values())
    if kinds and kinds[0].name in ("self", "base"):  # Of a method, of a verb of models.
        del kinds[0]
    known = [one.name for one in kinds if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]
    takes = f"It takes: {', '.join(known)}." if known else "It takes nothing by name."
    given = called[3]
    if given is None:
        # Python counts `self` too.
        what = "is given too many arguments" if called[2].startswith("takes ") else called[2].replace("missing", "lacks", 1)
        return f"{name}() {what}.", takes
    detail = f"{name}() has no argument '{given}'."
    if name == "where":
        return detail, f"Write where(Model.{given} == value)."
    if name == "order_by":
        return detail, "Write order_by(Model.column, asc=False) for a descending order."
    return detail, option_hint(given) or did_you_mean(given, known, takes)
