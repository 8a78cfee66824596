"""What the headers of video and audio files say, as Json."""

import os

from appdb.kinds._av import opened


def metadata(path, what):
    """The metadata of a file and of its streams."""
    with opened(path, what) as container:
        if not getattr(container.streams, what):
            raise ValueError(f"the file has no {what}")
        return {
            "size": os.path.getsize(path),
            "bit_rate": container.bit_rate or None,
            "bit_exact": bool(container.flags & 0x400),  # FFmpeg's AVFMT_FLAG_BITEXACT.
            "metadata": _texts(container.metadata),
            "streams": [_stream(stream) for stream in container.streams if stream.type in ("video", "audio")],
        }


def _stream(stream):
    seconds = float(stream.duration * stream.time_base) if stream.duration and stream.time_base else None
    context = stream.codec_context
    if context is None:
        raise ValueError(f"the {stream.type} has a codec that PyAV does not know")
    found = {
        "type": stream.type,
        "frames": stream.frames,
        "duration": stream.duration,
        "duration_seconds": seconds,
        "time_base": None if stream.time_base is None else float(stream.time_base),
        "metadata": _texts(stream.metadata),
        "codec_context": {"name": context.name, "codec_tag": _tag(context), "profile": context.profile},
    }
    if stream.type == "audio":
        found["codec_context"] |= {"channels": context.channels, "sample_rate": context.sample_rate}
        return found
    found["codec_context"]["pix_fmt"] = context.pix_fmt
    rates = {"average_rate": stream.average_rate, "base_rate": stream.base_rate, "guessed_rate": stream.guessed_rate}
    found |= {"width": context.width, "height": context.height}
    return found | {name: None if rate is None else float(rate) for name, rate in rates.items()}


def _tag(context):
    try:
        return _text(context.codec_tag)
    except UnicodeDecodeError:  # Four bytes that are not letters.
        return None


def _texts(metadata):
    return {_text(key): _text(value) for key, value in metadata.items()}


def _text(value):
    """Text that Json holds: no NUL, no half characters."""
    return value.replace("\0", "").encode("utf-8", "replace").decode("utf-8")
