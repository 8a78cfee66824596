"""Expressions over columns: the results of `price * n`, `title == "x"` and `doc.tags[0]` in a model's body.

An Expr has its manifest node, the type of its value and its printed text. Its own attributes begin with an
underscore, because on a Json column every other name is a key of the value.
"""

from appdb.declare.constants import literal_text, literal_value, plain
from appdb.declare.errors import AppFileError, UnknownAttribute, did_you_mean
from appdb.declare.types import display, manifest_type
from appdb.expressions import algebra
from appdb.expressions import paths
from appdb.expressions.printing import AND, ATOM, OR, UNARY, inner
from appdb.kinds import rules
from appdb.kinds._base import ColumnType

# Deeper trees would exceed the nesting limits of Python, msgpack and PostgreSQL.
_DEEPEST = 200


class Expr:
    """A value of a row with a known type. Built in a model's body, computed elsewhere."""

    __slots__ = ("_kind", "_nullable", "_node", "_text", "_binds", "_reads", "_functions", "_depth", "_base")
    __hash__ = object.__hash__

    def __init__(self, kind, nullable, node, text, binds=ATOM, parts=(), function=None):
        node["type"] = manifest_type(kind)
        node["nullable"] = nullable
        self._kind = kind
        self._nullable = nullable
        self._node = node
        self._text = text
        self._binds = binds
        self._base = None  # For a path: the value before its last step.
        reads, depth = (), 0
        functions = () if function is None else (function,)
        for part in parts:
            reads += part._reads
            functions += part._functions
            if part._depth > depth:
                depth = part._depth
        self._reads = reads
        self._functions = functions
        self._depth = depth + 1
        if depth >= _DEEPEST:
            raise AppFileError(
                f"An expression is nested deeper than {_DEEPEST} steps: {shortened(text)}",
                "Make a computed column of an inner part, or compute it in a function marked @udf.",
            )

    def __add__(self, other):
        return algebra.arithmetic("op.add", "+", self, other)

    def __radd__(self, other):
        return algebra.arithmetic("op.add", "+", other, self)

    def __sub__(self, other):
        return algebra.arithmetic("op.sub", "-", self, other)

    def __rsub__(self, other):
        return algebra.arithmetic("op.sub", "-", other, self)

    def __mul__(self, other):
        return algebra.arithmetic("op.mul", "*", self, other)

    def __rmul__(self, other):
        return algebra.arithmetic("op.mul", "*", other, self)

    def __truediv__(self, other):
        return algebra.arithmetic("op.truediv", "/", self, other)

    def __rtruediv__(self, other):
        return algebra.arithmetic("op.truediv", "/", other, self)

    def __floordiv__(self, other):
        return algebra.arithmetic("op.floordiv", "//", self, other)

    def __rfloordiv__(self, other):
        return algebra.arithmetic("op.floordiv", "//", other, self)

    def __mod__(self, other):
        return algebra.arithmetic("op.mod", "%", self, other)

    def __rmod__(self, other):
        return algebra.arithmetic("op.mod", "%", other, self)

    def __pow__(self, other):
        return algebra.arithmetic("op.pow", "**", self, other)

    def __rpow__(self, other):
        return algebra.arithmetic("op.pow", "**", other, self)

    def __neg__(self):
        return algebra.sign_of("op.neg", "-", self)

    def __pos__(self):
        return algebra.sign_of(None, "+", self)

    def __abs__(self):
        return algebra.absolute(self)

    def __round__(self, digits=None):
        return algebra.rounded(self, digits)

    def __eq__(self, other):
        return algebra.comparison("op.eq", "==", self, other)

    def __ne__(self, other):
        return algebra.comparison("op.ne", "!=", self, other)

    def __lt__(self, other):
        return algebra.comparison("op.lt", "<", self, other)

    def __le__(self, other):
        return algebra.comparison("op.le", "<=", self, other)

    def __gt__(self, other):
        return algebra.comparison("op.gt", ">", self, other)

    def __ge__(self, other):
        return algebra.comparison("op.ge", ">=", self, other)

    def __and__(self, other):
        return algebra.logic("op.and", "&", AND, self, other)

    def __rand__(self, other):
        return algebra.logic("op.and", "&", AND, other, self)

    def __or__(self, other):
        return algebra.logic("op.or", "|", OR, self, other)

    def __ror__(self, other):
        return algebra.logic("op.or", "|", OR, other, self)

    def __invert__(self):
        return algebra.negation(self)

    def astype(self, target):
        """Converts to another type: `n.astype(db.String)`."""
        if not (isinstance(target, type) and issubclass(target, ColumnType) and target is not ColumnType):
            raise AppFileError(
                f"astype wants a type of the library, not {target!r}.", "Write for example .astype(db.Int)"
            )
        return cast(self, target.kind, f"{inner(self, ATOM)}.astype({display(target.kind)})")

    def isin(self, values):
        """True where the value is one of `values`."""
        return algebra.one_of(self, values)

    def apply(self, function, col_type=None):
        """Calls a function of a module with the value: `title.apply(slug, col_type=db.String)`."""
        from appdb.expressions.apply import applied

        return applied(self, function, col_type)

    def __getitem__(self, step):
        return paths.item_of(self, step)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        if name in CELL_ERRORS and (self._kind != "json" or getattr(self, "_computed", False)):
            return _cell_error(self, name)
        if self._kind == "json":
            return paths.key_of(self, name)
        if name in ("fileurl", "localpath"):
            from appdb.expressions.files import file_of

            return file_of(self, name)
        if name == "similarity":
            raise AppFileError(
                f"{self._text} is not a column. Only a column with an embedding index has a likeness.",
                "Declare it as a computed column with an EmbeddingIndex, and ask that.",
            )
        from appdb.functions import _methods

        found = _methods.attribute(self, name)
        if found is not None:
            return found
        raise UnknownAttribute(
            f"{article(self).capitalize()} such as {self._text} has no '{name}'.",
            _methods.instead_of(self._kind, name)
            or did_you_mean(name, [*_methods.names(self._kind), *_OWN], "Compute it in a function marked @udf."),
        )

    def __call__(self, *args, **kwargs):
        # `doc.tags.len()`: on a Json value every name is a key, so its methods are recognised when they are called.
        if self._base is None or "key" not in self._node["steps"][-1]:
            raise AppFileError(f"{self._text} is {article(self)} and cannot be called.", self._instead_of_calling())
        from appdb.functions._methods import call_json_method

        return call_json_method(self._base, self._node["steps"][-1]["key"], args, kwargs)

    def _instead_of_calling(self):
        from appdb.declare.model import VERBS

        if self._base is None and self._text in VERBS:
            return f"The column '{self._text}' hides the verb {self._text}() of queries; give the column another name."
        return "Omit the parentheses."

    def __repr__(self):
        return f"<{display(self._kind, self._nullable)}: {self._text}>"

    def __format__(self, spec):
        raise AppFileError(
            f"An f-string cannot hold the column {self._text}: it is made once, when the file is read.",
            f"Write appdb.functions.string.format('... {{}} ...', {self._text}) to make text for every row.",
        )

    def __str__(self):
        raise AppFileError(
            f"str() and '%s' cannot hold the column {self._text}: the text is made once, when the file is read.",
            f"Write {inner(self, ATOM)}.astype(db.String), or appdb.functions.string.format('... {{}} ...', {self._text}).",
        )

    def __bool__(self):
        from appdb.expressions.truth import no_truth_value

        raise no_truth_value(self._text)

    def __int__(self):
        raise self._read_once("int")

    def __float__(self):
        raise self._read_once("float")

    def _read_once(self, name):
        return AppFileError(
            f"{name}() cannot convert {self._text} while the file is read, because each row has its own value.",
            f"Write {inner(self, ATOM)}.astype(db.{name.capitalize()})",
        )

    def __iter__(self):
        # Python's sum() comes here when the one of appdb.functions was not imported.
        hint = "Write: from appdb.functions import sum. For a loop, use" if self._kind in ("int", "float") else "Use"
        raise AppFileError(f"{self._text} cannot be looped over while the file is read.", f"{hint} a function marked @udf.")

    def __contains__(self, item):
        raise AppFileError(
            f"`in` cannot look into {self._text} while the file is read.", "Use .contains(...), .isin([...]) or a @udf."
        )

    def __len__(self):
        raise AppFileError(
            f"len() cannot measure {self._text} while the file is read.", "Write .len() for text, or use a @udf."
        )


