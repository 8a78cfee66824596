"""Functions of video that find its scenes. Each gives `[{"start_time", "start_pts", "duration"}]`, which cover all of it.

The detectors are those of PySceneDetect by name and parameters: Brandon Castellano, https://www.scenedetect.com. Their
scores are computed here, on frames that are reduced to a width of 256 pixels.
"""

from __future__ import annotations

from appdb.functions._video import VIDEO

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any as Json
    from typing import Any as Video

function = VIDEO.function

_SILENT = "64x48 10@10"  # For the examples: a second of one scene.
_WHOLE = [{"start_time": 0.0, "start_pts": 0, "duration": 1.0}]


@function([(_SILENT, _WHOLE), (_SILENT, 5.0, 27.0, 15, _WHOLE), (_SILENT, 0.0, ValueError)], needs=("numpy",))
def scene_detect_content(
    self: Video,
    /,
    *,
    fps: float | None = None,
    threshold: float = 27.0,
    min_scene_len: int = 15,
    delta_hue: float = 1.0,
    delta_sat: float = 1.0,
    delta_lum: float = 1.0,
    delta_edges: float = 0.0,
    luma_only: bool = False,
    kernel_size: int | None = None,
    filter_mode: str = "merge",
) -> Json:
    """Scenes by the mean change of hue, saturation, brightness and edges. `filter_mode` for quick cuts: merge or suppress."""
    from appdb.media.scenes import Weights, by_content

    weights = Weights(delta_hue, delta_sat, delta_lum, delta_edges, luma_only, kernel_size)
    return by_content(self, fps, threshold, min_scene_len, weights, filter_mode)


@function([(_SILENT, _WHOLE), (_SILENT, None, 3.0, 15, 0, ValueError)], needs=("numpy",))
def scene_detect_adaptive(
    self: Video,
    /,
    *,
    fps: float | None = None,
    adaptive_threshold: float = 3.0,
    min_scene_len: int = 15,
    window_width: int = 2,
    min_content_val: float = 15.0,
    delta_hue: float = 1.0,
    delta_sat: float = 1.0,
    delta_lum: float = 1.0,
    delta_edges: float = 0.0,
    luma_only: bool = False,
    kernel_size: int | None = None,
) -> Json:
    """Scenes where the change is several times that of the frames around it, which copes with quick motion."""
    from appdb.media.scenes import Weights, by_ratio

    weights = Weights(delta_hue, delta_sat, delta_lum, delta_edges, luma_only, kernel_size)
    return by_ratio(self, fps, adaptive_threshold, min_scene_len, window_width, min_content_val, weights)


@function([(_SILENT, _WHOLE), (_SILENT, None, 12.0, 15, 0.0, False, "wall", ValueError)], needs=("numpy",))
def scene_detect_threshold(
    self: Video,
    /,
    *,
    fps: float | None = None,
    threshold: float = 12.0,
    min_scene_len: int = 15,
    fade_bias: float = 0.0,
    add_final_scene: bool = False,
    method: str = "floor",
) -> Json:
    """Scenes by fades: the mean brightness (0 to 255) falls below a threshold, or rises above it ('ceiling')."""
    from appdb.media.scenes import by_fades

    return by_fades(self, fps, threshold, min_scene_len, fade_bias, add_final_scene, method)


@function([(_SILENT, _WHOLE), (_SILENT, None, 0.05, 1, ValueError)], needs=("numpy",))
def scene_detect_histogram(
    self: Video, /, *, fps: float | None = None, threshold: float = 0.05, bins: int = 256, min_scene_len: int = 15
) -> Json:
    """Scenes where the histograms of brightness of two frames correlate less than 1 - `threshold`."""
    from appdb.media.scenes import by_histogram

    return by_histogram(self, fps, threshold, bins, min_scene_len)


@function([(_SILENT, _WHOLE), (_SILENT, None, 0.395, 1, ValueError)], needs=("numpy",))
def scene_detect_hash(
    self: Video,
    /,
    *,
    fps: float | None = None,
    threshold: float = 0.395,
    size: int = 16,
    lowpass: int = 2,
    min_scene_len: int = 15,
) -> Json:
    """Scenes where the perceptual hashes of two frames differ in more than a part of their bits."""
    from appdb.media.scenes import by_hash

    return by_hash(self, fps, threshold, size, lowpass, min_scene_len)
