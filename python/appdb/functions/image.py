"""Functions of images, each but `read_tile` also a method or, for size and mode, a property: `picture.resize((256, 256))`.

An image is a PIL.Image.Image. Functions give new images and leave theirs as they are. An image keeps its mode unless
its function says otherwise.
"""

from __future__ import annotations

from appdb.functions._builtin import Namespace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any as Image
    from typing import Any as Json
    from typing import Any as Video

_image = Namespace(
    "image",
    needs=("pillow",),
    constants=("video_encoder", "video_encoder_args"),
    aggregates=("stitch_tiles",),
    iterators=("tile_iterator",),
)
function, FUNCTIONS = _image.function, _image.functions
__getattr__ = _image.unknown

_HALVES = "RGB 4x2 #ff0000|#0000ff"  # For the examples: the left half is red, the right half blue.
_GREY = "L 4x2 10|200"


@function([(_HALVES, 4)], is_property=True)
def width(self: Image, /) -> int:
    return self.width


@function([(_HALVES, 2)], is_property=True)
def height(self: Image, /) -> int:
    return self.height


@function([(_HALVES, [4, 2])], is_property=True)
def size(self: Image, /) -> Json:
    """`[width, height]` in pixels."""
    return list(self.size)


@function([(_HALVES, "RGB"), (_GREY, "L")], is_property=True)
def mode(self: Image, /) -> str:
    """Pillow's name of the form of the pixels: RGB, RGBA, L (grey), and others."""
    return self.mode


@function(
    [("RGB 8x4 #0a0b0c", [4, 2], "RGB 4x2 #0a0b0c"), (_GREY, [0, 2], ValueError), (_GREY, [99999, 99999], ValueError)]
    + [(_GREY, [2.5, 2], ValueError)],
    result="resized",
)
def resize(self: Image, /, size: Json) -> Image:
    """The image stretched to `size`, (width, height)."""
    from appdb.media.pixels import checked_size

    return self.resize(checked_size("resize", size))


@function([(_HALVES, 180, "RGB 4x2 #0000ff|#ff0000"), ("L 2x2 7", 90, "L 2x2 7")], result="alike")
def rotate(self: Image, /, angle: int) -> Image:
    """The image turned counter-clockwise by degrees, cut to its own size; empty corners are black."""
    return self.rotate(angle)


@function(
    [("RGB 8x4 #0a0b0c", [4, 4], "RGB 4x2 #0a0b0c"), (_GREY, [100, 100], _GREY), (_GREY, [4, 4], 9, ValueError)]
    + [(_GREY, [-1, 4], ValueError), ("I;16 300x200 40000", [64, 64], "I;16 64x43 40000")],
    result="reduced",
)
def thumbnail(self: Image, /, size: Json, resample: int = 1, reducing_gap: float | None = 2.0) -> Image:
    """The image reduced until it fits into `size`, with its proportions. A smaller image stays as it is."""
    from appdb.media.pixels import checked_filter, checked_size

    self.load()
    reduced = self._new(self.im)  # It shares the pixels until Pillow replaces them, which saves the memory of a copy.
    gap = None if self.mode.startswith("I;16") else reducing_gap  # Pillow cannot reduce 16 bits.
    reduced.thumbnail(checked_size("thumbnail", size), checked_filter("thumbnail", resample), gap)
    return self.copy() if reduced.im is self.im else reduced


@function(
    [
        (_HALVES, [2, 0, 4, 2], "RGB 2x2 #0000ff"),
        (_HALVES, [0, 0, 5, 2], ValueError),
        (_HALVES, [2, 0, 2, 2], ValueError),
    ]
    + [(_HALVES, [0, 0, 2], ValueError)],
    result="cropped",
)
def crop(self: Image, /, box: Json) -> Image:
    """The part of the image in `box`, [left, top, right, bottom]."""
    from appdb.media.pixels import checked_box

    return self.crop(checked_box("crop", box, self))


@function(
    [("RGB 2x2 #ffffff", "L", "L 2x2 255"), ("L 2x2 255", "RGBA", "RGBA 2x2 #ffffffff"), (_GREY, "XYZ", ValueError)]
    + [("I;16 2x1 256|65535", "L", "L 2x1 1|255")],
    result="converted",
)
def convert(self: Image, /, mode: str) -> Image:
    """The image in another mode: `picture.convert("L")` is grey. 16 bits become 8 by division."""
    from appdb.media.pixels import converted

    return converted(self, mode)


