"""Boxes of detections in their three formats. Inside, a box is its corners (left, top, right, bottom) as floats."""

import math

_TO_CORNERS = {
    "xyxy": lambda a, b, c, d: (a, b, c, d),
    "xywh": lambda x, y, w, h: (x, y, x + w, y + h),
    "cxcywh": lambda x, y, w, h: (x - w / 2, y - h / 2, x + w / 2, y + h / 2),
}
_FROM_CORNERS = {
    "xyxy": lambda l, t, r, b: (l, t, r, b),
    "xywh": lambda l, t, r, b: (l, t, r - l, b - t),
    "cxcywh": lambda l, t, r, b: ((l + r) / 2, (t + b) / 2, r - l, b - t),
}


def changed(function, boxes, format, change, into=None):
    """The boxes after a change of their corners, in their own format or another; null where the change gives None."""
    into = format if into is None else into
    for one in (format, into):
        if one not in _TO_CORNERS:
            raise ValueError(f"{function} takes the formats {', '.join(_TO_CORNERS)}, not {one[:40]!r}")
    if type(boxes) is not list:
        raise ValueError(f"{function} takes a list of boxes, not {str(boxes)[:80]}")
    found = []
    for box in boxes:
        corners = change(_TO_CORNERS[format](*checked(function, box)))
        if corners is None:
            found.append(None)
            continue
        made = _FROM_CORNERS[into](*corners)
        found.append([math.floor(one + 0.5) for one in made] if is_whole(box) else [float(one) for one in made])
    return found


def checked(function, box):
    """A box of four finite numbers."""
    if type(box) is not list or len(box) != 4 or not all(type(one) in (int, float) and abs(one) < 1e15 for one in box):
        raise ValueError(f"{function} takes boxes of four numbers, not {str(box)[:80]}")
    return box


def is_whole(box):
    return all(type(one) is int for one in box)


def scaled(boxes, format, factor, x_factor, y_factor):
    given = [one for one in (factor, x_factor, y_factor) if one is not None]
    if not given or (factor is not None and len(given) > 1):
        raise ValueError("bboxes_scale takes factor, or x_factor and y_factor or one of these")
    if not all(one > 0 for one in given):
        raise ValueError(f"bboxes_scale takes factors above 0, not {', '.join(map(str, given))}")
    across, down = (factor, factor) if factor is not None else (x_factor or 1.0, y_factor or 1.0)
    return changed("bboxes_scale", boxes, format, lambda box: _around(box, across, down))


def _around(corners, across, down):
    left, top, right, bottom = corners
    x, y, half_width, half_height = (left + right) / 2, (top + bottom) / 2, (right - left) / 2, (bottom - top) / 2
    return x - half_width * across, y - half_height * down, x + half_width * across, y + half_height * down


def resized(boxes, format, width, height, aspect, mode):
    if sum(one is not None for one in (width, height, aspect)) != 1:
        raise ValueError("bboxes_resize takes one of width, height and aspect")
    if (aspect is None) != (mode is None) or mode not in (None, "crop", "pad"):
        raise ValueError(f"bboxes_resize takes an aspect with the aspect_mode 'crop' or 'pad', not {mode!r}")
    ratio = None if aspect is None else _ratio(aspect)
    side = width if width is not None else height
    if side is not None and not side > 0:
        raise ValueError(f"bboxes_resize takes sides above 0, not {side}")

    def change(corners):
        wide, tall = corners[2] - corners[0], corners[3] - corners[1]
        if wide <= 0 or tall <= 0:
            raise ValueError(f"bboxes_resize takes boxes with an area, not one of {wide:g}x{tall:g}")
        if ratio is None:
            factor = side / (wide if width is not None else tall)
            return _around(corners, factor, factor)
        is_too_wide = wide / tall > ratio
        if is_too_wide == (mode == "crop"):
            return _around(corners, tall * ratio / wide, 1.0)
        return _around(corners, 1.0, wide / ratio / tall)

    return changed("bboxes_resize", boxes, format, change)


def _ratio(aspect):
    try:
        wide, _, tall = str(aspect).partition(":")
        ratio = float(wide) / float(tall or 1)
    except (ValueError, ZeroDivisionError):
        ratio = 0.0
    if not 0 < ratio < 1e6 or type(aspect) is bool:
        raise ValueError(f"bboxes_resize takes an aspect such as 1.78 or '16:9', not {str(aspect)[:40]!r}")
    return ratio


