"""Expressions over columns: what `price * n`, `title == "x"` and `doc.tags[0]` become in a model's body.

An Expr carries its manifest node, the type of its value and the text it is printed as. Its own attributes begin with an
underscore, because on a Json column every other name is a key of the value.
"""

from appdb._constants import literal_text, literal_value
from appdb._errors import AppFileError, UnknownAttribute, did_you_mean, later
from appdb._types import _Type, display

# How tightly printed forms bind, as in Python's grammar.
ATOM, POWER, UNARY, PRODUCT, SUM, AND, OR, COMPARE = 8, 7, 6, 5, 4, 3, 2, 1


class Expr:
    """A value of a row, known by its type only. Built in a model's body, computed elsewhere."""

    __slots__ = ("_kind", "_nullable", "_node", "_text", "_binds", "_reads", "_functions")
    __hash__ = object.__hash__

    def __init__(self, kind, nullable, node, text, binds=ATOM, parts=(), function=None):
        node["type"] = {"kind": kind}
        node["nullable"] = nullable
        self._kind = kind
        self._nullable = nullable
        self._node = node
        self._text = text
        self._binds = binds
        reads = ()
        functions = () if function is None else (function,)
        for part in parts:
            reads += part._reads
            functions += part._functions
        self._reads = reads
        self._functions = functions

    def __add__(self, other):
        return _arithmetic("op.add", "+", SUM, self, other)

    def __radd__(self, other):
        return _arithmetic("op.add", "+", SUM, other, self)

    def __sub__(self, other):
        return _arithmetic("op.sub", "-", SUM, self, other)

    def __rsub__(self, other):
        return _arithmetic("op.sub", "-", SUM, other, self)

    def __mul__(self, other):
        return _arithmetic("op.mul", "*", PRODUCT, self, other)

    def __rmul__(self, other):
        return _arithmetic("op.mul", "*", PRODUCT, other, self)

    def __truediv__(self, other):
        return _arithmetic("op.truediv", "/", PRODUCT, self, other)

    def __rtruediv__(self, other):
        return _arithmetic("op.truediv", "/", PRODUCT, other, self)

    def __floordiv__(self, other):
        return _arithmetic("op.floordiv", "//", PRODUCT, self, other)

    def __rfloordiv__(self, other):
        return _arithmetic("op.floordiv", "//", PRODUCT, other, self)

    def __mod__(self, other):
        return _arithmetic("op.mod", "%", PRODUCT, self, other)

    def __rmod__(self, other):
        return _arithmetic("op.mod", "%", PRODUCT, other, self)

    def __pow__(self, other):
        return _arithmetic("op.pow", "**", POWER, self, other)

    def __rpow__(self, other):
        return _arithmetic("op.pow", "**", POWER, other, self)

    def __neg__(self):
        if self._kind not in ("int", "float"):
            raise _mismatch("-", f"-{_inner(self, UNARY)}", self)
        return call("op.neg", [self], self._kind, self._nullable, f"-{_inner(self, UNARY)}", UNARY)

    def __pos__(self):
        raise later("Unary +", "Leave the + out.")

    def __abs__(self):
        raise later("abs() of a column", "Compute it in a function marked @udf.")

    def __round__(self, digits=None):
        raise later("round() of a column", "Compute it in a function marked @udf.")

    def __eq__(self, other):
        return _comparison("op.eq", "==", self, other)

    def __ne__(self, other):
        return _comparison("op.ne", "!=", self, other)

    def __lt__(self, other):
        return _comparison("op.lt", "<", self, other)

    def __le__(self, other):
        return _comparison("op.le", "<=", self, other)

    def __gt__(self, other):
        return _comparison("op.gt", ">", self, other)

    def __ge__(self, other):
        return _comparison("op.ge", ">=", self, other)

    def __and__(self, other):
        return _logic("op.and", "&", AND, self, other)

    def __rand__(self, other):
        return _logic("op.and", "&", AND, other, self)

    def __or__(self, other):
        return _logic("op.or", "|", OR, self, other)

    def __ror__(self, other):
        return _logic("op.or", "|", OR, other, self)

    def __invert__(self):
        if self._kind != "bool":
            raise _mismatch("~", f"~{_inner(self, UNARY)}", self)
        return call("op.not", [self], "bool", self._nullable, f"~{_inner(self, UNARY)}", UNARY)

    def astype(self, target):
        """Converts to another type: `n.astype(db.String)`."""
        if not (isinstance(target, type) and issubclass(target, _Type) and target is not _Type):
            raise AppFileError(
                f"astype wants a type of the library, not {target!r}.", "Write for example .astype(db.Int)"
            )
        return cast(self, target.kind, f"{_inner(self, ATOM)}.astype({display(target.kind)})")

    def isin(self, values):
        """True where the value is one of `values`."""
        found = None
        for value in values if isinstance(values, (list, tuple, set, frozenset)) else ():
            equal = self == value
            found = equal if found is None else found | equal
        if found is None:
            raise AppFileError("isin wants a list with at least one value.", "Write for example .isin(['a', 'b'])")
        return found

    def __getitem__(self, step):
        if self._kind != "json":
            raise AppFileError(
                f"{self._text}[{step!r}] takes a part of {_article(self)}; only a Json value has parts.",
                "For text use .slice(start, stop)." if self._kind == "string" else "Declare the column as Json.",
            )
        if isinstance(step, str) and step != "*":
            return _path(self, {"key": step}, f"[{step!r}]")
        if type(step) is int and abs(step) < 2**31:
            return _path(self, {"index": step}, f"[{step}]")
        if isinstance(step, slice) or step == "*":
            raise later("A slice or '*' in a Json path", "Take single keys and indexes.")
        raise AppFileError(f"A Json path has text and whole numbers as steps, not {step!r}.", "Write ['key'] or [0].")

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        if self._kind == "json":
            return _path(self, {"key": name}, f".{name}")
        if name in ("errortype", "errormsg", "apply", "fileurl", "localpath", "similarity"):
            raise later(f"{self._text}.{name}")
        methods = ()
        if self._kind == "string":
            from appdb.functions import string

            methods = string.METHODS
            if name in methods:
                return _bound(methods[name], self)
        raise UnknownAttribute(
            f"{_article(self).capitalize()} such as {self._text} has no '{name}'.",
            did_you_mean(name, [*methods, "astype", "isin"], "Compute it in a function marked @udf."),
        )

    def __repr__(self):
        return f"<{display(self._kind, self._nullable)}: {self._text}>"

    def __format__(self, spec):
        raise AppFileError(
            f"An f-string cannot hold the column {self._text}: it is made once, when the file is read.",
            "Write appdb.functions.string.format('... {} ...', column) to make text for every row.",
        )

    def __bool__(self):
        raise AppFileError(
            f"{self._text} has no truth value while the file is read; a row gives it one.",
            "Write & | ~ in place of and, or, not, and put each comparison in parentheses: (a > 1) & (a < 9)",
        )

    def __iter__(self):
        raise AppFileError(f"{self._text} cannot be looped over while the file is read.", "Use a function marked @udf.")

    def __contains__(self, item):
        raise AppFileError(
            f"`in` cannot look into {self._text} while the file is read.", "Use .contains(...), .isin([...]) or a @udf."
        )

    def __len__(self):
        raise AppFileError(
            f"len() cannot measure {self._text} while the file is read.", "Write .len() for text, or use a @udf."
        )


