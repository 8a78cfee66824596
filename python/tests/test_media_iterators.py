"""Iterators of video, audio and images: which frames and parts there are, what is read later, and bounds of memory."""

import json
import os
import shutil
import subprocess
import sys
from fractions import Fraction

import av
import media_files
import media_samples
import pytest
from conftest import LIBRARY, environment
from media_files import Film

from appdb.functions.audio import audio_splitter
from appdb.functions.image import read_tile, tile_iterator
from appdb.functions.video import extract_frame, frame_iterator, read_frame, video_splitter
from appdb.iterators import frames
from appdb.media.streams import pictures


FILM = "64x48 20@10 440Hz"


@pytest.fixture(autouse=True)
def closed():
    frames.close_films()
    yield
    frames.close_films()


@pytest.fixture
def film():
    return media_samples.path("video", FILM)


def attrs(path, **options):
    given = {"fps": None, "num_frames": None, "keyframes_only": False, **options}
    return [row["frame_attrs"] for row in frames.frame_rows(path, **given)]


def indexes(path, **options):
    return [one["index"] for one in attrs(path, **options)]


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({}, list(range(20))),
        ({"fps": 3.0}, [0, 3, 7, 10, 13, 17]),
        ({"fps": 2.0}, [0, 5, 10, 15]),
        ({"fps": 0.7}, [0, 14]),
        ({"fps": 0.1}, [0]),
        ({"fps": 10.0}, list(range(20))),
        ({"fps": 50.0}, list(range(20))),
        ({"num_frames": 7}, [1, 4, 7, 10, 13, 16, 19]),
        ({"num_frames": 3}, [3, 10, 17]),
        ({"num_frames": 1}, [10]),
        ({"num_frames": 19}, list(range(1, 20))),
        ({"num_frames": 20}, list(range(20))),
        ({"num_frames": 100}, list(range(20))),
    ],
)
def test_frames_are_chosen_by_rate_or_number(film, options, wanted):
    assert indexes(film, **options) == wanted


def test_facts_of_a_frame(film):
    first, second = attrs(film)[:2]
    assert first == {
        "index": 0,
        "pts": 0,
        "dts": 0,
        "time": 0.0,
        "is_corrupt": False,
        "key_frame": True,
        "pict_type": 1,
        "interlaced_frame": False,
    }
    assert (second["time"], second["key_frame"], second["pts"] > 0) == (0.1, False, True)


def test_key_frames_have_the_number_that_they_have_among_all(film):
    keys = [one for one in attrs(film) if one["key_frame"]]
    assert len(keys) > 1
    found = attrs(film, keyframes_only=True)
    named = ("index", "time", "pts")
    assert [[one[name] for name in named] for one in found] == [[one[name] for name in named] for one in keys]