def padded(boxes, format, sides, x, y):
    for both, name, parts in ((x, "x", ("left", "right")), (y, "y", ("top", "bottom"))):
        if both is not None and any(sides[part] is not None for part in parts):
            raise ValueError(f"bboxes_pad takes {name} or {' and '.join(parts)}, not both")
        sides = sides if both is None else {**sides, **dict.fromkeys(parts, both)}
    if all(one is None for one in sides.values()):
        raise ValueError("bboxes_pad takes top, bottom, left, right, x or y")
    if any(one is not None and one < 0 for one in sides.values()):
        raise ValueError(
            f"bboxes_pad takes pixels of at least 0, not {min(one for one in sides.values() if one is not None)}"
        )
    top, bottom, left, right = (sides[name] or 0 for name in ("top", "bottom", "left", "right"))
    return changed(
        "bboxes_pad", boxes, format, lambda box: (box[0] - left, box[1] - top, box[2] + right, box[3] + bottom)
    )


def clipped(boxes, format, width, height, least_visible, least_area):
    if not 0 <= least_visible <= 1 or not least_area >= 0:
        raise ValueError(
            f"bboxes_clip_to_canvas takes a min_visibility from 0 to 1 and a min_area of at least 0, not {least_visible} and {least_area}"
        )
    width, height = _canvas("bboxes_clip_to_canvas", boxes, width, height, ("width", "height"))

    def change(corners):
        left, top, right, bottom = corners
        inside = max(0.0, left), max(0.0, top), min(width, right), min(height, bottom)
        wide, tall = inside[2] - inside[0], inside[3] - inside[1]
        if wide <= 0 or tall <= 0 or wide * tall < least_area:
            return None
        return None if wide * tall < least_visible * (right - left) * (bottom - top) else inside

    return changed("bboxes_clip_to_canvas", boxes, format, change)


def _canvas(function, boxes, width, height, names):
    """The size of an image in the boxes' units: 1 by 1 for parts of it."""
    if (width is None) != (height is None):
        raise ValueError(f"{function} takes both {names[0]} and {names[1]}, or neither")
    if width is None:
        if type(boxes) is list and any(type(box) is list and box and is_whole(box) for box in boxes):
            raise ValueError(f"{function} takes {names[0]} and {names[1]} for boxes in pixels")
        return 1.0, 1.0
    if width < 1 or height < 1:
        raise ValueError(f"{function} takes {names[0]} and {names[1]} of at least 1, not {width} and {height}")
    return width, height


def in_region(boxes, format, region, region_format, width, height):
    function = "bboxes_crop_canvas"
    width, height = _canvas(function, boxes, width, height, ("canvas_width", "canvas_height"))
    (part,) = changed(function, [checked(function, region)], region_format, lambda box: box, "xyxy")
    left, top, right, bottom = part
    if not (0 <= left < right <= width and 0 <= top < bottom <= height):
        raise ValueError(f"the canvas_region {region} ({region_format}) is empty or not inside of {width:g}x{height:g}")
    # Boxes in parts of the image become boxes in parts of the region.
    across, down = (1.0, 1.0) if width != 1.0 or height != 1.0 else (right - left, bottom - top)

    def change(box):
        return (box[0] - left) / across, (box[1] - top) / down, (box[2] - left) / across, (box[3] - top) / down

    return changed(function, boxes, format, change)


def after_resize(boxes, format, sizes, scale, scale_x, scale_y):
    scales = [one for one in (scale, scale_x, scale_y) if one is not None]
    known = [one for one in sizes if one is not None]
    if bool(scales) == bool(known) or len(known) not in (0, 4) or (scale is not None and len(scales) > 1):
        raise ValueError(
            "bboxes_resize_canvas takes canvas_width, canvas_height, new_canvas_width and new_canvas_height, "
            "or canvas_scale, or canvas_scale_x and canvas_scale_y"
        )
    if not all(one > 0 for one in (*scales, *known)):
        raise ValueError(
            f"bboxes_resize_canvas takes sizes and scales above 0, not {', '.join(map(str, (*known, *scales)))}"
        )
    if known:
        across, down = sizes[2] / sizes[0], sizes[3] / sizes[1]
    else:
        across, down = (scale, scale) if scale is not None else (scale_x or 1.0, scale_y or 1.0)
    return changed(
        "bboxes_resize_canvas",
        boxes,
        format,
        lambda box: (box[0] * across, box[1] * down, box[2] * across, box[3] * down),
    )
