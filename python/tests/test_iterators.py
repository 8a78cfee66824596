"""Calls of the library's iterators in an application's file: arguments, outputs, packages, old spellings."""

from inspect import signature

import pytest
from test_iterator_examples import column
from test_manifest_errors import check

import appdb as db
from appdb.declare import packages
from appdb.declare.errors import AppFileError
from appdb.functions.audio import audio_splitter
from appdb.functions.document import document_splitter
from appdb.functions.image import tile_iterator
from appdb.functions.json import list_iterator
from appdb.functions.string import string_splitter
from appdb.functions.video import frame_iterator, video_splitter
from appdb.iterators.running import run_iterator
from appdb.worker.calling import CellError


FILE = column("file", "document")
FILM = column("film", "video")
N = column("n", "int")
TEXT = column("text", "string")
HEAD = """
from appdb.functions.document import document_splitter
from appdb.functions.json import list_iterator
from appdb.functions.string import string_splitter
from appdb.functions.video import frame_iterator, video_splitter
from appdb.iterators.running import run_iterator
from appdb.worker.calling import CellError
from appdb.functions.image import tile_iterator
from appdb.functions.audio import audio_splitter

class A(Base, name='a'):
    file: db.Document
    film: db.Video
    sound: db.Audio
    picture: db.Image
    text: db.String
    n: db.Int
    loose: db.Json
    numbers: db.Json[list[db.Int]]
    rows: db.Json[list[{'pos': db.Int}]]

"""
REFUSED = {
    "document_splitter(A.file)": ["without its argument 'separators'"],
    "document_splitter(A.text, 'page')": ["takes Document for 'document'", "text is String"],
    "document_splitter(A.file, 'pages')": ["no separator 'pages'", "Did you mean 'page'?"],
    "document_splitter(A.file, 'char_limit')": ["no limit=", "limit=300"],
    "document_splitter(A.file, 'page', limit=3)": ["limit= only with the separator"],
    "document_splitter(A.file, 'page', overlap=3)": ["overlap= only with the separator"],
    "document_splitter(A.file, 'char_limit', limit=0)": ["limit from 1, not 0"],
    "document_splitter(A.file, 'char_limit', limit=5, overlap=5)": ["an overlap below the limit", "smaller"],
    "document_splitter(A.file, 'char_limit', limit=5, overlap=-1)": ["overlap from 0, not -1"],
    "document_splitter(A.file, 'char_limit,token_limit', limit=5)": ["not both"],
    "document_splitter(A.file, 'page', metadata='titel')": ["no metadata 'titel'", "Did you mean 'title'?"],
    "document_splitter(A.file, A.text)": ["a constant for 'separators'", "text differs by row"],
    "document_splitter(A.file, 'page', metadata=['page', 'heading'])": ["takes a text for 'metadata'", 'metadata="page,heading"'],
    "document_splitter(A.file, ['page'])": ["takes a text for 'separators', not a list", 'separators="page"'],
    "document_splitter(A.file, 'page', metadata=A.text)": ["a constant for 'metadata'"],
    "document_splitter(A.file, 'page', elements=[])": ["elements as a list of 'text' and 'image'"],
    "document_splitter(A.file, 'heading', elements=['image'])": ["images of pages only", "separators='page'"],
    "document_splitter(A.file, 'page', image_dpi=0)": ["image_dpi from 1 to 1200"],
    "document_splitter(A.file, 'page', image_format='gif')": ["no image_format 'gif'"],
    "document_splitter(A.file, 'page', skip_tags='nav')": ["a list of names of HTML elements, not 'nav'"],
    "document_splitter(A.file, 'page', skip_tags=['<nav>'])": ["skip_tags as a list of names"],
    "document_splitter(A.file, 'page', html_skip_tags=['nav'])": ["no argument 'html_skip_tags'", "skip_tags"],
    "document_splitter(A.file, 'token_limit', limit=5)": ["package tiktoken", "requirements.txt: tiktoken>="],
    "string_splitter(A.text, separators='heading')": ["no separator 'heading'"],
    "string_splitter(A.n, separators='sentence')": ["takes String for 'text'"],
    "frame_iterator(A.film, 2.0)": ["takes 1 positional arguments"],
    "frame_iterator(A.film, fps=0)": ["fps above 0, not 0.0"],
    "frame_iterator(A.film, fps=-1.5)": ["fps above 0"],
    "frame_iterator(A.film, num_frames=0)": ["num_frames from 1"],
    "frame_iterator(A.film, fps=1, num_frames=3)": ["fps and num_frames are given", "Keep one"],
    "frame_iterator(A.film, num_frames=3, keyframes_only=True)": ["num_frames and keyframes_only are given"],
    "video_splitter(A.film)": ["duration or segment_times; none is given"],
    "video_splitter(A.film, duration=1, segment_times=[1])": ["duration and segment_times are given"],
    "video_splitter(A.film, duration=0)": ["duration from 0.01"],
    "video_splitter(A.film, segment_times=[3, 1])": ["seconds above 0 that rise"],
    "video_splitter(A.film, segment_times=[1], overlap=0.5)": ["overlap only with duration"],
    "video_splitter(A.film, duration=1, mode='quick')": ["no mode 'quick'", "accurate, fast"],
    "video_splitter(A.film, duration=1, mode='fast', video_encoder='mpeg4')": ["encodes nothing"],
    "video_splitter(A.film, duration=1, video_encoder=A.text)": ["a constant for 'video_encoder'"],
    "audio_splitter(A.sound)": ["duration or max_size; none is given"],
    "audio_splitter(A.sound, duration=1, max_size=9999)": ["duration and max_size are given"],
    "audio_splitter(A.sound, duration=1, overlap=1)": ["an overlap below the duration"],
    "audio_splitter(A.sound, max_size=10)": ["max_size from 1000"],
    "audio_splitter(A.sound, duration=1, silence_thresh=3.0)": ["silence_thresh from -200 to 0"],
    "tile_iterator(A.picture)": ["without its argument 'tile_size'"],
    "tile_iterator(A.picture, (0, 4))": ["at least 1, not [0, 4]"],
    "tile_iterator(A.picture, (4, 4), overlap=(4, 0))": ["an overlap below the tile_size"],
    "list_iterator(A.loose)": ["a list of objects with known members", "Declare the list as db.Json[list["],
    "list_iterator(A.numbers)": ["a list of objects", "list_iterator(item=numbers)"],
    "list_iterator(x=A.loose)": ["needs to know what loose holds", "db.Json[list[db.Int]]"],
    "list_iterator(x=A.text)": ["takes columns of lists; text is String"],
    "list_iterator(A.rows)": ["the output 'pos'", "another name"],
    "list_iterator(mode='padded', n=A.n)": ["takes columns of lists"],
    "list_iterator(A.rows, x=A.numbers)": ["not both"],
    "list_iterator(A.numbers, A.numbers)": ["one list by place; 2 are given"],
    "list_iterator(X=A.numbers)": ["'X'", "lower-case", "'x'"],
    "list_iterator(x=A.numbers, mode='zip')": ["no mode 'zip'", "strict, truncated, padded"],
    "list_iterator(x=A.numbers, mode=A.text)": ["a constant text as mode"],
}


