"""What the functions of audio compute."""

from appdb.media.streams import MIN_RATE, at_time, duration as length_of, sounds
from appdb.media.writing import AUDIO_FORMATS, save_audio
from appdb.kinds._av import opened

MAX_RATE = 384_000
MAX_FACTOR = 1_000


def filtered(path, filters):
    """A new file with filtered audio, in the format of the given one."""
    made = save_audio(sounds(path, filters, what="audio"), format_of(path))
    if made is None:
        raise ValueError("the audio has no content")
    return made


def format_of(path):
    """The format of an audio file if it is one of AUDIO_FORMATS, else mp4."""
    with opened(path, "audio") as container:
        if not container.streams.audio:
            raise ValueError("the file has no audio")
        names = container.format.name.split(",")
    return next((one for one in AUDIO_FORMATS if one in names), "mp4")


def faded_out(path, seconds):
    positive("fade_out", "duration", seconds)
    length = length_of(path, "audio")
    if length is None:
        raise ValueError("fade_out needs the length of the audio, which its file does not say")
    begin = max(0.0, length - seconds)
    return filtered(path, f"afade=t=out:st={begin}:d={min(seconds, length)}")


def louder(path, factor, start, end):
    if not 0 <= factor <= MAX_FACTOR:
        raise ValueError(f"multiply_volume takes a factor from 0 to {MAX_FACTOR}, not {factor}")
    start = 0.0 if start is None else start
    if start < 0 or (end is not None and end <= start):
        raise ValueError(f"multiply_volume takes a range that begins at 0 or later and then ends, not {start} to {end}")
    until = "" if end is None else f"*lt(t,{end})"
    return filtered(path, f"asetnsamples=256:p=0,volume={factor}:enable='gte(t,{start}){until}'")


def normalized(path):
    peak = 0.0
    for frame in sounds(path, "aformat=sample_fmts=flt", what="audio"):
        count = frame.samples * frame.layout.nb_channels
        samples = memoryview(bytes(frame.planes[0]))[: 4 * count].cast("f")
        peak = max(peak, max(samples), -min(samples))
    return filtered(path, f"volume={1 / peak}" if peak > 0 else "anull")


def encoded(samples, rate, format, output_rate):
    import av
    import numpy

    output_rate = rate if output_rate is None else output_rate
    for one in (rate, output_rate):
        if not MIN_RATE <= one <= MAX_RATE:
            raise ValueError(f"encode_audio takes sample rates from {MIN_RATE} to {MAX_RATE}, not {one}")
    found = numpy.asarray(samples, dtype=numpy.float32)
    shaped = found.reshape(1, -1) if found.ndim == 1 else found
    if shaped.ndim != 2 or shaped.shape[0] not in (1, 2) or shaped.shape[1] == 0:
        raise ValueError(f"encode_audio takes samples of the shape (n,), (1, n) or (2, n), not {found.shape}")

    def frames():
        for at in range(0, shaped.shape[1], 4096):
            part = numpy.ascontiguousarray(shaped[:, at : at + 4096])
            frame = av.AudioFrame.from_ndarray(part, format="fltp", layout="mono" if len(part) == 1 else "stereo")
            frame.sample_rate = rate
            yield at_time(frame, at / rate, rate)

    return save_audio(frames(), format, rate=output_rate)


def positive(function, name, value):
    """A number above zero."""
    if not value > 0:
        raise ValueError(f"{function} takes a {name} above 0 seconds, not {value}")
    return value
