"""Functions of several media: overlays, joins, other audio, scenes, and aggregates in a worker."""

import json

import media_samples
import numpy
import pytest
from conftest import Project
from media_files import Film
from PIL import Image
from test_video_functions import FILM, near, pixel

from appdb.functions import image, video
from appdb.media.films import of_images


SHORT = "64x48 10@10"
LOGO = media_samples.image("RGBA 8x8 #00ff00ff")


@pytest.fixture
def film():
    return media_samples.path("video", FILM)


def is_green(color):
    return color[1] > 150 and max(color[0], color[2]) < 120


def test_an_image_is_laid_over_a_video_where_and_when_it_is_said(film):
    made = video.overlay_image(film, LOGO, horizontal_align="left", vertical_align="top", start_time=0.5, end_time=1.0)
    assert [is_green(pixel(made, 4, 4, time)) for time in (0.4, 0.5, 0.9, 1.0)] == [False, True, True, False]
    made = video.overlay_image(
        film, LOGO, horizontal_align="right", horizontal_margin=8, vertical_align="bottom", scale=0.5
    )
    assert is_green(pixel(made, 40, 40)) and not is_green(pixel(made, 60, 40)) and not is_green(pixel(made, 40, 20))
    half = pixel(video.overlay_image(film, LOGO, opacity=0.5), 32, 24)
    assert not is_green(half) and half[1] > half[0] + 30
    assert Film(made).sound is not None


def test_text_is_drawn_with_its_box_in_the_video(film):
    made = video.overlay_text(
        film, "MM\nM", color="#00ff00", font_size=16, box=True, box_color="blue", box_border=[2, 4]
    )
    frame = numpy.asarray(video.extract_frame(made, timestamp=0.5)).astype(int)
    green = (frame[..., 1] > 150) & (frame[..., 0] < 120)
    blue = (frame[..., 2] > 130) & (frame[..., 0] < 120) & (frame[..., 1] < 120)
    assert 20 < green.sum() < 800 and blue.sum() > 200
    assert abs(numpy.argwhere(blue | green).mean(axis=0)[0] - 24) < 4  # In the middle.
    faint = video.overlay_text(film, "MMM", opacity=0.0)
    assert near(Film(faint).levels, Film(film).levels, 3)


def test_videos_are_joined_in_the_size_of_the_first(film):
    made = Film(video.concat_videos([film, media_samples.path("video", "48x48 10@10"), film]))
    whole = Film(film)
    assert (made.size, len(made.times)) == ((64, 48), 50) and near(made.times[19:21], [1.9, 2.0], 0.01)
    assert near(made.levels[:20], whole.levels, 4) and near(made.levels[30:], whole.levels, 4)
    loud = made.loudness
    assert near(loud[2:18], [0.26] * 16, 0.03) and max(loud[21:29]) < 0.02 and near(loud[32:48], [0.26] * 16, 0.03)
    assert pixel(made.path, 2, 24, 2.5)[0] < 12  # A bar on the left of the square video.


def test_a_transition_overlaps_the_end_and_the_beginning(film):
    made, whole = Film(video.transition(film, film, duration=0.5)), Film(film)
    assert len(made.times) == 35 and near(made.levels[:15], whole.levels[:15], 4)
    assert near(made.levels[20:], whole.levels[5:], 4) and whole.levels[4] < made.levels[17] < whole.levels[17]
    assert abs(made.sound - 3.5) < 0.2
    wiped = video.transition(film, media_samples.path("video", SHORT), effect="wipeleft", duration=1.0)
    assert Film(wiped).sound is None and len(Film(wiped).times) == 20


def test_a_video_gets_other_audio_and_keeps_its_frames(film):
    sound = media_samples.path("audio", "0.5s 100Hz")
    made = Film(video.with_audio(film, sound))
    assert near(made.levels, Film(film).levels, 0) and abs(made.sound - 0.5) < 0.15
    part = Film(video.with_audio(film, sound, video_start_time=1.0, video_duration=0.4))
    assert near(part.levels, Film(film).levels[10:14], 4) and abs(part.sound - 0.4) < 0.15


def test_audio_is_mixed_into_that_of_a_video(film):
    sound = media_samples.path("audio", "0.5s 100Hz")
    loud = Film(video.mix_audio(film, sound, audio_start_time=1.0)).loudness
    assert (
        near(loud[2:9], [0.26] * 7, 0.02)
        and near(loud[10:15], [0.37] * 5, 0.03)
        and near(loud[16:20], [0.26] * 4, 0.02)
    )
    only = Film(video.mix_audio(film, sound, audio_start_time=1.0, original_volume=0)).loudness
    assert max(only[2:9]) < 0.01 and near(only[10:15], [0.26] * 5, 0.03)
    short = Film(video.mix_audio(film, sound, mix_duration="shortest"))
    assert abs(short.sound - 0.5) < 0.15 and len(short.times) == 20
    padded = Film(video.mix_audio(film, sound, mix_duration="shortest", align_to_video="pad"))
    assert abs(padded.sound - 2.0) < 0.15