class ColumnRef(Expr):
    """A column of a model, as used by its body and its routes."""

    __slots__ = ("_name", "_owner", "_computed")

    def __init__(self, owner, name, kind, nullable, computed=False):
        super().__init__(kind, nullable, {"node": "column", "name": name}, name)
        self._name = name
        self._owner = owner
        self._computed = computed
        self._reads = (self,)

    def similarity(self, *value, idx=None, **given):
        """The similarity of the column's vector to that of a value: `Docs.text.similarity(string=q)`; in a query.

        A positional value is a text, a vector, or has its own kind; for a Json column it is Json.
        """
        from appdb.expressions.similarity import named_value, similarity

        return similarity(self, named_value(self, value, given), idx)


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
    """Makes the expression of a constant, a dict or a list. Raises AppFileError for a value that no column can hold."""
    if isinstance(value, (dict, list, tuple)):
        from appdb.expressions.literals import composed

        return composed(value)
    value = plain(value)
    kind, wire = literal_value(value)
    if kind == "float" and value == 0 and str(value) == "-0.0":
        return -literal(0.0)  # Most JSON writers lose the sign of a zero.
    binds = UNARY if kind in ("int", "float") and value < 0 else ATOM
    return Expr(kind, False, {"node": "literal", "value": wire}, literal_text(kind, value, wire), binds)


