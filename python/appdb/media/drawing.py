"""Boxes, labels and segments drawn on images."""

MAX_LABEL = 200
MAX_BORDER = 1_000


def with_boxes(image, boxes, labels, colors, alphas, is_filled, width, font, font_size):
    """The image with boxes and labels."""
    from PIL import Image, ImageDraw

    _check_boxes(boxes, labels, colors[1])
    for one in alphas:
        _check_share("bboxes_draw", one)
    if not 1 <= width <= MAX_BORDER:
        raise ValueError(f"bboxes_draw takes a width from 1 to {MAX_BORDER} pixels, not {width}")
    if not boxes:
        return image.copy()
    names = [None] * len(boxes) if labels is None else [str(label)[:MAX_LABEL] for label in labels]
    letters = _font(font, font_size) if labels is not None else None
    drawn = Image.new("RGBA", image.size, (0, 0, 0, 0))
    pen = ImageDraw.Draw(drawn)
    for number, (box, name) in enumerate(zip(boxes, names)):
        color = _color_of(colors, number, name)
        if is_filled:
            pen.rectangle(box, fill=_shade(color, alphas[1], 0.5))
        pen.rectangle(box, outline=_shade(color, alphas[0], 1.0), width=width)
        if name:
            _write(pen, box, name, letters, _shade(color, alphas[0], 1.0))
    whole = Image.alpha_composite(image.convert("RGBA"), drawn)
    return whole if image.mode in ("RGBA", "LA", "PA") else whole.convert("RGB")


def _check_boxes(boxes, labels, colors):
    from appdb.media.boxes import checked

    if type(boxes) is not list:
        raise ValueError(f"bboxes_draw takes a list of boxes, not {str(boxes)[:80]}")
    for box in boxes:
        left, top, right, bottom = checked("bboxes_draw", box)
        if right < left or bottom < top:
            raise ValueError(f"bboxes_draw takes boxes of [left, top, right, bottom], not {box}")
    for name, values in (("labels", labels), ("box_colors", colors)):
        if values is not None and (type(values) is not list or len(values) != len(boxes)):
            count = len(values) if type(values) is list else "no list"
            raise ValueError(f"bboxes_draw takes as many {name} as boxes: {len(boxes)}, not {count}")


def _check_share(function, value):
    if value is not None and not 0 <= value <= 1:
        raise ValueError(f"{function} takes an opacity from 0 to 1, not {value}")


def _color_of(colors, number, name):
    color, each = colors
    if each is not None:
        return each[number]
    return own_color(name or "") if color is None else color


def own_color(name):
    """A bright color that is always the same for a name."""
    from colorsys import hsv_to_rgb
    from hashlib import sha256

    digest = sha256(str(name).encode("utf-8", "replace")).digest()
    parts = hsv_to_rgb(int.from_bytes(digest[:2], "big") / 65536, 0.65 + digest[2] / 1020, 0.75 + digest[3] / 1020)
    return "#" + bytes(round(part * 255) for part in parts).hex()


def _shade(color, alpha, usual):
    from PIL import ImageColor

    if type(color) is not str:
        raise ValueError(f"a color is a name or '#ff0000', not {str(color)[:40]!r}")
    found = ImageColor.getrgb(color)
    if alpha is not None:
        return (*found[:3], round(alpha * 255))
    return found if len(found) == 4 else (*found, round(usual * 255))


def _font(name, size):
    from PIL import ImageFont

    if size is not None and not 1 <= size <= 2_000:
        raise ValueError(f"bboxes_draw takes a font_size from 1 to 2000, not {size}")
    if name is None:
        return ImageFont.load_default(size)
    try:
        return ImageFont.truetype(name, 10 if size is None else size)
    except (OSError, ValueError):
        raise ValueError(f"there is no font {name[:80]!r} in the environment") from None


def _write(pen, box, name, letters, color):
    """The label above the box, or in it at the upper edge of the image."""
    left, top, right, bottom = pen.textbbox((0, 0), name, letters)
    high = bottom - top + 2
    y = box[1] - high if box[1] >= high else box[1]
    pen.rectangle((box[0], y, box[0] + right - left + 2, y + high), fill=color)
    is_light = sum(color[:3]) > 382
    pen.text((box[0] + 1 - left, y + 1 - top), name, (0, 0, 0, 255) if is_light else (255, 255, 255, 255), letters)


def with_segments(image, segmentation, alpha, background, colors, contours, ids):
    """The image colored by segments."""
    import numpy
    from PIL import Image, ImageColor

    _check_share("overlay_segmentation", alpha)
    if not 0 <= contours <= 100:
        raise ValueError(f"overlay_segmentation takes a contour_thickness from 0 to 100 pixels, not {contours}")
    places = _ids_of_pixels(numpy, image, numpy.asarray(segmentation), ids)
    nothing = background if numpy.asarray(segmentation).ndim == 2 else 0
    named = [one for one in numpy.unique(places).tolist() if one != nothing]
    if colors is not None and type(colors) is not list:
        raise ValueError(f"overlay_segmentation takes segment_colors as a list, not {str(colors)[:80]}")
    given = colors or []
    pixels = numpy.asarray(image.convert("RGB"), numpy.float32).copy()
    for number, one in enumerate(named):
        color = given[number] if number < len(given) else own_color(one)
        shade = numpy.array(ImageColor.getrgb(color)[:3], numpy.float32)
        mask = places == one
        pixels[mask] = pixels[mask] * (1 - alpha) + shade * alpha
        if contours:
            pixels[_contour(numpy, mask, contours)] = shade
    return Image.fromarray(numpy.floor(pixels + 0.5).astype(numpy.uint8), "RGB")


def _ids_of_pixels(numpy, image, segments, ids):
    """The id of each pixel's segment."""
    if segments.shape[-2:] != (image.height, image.width) or segments.ndim not in (2, 3):
        raise ValueError(
            f"overlay_segmentation takes an array of ({image.height}, {image.width}) or (n, {image.height}, {image.width}), "
            f"not {segments.shape}"
        )
    if segments.ndim == 2:
        return segments.astype(numpy.int64)
    names = numpy.arange(1, len(segments) + 1) if ids is None else numpy.asarray(ids).astype(numpy.int64)
    if names.shape != (len(segments),):
        raise ValueError(f"overlay_segmentation takes {len(segments)} ids, not an array of {names.shape}")
    places = numpy.zeros(segments.shape[1:], numpy.int64)
    for mask, name in zip(segments.astype(bool), names):  # The last one wins where they overlap.
        places[mask] = name
    return places


def _contour(numpy, mask, thickness):
    """The pixels of a mask next to its edge."""
    inner = mask.copy()
    for _ in range(thickness):
        padded = numpy.pad(inner, 1)
        inner = inner & padded[:-2, 1:-1] & padded[2:, 1:-1] & padded[1:-1, :-2] & padded[1:-1, 2:]
    return mask & ~inner
