"""Changes of definitions: tables, views, columns, indexes."""

import sys
from copy import copy

from appdb.appfile.collect import callers, column_document, hidden_document, table_document
from appdb.client.code import request_code
from appdb.client.progress import Progress, tell_that_it_continues
from appdb.client.rows.row_names import Naming
from appdb.declare.body import Body
from appdb.declare.declared import Column
from appdb.declare.errors import AppFileError, Error, did_you_mean, later, nearest
from appdb.declare.indexes import BtreeIndex, EmbeddingIndex, declare_indexes
from appdb.declare.model import Table as Declarations
from appdb.declare.names import check_column_name, check_index_name
from appdb.declare.views import fill_body, inherited_columns, take_iterator, view_over
from appdb.expressions.expr import Expr
from appdb.udfs.programs import place_of_id

_EXISTS = ("error", "ignore", "replace")


def if_exists_of(value):
    """Checks if_exists=. Raises Error."""
    if value == "replace_force":
        return "replace"
    if value not in _EXISTS:
        raise Error(f"if_exists= is 'error', 'ignore' or 'replace', not {value!r}.", "Leave it out for 'error'.")
    return value


def if_not_exists_of(value):
    """Checks if_not_exists=. Raises Error."""
    if value not in ("error", "ignore"):
        raise Error(f"if_not_exists= is 'error' or 'ignore', not {value!r}.", "Leave it out for 'error'.")
    return value


def declare(name, schema, options, base=None, iterator=None):
    """The declarations of a new table, or of a view over `base`: a Table or a query over one. Raises AppFileError."""
    place = _place()
    declared = Declarations(name, {"name": name, **options}, place)
    if base is not None:
        query = base if hasattr(base, "_models") else None
        model = query._models[0] if query is not None else base
        declared.view = view_over(name, model.__appdb_table__, query)
        declared.inherited = inherited_columns(declared)
        if iterator is not None:
            take_iterator(name, declared, iterator)
    body = Body(declared, name, sys._getframe())
    if base is not None:
        fill_body(declared, body)
    _declare_columns(body, schema, place)
    declared.columns = {**declared.inherited, **body.columns}
    if not declared.columns:
        raise AppFileError(f"The table {name} has no column.", 'Write create_table(path, {"title": db.String})')
    return declared


def create(database, path, declared, if_exists, on_error="abort", dry_run=False):
    """Creates a declared table or view, or only checks that it can. Returns whether it was created."""
    code, documents = request_code(database, callers([declared], []))
    change = {
        "change": "create_table",
        "table": path,
        "definition": _definition(declared, path, code),
        "if_exists": if_exists_of(if_exists),
    }
    return bool(_change(database, code.sent.named(change), path, code.sent.named(documents), on_error, dry_run)["tables"])


def update(database, folder, tables, allow_destructive, on_error, dry_run=False):
    """Makes the tables of a folder those that are declared, or only plans it. Returns the plan of those that differ."""
    code, documents = request_code(database, callers(tables, []))
    paths = [f"{folder}/{one.name}" if folder else one.name for one in tables]
    change = {
        "change": "update_tables",
        "folder": folder,
        "definitions": [_definition(one, path, code) for one, path in zip(tables, paths)],
        "allow_destructive": allow_destructive,
    }
    named = code.sent.named(change)
    return _change(database, named, database.target.path(folder), code.sent.named(documents), on_error, dry_run)


def _definition(declared, path, code):
    document = table_document(declared, code.places)
    document["name"] = path.rpartition("/")[2]
    if declared.view is not None:
        base, _, name = document["view"]["base"].rpartition("/")
        if base == path.rpartition("/")[0]:
            document["view"]["base"] = name
    return document


def add_columns(table, columns, if_exists, verb):
    """Adds columns of all kinds and fills the computed ones."""
    if not isinstance(columns, dict) or not columns:
        raise Error(f"{verb}() names no column.", f"Write {table._name}.{verb}(stars=db.Int | None)")
    _refuse_misspelt(verb, columns, ("if_exists",))
    return _add(table, columns, if_exists, "abort")


