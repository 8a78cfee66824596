# Made by `npm run docs` from the code it describes; a test compares the two.
"""Functions of images, each but `read_tile` also a method or, for size and mode, a property: `picture.resize((256, 256))`."""

from typing import Any

from appdb import Expr, Float, Image, Int, Json, String, Video

Text = Expr | str | None
Whole = Expr | int | None
Number = Expr | float | None
Truth = Expr | bool | None

FUNCTIONS: dict[str, Any]

def width(self: Any, /) -> Int: ...
def height(self: Any, /) -> Int: ...

def size(self: Any, /) -> Json:
    """`[width, height]` in pixels."""

def mode(self: Any, /) -> String:
    """Pillow's name of the form of the pixels: RGB, RGBA, L (grey), and others."""

def resize(self: Any, /, size: Any) -> Image:
    """The image stretched to `size`, (width, height)."""

def rotate(self: Any, /, angle: Whole) -> Image:
    """The image turned counter-clockwise by degrees, cut to its own size; empty corners are black."""

def thumbnail(self: Any, /, size: Any, resample: Whole = 1, reducing_gap: Number = 2.0) -> Image:
    """The image reduced until it fits into `size`, with its proportions. A smaller image stays as it is."""

def crop(self: Any, /, box: Any) -> Image:
    """The part of the image in `box`, [left, top, right, bottom]."""

def convert(self: Any, /, mode: Text) -> Image:
    """The image in another mode: `picture.convert("L")` is grey. 16 bits become 8 by division."""

def transpose(self: Any, /, method: Whole) -> Image:
    """The image flipped (0 left to right, 1 top to bottom, 5 and 6 diagonally) or turned by 90, 180, 270 degrees (2 to 4)."""

def reduce(self: Any, /, factor: Whole, box: Any = None) -> Image:
    """The image, or the part in `box`, made smaller by a whole factor: each square of pixels becomes their mean."""

def effect_spread(self: Any, /, distance: Whole) -> Image:
    """The image with each pixel moved at random by at most `distance`."""

def getchannel(self: Any, /, channel: Whole) -> Image:
    """One band of the image, by its number from 0, as a grey image."""

def point(self: Any, /, lut: Any, mode: Text = None) -> Image:
    """The image with each value replaced by that at its place in a list: 256 numbers for each band."""

def quantize(
    self: Any,
    /,
    colors: Whole = 256,
    method: Whole = None,
    kmeans: Whole = 0,
    palette: Any = None,
    dither: Whole = 3,
) -> Image:
    """The image of mode P, in at most `colors` colors or those of `palette`. The other numbers are Pillow's."""

def alpha_composite(self: Any, /, im: Any) -> Image:
    """The image with another one of the same size laid over it, of mode RGBA."""

def blend(self: Any, /, im: Any, alpha: Number) -> Image:
    """The image (`alpha` 0), another one of the same size and mode (1), or a mean of both."""

def composite(self: Any, /, image2: Any, mask: Any) -> Image:
    """The image where a mask of mode 1, L or RGBA is white, another one where it is black. All have the same size."""

def b64_encode(self: Any, /, image_format: Text = "png") -> String:
    """The image as a file of a format that Pillow writes, in base64."""

def get_metadata(self: Any, /) -> Json:
    """`{"width", "height", "mode", "bits", "format"}`; a computed image has no format of a file."""

def getbands(self: Any, /) -> Json:
    """The names of the bands."""

def getbbox(self: Any, /, *, alpha_only: Truth = True) -> Json:
    """The box around all that is not black, or not transparent; null for an image without any."""

def getcolors(self: Any, /, maxcolors: Whole = 256) -> Json:
    """`[number of pixels, color]` of each color; null for more than `maxcolors`."""

def getextrema(self: Any, /) -> Json:
    """`[least, greatest]` value of the pixels; a list of these if there are several bands."""

def getpalette(self: Any, /, mode: Text = None) -> Json:
    """The colors of an image of mode P, one value after the other; null for other images."""

def getpixel(self: Any, /, xy: Any) -> Json:
    """The values of the pixel at `xy`, [x, y] from the top left: one for each band."""

def getprojection(self: Any, /) -> Json:
    """For each column, then for each row, whether a pixel is not black: two lists of 0 and 1."""

def histogram(self: Any, /, mask: Any = None, extrema: Any = None) -> Json:
    """How many pixels have each value: 256 numbers for each band. A mask of mode 1 or L selects pixels."""

def entropy(self: Any, /, mask: Any = None, extrema: Any = None) -> Float:
    """The entropy of the pixels in bits: 0 for one color. A mask of mode 1 or L selects pixels."""

def to_video(
    self: Any,
    /,
    *,
    duration: Number,
    fps: Whole = 24,
    video_encoder: Text = None,
    video_encoder_args: Any = None,
) -> Video:
    """A video that shows the image for `duration` seconds."""

def read_tile(image: Any, tile_box: Any, /) -> Image:
    """The tile of an image that has a `tile_box` of tile_iterator; black outside of the image."""

def stitch_tiles(order_key: Any, /, tile: Any, tile_box: Any, width: Whole, height: Whole) -> Image:
    """The image of `width` x `height` pixels that tiles make, each pasted at its box [left, top, right, bottom]."""

def tile_iterator(image: Any, tile_size: Any, *, overlap: Any = None) -> Any:
    """The tiles of an image, [width, height] in pixels, from left to right and then from top to bottom.

    Each begins `overlap`, [width, height], before the end of the last. Tiles at the right and bottom are filled with
    black. Outputs are `tile`, which is cut when it is needed, `tile_coord` ([column, row], from 0) and `tile_box`
    ([left, top, right, bottom]).
    """
