"""The functions of `import appdb as db` that work on a target: `db.create_table("main/docs", {...})`."""

import os
from itertools import chain

from appdb.client import changing
from appdb.client.code import Code
from appdb.client.databases import database_of
from appdb.client.errors import ConflictError, NotFoundError
from appdb.client.paths import Target, folder_path, refuse_version, table_path
from appdb.client.rows.row_names import folded
from appdb.client.tables import Table
from appdb.declare.arguments import checked
from appdb.declare.declared import Column
from appdb.declare.declaring import Phase
from appdb.declare.errors import Error, asked_while_running, did_you_mean, later, listed


@checked
def get_table(path, if_not_exists="error"):
    """The table or view of a path: `main/docs`, `cloud://acme:main/docs`. Raises NotFoundError.

    With `if_not_exists="ignore"`, None if it does not exist.
    """
    refuse_version(path)
    _check_phase("get_table", "Name the model: Docs.insert(...) in a handler, or a query marked @db.query.")
    target, inside = table_path(path)
    changing.if_not_exists_of(if_not_exists)
    database = database_of(target)
    try:
        return Table(database, database.declarations(inside))
    except NotFoundError:
        if if_not_exists == "error":
            raise
        return None


@checked
def create_table(
    path,
    schema=None,
    *,
    source=None,
    columns=None,
    primary_key=None,
    comment=None,
    custom_metadata=None,
    media_validation=None,
    has_default_idxs=False,
    if_exists="error",
    on_error="abort",
):
    """Creates a table: `db.create_table("main/docs", {"title": db.String, "stars": db.Int | None})`.

    `source` fills it, and gives the columns if there is no `schema`: rows, a DataFrame, a file, a query.
    `columns` chooses those of the source, and renames them: `{"First Name": "first_name"}`.
    """
    _check_phase("create_table", "Declare a model instead.")
    target, inside = table_path(path)
    if source is None and not schema:
        raise Error("create_table() has no columns.", f'Write db.create_table("{path}", {{"title": db.String}})')
    if columns is not None and source is None:
        raise Error("columns= names columns of a source, and there is no source=.", "Leave it out, or give source=.")
    if schema is None:
        from appdb.client.rows.inferring import inferred

        schema, source = inferred(source, _names(primary_key), columns)
        columns = None
    if not isinstance(schema, dict):
        raise Error(
            f"schema= is a dict of columns, not {schema!r:.80}.", f'Write db.create_table("{path}", {{"title": db.String}})'
        )
    options = {"comment": comment, "custom_metadata": custom_metadata, "has_default_idxs": has_default_idxs}
    options["media_validation"] = media_validation
    declared = changing.declare(inside.rpartition("/")[2], _with_key(schema, primary_key), options)
    database = database_of(target)
    if source is None:
        changing.create(database, inside, declared, if_exists)
        return Table(database, database.declarations(inside))
    from appdb.client.filling import create_filled

    def fill(table):
        table.insert(source, columns=columns, on_error=on_error)

    return create_filled(database, inside, declared, if_exists, fill)


@checked
def create_view(
    path,
    base,
    *,
    additional_columns=None,
    iterator=None,
    comment=None,
    custom_metadata=None,
    has_default_idxs=False,
    if_exists="error",
    on_error="abort",
):
    """Creates a view over a table, a view, or a query over one: `db.create_view("main/good", docs.where(docs.stars > 3))`.

    `iterator` makes its rows: `document_splitter(docs.file, separators="heading")`.
    """
    _check_phase("create_view", "Declare a model with base= instead.")
    target, inside = table_path(path)
    over = base._models[0] if hasattr(base, "_models") else base
    database = getattr(over, "__appdb_database__", None)
    if database is None:
        raise Error(f"base= of {path} is {base!r:.60}, not a table.", 'Write db.create_view(path, db.get_table("main/docs"))')
    if database.target != target:
        raise Error(
            f"The view {path} is in another database than its base {over.path}.",
            f"Write {database.target.path(inside)}",
            "invalid_target",
        )
    folder = over.__appdb_table__.path.rpartition("/")[0]
    if folder != inside.rpartition("/")[0]:
        name = "/".join(part for part in (folder, inside.rpartition("/")[2]) if part)
        raise Error(
            f"The view {path} is in another folder than its base {over.path}.",
            f"Write {target.path(name)}",
            "invalid_target",
        )
    options = {"comment": comment, "custom_metadata": custom_metadata, "has_default_idxs": has_default_idxs}
    declared = changing.declare(inside.rpartition("/")[2], additional_columns or {}, options, base, iterator)
    changing.create(database, inside, declared, if_exists, on_error)
    return Table(database, database.declarations(inside))


