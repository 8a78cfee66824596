"""Prints expressions in valid Python, with parentheses only where its grammar needs them."""

# Binding strength of printed forms, as in Python's grammar.
ATOM, POWER, UNARY, PRODUCT, SUM, AND, OR, COMPARE = 8, 7, 6, 5, 4, 3, 2, 1


def inner(expr, least):
    """The text of a part that must bind at least as tightly as `least`."""
    return expr._text if expr._binds >= least else f"({expr._text})"


def infix(left, sign, right, binds):
    """Prints `left sign right`."""
    # All operators are left-associative except **, whose exponent may have a sign. Comparisons would form a chain.
    first, second = binds, binds + 1
    if binds == POWER:
        first, second = ATOM, UNARY
    elif binds == COMPARE:
        first = second
    return f"{inner(left, first)} {sign} {inner(right, second)}"


def key_text(key, taken):
    """Prints a step to a key of a Json value: `.name`, or `['a b']` for a key that is not a valid attribute."""
    from keyword import iskeyword

    plain = key.isascii() and key.isidentifier() and not key.startswith("_") and not iskeyword(key)
    return f".{key}" if plain and key not in taken else f"[{key!r}]"


def slice_text(start, stop, step):
    """Prints a slice: `[1:]`, `[::2]`."""
    first, last = ("" if bound is None else str(bound) for bound in (start, stop))
    return f"[{first}:{last}]" if step is None else f"[{first}:{last}:{step}]"
