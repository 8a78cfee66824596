# Made by `npm run docs` from the code it describes; a test compares the two.
"""Functions of audio, each but `encode_audio` also a method: `recording.fade_in(duration=1.5)`."""

from typing import Any

from appdb import Audio, Expr, Float, Json

Text = Expr | str | None
Whole = Expr | int | None
Number = Expr | float | None
Truth = Expr | bool | None

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

def audio_splitter(
    audio: Any,
    *,
    duration: Number = None,
    max_size: Whole = None,
    overlap: Number = 0.0,
    min_segment_duration: Number = 0.0,
    min_silence_len: Number = None,
    silence_thresh: Number = -40.0,
    trim_leading_silence: Truth = False,
) -> Any:
    """Parts of a sound as files: of `duration` seconds, or of at most `max_size` bytes.

    Each begins `overlap` seconds before the end of the last. A last part shorter than `min_segment_duration` is left
    out. With `min_silence_len` a part ends in the middle of the last silence of that many seconds in it, below
    `silence_thresh` dBFS; `trim_leading_silence` begins it at the end of a silence. Outputs are `segment_start` and
    `segment_end` in seconds, and `audio_segment`.
    """
