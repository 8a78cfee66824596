"""Image: pictures. Functions get and give PIL.Image.Image."""

from appdb.declare.errors import AppFileError
from appdb.kinds._base import ColumnType, parametrised
from appdb.kinds._media import Leaving, local_path, media_rules, path_encoder, scratch_file
from appdb.values import WrongType, type_name

MODES = ("1", "L", "P", "RGB", "RGBA", "CMYK", "YCbCr", "LAB", "HSV", "I", "F", "LA", "I;16")
# Pillow's own limit, beyond which it suspects a decompression bomb.
MAX_PIXELS = 89_478_485
_FORMATS = {
    **dict.fromkeys(("L", "RGB", "CMYK"), "jpeg"),
    **dict.fromkeys(("1", "LA", "P", "RGBA", "I;16"), "png"),
    **dict.fromkeys(("I", "F", "LAB", "PA"), "tiff"),
}
_JPEG_SIDE = 65_500
# Readers of other formats start programs (EPS), or hardly anyone uses them.
_READ = frozenset(
    "AVIF BMP DDS DIB GIF ICNS ICO JPEG JPEG2000 PCX PNG PPM PSD QOI SGI TGA TIFF WEBP XBM XPM".split()
)
_HEIC = (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1")
_ORIENTATION = 0x0112


class Image(ColumnType):
    kind = "image"
    needs = ("pillow",)

    def __class_getitem__(cls, item):
        """`Image[(224, 224)]`, `Image["RGB"]`, `Image[(None, 64), "L"]`."""
        parts = item if _has_mode(item) else (item,)
        type = {"kind": "image"}
        for part in parts:
            if isinstance(part, str) and "mode" not in type:
                type["mode"] = _checked_mode(part)
            elif isinstance(part, tuple) and "size" not in type:
                type["size"] = _checked_size(part)
            else:
                raise AppFileError(
                    f"Image[{part!r}] is neither a size nor a mode.", 'Write db.Image[(224, 224), "RGB"], or one of both.'
                )
        return parametrised(cls, type)


def _has_mode(item):
    return isinstance(item, tuple) and any(isinstance(part, (str, tuple)) for part in item)


def _checked_mode(mode):
    if mode not in MODES:
        near = [known for known in MODES if known.lower() == mode.lower()]
        hint = f"Did you mean '{near[0]}'?" if near else f"Use one of {', '.join(MODES)}."
        raise AppFileError(f"Image[{mode!r}]: there is no such mode.", hint)
    return mode


def _checked_size(size):
    valid = len(size) == 2 and all(side is None or (type(side) is int and side > 0) for side in size)
    if not valid:
        raise AppFileError(f"Image[{size!r}]: a size is width and height.", "Write db.Image[(640, 480)].")
    return list(size)


def _display(type):
    if "size" not in type and "mode" not in type:
        return "Image"
    parts = []
    if "size" in type:
        parts.append(f"({_sides(type['size'])})")
    if "mode" in type:
        parts.append(repr(type["mode"]))
    return f"Image[{', '.join(parts)}]"


def _sides(size):
    return ", ".join(map(str, size))


def open_image(path):
    """Opens an image as it is seen: turned as its camera says; of an animation, the first frame.

    Raises ValueError for files that are not images, broken or larger than MAX_PIXELS.
    """
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(path, formats=_readable(Image)) as image:
            if image.width * image.height > MAX_PIXELS:
                raise _too_large(f"{image.width}x{image.height} pixels")
            image.load()
            return _as_seen(image)
    except Image.DecompressionBombError:
        raise _too_large("more than twice the allowed pixels") from None
    except UnidentifiedImageError:
        raise ValueError(_why_unknown(path)) from None
    except Exception as error:  # Pillow's readers raise many classes for broken files.
        if isinstance(error, (ValueError, MemoryError)) or getattr(error, "errno", None) is not None:
            raise
        raise ValueError(f"the image is broken: {error}") from None


def _why_unknown(path):
    with open(path, "rb") as file:
        start = file.read(4096)
    is_heic = start[4:8] == b"ftyp" and start[8:12] in _HEIC
    if is_heic or b"<svg" in start.lower():
        return f"the file is {'HEIC' if is_heic else 'SVG'}, which is not supported; send PNG, JPEG or WebP"
    return "the file is not an image of a known format"


def _readable(pillow):
    if "XPM" not in pillow.OPEN:
        pillow.init()
    return [format for format in pillow.OPEN if format in _READ]


def _as_seen(image):
    """The image turned as its EXIF data say; as it is without readable ones."""
    from PIL import ImageOps

    try:
        if image.getexif().get(_ORIENTATION, 1) == 1:
            return image
        seen = ImageOps.exif_transpose(image)
    except Exception:  # Broken EXIF data: the pixels are whole.
        return image
    seen.format = image.format  # A copy has none.
    return seen


def _too_large(size):
    return ValueError(f"the image has {size}; at most {MAX_PIXELS} pixels are read")


def _decoder(type):
    # Functions may change an image in place, so each reader has its own.
    return lambda stored: stored.image.copy() if isinstance(stored, Made) else open_image(local_path(stored))


class Made(Leaving):
    """An image that a step has made: its file is written once, when the row's results leave the worker."""

    __slots__ = ("image",)

    def __init__(self, image):
        self.image = image

    def to_wire(self):
        """Writes the file; returns its path and what is known of it."""
        image = self.image
        kind = format_of(image)
        path = scratch_file(f".{kind}")
        image.save(path, kind)
        return {"path": path, "type": f"image/{kind}", **known_of(image)}


class CheckedImage(Made):
    """A given image that was decoded successfully."""

    __slots__ = ("path",)

    def __init__(self, image, path):
        super().__init__(image)
        self.path = path

    def to_wire(self):
        """The path of the file, which stays as it is, and what is known of it."""
        return {"path": self.path, "checked": known_of(self.image)}


def known_of(image):
    """The size and mode of an image as references have them."""
    return {"width": image.width, "height": image.height, "mode": image.mode}


def _check(type):
    """From a given file to its checked image."""
    fits = _fitting(type)

    def check(stored):
        path = local_path(stored)
        return CheckedImage(fits(open_image(path)), path)

    return check


def _fitting(type):
    """The function that returns an image, and raises ValueError for another size or mode than the column's."""
    size, mode = type.get("size"), type.get("mode")

    def fit(image):
        if mode is not None and image.mode != mode:
            raise ValueError(f"the column holds images of mode {mode}, this one has {image.mode}")
        if size is not None and any(side not in (None, found) for side, found in zip(size, image.size)):
            raise ValueError(f"the column holds images of size ({_sides(size)}), this one has ({_sides(image.size)})")
        return image

    return fit


def format_of(image):
    """The format of an image's file: one that holds the mode, and that browsers show if there is such a one."""
    kind = _FORMATS.get(image.mode)
    if kind is None:
        raise ValueError(f"an image of mode {image.mode} cannot be stored; convert it first, for example to RGB")
    return "png" if kind == "jpeg" and max(image.size) > _JPEG_SIDE and image.mode != "CMYK" else kind


def _encoder(type):
    """From a PIL.Image.Image, or the path of a file, to the stored form."""
    fits, from_path = _fitting({} if isinstance(type, str) else type), path_encoder("an image")

    def encode(value):
        from PIL.Image import Image as PilImage

        if isinstance(value, PilImage):
            return Made(fits(value))
        if isinstance(value, str) or hasattr(value, "__fspath__"):
            return from_path(value)
        raise WrongType(f"expected PIL.Image.Image or the path of an image, got {type_name(value)}")

    return encode


RULES = media_rules(
    python="PIL.Image.Image",
    hints=(("PIL.Image", "Image"),),
    display=_display,
    encoder=_encoder,
    decoder=_decoder,
    check=_check,
)