class ColumnRef(Expr):
    """A column of a model, as its body and its routes name it."""

    __slots__ = ("_name", "_owner")

    def __init__(self, owner, name, kind, nullable):
        super().__init__(kind, nullable, {"node": "column", "name": name}, name)
        self._name = name
        self._owner = owner
        self._reads = (self,)


def call(function, args, kind, nullable, text, binds=ATOM, kwargs=None):
    """Makes a call of an operator or function of the library."""
    kwargs = kwargs or {}
    node = {
        "node": "call",
        "fn": function,
        "args": [arg._node for arg in args],
        "kwargs": {name: arg._node for name, arg in kwargs.items()},
    }
    return Expr(kind, nullable, node, text, binds, (*args, *kwargs.values()))


def literal(value):
    """Makes the expression of a constant. Raises AppFileError for what no column could hold."""
    kind, wire = literal_value(value)
    if kind == "float" and value == 0 and str(value) == "-0.0":
        return -literal(0.0)  # most writers of JSON lose the sign of a zero
    binds = UNARY if kind in ("int", "float") and value < 0 else ATOM
    return Expr(kind, False, {"node": "literal", "value": wire}, literal_text(kind, value, wire), binds)


def null(kind):
    """Makes the expression of None where a value of `kind` is wanted."""
    return Expr(kind, True, {"node": "literal", "value": None}, "None")


def json_literal(value):
    """Makes a constant Json value; only as an argument of a function."""
    from appdb.values import to_json

    try:
        wire = to_json(value)
    except (TypeError, ValueError) as error:
        raise AppFileError(
            f"{value!r} is no JSON value: {error}", "Use dict, list, str, numbers, True, False, None."
        ) from None
    return Expr("json", False, {"node": "literal", "value": wire}, repr(value))


def lift(value):
    """Turns an operand into an expression: a constant becomes a literal."""
    return value if isinstance(value, Expr) else literal(value)


