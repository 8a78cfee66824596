"""Routes that change rows which are there: `add_update_route`, `add_delete_route`."""

from appdb._errors import AppFileError, listed
from appdb._route_checks import names_of, read_by


class UpdateRoute:
    """One route over a model: the key of a row and new values in by `inputs`, its `outputs` out."""

    __slots__ = tuple(
        "method path model key inputs outputs on_error answerer export background source".split()
    )

    def __init__(self, path, model, key, inputs, outputs, on_error, answerer, export, background, source):
        self.method = "post"
        self.path = path
        self.model = model
        self.key = key
        self.inputs = inputs
        self.outputs = outputs
        self.on_error = on_error
        self.answerer = answerer
        self.export = export
        self.background = background
        self.source = source

    @property
    def models(self):
        """Models that the route names."""
        return (self.model,)

    @property
    def queries(self):
        """Queries that the route names."""
        return ()

    def document(self):
        """The route as in the manifest, without its source."""
        return {
            "kind": "update",
            "method": self.method,
            "path": self.path,
            "table": self.model.__appdb_table__.name,
            "key": self.key,
            "inputs": self.inputs,
            "outputs": self.outputs,
            "on_error": self.on_error,
            "handler": None if self.answerer is None else self.answerer.document(),
            **({} if self.export is None else {"export_sql": self.export.document()}),
            **({} if self.background is None else {"background": self.background.document()}),
        }


class DeleteRoute:
    """One route over a model: values in by `match_columns`, the number of the rows that had them out."""

    __slots__ = ("method", "path", "model", "match_columns", "background", "source")

    def __init__(self, path, model, match_columns, background, source):
        self.method = "post"
        self.path = path
        self.model = model
        self.match_columns = match_columns
        self.background = background
        self.source = source

    @property
    def models(self):
        """Models that the route names."""
        return (self.model,)

    @property
    def queries(self):
        """Queries that the route names."""
        return ()

    def document(self):
        """The route as in the manifest, without its source."""
        return {
            "kind": "delete",
            "method": self.method,
            "path": self.path,
            "table": self.model.__appdb_table__.name,
            "match_columns": self.match_columns,
            **({} if self.background is None else {"background": self.background.document()}),
        }


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
