"""`column.similarity(string=...)`: compares a column's vectors in an embedding index with another vector."""

from appdb.declare.declaring import Phase
from appdb.declare.errors import AppFileError, did_you_mean, listed
from appdb.declare.types import display
from appdb.expressions import expr
from appdb.kinds import rules

_GIVEN = ("string", "image", "audio", "video", "document", "json", "vector")


def similarity(column, given, idx):
    """The expression of `column.similarity(...)`; `given` has its arguments by name. Raises AppFileError."""
    text = f"{column._text}.similarity"
    if Phase.in_body():
        raise AppFileError(
            f"{text}(...) cannot be used in a model: a likeness needs a value from a query.",
            "Write it in a function marked @db.query: select(...), where(...) or order_by(..., asc=False).",
        )
    unknown = [name for name in given if name not in _GIVEN]
    if unknown or len(given) != 1:
        what = "is given two values" if given else "is given nothing"
        if unknown:
            what = f"has no argument '{unknown[0]}'"
        raise AppFileError(f"{text}() {what}.", f'Write {text}(string="words"), or vector= for a vector.')
    ((name, value),) = given.items()
    index = _index(column, idx)
    value = _vector(index, text, value) if name == "vector" else _value(column, index, text, name, value)
    node = {
        "node": "similarity",
        "column": column._name,
        "of": column._owner.name,
        "index": index.name,
        "metric": index.metric,
        "value": value._node,
    }
    shown = f"{text}({name}={value._text}{'' if idx is None else f', idx={idx!r}'})"
    return expr.Expr("float", True, node, shown, parts=(column, value))


def named_value(column, values, given):
    """The named arguments of `similarity()`: a positional one has its own kind or the column's, or is a vector."""
    if not values:
        return given
    text = f"{column._text}.similarity"
    if len(values) > 1 or given:
        raise AppFileError(f"{text}() is given several values.", f'Write {text}(string="words"), or vector= for a vector.')
    (value,) = values
    is_vector = isinstance(value, (list, tuple)) or hasattr(value, "tolist") or getattr(value, "_kind", None) == "array"
    kind, given_kind = str(column._kind), str(getattr(value, "_kind", "string"))
    if kind == "json":
        return {"json": value}
    if is_vector or (kind == "array" and given_kind not in _GIVEN):
        return {"vector": value}
    return {given_kind if given_kind in _GIVEN else "string": value}


def _index(column, idx):
    found = [one for one in column._owner.all_indexes() if hasattr(one, "metric") and one.columns == (column._name,)]
    if not found:
        raise AppFileError(
            f"Column '{column._name}' of {column._owner.model} has no embedding index.",
            f"Add __indexes__ = [db.EmbeddingIndex({column._name}, embedding=function)] to {column._owner.model}.",
        )
    names = [one.name for one in found]
    if idx is None:
        if len(found) > 1 and None in names:
            raise AppFileError(
                f"Column '{column._name}' has {len(found)} embedding indexes, and {names.count(None)} of them without a name.",
                f'Name each of them: db.EmbeddingIndex({column._name}, name="by_words", ...), and choose one: idx="by_words"',
            )
        if len(found) > 1:
            raise AppFileError(
                f"Column '{column._name}' has several embedding indexes: {listed(names)}.",
                f'Name one of them: idx="{names[0]}"',
            )
        return found[0]
    if idx not in names:
        known = [name for name in names if name is not None]
        otherwise = f"It has {listed(known)}." if known else "Omit idx=: it has one, without a name."
        raise AppFileError(
            f"Column '{column._name}' has no embedding index {idx!r}.", did_you_mean(str(idx), known, otherwise)
        )
    return found[names.index(idx)]


def _value(column, index, text, name, value):
    """The input of the index's function for values of this kind."""
    is_own = column._kind == name and index.hidden is not None
    if not is_own and name not in index.embeds:
        raise _cannot_compare(column, index, text, name)
    if name == "json" and not isinstance(value, expr.Expr):
        return _constant(expr.json_literal(value), text, name)
    if rules(name).check is not None and not isinstance(value, expr.Expr):
        raise AppFileError(
            f"{text}({name}=) takes a parameter of the query, not {value!r:.60}.",
            f"Give the query a parameter {name}: db.{display(name)}, and write {text}({name}={name}).",
        )
    value = expr.lift(value)
    if value._kind != name:
        raise AppFileError(
            f"{text}({name}=) takes {display(name)}; {value._text} is {display(value._kind)}.",
            _HOW_TO_GIVE.get(name, f"Give it a parameter of type db.{display(name)}."),
        )
    return _constant(value, text, name)


_HOW_TO_GIVE = {"string": "Give it text, or a parameter of type str.", "json": "Give it a Json value."}


def _cannot_compare(column, index, text, name):
    kinds = [*([str(column._kind)] if index.hidden is not None else []), *index.embeds]
    if not kinds:
        return AppFileError(
            f"{text}({name}=) needs a function that makes vectors, and the index is on vectors themselves.",
            f"Write {text}(vector=...).",
        )
    otherwise = "" if name == "json" else f", or give the index a function for it: {name}_embed=function"
    return AppFileError(
        f"{text}({name}=) is asked of {display(column._kind)}, and the index has no function for {display(name)}.",
        f"Write {text}({kinds[0]}=...){otherwise}",
    )


def _vector(index, text, value):
    kind = index.kind
    if not isinstance(value, expr.Expr):
        value = expr.array_literal(kind, value)
    elif value._kind == "array":
        given = value._kind.type
        if not given["dtype"].startswith("float") or given["shape"] not in (None, [None], [index.dimensions]):
            raise AppFileError(
                f"{text}(vector=) takes {display(kind)}; {value._text} is {display(value._kind)}.",
                f"Declare the parameter as db.Array[({index.dimensions},), db.Float].",
            )
    elif value._kind != "json" or index.kind_of_column == "json":
        raise AppFileError(
            f"{text}(vector=) takes {display(kind)}; {value._text} is {display(value._kind)}.",
            f"Declare the parameter as db.Array[({index.dimensions},), db.Float].",
        )
    return _constant(value, text, "vector")


def _constant(value, text, name):
    if value._reads:
        raise AppFileError(
            f"{text}({name}=) is given {value._text}, which differs by row.",
            "Give it a constant or a parameter of the query: its vector is made once.",
        )
    return value
