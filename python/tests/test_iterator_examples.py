"""The examples of each iterator of the library are its tests: its rows, and a call of it over columns."""

import media_samples
import pytest

import appdb as db
from appdb.declare.errors import AppFileError
from appdb.expressions.expr import Expr
from appdb.iterators.calls import IteratorCall
from appdb.iterators.library import ITERATORS
from appdb.iterators.running import run_iterator
from appdb.kinds._media import local_path
from appdb.values import decoder
from appdb.worker.calling import CellError


MEDIA = ("image", "video", "audio", "document")
ALL = [pytest.param(id, n, id=f"{id}-{n}") for id, one in ITERATORS.items() for n in range(len(one.examples))]
TYPED = {"x": db.Json[list[db.Int]], "y": db.Json[list[db.String]]}
OBJECTS = db.Json[list[{"a": db.Int, "b": db.String | None}]]


def values_of(iterator, args):
    """The arguments by place as a worker has them."""
    kinds = [str(one.kind) for one in iterator.parameters]
    return [media_samples.value(kind, one) if kind in MEDIA else one for kind, one in zip(kinds, args)]


def called(iterator, args, kwargs):
    """The call with columns for media and lists, and constants for the rest."""
    pairs = zip(iterator.parameters, args)
    columns = [column(one.name, one.kind) if str(one.kind) in MEDIA else given for one, given in pairs]
    if iterator.from_json:
        columns = [column("elements", OBJECTS.kind) for _ in args]
        kwargs = {name: column(name, TYPED[name].kind) if name in TYPED else one for name, one in kwargs.items()}
    elif iterator.name == "string_splitter":
        columns[0] = column("text", "string")
    return iterator(*columns, **kwargs)


def column(name, kind):
    return Expr(kind, False, {"node": "column", "name": name}, name)


def shown(iterator, row):
    """A row of an example: the number of a frame, the times and content of a part, or the row itself."""
    if iterator.name == "frame_iterator":
        return row["frame_attrs"]["index"]
    if iterator.name in ("video_splitter", "audio_splitter"):
        kind = iterator.id.partition(".")[0]
        content = media_samples.shown(kind, row[f"{kind}_segment"])
        return f"{row['segment_start']}-{row['segment_end']} {content}"
    return row


def python(output, stored):
    if stored is None or str(output.kind) in MEDIA:
        return None if stored is None else local_path(stored)
    decode = decoder(output.kind.type if hasattr(output.kind, "type") else str(output.kind))
    return stored if decode is None else decode(stored)


@pytest.mark.parametrize(("id", "n"), ALL)
def test_gives(id, n):
    iterator = ITERATORS[id]
    args, kwargs, wanted = iterator.examples[n]
    if type(wanted) is type:
        with pytest.raises((AppFileError, CellError)) as caught:
            call = called(iterator, args, kwargs)
            list(run_iterator(iterator, values_of(iterator, args), kwargs, call.outputs))
        assert isinstance(caught.value, AppFileError) or isinstance(caught.value.cause, wanted)
        return
    call = called(iterator, args, kwargs)
    outputs = {one.name: one for one in call.outputs}
    rows = list(run_iterator(iterator, values_of(iterator, args), kwargs, call.outputs))
    decoded = [{name: python(outputs[name], value) for name, value in row.items()} for row in rows]
    assert [shown(iterator, row) for row in decoded] == wanted
    assert all(list(row) == [one.name for one in call.outputs if one.stored] for row in rows)


@pytest.mark.parametrize(("id", "n"), ALL)
def test_a_run_refuses_what_a_declaration_refuses(id, n):
    iterator = ITERATORS[id]
    args, kwargs, wanted = iterator.examples[n]
    if type(wanted) is type:
        with pytest.raises(wanted):
            list(iterator(*values_of(iterator, args), **kwargs))


@pytest.mark.parametrize("id", ITERATORS)
def test_null_gives_no_rows(id):
    iterator = ITERATORS[id]
    args, kwargs, _ = iterator.examples[0]
    assert list(run_iterator(iterator, [None, *args[1:]], kwargs, [])) == []


@pytest.mark.parametrize("id", ITERATORS)
def test_a_call_prints_as_it_can_be_written_and_describes_itself(id):
    iterator = ITERATORS[id]
    args, kwargs, _ = iterator.examples[0]
    call = called(iterator, args, kwargs)
    assert isinstance(call, IteratorCall) and call.fn == id and call.text.startswith(f"{iterator.name}(")
    document = call.document()
    assert (document["fn"], document["is_udf"], document["text"]) == (id, False, call.text)
    assert [one["name"] for one in document["outputs"]] == [one.name for one in call.outputs]
    assert all(set(one) == {"name", "type", "nullable", "is_stored"} for one in document["outputs"])
    assert iterator.__doc__


def test_plain_values_give_rows_with_all_outputs():
    from appdb.functions.image import tile_iterator

    first = next(tile_iterator(media_samples.image("L 4x2 7"), [2, 2]))
    assert (first["tile"].size, first["tile_box"]) == ((2, 2), [0, 0, 2, 2])
