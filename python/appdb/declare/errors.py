"""The error of application declarations, the base of all errors of the library, and helpers for their texts."""


class Error(Exception):
    """An error of the library or of a server: `detail` describes it, `hint` the next step.

    `code` is one of docs/errors.md. `errors` has the wrong fields of a request: dicts with `pointer` and `detail`.
    """

    code = "invalid_request"

    def __init__(self, detail, hint=None, code=None, errors=()):
        super().__init__(f"{detail} {hint}" if hint else detail)
        self.detail = detail
        self.hint = hint
        self.errors = list(errors)
        if code is not None:
            self.code = code


class AppFileError(Error):
    """An error in an application file: `detail` describes it, `hint` the correction.

    `source` is (file, line) if the place is more precise than the traceback's.
    """

    code = "app_invalid"

    def __init__(self, detail, hint, source=None):
        super().__init__(detail, hint)
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
