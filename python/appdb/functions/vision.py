"""Functions of detections: boxes of objects in images, drawn, changed and evaluated.

A box is four numbers: xyxy (two corners), xywh (top left corner, width, height) or cxcywh (center, width, height), in
pixels from the top left or, from 0 to 1, in parts of the image. Boxes of whole numbers stay so, halves rounded up.
"""

from __future__ import annotations

from appdb.functions._builtin import Namespace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any as Array
    from typing import Any as Image
    from typing import Any as Json

_vision = Namespace("vision", aggregates=("mean_ap",))
function, FUNCTIONS = _vision.function, _vision.functions
__getattr__ = _vision.unknown

_BOX = [[10, 10, 20, 30]]  # For the examples.
_PART = [[0.25, 0.25, 0.5, 0.75]]
_DOT = (
    "RGB 4x4 #000000|#000000|#000000|#000000"
    + 2 * "/#000000|#ff0000|#ff0000|#000000"
    + "/#000000|#000000|#000000|#000000"
)


@function(
    [([[1, 2, 5, 8]], "xyxy", "xywh", [[1, 2, 4, 6]]), ([[1, 2, 4, 8]], "xyxy", "cxcywh", [[3, 5, 3, 6]])]
    + [(_PART, "xyxy", "cxcywh", [[0.375, 0.5, 0.25, 0.5]]), ([[1, 2, 3]], "xyxy", "xywh", ValueError)]
    + [(_BOX, "yxyx", "xywh", ValueError), ([["a", 1, 2, 3]], "xyxy", "xywh", ValueError), ([], "xyxy", "xywh", [])],
    is_method=False,
)
def bboxes_convert(bboxes: Json, /, *, src_format: str, dst_format: str) -> Json:
    """The boxes in another format."""
    from appdb.media.boxes import changed

    return changed("bboxes_convert", bboxes, src_format, lambda box: box, dst_format)


@function(
    [(_BOX, "xyxy", 2.0, [[5, 0, 25, 40]]), (_BOX, "xywh", None, 0.5, [[15, 10, 10, 30]]), (_BOX, "xywh", ValueError)]
    + [(_BOX, "xywh", 2.0, 2.0, ValueError), (_BOX, "xywh", -1.0, ValueError)],
    is_method=False,
)
def bboxes_scale(
    bboxes: Json,
    format: str,
    /,
    *,
    factor: float | None = None,
    x_factor: float | None = None,
    y_factor: float | None = None,
) -> Json:
    """The boxes with their sides multiplied, around their centers."""
    from appdb.media.boxes import scaled

    return scaled(bboxes, format, factor, x_factor, y_factor)


@function(
    [(_BOX, "xyxy", 20.0, [[5, 0, 25, 40]]), (_BOX, "xyxy", None, 11.0, [[12, 15, 18, 26]])]
    + [
        (_BOX, "xyxy", None, None, "16:9", "crop", [[10, 17, 20, 23]]),
        (_BOX, "xyxy", None, None, 1.0, "pad", [[5, 10, 25, 30]]),
    ]
    + [(_BOX, "xyxy", ValueError), (_BOX, "xyxy", 1.0, 1.0, ValueError), (_BOX, "xyxy", None, None, "16:9", ValueError)]
    + [(_BOX, "xyxy", None, None, "wide", "crop", ValueError), ([[1, 1, 1, 5]], "xyxy", 5.0, ValueError)],
    is_method=False,
)
def bboxes_resize(
    bboxes: Json,
    format: str,
    /,
    *,
    width: float | None = None,
    height: float | None = None,
    aspect: Json | None = None,
    aspect_mode: str | None = None,
) -> Json:
    """The boxes of a width or height with their proportions, or of an aspect (1.78, "16:9") by 'crop' or 'pad'; same centers."""
    from appdb.media.boxes import resized

    return resized(bboxes, format, width, height, aspect, aspect_mode)


