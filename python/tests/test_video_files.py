"""Files of video and audio as they are found: other containers, broken and hostile ones, turned videos, wrong times."""

import os

import media_samples
import pytest
from media_files import Film
from test_video_functions import FILM, TONE, film, is_red, near, tone  # noqa: F401

from appdb.functions import audio, video



def test_a_playlist_is_not_followed(tmp_path, film):
    for text in (f"#EXTM3U\n#EXTINF:2,\nfile://{film}\n#EXT-X-ENDLIST\n", f"ffconcat version 1.0\nfile {film}\n"):
        path = tmp_path / "list.m3u8"
        path.write_text(text)
        with pytest.raises(ValueError, match="the video cannot be read or written") as error:
            video.get_metadata(str(path))
        assert str(tmp_path) not in str(error.value)


def test_truncated_and_empty_files_are_errors_without_their_path(tmp_path, film):
    whole = open(film, "rb").read()
    for data in (b"", whole[:40], whole[: len(whole) // 2], b"\0" * 5000, b"RIFF\0\0\0\0AVI LIST" + b"x" * 100):
        path = tmp_path / "part.mp4"
        path.write_bytes(data)
        for call in (
            lambda: video.get_metadata(str(path)),
            lambda: video.extract_frame(str(path), timestamp=0),
            lambda: video.mirror_x(str(path)),
            lambda: audio.normalize(str(path)),
        ):
            with pytest.raises(ValueError) as error:
                call()
            assert str(tmp_path) not in str(error.value)


def test_bytes_changed_at_random_give_a_result_or_an_error(tmp_path, film, tone):
    from random import Random

    random = Random(3)
    for source, calls in (
        (film, (video.get_duration, video.grayscale, lambda one: video.extract_frame(one, timestamp=1.0))),
        (tone, (audio.get_metadata, audio.normalize)),
    ):
        whole = open(source, "rb").read()
        for number in range(12):
            data = bytearray(whole)
            for _ in range(random.randrange(1, 6)):
                data[random.randrange(len(data))] = random.randrange(256)
            path = tmp_path / f"changed{number}"
            path.write_bytes(data)
            for call in calls:
                try:
                    call(str(path))
                except ValueError as error:
                    assert str(tmp_path) not in str(error)


def test_a_file_of_another_kind_is_named(tone, film):
    with pytest.raises(ValueError, match="the file has no video"):
        video.extract_frame(tone, timestamp=0)
    silent = media_samples.path("video", "64x48 5@10")
    with pytest.raises(ValueError, match="the file has no audio"):
        audio.fade_in(silent, duration=1)
    assert video.extract_audio(silent) is None


def test_an_image_file_is_no_video(tmp_path):
    path = tmp_path / "x.png"
    media_samples.image("RGB 8x8 #ff0000").save(path)
    with pytest.raises(ValueError, match="the video cannot be read or written"):
        video.get_duration(str(path))


def test_a_turned_video_is_seen_upright(tmp_path, film):
    data = bytearray(open(film, "rb").read())
    at = data.index(b"tkhd") + 4 + 40  # The matrix of the first track; a quarter turn clockwise.
    one = 1 << 16
    matrix = [0, one, 0, -one, 0, 0, 0, 0, 1 << 30]
    data[at : at + 36] = b"".join(part.to_bytes(4, "big", signed=True) for part in matrix)
    path = tmp_path / "turned.mp4"
    path.write_bytes(data)
    frame = video.extract_frame(str(path), timestamp=0)
    assert frame.size == (48, 64) and is_red(frame.getpixel((24, 56)))  # The right side is at the bottom.
    dubbed = video.with_audio(str(path), media_samples.path("audio", TONE))  # Its frames are not encoded again.
    assert video.extract_frame(dubbed, timestamp=0).size == (48, 64)
    edited = video.grayscale(str(path))
    assert Film(edited).size == (48, 64)
    assert Film(video.resize(str(path), width=24)).size == (24, 32)


@pytest.mark.parametrize(
    ("name", "codec", "sound"),
    [("x.avi", "mjpeg", "pcm_s16le"), ("x.ts", "libx264", "mp2"), ("x.webm", "libvpx-vp9", "libopus")],
)
def test_files_of_other_containers_are_read_and_written_as_mp4(tmp_path, tone, name, codec, sound):
    path = str(tmp_path / name)
    write_in(path, codec, sound)
    assert str(Film(video.mirror_x(path))) == "64x48 20@10 sound"
    assert near(Film(video.extract_audio(path)).loudness[2:17], [0.26] * 15, 0.03)
    assert near(Film(video.with_audio(path, tone)).levels, Film(path).levels, 5)
    assert abs(video.get_duration(path) - 2.0) < 0.15
    whole = Film(path)
    part = Film(video.clip(path, start_time=0.5, end_time=1.0))
    assert near(part.levels, whole.levels[5:10], 5) and part.times[0] < 0.05
    if name == "x.webm":
        assert str(Film(video.clip(path, start_time=0.0, mode="fast"))) == "64x48 20@10 sound"
    else:
        with pytest.raises(ValueError, match="does not take packets of .*; use the mode 'accurate'"):
            video.clip(path, start_time=0.0, mode="fast")


def write_in(path, codec, sound):
    import av
    from media_files import RATE, _sound, frame

    rate = 48_000 if sound == "libopus" else 32_000 if sound == "mp2" else RATE
    with av.open(path, "w") as container:
        pictures = container.add_stream(codec, rate=10)
        pictures.width, pictures.height = 64, 48
        pictures.pix_fmt = "yuvj420p" if codec == "mjpeg" else "yuv420p"
        sounds = container.add_stream(sound, rate=rate, layout="mono")
        for number in range(20):
            container.mux(pictures.encode(frame(number, 64, 48, 20, 10)))
        container.mux(pictures.encode())
        for at in range(0, 2 * RATE, 1000):
            container.mux(sounds.encode(_sound(at, 1000, 440)))
        container.mux(sounds.encode())


def test_times_that_go_back_or_are_missing_become_increasing():
    from fractions import Fraction

    from appdb.media.streams import timed

    class Frame:
        def __init__(self, pts):
            self.pts, self.time_base = pts, Fraction(1, 10)

    class Stream:
        type = "video"

    class Container:
        start_time = 100_000

        def decode(self, stream):
            return map(Frame, [1, 2, None, 2, 9, 3])

    times = [float(time) for _, time in timed(Container(), Stream(), Fraction(1, 10))]
    assert near(times, [0.0, 0.1, 0.2, 0.3, 0.8, 0.9], 1e-9)


def test_a_failed_function_leaves_no_file(tmp_path, monkeypatch, film):
    monkeypatch.setenv("APPDB_SCRATCH", os.fspath(tmp_path))
    with pytest.raises(ValueError, match="has no option 'nosuch'"):
        video.grayscale(film, video_encoder_args={"nosuch": 1})
    with pytest.raises(ValueError, match="do not fit together"):
        video.ffmpeg_filter(film, vf="crop=1000:1000")
    assert os.listdir(tmp_path) == []


def test_a_result_is_refused_beyond_its_limits(film, tone, monkeypatch):
    from appdb.media import writing

    monkeypatch.setattr(writing, "MAX_BYTES", 5_000)
    with pytest.raises(ValueError, match="the file would have more than 5000 bytes"):
        audio.normalize(tone)
    monkeypatch.setattr(writing, "MAX_FRAMES", 5)
    with pytest.raises(ValueError, match="a video has at most 5 frames"):
        video.grayscale(film)


def test_a_video_that_claims_too_many_pixels_is_refused_undecoded(film, monkeypatch):
    from appdb.media import streams

    monkeypatch.setattr(streams, "MAX_FRAME_PIXELS", 64 * 48 - 1)
    for call in (lambda: video.extract_frame(film, timestamp=0), lambda: video.mirror_x(film)):
        with pytest.raises(ValueError, match="a video of 64x48 is not supported: at least 2x2, at most 3071 pixels"):
            call()


def test_an_impossible_frame_rate_is_not_believed():
    from types import SimpleNamespace

    from appdb.media.streams import rate_of

    rates = [(90_000, 30, 30), (None, None, 25), (0, 1000, 25), (24, 30, 24)]
    for average, guessed, wanted in rates:
        assert rate_of(SimpleNamespace(average_rate=average, guessed_rate=guessed)) == wanted


def test_an_animated_gif_is_a_video(tmp_path):
    path = tmp_path / "x.gif"
    frames = [media_samples.image(f"RGB 32x24 {color}") for color in ("#ff0000", "#00ff00", "#0000ff")]
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=100)
    assert str(Film(video.resize(str(path), scale=2.0))) == "64x48 3@10"
    assert video.extract_audio(str(path)) is None
