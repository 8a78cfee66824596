"""The library's iterators: parameters, outputs, examples. What they compute is in the modules of this folder.

`media_samples.py` of the tests makes the values of examples: videos, sounds, images and documents from a text.
"""

from __future__ import annotations

from appdb.iterators.calls import Output, Reader
from appdb.iterators.checks import check_audio_parts, check_frames, check_tiles, check_video_parts, needs_of_audio
from appdb.iterators.declared import library_iterator
from appdb.iterators.lists import bind_lists, rows_of_lists
from appdb.iterators.splitting import (
    check_document,
    check_string,
    needs_of_document,
    needs_of_text,
    outputs_of_document,
)
from appdb.kinds.json import Json as JsonType
from appdb.kinds.bool import Bool
from appdb.kinds.int import Int
from appdb.kinds.float import Float

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any as Audio
    from typing import Any as Document
    from typing import Any as Image
    from typing import Any as Json
    from typing import Any as Video

_FRAME_ATTRS = JsonType[
    {
        "index": Int,
        "pts": Int | None,
        "dts": Int | None,
        "time": Float,
        "is_corrupt": Bool,
        "key_frame": Bool,
        "pict_type": Int,
        "interlaced_frame": Bool,
    }
]
_TIMES = [("segment_start", "float"), ("segment_start_pts", "int"), ("segment_end", "float"), ("segment_end_pts", "int")]
_FILM = "64x48 10@10 440Hz"
_TEXTS = "text First one. Second one.|Third."


@library_iterator(
    "document",
    [
        ((_TEXTS, "paragraph"), {}, [{"text": "First one. Second one."}, {"text": "Third."}]),
        ((_TEXTS, "sentence"), {}, [{"text": "First one."}, {"text": "Second one."}, {"text": "Third."}]),
        (("text abc defgh", "char_limit"), {"limit": 5}, [{"text": "abc"}, {"text": "defgh"}]),
        (("pdf one|two", "page"), {"metadata": "page"}, [{"text": "one", "page": 0}, {"text": "two", "page": 1}]),
        (
            ("markdown # A|b|# C|d", "heading"),
            {"metadata": "title,heading"},
            [
                {"text": "A\n\nb", "title": "A", "heading": {"h1": "A"}},
                {"text": "C\n\nd", "title": "A", "heading": {"h1": "C"}},
            ],
        ),
        (("docx one|two", ""), {}, [{"text": "one\n\ntwo"}]),
        (("broken", "page"), {}, ValueError),
        ((_TEXTS, "chapter"), {}, ValueError),
        ((_TEXTS, "char_limit"), {}, ValueError),
        ((_TEXTS, "paragraph"), {"metadata": "author"}, ValueError),
    ],
    outputs=outputs_of_document,
    needs=needs_of_document,
    check=check_document,
    constants=("separators", "elements", "metadata", "spacy_model", "tiktoken_encoding", "tiktoken_target_model"),
)
def document_splitter(
    document: Document,
    separators: str,
    *,
    elements: Json | None = None,
    limit: int | None = None,
    overlap: int | None = None,
    metadata: str = "",
    skip_tags: Json | None = None,
    spacy_model: str | None = None,
    tiktoken_encoding: str | None = "cl100k_base",
    tiktoken_target_model: str | None = None,
    image_dpi: int = 300,
    image_format: str = "png",
):
    """Chunks of a document (text, CSV, XML, HTML, Markdown, PDF, DOCX, PPTX, XLSX), each a row with `text`.

    `separators` is a comma list. A chunk ends before a `heading`, at the end of a `page` (of PDF; a slide, a sheet), a
    `paragraph` (also a heading, a row of a table, and in plain text and PDF what empty lines separate) or a `sentence`.
    Sentences are found by the model of spaCy that `spacy_model` names, if spaCy is installed, and otherwise by rules for
    abbreviations, numbers, quotes and the marks of Chinese and Japanese. `char_limit` and `token_limit` cut chunks that
    have more characters, or tokens of tiktoken, than `limit`; the next chunk begins `overlap` of them earlier, at a
    word. Without separators the document is one chunk. Chunks without text are left out.

    `metadata` adds outputs, null where the format has none: `title`, `heading` (the open headings where the chunk
    begins, `{"h1": ...}`), `sourceline` (of HTML, from 1), `page` (of PDF, from 0) and `bounding_box` (around the text
    of the PDF page where the chunk begins, in points from the top left). `elements=['text', 'image']` adds the image of
    each PDF page, with `separators='page'`. `skip_tags` are elements of HTML without their content; `nav` if not given.
    """
    from appdb.iterators.documents import document_rows

    return document_rows(
        document,
        {
            "separators": separators,
            "elements": elements,
            "limit": limit,
            "overlap": overlap,
            "metadata": metadata,
            "skip_tags": skip_tags,
            "spacy_model": spacy_model,
            "tiktoken_encoding": tiktoken_encoding,
            "tiktoken_target_model": tiktoken_target_model,
            "image_dpi": image_dpi,
            "image_format": image_format,
        },
    )


