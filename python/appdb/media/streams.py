"""Frames of video and audio files, read through filters, with times that begin at 0."""

from fractions import Fraction

from appdb.media.filters import Graph
from appdb.kinds._av import opened

TICKS = 60_000  # Times of frames are whole numbers of these; MPEG-4 allows no more than 65,535.
MAX_FRAME_PIXELS = 7680 * 4320
MIN_RATE = 1_000  # Samples a second. A short file of fewer would be hours long.
_USUAL_RATE = Fraction(25)
_LEAST_RATE, _GREATEST_RATE = Fraction(1, 100), 240  # Other rates are errors of a file, or its units of time.


class Facts:
    """What is known of a video from its header and first frame. Width and height are as it is shown."""

    def __init__(self, path):
        with opened(path) as container:
            stream = video_stream(container)
            first = next(container.decode(stream), None)
            if first is None:
                raise ValueError("the video has no frames")
            self.width, self.height, _ = _shape(stream, first)
            self.rate = rate_of(stream)
            self.has_audio = bool(container.streams.audio)
        refuse_size(self.width, self.height)
        self.seconds = duration(path)


def video_stream(container):
    """The video of a file. The cover picture of an audio file is none."""
    for stream in container.streams.video:
        if "attached_pic" not in str(stream.disposition).lower():
            return _known(stream)
    raise ValueError("the file has no video")


def audio_stream(container, index=0):
    """An audio stream of a file."""
    if index >= len(container.streams.audio):
        raise ValueError(f"the file has no audio{'' if index == 0 else f' {index}'}")
    return _known(container.streams.audio[index])


def _known(stream):
    if stream.codec_context is None:
        raise ValueError(f"the {stream.type} has a codec that PyAV does not know")
    if stream.type == "video" and stream.codec_context.width:  # Before memory is taken for a frame.
        refuse_size(stream.codec_context.width, stream.codec_context.height)
    return stream


def rate_of(stream):
    """Frames per second."""
    rates = (stream.average_rate, stream.guessed_rate)
    return next((rate for rate in rates if rate and _LEAST_RATE <= rate <= _GREATEST_RATE), _USUAL_RATE)


def duration(path, what="video"):
    """The length of a file in seconds; None if it cannot be known."""
    with opened(path, what) as container:
        streams = getattr(container.streams, what)
        if not streams:
            raise ValueError(f"the file has no {what}")
        lengths = [one.duration * one.time_base for one in streams[:1] if one.duration and one.time_base]
        if lengths:
            return float(lengths[0])
        if container.duration is not None and container.duration > 0:
            return container.duration / 1_000_000
        origin, ends = begin_of(container), []
        for packet in container.demux():
            if packet.pts is not None and packet.time_base:
                ends.append((packet.pts + (packet.duration or 0)) * packet.time_base - origin)
        return float(max(ends)) if ends else None


def pictures(path, filters="", start=0, stop=None, overlays=()):
    """Yields the frames of a video from `start` until `stop`, through filters. The time at `start` is 0.

    `overlays`: frames that the filters read as [in1], [in2], each during the whole video.
    """
    turned, graph = None, None
    with opened(path) as container:
        stream = video_stream(container)
        stream.thread_type = "AUTO"
        for frame, time in timed(container, stream, 1 / rate_of(stream), start, stop):
            if graph is None:
                width, height, turning = _shape(stream, frame)
                refuse_size(width, height)
                form = (frame.width, frame.height, frame.format.name)
                turned = Graph(turning, [picture_source(*form)])
                graph = Graph(filters, [picture_source(width, height, form[2]), *map(source_of, overlays)])
                for place, overlay in enumerate(overlays):
                    yield from graph.push(at_time(overlay, 0), place + 1)
                    yield from graph.push(None, place + 1)
            if (frame.width, frame.height, frame.format.name) != form:
                frame = frame.reformat(*form)
            for one in turned.push(at_time(frame, time)):
                yield from graph.push(one)
        if graph is not None:
            yield from graph.push(None)


def source_of(frame):
    """The input of a graph for frames like one."""
    return picture_source(frame.width, frame.height, frame.format.name)


def _shape(stream, frame):
    """How a video is shown: width, height, and the filters that turn it and make its pixels square."""
    width, height, filters = frame.width, frame.height, []
    ratio = stream.sample_aspect_ratio
    if ratio and ratio > 0 and ratio != 1:
        width = max(1, round(width * ratio))
        filters.append(f"scale={width}:{height},setsar=1")
    turns = round(-getattr(frame, "rotation", 0) / 90) % 4  # Clockwise.
    filters += [["transpose=1"], ["hflip,vflip"], ["transpose=2"]][turns - 1] if turns else []
    return (height, width, ",".join(filters)) if turns % 2 else (width, height, ",".join(filters))


