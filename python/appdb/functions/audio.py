"""Functions of audio, each but `encode_audio` also a method: `recording.fade_in(duration=1.5)`.

Audio is the path of a file. A function that gives audio writes a new file, of the same format where that is wav, mp3,
flac or mp4, and otherwise mp4.
"""

from __future__ import annotations

from appdb.functions._builtin import Namespace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any as Array
    from typing import Any as Audio
    from typing import Any as Json

_audio = Namespace("audio", needs=("av",), iterators=("audio_splitter",))
function, FUNCTIONS = _audio.function, _audio.functions
__getattr__ = _audio.unknown

_TONE = "0.5s 440Hz"  # For the examples: half a second of a tone.
_SILENCE = "0.5s 0Hz"


@function([("broken", ValueError)])
def get_metadata(self: Audio, /) -> Json:
    """`{"size", "bit_rate", "bit_exact", "metadata", "streams": [...]}` of the file; sizes in bytes, rates in bits per second."""
    from appdb.media.facts import metadata

    return metadata(self, "audio")


@function([(_TONE, 0.5), ("broken", ValueError)])
def get_duration(self: Audio, /) -> float | None:
    """The length in seconds; null if the file does not say it."""
    from appdb.media.streams import duration

    return duration(self, "audio")


@function([(_TONE, 0.2, "0.5s"), (_TONE, 0.0, ValueError), (_TONE, -1.0, ValueError)])
def fade_in(self: Audio, /, *, duration: float) -> Audio:
    """The audio with a linear fade from silence in its first `duration` seconds."""
    from appdb.media.sounds import filtered, positive

    return filtered(self, f"afade=t=in:d={positive('fade_in', 'duration', duration)}")


@function([(_TONE, 0.2, "0.5s"), (_TONE, 9.0, "0.5s"), (_TONE, 0.0, ValueError)])
def fade_out(self: Audio, /, *, duration: float) -> Audio:
    """The audio with a linear fade to silence in its last `duration` seconds."""
    from appdb.media.sounds import faded_out

    return faded_out(self, duration)


@function(
    [
        (_TONE, 0.5, "0.5s"),
        (_TONE, 2.0, 0.1, 0.2, "0.5s"),
        (_TONE, -0.5, ValueError),
        (_TONE, 1.0, 0.2, 0.1, ValueError),
    ]
)
def multiply_volume(
    self: Audio, /, *, factor: float, start_time: float | None = None, end_time: float | None = None
) -> Audio:
    """The audio with its volume multiplied, in the seconds from `start_time` to `end_time` or everywhere."""
    from appdb.media.sounds import louder

    return louder(self, factor, start_time, end_time)


@function([(_TONE, "0.5s"), (_SILENCE, "0.5s")])
def normalize(self: Audio, /) -> Audio:
    """The audio as loud as it can be without cutting its loudest sample. Silence stays silence."""
    from appdb.media.sounds import normalized

    return normalized(self)


@function(
    [
        ([[0.0, 0.5] * 400], 8000, "wav", "0.1s"),
        ([0.0] * 800, 8000, "flac", 16000, "0.1s"),
        ([0.0], 8000, "xyz", ValueError),
    ]
    + [([[0.0], [0.0], [0.0]], 8000, "wav", ValueError), ([0.0], 0, "wav", ValueError)],
    is_method=False,
    needs=("numpy",),
)
def encode_audio(
    audio_data: Array, /, *, input_sample_rate: int, format: str, output_sample_rate: int | None = None
) -> Audio:
    """A file of samples from -1 to 1: shape (n,) or (1, n) for mono, (2, n) for stereo. Formats: wav, mp3, flac, mp4."""
    from appdb.media.sounds import encoded

    return encoded(audio_data, input_sample_rate, format, output_sample_rate)
