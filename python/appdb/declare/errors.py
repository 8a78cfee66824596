"""The one error that declaring an application raises, and help for its wording."""


class AppFileError(Exception):
    """What an application file got wrong: `detail` says what, `hint` what to write instead.

    `source` is (file, line) where the place is known better than the traceback says.
    """

    code = "app_invalid"

    def __init__(self, detail, hint, source=None):
        super().__init__(f"{detail} {hint}")
        self.detail = detail
        self.hint = hint
        self.source = source


class UnknownAttribute(AppFileError, AttributeError):
    """An attribute that does not exist; also an AttributeError, so that `hasattr` and `copy` work."""


def asked_while_running(what):
    """For parts of queries that a running function writes: it has no database, and asks by queries of the file."""
    return AppFileError(
        f"{what} is part of a query, which a running function cannot write.",
        "Write it in a function of the file marked @db.query; a handler calls that and gets its rows.",
    )


def later(what, instead="Leave it out for now."):
    """Makes the error for a feature that this version does not have."""
    return AppFileError(f"{what} is not supported yet.", instead)


# What the nearest system keeps past versions of tables by, and has its names for.
VERSIONS = {
    "create_snapshot": "a snapshot of a table",
    "get_versions": "the versions of a table",
    "history": "the versions of a table",
    "revert": "reverting to a previous version of a table",
}


def no_versions(what, wanted):
    """Makes the error for the names under which elsewhere past versions of tables are kept."""
    return AppFileError(
        f"{what} does not exist: tables do not keep versions, so appdb does not support {wanted}.",
        "Branches and point-in-time restore will come in a later version; until then, use"
        " pg_dump to keep copies.",
    )


def get_table(path, *_, **__):
    """What an application calls that names a table by its path: the path says which of the two is not there."""
    version = path.rpartition(":")[2] if isinstance(path, str) and ":" in path else ""
    if version.isdecimal():
        raise no_versions(f"{path!r}", f"version {version} of a table")
    raise later("appdb.get_table", "Name the model: Docs.insert(...) in a handler, or a query marked @db.query.")


def nearest(name, known, likeness=0.6):
    """Returns the known name that a person most likely meant, or None."""
    import difflib  # only on the way to an error: it is slow to load

    found = difflib.get_close_matches(name, list(known), 1, likeness)
    return found[0] if found else None


def did_you_mean(name, known, otherwise):
    """Words a hint: the nearest known name, or `otherwise` when none is near."""
    near = nearest(name, known)
    return f"Did you mean '{near}'?" if near else otherwise


def listed(names):
    """Joins names for a sentence: `'a', 'b'`."""
    return ", ".join(f"'{name}'" for name in names)