@library_iterator(
    "string",
    [
        (("It is 3.5 m. Dr. Lee left!", "sentence"), {}, [{"text": "It is 3.5 m."}, {"text": "Dr. Lee left!"}]),
        (("a b\n\nc", "paragraph"), {}, [{"text": "a b"}, {"text": "c"}]),
        (
            ("one two three four", "char_limit"),
            {"limit": 9, "overlap": 6},
            [{"text": "one two"}, {"text": "two three"}, {"text": "four"}],
        ),
        (("  ", "sentence"), {}, []),
        (("a", "page"), {}, ValueError),
        (("a", "sentence"), {"limit": 3}, ValueError),
    ],
    outputs=[Output("text", "string")],
    needs=needs_of_text,
    check=check_string,
    constants=("separators", "spacy_model", "tiktoken_encoding", "tiktoken_target_model"),
)
def string_splitter(
    text: str,
    separators: str,
    *,
    limit: int | None = None,
    overlap: int | None = None,
    spacy_model: str | None = None,
    tiktoken_encoding: str | None = "cl100k_base",
    tiktoken_target_model: str | None = None,
):
    """Chunks of a text, each a row with `text`.

    `separators` is a comma list of paragraph, sentence, char_limit and token_limit, as in document_splitter.
    """
    from appdb.iterators.documents import string_rows

    return string_rows(
        text,
        {
            "separators": separators,
            "limit": limit,
            "overlap": overlap,
            "spacy_model": spacy_model,
            "tiktoken_encoding": tiktoken_encoding,
            "tiktoken_target_model": tiktoken_target_model,
        },
    )


@library_iterator(
    "json",
    [
        (([{"a": 1, "b": "x"}, {"a": 2, "b": None}],), {}, [{"a": 1, "b": "x"}, {"a": 2, "b": None}]),
        ((), {"x": [1, 2], "y": ["a", "b"]}, [{"x": 1, "y": "a"}, {"x": 2, "y": "b"}]),
        ((), {"mode": "truncated", "x": [1, 2], "y": ["a"]}, [{"x": 1, "y": "a"}]),
        ((), {"mode": "padded", "x": [1, 2], "y": ["a"]}, [{"x": 1, "y": "a"}, {"x": 2, "y": None}]),
        ((), {"x": [1, 2], "y": ["a"]}, ValueError),
        (([1],), {}, ValueError),
        ((), {"mode": "zip", "x": [1]}, ValueError),
    ],
    outputs=[],
    binding=bind_lists,
    from_json=True,
)
def list_iterator(elements: Json | None = None, *, mode: str = "strict", **lists):
    """The objects of a list, with an output for each member; or elements of lists by name, with an output for each.

    The lists are typed: `db.Json[list[{"a": db.Int}]]`, or `db.Json[list[db.Int]]` by name. Lists of different lengths
    are an error (`strict`), end with the shortest one (`truncated`), or are filled with null (`padded`).
    """
    return rows_of_lists(elements, mode, lists)


