"""A pytest fixture: each test gets a database of its own on this machine, which is deleted after it.

    pytest_plugins = ["appdb.testing"]          # in conftest.py


    def test_titles(database):
        database.create_all(Base)
        Books.insert(title="Emma")
        assert Books.count() == 1

The tables of a model base are created once for a run. Each test gets a copy of that database.
"""

import os
import re
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest

from appdb.client import api, models
from appdb.client.databases import database_of
from appdb.client.errors import UnavailableError
from appdb.client.paths import Target
from appdb.client.tables import Table
from appdb.declare.errors import Error


@pytest.fixture
def database(request):
    """An empty database for the test: see `ScratchDatabase`."""
    run = request.config.stash.get(_RUN, None)
    if run is None:
        run = request.config.stash[_RUN] = Run(getattr(request.config, "workerinput", {}).get("workerid", "main"))
        request.config.add_cleanup(run.close)
    made = ScratchDatabase(run)
    yield made
    made.delete()


class ScratchDatabase:
    """A database of one test. It is created at its first use."""

    def __init__(self, run):
        self._run = run
        self._name = None
        self._declared = []  # (model, what its declarations were before they were bound)

    @property
    def name(self):
        """Its name, which is the first part of the paths of its tables."""
        if self._name is None:
            self._name = self._run.create()
        return self._name

    def path(self, table=""):
        """The path of a table or folder: `path("books")` for functions that take one."""
        return f"{self.name}/{table}" if table else self.name

    def create_all(self, base):
        """Creates the tables of all models, and binds the models until the test ends. Returns the paths."""
        known = {model for model, _ in self._declared}
        self._declared += [(model, models.declared_by(model)) for model in base.__appdb_models__ if model not in known]
        if self._name is None:
            self._name = self._run.copy_with(base)
        else:
            models.create_all(base, self._name)
        return models.bind(base, self._name)

    def create_table(self, table, schema=None, **options):
        """Creates a table, with the options of `db.create_table`."""
        return api.create_table(self.path(table), schema, **options)

    def create_view(self, view, base, **options):
        """Creates a view, with the options of `db.create_view`."""
        return api.create_view(self.path(view), base, **options)

    def get_table(self, table):
        """The table or view of a name. Raises NotFoundError."""
        return api.get_table(self.path(table))

    def insert(self, table, rows=None, /, **options):
        """Inserts rows into a table, given by its name, object or model, with the options of `Table.insert`."""
        found = self.get_table(table) if isinstance(table, str) else table
        if not isinstance(found, Table) and not hasattr(found, "__appdb_table__"):
            raise Error(f"insert() takes the name of a table, not {table!r:.60}.", 'Write database.insert("books", rows)')
        return found.insert(rows, **options)

    def list_tables(self):
        """The names of its tables and views."""
        return [path.partition("/")[2] for path in api.list_tables(self.name)]

    def delete(self):
        """Deletes it and unbinds the models."""
        for model, before in self._declared:
            models.unbind(model, before)
        self._declared = []
        if self._name is not None:
            self._run.delete(self._name)
            self._name = None

    def __repr__(self):
        return f"ScratchDatabase({self._name or 'unused'})"


class Run:
    """The databases of a test process: templates with the tables of bases, and their copies."""

    def __init__(self, worker):
        self._prefix = f"test-{os.getpid()}-{re.sub('[^a-z0-9]', '', worker.lower())}"
        self._numbers = count(1)
        self._connection = database_of(Target(None, "main")).connection
        self._templates = {}  # By base and models: (template, the copy that is being made for the next test).
        self._ahead = ThreadPoolExecutor(1, "appdb-testing")

    def create(self, copy_of=None):
        """Creates an empty database or a copy. Returns its name."""
        name = f"{self._prefix}-{next(self._numbers)}"
        self._connection.call("POST", "//v1/scratch/create", {"name": name, "pid": os.getpid(), "copy_of": copy_of})
        return name

    def copy_with(self, base):
        """Creates a database with the tables of a base. Returns its name."""
        key = (base, *base.__appdb_models__)
        if key not in self._templates:
            template = self.create()
            models.create_all(base, template)
            self._templates[key] = template, None
        template, copy = self._templates[key]
        self._templates[key] = template, None
        name = self.create(template) if copy is None else copy.result()
        # The next test mostly needs the same tables.
        self._templates[key] = (template, self._ahead.submit(self.create, template))
        return name

    def delete(self, name):
        """Deletes a database. The daemon does so while the next test runs."""
        self._connection.call("POST", "//v1/scratch/delete", {"name": name})

    def close(self):
        """Deletes the databases of the run. The daemon deletes those of a killed process."""
        self._ahead.shutdown()
        left = [template for template, _ in self._templates.values()]
        left += [copy.result() for _, copy in self._templates.values() if copy is not None and copy.exception() is None]
        for name in left:
            try:
                self.delete(name)
            except UnavailableError:
                return  # The next daemon deletes them.


_RUN = pytest.StashKey[Run]()
