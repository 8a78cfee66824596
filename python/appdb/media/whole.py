"""Whether files of sound are whole, as far as their own headers say it. Decoders take what is there of a cut file."""

import os
from struct import unpack

# Writers to a pipe do not know the length: they give the greatest number, or one near to it.
_UNKNOWN_LENGTH = 0x7FFF0000
_MOST_CHUNKS = 1_000
_MOST_FRAMES = 500_000  # Hours of sound; walking them takes a second.
# Kilobits a second of MPEG layer III by the index in the header: of version 1, of versions 2 and 2.5.
_RATES_1 = (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 0)
_RATES_2 = (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160, 0)
_HERTZ = (44_100, 48_000, 32_000)


def check_whole(path, format):
    """Raises ValueError for a WAV or MP3 file that ends before its own headers say it does."""
    walk = {"wav": _wave_end, "mp3": _mp3_end}.get(format)
    if walk is None:
        return
    there = os.path.getsize(path)
    with open(path, "rb") as file:
        needed = walk(file, there)
    if needed is not None and needed > there:
        raise ValueError(f"the file is cut off: it has {there} of at least {needed} bytes")


def _wave_end(file, there):
    """Where the sound of a WAV file ends; None if its header does not say it."""
    if file.read(12)[8:] != b"WAVE":
        return None
    long_length = None
    for _chunk in range(_MOST_CHUNKS):
        head = file.read(8)
        if len(head) < 8:
            return None
        name, length = head[:4], unpack("<I", head[4:])[0]
        at = file.tell()
        if name == b"ds64":  # RF64: the lengths that need 64 bits.
            long_length = unpack("<Q", file.read(16)[8:].ljust(8, b"\0"))[0]
        if name == b"data":
            if length == 0xFFFFFFFF and long_length is not None:
                return at + long_length
            return None if length >= _UNKNOWN_LENGTH else at + length
        file.seek(at + length + length % 2)
    return None


def _mp3_end(file, there):
    """Where the last frame of an MP3 file ends; None if there is none."""
    at = _tag_end(file.read(10))
    kind = end = None
    for _frame in range(_MOST_FRAMES):
        if at >= there:
            break
        file.seek(at)
        found = _frame_of(file.read(4))
        # Frames of one file are of one kind. Others are content of a tag.
        if found is None or kind not in (None, found[0]):
            break
        kind = found[0]
        at = end = at + found[1]
    return end


def _tag_end(head):
    """Where an ID3 tag at the beginning ends: its length has seven bits a byte."""
    if head[:3] != b"ID3" or len(head) < 10:
        return 0
    length = 0
    for byte in head[6:10]:
        length = length << 7 | byte & 0x7F
    return 10 + length + (10 if head[5] & 0x10 else 0)


def _frame_of(head):
    """The kind and the length of a frame of MPEG layer III by its header; None for other bytes."""
    if len(head) < 4 or head[0] != 0xFF or head[1] & 0xE6 != 0xE2:
        return None
    version, rate, hertz = head[1] >> 3 & 3, head[2] >> 4, head[2] >> 2 & 3
    if version == 1 or hertz == 3:
        return None
    kilobits = (_RATES_1 if version == 3 else _RATES_2)[rate]
    if kilobits == 0:
        return None
    # Version 2 halves the rate of samples, and version 2.5 does so again.
    samples = _HERTZ[hertz] >> {3: 0, 2: 1, 0: 2}[version]
    length = (144_000 if version == 3 else 72_000) * kilobits // samples + (head[2] >> 1 & 1)
    return (version, hertz), length