def add_computed_column(table, column, if_exists, on_error, options):
    """Adds a computed column and fills it."""
    _refuse_misspelt("add_computed_column", column, ("if_exists", "on_error", "print_stats", *options))
    if len(column) != 1:
        raise Error(
            f"add_computed_column() adds one column, not {len(column)}.",
            f"Write {table._name}.add_computed_column(loud=upper({table._name}.title))",
        )
    ((name, value),) = column.items()
    if options["stored"] is False:
        raise later("add_computed_column(stored=False)", "Leave stored= out, or declare the column in an application file.")
    if not isinstance(value, (Expr, Column)):
        raise Error(
            f"add_computed_column({name}=) takes an expression, not {value!r:.60}.",
            f"Compute it from columns: {name}=upper({table._name}.title). For a column without a value, write add_column().",
        )
    given = {option: set_to for option, set_to in options.items() if option != "stored" and set_to is not None}
    if given:
        value = Column(value=value, **given)
    return _add(table, {name: value}, if_exists, on_error)


def _refuse_misspelt(verb, columns, options):
    """Refuses a keyword that is an option with a wrong letter, not a column."""
    for name, value in columns.items():
        if isinstance(value, (str, bool)) and isinstance(name, str) and nearest(name, options, 0.8):
            raise Error(f"{verb}() has no argument '{name}'.", did_you_mean(name, options, ""))


def _add(table, columns, if_exists, on_error):
    from appdb.client import writing

    declared = table.__appdb_table__
    body = Body(declared, declared.model, sys._getframe())
    _declare_columns(body, columns, _place())
    made = list(body.columns.values())
    calls = [(f"column '{column.name}'", column.value) for column in made]
    database = table.__appdb_database__
    code, documents = request_code(database, calls)
    change = {
        "change": "add_columns",
        "table": declared.path,
        "columns": [column_document(column, code.places) for column in made],
        "if_exists": if_exists_of(if_exists),
    }
    failed = {}
    plan = _change(database, code.sent.named(change), table.path, code.sent.named(documents), on_error, failed=failed)
    table._follow(change, made)
    again = [] if plan["tables"] or if_exists_of(if_exists) != "replace" else _of_modules(made)
    if again:
        return writing.recompute(table, again, False, True, on_error)
    if not any(column.value is not None for column in made):
        return writing.ColumnsAdded([column.name for column in made] if plan["tables"] else [])
    # Without changes, a job of the same change before may still have filled the columns: the call has waited for it.
    # Only such a job makes the same call with if_exists="error" succeed without changes.
    is_filled = bool(plan["tables"] or failed or if_exists_of(if_exists) == "error")
    return writing.UpdateStatus("filled", table.count() if is_filled else 0, sum(failed.values()))


def _of_modules(columns):
    """Columns by functions of modules. Another code of these has the same name, so the change looks like none."""
    functions = {column.name: column.value._functions for column in columns if column.value is not None}
    return [name for name, used in functions.items() if any(place_of_id(one.id) is None for one in used)]


def drop_column(table, column, if_not_exists):
    """Drops a column."""
    change = {
        "change": "drop_columns",
        "columns": [_column_name(table, column)],
        "if_not_exists": if_not_exists_of(if_not_exists),
    }
    _change_table(table, change)


def rename_column(table, old, new):
    """Renames a column."""
    _change_table(table, {"change": "rename_column", "column": _column_name(table, old), "to": check_column_name(new)})


def add_embedding_index(table, column, name, if_exists, options):
    """Adds an embedding index, and the column with its vectors."""
    index = EmbeddingIndex(_column_name(table, column), name=name, **options)
    _add_index(table, index, if_exists)


def add_btree_index(table, columns, name, if_exists):
    """Adds a B-tree index."""
    _add_index(table, BtreeIndex(*(_column_name(table, column) for column in columns), name=name), if_exists)


