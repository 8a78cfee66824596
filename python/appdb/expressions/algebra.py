"""The results of operators. Checks the operands' types and adds conversions that Python implies."""

from appdb.declare.errors import AppFileError
from appdb.declare.types import display
from appdb.expressions import expr
from appdb.expressions.printing import ATOM, COMPARE, POWER, PRODUCT, SUM, UNARY, infix, inner
from appdb.kinds import rules

_NUMBERS = ("bool", "int", "float")
_BINDS = {"+": SUM, "-": SUM, "**": POWER}


def arithmetic(function, sign, left, right):
    """`left + right` and similar. A Bool counts as an Int, a Json value next to a number as a Float."""
    left, right = _operand(sign, left), _operand(sign, right)
    text = infix(left, sign, right, _BINDS.get(sign, PRODUCT))
    binds = _BINDS.get(sign, PRODUCT)
    kinds = {left._kind, right._kind}
    if kinds <= {*_NUMBERS, "json"}:
        left, right = _number(left), _number(right)
        kind = _number_kind(sign, left, right)
    elif (sign == "+" and kinds == {"string"}) or (sign == "*" and kinds == {"string", "int"}):
        kind = "string"
    else:
        raise _mismatch(sign, text, left, right)
    return expr.call(function, [left, right], kind, left._nullable or right._nullable, text, binds)


def sign_of(function, sign, value):
    """`-value`, or `+value`, which is the number itself."""
    if value._kind not in (*_NUMBERS, "json"):
        raise _mismatch(sign, f"{sign}{inner(value, UNARY)}", value)
    text = f"{sign}{inner(value, UNARY)}"
    number = _number(value)
    if function is None:
        return value if number is value else expr.call("op.cast", [value], number._kind, value._nullable, text, UNARY)
    value = number
    return expr.call(function, [value], value._kind, value._nullable, text, UNARY)


def absolute(value):
    """`abs(value)`."""
    return _of_number("abs", "op.abs", value, [])


def rounded(value, digits):
    """`round(value)` and `round(value, digits)`: half to even; the type stays."""
    if digits is None:
        return _of_number("round", "op.round", value, [])
    digits = expr.lift(digits)
    if digits._kind != "int":
        raise AppFileError(
            f"round() takes a whole number of digits; {digits._text} is {display(digits._kind)}.", "Write round(x, 2)."
        )
    return _of_number("round", "op.round", value, [digits])


def comparison(function, sign, left, right):
    """`left == right` and similar; with None, == and != test for null."""
    if right is None:
        if sign not in ("==", "!="):
            raise AppFileError(f"{left._text} {sign} None has no meaning.", "Write == None or != None.")
        name = "op.is_null" if sign == "==" else "op.is_not_null"
        return expr.call(name, [left], "bool", False, f"{inner(left, COMPARE + 1)} {sign} None", COMPARE)
    right = _operand(sign, right, left)
    text = infix(left, sign, right, COMPARE)
    alike = _alike([left, right], sign in ("==", "!="))
    if alike is None:
        raise _mismatch(sign, text, left, right)
    return expr.call(function, alike, "bool", left._nullable or right._nullable, text, COMPARE)


def one_of(value, options):
    """`value.isin(options)`, like SQL's IN: null for a null value, or without a match if an option is null."""
    if isinstance(options, expr.Expr) and options._kind == "json":
        text = f"{inner(value, ATOM)}.isin({options._text})"
        return expr.call("op.in", [expr.cast(value, "json")], "bool", True, text, kwargs={"options": options})
    if isinstance(options, (set, frozenset)):
        # A set has no order; printing and comparison need one.
        options = sorted(options, key=lambda option: (type(option).__name__, repr(option)))
    if not isinstance(options, expr.Expr) and getattr(options, "ndim", None) == 1:
        options = list(options)  # A NumPy array, or a Series or Index of pandas.
    if not isinstance(options, (list, tuple)):
        raise AppFileError(
            f"isin wants a list of values, not {expr.shown(options)}.",
            "Write for example .isin(['a', 'b']), or give it a Json value that is a list.",
        )
    parts = [expr.null(value._kind) if option is None else _operand("isin", option, value) for option in options]
    text = f"{inner(value, ATOM)}.isin([{', '.join(part._text for part in parts)}])"
    alike = _alike([value, *parts], True)
    if alike is None:
        raise _mismatch("isin", text, value, *parts)
    nullable = bool(parts) and any(part._nullable for part in alike)
    return expr.call("op.in", alike, "bool", nullable, text)