def test_a_video_is_reversed_in_parts_of_any_size(film, monkeypatch):
    from appdb.media import joins

    wanted = Film(film).levels[::-1]
    assert near(Film(video.reverse(film)).levels, wanted, 4) and Film(video.reverse(film)).sound is None
    monkeypatch.setattr(joins, "_WINDOW_BYTES", 1)  # Eight frames at once.
    made = Film(video.reverse(film, "keep"))
    assert near(made.levels, wanted, 4) and near(made.times, Film(film).times, 0.001) and made.sound is not None


def test_segments_cover_a_video(film):
    found = video.segment_video(film, duration=0.7)
    assert [(one["segment_start"], one["segment_end"]) for one in found] == [(0.0, 0.7), (0.7, 1.4), (1.4, 2.0)]
    levels = sum((Film(one["video_segment"]).levels for one in found), [])
    assert near(levels, Film(film).levels, 4)
    assert len(video.segment_video(film, segment_times=[0.5, 9.0])) == 2
    for wrong in ({"duration": 0.0}, {"segment_times": []}, {"segment_times": [2, 1]}, {"duration": 1e-9}, {}):
        with pytest.raises(ValueError, match="segment_video takes"):
            video.segment_video(film, **wrong)


def test_failed_segments_leave_no_files(tmp_path, monkeypatch, film):
    monkeypatch.setenv("APPDB_SCRATCH", str(tmp_path))
    from appdb.media import joins

    calls = []

    def clip(*args):
        if calls:
            raise ValueError("the video is broken here")
        calls.append(args)
        (tmp_path / "part").write_bytes(b"x")
        return str(tmp_path / "part")

    monkeypatch.setattr(joins, "clipped", clip)
    with pytest.raises(ValueError, match="broken here"):
        video.segment_video(film, duration=0.7)
    assert not (tmp_path / "part").exists()


def test_a_cell_cannot_hold_segments(project):
    error = project.error("class A(Base, name='a'):\n    v: db.Video\n    x = v.segment_video(duration=1.0)\n")
    assert error["detail"] == "segment_video() gives several files, which one cell cannot hold."
    error = project.error("class A(Base, name='a'):\n    v: db.Video\n    x = fn.video.concat_videos(v)\n")
    assert error["hint"] == "Write concat_videos([first, second])"


# Scenes


@pytest.fixture(scope="module")
def scenes():
    """Three scenes of a second each, with something that moves, and a fade to black before the last."""
    frames = []
    for color, moving in (
        ((200, 30, 30), (20, 30, 200)),
        ((20, 160, 60), (240, 240, 10)),
        ((240, 240, 90), (10, 10, 10)),
    ):
        for number in range(25):
            frame = Image.new("RGB", (160, 120), color)
            frame.paste(moving, (10 + 2 * number, 20, 50 + 2 * number, 60))
            if moving == (240, 240, 10) and number > 19:
                frame = Image.new("RGB", (160, 120))
            frames.append(frame)
    return of_images(frames, 25)


@pytest.mark.parametrize("name", ["content", "adaptive", "histogram", "hash"])
def test_cuts_are_found(scenes, name):
    found = getattr(video, f"scene_detect_{name}")(scenes, min_scene_len=10)
    starts = [round(one["start_time"], 2) for one in found]
    assert starts[0] == 0.0 and 1.0 in starts and (2.0 in starts or 1.8 in starts)
    assert sum(one["duration"] for one in found) == pytest.approx(3.0)
    assert all(one["start_pts"] == round(one["start_time"] * 60_000) for one in found)


def test_a_fade_is_found_in_its_middle(scenes):
    found = video.scene_detect_threshold(scenes)
    assert [round(one["start_time"], 2) for one in found] == [0.0, 1.88]
    late = video.scene_detect_threshold(scenes, fade_bias=1.0)
    assert [round(one["start_time"], 2) for one in late] == [0.0, 2.0]


def test_parameters_of_detection_matter(scenes):
    assert len(video.scene_detect_content(scenes, threshold=254.0)) == 1
    assert len(video.scene_detect_content(scenes, min_scene_len=60)) == 1
    assert len(video.scene_detect_content(scenes, fps=5.0, min_scene_len=1)) >= 3
    assert len(video.scene_detect_content(scenes, luma_only=True, min_scene_len=5)) >= 3
    edges = video.scene_detect_content(scenes, delta_hue=0, delta_sat=0, delta_lum=0, delta_edges=1.0, threshold=5.0)
    assert len(edges) >= 2
    for wrong in (
        {"fps": 0.0},
        {"min_scene_len": -1},
        {"filter_mode": "drop"},
        {"delta_hue": -1.0},
        {"kernel_size": 4},
    ):
        with pytest.raises(ValueError, match="scene detection takes"):
            video.scene_detect_content(scenes, **wrong)


