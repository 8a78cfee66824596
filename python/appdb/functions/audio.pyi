# Made by `npm run docs` from the code it describes; a test compares the two.
"""Functions of audio, each but `encode_audio` also a method: `recording.fade_in(duration=1.5)`."""

from typing import Any

from appdb import Audio, Expr, Float, Json

Text = Expr | str | None
Whole = Expr | int | None
Number = Expr | float | None

FUNCTIONS: dict[str, Any]

def get_metadata(self: Any, /) -> Json:
    """`{"size", "bit_rate", "bit_exact", "metadata", "streams": [...]}` of the file; sizes in bytes, rates in bits per second."""

def get_duration(self: Any, /) -> Float:
    """The length in seconds; null if the file does not say it."""

def fade_in(self: Any, /, *, duration: Number) -> Audio:
    """The audio with a linear fade from silence in its first `duration` seconds."""

def fade_out(self: Any, /, *, duration: Number) -> Audio:
    """The audio with a linear fade to silence in its last `duration` seconds."""

def multiply_volume(self: Any, /, *, factor: Number, start_time: Number = None, end_time: Number = None) -> Audio:
    """The audio with its volume multiplied, in the seconds from `start_time` to `end_time` or everywhere."""

def normalize(self: Any, /) -> Audio:
    """The audio as loud as it can be without cutting its loudest sample. Silence stays silence."""

def encode_audio(
    audio_data: Any,
    /,
    *,
    input_sample_rate: Whole,
    format: Text,
    output_sample_rate: Whole = None,
) -> Audio:
    """A file of samples from -1 to 1: shape (n,) or (1, n) for mono, (2, n) for stereo. Formats: wav, mp3, flac, mp4."""