def cast(expr, kind, text=None):
    """Converts `expr` to `kind`; without `text` the conversion is implied and not printed."""
    source = expr._kind
    if source == kind:
        return expr
    if kind not in CASTS[source]:
        raise AppFileError(
            f"{expr._text} is {_article(expr)} and cannot become {display(kind)}.",
            "Compute it in a function marked @udf.",
        )
    # A Json value may be null inside, which is only seen when it is there.
    return call("op.cast", [expr], kind, expr._nullable, text or expr._text, ATOM if text else expr._binds)


# From each type, the types it converts to. What each conversion does stands in _evaluate.py.
CASTS = {
    "string": ("int", "float", "timestamp", "date", "uuid", "json"),
    "int": ("string", "float", "bool", "json"),
    "float": ("string", "int", "json"),
    "bool": ("string", "int", "json"),
    "timestamp": ("string", "date", "json"),
    "date": ("string", "timestamp", "json"),
    "uuid": ("string", "json"),
    "json": ("string", "int", "float", "bool", "timestamp", "date", "uuid"),
}


def _arithmetic(function, sign, binds, left, right):
    left, right = _operand(sign, left), _operand(sign, right)
    kind = _arithmetic_kind(sign, left, right)
    text = _infix(left, sign, right, binds)
    if kind is None:
        raise _mismatch(sign, text, left, right)
    return call(function, [left, right], kind, left._nullable or right._nullable, text, binds)


def _arithmetic_kind(sign, left, right):
    a, b = left._kind, right._kind
    if a in ("int", "float") and b in ("int", "float"):
        if sign == "/" or a == "float" or b == "float":
            return "float"
        # A negative constant as exponent gives a fraction, in Python too.
        return "float" if sign == "**" and str(right._node.get("value", "")).startswith("-") else "int"
    if sign == "+" and a == b == "string":
        return "string"
    if sign == "*" and (a, b) in (("string", "int"), ("int", "string")):
        return "string"
    return None


def _comparison(function, sign, left, right):
    if right is None:
        if sign not in ("==", "!="):
            raise AppFileError(f"{left._text} {sign} None has no meaning.", "Write == None or != None.")
        name = "op.is_null" if sign == "==" else "op.is_not_null"
        return call(name, [left], "bool", False, f"{_inner(left, COMPARE + 1)} {sign} None", COMPARE)
    right = _operand(sign, right)
    text = _infix(left, sign, right, COMPARE, COMPARE + 1)
    a, b = left._kind, right._kind
    if "json" in (a, b) and sign in ("==", "!="):
        left, right = cast(left, "json"), cast(right, "json")
    elif "json" in (a, b) or (a != b and not {a, b} <= {"int", "float"}):
        raise _mismatch(sign, text, left, right)
    return call(function, [left, right], "bool", left._nullable or right._nullable, text, COMPARE)


def _logic(function, sign, binds, left, right):
    left, right = _operand(sign, left), _operand(sign, right)
    text = _infix(left, sign, right, binds)
    if left._kind != "bool" or right._kind != "bool":
        raise _mismatch(sign, text, left, right)
    return call(function, [left, right], "bool", left._nullable or right._nullable, text, binds)


def _operand(sign, value):
    if value is None:
        raise AppFileError(f"None cannot stand beside '{sign}'.", "Test for null with == None.")
    return lift(value)


def _path(base, step, text):
    node = base._node
    steps = [*node["steps"], step] if node["node"] == "path" else [step]
    node = {"node": "path", "base": node["base"] if node["node"] == "path" else node, "steps": steps}
    return Expr("json", True, node, f"{_inner(base, ATOM)}{text}", ATOM, (base,))


def _bound(function, first):
    def method(*args, **kwargs):
        return function(first, *args, **kwargs)

    return method


def _infix(left, sign, right, binds, least=None):
    # ** binds to the right, everything else to the left.
    power = binds == POWER
    return f"{_inner(left, least or binds + power)} {sign} {_inner(right, least or binds + (not power))}"


def _inner(expr, least):
    return expr._text if expr._binds >= least else f"({expr._text})"


def _mismatch(sign, text, *operands):
    kinds = " and ".join(display(operand._kind) for operand in operands)
    hint = "Convert one side, for example with .astype(db.String)."
    if "json" in [operand._kind for operand in operands]:
        hint = "Say what the Json value is, for example with .astype(db.Int)."
    elif sign in "&|":
        hint = "Put each comparison in parentheses: (a > 1) & (b == 2)"
    return AppFileError(f"'{sign}' does not work on {kinds}: {text}", hint)


def _article(expr):
    name = display(expr._kind)
    return f"an {name}" if name[0] in "AI" else f"a {name}"
