"""Writing of video and audio files: frames are encoded, and packets of another file are kept."""

import os
from contextlib import contextmanager
from fractions import Fraction

from appdb.media.filters import Graph
from appdb.media.streams import (
    TICKS,
    audio_stream,
    begin_of,
    picture_source,
    pictures,
    rate_of,
    refuse_size,
    sounds,
    video_stream,
)
from appdb.kinds._av import clear_errors, opened
from appdb.kinds._media import scratch_file

MAX_FRAMES = 1_000_000
MAX_BYTES = 4 << 30  # As in a WAV file.
# Codecs whose packets an MP4 file takes as they are, from these containers.
_KEPT = frozenset(
    ("aac", "mp3", "ac3", "eac3", "flac", "opus", "alac", "h264", "hevc", "mpeg4", "mpeg2video", "av1", "vp9")
)
_KEPT_FROM = frozenset(("mov,mp4,m4a,3gp,3g2,mj2", "matroska,webm"))
_ROUNDING = 1e-6  # Of times as floats.
_RGB_BECOMES = 6  # FFmpeg converts by the matrix of SMPTE 170M.
_VIDEO_ENCODERS = ("libx264", "mpeg4")
# By the format of a sound file: extension, encoders.
AUDIO_FORMATS = {
    "wav": ("pcm_s16le", "pcm_s24le", "pcm_s32le", "pcm_f32le", "pcm_u8", "pcm_mulaw", "pcm_alaw"),
    "mp3": ("libmp3lame",),
    "flac": ("flac",),
    "mp4": ("aac", "alac", "ac3"),
}


def save_video(frames, rate, audio=None, encoder=None, options=None):
    """Encodes frames to a new MP4 file. `audio`: from `encoded_audio` or `kept_audio`. Returns the path."""
    codec, frames = video_codec(encoder), iter(frames)
    first = next(frames, None)
    if first is None:
        raise ValueError("the video would have no frames")
    with _new_file(".mp4", "video", options={"movflags": "+faststart"}) as (path, output):
        stream = _stream_for(output, first, rate, codec, options)
        parts = [_encoded(stream, _fitted(stream, first, frames))]
        if audio is not None:
            parts.append(audio(output))
        _mux(output, parts)
    return path


def _stream_for(output, first, rate, codec, options=None):
    """The stream of a new file for frames like the first."""
    width, height = first.width // 2 * 2, first.height // 2 * 2  # Most players refuse odd sides.
    refuse_size(width, height)
    stream = output.add_stream(codec.name, rate=rate, options=_texts(options))
    stream.width, stream.height, stream.pix_fmt = width, height, _pixels(codec)
    stream.codec_context.time_base = Fraction(1, TICKS)
    _mark_colors(stream, first)
    return stream


class GrowingVideo:
    """A new MP4 file of frames that come one by one: each is encoded at once and not kept."""

    def __init__(self, rate):
        self._rate = rate
        self._file = None
        self._written = 0

    def add(self, frame):
        """Encodes a frame with its time. After an error there is no file."""
        try:
            if self._file is None:
                self._begin(frame)
            self._encode(frame)
        except BaseException:
            self.drop()
            raise

    def end(self):
        """Returns the path of the complete file; None without frames."""
        if self._file is None:
            return None
        try:
            self._encode(None)
            with clear_errors("video"):
                for packet in self._stream.encode(None):
                    self._write(packet)
        except BaseException:
            self.drop()
            raise
        file, self._file = self._file, None
        file.__exit__(None, None, None)
        return self._path

    def drop(self):
        """Removes a file that has not ended."""
        file, self._file = self._file, None
        if file is not None:
            try:
                file.__exit__(GeneratorExit, GeneratorExit(), None)
            except GeneratorExit:
                return

    __del__ = drop

    def _begin(self, first):
        codec = video_codec(None)
        file = _new_file(".mp4", "video", options={"movflags": "+faststart"})
        self._path, self._output = file.__enter__()
        self._file = file
        with clear_errors("video"):
            self._stream = _stream_for(self._output, first, self._rate, codec)
            self._fitting = _Fitting(self._stream, first)

    def _encode(self, frame):
        with clear_errors("video"):
            for fitted in self._fitting.push(frame):
                for packet in self._stream.encode(fitted):
                    self._write(packet)

    def _write(self, packet):
        self._written += packet.size
        _check_bytes(self._written)
        self._output.mux(packet)


