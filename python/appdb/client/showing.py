"""What a table is, for people: its description, metadata, views, history and failed cells."""

from appdb.client.results import text_table
from appdb.declare.types import display


def description(table):
    """The columns and indexes of a table as text."""
    declared = table.__appdb_table__
    kind = "table" if declared.view is None else f"view of {declared.view.table.path}"
    lines = [f"{kind} {table.path}"]
    if declared.comment:
        lines.append(declared.comment)
    rows = [[name, _type(column), _how(column)] for name, column in declared.columns.items()]
    lines.append(text_table(["column", "type", "computed by"], rows))
    for index in declared.indexes:
        of = ", ".join(index.columns)
        how = f"embedding index ({index.metric})" if hasattr(index, "metric") else "index"
        lines.append(f"{how} {index.name or ''}".rstrip() + f" over {of}")
    return "\n".join(lines)


def description_html(table):
    """The same for notebooks."""
    from html import escape

    declared = table.__appdb_table__
    cells = [(name, _type(column), _how(column)) for name, column in declared.columns.items()]
    body = "".join(f"<tr>{''.join(f'<td>{escape(text)}</td>' for text in row)}</tr>" for row in cells)
    head = "<tr><th>column</th><th>type</th><th>computed by</th></tr>"
    return f"<b>{escape(table.path)}</b><table><thead>{head}</thead><tbody>{body}</tbody></table>"


def metadata(table):
    """The definition of a table as a dict."""
    declared = table.__appdb_table__
    view = declared.view
    return {
        "name": declared.path.rpartition("/")[2],
        "path": table.path,
        "kind": "table" if view is None else "view",
        "is_view": view is not None,
        "base": None if view is None else table.__appdb_database__.target.path(view.table.path),
        "comment": declared.comment,
        "custom_metadata": declared.custom_metadata,
        "columns": {name: _column(name, column, declared) for name, column in declared.columns.items()},
        "primary_key": [name for name, column in declared.columns.items() if column.primary_key] or None,
        "indexes": [_index(index) for index in declared.indexes],
        "has_default_idxs": declared.has_default_idxs,
        "is_data_versioned": False,
    }


def views(table, recursive):
    """The paths of the views over a table."""
    database = table.__appdb_database__
    listed = database.connection.call("GET", "/tables")["tables"]
    found, below = [], [table.__appdb_table__.path]
    while below:
        base = below.pop(0)
        over = [one["path"] for one in listed if one["view_of"] == base]
        found += over
        below += over if recursive else []
    return [database.target.path(path) for path in found]


def history(table, n):
    """The latest changes of a table."""
    query = {"table": table.__appdb_table__.path, "limit": n}
    return table.__appdb_database__.connection.call("GET", "/history", query=query)["entries"]


def errors(table, column, limit):
    """The failed cells of a table."""
    database, path = table.__appdb_database__, table.__appdb_table__.path
    query = {"limit": limit}
    if column is not None:
        query["column"] = column if isinstance(column, str) else column._name
    if database.is_local:
        folder, _, name = path.rpartition("/")
        query = {"target": database.target.path(folder), "table": name, **query}
        found = database.connection.call("GET", "//v1/errors", query=query)
    else:
        found = database.connection.call("GET", "/errors", query={"path": path, **query})
    return [error for one in found["tables"] for error in one["errors"]]


def _type(column):
    text = display(column.ref._kind, column.ref._nullable)
    return f"{text}, key" if column.primary_key else text


def _how(column):
    if column.value is None:
        return ""
    return column.value._text if column.is_stored else f"{column.value._text} (when read)"


def _column(name, column, declared):
    inherited = declared.inherited.get(name) is not None
    return {
        "name": name,
        "type_": display(column.ref._kind, column.ref._nullable),
        "is_stored": column.is_stored,
        "is_primary_key": column.primary_key,
        "is_computed": column.value is not None,
        "computed_with": None if column.value is None else column.value._text,
        "defined_in": declared.view.table.path if inherited and declared.view is not None else declared.path,
        "is_iterator_col": declared.view is not None and declared.view.makes(name),
        "comment": column.comment,
        "custom_metadata": column.custom_metadata,
    }


def _index(index):
    is_embedding = hasattr(index, "metric")
    return {
        "name": index.name,
        "columns": list(index.columns),
        "index_type": "embedding" if is_embedding else "btree",
        "parameters": {"metric": index.metric, "dimensions": index.dimensions} if is_embedding else {},
    }
