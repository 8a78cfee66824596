"""A new table with its first rows: all of it exists, or nothing was changed."""

import secrets

from appdb.client import changing
from appdb.client.errors import NotFoundError, UnavailableError
from appdb.client.tables import Table
from appdb.declare.errors import Error


def create_filled(database, path, declared, if_exists, insert):
    """Creates a table and fills it by `insert`, a function of the table. A table that is replaced stays until then."""
    if changing.if_exists_of(if_exists) == "replace" and _exists(database, path):
        return _replace(database, path, declared, insert)
    is_new = changing.create(database, path, declared, if_exists)
    table = Table(database, database.declarations(path))
    if is_new:
        _fill(table, path, insert)
    return table


def _exists(database, path):
    try:
        database.definition(path)
    except NotFoundError:
        return False
    return True


def _fill(table, path, insert):
    """Inserts the rows, or drops the table."""
    try:
        insert(table)
    except BaseException as error:
        database = table.__appdb_database__
        try:
            database.change({"change": "drop_table", "table": path, "force": False, "if_not_exists": "ignore"})
        except Error as second:
            raise Error(
                f"{error}\n{table.path} was created, and cannot be dropped again: {second.detail}",
                f"Drop it: cli drop {table.path}",
                getattr(error, "code", "server_failed"),
            ) from error
        if isinstance(error, Error) and error.code == "commit_unknown":
            raise UnavailableError(
                f"The connection broke while rows were inserted into {table.path}, so the new table was dropped again.",
                "Run it again.",
                "server_unreachable",
            ) from error
        raise


def _replace(database, path, declared, insert):
    """Fills another table, which then takes the place of the old one in one transaction."""
    changing.create(database, path, declared, "replace", dry_run=True)
    folder, slash, name = path.rpartition("/")
    made = f"{folder}{slash}{name[:40]}_new_{secrets.token_hex(4)}"
    try:
        changing.create(database, made, declared, "error")
        _fill(Table(database, database.declarations(made)), made, insert)
        try:
            database.change({"change": "move_table", "table": made, "to": path, "if_exists": "replace"})
        except BaseException:
            database.change({"change": "drop_table", "table": made, "force": False, "if_not_exists": "ignore"})
            raise
    except Error as error:
        raise _named(error, made, path) from error
    return Table(database, database.declarations(path))


def _named(error, made, path):
    """The error of the new table under the name that it would have had."""
    last, name = made.rpartition("/")[2], path.rpartition("/")[2]
    hint = None if error.hint is None else error.hint.replace(last, name)
    return type(error)(error.detail.replace(last, name), hint, error.code, error.errors)