def null(kind):
    """Makes the expression of None where a value of `kind` is expected."""
    return Expr(kind, True, {"node": "literal", "value": None}, "None")


def json_literal(value):
    """Makes a constant Json value, or one made of parts; only as an argument of a function."""
    from appdb.expressions.literals import composed, json_constant

    return composed(value) if isinstance(value, (dict, list, tuple)) else json_constant(value)


def item(depth, name):
    """The current element of a mapping function (`map`, `filter`, `sort`), printed as `name`.

    `depth` counts the functions in between: 0 is the innermost function's element.
    """
    return Expr("json", True, {"node": "item", "depth": depth}, name)


def array_literal(kind, value):
    """Makes a constant array of the type from nested lists or a numpy array; only as an argument of a function."""
    from appdb.declare.constants import wire_value

    refuse = None
    try:
        wire = wire_value(kind, value)
    except (TypeError, ValueError, OverflowError) as error:
        refuse = str(error)
    if refuse is not None:
        raise AppFileError(f"The constant is not a valid {display(kind)}: {refuse}.", "Give it nested lists of numbers.")
    return Expr(kind, False, {"node": "literal", "value": wire}, wire)


def lift(value):
    """Converts an operand to an expression: a constant becomes a literal."""
    return value if isinstance(value, Expr) else literal(value)


def cast(expr, kind, text=None):
    """Converts `expr` to `kind`; without `text` the conversion is implied and not printed."""
    source = expr._kind
    if source == kind and (kind is source or type(kind) is str or manifest_type(source) == manifest_type(kind)):
        return expr
    if source == kind == "array":
        from appdb.declare.array_type import fits

        if fits(source.type, kind.type):
            return expr
    if kind not in rules(source).casts:
        raise AppFileError(
            f"{expr._text} is {article(expr)} and cannot become {display(kind)}.",
            "Compute it in a function marked @udf.",
        )
    if kind == "json" and text is None and expr._node["node"] == "literal":
        from appdb.expressions.literals import json_of

        return json_of(expr)
    # A Json value may be null inside, which is only known at run time.
    return call("op.cast", [expr], kind, expr._nullable, text or expr._text, ATOM if text else expr._binds)


# Methods of every expression, in addition to the functions of its type.
_OWN = ("astype", "isin", "apply", "similarity")
CELL_ERRORS = {"errortype": "type", "errormsg": "message"}


def taken_names(kind):
    """Names after a dot that are not keys."""
    return (*_OWN, *CELL_ERRORS)


def _cell_error(column, name):
    is_cell = column._node["node"] == "column"
    if not is_cell or (not getattr(column, "_computed", False) and rules(column._kind).check is None):
        raise AppFileError(
            f"{column._text}.{name} is available only for stored computed and media columns; {column._text} is neither.",
            "Ask it of a computed column.",
        )
    node = {"node": "cell_error", "column": column._name, "part": CELL_ERRORS[name]}
    if "of" in column._node:
        node["of"] = column._node["of"]
    return Expr("string", True, node, f"{column._text}.{name}", parts=(column,))


def article(expr):
    """`an Int`, `a String`."""
    return with_article(display(expr._kind))


def with_article(name):
    """`an Int`, `a String`."""
    return f"an {name}" if name[0] in "AI" else f"a {name}"


def shown(value):
    """A value or an expression in a message."""
    return value._text if isinstance(value, Expr) else shortened(repr(value))


def shortened(text, most=120):
    """A text for a message, without its middle when it is long."""
    return text if len(text) <= most else f"{text[: most // 2]} ... {text[-most // 2 :]}"
