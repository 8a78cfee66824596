"""What `video_splitter` and `audio_splitter` compute: parts of a video or a sound, in files of their own."""

import os
from bisect import bisect_left

from appdb.iterators.checks import LEAST_SECONDS, check_audio_parts, check_video_parts
from appdb.kinds._av import opened
from appdb.media.films import clipped
from appdb.media.streams import begin_of, duration as length_of, exact, sounds, video_stream
from appdb.media.writing import key_time, save_audio

# A file that is too large is made again, this much shorter than its size says.
_MARGIN = 0.95
_MAX_TRIES = 20
_BEHIND_KEY = 0.0005
# Sound is measured at this rate, in windows of 10 ms.
_MEASURED_RATE = 8_000
_WINDOW = 80
_LEAST_TRIMMED = 0.05  # Seconds of silence that trim_leading_silence leaves out.


def video_parts(path, values):
    """The rows of video_splitter."""
    check_video_parts(values, frozenset())
    length = _length(path, "video", "video_splitter")
    with opened(path) as container:
        base, origin = video_stream(container).time_base, begin_of(container)
    bounds = _bounds(length, values)
    if values["mode"] == "fast":
        bounds = _at_key_frames(path, bounds, length, bool(values["overlap"]))
    encoder = values["video_encoder"], values["video_encoder_args"]
    for start, end in bounds:
        # Just behind a key frame, because seeking rounds down.
        begin = start + _BEHIND_KEY if start > 0 and values["mode"] == "fast" else start
        part = clipped(path, begin, None if end >= length else end, None, values["mode"], *encoder)
        if part is None:
            continue
        yield {
            "segment_start": start,
            "segment_start_pts": round((exact(start) + origin) / base),
            "segment_end": end,
            "segment_end_pts": round((exact(end) + origin) / base),
            "video_segment": part,
        }


def _at_key_frames(path, bounds, length, has_overlap):
    """The parts from key frame to key frame; without those that have none. Ends stay where parts overlap."""
    with opened(path) as container:
        for start, end in bounds:
            start = float(key_time(container, start + _BEHIND_KEY)) if start > 0 else 0.0
            if end < length and not has_overlap:
                end = float(key_time(container, end + _BEHIND_KEY))
            if end > start:
                yield start, end


def _bounds(length, values):
    """(start, end) of the parts of a length."""
    if values["segment_times"] is not None:
        cuts = [float(one) for one in values["segment_times"] if length - one > 1e-6]
        yield from zip([0.0, *cuts], [*cuts, length])
        return
    seconds, overlap = exact(values["duration"]), exact(values["overlap"] or 0.0)
    least, number = values["min_segment_duration"] or 0.0, 0
    while True:
        start = number * (seconds - overlap)
        end = min(start + seconds, exact(length))
        is_last = float(end) >= length - 1e-6
        if is_last and float(end - start) < least - 1e-6:
            return
        yield float(start), length if is_last else float(end)
        if is_last:
            return
        number += 1


def _length(path, what, name):
    length = length_of(path, what)
    if length is None or length <= 0:
        raise ValueError(f"{name} needs the length of the {what}, which its file does not say")
    return length


def audio_parts(path, values):
    """The rows of audio_splitter. A part has the format of the file where that is wav, mp3, flac or mp4, else mp4."""
    check_audio_parts(values, frozenset())
    from appdb.media.sounds import format_of

    length, format = _length(path, "audio", "audio_splitter"), format_of(path)
    quiet = _silences(path, values) if values["min_silence_len"] is not None or values["trim_leading_silence"] else []
    start, rate = 0.0, os.path.getsize(path) / length
    while start < length - LEAST_SECONDS / 2:
        begin = _trimmed(start, quiet) if values["trim_leading_silence"] else start
        if begin >= length - LEAST_SECONDS / 2:
            return
        if values["duration"] is not None:
            most = min(round(begin + values["duration"], 6), length)
            end, made = _snapped(begin, most, length, quiet, values), None
        else:
            end, made, rate = _sized(path, format, begin, length, rate, quiet, values)
        if end >= length - LEAST_SECONDS / 2:
            end = length
        if end == length and end - begin < values["min_segment_duration"] - 1e-6:
            if made is not None:
                os.unlink(made)
            return
        made = made or _part(path, format, begin, end)
        if made is None:
            return
        yield {"segment_start": begin, "segment_end": end, "audio_segment": made}
        if end == length:
            return
        start = round(end - values["overlap"], 6)
        if start < begin + LEAST_SECONDS / 2:
            raise ValueError(
                f"audio_splitter: a part of at most {values['max_size']} bytes has {end - begin:.3f} s and is not longer "
                f"than the overlap of {values['overlap']} s; make max_size larger"
            )


