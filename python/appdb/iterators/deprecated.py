"""Iterators in the spelling of classes, `FrameIterator.create(video=Films.film)`: refused with the line to write."""

from appdb.declare.errors import AppFileError, UnknownAttribute, did_you_mean
from appdb.expressions.expr import ColumnRef, shown

# By the class: the namespace and the iterator.
_CLASSES = {
    "DocumentSplitter": ("document", "document_splitter"),
    "StringSplitter": ("string", "string_splitter"),
    "ListIterator": ("json", "list_iterator"),
    "FrameIterator": ("video", "frame_iterator"),
    "VideoSplitter": ("video", "video_splitter"),
    "AudioSplitter": ("audio", "audio_splitter"),
    "TileIterator": ("image", "tile_iterator"),
}
# Arguments of the classes that have another name now.
_ARGUMENTS = {
    "chunk_duration_sec": "duration",
    "segment_duration": "duration",
    "overlap_sec": "overlap",
    "min_chunk_duration_sec": "min_segment_duration",
    "html_skip_tags": "skip_tags",
}


class _Class:
    """A class of the old spelling: importing it works, so that the error is at the call, whose arguments it has."""

    def __init__(self, name):
        self.__name__ = name

    def create(self, *args, **kwargs):
        raise self._refused("create", args, kwargs)

    def __call__(self, *args, **kwargs):
        raise self._refused("", args, kwargs)

    def _refused(self, method, args, kwargs):
        namespace, function = _CLASSES[self.__name__]
        given = [*map(_shown, args), *(f"{_ARGUMENTS.get(name, name)}={_shown(one)}" for name, one in kwargs.items())]
        written = f"{self.__name__}.{method}()" if method else f"{self.__name__}()"
        return AppFileError(
            f"{written} is the old spelling of {function}().",
            f"Write {function}({', '.join(given)}), with: from appdb.functions.{namespace} import {function}",
        )

    def __repr__(self):
        return f"<old spelling of {_CLASSES[self.__name__][1]}>"


def named(name):
    """A class of the old spelling; raises UnknownAttribute for other names of appdb.iterators."""
    if name in _CLASSES:
        return _Class(name)
    functions = {one: f"from appdb.functions.{namespace} import {one}" for namespace, one in _CLASSES.values()}
    if name in functions:
        raise UnknownAttribute(f"appdb.iterators has no '{name}'.", f"Write: {functions[name]}")
    raise UnknownAttribute(
        f"appdb.iterators has no '{name}'.",
        did_you_mean(name, functions, "An iterator of your own is a generator function marked @db.iterator."),
    )


def missing_module(rest):
    """The error for a module below appdb.iterators in the old spelling: `appdb.iterators.document`."""
    for namespace, function in _CLASSES.values():
        if rest.partition(".")[0] == namespace:
            hint = f"Write: from appdb.functions.{namespace} import {function}"
            return AppFileError(f"appdb has no module 'iterators.{rest}'.", hint)
    homes = ", ".join(sorted({f"appdb.functions.{namespace}" for namespace, _ in _CLASSES.values()}))
    return AppFileError(f"appdb has no module 'iterators.{rest}'.", f"Iterators are in {homes}.")


def _shown(value):
    if isinstance(value, ColumnRef):
        model = getattr(value._owner, "model", None)
        return f"{model}.{value._text}" if model else value._text
    return shown(value)
