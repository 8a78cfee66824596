"""Tables, computed columns and HTTP routes, declared in one file.

    import appdb as db
    from appdb.functions import upper

    Base = db.model_base()

    class Docs(Base, name="docs"):
        title: db.String
        title_upper = upper(title)

This package records what such a file declares (`python -m appdb.manifest`) and runs its functions (`python -m
appdb.worker`). Names are loaded when first used, so that importing it costs next to nothing.
"""

__version__ = "0.9.0"

# The column types; appdb/kinds/<lower-case name>.py declares each.
TYPE_NAMES = "String Int Float Bool Timestamp Date UUID Json Array Binary Image Video Audio Document".split()
_HOMES = {
    **{name: f"appdb.kinds.{name.lower()}" for name in TYPE_NAMES},
    "Required": "appdb.declare.types",
    "model_base": "appdb.declare.model",
    "Column": "appdb.declare.declared",
    "BtreeIndex": "appdb.declare.indexes",
    "EmbeddingIndex": "appdb.declare.indexes",
    "udf": "appdb.udfs.udf",
    "query": "appdb.queries.named_query",
    "Query": "appdb.queries.query",
    "uda": "appdb.udfs.uda",
    "Aggregator": "appdb.udfs.uda",
    "expr_udf": "appdb.udfs.expr_udf",
    "iterator": "appdb.iterators.own",
    "Batch": "appdb.udfs.signatures",
    "ResourcePool": "appdb.declare.pools",
    "AppFileError": "appdb.declare.errors",
    "Error": "appdb.declare.errors",
    **dict.fromkeys("NotFoundError ConflictError AccessError UnavailableError".split(), "appdb.client.errors"),
    "Table": "appdb.client.tables",
    **dict.fromkeys(
        "get_table create_table create_view drop_table move create_dir drop_dir list_tables list_dirs ls"
        " get_dir_contents list_functions init".split(),
        "appdb.client.api",
    ),
}
# Planned names, and what to write until then.
_LATER = {
    **dict.fromkeys(("ConfigVar", "URI"), "Write the value itself, or read it from os.environ."),
    **dict.fromkeys(("tools", "tool", "mcp_udfs"), "Call the provider or server in a function marked @db.udf."),
    "retrieval_udf": "Write a query marked @db.query, and call it with columns.",
}

# Names in other systems of features of this library.
_ELSEWHERE = {
    **dict.fromkeys(("text", "str", "varchar", "char"), "String"),
    **dict.fromkeys(("integer", "bigint", "smallint", "long"), "Int"),
    **dict.fromkeys(("double", "real", "numeric", "decimal", "number"), "Float"),
    **dict.fromkeys(("datetime", "time", "timestamptz"), "Timestamp"),
    **dict.fromkeys(("boolean",), "Bool"),
    **dict.fromkeys(("jsonb", "dict", "list"), "Json"),
    **dict.fromkeys(("bytes", "blob", "largebinary"), "Binary"),
    **dict.fromkeys(("index", "btree", "idx"), "BtreeIndex(column)"),
    **dict.fromkeys(("tablemodel", "model", "base", "declarative_base"), "model_base()"),
}

__all__ = list(_HOMES)


def __getattr__(name):
    from appdb._imports import load

    home = _HOMES.get(name)
    if home is not None:
        value = globals()[name] = getattr(load(home), name)
        return value
    if name in ("functions", "serving", "iterators", "io"):
        return load(f"appdb.{name}")
    if name.startswith("_"):
        raise AttributeError(name)
    from appdb.declare.errors import VERSIONS, UnknownAttribute, did_you_mean, later, no_versions

    if name in VERSIONS:
        raise no_versions(f"appdb.{name}", VERSIONS[name])
    if name in _LATER:
        raise later(f"appdb.{name}", _LATER[name])
    if name == "PxtIterator":
        raise UnknownAttribute(
            "appdb has no 'PxtIterator': the class of an iterator needs no base.",
            "Write @db.iterator above class Parts: with __init__ and __next__(self) -> Part.",
        )
    if name.lower() in _ELSEWHERE:
        raise UnknownAttribute(f"appdb has no '{name}'.", f"Write db.{_ELSEWHERE[name.lower()]}.")
    for module in ("serving", "functions"):
        known = {one.lower(): one for one in dir(load(f"appdb.{module}"))}
        if name.lower() in known:
            imported = f"from appdb.{module} import {known[name.lower()]}"
            of_type = [f"Write db.{type} for the type, or" for type in TYPE_NAMES if type.lower() == name.lower()]
            hint = f"{(of_type or ['Write'])[0]}: {imported}"
            raise UnknownAttribute(f"appdb has no '{name}'.", hint)
    raise UnknownAttribute(f"appdb has no '{name}'.", did_you_mean(name, _HOMES, f"It has {', '.join(_HOMES)}."))


def __dir__():
    return sorted([*__all__, "functions", "io", "serving"])