def _part(path, format, start, end):
    return save_audio(sounds(path, start=start, stop=end, what="audio"), format)


def _sized(path, format, begin, length, rate, quiet, values):
    """(end, file, bytes per second) of the longest part that keeps to max_size, up to a margin."""
    most, seconds = values["max_size"], length - begin
    seconds = min(seconds, most * _MARGIN / rate)
    for _ in range(_MAX_TRIES):
        end = _snapped(begin, min(round(begin + max(seconds, LEAST_SECONDS), 6), length), length, quiet, values)
        made = _part(path, format, begin, end)
        size = 0 if made is None else os.path.getsize(made)
        if size <= most:
            return end, made, max(size / (end - begin), 1.0)
        os.unlink(made)
        if end - begin <= LEAST_SECONDS:
            break
        seconds = (end - begin) * min(0.9, most * _MARGIN / size)
    raise ValueError(f"audio_splitter: a max_size of {most} bytes holds no part of the audio as {format}; make it larger")


def _silences(path, values):
    """(begin, end) of the silences that are long enough to end a part, or to be left out before one."""
    import numpy

    mono = f"aresample={_MEASURED_RATE},aformat=sample_fmts=flt:channel_layouts=mono"
    filters = f"{mono},asetnsamples=n={_MEASURED_RATE}:p=0"
    asked = [_LEAST_TRIMMED] if values["trim_leading_silence"] else []
    least = min([*asked, *([] if values["min_silence_len"] is None else [values["min_silence_len"]])]) - 1e-6
    most, found = 10 ** (values["silence_thresh"] / 20), []
    for frame in sounds(path, filters, what="audio"):
        samples = numpy.frombuffer(bytes(frame.planes[0])[: 4 * frame.samples], dtype=numpy.float32)
        starts = range(0, len(samples), _WINDOW)
        at = round(frame.time * _MEASURED_RATE)
        loud = numpy.sqrt(numpy.add.reduceat(samples.astype(float) ** 2, list(starts)) / _WINDOW) > most
        for start, is_loud in zip(starts, loud):
            if not is_loud:
                begin, end = (at + start) / _MEASURED_RATE, (at + min(start + _WINDOW, len(samples))) / _MEASURED_RATE
                if found and abs(found[-1][1] - begin) < 1e-9:
                    found[-1] = (found[-1][0], end)
                    continue
                if found and found[-1][1] - found[-1][0] < least:  # Shorter ones would fill the memory.
                    found.pop()
                found.append((begin, end))
    return found if not found or found[-1][1] - found[-1][0] >= least else found[:-1]


def _snapped(begin, end, length, quiet, values):
    """The end of a part: the middle of the last silence that is long enough and begins before it, or `end`.

    A part is longer than the overlap, so that the next one begins after it.
    """
    least, low = values["min_silence_len"], begin + values["overlap"] + LEAST_SECONDS
    if least is None or end >= length:
        return end
    last = bisect_left(quiet, (end,))
    for number in range(last - 1, -1, -1):
        first, until = quiet[number]
        if until <= low:
            break
        middle = round(min((first + until) / 2, end), 6)
        if until - first >= least - 1e-6 and middle > low:
            return middle
    return end


def _trimmed(start, quiet):
    """The end of the silence in which a part would begin."""
    number = bisect_left(quiet, (start + 1e-6,)) - 1
    return max(start, quiet[number][1]) if number >= 0 else start