@pytest.mark.parametrize("written", REFUSED)
def test_wrong_arguments_are_refused_at_their_line(project, written):
    check(project.error(f"{HEAD}x = {written}\n"), f"x = {written}", *REFUSED[written])


OLD = {
    "db.iterators.FrameIterator.create(video=A.film)": ["frame_iterator(video=A.film)"],
    "FrameIterator.create(video=A.film, fps=1)": ["frame_iterator(video=A.film, fps=1)", "appdb.functions.video"],
    "DocumentSplitter.create(document=A.file, separators='page')": ["(document=A.file, separators='page')"],
    "DocumentSplitter.create(document=A.file, html_skip_tags=['nav'])": ["skip_tags=['nav']"],
    "StringSplitter.create(text=A.text, separators='sentence')": ["string_splitter(text=A.text, separators='sentence')"],
    "ListIterator.create(A.numbers)": ["list_iterator(A.numbers)", "appdb.functions.json"],
    "TileIterator.create(image=A.picture, tile_size=(9, 9))": ["tile_iterator(image=A.picture, tile_size=(9, 9))"],
    "AudioSplitter.create(audio=A.sound, chunk_duration_sec=30.0, overlap_sec=2.0)": ["duration=30.0, overlap=2.0"],
    "VideoSplitter(A.film, duration=2)": ["VideoSplitter() is the old spelling", "video_splitter(A.film, duration=2)"],
}


@pytest.mark.parametrize("written", OLD)
def test_the_old_spelling_is_refused_with_what_to_write(project, written):
    name = written.partition(".")[0].partition("(")[0]
    head = "" if name == "db" else f"from appdb.iterators import {name}\n"
    source = f"{head}{HEAD}x = {written}\n"
    check(project.error(source), f"x = {written}", "old spelling", *OLD[written])


