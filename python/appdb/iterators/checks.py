"""The checks of the arguments of the iterators of media, and the packages that they imply."""

from appdb.iterators.arguments import BadArgument, check_choice, check_number, check_one_of, check_pair
from appdb.iterators.running import MAX_ROWS

# Seconds of a part, and between the starts of two.
LEAST_SECONDS = 0.01
_ONE_OF = ("fps", "num_frames", "keyframes_only")
_MODES = ("accurate", "fast")
_SMALLEST_FILE = 1_000


def check_frames(values, by_row):
    """The check of frame_iterator's arguments."""
    given = [name for name in _ONE_OF if name in by_row or values[name] not in (None, False)]
    if len(given) > 1 and not by_row.intersection(given):
        raise BadArgument(
            f"frame_iterator() takes one of {', '.join(_ONE_OF)}; {' and '.join(given)} are given.", "Keep one of them."
        )
    check_number("frame_iterator", "fps", values["fps"], 0, above=True)
    check_number("frame_iterator", "num_frames", values["num_frames"], 1, MAX_ROWS)


def check_video_parts(values, by_row):
    """The check of video_splitter's arguments."""
    name = "video_splitter"
    check_one_of(name, ("duration", "segment_times"), values, by_row)
    check_number(name, "duration", values["duration"], LEAST_SECONDS)
    check_number(name, "overlap", values["overlap"], 0)
    check_number(name, "min_segment_duration", values["min_segment_duration"], 0)
    check_choice(name, "mode", values["mode"], _MODES)
    times = values["segment_times"]
    for one in ("overlap", "min_segment_duration"):
        if values[one] is not None and "segment_times" not in by_row and times is not None:
            raise BadArgument(f"{name}() takes {one} only with duration.", f"Remove {one}, or give duration.")
    _check_overlap(name, values)
    _check_times(name, times)
    if values["mode"] == "fast" and (values["video_encoder"] is not None or values["video_encoder_args"] is not None):
        raise BadArgument(
            f"{name}() with mode='fast' encodes nothing and takes no video_encoder.", "Remove it, or use mode='accurate'."
        )


def _check_overlap(name, values):
    duration, overlap = values["duration"], values["overlap"]
    if None not in (duration, overlap) and not duration - overlap > LEAST_SECONDS / 2:
        raise BadArgument(
            f"{name}() takes an overlap below the duration, not {overlap} with duration={duration}.",
            f"Make the overlap smaller: each part begins at least {LEAST_SECONDS} s after the last.",
        )


def _check_times(name, times):
    if times is None:
        return
    is_numbers = type(times) is list and all(type(one) in (int, float) for one in times)
    if not is_numbers or any(b <= a for a, b in zip([0.0, *times], times)):
        raise BadArgument(
            f"{name}() takes segment_times as a list of seconds above 0 that rise, not {str(times)[:80]}.",
            "Write for example segment_times=[5.0, 15.0].",
        )


def check_audio_parts(values, by_row):
    """The check of audio_splitter's arguments."""
    name = "audio_splitter"
    check_one_of(name, ("duration", "max_size"), values, by_row)
    check_number(name, "duration", values["duration"], LEAST_SECONDS)
    check_number(name, "max_size", values["max_size"], _SMALLEST_FILE)
    check_number(name, "overlap", values["overlap"], 0)
    check_number(name, "min_segment_duration", values["min_segment_duration"], 0)
    check_number(name, "min_silence_len", values["min_silence_len"], 0, above=True)
    check_number(name, "silence_thresh", values["silence_thresh"], -200, 0)
    _check_overlap(name, values)


def needs_of_audio(values):
    """The packages of audio_splitter: silence is looked for with NumPy."""
    return ("av", "numpy") if values["min_silence_len"] is not None or values["trim_leading_silence"] else ("av",)


def check_tiles(values, by_row):
    """The check of tile_iterator's arguments."""
    size, overlap = values["tile_size"], values["overlap"]
    check_pair("tile_iterator", "tile_size", size, 1)
    check_pair("tile_iterator", "overlap", overlap, 0)
    if size is not None and overlap is not None and any(one >= side for one, side in zip(overlap, size)):
        raise BadArgument(
            f"tile_iterator() takes an overlap below the tile_size, not {list(overlap)} with {list(size)}.",
            "Make the overlap smaller, for example an eighth of the size.",
        )
