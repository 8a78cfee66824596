"""The default of a stored column: the stored value when a request omits the column."""

from appdb.declare.constants import FOR_EACH_ROW, literal_text, plain, wire_value
from appdb.declare.errors import AppFileError
from appdb.declare.types import display
from appdb.expressions.expr import Expr, article, shortened
from appdb.kinds import rules

# Functions whose bare call makes a value for each new row (GENERATORS in packages/contract/src/expressions.ts).
GENERATORS = frozenset(("uuid.uuid4", "uuid.uuid7", "timestamp.now"))


def default_of(value, kind, name):
    """The expression of the default of column `name`. Raises AppFileError except for constants of its type, `now()`,
    `uuid4()` and `uuid7()`."""
    if rules(kind).check is not None:
        raise AppFileError(
            f"Column '{name}' is {display(kind)}, which has no default.", f"Write {name}: db.{display(kind)} | None"
        )
    if isinstance(value, Expr):
        return _generated(value, kind, name)
    if callable(value):
        raise AppFileError(
            f"The default of column '{name}' is the function {_name_of(value)}, which is not called.",
            _instead_of(value),
        )
    try:
        wire = wire_value(kind, plain(value))
    except (TypeError, ValueError, OverflowError):
        raise AppFileError(
            f"The default of column '{name}' is {shortened(repr(value))}; the column is of type {display(kind)}.",
            f"Give default= a constant of type {display(kind)}.",
        ) from None
    return Expr(kind, False, {"node": "literal", "value": wire}, shortened(literal_text(kind, plain(value), wire)))


def _generated(value, kind, name):
    node = value._node
    if node["node"] != "call" or node["fn"] not in GENERATORS:
        raise AppFileError(
            f"The default of column '{name}' is {value._text}, which is an expression.",
            f"Use a constant, now(), uuid4() or uuid7(); write {name} = {value._text} for a computed column.",
        )
    if value._kind != kind:
        raise AppFileError(
            f"The default of column '{name}' is {value._text}, {article(value)}; the column is of type {display(kind)}.",
            f"Write type=db.{display(value._kind)}, or another default.",
        )
    return value


def _name_of(function):
    return getattr(function, "__qualname__", None) or getattr(function, "name", None) or type(function).__name__


def _instead_of(function):
    from appdb.functions._builtin import Builtin

    if isinstance(function, Builtin) and function.id in GENERATORS:
        return f"Write default={function.name}()."
    made = FOR_EACH_ROW.get(_name_of(function), "now(), uuid4() or uuid7()")
    return f"Use default={made} of appdb.functions, which makes a value for each new row."