def names(call):
    return [(one.name, db.kinds.DISPLAY[str(one.kind)], one.nullable, one.stored) for one in call.outputs]


def test_outputs_of_documents_depend_on_what_is_asked():
    plain = document_splitter(FILE, "heading")
    assert names(plain) == [("text", "String", False, True)]
    asked = document_splitter(FILE, "page", elements=["image", "text"], metadata="page, title,BOUNDING_BOX")
    assert names(asked) == [
        ("text", "String", False, True),
        ("image", "Image", True, True),
        ("title", "String", True, True),
        ("page", "Int", True, True),
        ("bounding_box", "Json", True, True),
    ]
    assert [one.name for one in document_splitter(FILE, "page", elements=["image"]).outputs] == ["image"]
    heading = document_splitter(FILE, "heading", metadata="heading,sourceline").outputs[1]
    assert heading.kind.type["schema"]["properties"].keys() == {"h1", "h2", "h3", "h4", "h5", "h6"}


def test_outputs_of_lists_are_the_members_with_their_types():
    typed = {"a": db.Int, "b": db.String | None, "t": db.Timestamp, "l": db.Json[list[db.Int]], "any": db.Json}
    call = list_iterator(column("rows", db.Json[list[typed]].kind))
    assert names(call) == [
        ("a", "Int", False, True),
        ("b", "String", True, True),
        ("t", "Timestamp", False, True),
        ("l", "Json", False, True),
        ("any", "Json", True, True),
    ]
    x, y = column("x", db.Json[list[db.Int]].kind), column("y", db.Json[list[db.String | None]].kind)
    assert names(list_iterator(x=x, y=y)) == [("x", "Int", False, True), ("y", "String", True, True)]
    assert [one.nullable for one in list_iterator(x=x, y=y, mode="padded").outputs] == [True, True]
    assert list_iterator(elements=column("rows", db.Json[list[{"a": db.Int}]].kind)).text == "list_iterator(rows)"
    assert list_iterator(x=x, mode="padded").text == "list_iterator(x=x, mode='padded')"


def test_frames_and_tiles_are_not_stored_and_name_their_readers():
    call = frame_iterator(FILM, fps=1)
    assert names(call) == [("frame", "Image", False, False), ("frame_attrs", "Json", False, True)]
    read = call.read_expression("frame", {"frame_attrs": column("frame_attrs", "json")})
    assert (read._text, read._kind) == ("video.read_frame(film, frame_attrs)", "image")
    tiles = tile_iterator(column("picture", "image"), (256, 256), overlap=(32, 32))
    stored = [("tile_coord", "Json", False, True), ("tile_box", "Json", False, True)]
    assert names(tiles) == [("tile", "Image", False, False), *stored]
    read = tiles.read_expression("tile", {"tile_box": column("tile_box", "json")})
    assert read._text == "image.read_tile(picture, tile_box)"


def test_a_call_has_one_canonical_form():
    by_name = document_splitter(separators="char_limit", document=FILE, overlap=2, limit=N)
    by_place = document_splitter(FILE, "char_limit", limit=N, overlap=2)
    assert by_name.text == by_place.text == "document_splitter(file, 'char_limit', limit=n, overlap=2)"
    assert by_name.document() == by_place.document()
    assert [arg["node"] for arg in by_name.document()["args"]] == ["column", "literal"]
    assert list(by_name.kwargs) == ["limit", "overlap"]
    assert by_name.function is document_splitter and not by_name.is_udf and by_name._functions == ()
    assert repr(by_name) == "<iterator call: document_splitter(file, 'char_limit', limit=n, overlap=2)>"


def test_a_call_knows_what_its_arguments_read(project):
    source = """call = document_splitter(A.file, 'char_limit', limit=A.n)
assert [one._name for one in call._reads] == ['file', 'n'], call._reads
"""
    assert project.manifest(HEAD + source)["tables"][0]["name"] == "a"


def test_an_iterator_is_no_value_of_a_column(project):
    source = HEAD + "class B(Base, name='b'):\n    film: db.Video\n    x = frame_iterator(film)\n"
    check(project.error(source), "x = frame_iterator(film)", "frame_iterator(film) gives many rows", "@udf")


def test_iterators_take_columns_for_what_may_differ_by_row():
    times = column("times", "json")
    assert video_splitter(FILM, segment_times=times).text == "video_splitter(film, segment_times=times)"
    assert audio_splitter(column("a", "audio"), duration=column("f", "float")).text == "audio_splitter(a, duration=f)"
    assert frame_iterator(FILM, num_frames=N).text == "frame_iterator(film, num_frames=n)"
    assert tile_iterator(column("p", "image"), times).text == "tile_iterator(p, times)"