@function(
    [(_HALVES, 0, "RGB 4x2 #0000ff|#ff0000"), ("L 4x2 7", 2, "L 2x4 7"), (_GREY, 7, ValueError)], result="of_same_mode"
)
def transpose(self: Image, /, method: int) -> Image:
    """The image flipped (0 left to right, 1 top to bottom, 5 and 6 diagonally) or turned by 90, 180, 270 degrees (2 to 4)."""
    if not 0 <= method <= 6:
        raise ValueError(f"transpose takes a method from 0 to 6, not {method}")
    return self.transpose(method)


@function(
    [("L 8x4 7", 2, "L 4x2 7"), ("L 8x4 7", 4, [0, 0, 4, 4], "L 1x1 7"), (_GREY, 0, ValueError)]
    + [("1 4x4 255", 2, ValueError)]
)
def reduce(self: Image, /, factor: int, box: Json | None = None) -> Image:
    """The image, or the part in `box`, made smaller by a whole factor: each square of pixels becomes their mean."""
    from appdb.media.pixels import checked_box, refuse_mode

    if factor < 1:
        raise ValueError(f"reduce takes a factor of at least 1, not {factor}")
    refuse_mode("reduce", self, ("1", "P", "I;16"))
    return self.reduce(factor, None if box is None else checked_box("reduce", box, self))


@function([(_HALVES, 0, _HALVES), (_HALVES, -1, ValueError)])
def effect_spread(self: Image, /, distance: int) -> Image:
    """The image with each pixel moved at random by at most `distance`."""
    if distance < 0:
        raise ValueError(f"effect_spread takes a distance of at least 0, not {distance}")
    return self.effect_spread(distance)


@function([(_HALVES, 2, "L 4x2 0|255"), (_HALVES, 3, ValueError)], result="grey")
def getchannel(self: Image, /, channel: int) -> Image:
    """One band of the image, by its number from 0, as a grey image."""
    bands = self.getbands()
    if not 0 <= channel < len(bands):
        raise ValueError(f"an image of mode {self.mode} has the channels 0 to {len(bands) - 1}, not {channel}")
    return self.getchannel(channel)


