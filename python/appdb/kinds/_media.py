"""What the kinds of media have in common: Python gets a file by its path, and gives one by its path.

The engine hands a worker each file of a row as JSON text: `{"path": ...}` and what is known of the file. What a worker
gives back names a file in its scratch folder (`APPDB_SCRATCH`), which the engine moves into the store.
"""

from appdb.kinds._base import Rules, as_it_is
from appdb.values import WrongType, type_name


class Leaving:
    """A stored value that only exists in the worker. `to_wire` makes what the engine gets."""

    __slots__ = ()

    def wire(self):
        """JSON text for the engine. It never raises: an error is part of the text, and becomes the cell's."""
        from json import dumps

        try:
            return dumps(self.to_wire())
        except Exception as error:
            return dumps({"error": {"type": type(error).__name__, "message": str(error)}})


class Checked(Leaving):
    """A given file that was decoded successfully, with what is known of it now."""

    __slots__ = ("given", "found")

    def __init__(self, given, found):
        self.given = given  # JSON text of the engine.
        self.found = found

    def to_wire(self):
        """The path of the file, and what is known of it."""
        return {"path": local_path(self), "checked": self.found}


def local_path(stored):
    """The path of a file: one that the engine has handed over, or one that a step has made."""
    from json import loads

    return loads(stored.given if isinstance(stored, Checked) else stored)["path"]


def scratch_file(suffix):
    """The path of a new empty file, whose content becomes the value of a cell. `suffix`: `.mp4`. By the beginning of its
    name, the engine removes the files of a worker after its end.
    """
    from os import close, environ
    from tempfile import mkstemp

    name = environ.get("APPDB_SCRATCH_NAME")
    descriptor, path = mkstemp(suffix=suffix, dir=environ.get("APPDB_SCRATCH"), prefix=name)
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
        if path.isdir(found):
            raise ValueError(f"{found} is a folder; return the path of a file")
        if not path.isfile(found):
            raise ValueError(f"there is no file {found}")
        return dumps({"path": _in_scratch(found)})

    return encode


def _in_scratch(path):
    """The file, or a copy of it, in the folder from which the engine takes files."""
    from os import environ
    from os.path import dirname, splitext

    folder = environ.get("APPDB_SCRATCH")
    if folder is None or dirname(path) == folder:
        return path
    from shutil import copyfile

    copy = scratch_file(splitext(path)[1])
    copyfile(path, copy)
    return copy


def stream_check(stream, what):
    """The check of films and sounds: a stream of the kind is there and begins, and a sound is whole."""

    def check(stored):
        from appdb.kinds._av import opened

        path = local_path(stored)
        with opened(path, stream) as container:
            found = getattr(container.streams, stream)
            if not found:
                raise ValueError(f"the file has no {what}")
            if next(container.decode(found[0]), None) is None:
                raise ValueError(f"the {what} of the file has no content")
            known = {}
            if stream == "video":
                known = {"width": found[0].codec_context.width, "height": found[0].codec_context.height}
            format = container.format.name
        if stream == "audio":
            from appdb.media.whole import check_whole

            check_whole(path, format)
        return Checked(stored, known)

    return lambda type: check


def no_literal(value, type):
    """A manifest holds no files."""
    raise TypeError("media cannot be constants")


def media_rules(python, hints, encoder, decoder, check, display=None):
    """The rules of a kind of media. `display`: as in Rules; the name alone for a kind without parameters."""
    return Rules(
        python=python,
        hints=hints,
        display=display or (lambda type: type["kind"].capitalize()),
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
        is_indexed=False,
        is_embedded=True,
        is_zoned=False,
        is_text_in_json=False,
        column=None,
        json_schema=None,
        instead=None,
        check=check,
        is_written=lambda value, texts: True,
    )
