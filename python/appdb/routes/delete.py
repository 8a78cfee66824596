"""Routes that delete rows."""

from appdb.declare.declared import caller
from appdb.declare.errors import AppFileError
from appdb.routes._base import checked_options
from appdb.routes._rows import ModelRoute, check_model, key_of, names_of


class DeleteRoute(ModelRoute):
    """One route over a model: takes values of `match_columns`, returns the number of deleted rows."""

    __slots__ = ("match_columns",)
    kind = "delete"
    option_names = ("path", "match_columns", "background")

    def _parts(self):
        return {**super()._parts(), "match_columns": self.match_columns}


def add_delete_route(self, model, path=None, match_columns=None, **options):
    """Serves POST `path`: deletes the rows with all values of a body and returns `{"num_rows": n}`.

    A body has each of `match_columns`, by default the primary key; null matches rows without a value. Raises
    AppFileError for an empty list, and for a model without a key if no columns are named.
    """
    background = checked_options(DeleteRoute, options)
    check_model(DeleteRoute, model)
    self._take_path(DeleteRoute, path)
    made = DeleteRoute(path, model, background, caller(1))
    made.match_columns = _columns(model, path, match_columns)
    self._routes.append(made)


def _columns(model, path, match_columns):
    """The names of the columns by which the route finds its rows. Raises AppFileError without any."""
    table = model.__appdb_table__
    if match_columns is None:
        key = key_of(table)
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
