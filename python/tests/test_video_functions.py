"""Functions of video and audio beyond their examples: what is in the files that they write, and files as they are found."""

import json
import math
import os

import media_samples
import pytest
from media_files import Film

from appdb.functions import audio, video


FILM = "64x48 20@10 440Hz"
TONE = "1.0s 440Hz"


@pytest.fixture
def film():
    return media_samples.path("video", FILM)


@pytest.fixture
def tone():
    return media_samples.path("audio", TONE)


def near(found, wanted, within):
    return len(found) == len(wanted) and all(abs(one - other) <= within for one, other in zip(found, wanted))


def pixel(path, x, y, time=0.0):
    return video.extract_frame(path, timestamp=time).getpixel((x, y))


def is_red(color):
    return color[0] > 170 and max(color[1:]) < 90


def test_a_frame_is_the_one_shown_at_its_time(film):
    levels = [
        video.extract_frame(film, timestamp=time).convert("L").getpixel((8, 24)) for time in (0.0, 0.05, 0.1, 1.0, 1.95)
    ]
    wanted = [Film(film).levels[number] for number in (0, 0, 1, 10, 19)]
    assert near(levels, wanted, 2) and video.extract_frame(film, timestamp=2.0) is None


def test_a_clip_has_the_frames_and_the_sound_of_its_time(film):
    whole, part = Film(film), Film(video.clip(film, start_time=0.5, end_time=1.2))
    assert near(part.levels, whole.levels[5:12], 3) and part.times[0] == 0.0
    assert abs(part.sound - 0.7) < 0.15 and max(part.loudness) > 0.2


def test_a_fast_clip_begins_at_a_key_frame_and_encodes_nothing(film):
    whole, part = Film(film), Film(video.clip(film, start_time=0.7, duration=0.8, mode="fast"))
    assert near(part.levels[:8], whole.levels[5:13], 0) and part.times[0] == 0.0


def test_the_audio_of_a_video_has_its_length_and_loudness(film):
    for format in ("wav", "mp3", "flac", "mp4"):
        found = Film(video.extract_audio(film, format=format))
        assert abs(found.sound - 2.0) < 0.2 and near(found.loudness[2:18], [0.26] * 16, 0.02), format
    assert Film(video.extract_audio(film, codec="pcm_s24le")).sound_codec == "pcm_s24le"


def test_metadata_name_streams_sizes_and_rates(film, tone):
    found = video.get_metadata(film)
    assert {key: found[key] for key in ("size", "bit_exact")} == {"size": os.path.getsize(film), "bit_exact": False}
    pictures, sounds = found["streams"]
    assert {
        key: pictures[key] for key in ("type", "width", "height", "frames", "average_rate", "duration_seconds")
    } == {
        "type": "video",
        "width": 64,
        "height": 48,
        "frames": 20,
        "average_rate": 10.0,
        "duration_seconds": 2.0,
    }
    assert pictures["codec_context"] == {"name": "h264", "codec_tag": "avc1", "profile": "High", "pix_fmt": "yuv420p"}
    assert (sounds["type"], sounds["codec_context"]["channels"], sounds["codec_context"]["sample_rate"]) == (
        "audio",
        1,
        8000,
    )
    assert audio.get_metadata(tone)["streams"][0]["codec_context"]["name"] == "pcm_s16le"


def test_edits_change_the_pixels_that_they_name(film):
    assert is_red(pixel(film, 56, 24)) and not is_red(pixel(film, 8, 24))
    assert is_red(pixel(video.mirror_x(film), 8, 24)) and is_red(pixel(video.mirror_y(film), 56, 24))
    assert is_red(pixel(video.rotate(film, angle=180), 8, 24))
    turned = video.rotate(film, angle=90, expand=True)  # Counter-clockwise: the right side is at the top.
    assert Film(turned).size == (48, 64) and is_red(pixel(turned, 24, 8))
    assert is_red(pixel(video.crop(film, [48, 12, 16, 24]), 8, 12))
    assert not is_red(pixel(video.grayscale(film), 56, 24))
    assert near(Film(video.adjust_brightness(film, factor=0.5)).levels, [one / 2 for one in Film(film).levels], 5)
    assert is_red(pixel(video.scroll(film, w=32, x_speed=32), 24, 24, 1.9)) and not is_red(
        pixel(video.scroll(film, w=32, x_speed=32), 24, 24)
    )
    assert is_red(pixel(video.pan(film, x_sign=1, crop_pct=0.5), 24, 12, 1.9))
    assert is_red(pixel(video.zoom(film, end_scale=8.0, center=[1.0, 0.5]), 32, 24, 1.9))


def test_fades_go_from_and_to_their_color(film):
    whole = Film(film).levels
    faded = Film(video.fade_in(film, duration=1.0)).levels
    assert faded[0] < 5 and faded[5] < whole[5] and near(faded[11:], whole[11:], 3)
    faded = Film(video.fade_out(film, duration=1.0, color="#ffffff")).levels
    assert near(faded[:10], whole[:10], 3) and faded[-1] > 230


def test_speed_changes_the_length_of_frames_and_sound(film):
    fast, slow = Film(video.speed(film, factor=4)), Film(video.speed(film, factor=0.25))
    assert abs(fast.seconds - 0.5) < 0.11 and abs(fast.sound - 0.5) < 0.2 and max(fast.loudness) > 0.2
    assert abs(slow.seconds - 8.0) < 0.5 and abs(slow.sound - 8.0) < 0.3 and len(slow.times) == 20


