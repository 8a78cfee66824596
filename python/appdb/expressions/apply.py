"""`value.apply(function)`: calls an unmarked function of a module with one value."""

from appdb.declare.declared import caller
from appdb.declare.errors import AppFileError
from appdb.declare.types import display, hint_type
from appdb.expressions.printing import ATOM, inner
from appdb.udfs.calls import Parameter
from appdb.udfs.programs import function_id
from appdb.udfs.signatures import COROUTINE, Signature, check_body, check_importable, innermost

# Distinguishes such a function's id from that of a UDF.
MARK = "#apply"


class Applied:
    """A function in `apply`; used like an Overload (udfs/udf.py)."""

    kind = "scalar"
    number = 0
    is_async = is_concurrent = False
    batch_size = timeout_s = resource_pool = None

    def __init__(self, function, source=None):
        self.owner = self.function = function
        self.id = function_id(function, is_plain=True) + MARK
        self.written = innermost(function) if hasattr(function, "__code__") else _Unwritten(source)
        # A null input gives null, and the result may be null.
        self.parameters = [Parameter("value", "json", mode="positional_only")]
        self.result = ("json", True)
        self.signature = Signature(self.parameters, self.result)


class _Unwritten:
    """Replaces the source of a function without Python source, such as `len`."""

    made = object

    def __init__(self, source):
        self.source = source


def applied(value, function, col_type):
    """The expression of a call with `value`. Raises AppFileError for functions that no other process can find, and
    without a type."""
    from appdb.expressions.expr import Expr
    from appdb.udfs.udf import Udf

    if isinstance(function, Udf) or hasattr(function, "parameters"):
        name = getattr(function, "__name__", getattr(function, "name", "f"))
        raise AppFileError(f"{name} is called, not applied.", f"Write {name}({value._text})")
    if not callable(function):
        raise AppFileError(f".apply() wants a function, not {function!r}.", "Write for example .apply(slug, db.String)")
    _check_importable(function)
    kind = _result(function, col_type)
    called = Applied(function, caller(2))
    node = {"node": "udf", "function": called.id, "args": [value._node], "kwargs": {}}
    text = f"{inner(value, ATOM)}.apply({function.__qualname__}, {display(kind)})"
    return Expr(kind, True, node, text, parts=(value,), function=called)


def _check_importable(function):
    import sys

    if hasattr(function, "__code__"):
        check_importable(function, "a function to apply", may_travel=True)
        check_body(innermost(function))
        if innermost(function).__code__.co_flags & COROUTINE:
            raise AppFileError(
                f".apply() cannot wait for the async function {function.__name__}.", "Mark it @udf and call it."
            )
        return
    name, module = getattr(function, "__qualname__", None), getattr(function, "__module__", None)
    if name is None or getattr(sys.modules.get(module), name, None) is not function:
        shown = name or type(function).__name__
        raise AppFileError(
            f".apply() cannot call {shown}: no other process finds it under a name of its module.",
            "Write a def at the top of a module that calls it.",
        )


def _result(function, col_type):
    """The kind of the result: `col_type`, else the function's own hint."""
    name = function.__qualname__
    if col_type is not None:
        return hint_type(col_type, f"col_type of .apply({name})")[0]
    if isinstance(function, type):
        return hint_type(function, f"The result of {name}")[0]
    hint = getattr(function, "__annotations__", {}).get("return")
    if isinstance(hint, str):
        hint = eval(hint, function.__globals__)
    if hint is None:
        raise AppFileError(
            f".apply({name}) does not say what {name} returns.", "Write col_type=db.String, or another type."
        )
    return hint_type(hint, f"The result of {name}")[0]