@pytest.mark.parametrize(
    ("call", "lacking", "line"),
    [
        (lambda: frame_iterator(FILM), "av", "av>=15"),
        (lambda: frame_iterator(FILM), "pillow", "pillow>=11"),
        (lambda: document_splitter(FILE, "page"), "pypdfium2", "pypdfium2>=5"),
        (lambda: document_splitter(FILE, "page", elements=["image"]), "pillow", "pillow>=11"),
        (lambda: string_splitter(TEXT, "token_limit", limit=3), "tiktoken", "tiktoken>=0.9"),
        (lambda: audio_splitter(column("a", "audio"), duration=1.0, min_silence_len=0.5), "numpy", "numpy>=2"),
    ],
)
def test_a_missing_package_is_named_with_its_line(monkeypatch, call, lacking, line):
    monkeypatch.setattr(packages, "is_there", lambda name: name != lacking)
    with pytest.raises(AppFileError) as caught:
        call()
    assert f"needs the package {lacking}" in caught.value.detail
    assert caught.value.hint == f"Add to requirements.txt: {line}"


def test_packages_are_asked_for_only_where_they_are_needed(monkeypatch):
    monkeypatch.setattr(packages, "is_there", lambda name: name not in ("tiktoken", "numpy", "pillow"))
    document_splitter(FILE, "sentence")
    string_splitter(TEXT, "sentence")
    audio_splitter(column("a", "audio"), duration=1.0)


def run(call, *args, **kwargs):
    return list(run_iterator(list_iterator, args, kwargs, call.outputs))


def test_values_of_lists_get_the_types_of_their_outputs():
    typed = {"n": db.Int, "f": db.Float, "t": db.Timestamp, "d": db.Date | None, "any": db.Json}
    call = list_iterator(column("rows", db.Json[list[typed]].kind))
    row = {"n": 1, "f": 2, "t": "2024-05-06T07:08:09+02:00", "any": [1]}
    assert run(call, [row, {**row, "d": "2024-05-06", "any": None}]) == [
        {"n": 1, "f": 2.0, "t": "2024-05-06T05:08:09Z", "d": None, "any": "[1]"},
        {"n": 1, "f": 2.0, "t": "2024-05-06T05:08:09Z", "d": "2024-05-06", "any": None},
    ]
    for wrong, words in (
        ({**row, "n": "1"}, "str for the output 'n': the Json value is text"),
        ({**row, "n": None}, "None for the output 'n'"),
        ({**row, "t": "soon"}, "str for the output 't'"),
        ({**row, "x": 1}, "'x', which is not one of its outputs"),
    ):
        with pytest.raises(CellError) as caught:
            run(call, [row, wrong])
        assert f"the row at pos 1 of list_iterator has {words}" in f"{caught.value.cause}"


def test_lists_of_lists_and_optional_members_give_rows():
    schema = {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "integer"}}}}
    call = list_iterator(column("rows", db.Json.schema(schema).kind))
    assert run(call, [{"a": 1}, {}]) == [{"a": 1}, {"a": None}]
    nested = list_iterator(x=column("x", db.Json[list[list[db.Int]]].kind))
    assert run(nested, x=[[1, 2], []]) == [{"x": "[1,2]"}, {"x": "[]"}]
    assert run(nested, x=[]) == [] and run(nested, x=None) == []


@pytest.mark.parametrize("iterator, parameters", [(string_splitter, ["text", "separators", "limit"]), (tile_iterator, ["image", "tile_size"])])
def test_an_iterator_has_the_signature_of_its_arguments(iterator, parameters):
    found = list(signature(iterator).parameters)
    assert found[: len(parameters)] == parameters


NO_LISTS = {
    "a text": ({"tag": "text"}, "list_iterator takes lists; tag is str 'text'"),
    "an object": ({"tag": {"no": "list"}}, "list_iterator takes lists; tag is dict {'no': 'list'}"),
    "a number": ({"a": [1], "tag": 7}, "list_iterator takes lists; tag is int 7"),
    "elements that are a text": ({"elements": "text"}, "list_iterator takes lists; elements is str 'text'"),
    "elements that are a number": ({"elements": 7}, "list_iterator takes lists; elements is int 7"),
}


@pytest.mark.parametrize("name", NO_LISTS)
def test_a_value_that_is_no_list_makes_no_rows(name):
    given, text = NO_LISTS[name]
    with pytest.raises(ValueError) as caught:
        list(list_iterator(**given))
    assert str(caught.value) == text
