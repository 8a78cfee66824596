"""Wrong arguments of iterators: one check serves the declaration, for constants, and each run."""

from appdb.declare.errors import did_you_mean


class BadArgument(ValueError):
    """An argument that an iterator refuses: `detail` describes it, `hint` the correction."""

    def __init__(self, detail, hint):
        super().__init__(f"{detail} {hint}")
        self.detail = detail
        self.hint = hint


def words(function, name, text, known):
    """The words of a comma list, in the order of `known`, each once. Raises BadArgument for others."""
    given = [word.strip().lower() for word in text.split(",")]
    for word in given:
        if word and word not in known:
            raise BadArgument(
                f"{function}() has no {name} '{word[:40]}'.", did_you_mean(word, known, f"It has {', '.join(known)}.")
            )
    return tuple(word for word in known if word in given)


def check_number(function, name, value, least, most=None, above=False):
    """Raises BadArgument for a number outside of its bounds; None is not given. `above`: `least` itself is refused."""
    if value is None:
        return
    is_low = not value > least if above else not value >= least
    if is_low or (most is not None and value > most):
        begin = f"above {least}" if above else f"from {least}"
        raise BadArgument(
            f"{function}() takes {name} {begin}{'' if most is None else f' to {most}'}, not {value}.",
            f"Give another {name}, or omit it.",
        )


def check_choice(function, name, value, known):
    """Raises BadArgument for a text that is none of `known`."""
    if value is not None and value not in known:
        raise BadArgument(
            f"{function}() has no {name} {value[:40]!r}.", did_you_mean(value, known, f"It has {', '.join(known)}.")
        )


def check_pair(function, name, value, least):
    """Raises BadArgument for anything but two whole numbers from `least`; None is not given."""
    is_pair = type(value) in (list, tuple) and len(value) == 2 and all(type(one) is int for one in value)
    if value is not None and not (is_pair and min(value) >= least):
        raise BadArgument(
            f"{function}() takes {name} of [width, height] in pixels, both at least {least}, not {str(value)[:80]}.",
            f"Write for example {name}=(256, 256)." if least else f"Write for example {name}=(32, 32).",
        )


def check_one_of(function, names, values, by_row):
    """Raises BadArgument unless exactly one of several arguments is given."""
    given = [name for name in names if name in by_row or values[name] is not None]
    if len(given) != 1:
        said = "none is given" if not given else f"{' and '.join(given)} are given"
        raise BadArgument(f"{function}() takes {' or '.join(names)}; {said}.", f"Give {' or '.join(names)} alone.")