@function(
    [(_BOX, "xyxy", 1, None, 2, [[8, 9, 20, 30]]), (_BOX, "xyxy", None, None, None, None, 1, 2, [[9, 8, 21, 32]])]
    + [
        (_BOX, "xyxy", ValueError),
        (_BOX, "xyxy", -1, ValueError),
        (_BOX, "xyxy", 1, None, None, None, None, 2, ValueError),
    ],
    is_method=False,
)
def bboxes_pad(
    bboxes: Json,
    format: str,
    /,
    *,
    top: int | None = None,
    bottom: int | None = None,
    left: int | None = None,
    right: int | None = None,
    x: int | None = None,
    y: int | None = None,
) -> Json:
    """The boxes with pixels added at their sides; `x` is left and right, `y` top and bottom."""
    from appdb.media.boxes import padded

    return padded(bboxes, format, {"top": top, "bottom": bottom, "left": left, "right": right}, x, y)


@function(
    [([[-10, 10, 20, 30], [5, 5, 6, 6], [200, 200, 300, 300]], "xyxy", 100, 100, 0.7, [None, [5, 5, 6, 6], None])]
    + [([[-0.5, 0.25, 0.5, 0.5]], "xyxy", [[0.0, 0.25, 0.5, 0.5]]), (_BOX, "xyxy", ValueError)]
    + [([[-10, 10, 20, 30], [5, 5, 6, 6]], "xyxy", 100, 100, 0.0, 10.0, [[0, 10, 20, 30], None])]
    + [(_BOX, "xyxy", 100, ValueError), (_BOX, "xyxy", 0, 100, ValueError), (_BOX, "xyxy", 100, 100, 2.0, ValueError)],
    is_method=False,
)
def bboxes_clip_to_canvas(
    bboxes: Json,
    format: str,
    /,
    *,
    width: int | None = None,
    height: int | None = None,
    min_visibility: float = 0.0,
    min_area: float = 0.0,
) -> Json:
    """The parts of the boxes inside an image; null for boxes outside, or with less than a part or area inside."""
    from appdb.media.boxes import clipped

    return clipped(bboxes, format, width, height, min_visibility, min_area)


@function(
    [
        (_BOX, "xyxy", [5, 5, 50, 50], "xyxy", 100, 100, [[5, 5, 15, 25]]),
        (_BOX, "xyxy", [5, 5, 50, 50], "xyxy", ValueError),
    ]
    + [
        (_PART, "xyxy", [0.25, 0.25, 0.5, 0.5], "xywh", [[0.0, 0.0, 0.5, 1.0]]),
        (_PART, "xyxy", [0.5, 0.5, 0, 0], "xywh", ValueError),
    ],
    is_method=False,
)
def bboxes_crop_canvas(
    bboxes: Json,
    format: str,
    /,
    *,
    canvas_region: Json,
    canvas_region_format: str,
    canvas_width: int | None = None,
    canvas_height: int | None = None,
) -> Json:
    """The boxes as they are in a part of their image. They can leave it."""
    from appdb.media.boxes import in_region

    return in_region(bboxes, format, canvas_region, canvas_region_format, canvas_width, canvas_height)


@function(
    [
        (_BOX, "xyxy", 100, 100, 50, 200, [[5, 20, 10, 60]]),
        (_BOX, "xyxy", None, None, None, None, 0.5, [[5, 5, 10, 15]]),
    ]
    + [([[11, 10, 20, 30]], "xywh", None, None, None, None, None, 0.5, [[6, 10, 10, 30]]), (_BOX, "xyxy", ValueError)]
    + [
        (_BOX, "xyxy", 100, 100, ValueError),
        (_BOX, "xyxy", 0, 1, 1, 1, ValueError),
        (_BOX, "xyxy", None, None, None, None, 0.0, ValueError),
    ],
    is_method=False,
)
def bboxes_resize_canvas(
    bboxes: Json,
    format: str,
    /,
    *,
    canvas_width: int | None = None,
    canvas_height: int | None = None,
    new_canvas_width: int | None = None,
    new_canvas_height: int | None = None,
    canvas_scale: float | None = None,
    canvas_scale_x: float | None = None,
    canvas_scale_y: float | None = None,
) -> Json:
    """The boxes as they are after their image was resized, from one size to another or by scales."""
    from appdb.media.boxes import after_resize

    sizes = (canvas_width, canvas_height, new_canvas_width, new_canvas_height)
    return after_resize(bboxes, format, sizes, canvas_scale, canvas_scale_x, canvas_scale_y)


