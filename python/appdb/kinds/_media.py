"""What the kinds of media have in common: Python gets a file by its path, and gives one by its path.

The engine hands a worker each file of a row as JSON text: `{"path": ...}` and what is known of the file. What a worker
gives back names a file in its scratch folder (`APPDB_SCRATCH`), which the engine moves into the store.
"""

from appdb.kinds._base import Rules, as_it_is
from appdb.values import WrongType, type_name


def local_path(wire):
    """The path of a file that the engine has handed over."""
    from json import loads

    return loads(wire)["path"]


def scratch_file(suffix):
    """The path of a new empty file, whose content becomes the value of a cell. `suffix`: `.mp4`."""
    from os import close, environ
    from tempfile import mkstemp

    descriptor, path = mkstemp(suffix=suffix, dir=environ.get("APPDB_SCRATCH"))
    close(descriptor)
    return path


def path_encoder(what):
    """Returns the function from a path, text or pathlib.Path, to what the engine is given."""

    def encode(value):
        from json import dumps
        from os import PathLike, fspath, path

        if not isinstance(value, (str, PathLike)):
            raise WrongType(f"expected the path of {what} (str or pathlib.Path), got {type_name(value)}")
        found = path.abspath(fspath(value))
        if not path.isfile(found):
            raise ValueError(f"there is no file {found}")
        return dumps({"path": found, "bytes": path.getsize(found)})

    return encode


def no_literal(value, type):
    """A manifest holds no files."""
    raise TypeError("media cannot be constants")


def media_rules(python, hints, display, encoder, decoder):
    """The rules of a kind of media."""
    return Rules(
        python=python,
        hints=hints,
        display=display,
        lacks=None,
        encoder=encoder,
        decoder=decoder,
        from_wire=None,
        to_literal=no_literal,
        from_literal=as_it_is,
        is_shared=False,  # a function may change it
        printed=lambda value, literal: repr(literal),
        casts={},
        is_ordered=False,
        is_key=False,
        is_indexed=True,
        is_embedded=True,
        is_zoned=False,
        is_text_in_json=False,
        json_schema=None,
        instead=None,
        is_written=lambda value, texts: True,
    )
