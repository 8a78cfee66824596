"""`model_base()`: the base of an application's models, each of which becomes a table."""

import sys

from appdb.declare.arguments import checked
from appdb.declare.body import open_body
from appdb.declare.declared import caller, check_comment, check_metadata, check_validation
from appdb.declare.declaring import Phase
from appdb.declare.names import check_table_name
from appdb.declare.errors import (
    VERSIONS,
    AppFileError,
    UnknownAttribute,
    did_you_mean,
    later,
    listed,
    no_versions,
)
from appdb.expressions.expr import ColumnRef

_KEYWORDS = ("name", "base", "iterator", "has_default_idxs", "comment", "custom_metadata", "media_validation", "renamed_from")
_LATER_METHODS = frozenset("referenced_functions defined_models".split())

# Of a base: what it does on a target. Of a model: what it has after bind_all() or create_all() (client/models.py).
BASE_VERBS = frozenset("create_all update_all bind_all get_model_diff diff_all".split())
BOUND_VERBS = frozenset(
    "where select order_by limit group_by join distinct sample head tail count collect show cursor insert update delete"
    " batch_update compute recompute_columns describe get_metadata list_views columns get_base_table history errors"
    " add_column add_columns add_computed_column drop_column rename_column"
    " add_btree_index add_embedding_index drop_index drop_embedding_index".split()
)
_ABOUT_BINDING = frozenset("table is_bound table_path".split())

# Verbs that run a query or change rows: no database is available while a file is read.
_ROW_VERBS = frozenset("collect show cursor insert update delete".split())

# First verbs of a query. A column with the same name takes precedence.
VERBS = frozenset("where select order_by limit group_by join distinct sample head tail count".split())


class Table:
    """The declarations of a model."""

    def __init__(self, model, options, source):
        self.model = model
        self.source = source
        self.name = check_table_name(options["name"])
        self.comment = options.get("comment")
        self.custom_metadata = options.get("custom_metadata")
        self.has_default_idxs = options.get("has_default_idxs", False)
        self.media_validation = options.get("media_validation")
        self.renamed_from = _former_name(options)
        self.view = None  # Of a view: what it is over (declare/views.py).
        self.inherited = {}  # Columns of a view's base, among `columns`.
        self.columns = {}
        self.hidden = {}  # Columns with the vectors of indexes.
        self.indexes = []
        self.is_bound = False  # Whether it is a table of a database, and not a declaration of a file.
        self.bound_path = None  # Its path in the database: `reports/docs`.
        self.replaced = None  # The model that a notebook declares again with this one.

    @property
    def path(self):
        """How queries name it: its path in the database that it is bound to, else its name."""
        return self.bound_path or self.name

    def all_indexes(self):
        """Its indexes, and those of the tables below a view."""
        below = [] if self.view is None else self.view.lineage
        return [index for table in (self, *below) for index in table.indexes]


class ModelMeta(type):
    """Converts a class body to a Table. Has no public names: those belong to the columns."""

    @staticmethod
    def __prepare__(class_name, bases, **options):
        if not bases:
            return {}
        _check_bases(class_name, bases)
        _check_options(class_name, options)
        table = Table(class_name, options, caller(1))
        table.replaced = _declared_before(bases[0], table, sys._getframe(1).f_globals.get("__name__"))
        _refuse_second_table(bases[0], table)
        if "base" in options:
            from appdb.declare.views import inherited_columns, view_of

            table.view = view_of(class_name, bases[0], options["base"])
            table.inherited = inherited_columns(table)
        if "iterator" in options:
            from appdb.declare.views import take_iterator

            take_iterator(class_name, table, options["iterator"])
        body = open_body(table, class_name, 1)
        if table.view is not None:
            from appdb.declare.views import fill_body

            fill_body(table, body)
        return body

    def __new__(mcs, class_name, bases, body, **options):
        if not bases:
            return super().__new__(mcs, class_name, bases, body)
        Phase.end_body(body)
        body.close()
        table = body.table
        table.columns = {**table.inherited, **body.columns}
        _refuse_second_heir([(column, column.renamed_from) for column in table.columns.values()], "columns")
        if not table.columns:
            raise AppFileError(f"The model {class_name} declares no column.", "Write for example title: db.String")
        if not isinstance(body.indexes, list) or body.indexes:
            from appdb.declare.indexes import declare_indexes

            declare_indexes(table, body.indexes)
        if table.comment is None and isinstance(body.get("__doc__"), str):
            table.comment = _dedented(body["__doc__"])
            check_comment(table.comment)
        members = {name: value for name, value in body.items() if isinstance(value, ColumnRef) or name == "__doc__"}
        members.update({name: column.ref for name, column in table.inherited.items()})
        members["__module__"] = body["__module__"]
        members["__qualname__"] = body["__qualname__"]
        members["__appdb_table__"] = table
        model = super().__new__(mcs, class_name, bases, members)
        models = bases[0].__appdb_models__
        if table.replaced in models:
            models[models.index(table.replaced)] = model
        else:
            models.append(model)
        return model

    def __init__(cls, class_name, bases, body, **options):
        super().__init__(class_name, bases, body)

    def __call__(cls, *args, **kwargs):
        raise AppFileError(
            f"The model {cls.__name__} is not called; it describes a table.", "Insert rows through an insert route."
        )

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        table = cls.__dict__.get("__appdb_table__")
        if name in BASE_VERBS or (table is not None and _is_of_client(cls, name)):
            from appdb.client.models import member

            return member(cls, name)
        if table is not None and name in VERBS:
            from appdb.queries.query import verb

            return verb(cls, name)
        if name in VERSIONS:
            raise no_versions(f"{cls.__name__}.{name}", VERSIONS[name])
        if name in ("insert", "update", "delete") and Phase.running and table is not None:
            from appdb.worker.asking import model_verb, worker_of_handlers

            if worker_of_handlers() is not None:
                return model_verb(table, name)
        if table is not None and name in _ROW_VERBS:
            from appdb.queries.other_verbs import unknown_verb

            raise unknown_verb(f"The model {cls.__name__}", name, cls.__name__)
        if name in _LATER_METHODS:
            raise later(f"{cls.__name__}.{name}")
        known = table.columns if table else ()
        if table is not None:
            from appdb.queries.other_verbs import is_verb_elsewhere, unknown_verb

            if is_verb_elsewhere(name):
                raise unknown_verb(f"The model {cls.__name__}", name, cls.__name__)
        heir = next((column.name for column in table.columns.values() if column.renamed_from == name), None) if table else None
        if heir is not None:
            raise UnknownAttribute(
                f"The model {cls.__name__} has no column '{name}'; '{heir}' is renamed from it.",
                f"Write {cls.__name__}.{heir}",
            )
        raise UnknownAttribute(
            f"The model {cls.__name__} has no column '{name}'.",
            did_you_mean(
                name, (*known, *VERBS), f"Its columns are {listed(known)}." if known else "It is a base, not a table."
            ),
        )

    def __setattr__(cls, name, value):
        if name.startswith("__"):
            super().__setattr__(name, value)
            return
        raise AppFileError(
            f"The column '{name}' is added to {cls.__name__} after its class.", "Declare it inside the class."
        )


