"""Images and text over the frames of a video."""

from dataclasses import dataclass

from appdb.media.films import filtered
from appdb.media.streams import MAX_FRAME_PIXELS, Facts

MAX_TEXT = 10_000
MAX_FONT_SIZE = 2_000
_ACROSS = {"left": "{margin}", "center": "(W-w)/2+{margin}", "right": "W-w-{margin}"}
_DOWN = {"top": "{margin}", "center": "(H-h)/2+{margin}", "bottom": "H-h-{margin}"}


@dataclass(frozen=True, slots=True)
class Place:
    """Where and when an overlay is seen."""

    across: str
    across_margin: int
    down: str
    down_margin: int
    start: float | None
    end: float | None

    def filter(self):
        """The options of FFmpeg's overlay. Raises ValueError for names that it does not know."""
        if self.across not in _ACROSS or self.down not in _DOWN:
            raise ValueError(
                f"an overlay takes horizontal_align {', '.join(_ACROSS)} and vertical_align {', '.join(_DOWN)}, "
                f"not {self.across[:40]!r} and {self.down[:40]!r}"
            )
        start = 0.0 if self.start is None else self.start
        if start < 0 or (self.end is not None and not self.end > start):
            raise ValueError(f"an overlay begins at 0 or later and ends after that, not {start} to {self.end}")
        x = _ACROSS[self.across].format(margin=self.across_margin)
        y = _DOWN[self.down].format(margin=self.down_margin)
        until = "" if self.end is None else f"*lt(t,{self.end})"
        return f"x='{x}':y='{y}':enable='gte(t,{start}){until}'"


def with_image(path, image, place, scale, opacity, encoder, args):
    """The video with an image over it."""
    if not 0 <= opacity <= 1:
        raise ValueError(f"an overlay takes an opacity from 0 to 1, not {opacity}")
    options = place.filter()
    drawn = image.convert("RGBA")
    if scale is not None:
        drawn = _scaled(drawn, scale, Facts(path).height)
    if opacity < 1:
        drawn.putalpha(drawn.getchannel("A").point(lambda value: round(value * opacity)))
    return filtered(path, f"[in][in1]overlay={options}", encoder, args, overlays=[_frame_of(drawn)])


def _frame_of(image):
    """A frame with the image's transparency, which PyAV's own conversion drops."""
    import av

    frame = av.VideoFrame(image.width, image.height, "rgba")
    plane = frame.planes[0]
    rest, wide, pixels = bytes(plane.line_size - 4 * image.width), 4 * image.width, image.tobytes()
    plane.update(b"".join(pixels[at : at + wide] + rest for at in range(0, len(pixels), wide)))
    return frame


def _scaled(image, scale, height):
    if not 0 < scale <= 4:
        raise ValueError(f"overlay_image takes a scale above 0 and up to 4, not {scale}")
    tall = max(1, round(height * scale))
    wide = max(1, round(image.width * tall / image.height))
    if wide * tall > MAX_FRAME_PIXELS:
        raise ValueError(f"overlay_image would make {wide}x{tall} pixels; at most {MAX_FRAME_PIXELS} are allowed")
    return image.resize((wide, tall))


def text_image(text, style, ink, box):
    """Draws text on a transparent image of its size. `box`: color, opacity and border of a background, or False."""
    from PIL import Image, ImageDraw

    font, size, spacing = style
    if len(text) > MAX_TEXT:
        raise ValueError(f"overlay_text takes at most {MAX_TEXT} characters, not {len(text)}")
    loaded = _font(font, size)
    fill = _shade(*ink)
    measured = ImageDraw.Draw(Image.new("L", (1, 1)))
    left, top, right, bottom = measured.multiline_textbbox((0, 0), text, loaded, spacing=spacing)
    above, beside, below, before = _borders(box[2]) if box else (0, 0, 0, 0)
    width, height = int(right - left) + beside + before + 1, int(bottom - top) + above + below + 1
    if width * height > MAX_FRAME_PIXELS:
        raise ValueError(f"the text would be {width}x{height} pixels; at most {MAX_FRAME_PIXELS} are allowed")
    back = _shade(box[0], box[1]) if box else (*fill[:3], 0)
    image = Image.new("RGBA", (max(1, width), max(1, height)), back)
    drawn = Image.new("RGBA", image.size, (*fill[:3], 0))
    ImageDraw.Draw(drawn).multiline_text((before - left, above - top), text, fill, loaded, spacing=spacing)
    return Image.alpha_composite(image, drawn)


def _font(name, size):
    from PIL import ImageFont

    if not 1 <= size <= MAX_FONT_SIZE:
        raise ValueError(f"overlay_text takes a font_size from 1 to {MAX_FONT_SIZE}, not {size}")
    if name is None:
        return ImageFont.load_default(size)
    try:
        return ImageFont.truetype(name, size)
    except (OSError, ValueError):
        raise ValueError(f"there is no font {name[:80]!r} in the environment") from None


def _shade(color, opacity):
    from PIL import ImageColor

    if not 0 <= opacity <= 1:
        raise ValueError(f"overlay_text takes opacities from 0 to 1, not {opacity}")
    *shade, alpha = ImageColor.getcolor(color, "RGBA")
    return (*shade, round(alpha * opacity))


def _borders(border):
    """Pixels above, on the right, below and on the left."""
    given = [0] if border is None else border
    if (
        type(given) is not list
        or not 1 <= len(given) <= 4
        or not all(type(one) is int and 0 <= one <= 10_000 for one in given)
    ):
        raise ValueError(f"overlay_text takes a box_border of one to four numbers of pixels, not {str(border)[:80]}")
    above = given[0]
    beside = given[1] if len(given) > 1 else above
    return (above, beside, given[2] if len(given) > 2 else above, given[3] if len(given) > 3 else beside)
