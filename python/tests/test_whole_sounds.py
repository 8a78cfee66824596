"""Sounds that were cut off, and whole ones in all forms that their writers give them."""

from json import dumps
from struct import pack

import av
import pytest

from appdb.kinds import rules
from appdb.media.whole import check_whole


@pytest.fixture(scope="module")
def sounds(tmp_path_factory):
    """Files of a second of sound by their suffix."""
    folder = tmp_path_factory.mktemp("sounds")
    return {suffix: _write(folder / f"whole.{suffix}", suffix) for suffix in ("wav", "mp3")}


def _write(path, suffix, rate=44_100):
    with av.open(str(path), "w") as container:
        stream = container.add_stream("pcm_s16le" if suffix == "wav" else "mp3", rate=rate, layout="mono")
        frame = av.AudioFrame(format="s16", layout="mono", samples=rate)
        frame.sample_rate = rate
        frame.planes[0].update(bytes(rate * 2))
        resampled = av.AudioResampler(format=stream.format, rate=rate, frame_size=stream.codec_context.frame_size or None)
        for part in [*resampled.resample(frame), *resampled.resample(None)]:
            container.mux(stream.encode(part))
        container.mux(stream.encode(None))
    return path.read_bytes()


def check(path):
    rules("audio").check({"kind": "audio"})(dumps({"path": str(path)}))


@pytest.mark.parametrize("suffix", ["wav", "mp3"])
def test_a_cut_sound_is_refused_and_a_whole_one_is_not(sounds, suffix, tmp_path):
    path = tmp_path / f"a.{suffix}"
    whole = sounds[suffix]
    path.write_bytes(whole)
    check(path)
    for kept in (len(whole) // 2 + 3, len(whole) - 1):
        path.write_bytes(whole[:kept])
        with pytest.raises(ValueError, match=rf"the file is cut off: it has {kept} of at least \d+ bytes"):
            check(path)


def test_tags_behind_the_sound_of_an_mp3_do_not_count(sounds, tmp_path):
    path = tmp_path / "a.mp3"
    for tag in (b"TAG" + bytes(125), b"APETAGEX" + bytes(24), bytes(500), b"\xff\xfb"):
        path.write_bytes(sounds["mp3"] + tag)
        check(path)
    without_tag = sounds["mp3"][sounds["mp3"].index(b"\xff\xfb") :]
    path.write_bytes(without_tag)
    check(path)


@pytest.mark.parametrize("rate", [8_000, 22_050, 48_000])
def test_frames_of_all_versions_are_followed(rate, tmp_path):
    path = tmp_path / "a.mp3"
    whole = _write(path, "mp3", rate)
    check(path)
    path.write_bytes(whole[:-5])
    with pytest.raises(ValueError, match="cut off"):
        check(path)


def wave(data, length, chunks=b"", name=b"RIFF"):
    head = b"fmt " + pack("<IHHIIHH", 16, 1, 1, 8_000, 16_000, 2, 16)
    return name + pack("<I", 0xFFFFFFFF) + b"WAVE" + chunks + head + b"data" + pack("<I", length) + data


def test_a_wav_says_its_length_in_several_ways(tmp_path):
    path = tmp_path / "a.wav"
    long = b"ds64" + pack("<IQQQI", 28, 0, 1_000, 0, 0)
    for content, is_whole in (
        (wave(bytes(1_000), 0xFFFFFFFF), True),  # written to a pipe
        (wave(bytes(1_000), 0x7FFFF000), True),
        (wave(bytes(1_000), 0), True),
        (wave(bytes(1_000), 1_000, b"LIST" + pack("<I", 3) + b"abc\0"), True),
        (wave(bytes(1_000), 999) + b"\0id3 ", True),
        (wave(bytes(1_000), 0xFFFFFFFF, long, b"RF64"), True),
        (wave(bytes(999), 0xFFFFFFFF, long, b"RF64"), False),
        (wave(bytes(999), 1_000), False),
        (wave(b"", 1_000)[:30], True),  # no sound at all: decoding says so
    ):
        path.write_bytes(content)
        if is_whole:
            check_whole(str(path), "wav")
        else:
            with pytest.raises(ValueError, match="cut off"):
                check_whole(str(path), "wav")
    check_whole(str(path), "flac")
