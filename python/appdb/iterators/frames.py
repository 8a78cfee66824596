"""What `frame_iterator` and `read_frame` compute: facts of frames while a video is decoded once, and frames by time."""

import math
import os
import threading
from bisect import bisect_left
from collections import OrderedDict

from appdb.iterators.checks import check_frames
from appdb.kinds._av import opened
from appdb.media.streams import exact, pictures, rate_of, timed, video_stream

# Videos that stay open between reads of frames, with their decoders.
MAX_OPEN = 2
# A frame at most as many seconds after the last one is reached by decoding, without a search in the file.
_NEAR_SECONDS = 5.0
# Times of frames are rounded to 1/60000 s (media/streams.py), and to the nearest float.
_TOLERANCE = 0.0005


def frame_rows(path, fps, num_frames, keyframes_only):
    """The rows: facts of the chosen frames in the order of their times."""
    check_frames({"fps": fps, "num_frames": num_frames, "keyframes_only": keyframes_only}, frozenset())
    if keyframes_only:
        found = _key_frames(path)
    elif num_frames is not None:
        found = _evenly(path, num_frames)
    else:
        found = _at_rate(path, fps)
    for facts in found:
        yield {"frame_attrs": facts}


def _at_rate(path, fps):
    """The frame nearest to each multiple of 1/fps before the end, the earlier of two; each frame at most once."""
    with opened(path) as container:
        stream = video_stream(container)
        stream.thread_type = "AUTO"
        step = 1 / rate_of(stream)
        rate = None if fps is None or exact(fps) * step >= 1 else exact(fps)
        last = done = None
        for facts, time in _facts(timed(container, stream, step)):
            if rate is None:
                yield facts
                continue
            if last is not None:
                # A frame is the nearest one up to the middle between it and the next.
                middle = math.floor((last[1] + time) / 2 * rate)
                if middle > done:
                    yield last[0]
                done = middle
            else:
                done = -1
            last = (facts, time)
        if last is not None and math.ceil((last[1] + step) * rate) - 1 > done:
            yield last[0]


def _evenly(path, count):
    """As many frames as are asked for: those in the middle of equal parts; all frames of a video with fewer."""
    total = len(_packet_times(path)) or sum(1 for _ in _at_rate(path, None))
    chosen = None
    if count < total:
        chosen = {((2 * number + 1) * total + count) // (2 * count) for number in range(count)}
    with opened(path) as container:
        stream = video_stream(container)
        stream.thread_type = "AUTO"
        for facts, _ in _facts(timed(container, stream, 1 / rate_of(stream))):
            if chosen is None or facts["index"] in chosen:
                yield facts


def _key_frames(path):
    """The key frames; the others are not decoded."""
    times = _packet_times(path)
    if not times:
        yield from (facts for facts in _at_rate(path, None) if facts["key_frame"])
        return
    with opened(path) as container:
        stream = video_stream(container)
        stream.codec_context.skip_frame = "NONKEY"
        for facts, _ in _facts(timed(container, stream, 1 / rate_of(stream))):
            if facts["key_frame"]:  # Some decoders give all frames.
                yield {**facts, "index": bisect_left(times, facts["pts"])} if facts["pts"] is not None else facts


def _packet_times(path):
    """The times of all frames in their order, in units of the stream, from the packets alone; none in a bare stream."""
    with opened(path) as container:
        packets = container.demux(video_stream(container))
        return sorted(one.pts for one in packets if one.pts is not None and not one.is_discard)


def _facts(frames):
    """Yields (frame_attrs, exact time) of frames."""
    for index, (frame, time) in enumerate(frames):
        facts = {
            "index": index,
            "pts": frame.pts,
            "dts": frame.dts,
            "time": float(time),
            "is_corrupt": bool(frame.is_corrupt),
            "key_frame": bool(frame.key_frame),
            "pict_type": int(frame.pict_type),
            "interlaced_frame": bool(frame.interlaced_frame),
        }
        yield facts, time


class _Film:
    """An open video: its frames from `begin` on, and the time and image of the last one that was read."""

    def __init__(self, path, begin):
        self._begin = begin
        self._frames = pictures(path, start=begin)
        self.time = begin
        self._image = None

    def reaches(self, time):
        """Whether a frame is at the last one, or near behind it."""
        return self.time - _TOLERANCE <= time <= self.time + _NEAR_SECONDS

    def image_at(self, time):
        """The image of the frame that begins at a time; None if there is none."""
        if self._image is None or time > self.time + _TOLERANCE:
            self._image = None
            for frame in self._frames:
                self.time = self._begin + frame.time
                if self.time >= time - _TOLERANCE:
                    self._image = frame.to_image()
                    break
        is_found = self._image is not None and abs(self.time - time) <= _TOLERANCE
        return self._image.copy() if is_found else None

    def close(self):
        self._frames.close()


_films = OrderedDict()  # By path, size and time of the file; the least recently used first.
_lock = threading.Lock()


def frame_of(path, attrs):
    """The image of the frame with these frame_attrs. Frames in ascending order are read by one decoder."""
    time = attrs.get("time") if isinstance(attrs, dict) else None
    if type(time) not in (int, float) or not time >= 0:
        raise ValueError(f"read_frame takes the frame_attrs of a frame_iterator, not {str(attrs)[:80]}")
    facts = os.stat(path)
    key = (str(path), facts.st_size, facts.st_mtime_ns)
    with _lock:
        film = _films.pop(key, None)
        if film is not None and not film.reaches(time):
            film.close()
            film = None
        if film is None:
            film = _Film(path, max(0.0, time - _TOLERANCE))
        try:
            image = film.image_at(time)
            if image is None:  # Times without those of the file depend on where reading begins.
                film.close()
                film = _Film(path, 0.0)
                image = film.image_at(time)
        except BaseException:
            film.close()
            raise
        if image is None:
            film.close()
            raise ValueError(f"the video has no frame that begins at {time:.4f} s")
        _films[key] = film
        if len(_films) > MAX_OPEN:
            _films.popitem(last=False)[1].close()
        return image


def close_films():
    """Closes the open videos."""
    with _lock:
        while _films:
            _films.popitem()[1].close()


