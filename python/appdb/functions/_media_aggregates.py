"""Aggregates of media and of detections: one image, video or score of many rows, in a query.

Rows come in no known order, so those for which it matters are sorted by an order key: a number, text, time or date.
"""

import os

from appdb.kinds._media import scratch_place
from appdb.kinds.image import Image
from appdb.kinds.json import Json
from appdb.kinds.video import Video
from appdb.udfs.uda import Aggregator, uda

MAX_PARTS = 100_000
_KEYS = "numbers, texts, times or dates"
_LOSSLESS = {
    **dict.fromkeys(("1", "L", "LA", "P", "RGB", "RGBA", "I;16"), "PNG"),
    **dict.fromkeys(("F", "I", "LAB", "CMYK", "PA"), "TIFF"),
}


class _Parts:
    """The values of a group by their order keys, in files where they are large."""

    def __init__(self, function):
        self._function = function
        self._parts = []

    def add(self, key, part):
        if type(key) not in (int, float, str):
            raise ValueError(f"{self._function} takes order keys that are {_KEYS}, not {str(key)[:80]!r}")
        if len(self._parts) >= MAX_PARTS:
            raise ValueError(f"{self._function} takes at most {MAX_PARTS} rows in a group")
        self._parts.append((key, len(self._parts), part))

    def in_order(self):
        """The values by key; equal keys as they came."""
        if len({type(key) is str for key, *_ in self._parts}) > 1:
            raise ValueError(f"{self._function} takes order keys of one type, not numbers and texts")
        return [part for *_, part in sorted(self._parts, key=lambda one: one[:2])]


class _Images(_Parts):
    """Images, each in a file of a folder that is removed at the end."""

    def __init__(self, function):
        from tempfile import TemporaryDirectory

        super().__init__(function)
        self._folder = TemporaryDirectory(**scratch_place())

    def add_image(self, key, image, *known):
        if image.mode not in _LOSSLESS:
            raise ValueError(f"{self._function} does not take images of mode {image.mode}; convert them first")
        path = os.path.join(self._folder.name, str(len(self._parts)))
        self.add(key, (path, *known))
        image.save(path, _LOSSLESS[image.mode], compress_level=1)

    def images(self):
        """Yields (image, what is known of it)."""
        from PIL import Image

        for path, *known in self.in_order():
            with Image.open(path) as image:
                image.load()
                yield image, *known

    def __len__(self):
        return len(self._parts)

    def close(self):
        self._folder.cleanup()


@uda
class stitch_tiles(Aggregator):
    """The image of `width` x `height` pixels that tiles make, each pasted at its box [left, top, right, bottom]."""

    needs = ("pillow",)

    def __init__(self):
        self._tiles = _Images("stitch_tiles")
        self._size = None

    def update(self, order_key: Json, tile: Image, tile_box: Json, width: int, height: int):
        from appdb.media.pixels import checked_size, shown

        size = checked_size("stitch_tiles", [width, height])
        if self._size not in (None, size):
            raise ValueError(f"stitch_tiles takes tiles of one image, not of {self._size} and {size} pixels")
        self._size = size
        is_box = type(tile_box) is list and len(tile_box) == 4 and all(type(one) is int for one in tile_box)
        if not is_box or (tile_box[2] - tile_box[0], tile_box[3] - tile_box[1]) != tile.size:
            raise ValueError(
                f"stitch_tiles takes the box of a tile of {tile.width}x{tile.height}, not {shown(tile_box)}"
            )
        self._tiles.add_image(order_key, tile, tuple(tile_box[:2]))

    def value(self) -> Image | None:
        from PIL import Image

        made = None
        for tile, corner in self._tiles.images():
            if made is None:
                made = Image.new(tile.mode, self._size)
                if tile.mode == "P":
                    made.putpalette(tile.getpalette())
            if tile.mode != made.mode:
                raise ValueError(f"stitch_tiles takes tiles of one mode, not {made.mode} and {tile.mode}")
            made.paste(tile, corner)
        self._tiles.close()
        return made


@uda
class make_video(Aggregator):
    """A video of images of one size, with `fps` of them in a second."""

    needs = ("pillow", "av")

    def __init__(self, fps: int = 25):
        from appdb.media.films import checked_rate

        self._rate = checked_rate("make_video", fps)
        self._frames = _Images("make_video")

    def update(self, order_key: Json, frame: Image):
        self._frames.add_image(order_key, frame.convert("RGB"))

    def value(self) -> Video | None:
        from appdb.media.films import of_images

        path = of_images((image for (image,) in self._frames.images()), self._rate) if len(self._frames) else None
        self._frames.close()
        return path


@uda
class concat_videos_agg(Aggregator):
    """The videos one after the other, in the size of the first."""

    needs = ("av",)

    def __init__(self, video_encoder: str | None = None, video_encoder_args: Json | None = None):
        self._options = (video_encoder, video_encoder_args)
        self._videos = _Parts("concat_videos_agg")

    def update(self, order_key: Json, video: Video):
        self._videos.add(order_key, video)

    def value(self) -> Video | None:
        from appdb.media.joins import concatenated

        videos = self._videos.in_order()
        return concatenated(videos, *self._options) if videos else None


@uda
class mean_ap(Aggregator):
    """The average precision of each category, from results of `eval_detections`: `{"<category>": ...}`."""

    def __init__(self):
        self._found = {}

    def update(self, eval_dicts: Json):
        from appdb.media.detections import checked_evaluations

        for one in checked_evaluations(eval_dicts):
            scores, hits, total = self._found.setdefault(one["category"], ([], [], [0]))
            scores += one["scores"]
            hits += one["tp"]
            total[0] += one["num_gts"]

    def value(self) -> Json:
        from appdb.media.detections import average_precision

        return {str(name): average_precision(*found) for name, found in sorted(self._found.items(), key=str)}
