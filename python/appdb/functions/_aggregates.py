"""Values of many rows, for queries: `sum(price)`, `count(id)`. Nulls are skipped; without values the result is null.

With `order_by=` or `group_by=` an aggregate is a window: a value of each row, over the rows up to it.
"""

import builtins

from appdb.declare.declaring import Phase
from appdb.declare.errors import AppFileError, asked_while_running, did_you_mean
from appdb.declare.types import display
from appdb.expressions.aggregates import WINDOW_KEYS, aggregate, printed_keys, sort_keys, window
from appdb.expressions.expr import Expr, lift
from appdb.kinds import rules

_NUMBERS = ("int", "float")
_ORDERED = ("string", "int", "float", "bool", "timestamp", "date")


class Aggregate:
    """An aggregate of the library. Over a column it gives an expression; `plain` handles Python values."""

    __slots__ = ("name", "kinds", "result", "nullable", "plain", "is_list")

    def __init__(self, name, kinds, result=None, nullable=True, plain=None, is_list=False):
        self.name = name
        self.kinds = kinds  # Kinds of its argument; None allows any.
        self.result = result  # Kind of its result; None: that of its argument.
        self.nullable = nullable
        self.plain = plain
        self.is_list = is_list  # It keeps the values of all rows, so it has an order and no windows.

    def __call__(self, *args, **kwargs):
        is_of_rows = self.name == "count" and not args and not (kwargs.keys() - WINDOW_KEYS)
        has_columns = any(isinstance(value, Expr) for value in (*args, *kwargs.values()))
        if Phase.running and (isinstance(args[0], Expr) if args else self.name == "count"):
            raise asked_while_running(f"{self.name}()")
        if Phase.running or not (has_columns or (is_of_rows and not Phase.in_body())):
            if self.plain is not None:
                return self.plain(*args, **kwargs)
            raise AppFileError(
                f"{self.name}() takes a column; it is a value of many rows.", f"Write for example {self.name}(Docs.n)"
            )
        if Phase.in_body():
            raise AppFileError(
                f"{self.name}() is a value of many rows and cannot be computed for one row of a table.",
                "Write it in a function marked @query.",
            )
        keys = {option: sort_keys(self.name, option, kwargs.pop(option)) for option in WINDOW_KEYS if option in kwargs}
        if kwargs:
            raise _unknown_option(self.name, next(iter(kwargs)))
        if not (is_of_rows or len(args) == 1):
            raise AppFileError(f"{self.name}() takes one column.", f"Write for example {self.name}(Docs.n)")
        return self._over([lift(arg) for arg in args], keys.get("order_by", ()), keys.get("group_by", ()))

    def _over(self, values, order, group):
        for value in values:
            self._check(value)
        kind = self.result or values[0]._kind
        arguments = [value._text for value in values] + printed_keys(order_by=order, group_by=group)
        text, result = f"{self.name}({', '.join(arguments)})", (kind, self.nullable)
        if self.is_list and group:
            raise AppFileError(
                f"{self.name}() makes one list of a group's rows and has no group_by=.", "Use group_by() of the query."
            )
        if self.is_list or not (order or group):
            return aggregate(self.name, text, result, values, order=order)
        return window(self.name, text, result, values, order=order, group=group)

    def _check(self, value):
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

    def __repr__(self):
        return f"<aggregate {self.name}>"


# What other systems call parts of a window, and what to write.
_ELSEWHERE = {
    **dict.fromkeys(("partition_by", "partition", "over"), "Write group_by= for the rows that belong together."),
    **dict.fromkeys(
        ("asc", "desc", "ascending", "descending"), "Windows sort ascending; write order_by=-Docs.n for a number."
    ),
}


def _unknown_option(name, option):
    otherwise = _ELSEWHERE.get(option, "It takes one column, order_by= and group_by=.")
    hint = otherwise if option in _ELSEWHERE else did_you_mean(option, WINDOW_KEYS, otherwise)
    return AppFileError(f"{name}() has no argument '{option}'.", hint)


# A file that imports `sum` from here can still use it on a list inside its own functions.
sum = Aggregate("sum", _NUMBERS, plain=builtins.sum)
min = Aggregate("min", _ORDERED, plain=builtins.min)
max = Aggregate("max", _ORDERED, plain=builtins.max)
count = Aggregate("count", None, "int", nullable=False)
mean = Aggregate("mean", _NUMBERS, "float")
make_list = Aggregate("make_list", None, "json", nullable=False, is_list=True)

AGGREGATES = {"sum": sum, "count": count, "min": min, "max": max, "mean": mean, "make_list": make_list}
