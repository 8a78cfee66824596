"""The table of a bound model: a change of the table changes the columns of the class, too."""

from copy import copy

from appdb.client.definitions import declarations
from appdb.client.tables import Table
from appdb.declare.arguments import checked_methods
from appdb.declare.errors import Error, listed
from appdb.declare.indexes import Embedding
from appdb.declare.views import inherited_columns
from appdb.expressions.expr import ColumnRef
from appdb.queries.other_verbs import name_of_base


@checked_methods
class ModelTable(Table):
    """A table with the declarations of a model, which keep what a definition of the server lacks: the functions."""

    def __init__(self, database, model):
        super().__init__(database, model.__appdb_table__)
        self._model = model

    def rename_column(self, old_name, new_name):
        """Renames a column. Raises Error for one that other declarations of the models name."""
        readers = self._readers(old_name)
        if readers:
            raise Error(
                f"Column '{old_name}' of the model {self._name} is read by {listed(readers)}.",
                f'Rename it in the class, with db.Column(..., renamed_from="{old_name}"), and run update_all().',
                "has_dependents",
            )
        super().rename_column(old_name, new_name)

    def _missing_function_hint(self):
        base = self._model.__mro__[1]
        folder = self.path.rpartition("/")[0]
        return f'Nothing was stored. Store the functions of the models: {name_of_base(base)}.update_all("{folder}")'

    def _readers(self, name):
        own = self.__appdb_table__
        found = [f"{model.__name__}" for model in self._views()]
        for column in (*own.columns.values(), *own.hidden.values()):
            if column.value is not None and any(ref._name == name for ref in column.value._reads):
                found.append(column.name)
        return found + [f"index {index.name or ''}".strip() for index in own.indexes if name in index.columns]

    def _views(self):
        """The models of views over the table, each after what it is over."""
        models = self._model.__mro__[1].__appdb_models__
        views = [model for model in models if model.__appdb_table__.view is not None]
        return [model for model in views if self.__appdb_table__ in model.__appdb_table__.view.lineage]

    def _follow(self, change, made=()):
        database, declared = self.__appdb_database__, self.__appdb_table__
        if change["change"] == "add_columns":
            self._take_columns(made, change["if_exists"])
        elif change["change"] == "drop_columns":
            for name in change["columns"]:
                declared.columns.pop(name, None)
        elif change["change"] == "rename_column":
            self._take_name(change["column"], change["to"])
        elif change["change"] == "add_index":
            index, hidden = made
            names = (index.name, index.columns)
            declared.indexes = [one for one in declared.indexes if (one.name, one.columns) != names] + [index]
            declared.hidden.update(hidden)
        else:
            stored = [(index["name"], tuple(index["columns"])) for index in database.definition(declared.path)["indexes"]]
            kept = [one for one in declared.indexes if any(_is_same(one, *names) for names in stored)]
            vectors = {one.hidden for one in kept if isinstance(one, Embedding)}
            declared.indexes = kept
            declared.hidden = {name: column for name, column in declared.hidden.items() if name in vectors}
        for model in (self._model, *self._views()):
            _show_columns(model)

    def _take_columns(self, made, if_exists):
        declared = self.__appdb_table__
        known = None
        for column in made:
            if if_exists == "ignore" and column.name not in declared.columns:
                # The table may have had another column of this name.
                known = known or declarations(declared.path, self.__appdb_database__.definition(declared.path)).columns
                stored = known.get(column.name)
                if stored is not None and stored.ref._kind != column.ref._kind:
                    column = copy(stored)
                    column.ref = ColumnRef(declared, column.name, stored.ref._kind, stored.ref._nullable, stored.value is not None)
            if if_exists != "ignore" or column.name not in declared.columns:
                declared.columns[column.name] = column

    def _take_name(self, old, new):
        declared = self.__appdb_table__
        columns = {}
        for name, column in declared.columns.items():
            if name == old:
                column = copy(column)
                column.name = new
                column.ref = ColumnRef(declared, new, column.ref._kind, column.ref._nullable, column.value is not None)
            columns[column.name] = column
        declared.columns = columns


def _is_same(index, name, columns):
    return tuple(index.columns) == columns and index.name in (None, name)


def _show_columns(model):
    """Gives the class the attributes of its columns, and a view those of its base."""
    declared = model.__appdb_table__
    if declared.view is not None:
        shown = inherited_columns(declared)
        for name in [name for name in declared.inherited if name not in shown]:
            if declared.columns.get(name) is declared.inherited.pop(name):
                del declared.columns[name]
        for name, column in shown.items():
            if name not in declared.columns:
                declared.inherited[name] = declared.columns[name] = column
    for name, value in list(model.__dict__.items()):
        if isinstance(value, ColumnRef) and name not in declared.columns:
            type.__delattr__(model, name)
    for name, column in declared.columns.items():
        if model.__dict__.get(name) is not column.ref:
            type.__setattr__(model, name, column.ref)
