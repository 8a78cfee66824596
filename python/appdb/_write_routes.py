"""Columns of the routes that change rows which are there: `add_update_route`, `add_delete_route`."""

from appdb._errors import AppFileError, listed
from appdb._route_checks import names_of, read_by


def update_columns(model, path, inputs):
    """The (key, inputs) of an update route, as names. Raises AppFileError for columns that it cannot have."""
    table = model.__appdb_table__
    key = _key_of(table)
    if not key:
        raise AppFileError(
            f"{model.__name__} has no primary key; an update finds its row by one.",
            f"Declare one, for example id = db.Column(value=uuid7(), primary_key=True), or leave {path} out.",
        )
    makes_key = _read_by_key(table, key)
    if inputs is None:
        names = [c.name for c in table.columns.values() if c.value is None and c.name not in {*key, *makes_key}]
    else:
        names = names_of("inputs", table, inputs)
        for name in names:
            _check_input(table, key, makes_key, name, path)
    if not names:
        raise AppFileError(
            f"The route {path} has no inputs: there is nothing that it could change.",
            "Name a stored column that is not of the primary key in inputs=.",
        )
    return key, names


def delete_columns(model, path, match_columns):
    """The columns by which a delete route finds its rows, as names. Raises AppFileError where there are none."""
    table = model.__appdb_table__
    if match_columns is None:
        key = _key_of(table)
        if not key:
            raise AppFileError(
                f"{model.__name__} has no primary key, by which {path} would find its row.",
                f"Name the columns: match_columns=[{model.__name__}.column]",
            )
        return key
    names = names_of("match_columns", table, match_columns)
    if not names:
        raise AppFileError(
            f"match_columns= of {path} is empty; the route would delete all rows.", "Name at least one column."
        )
    return names


def _check_input(table, key, makes_key, name, path):
    if name in key:
        raise AppFileError(
            f"Column '{name}' is of the primary key and cannot be an input of {path}; a request names its row by it.",
            f"Take '{name}' out of inputs: the body has it anyway.",
        )
    if table.columns[name].value is not None:
        raise AppFileError(
            f"Column '{name}' is computed and cannot be an input of {path}.", f"Take '{name}' out of inputs."
        )
    if name in makes_key:
        raise AppFileError(
            f"The primary key ({listed(key)}) is computed from '{name}', which therefore cannot be an input of {path}.",
            f"Take '{name}' out of inputs: delete the row and insert another.",
        )


def _key_of(table):
    return [c.name for c in table.columns.values() if c.primary_key]


def _read_by_key(table, key):
    """The stored columns that the key is computed from."""
    return [name for name in read_by(table, key) if name not in key]
