"""Values of many rows, for queries: `sum(price)`, `count(id)`. Nulls are skipped; without values the result is null."""

import builtins

from appdb.declare.declaring import Phase
from appdb.declare.errors import AppFileError, asked_while_running, later
from appdb.declare.types import display
from appdb.expressions.expr import Expr, lift
from appdb.kinds import rules

_NUMBERS = ("int", "float")
_ORDERED = ("string", "int", "float", "bool", "timestamp", "date")


class Aggregate:
    """An aggregate of the library. Over a column it gives an expression; `plain` handles Python values."""

    __slots__ = ("name", "kinds", "result", "nullable", "plain")

    def __init__(self, name, kinds, result=None, nullable=True, plain=None):
        self.name = name
        self.kinds = kinds  # Kinds of its argument; None allows any.
        self.result = result  # Kind of its result; None: that of its argument.
        self.nullable = nullable
        self.plain = plain

    def __call__(self, *args, **kwargs):
        if not args and not kwargs and self.name == "count" and not (Phase.running or Phase.bodies):
            return self._of_rows()
        if Phase.running and (isinstance(args[0], Expr) if args else self.name == "count"):
            raise asked_while_running(f"{self.name}()")
        if Phase.running or not any(isinstance(arg, Expr) for arg in args):
            if self.plain is not None:
                return self.plain(*args, **kwargs)
            raise AppFileError(
                f"{self.name}() takes a column; it is a value of many rows.", f"Write for example {self.name}(Docs.n)"
            )
        if Phase.bodies:
            raise AppFileError(
                f"{self.name}() is a value of many rows and cannot be computed for one row of a table.",
                "Write it in a function marked @query.",
            )
        if "order_by" in kwargs or "group_by" in kwargs:
            raise later(f"order_by and group_by within {self.name}()", "Use group_by() of the query.")
        if len(args) != 1 or kwargs:
            raise AppFileError(f"{self.name}() takes one column.", f"Write for example {self.name}(Docs.n)")
        return self._over(lift(args[0]))

    def _of_rows(self):
        return Expr("int", False, {"node": "aggregate", "fn": "count", "is_udf": False, "args": [], "kwargs": {}}, "count()")

    def _over(self, value):
        kind = value._kind
        if self.kinds is not None and kind not in self.kinds:
            raise AppFileError(
                f"{self.name}() takes {' or '.join(map(display, self.kinds))}; {value._text} is {display(kind)}.",
                f"Convert it, for example with {value._text}.astype(db.{display(self.kinds[0])})"
                if self.kinds[0] in rules(kind).casts
                else "Compute a value of it in a function marked @udf, and aggregate that.",
            )
        if self.result == "json" and rules(kind).check is not None:
            raise AppFileError(
                f"{self.name}() cannot list files; {value._text} is {display(kind)}.",
                "Select it in the rows of another query.",
            )
        node = {"node": "aggregate", "fn": self.name, "is_udf": False, "args": [value._node], "kwargs": {}}
        return Expr(self.result or kind, self.nullable, node, f"{self.name}({value._text})", parts=(value,))

    def __repr__(self):
        return f"<aggregate {self.name}>"


# A file that imports `sum` from here can still use it on a list inside its own functions.
sum = Aggregate("sum", _NUMBERS, plain=builtins.sum)
min = Aggregate("min", _ORDERED, plain=builtins.min)
max = Aggregate("max", _ORDERED, plain=builtins.max)
count = Aggregate("count", None, "int", nullable=False)
mean = Aggregate("mean", _NUMBERS, "float")
make_list = Aggregate("make_list", None, "json", nullable=False)

AGGREGATES = {"sum": sum, "count": count, "min": min, "max": max, "mean": mean, "make_list": make_list}
