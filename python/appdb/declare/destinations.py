"""Where media that a column computes are stored: `Column(value=..., destination="s3://bucket/folder")`."""

from appdb.declare.errors import AppFileError

_SCHEMES = ("s3", "gs", "wasb", "wasbs", "abfs", "abfss", "mediafs", "file")
_EXAMPLES = 'Write destination="s3://bucket/folder", "gs://...", "wasbs://...", "mediafs://org:db/home", or a folder.'


def checked_destination(destination):
    """The address of a store, as text. Raises AppFileError for another value."""
    from os import PathLike, fspath, path

    if not isinstance(destination, (str, PathLike)) or not fspath(destination):
        raise AppFileError(f"destination= is the address of a store, not {destination!r}.", _EXAMPLES)
    text = fspath(destination)
    scheme, separator, rest = text.partition("://")
    if not separator:
        return f"file://{path.abspath(text)}"
    if scheme not in _SCHEMES or not rest.strip("/"):
        raise AppFileError(f"destination= is '{text}', which is not the address of a store.", _EXAMPLES)
    if "@" in rest.partition("/")[0] and scheme in ("s3", "gs"):
        raise AppFileError(
            "destination= contains a user or a key.", "Leave it out: keys of a store belong into secrets and the environment."
        )
    return text.rstrip("/")
