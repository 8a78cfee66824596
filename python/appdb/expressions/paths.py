"""Steps into a Json value: `doc.tags[0]`, `doc['a b']`, `doc.items[1:]`, `doc.items['*'].price`."""

from appdb.declare.constants import literal_value, plain
from appdb.declare.errors import AppFileError
from appdb.expressions import expr
from appdb.expressions.printing import ATOM, inner, key_text, slice_text

_MOST = 2**31  # PostgreSQL's own steps have this limit.


def item_of(base, step):
    """Returns the expression of `base[step]`. Raises AppFileError for an invalid step."""
    if base._kind != "json":
        raise AppFileError(
            f"{base._text}[{_shown(step)}] takes a part of {expr.article(base)}; only a Json value has parts.",
            "For text use .slice(start, stop)." if base._kind == "string" else "Declare the column as Json.",
        )
    if isinstance(step, str):
        if step == "*":
            return _path(base, {"wildcard": True}, "['*']")
        literal_value(plain(step))  # Refuses a text that no column can hold.
        return key_of(base, plain(step))
    if type(step) is int and abs(step) < _MOST:
        return _path(base, {"index": step}, f"[{step}]")
    if type(step) is slice:
        bounds = [step.start, step.stop, step.step]
        if all(bound is None or (type(bound) is int and abs(bound) < _MOST) for bound in bounds) and step.step != 0:
            return _path(base, {"slice": bounds}, slice_text(*bounds))
        raise AppFileError(
            f"The slice [{_shown(step)}] of {base._text} is not made of whole numbers.",
            "Write for example [1:3], [:-1] or [::2]; a step is never 0.",
        )
    raise AppFileError(
        f"A Json path has text, whole numbers and slices as steps, not {_shown(step)}.", "Write ['key'], [0] or [1:]."
    )


def key_of(base, key):
    """Returns the expression of the value under a key."""
    return _path(base, {"key": key}, key_text(key, expr.taken_names("json")))


def _path(base, step, text):
    node = base._node
    is_path = node["node"] == "path"
    steps = [*node["steps"], step] if is_path else [step]
    node = {"node": "path", "base": node["base"] if is_path else node, "steps": steps}
    path = expr.Expr("json", True, node, f"{inner(base, ATOM)}{text}", ATOM, (base,))
    path._base = base
    return path


def _shown(step):
    if type(step) is slice:
        bounds = [bound if bound is None else expr.shown(bound) for bound in (step.start, step.stop, step.step)]
        return slice_text(*bounds)[1:-1]
    return expr.shown(step)
