"""A table or view of a database: `docs = db.get_table("main/docs")`."""

from appdb.client import changing, computing, showing, writing
from appdb.client.databases import database_of
from appdb.client.definitions import column_of
from appdb.client.elsewhere import refuse_method, refuse_options
from appdb.client.paths import refuse_versions
from appdb.client.reading import BoundQuery
from appdb.declare.arguments import checked_methods
from appdb.declare.errors import AppFileError, Error


@checked_methods
class Table:
    """A table or view. Its columns are attributes: `docs.title`, or `docs["title"]` where a method has the name."""

    def __init__(self, database, declared):
        self.__name__ = declared.model
        self.__appdb_table__ = declared
        self.__appdb_database__ = database

    @property
    def _path(self):
        return self.__appdb_table__.path

    def _follow(self, _change, _made=()):
        """Takes over what a change of the table did."""
        self.__appdb_database__.refresh(self.__appdb_table__)

    @property
    def _name(self):
        return self.__appdb_table__.model

    def _missing_function_hint(self):
        """What to do if a function of a column is missing; None for what the server says."""
        return None

    # queries

    def where(self, condition=None, *more, **named):
        """A query of the rows for which the condition is true: `docs.where(docs.n > 1)`."""
        return BoundQuery(self).where(condition, *more, **named)

    def select(self, *values, **named):
        """A query of values: `docs.select(docs.title, double=docs.n * 2)`. Without values, all columns."""
        return BoundQuery(self).select(*values, **named)

    def order_by(self, *values, asc=True, **unknown):
        """A query of sorted rows."""
        return BoundQuery(self).order_by(*values, asc=asc, **unknown)

    def limit(self, n, offset=None):
        """A query of at most `n` rows."""
        return BoundQuery(self).limit(n, offset)

    def group_by(self, *values):
        """A query with one row for all rows with equal values."""
        return BoundQuery(self).group_by(*values)

    def join(self, other, on=None, how="inner"):
        """A query of the rows of two tables: `docs.join(authors, on=docs.author == authors.id)`."""
        return BoundQuery(self).join(other, on, how)

    def distinct(self):
        """A query without equal rows."""
        return BoundQuery(self).distinct()

    def sample(self, n=None, fraction=None, seed=None, **unknown):
        """A query of some rows."""
        return BoundQuery(self).sample(n, fraction, seed, **unknown)

    def collect(self, timeout=None):
        """All rows. `timeout` is in seconds."""
        return BoundQuery(self).collect(timeout)

    def cursor(self, timeout=None):
        """An iterator over all rows, which uses the same memory for any number of them."""
        return BoundQuery(self).cursor(timeout)

    def head(self, n=10):
        """The first `n` rows."""
        return BoundQuery(self).head(n)

    def tail(self, n=10):
        """The last `n` rows."""
        return BoundQuery(self).tail(n)

    def show(self, n=20):
        """Prints the first `n` rows."""
        BoundQuery(self).show(n)

    def count(self, timeout=None):
        """The number of rows."""
        return BoundQuery(self).count(timeout)

    # rows

    def insert(self, rows=None, /, *, on_error="abort", return_rows=False, columns=None, **values):
        """Inserts rows: a dict, a list, keyword arguments, a DataFrame, a file, a query (docs/library.md)."""
        if columns is not None and not isinstance(columns, dict):
            raise Error(
                f"insert(columns=) is a dict, not {columns!r:.60}.",
                'Write the name of each column in the source, and its column: columns={"Title": "title"}',
            )
        return writing.insert(self, rows, values, on_error, return_rows, columns)

    def compute(self, rows=None, /, *, outputs=None, on_error="abort", **values):
        """Rows with their computed columns, without storing them: `docs.compute([{"title": "a"}])`.

        Takes what insert() takes. `outputs`: columns to return, by default all; a row needs only what they read. A view
        takes rows of its table. With `on_error="ignore"`, a failed cell is None, and `row.errors` describes it.
        """
        return computing.compute(self, rows, values, outputs, on_error)

    def update(self, values=None, where=None, cascade=True, *, on_error="abort", **unknown):
        """Changes rows: `docs.update({"n": docs.n + 1}, where=docs.n > 1)`. Computed columns follow."""
        writing.refuse_keywords(self, values, unknown)
        refuse_options("update", unknown, cascade, ("where", "on_error"))
        return writing.update(self, values, where, on_error)

    def batch_update(self, rows, cascade=True, if_not_exists="error", *, on_error="abort", **unknown):
        """Changes rows by their keys: `docs.batch_update([{"id": 1, "title": "a"}])`. Computed columns follow."""
        refuse_options("batch_update", unknown, cascade, ("if_not_exists", "on_error"))
        return writing.batch_update(self, rows, if_not_exists, on_error)

    def delete(self, where=None):
        """Deletes the rows of a condition, or all rows."""
        return writing.delete(self, where)

    def recompute_columns(self, *columns, errors_only=False, cascade=True, on_error=None, **unknown):
        """Recomputes computed columns, by default all of them.

        `on_error` is "abort" by default. With `errors_only` it is "ignore": cells that still fail do not stop the others.
        """
        refuse_options("recompute_columns", unknown, known=("errors_only", "cascade", "on_error"))
        return writing.recompute(self, columns, errors_only, cascade, on_error)

    def errors(self, column=None, limit=100):
        """The failed cells of computed columns, as dicts."""
        return showing.errors(self, column, limit)

    # definition

    def add_column(self, *, if_exists="error", **column):
        """Adds a column: `docs.add_column(stars=db.Int | None)`."""
        return changing.add_columns(self, column, if_exists, "add_column")

    def add_columns(self, columns, if_exists="error"):
        """Adds columns: `docs.add_columns({"stars": db.Int | None})`."""
        return changing.add_columns(self, columns, if_exists, "add_columns")

    def add_computed_column(
        self,
        *,
        if_exists="error",
        on_error="abort",
        stored=None,
        destination=None,
        comment=None,
        custom_metadata=None,
        print_stats=False,
        **column,
    ):
        """Adds a computed column and fills it: `docs.add_computed_column(loud=upper(docs.title))`."""
        options = {"stored": stored, "destination": destination, "comment": comment, "custom_metadata": custom_metadata}
        status = changing.add_computed_column(self, column, if_exists, on_error, options)
        if print_stats:
            print(status)
        return status

    def drop_column(self, column, if_not_exists="error"):
        """Drops a column."""
        changing.drop_column(self, column, if_not_exists)

    def rename_column(self, old_name, new_name):
        """Renames a column."""
        changing.rename_column(self, old_name, new_name)

    def add_embedding_index(self, column, *, idx_name=None, if_exists="error", **options):
        """Adds an index for `column.similarity(...)`: `docs.add_embedding_index("title", string_embed=embed)`."""
        changing.add_embedding_index(self, column, idx_name, if_exists, options)

    def add_btree_index(self, *columns, idx_name=None, if_exists="error"):
        """Adds an index for fast lookups."""
        changing.add_btree_index(self, columns, idx_name, if_exists)

    def drop_index(self, *unnamed, column=None, idx_name=None, if_not_exists="error"):
        """Drops an index by its name, or the only one over a column: `docs.drop_index(idx_name="by_title")`."""
        changing.refuse_unnamed(self, unnamed)
        changing.drop_index(self, column, idx_name, if_not_exists)

    drop_embedding_index = drop_index

    # description

    def columns(self):
        """The names of the columns."""
        return list(self.__appdb_table__.columns)

    def get_metadata(self):
        """The definition of the table as a dict."""
        return showing.metadata(self)

    def describe(self):
        """Prints columns, types and indexes."""
        print(showing.description(self))

    def list_views(self, recursive=True):
        """The paths of the views over the table."""
        return showing.views(self, recursive)

    def history(self, n=20):
        """The latest changes of the definition, the newest first."""
        return showing.history(self, n)

    def get_base_table(self):
        """The table or view that a view is over; None for a table."""
        view = self.__appdb_table__.view
        return None if view is None else Table(self.__appdb_database__, view.table)

    @property
    def path(self):
        """`main/docs`, `cloud://acme:main/docs`."""
        return self.__appdb_database__.target.path(self._path)

    def __getitem__(self, name):
        if not isinstance(name, str):
            raise AppFileError(f"A table has columns, not {name!r}.", f'Write {self._name}["title"], or .head() for rows.')
        return column_of(self.__appdb_table__, name)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in self.__appdb_table__.columns:
            refuse_versions(name, self._name)
            refuse_method(f"The table {self._name}", name)
        return column_of(self.__appdb_table__, name)

    def __dir__(self):
        return sorted({*(name for name in dir(type(self)) if not name.startswith("_")), *self.columns()})

    def __iter__(self):
        raise AppFileError("A table is not looped over.", f"Write: for row in {self._name}.cursor(): ...")

    def __len__(self):
        raise AppFileError("A table has no len().", f"Write {self._name}.count()")

    def __bool__(self):
        return True

    def __eq__(self, other):
        return isinstance(other, Table) and other.path == self.path

    def __hash__(self):
        return hash(self.path)

    def __repr__(self):
        return showing.description(self)

    def _repr_html_(self):
        return showing.description_html(self)


def open_table(target, path):
    """The table of a path. Raises NotFoundError."""
    database = database_of(target)
    return Table(database, database.declarations(path))
