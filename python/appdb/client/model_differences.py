"""How a table differs from the model that is bound to it."""

from appdb.client.definitions import kind_of
from appdb.client.errors import ConflictError
from appdb.declare.types import display, manifest_type
from appdb.queries.other_verbs import name_of_base


def refuse_different(base, target, database, models):
    """Raises ConflictError if a table lacks columns of its model, or has others; `models` are pairs with paths.

    A model may name some of the columns only.
    """
    told = []
    for model, path in models:
        differences = _differences(model.__appdb_table__, database.definition(path))
        if differences:
            told.append(f"{database.target.path(path)} differs from the model {model.__name__}: {'; '.join(differences)}.")
    if not told:
        return
    name = name_of_base(base)
    hint = f'See all differences: {name}.get_model_diff("{target}"). Change the tables: {name}.update_all("{target}")'
    raise ConflictError("\n".join(told), hint, "schema_changed")


def _differences(declared, definition):
    if (declared.view is None) != (definition.get("view") is None):
        return ["it is a view" if declared.view is None else "it is not a view"]
    stored = {column["name"]: column for column in (*definition["columns"], *(definition.get("unstored") or ()))}
    found = []
    for name, column in declared.columns.items():
        if name in declared.inherited or not column.is_stored:
            continue
        theirs = stored.get(name)
        if theirs is None:
            found.append(f"it has no column '{name}'")
            continue
        # A computed column of a view may be null in the table, whatever its model says.
        is_as_nullable = column.value is not None or column.ref._nullable == theirs["nullable"]
        if manifest_type(column.ref._kind) != theirs["type"] or not is_as_nullable:
            shown = _shown(kind_of(theirs["type"]), theirs["nullable"])
            found.append(f"column '{name}' is {shown}, and the model says {_shown(column.ref._kind, column.ref._nullable)}")
            continue
        computed = None if theirs["computed"] is None else theirs["computed"]["text"]
        value = None if column.value is None else column.value._text
        if computed != value:
            found.append(f"column '{name}' is {_value(computed)}, and the model says {_value(value)}")
    return found


def _shown(kind, nullable):
    return display(kind) + (" | None" if nullable else "")


def _value(text):
    return "not computed" if text is None else text if len(text) <= 200 else f"{text[:200]}..."