@function(
    [("L 2x1 0|9", list(range(255, -1, -1)), "L 2x1 255|246"), (_GREY, [1, 2], ValueError), (_GREY, {}, ValueError)]
)
def point(self: Image, /, lut: Json, mode: str | None = None) -> Image:
    """The image with each value replaced by that at its place in a list: 256 numbers for each band."""
    from appdb.media.pixels import refuse_mode

    refuse_mode("point", self, ("I", "F", "I;16"))
    wanted = 256 * len(self.getbands())
    if type(lut) is not list or len(lut) not in (256, wanted) or not all(type(one) is int for one in lut):
        raise ValueError(f"point takes a list of {wanted} whole numbers for an image of mode {self.mode}")
    return self.point(lut * (wanted // len(lut)), mode)


@function([(_HALVES, 2, "P 4x2 #ff0000|#0000ff"), (_HALVES, 0, ValueError), (_HALVES, 4, 9, ValueError)])
def quantize(
    self: Image,
    /,
    colors: int = 256,
    method: int | None = None,
    kmeans: int = 0,
    palette: Image | None = None,
    dither: int = 3,
) -> Image:
    """The image of mode P, in at most `colors` colors or those of `palette`. The other numbers are Pillow's."""
    if not 1 <= colors <= 256:
        raise ValueError(f"quantize takes 1 to 256 colors, not {colors}")
    if method is not None and not 0 <= method <= 3:
        raise ValueError(f"quantize takes a method from 0 to 3, not {method}")
    if kmeans < 0 or dither not in (0, 3):
        raise ValueError(f"quantize takes kmeans of at least 0 and dither 0 or 3, not {kmeans} and {dither}")
    return self.quantize(colors, method, kmeans, palette, dither)


@function(
    [
        ("RGBA 2x2 #ff0000ff", "RGBA 2x2 #0000ff00", "RGBA 2x2 #ff0000ff"),
        ("RGB 2x2 #ff0000", "L 2x2 9", "RGBA 2x2 #090909ff"),
    ]
    + [(_HALVES, "L 2x2 9", ValueError)]
)
def alpha_composite(self: Image, /, im: Image) -> Image:
    """The image with another one of the same size laid over it, of mode RGBA."""
    from PIL import Image

    from appdb.media.pixels import same_size

    same_size("alpha_composite", self, im)
    return Image.alpha_composite(self.convert("RGBA"), im.convert("RGBA"))


@function(
    [
        ("L 2x2 0", "L 2x2 200", 0.5, "L 2x2 100"),
        (_GREY, "L 2x2 0", 0.5, ValueError),
        ("L 2x2 0", "RGB 2x2 #000000", 0.5, ValueError),
    ],
    result="alike",
)
def blend(self: Image, /, im: Image, alpha: float) -> Image:
    """The image (`alpha` 0), another one of the same size and mode (1), or a mean of both."""
    from PIL import Image

    from appdb.media.pixels import same_mode, same_size

    same_size("blend", self, im)
    same_mode("blend", self, im)
    return Image.blend(self, im, alpha)


@function(
    [("L 2x1 7", "L 2x1 9", "L 2x1 255|0", "L 2x1 7|9"), ("L 2x1 7", "L 2x1 9", "RGB 2x1 #000000", ValueError)]
    + [("L 2x1 7", "L 2x1 9", "L 1x1 0", ValueError)],
    result="alike",
)
def composite(self: Image, /, image2: Image, mask: Image) -> Image:
    """The image where a mask of mode 1, L or RGBA is white, another one where it is black. All have the same size."""
    from PIL import Image

    from appdb.media.pixels import same_mode, same_size

    same_size("composite", self, image2, mask)
    same_mode("composite", self, image2)
    if mask.mode not in ("1", "L", "RGBA"):
        raise ValueError(f"composite takes a mask of mode 1, L or RGBA, not {mask.mode}")
    return Image.composite(self, image2, mask)


@function(
    [("1 1x1 0", "ppm", "UDQKMSAxCoA="), (_GREY, "nosuch", ValueError), ("RGBA 1x1 #00000000", "jpeg", ValueError)]
)
def b64_encode(self: Image, /, image_format: str = "png") -> str:
    """The image as a file of a format that Pillow writes, in base64."""
    from base64 import b64encode

    from appdb.media.pixels import file_of

    return b64encode(file_of(self, image_format)).decode("ascii")


@function([(_HALVES, {"width": 4, "height": 2, "mode": "RGB", "bits": 8, "format": "PNG"})])
def get_metadata(self: Image, /) -> Json:
    """`{"width", "height", "mode", "bits", "format"}`; a computed image has no format of a file."""
    from appdb.media.pixels import bits_of

    metadata = {"width": self.width, "height": self.height, "mode": self.mode}
    return {**metadata, "bits": bits_of(self.mode), "format": self.format}


@function([(_HALVES, ["R", "G", "B"]), (_GREY, ["L"])])
def getbands(self: Image, /) -> Json:
    """The names of the bands."""
    return list(self.getbands())


@function([(_GREY, [0, 0, 4, 2]), ("L 4x2 0|9", [2, 0, 4, 2]), ("L 4x2 0", None)])
def getbbox(self: Image, /, *, alpha_only: bool = True) -> Json | None:
    """The box around all that is not black, or not transparent; null for an image without any."""
    box = self.getbbox(alpha_only=alpha_only)
    return None if box is None else list(box)


@function(
    [(_GREY, [[4, 10], [4, 200]]), (_GREY, 1, None), ("RGB 2x2 #010203", [[4, [1, 2, 3]]]), (_GREY, 0, ValueError)]
)
def getcolors(self: Image, /, maxcolors: int = 256) -> Json | None:
    """`[number of pixels, color]` of each color; null for more than `maxcolors`."""
    from appdb.media.pixels import refuse_mode

    refuse_mode("getcolors", self, ("I;16",))
    if not 1 <= maxcolors <= 1 << 24:
        raise ValueError(f"getcolors takes maxcolors from 1 to {1 << 24}, not {maxcolors}")
    colors = self.getcolors(maxcolors)
    plain = None if colors is None else [[n, list(one) if type(one) is tuple else one] for n, one in colors]
    return plain


@function([(_GREY, [10, 200]), ("RGB 2x1 #000102|#030405", [[0, 3], [1, 4], [2, 5]])])
def getextrema(self: Image, /) -> Json:
    """`[least, greatest]` value of the pixels; a list of these if there are several bands."""
    extrema = self.getextrema()
    return [list(one) if type(one) is tuple else one for one in extrema]


@function(
    [(_GREY, None), ("P 2x1 #ff0000|#0000ff", "RGB", [255, 0, 0, 0, 0, 255]), ("P 1x1 #ff0000", "XYZ", ValueError)]
)
def getpalette(self: Image, /, mode: str | None = None) -> Json | None:
    """The colors of an image of mode P, one value after the other; null for other images."""
    return self.getpalette("RGB" if mode is None else mode)


@function(
    [(_HALVES, [3, 1], [0, 0, 255]), (_GREY, [0, 0], [10]), (_GREY, [4, 0], ValueError), (_GREY, [0], ValueError)]
)
def getpixel(self: Image, /, xy: Json) -> Json:
    """The values of the pixel at `xy`, [x, y] from the top left: one for each band."""
    from appdb.media.pixels import checked_point

    value = self.getpixel(checked_point("getpixel", xy, self))
    return list(value) if type(value) is tuple else [value]


@function([("L 2x2 0|9", [[0, 1], [1, 1]])])
def getprojection(self: Image, /) -> Json:
    """For each column, then for each row, whether a pixel is not black: two lists of 0 and 1."""
    across, down = self.getprojection()
    return [list(across), list(down)]


@function(
    [
        ("L 4x2 0|1", [4, 4] + [0] * 254),
        ("1 2x1 0", "1 2x1 255|0", [1] + [0] * 255),
        (_GREY, "RGB 4x2 #000000", ValueError),
    ]
)
def histogram(self: Image, /, mask: Image | None = None, extrema: Json | None = None) -> Json:
    """How many pixels have each value: 256 numbers for each band. A mask of mode 1 or L selects pixels."""
    from appdb.media.pixels import checked_extrema, checked_mask

    return self.histogram(checked_mask("histogram", mask, self), checked_extrema("histogram", extrema))


@function([("L 2x1 0|9", 1.0), ("L 2x1 7", 0.0), (_GREY, None, [1], ValueError)])
def entropy(self: Image, /, mask: Image | None = None, extrema: Json | None = None) -> float:
    """The entropy of the pixels in bits: 0 for one color. A mask of mode 1 or L selects pixels."""
    from appdb.media.pixels import checked_extrema, checked_mask

    # Pillow has no entropy of 0 without its sign.
    return self.entropy(checked_mask("entropy", mask, self), checked_extrema("entropy", extrema)) + 0.0


@function(
    [("RGB 64x48 #808080", 0.5, 10, "64x48 5@10"), ("RGB 64x48 #808080", 0.0, ValueError)]
    + [("RGB 64x48 #808080", 1.0, 0, ValueError), ("RGB 64x48 #808080", 1e9, ValueError), ("L 1x1 9", 1.0, ValueError)],
    needs=("av",),
)
def to_video(
    self: Image,
    /,
    *,
    duration: float,
    fps: int = 24,
    video_encoder: str | None = None,
    video_encoder_args: Json | None = None,
) -> Video:
    """A video that shows the image for `duration` seconds."""
    from appdb.media.films import of_image

    return of_image(self, duration, fps, video_encoder, video_encoder_args)


@function(
    [(_HALVES, [0, 0, 2, 2], "RGB 2x2 #ff0000"), (_GREY, [2, 0, 6, 2], "L 4x2 200|0")]
    + [(_GREY, [0, 0, 0, 2], ValueError), (_GREY, {}, ValueError)],
    is_method=False,
)
def read_tile(image: Image, tile_box: Json, /) -> Image:
    """The tile of an image that has a `tile_box` of tile_iterator; black outside of the image."""
    from appdb.iterators.tiles import tile_of

    return tile_of(image, tile_box)