_reads_frame = Reader("video.read_frame", ("video",), ("frame_attrs",))


@library_iterator(
    "video",
    [
        ((_FILM,), {"fps": 4.0}, [0, 2, 5, 7]),
        ((_FILM,), {"num_frames": 3}, [2, 5, 8]),
        (("64x48 3@10",), {"keyframes_only": True}, [0]),
        (("64x48 3@10",), {}, [0, 1, 2]),
        (("broken",), {}, ValueError),
        ((_FILM,), {"fps": 0.0}, ValueError),
        ((_FILM,), {"fps": 1.0, "num_frames": 2}, ValueError),
    ],
    outputs=[
        Output("frame", "image", stored=False, reader=_reads_frame),
        Output("frame_attrs", _FRAME_ATTRS.kind),
    ],
    needs=("av", "pillow"),
    check=check_frames,
)
def frame_iterator(
    video: Video, *, fps: float | None = None, num_frames: int | None = None, keyframes_only: bool = False
):
    """The frames of a video: `frame`, which is read from the video when it is needed, and `frame_attrs`.

    `fps` takes the frame nearest to each multiple of 1/fps seconds, all if the video has fewer in a second; `num_frames`
    the frames in the middle of as many equal parts. `frame_attrs` is `{"index", "pts", "dts", "time", "is_corrupt",
    "key_frame", "pict_type", "interlaced_frame"}`; times in seconds begin at 0.
    """
    from appdb.iterators.frames import frame_rows

    return frame_rows(video, fps, num_frames, keyframes_only)


@library_iterator(
    "video",
    [
        ((_FILM,), {"duration": 0.6}, ["0.0-0.6 64x48 6@10 sound", "0.6-1.0 64x48 4@10 sound"]),
        ((_FILM,), {"duration": 0.6, "min_segment_duration": 0.5}, ["0.0-0.6 64x48 6@10 sound"]),
        (("64x48 10@10",), {"segment_times": [0.3]}, ["0.0-0.3 64x48 3@10", "0.3-1.0 64x48 7@10"]),
        (("64x48 3@10",), {"duration": 9.0, "mode": "fast"}, ["0.0-0.3 64x48 3@10"]),
        ((_FILM,), {}, ValueError),
        ((_FILM,), {"duration": 0.5, "overlap": 0.5}, ValueError),
        ((_FILM,), {"segment_times": [2.0, 1.0]}, ValueError),
        (("broken",), {"duration": 1.0}, ValueError),
    ],
    outputs=[*(Output(name, kind) for name, kind in _TIMES), Output("video_segment", "video")],
    needs=("av",),
    check=check_video_parts,
    constants=("video_encoder", "video_encoder_args"),
)
def video_splitter(
    video: Video,
    *,
    duration: float | None = None,
    overlap: float | None = None,
    min_segment_duration: float | None = None,
    segment_times: Json | None = None,
    mode: str = "accurate",
    video_encoder: str | None = None,
    video_encoder_args: Json | None = None,
):
    """Parts of a video as files: of `duration` seconds, or cut at `segment_times`.

    Each part of a duration begins `overlap` seconds before the end of the last. A last part shorter than
    `min_segment_duration` is left out. Mode `accurate` encodes, `fast` copies from key frame to key frame: cuts move to
    the key frame before them. Outputs are `segment_start` and `segment_end` in seconds, both also in units of the
    video's time (`_pts`), and `video_segment`.
    """
    from appdb.iterators.segments import video_parts

    return video_parts(
        video,
        {
            "duration": duration,
            "overlap": overlap,
            "min_segment_duration": min_segment_duration,
            "segment_times": segment_times,
            "mode": mode,
            "video_encoder": video_encoder,
            "video_encoder_args": video_encoder_args,
        },
    )