def refuse_unnamed(table, values):
    """Refuses arguments of drop_index() without a name: a text could be an index or a column."""
    if values:
        name = values[0] if isinstance(values[0], str) else "by_title"
        raise Error(
            f"drop_index() does not say whether {values[0]!r:.60} is an index or a column.",
            f'Write {table._name}.drop_index(idx_name="{name}") or {table._name}.drop_index(column="{name}")',
        )


def drop_index(table, column, name, if_not_exists):
    """Drops an index."""
    if (column is None) == (name is None):
        raise Error("drop_index() takes idx_name= or column=.", f'Write {table._name}.drop_index(idx_name="by_title")')
    change = {
        "change": "drop_index",
        "index": None if name is None else check_index_name(name),
        "column": None if column is None else _column_name(table, column),
        "if_not_exists": if_not_exists_of(if_not_exists),
    }
    _change_table(table, change)


def _add_index(table, index, if_exists):
    declared = table.__appdb_table__
    scratch = copy(declared)
    scratch.hidden = dict(declared.hidden)
    replaced = if_exists_of(if_exists) != "error"
    columns = tuple(index.columns)
    scratch.indexes = [one for one in declared.indexes if not (replaced and _is_same_index(one, index.name, columns))]
    declare_indexes(scratch, [index])
    made = scratch.indexes[-1]
    hidden = [column for name, column in scratch.hidden.items() if name not in declared.hidden]
    calls = [("an embedding index", column.value) for column in hidden]
    calls += [("an embedding index", value) for value in getattr(made, "embeds", {}).values()]
    database = table.__appdb_database__
    code, documents = request_code(database, calls)
    change = {
        "change": "add_index",
        "table": declared.path,
        "index": made.document(code.places),
        "columns": [hidden_document(column, code.places) for column in hidden],
        "if_exists": if_exists,
    }
    _change(database, code.sent.named(change), table.path, code.sent.named(documents))
    table._follow(change, (made, {column.name: column for column in hidden}))


def _is_same_index(index, name, columns):
    return index.name == name if name is not None else index.columns == columns


def _change_table(table, change):
    database, declared = table.__appdb_database__, table.__appdb_table__
    _change(database, {**change, "table": declared.path}, table.path)
    table._follow(change)


def _change(database, change, path, code=None, on_error="abort", dry_run=False, failed=None):
    """Makes a change and returns its plan. `failed` gets the number of failed cells of each job that fills columns."""
    what = f"{change['change'].replace('_', ' ')} {path}"
    progress, job = Progress(what), None

    def at(line):
        nonlocal job
        job = line["job"]
        progress.at(line["rows_done"], line["rows_total"])
        if failed is not None:
            failed[line["job"]] = line["errors"]

    try:
        plan = database.change(change, code, on_error, dry_run, progress=at)
    except KeyboardInterrupt:
        if not dry_run:
            tell_that_it_continues(what, database.target.text, job)
        raise
    progress.end()
    return plan


def _declare_columns(body, schema, place):
    Naming().columns(schema, "The schema")
    for name, value in schema.items():
        if isinstance(value, dict) and value and (set(value) <= _OPTIONS or {"type", "value"} & set(value)):
            value = Column(**value)
        if isinstance(value, (Expr, Column)):
            body._assign(name, value, place)
        elif isinstance(value, (str, int, float, dict, list)):
            raise AppFileError(
                f"Column '{name}' is {value!r:.60}, not a type.", f'Write {{"{name}": db.String}}, or another type.'
            )
        else:
            body.annotate(name, value, place, sys._getframe())


_OPTIONS = {"type", "value", "primary_key", "stored", "media_validation", "destination", "custom_metadata", "comment", "default"}


def _column_name(table, column):
    name = column if isinstance(column, str) else getattr(column, "_name", None)
    if not isinstance(name, str):
        raise Error(f"{column!r:.60} is not a column.", f'Write the name of a column of {table._name}: "title"')
    return name.lower()


def _place():
    """(file, line) of the program's call."""
    from appdb._folder import LIBRARY_FOLDER

    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(LIBRARY_FOLDER):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


