"""Routes that change an existing row."""

from appdb.declare.declared import caller
from appdb.declare.errors import AppFileError, listed
from appdb.routes._rows import RowRoute, key_of, names_of, read_by, stored_names


class UpdateRoute(RowRoute):
    """One route over a model that finds its row by `key` and changes it."""

    __slots__ = ("key",)
    kind = "update"
    option_names = (
        *("path", "inputs", "outputs", "on_error", "uploadfile_inputs", "return_fileresponse"),
        *("export_sql", "background"),
    )

    def _inputs(self, table, inputs):
        key = self.key = key_of(table)
        if not key:
            raise AppFileError(
                f"{self.model.__name__} has no primary key; an update finds its row by one.",
                f"Declare one, for example id = db.Column(value=uuid7(), primary_key=True), or leave {self.path} out.",
            )
        makes_key = _read_by_key(table, key)
        if inputs is None:
            excluded = {*key, *makes_key}
            names = [name for name in stored_names(table) if name not in excluded]
        else:
            names = [*names_of("inputs", table, inputs), *self.uploads]
            for name in names:
                _check_input(table, key, makes_key, name, self.path)
        if not names:
            raise AppFileError(
                f"The route {self.path} has no inputs, so it cannot change anything.",
                "Name a stored column that is not of the primary key in inputs=.",
            )
        return names

    def _parts(self):
        return {**super()._parts(), "key": self.key}


def add_update_route(self, model, path=None, inputs=None, outputs=None, on_error="abort", **options):
    """Serves POST `path`: changes the row of a primary key and returns its `outputs`, by default all columns.

    A body has the key and any of `inputs`, by default all other columns that are not computed. Omitted fields keep
    their values; null clears. `uploadfile_inputs` are media columns whose files come as parts of a form. Dependent
    columns are recomputed. If that fails the row stays unchanged, or, with `on_error="ignore"`, the cell is null with
    its error. 404 if the row does not exist. Raises AppFileError for a model without a key, and for inputs of the key
    or computed ones.
    """
    UpdateRoute.declare(self, model, path, inputs, outputs, options, caller(1), on_error)


def update_route(self, model, path=None, inputs=None, outputs=None, on_error="abort", **options):
    """Decorator: an update route whose response is the function's result. Otherwise like `insert_route`."""
    source = caller(1)
    return lambda function: UpdateRoute.declare(self, model, path, inputs, outputs, options, source, on_error, function)


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


def _read_by_key(table, key):
    """The stored columns that the key is computed from."""
    return [name for name in read_by(table, key) if name not in key]