@checked
def drop_table(table, force=False, if_not_exists="error"):
    """Drops a table or view, by its path or object. `force` drops the views over it, too."""
    _check_phase("drop_table", "Tables are dropped by cli schema prune.")
    if isinstance(table, Table):
        database, inside = table.__appdb_database__, table.__appdb_table__.path
    else:
        target, inside = table_path(table)
        database = database_of(target)
    changing.if_not_exists_of(if_not_exists)
    change = {"change": "drop_table", "table": inside, "force": bool(force), "if_not_exists": if_not_exists}
    _drop(database, change, if_not_exists)


def _drop(database, change, if_not_exists):
    """Drops a table or folder. A database that does not exist has none."""
    try:
        database.change(change)
    except NotFoundError:
        if if_not_exists == "error":
            raise


@checked
def move(path, new_path, *, if_exists="error", if_not_exists="error"):
    """Renames a table or folder, or moves it to another folder of its database. A folder moves with its tables."""
    _check_phase("move", "Write renamed_from= in the model.")
    target, inside = table_path(path)
    to_target, to = table_path(new_path)
    if target != to_target:
        raise Error(f"move() stays in one database; {new_path} is in another one than {path}.", f"Write {target.path(to)}")
    changing.if_not_exists_of(if_not_exists)
    if if_exists not in ("error", "ignore"):
        raise Error(f"if_exists= is 'error' or 'ignore', not {if_exists!r}.", "Leave it out for 'error'.")
    try:
        database_of(target).change({"change": "move_table", "table": inside, "to": to})
    except NotFoundError:
        if if_not_exists == "error":
            raise
    except ConflictError as error:
        if if_exists == "error" or error.code not in ("table_exists", "folder_exists"):
            raise


@checked
def create_dir(path, *, if_exists="error", parents=False):
    """Creates a folder in a database, or a database of this machine.

    "replace" drops an empty one before, and "replace_force" also one with tables.
    """
    _check_phase("create_dir", "Name the folder as the target of the update.")
    changing.if_exists_of(if_exists)
    target, inside = folder_path(path)
    database = database_of(target)
    if if_exists in ("replace", "replace_force"):
        drop_dir(path, force=if_exists == "replace_force", if_not_exists="ignore")
        if_exists = "error"
    if not inside:
        if target.organization is None:
            database.connection.call("POST", "//v1/databases/create", {"name": target.database, "if_exists": if_exists})
        return
    parts = inside.split("/")
    above = range(1, len(parts)) if parents else ()
    for depth in above:
        database.change({"change": "create_folder", "folder": "/".join(parts[:depth]), "if_exists": "ignore"})
    database.change({"change": "create_folder", "folder": inside, "if_exists": if_exists})


@checked
def drop_dir(path, force=False, if_not_exists="error"):
    """Drops a folder, or a database of this machine. `force` drops the tables in it, too."""
    _check_phase("drop_dir", "Folders are dropped by cli drop-dir.")
    changing.if_not_exists_of(if_not_exists)
    target, inside = folder_path(path)
    database = database_of(target)
    if inside:
        change = {"change": "drop_folder", "folder": inside, "force": bool(force), "if_not_exists": if_not_exists}
        _drop(database, change, if_not_exists)
        return
    if target.organization is not None:
        raise Error(f"{path} is a hosted database.", f"Delete it: cli db delete {path}", "hosted_not_available")
    known = _local_databases()
    if target.database not in known:
        if if_not_exists == "error":
            raise NotFoundError(f"The database {path} does not exist.", "List them: cli ls", "database_not_found")
        return
    connection = database.connection
    tables = connection.call("GET", "/tables")["tables"]
    if tables and not force:
        named = listed([table["path"] for table in tables[:5]])
        raise ConflictError(f"The database {path} has tables: {named}.", "Write force=True to delete them.", "has_dependents")
    if tables:
        _refuse_projects(path, known[target.database])
    connection.call("POST", "//v1/databases/delete", {"name": target.database, "dry_run": False})


def _refuse_projects(path, described):
    """Refuses to delete tables of other projects, as each change of one of them is refused. Moved projects own none."""
    others = [project for project in described.get("projects", ()) if project != Code().root and os.path.exists(project)]
    if others:
        raise ConflictError(
            f"{path} has tables of the project {listed(others)}. Nothing was deleted.",
            f"Change them from there: cd {others[0]}. To delete all of them: cli db delete {path}",
            "other_project",
        )