def save_audio(frames, format, codec=None, rate=None):
    """Encodes frames of sound to a new file, at another `rate` if given. Returns the path; None without frames."""
    encoder = audio_codec(format, codec)
    frames = iter(frames)
    first = next(frames, None)
    if first is None:
        return None
    with _new_file(f".{'m4a' if format == 'mp4' else format}", "audio", format=format) as (path, output):
        _mux(output, [_sound_of(output, first, frames, encoder, rate)])
    return path


@contextmanager
def _new_file(suffix, what, **options):
    """Opens a new file for writing: (path, container). After an error there is no file."""
    import av

    path = scratch_file(suffix)
    try:
        with clear_errors(what), av.open(path, "w", **options) as output:
            yield path, output
    except BaseException:
        os.unlink(path)
        raise


def video_codec(name):
    """The encoder of a name, or the usual one. Raises ValueError for one that PyAV lacks."""
    import av

    wanted = _VIDEO_ENCODERS if name is None else (name,)
    for one in wanted:
        try:
            codec = av.codec.Codec(one, "w")
        except ValueError:
            continue
        if codec.type == "video":
            return codec
    raise ValueError(f"PyAV {av.__version__} has no video encoder {' or '.join(wanted)}")


def audio_codec(format, name=None):
    """The name of the encoder for a format of audio files."""
    if format not in AUDIO_FORMATS:
        raise ValueError(f"there is no audio format {format[:40]!r}; the formats are {', '.join(AUDIO_FORMATS)}")
    known = AUDIO_FORMATS[format]
    if name is not None and name not in known:
        raise ValueError(f"a {format} file takes the codecs {', '.join(known)}, not {name[:40]!r}")
    return name or known[0]


def encoded_audio(frames):
    """Audio of frames, for a video."""

    def add(output):
        ready = iter(frames)
        first = next(ready, None)
        return iter(()) if first is None else _sound_of(output, first, ready, "aac")

    return add


def kept_audio(path):
    """The audio of a video as it is, for another one; encoded again where MP4 does not hold it."""
    with opened(path) as container:
        if not container.streams.audio:
            return None
        is_kept = can_keep(container, audio_stream(container))
    return (lambda output: _packets_of(path, "audio", output)) if is_kept else encoded_audio(sounds(path))


def can_keep(container, stream):
    """Whether an MP4 file takes the packets of a stream as they are."""
    return container.format.name in _KEPT_FROM and stream.codec_context.name in _KEPT


def save_packets(path, start=0, stop=None):
    """Writes the packets of a video from the key frame before `start` until `stop` to a new file. Returns its path."""
    with opened(path) as container:
        stream, sound = video_stream(container), container.streams.audio[:1]
        if not can_keep(container, stream):
            known = f"{stream.codec_context.name} of {container.format.name}"
            raise ValueError(f"an MP4 file does not take packets of {known} as they are; use the mode 'accurate'")
        is_kept = bool(sound) and can_keep(container, audio_stream(container))
        begin = key_time(container, start) if start > 0 else 0
    with _new_file(".mp4", "video", options={"movflags": "+faststart"}) as (made, output):
        parts = [_packets_of(path, "video", output, begin, stop)]
        if is_kept:
            parts.append(_packets_of(path, "audio", output, begin, stop))
        elif sound:
            parts.append(encoded_audio(sounds(path, start=begin, stop=stop))(output))
        _mux(output, parts)
    return made


def replaced_audio(path, audio):
    """Writes a video with other audio, of `encoded_audio`; its frames are encoded only where they must be."""
    with opened(path) as container:
        stream = video_stream(container)
        is_kept, rate = can_keep(container, stream), rate_of(stream)
    if not is_kept:
        return save_video(pictures(path), rate, audio)
    with _new_file(".mp4", "video", options={"movflags": "+faststart"}) as (made, output):
        _mux(output, [_packets_of(path, "video", output), audio(output)])
    return made


def _packets_of(path, kind, output, start=0, stop=None):
    packets = _packets(path, kind, output, start, stop)
    next(packets)  # Adds the stream.
    return packets


def _packets(path, kind, output, start, stop):
    with opened(path) as container:
        stream = video_stream(container) if kind == "video" else audio_stream(container)
        made = output.add_stream_from_template(stream)
        origin = begin_of(container)
        yield None
        if start > 0:
            container.seek(int((start + origin) * 1_000_000))
            origin += start
            stop = None if stop is None else stop - start
        for packet in container.demux(stream):
            if packet.dts is None:
                continue
            shift = round(origin / packet.time_base)
            packet.dts -= shift
            packet.pts = packet.dts if packet.pts is None else packet.pts - shift
            time = float(packet.dts * packet.time_base)
            if stop is not None and (time >= stop or (packet.is_keyframe and _pts(packet) >= stop - _ROUNDING)):
                return
            if start == 0 or kind == "video" or packet.pts >= 0:
                packet.stream = made
                yield time, packet