def logic(function, sign, binds, left, right):
    """`left & right` and `left | right`."""
    left, right = _operand(sign, left), _operand(sign, right)
    text = infix(left, sign, right, binds)
    if left._kind != "bool" or right._kind != "bool":
        raise _mismatch(sign, text, left, right)
    return expr.call(function, [left, right], "bool", left._nullable or right._nullable, text, binds)


def negation(value):
    """`~value`."""
    text = f"~{inner(value, UNARY)}"
    if value._kind != "bool":
        raise _mismatch("~", text, value)
    return expr.call("op.not", [value], "bool", value._nullable, text, UNARY)


def _of_number(name, function, value, rest):
    text = f"{name}({', '.join([value._text, *(part._text for part in rest)])})"
    if value._kind not in (*_NUMBERS, "json"):
        raise _mismatch(name, text, value)
    args = [_number(value), *rest]
    return expr.call(function, args, args[0]._kind, any(arg._nullable for arg in args), text)


def _number(value):
    """The operand as a number, with the conversion that its type implies."""
    if value._kind == "bool":
        return expr.cast(value, "int")
    return expr.cast(value, "float") if value._kind == "json" else value


def _number_kind(sign, left, right):
    if sign == "/" or "float" in (left._kind, right._kind):
        return "float"
    # A negative constant exponent gives a fraction, in Python too.
    return "float" if sign == "**" and str(right._node.get("value", "")).startswith("-") else "int"


def _alike(parts, is_equality):
    """The operands of a comparison with implied conversions; None if they cannot be compared."""
    kinds = {part._kind for part in parts}
    if "array" in kinds:
        return None  # NumPy compares element by element, which gives no Bool.
    if len(kinds) == 1:
        return parts if is_equality or kinds != {"json"} else None
    if "json" in kinds and is_equality:
        return [expr.cast(part, "json") for part in parts]
    if kinds <= {*_NUMBERS, "json"}:
        return [_number(part) for part in parts]
    if kinds == {"json", "string"}:
        return [expr.cast(part, "string") for part in parts]
    return None


def _operand(sign, value, beside=None):
    if value is None:
        raise AppFileError(f"None cannot be used with '{sign}'.", "Test for null with == None.")
    if type(value) is str and beside is not None and rules(beside._kind).is_text_in_json:
        return _constant_of(beside._kind, value)
    return expr.lift(value)


def _constant_of(kind, text):
    """The constant that a text means next to a Timestamp, a Date or a UUID."""
    from appdb.kinds import casting

    try:
        return expr.literal(casting("string", kind)(text))
    except (ValueError, OverflowError):
        example = {"timestamp": "2024-12-31T23:59:00Z", "date": "2024-12-31"}.get(kind, "a UUID as hex digits")
        raise AppFileError(
            f"{expr.shortened(repr(text))} is not a valid {display(kind)}.", f"Write it like {example}."
        ) from None


def _mismatch(sign, text, *operands):
    kinds = " and ".join(dict.fromkeys(display(operand._kind) for operand in operands))
    both = len(operands) == 2 and operands[0]._kind == operands[1]._kind
    hint = f"Convert one side, for example {_conversion(operands) or 'with .astype(db.String)'}."
    if "json" in [operand._kind for operand in operands]:
        hint = "Say what the Json value is, for example with .astype(db.Int)."
    elif sign in "&|":
        hint = "Put each comparison in parentheses: (a > 1) & (b == 2)"
    elif len(operands) == 1 or both or not all(rules(operand._kind).casts for operand in operands):
        hint = "Compute it in a function marked @udf."
    return AppFileError(f"'{sign}' does not work on {kinds}: {expr.shortened(text, 300)}", hint)


def _conversion(operands):
    """The conversion of one operand to the other's type, if that is possible and no constant is involved."""
    if len(operands) != 2:
        return None
    for one, other in (operands, operands[::-1]):
        if one._node["node"] != "literal" and other._kind in rules(one._kind).casts:
            return f"{expr.shortened(inner(one, ATOM))}.astype(db.{display(other._kind)})"
    return None