def test_cuts_in_quick_succession_are_merged_or_suppressed():
    from appdb.media.scenes import _merged, _spaced

    cuts = [20, 40, 44, 48, 52, 56, 90]
    assert _merged(cuts, 15) == [20, 40, 56, 90] and _spaced(cuts, 15) == [20, 40, 56, 90]
    assert _merged([5, 10, 30], 15) == [30] and _spaced([5, 20], 15) == [20]


# Aggregates, as a worker runs them


QUERIES = """
class T(Base, name='t'):
    n: db.Int
    picture: db.Image | None
    film: db.Video | None
    box: db.Json | None

@db.query
def q():
    return T.select(v={expression})
"""


def folded(tmp_path, workers, expression, columns):
    """The result of an aggregate over rows: of a worker's fold frames. Rows are in their order, as the engine sends them."""
    project = Project(tmp_path)
    document = project.manifest(QUERIES.format(expression=expression))
    node = document["queries"][0]["query"]["select"][0]["expr"]
    (function,) = document["functions"]
    worker = workers(tmp_path)
    assert [key["name"] for key in node["order_by"]] == ["n"]
    inputs = [{"name": arg["name"], "type": arg["type"], "nullable": True} for arg in node["args"]]
    worker.send({
        "t": "fold",
        "call": 1,
        "function": {key: function[key] for key in ("id", "module", "name")},
        "inputs": inputs,
        "args": [{"name": None, "expr": arg} for arg in node["args"]],
        "functions": [],
        "constants": node["kwargs"],
        "is_sorted": True,
        "is_window": False,
    })  # fmt: skip
    rows = [columns[one["name"]] for one in inputs]
    worker.send({"t": "feed", "call": 1, "groups": [0] * len(rows[0]), "columns": rows})
    assert worker.receive()["t"] == "fed"
    worker.send({"t": "finish", "call": 1, "groups": [0]})
    frame = worker.receive()
    return frame["values"][0], frame["errors"] and frame["errors"][0]


def pictures(*texts):
    return [media_samples.stored("image", text) for text in texts]


def test_images_become_a_video_by_their_order_key(tmp_path, workers):
    frames = pictures("RGB 64x48 #141414", "RGB 64x48 #646464", "RGB 64x48 #c8c8c8")
    made, error = folded(tmp_path, workers, "fn.video.make_video(T.n, T.picture, fps=5)", {"picture": frames})
    film = Film(json.loads(made)["path"])
    assert error is None and str(film) == "64x48 3@5" and near(film.levels, [20, 100, 200], 4)


def test_images_of_two_sizes_are_no_video(tmp_path, workers):
    frames = pictures("RGB 64x48 #c8c8c8", "RGB 32x48 #141414")
    _, error = folded(tmp_path, workers, "fn.video.make_video(T.n, T.picture)", {"picture": frames})
    assert error["message"] == "a video has frames of one size, not 64x48 and 32x48"


def test_videos_are_joined_by_their_order_key(tmp_path, workers):
    films = [media_samples.stored("video", text) for text in ("64x48 5@10", SHORT)]
    made, error = folded(tmp_path, workers, "fn.video.concat_videos_agg(T.n, T.film)", {"film": films})
    assert error is None and str(Film(json.loads(made)["path"])) == "64x48 15@10"


def test_tiles_are_stitched():
    stitch = image.stitch_tiles.made()
    for x, y, text in ((0, 0, "L 2x2 1"), (2, 0, "L 2x2 2"), (0, 2, "L 2x1 3"), (2, 2, "L 2x1 4")):
        tile = media_samples.image(text)
        stitch.update(tile, [x, y, x + tile.width, y + tile.height], 4, 3)
    assert media_samples.shown("image", stitch.value()) == "L 4x3 1|2/1|2/3|4"
    assert image.stitch_tiles.made().value() is None
    stitch = image.stitch_tiles.made()
    with pytest.raises(ValueError, match="takes the box of a tile of 2x2"):
        stitch.update(media_samples.image("L 2x2 1"), [0, 0, 3, 2], 4, 3)
    stitch.update(media_samples.image("L 2x2 1"), [0, 0, 2, 2], 4, 3)
    with pytest.raises(ValueError, match="tiles of one image"):
        stitch.update(media_samples.image("L 2x2 1"), [0, 0, 2, 2], 4, 4)
    with pytest.raises(ValueError, match="tiles of one mode, not L and RGB"):
        stitch.update(media_samples.image("RGB 2x2 #ff0000"), [0, 0, 2, 2], 4, 3)


