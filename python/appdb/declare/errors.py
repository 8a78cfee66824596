"""The one error of application declarations, and helpers for its texts."""


class AppFileError(Exception):
    """An error in an application file: `detail` describes it, `hint` the correction.

    `source` is (file, line) if the place is more precise than the traceback's.
    """

    code = "app_invalid"

    def __init__(self, detail, hint, source=None):
        super().__init__(f"{detail} {hint}")
        self.detail = detail
        self.hint = hint
        self.source = source


class UnknownAttribute(AppFileError, AttributeError):
    """A missing attribute; also an AttributeError, so that `hasattr` and `copy` work."""


def asked_while_running(what):
    """For query parts in a running function: it has no database, and must use queries of the file."""
    return AppFileError(
        f"{what} is part of a query, which a running function cannot write.",
        "Write it in a function of the file marked @db.query; a handler calls that and gets its rows.",
    )


def later(what, instead="Omit it for now."):
    """Makes the error for an unsupported feature."""
    return AppFileError(f"{what} is not supported yet.", instead)


# The most similar system's names for past versions of tables.
VERSIONS = {
    "create_snapshot": "a snapshot of a table",
    "get_versions": "the versions of a table",
    "history": "the versions of a table",
    "revert": "reverting to a previous version of a table",
}


def no_versions(what, wanted):
    """Makes the error for other systems' names of past table versions."""
    return AppFileError(
        f"{what} does not exist: tables do not keep versions, so appdb does not support {wanted}.",
        "Branches and point-in-time restore will come in a later version; until then, use"
        " pg_dump to keep copies.",
    )


def get_table(path, *_, **__):
    """The function of applications that name a table by its path. The path shows what is missing."""
    version = path.rpartition(":")[2] if isinstance(path, str) and ":" in path else ""
    if version.isdecimal():
        raise no_versions(f"{path!r}", f"version {version} of a table")
    raise later("appdb.get_table", "Name the model: Docs.insert(...) in a handler, or a query marked @db.query.")


def nearest(name, known, likeness=0.6):
    """Returns the known name that the user most likely meant, or None."""
    import difflib  # Only for an error: it is slow to load.

    found = difflib.get_close_matches(name, list(known), 1, likeness)
    return found[0] if found else None


def did_you_mean(name, known, otherwise):
    """Makes a hint: the nearest known name, or `otherwise` when none is near."""
    near = nearest(name, known)
    return f"Did you mean '{near}'?" if near else otherwise


def listed(names):
    """Joins names for a sentence: `'a', 'b'`."""
    return ", ".join(f"'{name}'" for name in names)