def _is_of_client(model, name):
    """Whether a name is one of the library on a target: always for a bound model, else outside of application files."""
    if "__appdb_database__" in model.__dict__:
        return name in BOUND_VERBS or name in _ABOUT_BINDING
    is_file = Phase.reading or Phase.running or Phase.in_body()
    own = VERBS.union(_ROW_VERBS, VERSIONS) if is_file else VERBS
    return name in _ABOUT_BINDING or (name in BOUND_VERBS and name not in own)


@checked
def model_base(cls_name="TableModel"):
    """Makes a new base: its subclasses are the models of one application."""
    return ModelMeta(cls_name, (), {"__appdb_models__": [], "__module__": __name__, "__qualname__": cls_name})


def _check_bases(class_name, bases):
    if len(bases) > 1:
        raise AppFileError(f"The model {class_name} has several bases.", "Name the one that model_base() made.")
    table = bases[0].__dict__.get("__appdb_table__")
    if table is not None:
        raise AppFileError(
            f"The model {class_name} extends the model {table.model}; a model extends the base alone.",
            f"Name the base of {table.model} instead and declare the columns again.",
        )


def _check_options(class_name, options):
    for name in options:
        if name not in _KEYWORDS:
            raise AppFileError(
                f"The model {class_name} has the unknown keyword '{name}'.",
                did_you_mean(name, _KEYWORDS, f"The keywords are {', '.join(_KEYWORDS)}."),
            )
    if "name" not in options:
        raise AppFileError(
            f"The model {class_name} has no table name.",
            f'Write class {class_name}(Base, name="{class_name.lower()}"):',
        )
    if options.get("has_default_idxs", False) not in (True, False):
        raise AppFileError("has_default_idxs= is True or False.", "Write has_default_idxs=True or omit it.")
    check_validation(options.get("media_validation"))
    check_comment(options.get("comment"))
    check_metadata(options.get("custom_metadata"))


def _declared_before(base, table, module):
    """The model that a cell of a notebook declares again: it has the same class and table, and no view over it."""
    if module != "__main__" or Phase.reading:
        return None
    models = base.__appdb_models__
    bases_of_views = [model.__appdb_table__.view.table for model in models if model.__appdb_table__.view is not None]
    for model in models:
        before = model.__appdb_table__
        if (before.model, before.name, model.__module__) == (table.model, table.name, module):
            return None if before in bases_of_views else model
    return None


def _refuse_second_table(base, table):
    for model in base.__appdb_models__:
        before = model.__appdb_table__
        if before.name == table.name and model is not table.replaced:
            raise AppFileError(
                f"Two models have the table name '{table.name}': {before.model} (line {before.source[1]})"
                f" and {table.model}.",
                _after_second(before, table),
            )
    if table.renamed_from is not None:
        others = [model.__appdb_table__ for model in base.__appdb_models__ if model is not table.replaced]
        _refuse_second_heir([(one, one.renamed_from) for one in (*others, table)], "tables")


def _after_second(before, table):
    if before.model == table.model and before.source[0] == table.source[0] and not Phase.reading:
        return "Run the cell with its base again first: db.model_base(). Then declare its models."
    return "Give one of them another name=."


def _former_name(options):
    former = options.get("renamed_from")
    if former is None:
        return None
    folded = check_table_name(former)
    if folded == check_table_name(options["name"]):
        raise AppFileError(f"renamed_from= names '{former}', which is the table's own name.", "Take it out.")
    return folded


def _refuse_second_heir(named, what):
    """Refuses two columns, or two tables, with the same previous name."""
    heirs = {}
    for one, former in named:
        if former is None:
            continue
        before = heirs.setdefault(former, one)
        if before is not one:
            raise AppFileError(
                f"Two {what} say renamed_from='{former}': '{before.name}' and '{one.name}'.",
                "Only one of them can have its data; take it out of the other.",
                one.source,
            )


def _dedented(text):
    """A docstring as a comment, without common indentation and outer blank lines."""
    lines = text.expandtabs().splitlines()
    margins = [len(line) - len(line.lstrip()) for line in lines[1:] if line.strip()]
    margin = min(margins, default=0)
    rest = [line[margin:].rstrip() for line in lines[1:]]
    return "\n".join([lines[0].strip() if lines else "", *rest]).strip() or None