def sounds(path, filters="", start=0, stop=None, index=0, what="video"):
    """Yields the frames of an audio stream from `start` until `stop`, through filters. The time at `start` is 0."""
    graph = None
    with opened(path, what) as container:
        stream = audio_stream(container, index)
        cut = "atrim=start=0" if stop is None else f"atrim=start=0:end={float(stop - start):.6f}"
        step = Fraction(1024, stream.codec_context.sample_rate or 48_000)
        for frame, time in timed(container, stream, step, start, stop):
            if graph is None:
                form = (frame.sample_rate, frame.format.name, frame.layout.name)
                if frame.sample_rate < MIN_RATE:
                    raise ValueError(f"the audio has {frame.sample_rate} samples a second, fewer than {MIN_RATE}")
                named = _named_layout(frame.layout)
                graph = Graph(joined(cut, named, filters), [sound_source(*form)], "abuffersink")
            if (frame.sample_rate, frame.format.name, frame.layout.name) != form:
                raise ValueError(f"the audio changes its form after {float(time):.3f} s, which is not supported")
            yield from graph.push(at_time(frame, time, frame.sample_rate))
        if graph is not None:
            yield from graph.push(None)


def _named_layout(layout):
    """A filter that names the speakers of channels for which the file names none."""
    usual = {"1 channels": "mono", "2 channels": "stereo", "6 channels": "5.1", "8 channels": "7.1"}
    return f"aformat=channel_layouts={usual[layout.name]}" if layout.name in usual else ""


def picture_source(width, height, format):
    """The input of a graph for frames of a form."""
    base = Fraction(1, TICKS)
    return lambda graph: graph.add_buffer(width=width, height=height, format=format, time_base=base)


def sound_source(sample_rate, format, layout):
    """The input of a graph for sound of a form."""
    base = Fraction(1, sample_rate)
    return lambda graph: graph.add_abuffer(sample_rate=sample_rate, format=format, layout=layout, time_base=base)


def timed(container, stream, step, start=0, stop=None):
    """Yields (frame, time after `start`). Times increase, also where those of the file are missing or go back."""
    start, stop = exact(start), None if stop is None else exact(stop)
    origin, last = begin_of(container), None
    for frame in _decoded(container, stream, start + origin if start > 0 else None):
        time = None if frame.pts is None else frame.pts * frame.time_base - origin
        if time is None or (last is not None and time <= last):
            time = Fraction(0) if last is None else last + step
        last = time
        if stop is not None and time >= stop:
            return
        is_sound = stream.type == "audio"
        if time >= start or (is_sound and time + Fraction(frame.samples, frame.sample_rate) > start):
            yield frame, time - start


def _decoded(container, stream, start):
    """The frames from a time on, with some before it; all frames of a file in which nothing can be found by time."""
    import av

    if start is not None:
        try:
            container.seek(int(start * 1_000_000))
            frames = container.decode(stream)
            first = next(frames, None)
            if first is not None and first.pts is not None and first.pts * first.time_base <= start:
                yield first
                yield from frames
                return
            container.seek(min(0, container.start_time or 0))
        except av.error.FFmpegError:
            pass  # Without an index, the file is read from its beginning.
    yield from container.decode(stream)


def exact(seconds):
    """Seconds as a fraction: 0.2 is a fifth, not the float just above it."""
    return Fraction(seconds).limit_denominator(1_000_000)


def begin_of(container):
    """The time at which a file begins, in seconds."""
    return Fraction(container.start_time or 0, 1_000_000)


def at_time(frame, seconds, ticks=TICKS):
    """The frame with a time, and with its length in the same units."""
    if getattr(frame, "duration", 0) and frame.time_base:
        frame.duration = round(frame.duration * frame.time_base * ticks)
    frame.pts, frame.time_base = round(seconds * ticks), Fraction(1, ticks)
    return frame


def joined(*filters):
    """One chain of several."""
    return ",".join(one for one in filters if one)


def refuse_size(width, height):
    """Raises ValueError for frames beyond the limits."""
    if width < 2 or height < 2 or width * height > MAX_FRAME_PIXELS:
        raise ValueError(
            f"a video of {width}x{height} is not supported: at least 2x2, at most {MAX_FRAME_PIXELS} pixels"
        )