@function(
    [("RGB 4x4 #000000", [[1, 1, 2, 2]], None, "#ff0000", None, None, True, 1.0, _DOT)]
    + [("RGB 8x8 #000000", [], "RGB 8x8 #000000"), ("RGB 8x8 #000000", [[2, 2, 5]], ValueError)]
    + [
        ("RGB 8x8 #000000", [[2, 2, 5, 5]], ["a", "b"], ValueError),
        ("RGB 8x8 #000000", [[2, 2, 5, 5]], None, "nocolor", ValueError),
    ]
    + [("RGB 8x8 #000000", [[5, 5, 2, 2]], ValueError)],
    is_method=False,
    needs=("pillow",),
)
def bboxes_draw(
    img: Image,
    boxes: Json,
    /,
    *,
    labels: Json | None = None,
    color: str | None = None,
    box_colors: Json | None = None,
    alpha: float | None = None,
    fill: bool = False,
    fill_alpha: float | None = None,
    width: int = 1,
    font: str | None = None,
    font_size: int | None = None,
) -> Image:
    """The image with boxes (xyxy) and their labels drawn on it; without colors, each label has one of its own."""
    from appdb.media.drawing import with_boxes

    colors, alphas = (color, box_colors), (alpha, fill_alpha if fill else None)
    return with_boxes(img, boxes, labels, colors, alphas, fill, width, font, font_size)


@function(
    [("RGB 2x1 #000000", [[0, 1]], 0.5, 0, ["#ff0000"], False, "RGB 2x1 #000000|#800000")]
    + [("RGB 2x1 #000000", [[0, 1, 2]], ValueError), ("RGB 2x1 #000000", [[0, 1]], 2.0, ValueError)],
    is_method=False,
    needs=("pillow", "numpy"),
)
def overlay_segmentation(
    img: Image,
    segmentation: Array,
    /,
    *,
    alpha: float = 0.5,
    background: int = 0,
    segment_colors: Json | None = None,
    draw_contours: bool = True,
    contour_thickness: int = 1,
    ids: Array | None = None,
) -> Image:
    """The image colored by segments: an array (height, width) of their ids, or (n, height, width) of bool for n of them."""
    from appdb.media.drawing import with_segments

    contours = contour_thickness if draw_contours else 0
    return with_segments(img, segmentation, alpha, background, segment_colors, contours, ids)


@function(
    [
        (
            [[0, 0, 10, 10], [0, 0, 9, 9]],
            [1, 2],
            [0.9, 0.7],
            [[0, 0, 10, 9]],
            [1],
            [
                {"min_iou": 0.5, "category": 1, "tp": [1], "fp": [0], "scores": [0.9], "num_gts": 1},
                {"min_iou": 0.5, "category": 2, "tp": [0], "fp": [1], "scores": [0.7], "num_gts": 0},
            ],
        )
    ]
    + [
        ([[0, 0, 1, 1]], [1, 2], [0.9], [], [], ValueError),
        ([], [], [], [], [], 2.0, ValueError),
        ([], [], [], [], [], []),
    ],
    is_method=False,
)
def eval_detections(
    pred_bboxes: Json,
    pred_labels: Json,
    pred_scores: Json,
    gt_bboxes: Json,
    gt_labels: Json,
    /,
    min_iou: float = 0.5,
) -> Json:
    """For each category `{"min_iou", "category", "tp", "fp", "scores", "num_gts"}`: which predictions (xyxy) hit a true box."""
    from appdb.media.detections import evaluated

    return evaluated(pred_bboxes, pred_labels, pred_scores, gt_bboxes, gt_labels, min_iou)