def _pts(packet):
    return float(packet.pts * packet.time_base)


def key_time(container, start):
    """The time of the last key frame until `start`."""
    origin, stream = begin_of(container), video_stream(container)
    container.seek(int((Fraction(start) + origin) * 1_000_000))
    for packet in container.demux(stream):
        if packet.is_keyframe and packet.pts is not None:
            return packet.pts * packet.time_base - origin
    return Fraction(0)


def _sound_of(output, first, frames, codec, rate=None):
    stream = output.add_stream(codec, rate=rate or first.sample_rate, layout=first.layout.name)
    return _encoded(stream, _with(first, frames))


def _with(first, frames):
    yield first
    yield from frames


def _fitted(stream, first, frames):
    """The frames in the form of the encoder."""
    fitting = _Fitting(stream, first)
    for frame in _with(first, frames):
        yield from fitting.push(frame)
    yield from fitting.push(None)


class _Fitting:
    """Gives frames the form of the encoder, each later than the one before."""

    def __init__(self, stream, first):
        self._form = form = (first.width, first.height, first.format.name)
        self._last, self._count = -1, 0
        # Full range, as in JPEG, would need a mark that many players overlook.
        ranged = "scale=out_range=tv," if form[2].startswith("yuvj") or int(first.color_range) == 2 else ""
        text = f"crop={stream.width}:{stream.height}:0:0,{ranged}format={stream.pix_fmt}"
        self._graph = Graph(text, [picture_source(*form)])

    def push(self, frame):
        """Takes a frame, or None at the end; yields the frames that are ready."""
        if frame is not None:
            form = self._form
            if (frame.width, frame.height) != form[:2]:
                sizes = f"{form[0]}x{form[1]} and {frame.width}x{frame.height}"
                raise ValueError(f"a video has frames of one size, not {sizes}")
            self._count += 1
            if self._count > MAX_FRAMES:
                raise ValueError(f"a video has at most {MAX_FRAMES} frames")
            self._last = max(self._last + 1, round(frame.pts * frame.time_base * TICKS))
            frame = frame if frame.format.name == form[2] else frame.reformat(format=form[2])
            frame.pts, frame.time_base, frame.pict_type = self._last, Fraction(1, TICKS), 0
        yield from self._graph.push(frame)


def _encoded(stream, frames):
    """Yields (time, packet) of a stream."""
    is_first = True
    for frame in frames:
        packets = stream.encode(frame)
        if is_first:
            _refuse_unknown(stream)
            is_first = False
        yield from _with_times(packets)
    yield from _with_times(stream.encode(None))


def _mark_colors(stream, first):
    """Marks a video with the meaning of its colors, which players otherwise guess from its size."""
    if first.format.name.startswith(("rgb", "gbr")):
        stream.codec_context.colorspace = _RGB_BECOMES
        return
    for name in ("colorspace", "color_primaries", "color_trc"):
        value = int(getattr(first, name, 2))  # PyAV 15 does not know all of them.
        if value not in (0, 2):  # RGB, and unspecified.
            setattr(stream.codec_context, name, value)


def _with_times(packets):
    for packet in packets:
        yield float(packet.dts * packet.time_base), packet


def _refuse_unknown(stream):
    unknown = list(stream.codec_context.options)
    if unknown:
        raise ValueError(f"the encoder {stream.codec_context.name} has no option {', '.join(map(repr, unknown))}")


def _mux(output, parts):
    """Writes the packets of all streams by their times."""
    heads = {number: head for number, part in enumerate(parts) if (head := next(part, None)) is not None}
    written = 0
    while heads:
        number = min(heads, key=lambda one: heads[one][0])
        written += heads[number][1].size
        _check_bytes(written)
        output.mux(heads[number][1])
        head = next(parts[number], None)
        if head is None:
            del heads[number]
        else:
            heads[number] = head


def _check_bytes(written):
    if written > MAX_BYTES:
        raise ValueError(f"the file would have more than {MAX_BYTES} bytes")


def _texts(options):
    if options is None:
        return {}
    if type(options) is not dict or not all(type(one) in (str, int, float) for one in options.values()):
        raise ValueError(f"video_encoder_args is an object of texts and numbers, not {str(options)[:80]}")
    return {key: str(value) for key, value in options.items()}


def _pixels(codec):
    names = [one.name for one in codec.video_formats or ()]
    return "yuv420p" if "yuv420p" in names or not names else names[0]
