"""Signatures, and the binding of calls over columns, for library functions and UDFs."""

from appdb.declare.declaring import Phase
from appdb.declare.errors import AppFileError, did_you_mean
from appdb.declare.types import display
from appdb.expressions.expr import Expr, array_literal, cast, json_literal, lift, null
from appdb.kinds import rules

class _NoDefault:
    """The default of a parameter without one; a copy in another process is the same object."""

    def __reduce__(self):
        return "NO_DEFAULT"


NO_DEFAULT = _NoDefault()


class Parameter:
    """One parameter: `mode` is `positional_only`, `positional` or `keyword_only`."""

    __slots__ = ("name", "kind", "nullable", "default", "mode")

    def __init__(self, name, kind, nullable=False, default=NO_DEFAULT, mode="positional"):
        self.name = name
        self.kind = kind
        self.nullable = nullable
        self.default = default
        self.mode = mode

    @property
    def goes_by_place(self):
        """In a printed call, parameters without default are positional, the others named."""
        return self.mode == "positional_only" or (self.mode == "positional" and self.default is NO_DEFAULT)


def bind(display_name, parameters, args, kwargs):
    """Binds a call: (positional Exprs, keyword Exprs, whether a null can skip the call).

    A call has one canonical form: parameters without default are positional, the others named, in the signature's
    order. Raises AppFileError for calls that Python would refuse and for arguments of another type.
    """
    given = given_arguments(display_name, parameters, args, kwargs)
    positional, named, skips = [], {}, False
    last_only = max(
        (n for n, p in enumerate(parameters) if p.mode == "positional_only" and p.name in given), default=-1
    )
    for number, parameter in enumerate(parameters):
        if parameter.name not in given:
            if number > last_only:
                continue
            given[parameter.name] = parameter.default
        value = _argument(display_name, parameter, given[parameter.name])
        skips = skips or (value._nullable and not parameter.nullable)
        if parameter.goes_by_place:
            positional.append(value)
        else:
            named[parameter.name] = value
    return positional, named, skips


def in_order(display_name, parameters, args, kwargs, fixed):
    """Arguments of a call of a function with some `fixed` parameters: (args, kwargs) as the function takes them.

    Positional arguments go to the parameters that are not fixed; `kwargs` has the fixed ones.
    """
    free = [p for p in parameters if p.mode != "keyword_only" and p.name not in fixed]
    if len(args) > len(free):
        raise AppFileError(
            f"{display_name}() takes {len(free)} positional arguments besides those fixed by .using(); "
            f"{len(args)} are given.",
            f"It takes: {', '.join(p.name for p in free) or 'nothing'}",
        )
    given = dict(kwargs)
    for parameter, arg in zip(free, args):
        if parameter.name in given:
            raise AppFileError(
                f"{display_name}() is given its argument '{parameter.name}' twice.", "Give it once."
            )
        given[parameter.name] = arg
    first = []
    for parameter in parameters:
        if parameter.mode != "positional_only" or parameter.name not in given:
            break
        first.append(given.pop(parameter.name))
    return first, given


def printed(name, args, kwargs):
    """Prints a call: `excerpt(title, length=12)`."""
    return f"{name}({', '.join([*(a._text for a in args), *(f'{k}={v._text}' for k, v in kwargs.items())])})"


def has_columns(args, kwargs):
    """True when a call must become an expression: it has column arguments or is in a model's body."""
    if Phase.in_body():
        return True
    for arg in args:
        if isinstance(arg, Expr):
            return True
    for arg in kwargs.values():
        if isinstance(arg, Expr):
            return True
    return False


def given_arguments(display_name, parameters, args, kwargs):
    """The arguments of a call by parameter name. Raises AppFileError for unknown and missing ones."""
    given = by_name(display_name, parameters, args, kwargs)
    for parameter in parameters:
        if parameter.name not in given and parameter.default is NO_DEFAULT:
            raise AppFileError(
                f"{display_name}() is called without its argument '{parameter.name}'.",
                f"It takes: {', '.join(p.name for p in parameters)}",
            )
    return given


def by_name(display_name, parameters, args, kwargs):
    """The arguments of a call by parameter name. Raises AppFileError for unknown ones."""
    places = [p for p in parameters if p.mode != "keyword_only"]
    if len(args) > len(places):
        missing = [p.name for p in parameters if p.mode == "keyword_only" and p.name not in kwargs]
        raise AppFileError(
            f"{display_name}() takes {len(places)} positional arguments; {len(args)} are given.",
            f"Pass {missing[0]} by name: {display_name}({missing[0]}=...)"
            if missing
            else f"It takes: {', '.join(p.name for p in parameters) or 'nothing'}",
        )
    given = {parameter.name: arg for parameter, arg in zip(places, args)}
    named = [p.name for p in parameters if p.mode != "positional_only"]
    for name, value in kwargs.items():
        if name not in named:
            raise AppFileError(
                f"{display_name}() has no argument '{name}' that is given by name.",
                did_you_mean(name, named, f"It takes: {', '.join(p.name for p in parameters) or 'nothing'}"),
            )
        if name in given:
            raise AppFileError(f"{display_name}() is given its argument '{name}' twice.", "Give it once.")
        given[name] = value
    return given


def _argument(display_name, parameter, value):
    if value is None:
        if not parameter.nullable:
            raise AppFileError(
                f"{display_name}() is given None for '{parameter.name}', which is {display(parameter.kind)}.",
                f"Give it a value, or declare the parameter as {display(parameter.kind, True)}.",
            )
        return null(parameter.kind)
    if parameter.kind == "json" and isinstance(value, (dict, list, tuple)):
        return json_literal(value)
    # A library function takes any array; an application function declares which.
    is_any_array = parameter.kind == "array" and type(parameter.kind) is str
    if parameter.kind == "array" and not is_any_array and not isinstance(value, Expr):
        return array_literal(parameter.kind, value)
    expr = lift(value)
    if expr._kind == parameter.kind:
        return expr if parameter.kind != "array" or is_any_array else _array_argument(display_name, parameter, expr)
    if expr._kind == "int" and parameter.kind == "float" and not isinstance(value, Expr):
        return lift(float(value))
    if parameter.kind == "json" or (expr._kind, parameter.kind) in IMPLIED or expr._kind == "json":
        return cast(expr, parameter.kind)
    raise AppFileError(
        f"{display_name}() takes {display(parameter.kind)} for '{parameter.name}'; "
        f"{expr._text} is {display(expr._kind)}.",
        _other_argument(parameter, expr, value),
    )


def _other_argument(parameter, expr, value):
    """What to write in place of an argument of another type."""
    if parameter.kind in rules(expr._kind).casts:
        return (
            "Convert it, for example with "
            f"{expr._text if isinstance(value, Expr) else 'column'}.astype(db.{display(parameter.kind)})"
        )
    return (
        f"Give it a value of the type {display(parameter.kind)}, or, in a function of your own, "
        f"declare {parameter.name}: db.{display(expr._kind)}"
    )


def _array_argument(display_name, parameter, expr):
    from appdb.declare.array_type import fits

    if fits(expr._node["type"], parameter.kind.type):
        return expr
    raise AppFileError(
        f"{display_name}() takes {display(parameter.kind)} for '{parameter.name}'; "
        f"{expr._text} is {display(expr._kind)}.",
        "Declare the parameter with the dtype and shape of the column, or without a shape.",
    )


# Bool converts to Int, Int to Float; a Json value is checked at run time.
IMPLIED = (("bool", "int"), ("int", "float"))
