"""Chooses the signature of a function for a call, independent of the order of declaration."""

from appdb.declare.array_type import fits
from appdb.declare.errors import AppFileError
from appdb.declare.types import Kind, manifest_type
from appdb.expressions.expr import Expr, lift
from appdb.kinds import rules
from appdb.udfs.calls import IMPLIED, NO_DEFAULT, bind
from appdb.udfs.signatures import refused


def choose(name, overloads, args, kwargs):
    """The overload whose types are nearest to the arguments; None if none matches.

    The exact type wins over a wider one (Int over Float, anything over Json). Next, a nullable parameter wins for a
    nullable argument. Then the signature with fewer unused defaults wins. Raises AppFileError if two remain.
    """
    fitting = [overload for overload in overloads if _fits(name, overload, args, kwargs)]
    if len(fitting) < 2:
        return fitting[0] if fitting else None
    given = [*((place, *_source(arg)) for place, arg in enumerate(args)), *((k, *_source(v)) for k, v in kwargs.items())]
    for overload in fitting:
        if all(other is overload or _is_nearer(overload, other, given) for other in fitting):
            return overload
    best = [one for one in fitting if not any(_is_nearer(other, one, given) for other in fitting)]
    shown = "; ".join(f"{one.signature.shown(name)} in line {_line(one)}" for one in best or fitting)
    raise AppFileError(
        f"A call of {name}() fits {len(best or fitting)} of its signatures equally well: {shown}.",
        "Convert the argument to the type that is meant, for example with column.astype(db.Int).",
    )


def check_pairs(name, overloads):
    """Refuses the last overload if some calls are equally near to it and an earlier one.

    A pair like (Int, Float) and (Float, Int) is allowed if an earlier signature takes the calls that match both.
    """
    *before, added = overloads
    for other in before:
        for given in _common_calls(other, added):
            if _is_nearer(added, other, given) or _is_nearer(other, added, given):
                continue
            if any(_decides(one, other, added, given) for one in before if one is not other):
                continue
            raise refused(
                added.written,
                f"No call could tell {other.signature.shown(name)} in line {_line(other)} from "
                f"{added.signature.shown(name)} in line {_line(added)}: some arguments fit both equally well.",
                f"Give one of them other types, or put a signature for what both take above line {_line(added)}.",
            )


def _fits(name, overload, args, kwargs):
    try:
        bind(name, overload.parameters, args, kwargs)
    except AppFileError:
        return False
    return True


def _source(value):
    """The type of an argument: (kind, whether it may be null). The kind of None is None."""
    if value is None:
        return None, True
    if isinstance(value, (dict, list, tuple)):
        return "json", False
    if type(value).__name__ == "ndarray":
        return "array", False
    expr = lift(value)
    return expr._kind, expr._nullable if isinstance(value, Expr) else False


def _is_nearer(one, other, given):
    """Whether a signature is at least as near in every argument and nearer in some. `given`: (place or name, kind,
    null)."""
    pairs = [(_parameter(one, at), _parameter(other, at), kind, null) for at, kind, null in given]
    steps = [_compare(a.kind, b.kind, kind) for a, b, kind, _ in pairs]
    if any(steps):
        return all(step in (0, -1) for step in steps)
    steps = [(a.nullable != null) - (b.nullable != null) for a, b, _, null in pairs]
    if any(steps):
        return max(steps) <= 0
    return len(one.parameters) < len(other.parameters)


def _parameter(overload, at):
    return overload.parameters[at] if isinstance(at, int) else next(p for p in overload.parameters if p.name == at)


def _compare(one, other, source):
    """-1 if the first kind is nearer to the source, 1 if the other is, 0 if they are equal, 2 if they cannot be
    compared."""
    if manifest_type(one) == manifest_type(other):
        return 0
    if source is None:
        return 2
    if source == "json" and not one == other == "array":
        nearer, further = _distance_of_json(one, source), _distance_of_json(other, source)
        return 2 if nearer == further else -1 if nearer < further else 1
    if _takes(other, one):
        return -1
    return 1 if _takes(one, other) else 2


def _distance_of_json(kind, source):
    """A Json value is checked at run time, so no other type is nearer to it than another."""
    if kind != "json":
        return 3
    if manifest_type(kind) == manifest_type(source):
        return 0
    return 2 if type(kind) is Kind else 1


def _takes(wide, kind):
    """Whether a parameter takes every value of another kind."""
    if wide == "array" == kind:
        return type(wide) is str or (type(kind) is Kind and fits(kind.type, wide.type))
    if wide == "json":
        return "json" in rules(kind).casts and (type(wide) is str or kind != "json")
    return (kind, wide) in IMPLIED


def _common_calls(one, other):
    """The calls that match both by type, one for each number of positional arguments."""
    places, others = _places(one), _places(other)
    by_name = {p.name for p in (*one.parameters, *other.parameters) if _is_required_by_name(p)}
    for count in range(min(len(places), len(others)) + 1):
        if any(p.default is NO_DEFAULT for p in (*places[count:], *others[count:])):
            continue
        given = [(place, _common(places[place].kind, others[place].kind), False) for place in range(count)]
        for name in by_name:
            found = [p for p in (*one.parameters[count:], *other.parameters[count:]) if p.name == name]
            given.append((name, _common(found[0].kind, found[1].kind) if len(found) == 2 else None, False))
        if all(kind is not None for _, kind, _ in given):
            yield given


def _decides(third, one, other, given):
    """Whether a third signature takes such a call and is nearer than both."""
    names = {p.name for p in third.parameters}
    count = sum(isinstance(at, int) for at, _, _ in given)
    if count > len(_places(third)) or not names.issuperset(at for at, _, _ in given if not isinstance(at, int)):
        return False
    found = {_parameter(third, at).name: kind for at, kind, _ in given}
    if any(p.default is NO_DEFAULT and p.name not in found for p in third.parameters):
        return False
    if not all(_common(p.kind, found[p.name]) == found[p.name] for p in third.parameters if p.name in found):
        return False
    return _is_nearer(third, one, given) and _is_nearer(third, other, given)


def _places(overload):
    return [p for p in overload.parameters if p.mode != "keyword_only"]


def _is_required_by_name(parameter):
    return parameter.mode == "keyword_only" and parameter.default is NO_DEFAULT


def _common(one, other):
    """The widest kind that parameters of both kinds take; None if there is only Json, which is checked at run time."""
    if manifest_type(one) == manifest_type(other) or _takes(other, one):
        return one
    return other if _takes(one, other) else None


def _line(overload):
    return overload.written.__code__.co_firstlineno