@library_iterator(
    "audio",
    [
        (("1.0s 440Hz",), {"duration": 0.4}, ["0.0-0.4 0.4s", "0.4-0.8 0.4s", "0.8-1.0 0.2s"]),
        (("1.0s 440Hz",), {"duration": 0.6, "overlap": 0.2}, ["0.0-0.6 0.6s", "0.4-1.0 0.6s"]),
        (("1.0s 440Hz",), {"duration": 0.4, "min_segment_duration": 0.3}, ["0.0-0.4 0.4s", "0.4-0.8 0.4s"]),
        (("1.0s 0Hz",), {"duration": 0.4, "trim_leading_silence": True}, []),
        (("1.0s 440Hz",), {}, ValueError),
        (("1.0s 440Hz",), {"duration": 0.5, "overlap": 0.5}, ValueError),
        (("broken",), {"duration": 0.5}, ValueError),
    ],
    outputs=[Output("segment_start", "float"), Output("segment_end", "float"), Output("audio_segment", "audio")],
    needs=needs_of_audio,
    check=check_audio_parts,
    constants=("min_silence_len", "trim_leading_silence"),
)
def audio_splitter(
    audio: Audio,
    *,
    duration: float | None = None,
    max_size: int | None = None,
    overlap: float = 0.0,
    min_segment_duration: float = 0.0,
    min_silence_len: float | None = None,
    silence_thresh: float = -40.0,
    trim_leading_silence: bool = False,
):
    """Parts of a sound as files: of `duration` seconds, or of at most `max_size` bytes.

    Each begins `overlap` seconds before the end of the last. A last part shorter than `min_segment_duration` is left
    out. With `min_silence_len` a part ends in the middle of the last silence of that many seconds in it, below
    `silence_thresh` dBFS; `trim_leading_silence` begins it at the end of a silence. Outputs are `segment_start` and
    `segment_end` in seconds, and `audio_segment`.
    """
    from appdb.iterators.segments import audio_parts

    return audio_parts(
        audio,
        {
            "duration": duration,
            "max_size": max_size,
            "overlap": overlap,
            "min_segment_duration": min_segment_duration,
            "min_silence_len": min_silence_len,
            "silence_thresh": silence_thresh,
            "trim_leading_silence": trim_leading_silence,
        },
    )


_reads_tile = Reader("image.read_tile", ("image",), ("tile_box",))


@library_iterator(
    "image",
    [
        (
            ("L 4x2 7", [3, 2]),
            {},
            [{"tile_coord": [0, 0], "tile_box": [0, 0, 3, 2]}, {"tile_coord": [1, 0], "tile_box": [3, 0, 6, 2]}],
        ),
        (
            ("L 4x2 7", [3, 2]),
            {"overlap": [2, 0]},
            [{"tile_coord": [0, 0], "tile_box": [0, 0, 3, 2]}, {"tile_coord": [1, 0], "tile_box": [1, 0, 4, 2]}],
        ),
        (("L 4x2 7", [0, 2]), {}, ValueError),
        (("L 4x2 7", [2, 2]), {"overlap": [2, 0]}, ValueError),
    ],
    outputs=[
        Output("tile", "image", stored=False, reader=_reads_tile),
        Output("tile_coord", JsonType[(Int, Int)].kind),
        Output("tile_box", JsonType[(Int, Int, Int, Int)].kind),
    ],
    needs=("pillow",),
    check=check_tiles,
)
def tile_iterator(image: Image, tile_size: Json, *, overlap: Json | None = None):
    """The tiles of an image, [width, height] in pixels, from left to right and then from top to bottom.

    Each begins `overlap`, [width, height], before the end of the last. Tiles at the right and bottom are filled with
    black. Outputs are `tile`, which is cut when it is needed, `tile_coord` ([column, row], from 0) and `tile_box`
    ([left, top, right, bottom]).
    """
    from appdb.iterators.tiles import tile_rows

    return tile_rows(image, tile_size, overlap)


_ALL = (document_splitter, string_splitter, list_iterator, frame_iterator, video_splitter, audio_splitter, tile_iterator)
ITERATORS = {one.id: one for one in _ALL}