def test_the_image_of_a_group_is_written_before_the_next_group(tmp_path, monkeypatch):
    from appdb.worker.folds import Folds

    monkeypatch.setenv("APPDB_SCRATCH", str(tmp_path))
    sent = []
    folds = Folds(sent.append, str(tmp_path), {})
    kinds = {"tile": "image", "box": "json", "width": "int", "height": "int"}
    inputs = [{"name": name, "type": {"kind": kind}, "nullable": True} for name, kind in kinds.items()]
    name = "appdb.functions._media_aggregates"
    folds.take({
        "t": "fold",
        "call": 1,
        "function": {"id": f"{name}:stitch_tiles", "module": name, "name": "stitch_tiles"},
        "inputs": inputs,
        "args": [{"name": None, "expr": {"node": "column", **one}} for one in inputs],
        "functions": [],
        "constants": {},
        "is_sorted": True,
        "is_window": False,
    })  # fmt: skip
    tile = media_samples.stored("image", "L 2x2 7")
    given = {path.name for path in tmp_path.iterdir()}
    columns = [[tile] * 3, ["[0,0,2,2]", "[2,0,4,2]", "[0,0,2,2]"], [4, 4, 2], [2, 2, 2]]
    folds.take({"t": "feed", "call": 1, "groups": [1, 1, 2], "columns": columns})
    assert len({path.name for path in tmp_path.iterdir()} - given) == 1
    folds.take({"t": "finish", "call": 1, "groups": []})
    assert sent[0] == {"t": "fed", "call": 1, "values": [], "errors": None}
    assert sent[1]["groups"] == [1, 2] and sent[1]["errors"] is None
    shown = [Image.open(json.loads(value)["path"]).size for value in sent[1]["values"]]
    assert shown == [(4, 2), (2, 2)]


def test_frames_are_encoded_as_they_come(tmp_path, monkeypatch):
    monkeypatch.setenv("APPDB_SCRATCH", str(tmp_path))
    make = video.make_video.made(fps=10)
    for shade in range(120):
        make.update(media_samples.image(f"RGB 64x48 #{shade:02x}{shade:02x}{shade:02x}"))
    (growing,) = tmp_path.iterdir()
    assert growing.stat().st_size > 0
    assert str(Film(make.value())) == "64x48 120@10"
    assert video.make_video.made().value() is None
    with pytest.raises(ValueError, match="takes fps from 1 to 240"):
        video.make_video.made(fps=0)


def test_a_video_that_is_not_complete_leaves_no_file(tmp_path, monkeypatch):
    monkeypatch.setenv("APPDB_SCRATCH", str(tmp_path))
    make = video.make_video.made()
    make.update(media_samples.image("RGB 64x48 #c8c8c8"))
    with pytest.raises(ValueError, match="frames of one size"):
        make.update(media_samples.image("RGB 32x48 #c8c8c8"))
    assert not list(tmp_path.iterdir())
    dropped = video.make_video.made()
    dropped.update(media_samples.image("RGB 64x48 #c8c8c8"))
    assert list(tmp_path.iterdir())
    del dropped
    assert not list(tmp_path.iterdir())


def test_the_mean_average_precision_of_each_category():
    from appdb.functions import vision

    mean = vision.mean_ap.made()
    truth = [[0, 0, 10, 10], [20, 20, 30, 30]]
    mean.update(
        vision.eval_detections(
            [[0, 0, 10, 10], [50, 50, 60, 60], [20, 20, 30, 30]], [1, 1, 1], [0.9, 0.8, 0.7], truth, [1, 1]
        )
    )
    mean.update(vision.eval_detections([], [], [], [[0, 0, 1, 1]], [2]))
    assert mean.value() == {"1": pytest.approx(0.5 + 0.5 * 2 / 3), "2": 0.0}
    with pytest.raises(ValueError, match="mean_ap takes results of eval_detections"):
        mean.update({"category": 1})


def test_an_aggregate_needs_its_order_key_and_a_query(project):
    error = project.error(QUERIES.format(expression="fn.video.make_video(T.picture)"))
    assert error["detail"] == (
        "make_video() sorts its rows by its first argument; picture is Image, which has no order."
    )
    assert error["hint"] == "Write make_video(Docs.n, frame)"
    error = project.error(QUERIES.format(expression="fn.video.make_video(T.n)"))
    assert error["detail"] == "make_video() is called without its argument 'frame'."
    error = project.error("class A(Base, name='a'):\n    p: db.Image\n    x = fn.video.make_video(p)\n")
    assert error["written"] == "x = fn.video.make_video(p)"
