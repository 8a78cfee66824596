"""How expressions are printed: as Python would read them again, with parentheses only where its grammar needs them."""

# How tightly printed forms bind, as in Python's grammar.
ATOM, POWER, UNARY, PRODUCT, SUM, AND, OR, COMPARE = 8, 7, 6, 5, 4, 3, 2, 1


def inner(expr, least):
    """The text of a part that must bind at least as tightly as `least`."""
    return expr._text if expr._binds >= least else f"({expr._text})"


def infix(left, sign, right, binds):
    """Prints `left sign right`."""
    # Everything binds to the left but **, whose exponent may carry a sign; comparisons would make a chain.
    first, second = binds, binds + 1
    if binds == POWER:
        first, second = ATOM, UNARY
    elif binds == COMPARE:
        first = second
    return f"{inner(left, first)} {sign} {inner(right, second)}"


def key_text(key, taken):
    """Prints a step to a key of a Json value: `.name`, or `['a b']` where no attribute can be called so."""
    from keyword import iskeyword

    plain = key.isascii() and key.isidentifier() and not key.startswith("_") and not iskeyword(key)
    return f".{key}" if plain and key not in taken else f"[{key!r}]"


def slice_text(start, stop, step):
    """Prints a slice: `[1:]`, `[::2]`."""
    first, last = ("" if bound is None else str(bound) for bound in (start, stop))
    return f"[{first}:{last}]" if step is None else f"[{first}:{last}:{step}]"
