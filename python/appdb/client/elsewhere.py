"""Names of similar systems that tables and queries of a database do not have, and what to write."""

from appdb.declare.errors import Error, UnknownAttribute, did_you_mean

_METHODS = {
    "alter_column": "Change the type in an application file, or compute it: add_computed_column(wide=docs.n.astype(db.Float))",
    "alter_computed_column": 'Write add_computed_column(loud=..., if_exists="replace")',
    "to_pytorch_dataset": "Read the rows with cursor() in a torch.utils.data.IterableDataset, or convert to_pandas().",
    "to_coco_dataset": "Read the rows with cursor(), and write the file with json.dump().",
    **dict.fromkeys(("publish", "replicate", "push", "pull"), "Export the rows, and insert them into the other database."),
    **dict.fromkeys(
        ("link_external_store", "unlink_external_stores", "external_stores", "sync"),
        "Read the rows with cursor(), and send them with the client of the other system.",
    ),
    "to_pandas": "Write collect().to_pandas()",
    **dict.fromkeys(("schema", "comment", "name", "is_view"), "Write get_metadata(), or describe()"),
}
_OPTIONS = {
    "source_format": "Leave it out: the ending of the path says the format.",
    "schema_overrides": "Give the types of all columns in the schema.",
    "is_snapshot": "Leave it out: tables do not keep versions. Use pg_dump to keep copies.",
    "return_rows": "Read the rows after the change: docs.where(...).collect()",
    "print_stats": "Leave it out, and print the result: it has num_rows and num_excs.",
}
#: Of changes of rows.
_OPTIONS_OF_ROWS = {
    **_OPTIONS,
    "cascade": "Leave it out: computed columns always follow the columns that they read.",
    "where": 'Leave it out, or recompute failed cells only: recompute_columns("loud", errors_only=True)',
}


def refuse_method(what, name):
    """Raises the error of a method that this library does not have; does nothing for other names."""
    if name in _METHODS:
        raise UnknownAttribute(f"{what} has no '{name}'.", _METHODS[name])


def option_hint(name):
    """What to write in place of an option of similar systems; None for other names."""
    return _OPTIONS.get(name)


def refuse_options(function, unknown, cascade=True, known=()):
    """Raises the error of the first option that the function does not have, and of cascade=False."""
    for name in (*unknown, *(() if cascade else ("cascade",))):
        otherwise = f"It takes: {', '.join(known)}." if known else "Leave it out."
        hint = _OPTIONS_OF_ROWS.get(name) or did_you_mean(name, known, otherwise)
        raise Error(f"{function}() has no argument '{name}'.", hint)
