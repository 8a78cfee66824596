"""Aggregates of media and of detections: one image, video or score of many rows, in a query.

Those that sort their rows take them one by one in that order, and keep no more than the result needs.
"""

from appdb.kinds.image import Image
from appdb.kinds.json import Json
from appdb.kinds.video import Video
from appdb.udfs.uda import Aggregator, uda

MAX_VIDEOS = 10_000


@uda(requires_order_by=True)
class stitch_tiles(Aggregator):
    """The image of `width` x `height` pixels that tiles make, each pasted at its box [left, top, right, bottom]."""

    needs = ("pillow",)

    def __init__(self):
        self._made = self._palette = None

    def update(self, tile: Image, tile_box: Json, width: int, height: int):
        from appdb.media.pixels import checked_size, shown

        size = checked_size("stitch_tiles", [width, height])
        is_box = type(tile_box) is list and len(tile_box) == 4 and all(type(one) is int for one in tile_box)
        if not is_box or (tile_box[2] - tile_box[0], tile_box[3] - tile_box[1]) != tile.size:
            raise ValueError(
                f"stitch_tiles takes the box of a tile of {tile.width}x{tile.height}, not {shown(tile_box)}"
            )
        if self._made is None:
            self._begin(tile, size)
        if self._made.size != size:
            raise ValueError(f"stitch_tiles takes tiles of one image, not of {self._made.size} and {size} pixels")
        if tile.mode != self._made.mode:
            raise ValueError(f"stitch_tiles takes tiles of one mode, not {self._made.mode} and {tile.mode}")
        if tile.getpalette() != self._palette:
            raise ValueError("stitch_tiles takes tiles with one palette; convert them to RGB")
        self._made.paste(tile, tuple(tile_box[:2]))

    def _begin(self, tile, size):
        from PIL import Image

        self._made, self._palette = Image.new(tile.mode, size), tile.getpalette()
        if self._palette is not None:
            self._made.putpalette(self._palette)

    def value(self) -> Image | None:
        return self._made


@uda(requires_order_by=True)
class make_video(Aggregator):
    """A video of images of one size, with `fps` of them in a second."""

    needs = ("pillow", "av")

    def __init__(self, fps: int = 25):
        from appdb.media.films import checked_rate
        from appdb.media.writing import GrowingVideo

        self._rate = checked_rate("make_video", fps)
        self._video, self._count = GrowingVideo(self._rate), 0

    def update(self, frame: Image):
        import av

        from appdb.media.streams import at_time, exact

        self._video.add(at_time(av.VideoFrame.from_image(frame.convert("RGB")), exact(self._count / self._rate)))
        self._count += 1

    def value(self) -> Video | None:
        return self._video.end()


@uda(requires_order_by=True)
class concat_videos_agg(Aggregator):
    """The videos one after the other, in the size of the first."""

    needs = ("av",)

    def __init__(self, video_encoder: str | None = None, video_encoder_args: Json | None = None):
        self._options = (video_encoder, video_encoder_args)
        self._videos = []

    def update(self, video: Video):
        if len(self._videos) >= MAX_VIDEOS:
            raise ValueError(f"concat_videos_agg takes at most {MAX_VIDEOS} videos in a group")
        self._videos.append(video)

    def value(self) -> Video | None:
        from appdb.media.joins import concatenated

        return concatenated(self._videos, *self._options) if self._videos else None


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