def write_at(path, times, rate=25):
    """A video with a frame at each time, each lighter than the last."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=rate, options={"crf": "10"})
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        stream.codec_context.time_base = Fraction(1, 1000)
        for number, time in enumerate(times):
            frame = media_files.frame(number, 64, 48, len(times), rate)
            frame.pts, frame.time_base = round(time * 1000), Fraction(1, 1000)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return str(path)


def test_frames_at_uneven_times_are_the_nearest_to_each_multiple(tmp_path):
    path = write_at(tmp_path / "uneven.mkv", [0.0, 0.3, 0.9, 1.05, 1.1, 4.0, 4.1])
    assert [one["time"] for one in attrs(path, fps=1.0)] == [0.0, 1.05, 1.1, 4.0]
    assert [one["time"] for one in attrs(path, fps=2.0)] == [0.0, 0.3, 1.05, 1.1, 4.0]


def test_times_begin_at_0_also_where_those_of_the_file_do_not(tmp_path):
    path = write_at(tmp_path / "late.ts", [0.0, 0.1, 0.2])
    found = attrs(path)
    assert [round(one["time"], 3) for one in found] == [0.0, 0.1, 0.2] and found[0]["pts"] > 0
    assert read_frame.python(path, found[2]).size == (64, 48)


def test_a_bare_stream_without_times_has_those_of_its_rate(tmp_path, film):
    path = str(tmp_path / "bare.h264")
    with av.open(path, "w", format="h264") as container:
        stream = container.add_stream("libx264", rate=25, options={"crf": "10", "bf": "0"})
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        stream.codec_context.gop_size = 4
        for number in range(12):
            container.mux(stream.encode(media_files.frame(number, 64, 48, 12, 25)))
        container.mux(stream.encode())
    found = attrs(path)
    assert [one["index"] for one in found] == list(range(12)) and found[0]["time"] == 0.0
    assert indexes(path, num_frames=3) == [2, 6, 10]
    keys = indexes(path, keyframes_only=True)
    assert keys == [one["index"] for one in found if one["key_frame"]] and len(keys) > 1
    levels = [level(read_frame.python(path, found[at])) for at in (11, 5, 6)]
    assert levels[0] > levels[2] > levels[1]


def level(image):
    return image.convert("L").getpixel((16, 24))


def test_a_frame_is_read_by_its_facts(film):
    for one in attrs(film, num_frames=5):
        read = read_frame.python(film, one)
        assert abs(level(read) - level(extract_frame.python(film, timestamp=one["time"]))) < 2
    levels = [level(row["frame"]) for row in frame_iterator(film)]
    assert levels == sorted(levels) and levels[-1] - levels[0] > 100
    whole = Film(film).levels
    assert all(abs(a - b) < 3 for a, b in zip(levels, whole))


@pytest.mark.parametrize("given", [{"time": -1.0}, {"time": "1"}, {"time": None}, [], {"time": 0.05}, {"time": 2.0}])
def test_facts_of_no_frame_are_refused(film, given):
    with pytest.raises(ValueError):
        read_frame.python(film, given)


def test_a_worker_reads_frames_and_tiles(compute, film):
    source = """
    class A(Base, name='a'):
        film: db.Video
        picture: db.Image
        facts: db.Json
        box: db.Json
        frame = fn.video.read_frame(film, facts).getpixel([16, 24])
        tile = fn.image.read_tile(picture, box).size
    """
    picture = media_samples.stored("image", "L 4x2 7")
    wanted = [attrs(film)[at] for at in (0, 10, 19)]
    rows = [[media_samples.stored("video", FILM), picture, json.dumps(one), "[2, 0, 5, 1]"] for one in wanted]
    values, errors = compute(source, *rows)
    assert errors == [None] * 3 and [one["tile"] for one in values] == ["[3,1]"] * 3
    red = [json.loads(one["frame"])[0] for one in values]
    assert red == sorted(red) and red[2] - red[0] > 100


def test_frames_in_order_are_read_by_one_decoder(film, monkeypatch):
    begun = []
    monkeypatch.setattr(frames, "pictures", lambda path, start: begun.append(start) or pictures(path, start=start))
    facts = attrs(film)
    for one in facts:
        read_frame.python(film, one)
        read_frame.python(film, one)  # Another column reads the same frame.
    assert begun == [0.0]
    read_frame.python(film, facts[3])
    read_frame.python(film, facts[4])
    assert begun == [0.0, pytest.approx(0.2995)]
    monkeypatch.setattr(frames, "_NEAR_SECONDS", 0.5)
    read_frame.python(film, facts[19])
    assert len(begun) == 3


def test_a_read_image_may_be_changed(film):
    first = attrs(film)[0]
    read_frame.python(film, first).paste(0, (0, 0, 64, 48))
    assert level(read_frame.python(film, first)) > 20


def test_open_videos_are_bounded_and_a_changed_file_is_read_again(tmp_path):
    paths = [write_at(tmp_path / f"{number}.mp4", [0.0, 0.1]) for number in range(4)]
    for path in paths:
        read_frame.python(path, {"time": 0.0})
    assert len(frames._films) == frames.MAX_OPEN == 2
    write_at(paths[3], [0.0, 0.1, 0.2])
    assert read_frame.python(paths[3], {"time": 0.2}).size == (64, 48)


def parts(path, **options):
    rows = video_splitter(path, **options)
    return [(one["segment_start"], one["segment_end"], Film(one["video_segment"])) for one in rows]


def test_video_parts_cover_the_video_or_overlap(film):
    found = parts(film, duration=0.75)
    assert [one[:2] for one in found] == [(0.0, 0.75), (0.75, 1.5), (1.5, 2.0)]
    assert [len(part.times) for _, _, part in found] == [8, 7, 5]
    found = parts(film, duration=0.8, overlap=0.3)
    assert [(start, end) for start, end, _ in found] == [(0.0, 0.8), (0.5, 1.3), (1.0, 1.8), (1.5, 2.0)]
    assert found[1][2].sound is not None
    assert len(parts(film, duration=0.8, overlap=0.3, min_segment_duration=0.6)) == 3
    assert [one[:2] for one in parts(film, duration=1.0)] == [(0.0, 1.0), (1.0, 2.0)]
    assert [one[:2] for one in parts(film, duration=9.0)] == [(0.0, 2.0)]


def test_video_parts_are_cut_at_times(film):
    assert [one[:2] for one in parts(film, segment_times=[0.5, 1.2, 5.0])] == [(0.0, 0.5), (0.5, 1.2), (1.2, 2.0)]
    assert [one[:2] for one in parts(film, segment_times=[])] == [(0.0, 2.0)]
    rows = list(video_splitter(film, segment_times=[0.5]))
    assert [one["segment_start_pts"] for one in rows] == [0, rows[0]["segment_end_pts"]]


def test_fast_parts_go_from_key_frame_to_key_frame(film):
    keys = {one["time"] for one in attrs(film, keyframes_only=True)}
    found = parts(film, duration=0.7, mode="fast")
    starts = [start for start, _, _ in found]
    assert len(found) > 1 and set(starts) <= keys
    assert [end for _, end, _ in found] == [*starts[1:], 2.0]
    assert sum(len(part.times) for _, _, part in found) == 20
    overlapping = parts(film, duration=0.7, overlap=0.2, mode="fast")
    assert len(overlapping) > len(found)


def sounds(path, **options):
    names = ("segment_start", "segment_end", "audio_segment")
    return [tuple(one[name] for name in names) for one in audio_splitter(path, **options)]


def test_audio_parts_have_the_seconds_that_are_asked_for():
    path = media_samples.path("audio", "2.5s 440Hz")
    found = sounds(path, duration=1.0)
    assert [one[:2] for one in found] == [(0.0, 1.0), (1.0, 2.0), (2.0, 2.5)]
    assert [round(Film(one[2]).sound, 2) for one in found] == [1.0, 1.0, 0.5]
    assert [one[:2] for one in sounds(path, duration=1.0, overlap=0.25)] == [(0.0, 1.0), (0.75, 1.75), (1.5, 2.5)]
    assert [one[:2] for one in sounds(path, duration=1.0, min_segment_duration=0.7)] == [(0.0, 1.0), (1.0, 2.0)]
    assert [one[:2] for one in sounds(path, duration=9.0)] == [(0.0, 2.5)]


def test_audio_parts_keep_to_a_size(tmp_path):
    path = media_samples.path("audio", "3.0s 440Hz")  # 16 kB in a second.
    found = sounds(path, max_size=20_000)
    assert len(found) == 3 and all(os.path.getsize(one[2]) <= 20_000 for one in found)
    assert [one[0] for one in found[1:]] == [one[1] for one in found[:-1]] and found[-1][1] == 3.0
    assert sum(Film(one[2]).sound for one in found) == pytest.approx(3.0, abs=0.01)
    mp4 = str(tmp_path / "a.m4a")
    media_files.write("audio", mp4, "3.0s 440Hz")
    small = sounds(mp4, max_size=6_000)
    assert len(small) > 2 and all(os.path.getsize(one[2]) <= 6_000 for one in small)
    with pytest.raises(ValueError, match="max_size of 1000 bytes holds no part"):
        sounds(mp4, max_size=1_000)


def test_audio_parts_are_longer_than_their_overlap(spoken):
    found = sounds(spoken, duration=2.0, overlap=1.5, min_silence_len=0.4)
    assert [one[0] for one in found] == sorted({one[0] for one in found}) and len(found) < 9
    with pytest.raises(ValueError, match="not longer than the overlap of 1.5 s; make max_size larger"):
        sounds(spoken, max_size=20_000, overlap=1.5)


@pytest.fixture
def spoken(tmp_path):
    """Words from 0.2 to 1.0 s and from 1.6 to 3.0 s, with silence around."""
    path = str(tmp_path / "spoken.wav")
    filters = "volume=0:enable='lt(t,0.2)+between(t,1.0,1.6)+gte(t,3.0)'"
    from appdb.media.streams import sounds as frames_of
    from appdb.media.writing import save_audio

    source = media_samples.path("audio", "3.5s 440Hz")
    shutil.move(save_audio(frames_of(source, f"asetnsamples=80:p=0,{filters}", what="audio"), "wav"), path)
    return path


def test_audio_parts_end_in_silence(spoken):
    assert sounds(spoken, duration=2.0, min_silence_len=0.4)[0][1] == pytest.approx(1.3, abs=0.03)
    assert sounds(spoken, duration=1.2, min_silence_len=0.4)[0][1] == pytest.approx(1.2, abs=0.001)
    assert sounds(spoken, duration=2.0, min_silence_len=0.7)[0][1] == 2.0
    assert sounds(spoken, max_size=36_000, min_silence_len=0.4)[0][1] == pytest.approx(1.3, abs=0.03)
    loud = sounds(spoken, duration=2.0, min_silence_len=0.4, silence_thresh=0.0)
    assert loud[0][1] == pytest.approx(1.75, abs=0.03)  # All is silence.


def test_audio_parts_begin_behind_silence(spoken):
    found = sounds(spoken, duration=1.0, trim_leading_silence=True)
    assert [one[0] for one in found] == pytest.approx([0.2, 1.6, 2.6], abs=0.02)
    assert [one[1] for one in found] == pytest.approx([1.2, 2.6, 3.5], abs=0.02)


def test_sound_of_a_video_is_split(film):
    found = sounds(film, duration=1.5)
    assert [one[:2] for one in found] == [(0.0, 1.5), (1.5, pytest.approx(2.0, abs=0.1))]
    assert found[0][2].endswith(".m4a")
    with pytest.raises(ValueError, match="no audio"):
        sounds(media_samples.path("video", "64x48 10@10"), duration=1.0)


@pytest.mark.parametrize(
    ("size", "overlap", "boxes"),
    [
        ([40, 40], None, [(0, 0), (40, 0), (80, 0), (0, 40), (40, 40), (80, 40)]),
        ([40, 40], [10, 10], [(0, 0), (30, 0), (60, 0), (0, 30), (30, 30), (60, 30)]),
        ([200, 200], None, [(0, 0)]),
        ([50, 50], [0, 0], [(0, 0), (50, 0)]),
    ],
)
def test_tiles_cover_an_image(size, overlap, boxes):
    rows = list(tile_iterator(media_samples.image("L 100x50 7"), size, overlap=overlap))
    assert [tuple(one["tile_box"]) for one in rows] == [(x, y, x + size[0], y + size[1]) for x, y in boxes]
    assert rows[-1]["tile_coord"] == [len({x for x, _ in boxes}) - 1, len({y for _, y in boxes}) - 1]
    assert {one["tile"].size for one in rows} == {tuple(size)}
    last = rows[-1]["tile"]
    assert last.getpixel((0, 0)) == 7 and (last.getpixel((size[0] - 1, size[1] - 1)) in (0, 7))


@pytest.mark.parametrize("box", [None, [0, 0, 1], [0, 0, 0, 1], [-1, 0, 1, 1], [0.0, 0, 1, 1], [0, 0, 99_999, 99_999]])
def test_boxes_of_no_tile_are_refused(box):
    with pytest.raises(ValueError):
        read_tile.python(media_samples.image("L 100x50 7"), box)


MEMORY = """
import json, resource, sys
from appdb.iterators.library import ITERATORS
from appdb.iterators.running import run_iterator
from appdb.functions.video import read_frame

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

path, iterator = sys.argv[1], ITERATORS["video.frame_iterator"]
rows = run_iterator(iterator, [path], {"fps": 50.0}, iterator._outputs)
first = json.loads(next(rows)["frame_attrs"])
read_frame.python(path, first)
before, count = peak(), 1
for row in rows:
    count += 1
    if count % 50 == 0:
        read_frame.python(path, json.loads(row["frame_attrs"]))
print(count, peak() - before)
"""


def test_a_long_video_takes_little_memory(tmp_path):
    path = str(tmp_path / "long.mp4")
    with av.open(path, "w") as container:
        stream = container.add_stream("libx264", rate=25, options={"preset": "ultrafast"})
        stream.width, stream.height, stream.pix_fmt = 1280, 720, "yuv420p"
        frame = av.VideoFrame(1280, 720, "yuv420p")
        for number in range(500):  # 690 MB of pixels.
            frame.pts, frame.time_base = number, Fraction(1, 25)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    env = environment(PYTHONPATH=f"{LIBRARY}:{':'.join(one for one in sys.path if 'site-packages' in one)}")
    done = subprocess.run([sys.executable, "-c", MEMORY, path], env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    count, grown = map(int, done.stdout.split())
    assert count == 500 and grown < 150