def test_an_odd_side_loses_a_pixel(film):
    assert Film(video.resize(film, width=33, height=21)).size == (32, 20)
    assert Film(video.crop(film, [0, 0, 17, 9])).size == (16, 8)


def test_colors_keep_their_meaning(tmp_path):
    import av
    from PIL import Image

    path, shade = str(tmp_path / "x.mp4"), (200, 40, 90)
    with av.open(path, "w") as container:
        stream = container.add_stream("libx264", rate=10)
        stream.width, stream.height, stream.pix_fmt = 1280, 720, "yuv420p"
        stream.codec_context.colorspace = 1  # BT.709, as in high definition.
        frame = av.VideoFrame.from_image(Image.new("RGB", (1280, 720), shade))
        container.mux(stream.encode(frame.reformat(format="yuv420p", dst_colorspace=1)))
        container.mux(stream.encode())
    for made in (video.mirror_x(path), video.zoom(path)):
        assert near(pixel(made, 640, 360), shade, 4)
    with av.open(video.mirror_x(path)) as container:
        assert container.streams.video[0].codec_context.colorspace == 1


def test_the_encoder_and_its_options_can_be_chosen(film):
    assert Film(video.grayscale(film, video_encoder="mpeg4")).codec == "mpeg4"
    large, small = (
        os.path.getsize(video.mirror_x(film, video_encoder_args={"crf": crf, "preset": "ultrafast"})) for crf in (0, 50)
    )
    assert large > small


# Filters


FILTERS = [
    ("hflip,,vflip", "have no name of a filter"),
    ("nosuch", "has no filter 'nosuch'"),
    ("drawtext=text=x", "has no filter 'drawtext'"),
    ("scale=nosuch=3", "the filter 'scale' does not take 'nosuch=3'"),
    ("[x]hflip", r"use \[x\]"),
    ("[in", "have a label without its end"),
    ("split", "leave 2 outputs"),
    ("hflip]", "have .* where a comma or semicolon is due"),
    ("movie=other.mp4", "reads other files"),
    ("scale=99999:99999", "a video of 99998x99998 is not supported|do not fit|cannot be read"),
]


@pytest.mark.parametrize(("text", "message"), FILTERS)
def test_a_wrong_filter_is_named(film, text, message):
    with pytest.raises(ValueError, match=message):
        video.ffmpeg_filter(film, vf=text)


def test_filters_may_branch_and_quote(film):
    made = video.ffmpeg_filter(
        film, vf="split[a][b]; [a]crop='32':48:0:0[c]; [b]crop=32:48:32:0,hflip[d]; [c][d]hstack"
    )
    assert Film(made).size == (64, 48) and is_red(pixel(made, 40, 24))


def test_rows_cannot_choose_filters_and_encoders(project):
    error = project.error(
        "class A(Base, name='a'):\n    v: db.Video\n    s: db.String\n    x = v.ffmpeg_filter(vf=s)\n"
    )
    assert (
        error["detail"]
        == "video.ffmpeg_filter() takes a constant for 'vf', because its value may name files; s differs by row."
    )


# Sound


def test_sound_is_faded_raised_and_normalized(tone):
    level = 0.26
    assert near(Film(audio.fade_in(tone, duration=0.5)).loudness[:5], [level * (n + 0.5) / 5 for n in range(5)], 0.03)
    assert near(Film(audio.fade_out(tone, duration=0.5)).loudness[5:], [level * (4.5 - n) / 5 for n in range(5)], 0.03)
    assert near(Film(audio.multiply_volume(tone, factor=2)).loudness, [2 * level] * 10, 0.02)
    part = Film(audio.multiply_volume(tone, factor=0.5, start_time=0.3, end_time=0.6)).loudness
    assert near(part, [level] * 3 + [level / 2] * 3 + [level] * 4, 0.03)
    assert near(Film(audio.normalize(audio.multiply_volume(tone, factor=0.1))).loudness, [1 / math.sqrt(2)] * 10, 0.02)


def test_a_result_keeps_the_format_of_its_audio(tone, film):
    for format in ("wav", "mp3", "flac", "mp4"):
        made = video.extract_audio(film, format=format)
        assert os.path.splitext(audio.normalize(made))[1] == os.path.splitext(made)[1]


def test_samples_become_files_of_each_format():
    import numpy

    samples = numpy.sin(numpy.arange(8000) * 0.3).astype("float32") * 0.5
    for format in ("wav", "mp3", "flac", "mp4"):
        made = Film(
            audio.encode_audio(
                numpy.stack([samples, samples]), input_sample_rate=8000, format=format, output_sample_rate=16000
            )
        )
        assert made.sound_rate == 16000 and abs(made.sound - 1.0) < 0.15 and abs(made.loudness[4] - 0.35) < 0.03, format


def test_functions_of_video_load_no_package_and_name_what_is_lacking(project):
    project.write(
        app="import sys\nimport appdb as db\nBase = db.model_base()\nclass A(Base, name='a'):\n    v: db.Video\n"
        "    x = v.clip(start_time=0.5)\n    print(sorted({'PIL', 'av', 'numpy'} & set(sys.modules)), file=sys.stderr)\n"
        "    sys.modules['PIL'] = None\n    y = v.extract_frame(timestamp=1.0)\n"
    )
    done = project.run()
    assert done.stderr.decode().strip() == "[]"
    error = json.loads(done.stdout)["error"]
    assert error["detail"] == "video.extract_frame() needs the package pillow, which the environment lacks."
    assert (error["hint"], error["written"]) == (
        "Add to requirements.txt: pillow>=11",
        "y = v.extract_frame(timestamp=1.0)",
    )
