"""Functions that make the response of a route: `@router.insert_route(Docs, path="/docs")` above a def.

They run in the worker, as the last step of the row's graph, before anything is stored.
"""

from appdb.declare.errors import AppFileError, did_you_mean, listed
from appdb.udfs.calls import IMPLIED, Parameter
from appdb.udfs.signatures import (
    ASYNC_GENERATOR,
    COROUTINE,
    GENERATOR,
    VARARGS,
    VARKEYWORDS,
    check_importable,
    innermost,
    refused,
)
from appdb.declare.types import display, hint_type

# Distinguishes such a function's id from that of a UDF.
MARK = "#answer"
# By id: every such function of the imported modules.
known = {}


class Answerer:
    """A function with the outputs that it takes."""

    __slots__ = ("function", "id", "parameters", "response")

    def __init__(self, function, parameters):
        self.function = function
        self.id = f"{function.__module__}:{function.__qualname__}"
        self.parameters = parameters
        self.response = _response(function)

    def document(self):
        """In manifest form."""
        function = self.function
        return {
            "id": self.id,
            "module": function.__module__,
            "name": function.__name__,
            "parameters": self.parameters,
            "response": self.response,
        }


class Answered:
    """Such a function as the worker calls it; used like an Overload (udfs/udf.py)."""

    kind = "scalar"
    number = 0
    batch_size = timeout_s = resource_pool = None

    def __init__(self, function):
        inner = innermost(function)
        self.owner = function
        self.id = f"{function.__module__}:{function.__qualname__}{MARK}"
        self.is_async = self.is_concurrent = bool(inner.__code__.co_flags & COROUTINE)
        self.function = _waited(function) if self.is_async else _run(function)
        # It is called for every row: null is an ordinary value.
        self.parameters = [Parameter(name, "json", True, mode="keyword_only") for name in _names(inner)]
        self.result = ("json", True)


def answerer_of(function, table, outputs, may_fail):
    """The Answerer of a function and the outputs of its route: `outputs`, or the columns that it takes if that is None.

    `may_fail`: computed cells can be null. Raises AppFileError for parameters that the function cannot get.
    """
    _check_function(function)
    inner = innermost(function)
    names = _names(inner)
    defaults = inner.__kwdefaults__ or {}
    if outputs is None:
        outputs = [name for name in names if name in table.columns]
    for name in names:
        if name not in outputs and name not in defaults:
            raise refused(
                inner,
                f"The parameter '{name}' of {inner.__name__} is not an output of the route.",
                did_you_mean(name, outputs or table.columns, f"The outputs are {listed(outputs) or 'none'}."),
            )
    unasked = [name for name in outputs if name not in names]
    if unasked:
        raise refused(
            inner,
            f"{inner.__name__} is given the outputs of the route by name, and does not take {listed(unasked)}.",
            f"Write def {inner.__name__}(*, {', '.join(outputs)}): or take {listed(unasked)} out of outputs.",
        )
    from appdb.http.handlers import _hints

    hints = _hints(inner)
    for name in outputs:
        _check_type(inner, hints, table.columns[name], may_fail)
    answerer = Answerer(function, outputs)
    _keep(answerer)
    return answerer, outputs


def _check_function(function):
    if not hasattr(innermost(function), "__code__"):
        shown = getattr(function, "__name__", type(function).__name__)
        raise AppFileError(f"The route is given {shown}, which is not a function written with def.", "Wrap it in a def.")
    inner = innermost(function)
    check_importable(inner, "a route's function")
    name, code = inner.__name__, inner.__code__
    if code.co_flags & (GENERATOR | ASYNC_GENERATOR):
        raise refused(inner, f"{name} yields; the response of a route is one value.", "Return a list instead.")
    if code.co_flags & (VARARGS | VARKEYWORDS):
        raise refused(inner, f"{name} takes *args or **kwargs.", "Name each output that it takes.")
    if code.co_argcount:
        first = code.co_varnames[0]
        shown = ", ".join(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
        detail = f"The parameter '{first}' of {name} is not keyword-only; the outputs are given by name."
        raise refused(inner, detail, f"Write def {name}(*, {shown}):")


def _check_type(function, hints, column, may_fail):
    name, kind = column.name, column.ref._kind
    nullable = column.ref._nullable or (may_fail and column.value is not None and not column.primary_key)
    hint = hints.get(name)
    if name not in hints or hint is object or "Any" in (getattr(hint, "_name", None), getattr(hint, "__name__", None)):
        return
    where = f"The parameter '{name}' of {function.__name__}"
    try:
        wanted, takes_none = hint_type(hint, where)
    except AppFileError as error:
        raise refused(function, error.detail, error.hint) from None
    if str(wanted) != str(kind) and (str(kind), str(wanted)) not in IMPLIED:
        detail = f"{where} is {display(wanted)}; the column is {display(kind)}."
        raise refused(function, detail, "Give it the type of the column, or none.")
    if nullable and not takes_none:
        detail = f"{where} cannot be None; the column '{name}' may be null."
        raise refused(function, detail, "Put '| None' behind its type.")


def _keep(answerer):
    """A module cannot have several functions of one name, because another process finds a function by its name."""
    before = known.get(answerer.id)
    if before is not None and _place(before.function) != _place(answerer.function):
        raise refused(
            innermost(answerer.function),
            f"Two routes of {answerer.function.__module__} have a function called {answerer.function.__name__}.",
            "Give each its own name.",
        )
    known[answerer.id] = answerer


def _place(function):
    code = innermost(function).__code__
    return code.co_filename, code.co_firstlineno


def _names(function):
    code = function.__code__
    return list(code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount])


def _response(function):
    """The JSON Schema of a function's result; None when it is not declared."""
    from appdb.http.handler_kinds import Unknown, kind_of
    from appdb.http.handlers import _hints

    inner = innermost(function)
    hints = _hints(inner)
    if "return" not in hints:
        return None
    try:
        return kind_of(hints["return"]).schema
    except Unknown as error:
        raise refused(
            inner,
            f"{inner.__name__} returns {error}, which is not valid JSON.",
            "Return str, int, float, bool, dict, list, a dataclass, or a pydantic model (and require pydantic).",
        ) from None


def _run(function):
    def run(**outputs):
        return plain(function(**outputs))

    return run


def _waited(function):
    async def run(**outputs):
        return plain(await function(**outputs))

    return run


def plain(value):
    """Converts dataclasses, pydantic models, times and similar to dicts, lists, texts and numbers."""
    kind = type(value)
    if kind in (str, int, float, bool) or value is None:
        return value
    if isinstance(value, dict):
        return {_key(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    from appdb.http.answers import _plain

    return plain(_plain(value))


def _key(key):
    """Like JSON, where every key is a text."""
    if key is None or type(key) is bool:
        return {None: "null", True: "true", False: "false"}[key]
    return str(key) if type(key) in (int, float) else key
