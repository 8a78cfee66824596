"""Models on a target: `Base.create_all("main")`, after which `Docs.insert(...)` and `Docs.where(...).collect()` work."""

import sys
from copy import copy
from functools import partial

from appdb.client import changing
from appdb.client.broken import fill_of
from appdb.client.code import Code
from appdb.client.databases import database_of
from appdb.client.errors import NotFoundError
from appdb.client.model_differences import refuse_different
from appdb.client.model_tables import ModelTable
from appdb.client.paths import folder_path
from appdb.client.progress import Progress, tell_that_it_continues
from appdb.declare.arguments import checked
from appdb.declare.declaring import Phase
from appdb.declare.errors import later, listed
from appdb.queries.other_verbs import name_of_base, unbound
from appdb.udfs.programs import place_of_id


def member(cls, name):
    """A member of a base or a model that works on a target. Raises AppFileError while an application file is read."""
    if Phase.reading or Phase.running:
        raise later(
            f"{cls.__name__}.{name}", "Use it in a script that imports the models, or run: cli schema update app.py main"
        )
    base = cls if "__appdb_models__" in cls.__dict__ else cls.__mro__[1]
    if name in _BASE:
        return partial(_BASE[name], base)
    database = cls.__dict__.get("__appdb_database__")
    if name == "is_bound":
        return database is not None
    if database is None:
        raise unbound(cls)
    table = ModelTable(database, cls)
    if name == "table":
        return table
    return (lambda: table.path) if name == "table_path" else getattr(table, name)


@checked
def create_all(base, target):
    """Creates the tables of all models that do not exist, and binds the models. Returns the new paths.

    Raises ConflictError for a table that exists and lacks columns of its model, or has others.
    """
    database, _ = _place(target)
    made = []
    for model, path in _paths(base, target):
        if changing.create(database, path, model.__appdb_table__, "ignore"):
            made.append(database.target.path(path))
        else:
            refuse_different(base, target, database, [(model, path)])
        _bind(model, database, path)
    return made


@checked
def bind_all(base, target):
    """Binds all models to their tables. Raises NotFoundError for missing tables, ConflictError as create_all()."""
    database, _ = _place(target)
    present = {table["path"] for table in database.connection.call("GET", "/tables")["tables"]}
    models = _paths(base, target)
    missing = [path for _, path in models if path not in present]
    if missing:
        raise NotFoundError(
            f"{database.target.text} has no table {listed(missing)}.",
            f'Create it: {name_of_base(base)}.create_all("{target}")',
            "table_not_found",
        )
    refuse_different(base, target, database, models)
    bind(base, target)


def _paths(base, target):
    _, folder = _place(target)
    return [(model, _path(folder, model.__appdb_table__)) for model in base.__appdb_models__]


def bind(base, target):
    """Binds all models to tables that are known to exist. Returns their paths."""
    database, _ = _place(target)
    paths = []
    for model, path in _paths(base, target):
        _bind(model, database, path)
        paths.append(database.target.path(path))
    return paths


def declared_by(model):
    """What the declarations of a model are now, for `unbind`."""
    members = vars(model.__appdb_table__).items()
    return {name: copy(value) if isinstance(value, (dict, list)) else value for name, value in members}


def unbind(model, before):
    """Undoes a binding and the changes after it; `before` are the model's declarations as `declared_by` gave them."""
    if "__appdb_database__" in model.__dict__:
        type.__delattr__(model, "__appdb_database__")
    vars(model.__appdb_table__).clear()
    vars(model.__appdb_table__).update(before)


@checked
def update_all(base, target, *, allow_destructive=False, on_error="abort"):
    """Creates and changes tables so that they match the models, and binds them. Returns the plans of changed tables."""
    database, folder = _place(target)
    if not base.__appdb_models__:
        return []
    if database.is_local and not _own_functions(base):
        plan = _update_local(base, target, database, bool(allow_destructive), on_error)
    else:
        plan = changing.update(database, folder, _declared(base), bool(allow_destructive), on_error)
    bind(base, target)
    return [table for table in plan["tables"] if table["resolution"] != "up_to_date"]


def _update_local(base, target, database, allow_destructive, on_error):
    """The plan of an update of the models as an application file, whose columns may call queries."""
    body, plan = _plan(base, target, database)
    body["catalog_version"] = plan["catalog_version"]
    body["allow_destructive"] = allow_destructive
    body["on_error"] = on_error
    what = f"update {target}"
    progress, job = Progress(what), None

    def at(line):
        nonlocal job
        job = line["job"]
        progress.at(line["rows_done"], line["rows_total"])

    try:
        done = database.connection.events("//v1/schema/apply", body, at, fill_of("the update", database.target.text))
    except KeyboardInterrupt:
        tell_that_it_continues(what, database.target.text, job)
        raise
    progress.end()
    return done["plan"]


@checked
def get_model_diff(base, target):
    """What update_all() would change: for each table with differences, its path, resolution and operations."""
    database, folder = _place(target)
    if not base.__appdb_models__:
        return {}
    if database.is_local and not _own_functions(base):
        _, plan = _plan(base, target, database)
    else:
        plan = changing.update(database, folder, _declared(base), False, "abort", dry_run=True)
    return {table["path"]: table for table in plan["tables"] if table["resolution"] != "up_to_date"}


_BASE = {
    "create_all": create_all,
    "bind_all": bind_all,
    "update_all": update_all,
    "get_model_diff": get_model_diff,
    "diff_all": get_model_diff,
}


def _plan(base, target, database):
    """The request of an update without its decisions, and its plan."""
    from appdb.appfile.collect import schema_manifest

    code = Code(_functions(base))
    manifest = schema_manifest(code.root, _file(base, code), base)
    body = {"target": _local_target(target), "manifest": manifest, "runtime": code.runtime()}
    return body, database.connection.call("POST", "//v1/schema/plan", body)["plan"]


def _functions(base):
    return [
        function
        for model in base.__appdb_models__
        for column in model.__appdb_table__.columns.values()
        for function in (column.value._functions if column.value is not None else ())
        if hasattr(function, "owner")
    ]


def _own_functions(base):
    """The functions that only this program has. An application file cannot name them, and a change sends them."""
    return [one for one in _functions(base) if place_of_id(one.id) is not None]


def _declared(base):
    return [model.__appdb_table__ for model in base.__appdb_models__]


def _file(base, code):
    """The file of the models, from the root of the project."""
    module = sys.modules.get(base.__appdb_models__[0].__module__) if base.__appdb_models__ else None
    file = getattr(module, "__file__", None)
    return code.places.of((file, 1))["file"] if file else "notebook.py"


def _local_target(target):
    parsed, folder = folder_path(target)
    return parsed.path(folder)


def _place(target):
    parsed, folder = folder_path(target)
    return database_of(parsed), folder


def _path(folder, declared):
    return f"{folder}/{declared.name}" if folder else declared.name


def _bind(model, database, path):
    declared = model.__appdb_table__
    declared.bound_path = path
    declared.is_bound = True
    type.__setattr__(model, "__appdb_database__", database)
