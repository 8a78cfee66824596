"""Scores of the differences between frames, and the scenes that they make."""

from dataclasses import dataclass
from itertools import groupby

from appdb.media.streams import begin_of, exact, pictures, rate_of, video_stream
from appdb.media.streams import duration as length_of
from appdb.kinds._av import opened

_SMALL = "scale='min(iw,256)':-2:flags=area,format=rgb24"
_HUE_RANGE = 180  # Thresholds are for hues in steps of two degrees.


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each part of a difference counts."""

    hue: float
    saturation: float
    brightness: float
    edges: float
    is_brightness_only: bool
    kernel: int | None

    def of_parts(self):
        """The weights of hue, saturation, brightness and edges. Raises ValueError if none counts."""
        parts = (self.hue, self.saturation, self.brightness, self.edges)
        parts = (0.0, 0.0, 1.0, 0.0) if self.is_brightness_only else parts
        if not all(one >= 0 for one in parts) or not sum(parts) > 0:
            raise ValueError(f"scene detection takes weights of at least 0, one of them above it, not {parts}")
        if self.kernel is not None and (self.kernel < 3 or self.kernel > 99 or self.kernel % 2 == 0):
            raise ValueError(f"scene detection takes an odd kernel_size from 3 to 99, not {self.kernel}")
        return parts


def by_content(path, fps, threshold, least, weights, mode):
    if mode not in ("merge", "suppress"):
        raise ValueError(f"scene detection takes the filter_mode 'merge' or 'suppress', not {mode[:40]!r}")
    times, scores = _content_scores(path, fps, weights)
    cuts = [place for place, score in enumerate(scores) if score >= threshold]
    return _scenes(path, times, (_merged if mode == "merge" else _spaced)(cuts, _checked_length(least)))


def by_ratio(path, fps, threshold, least, width, minimum, weights):
    if not 1 <= width <= 1_000:
        raise ValueError(f"scene detection takes a window_width from 1 to 1000, not {width}")
    times, scores = _content_scores(path, fps, weights)
    cuts = []
    for place in range(width, len(scores) - width):
        around = scores[place - width : place] + scores[place + 1 : place + width + 1]
        mean = sum(around) / len(around)
        ratio = scores[place] / mean if mean > 1e-5 else 255.0
        if ratio >= threshold and scores[place] >= minimum:
            cuts.append(place)
    return _scenes(path, times, _spaced(cuts, _checked_length(least)))


def by_fades(path, fps, threshold, least, bias, ends_scene, method):
    if method not in ("floor", "ceiling"):
        raise ValueError(f"scene detection takes the method 'floor' or 'ceiling', not {method[:40]!r}")
    if not -1 <= bias <= 1:
        raise ValueError(f"scene detection takes a fade_bias from -1 to 1, not {bias}")
    times, cuts, faded_at, was_faded = [], [], None, None
    for place, (time, frame) in enumerate(_frames(path, _SMALL, fps)):
        times.append(time)
        level = float(frame.mean())
        is_faded = level < threshold if method == "floor" else level >= threshold
        if was_faded is False and is_faded:
            faded_at = place
        elif was_faded and not is_faded and faded_at is not None:
            cuts.append(int((place + faded_at + bias * (place - faded_at)) / 2))
        was_faded = is_faded
    if ends_scene and was_faded and faded_at is not None:
        cuts.append(faded_at)
    return _scenes(path, times, _spaced(cuts, _checked_length(least)))


def by_histogram(path, fps, threshold, bins, least):
    import numpy

    if not 2 <= bins <= 256 or not 0 <= threshold <= 1:
        raise ValueError(
            f"scene detection takes bins from 2 to 256 and a threshold from 0 to 1, not {bins} and {threshold}"
        )

    def histogram(frame):
        counts, _ = numpy.histogram(frame, bins, (0, 256))
        return counts - counts.mean()

    def correlation(one, other):
        size = numpy.sqrt((one**2).sum() * (other**2).sum())
        return float((one * other).sum() / size) if size > 0 else 1.0

    return _by_pairs(
        path, fps, "format=gray", histogram, lambda one, other: correlation(one, other) <= 1 - threshold, least
    )


def by_hash(path, fps, threshold, size, lowpass, least):
    import numpy

    if not 2 <= size <= 64 or not 1 <= lowpass <= 16 or not 0 <= threshold <= 1:
        raise ValueError(
            "scene detection takes a size from 2 to 64, a lowpass from 1 to 16 and a threshold from 0 to 1, "
            f"not {size}, {lowpass} and {threshold}"
        )
    side = size * lowpass
    place = numpy.arange(side)
    cosines = numpy.cos(numpy.pi * (2 * place[None, :] + 1) * place[:size, None] / (2 * side))

    def hashed(frame):
        pixels = frame.astype(numpy.float32) / max(1.0, float(frame.max()))
        low = cosines @ pixels @ cosines.T  # The low frequencies of a cosine transform.
        return low > numpy.median(low)

    def is_cut(one, other):
        return float((one != other).mean()) >= threshold

    return _by_pairs(path, fps, f"scale={side}:{side}:flags=area,format=gray", hashed, is_cut, least)


def _by_pairs(path, fps, filters, of_frame, is_cut, least):
    """Scenes whose first frame differs from the one before."""
    times, cuts, last = [], [], None
    for place, (time, frame) in enumerate(_frames(path, filters, fps)):
        times.append(time)
        found = of_frame(frame)
        if last is not None and is_cut(last, found):
            cuts.append(place)
        last = found
    return _scenes(path, times, _spaced(cuts, _checked_length(least)))


def _content_scores(path, fps, weights):
    """The times of the frames, and the difference of each to the one before."""
    import numpy

    parts, last, times, scores = weights.of_parts(), None, [], []
    for time, frame in _frames(path, _SMALL, fps):
        found = _hue_and_more(numpy, frame)
        if parts[3] > 0:
            found.append(_edges(numpy, found[2], weights.kernel))
        changes = [0.0] * 4 if last is None else [float(abs(one - other).mean()) for one, other in zip(found, last)]
        scores.append(sum(weight * change for weight, change in zip(parts, changes)) / sum(parts))
        times.append(time)
        last = found
    return times, scores


def _hue_and_more(numpy, frame):
    """Hue (0 to 180), saturation and brightness (0 to 255) of an image in red, green and blue."""
    red, green, blue = (numpy.ascontiguousarray(frame[..., band], numpy.float32) for band in range(3))
    most = numpy.maximum(numpy.maximum(red, green), blue)
    span = most - numpy.minimum(numpy.minimum(red, green), blue)
    whole = numpy.where(span == 0, 1, span)
    sextant = numpy.where(
        most == red,
        (green - blue) / whole + numpy.float32(6) * (green < blue),
        numpy.where(most == green, (blue - red) / whole + 2, (red - green) / whole + 4),
    )
    hue = numpy.where(span == 0, 0, sextant) * numpy.float32(_HUE_RANGE / 6)
    return [hue, numpy.where(most == 0, 0, span * 255 / numpy.where(most == 0, 1, most)), most]


def _edges(numpy, brightness, kernel):
    """255 near strong gradients, 0 elsewhere."""
    across, down = numpy.gradient(brightness)
    slope = numpy.hypot(across, down)
    strong = slope > max(8.0, 2 * float(slope.mean()))
    reach = (kernel or 4 + round(max(brightness.shape) / 192) // 2 * 2 + 1) // 2
    for axis in (0, 1):
        grown = strong.copy()
        for step in range(1, reach + 1):
            grown |= numpy.roll(strong, step, axis) | numpy.roll(strong, -step, axis)
        strong = grown
    return strong.astype(numpy.float32) * 255


def _frames(path, filters, fps):
    """Yields (time, pixels) of frames, at most `fps` of them in a second."""
    if fps is not None and not fps > 0:
        raise ValueError(f"scene detection takes fps above 0, not {fps}")
    due = 0.0
    for frame in pictures(path, filters):
        if fps is None or frame.time >= due - 1e-6:
            due += 0 if fps is None else 1 / fps
            yield frame.pts * frame.time_base, frame.to_ndarray()


def _checked_length(least):
    if least < 0:
        raise ValueError(f"scene detection takes a min_scene_len of at least 0 frames, not {least}")
    return least


def _spaced(cuts, least):
    """Cuts without those that come too soon after another, or after the beginning."""
    kept, last = [], 0
    for cut in cuts:
        if cut - last >= least and cut > 0:
            kept.append(cut)
            last = cut
    return kept


def _merged(cuts, least):
    """Of cuts in quick succession the first, and the last if they continue for the length of a scene."""
    series = [[0]]
    for cut in cuts:
        if cut - series[-1][-1] < least:
            series[-1].append(cut)
        else:
            series.append([cut])
    kept = [cut for one in series for cut, _ in groupby([one[0], one[-1] if one[-1] - one[0] >= least else one[0]])]
    return [cut for cut in kept if cut > 0]


def _scenes(path, times, cuts):
    if not times:
        raise ValueError("the video has no frames")
    with opened(path) as container:
        stream = video_stream(container)
        origin, base, last = begin_of(container), stream.time_base, times[-1] + 1 / rate_of(stream)
    length = length_of(path)
    end = last if length is None else max(exact(length), times[-1])
    starts = [times[0], *(times[cut] for cut in cuts)]
    return [
        {"start_time": float(start), "start_pts": round((start + origin) / base), "duration": float(stop - start)}
        for start, stop in zip(starts, [*starts[1:], end])
    ]