@checked
def list_tables(path="", recursive=True):
    """The paths of the tables and views of a folder or database; by default of all databases of this machine."""
    _check_phase("list_tables", "Name the models.")
    found = []
    for target, inside in _places(path):
        for table in _tables(target):
            rest = _below(inside, table["path"])
            if rest is not None and (recursive or "/" not in rest):
                found.append(target.path(table["path"]))
    return sorted(found)


@checked
def list_dirs(path="", recursive=True):
    """The paths of the folders of a database or folder; by default all databases of this machine, with their folders."""
    _check_phase("list_dirs", "Name the models.")
    found = []
    for target, inside in _places(path):
        if not path:
            found.append(target.text)
            if not recursive:
                continue
        for folder in _folders(target):
            rest = _below(inside, folder)
            if rest is not None and (recursive or "/" not in rest):
                found.append(target.path(folder))
    return found


@checked
def ls(path=""):
    """What a folder or database has, as rows that print well; by default the databases of this machine."""
    from appdb.client.cells import Column as ResultColumn
    from appdb.client.results import ResultSet

    _check_phase("ls", "Name the models.")
    heads = [ResultColumn(name, {"kind": kind}, True) for name, kind in (("name", "string"), ("kind", "string"), ("rows", "int"))]
    if not path:
        return ResultSet(heads, [[name, "database", None] for name in sorted(_local_databases())])
    ((target, inside),) = _places(path)
    rows = [[rest, "folder", None] for rest in (_below(inside, one) for one in _folders(target)) if rest and "/" not in rest]
    for table in _tables(target):
        rest = _below(inside, table["path"])
        if rest is not None and "/" not in rest:
            rows.append([rest, "table" if table["view_of"] is None else "view", table["rows"]])
    return ResultSet(heads, rows)


@checked
def get_dir_contents(path="", recursive=True):
    """The folders and tables of a folder: `{"dirs": [...], "tables": [...]}`."""
    return {"dirs": list_dirs(path, recursive), "tables": list_tables(path, recursive)}


@checked
def list_functions():
    """The names of the library's functions: `string.upper`."""
    from appdb import functions

    spaces = [(namespace, getattr(functions, namespace)) for namespace in functions._NAMESPACES]
    return sorted(f"{namespace}.{name}" for namespace, space in spaces for name in space.FUNCTIONS)


@checked
def init(config_overrides=None):
    """Does nothing: the library connects with the first request. Settings are those of the command."""
    if config_overrides:
        raise later(
            f"init({{{next(iter(config_overrides))!r}: ...}})", "Set SERVICE_HOME, SERVICE_API_URL and SERVICE_API_KEY."
        )


def _names(given):
    return [given] if isinstance(given, str) else list(given or ())


def _with_key(schema, primary_key):
    """The schema with the columns of primary_key= marked."""
    if primary_key is None:
        return schema
    made = dict(schema)
    by_lower = {folded(name): name for name in made}
    for given in _names(primary_key):
        name = by_lower.get(folded(given), given)
        if name not in made:
            raise Error(
                f"primary_key= names '{name}', which is not a column.",
                did_you_mean(str(name), made, f"The columns are {listed(made)}."),
            )
        value = made[name]
        if isinstance(value, Column):
            value.primary_key = True
        elif isinstance(value, dict):
            made[name] = {**value, "primary_key": True}
        else:
            is_value = hasattr(value, "_node")
            made[name] = Column(value=value, primary_key=True) if is_value else Column(type=value, primary_key=True)
    return made


def _places(path):
    """The databases of a path, each with the path within it."""
    if path:
        return [folder_path(path)]
    return [(Target(None, name), "") for name in sorted(_local_databases())]


def _below(folder, path):
    """The path relative to a folder; None if it is not below it."""
    if not folder:
        return path
    return path[len(folder) + 1 :] if path.startswith(f"{folder}/") else None


def _tables(target):
    return database_of(target).connection.call("GET", "/tables")["tables"]


def _folders(target):
    answer = database_of(target).connection.call("GET", "/tables")
    paths = chain(answer.get("folders") or (), (table["path"].rpartition("/")[0] for table in answer["tables"]))
    found = set()
    for path in paths:
        parts = path.split("/")
        found.update("/".join(parts[: depth + 1]) for depth in range(len(parts)) if path)
    return sorted(found)


def _local_databases():
    """What the daemon tells about each database, by name."""
    connection = database_of(Target(None, "main")).connection
    return {database["name"]: database for database in connection.call("GET", "//v1/databases")["databases"]}


def _check_phase(name, instead):
    """Raises AppFileError while an application file is read, or one of its functions runs."""
    if Phase.running:
        raise asked_while_running(f"appdb.{name}()")
    if Phase.reading or Phase.in_body():
        raise later(f"appdb.{name}", instead)
