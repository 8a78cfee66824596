"""Small files of sound that would take a worker's whole time."""

import random
import time
from struct import pack

import pytest

from appdb.functions import audio
from appdb.kinds._av import opened



def id3(*frames):
    """A tag of ID3 2.3."""
    body = b"".join(frames)
    size = bytes(len(body) >> shift & 0x7F for shift in (21, 14, 7, 0))
    return b"ID3\x03\x00\x00" + size + body


def frame(name, content):
    return name + pack(">IH", len(content), 0) + content


def texts(count):
    return [frame(b"TXXX", b"\0key %d\0v" % number) for number in range(count)]


SILENCE = (b"\xff\xfb\x90\x00" + bytes(413)) * 20


def test_a_sound_with_too_many_tags_is_refused_at_once(tmp_path):
    path = tmp_path / "a.mp3"
    for tags in (id3(*texts(50_000)), b"".join(id3(*texts(1_000)) for _ in range(10))):
        path.write_bytes(tags + SILENCE)
        begun = time.monotonic()
        with pytest.raises(ValueError, match="the audio has more than 5000 tags"), opened(str(path), "audio"):
            pass
        assert time.monotonic() - begun < 5


def test_a_sound_with_many_tags_and_a_large_picture_is_read(tmp_path):
    picture = frame(b"APIC", b"\0image/png\0\3\0" + random.Random(1).randbytes(10_000_000))
    path = tmp_path / "a.mp3"
    path.write_bytes(id3(*texts(200), picture) + SILENCE)
    with opened(str(path), "audio") as container:
        assert container.metadata["key 7"] == "v"


@pytest.mark.parametrize("rate", [1, 999])
def test_a_sound_of_few_samples_a_second_is_refused(tmp_path, rate):
    path = tmp_path / "a.wav"
    samples = bytes(4_000)
    form = pack("<HHIIHH", 1, 1, rate, rate * 2, 2, 16)
    data = b"WAVEfmt " + pack("<I", len(form)) + form + b"data" + pack("<I", len(samples)) + samples
    path.write_bytes(b"RIFF" + pack("<I", len(data)) + data)
    with pytest.raises(ValueError, match=f"the audio has {rate} samples a second, fewer than 1000"):
        audio.normalize(str(path))
