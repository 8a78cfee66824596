"""What the functions of images check and share: sizes, boxes, modes, files of an image."""

from appdb.kinds.image import MAX_PIXELS

_RESAMPLING = range(6)
_DEEP = {"1": 1, "I;16": 16, "I": 32, "F": 32}


def checked_size(function, size):
    """(width, height) as positive ints whose image is within the limit of pixels."""
    if type(size) not in (list, tuple) or len(size) != 2 or not all(type(side) is int and side > 0 for side in size):
        raise ValueError(f"{function} takes a size of [width, height] in pixels, both at least 1, not {shown(size)}")
    check_pixels(function, *size)
    return tuple(size)


def check_pixels(function, width, height):
    """Raises ValueError for images beyond the limit of pixels."""
    if width * height > MAX_PIXELS:
        raise ValueError(f"{function} would make {width}x{height} pixels; at most {MAX_PIXELS} are allowed")


def checked_box(function, box, image):
    """(left, top, right, bottom) as ints inside the image."""
    if type(box) not in (list, tuple) or len(box) != 4 or not all(type(side) is int for side in box):
        raise ValueError(f"{function} takes a box of [left, top, right, bottom] in pixels, not {shown(box)}")
    left, top, right, bottom = box
    if not (0 <= left < right <= image.width and 0 <= top < bottom <= image.height):
        raise ValueError(f"the box {list(box)} is empty or not inside the image of {image.width}x{image.height}")
    return tuple(box)


def checked_point(function, xy, image):
    """(x, y) as ints inside the image."""
    if type(xy) not in (list, tuple) or len(xy) != 2 or not all(type(side) is int for side in xy):
        raise ValueError(f"{function} takes [x, y] in pixels, not {shown(xy)}")
    if not (0 <= xy[0] < image.width and 0 <= xy[1] < image.height):
        raise ValueError(f"the pixel {list(xy)} is not inside the image of {image.width}x{image.height}")
    return tuple(xy)


def checked_filter(function, resample):
    """A filter of Pillow by its number."""
    if resample not in _RESAMPLING:
        raise ValueError(
            f"{function} takes resample 0 nearest, 1 Lanczos, 2 bilinear, 3 bicubic, 4 box or 5 Hamming, not {resample}"
        )
    return resample


def checked_mask(function, mask, image):
    """A mask of the image's size and of mode 1 or L; None where there is none."""
    if mask is None:
        return None
    same_size(function, image, mask)
    if mask.mode not in ("1", "L"):
        raise ValueError(f"{function} takes a mask of mode 1 or L, not {mask.mode}")
    return mask


def checked_extrema(function, extrema):
    """(least, greatest) as numbers; None where there are none."""
    if extrema is None:
        return None
    if type(extrema) is not list or len(extrema) != 2 or not all(type(one) in (int, float) for one in extrema):
        raise ValueError(f"{function} takes extrema of [least, greatest], not {shown(extrema)}")
    return tuple(extrema)


def same_size(function, *images):
    """Raises ValueError unless all images have one size."""
    if any(image.size != images[0].size for image in images):
        sizes = ", ".join(f"{image.width}x{image.height}" for image in images)
        raise ValueError(f"{function} takes images of one size, not {sizes}; resize them first")


def same_mode(function, *images):
    """Raises ValueError unless all images have one mode."""
    if any(image.mode != images[0].mode for image in images):
        modes = ", ".join(image.mode for image in images)
        raise ValueError(f"{function} takes images of one mode, not {modes}; convert them first")


def refuse_mode(function, image, modes):
    """Raises ValueError for images whose mode Pillow has no such function for."""
    if image.mode in modes:
        raise ValueError(f"{function} does not take images of mode {image.mode}; convert them first, for example to L")


def converted(image, mode):
    """The image in another mode. Where 16 bits become 8, values are divided by 256 instead of cut at 255."""
    check_mode(mode)
    if image.mode.startswith("I;16") and mode not in ("I", "F") and not mode.startswith("I;16"):
        image = image.convert("I").point(lambda value: value * (1 / 256)).convert("L")
    return image.convert(mode)


def check_mode(mode):
    """Raises ValueError for a mode that Pillow does not know."""
    from PIL import Image

    if mode not in Image.MODES and mode not in ("LAB", "HSV", "RGBa", "La", "PA"):
        raise ValueError(f"convert: there is no mode {mode!r}; the modes are {', '.join(Image.MODES)}")


def file_of(image, image_format):
    """The bytes of a file of the format."""
    from io import BytesIO

    from PIL import Image

    Image.init()
    if image_format.upper() not in Image.SAVE:
        known = ", ".join(sorted(name.lower() for name in Image.SAVE))
        raise ValueError(f"there is no image format {image_format[:40]!r}; the formats are {known}")
    file = BytesIO()
    try:
        image.save(file, image_format)
    except OSError as error:
        reason = f"a file of the format {image_format} cannot hold the image of mode {image.mode} ({error})"
        raise ValueError(f"{reason}; convert it first, for example to RGB") from None
    return file.getvalue()


def bits_of(mode):
    """Bits of each value of a pixel."""
    return _DEEP.get(mode, 8)


def shown(value):
    """A wrong argument in a message."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
