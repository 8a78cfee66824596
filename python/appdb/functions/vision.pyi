# Made by `npm run docs` from the code it describes; a test compares the two.
"""Functions of detections: boxes of objects in images, drawn, changed and evaluated."""

from typing import Any

from appdb import Expr, Image, Json

Text = Expr | str | None
Whole = Expr | int | None
Number = Expr | float | None
Truth = Expr | bool | None

FUNCTIONS: dict[str, Any]

def bboxes_convert(bboxes: Any, /, *, src_format: Text, dst_format: Text) -> Json:
    """The boxes in another format."""

def bboxes_scale(
    bboxes: Any,
    format: Text,
    /,
    *,
    factor: Number = None,
    x_factor: Number = None,
    y_factor: Number = None,
) -> Json:
    """The boxes with their sides multiplied, around their centers."""

def bboxes_resize(
    bboxes: Any,
    format: Text,
    /,
    *,
    width: Number = None,
    height: Number = None,
    aspect: Any = None,
    aspect_mode: Text = None,
) -> Json:
    """The boxes of a width or height with their proportions, or of an aspect (1.78, "16:9") by 'crop' or 'pad'; same centers."""

def bboxes_pad(
    bboxes: Any,
    format: Text,
    /,
    *,
    top: Whole = None,
    bottom: Whole = None,
    left: Whole = None,
    right: Whole = None,
    x: Whole = None,
    y: Whole = None,
) -> Json:
    """The boxes with pixels added at their sides; `x` is left and right, `y` top and bottom."""

def bboxes_clip_to_canvas(
    bboxes: Any,
    format: Text,
    /,
    *,
    width: Whole = None,
    height: Whole = None,
    min_visibility: Number = 0.0,
    min_area: Number = 0.0,
) -> Json:
    """The parts of the boxes inside an image; null for boxes outside, or with less than a part or area inside."""

def bboxes_crop_canvas(
    bboxes: Any,
    format: Text,
    /,
    *,
    canvas_region: Any,
    canvas_region_format: Text,
    canvas_width: Whole = None,
    canvas_height: Whole = None,
) -> Json:
    """The boxes as they are in a part of their image. They can leave it."""

def bboxes_resize_canvas(
    bboxes: Any,
    format: Text,
    /,
    *,
    canvas_width: Whole = None,
    canvas_height: Whole = None,
    new_canvas_width: Whole = None,
    new_canvas_height: Whole = None,
    canvas_scale: Number = None,
    canvas_scale_x: Number = None,
    canvas_scale_y: Number = None,
) -> Json:
    """The boxes as they are after their image was resized, from one size to another or by scales."""

def bboxes_draw(
    img: Any,
    boxes: Any,
    /,
    *,
    labels: Any = None,
    color: Text = None,
    box_colors: Any = None,
    alpha: Number = None,
    fill: Truth = False,
    fill_alpha: Number = None,
    width: Whole = 1,
    font: Text = None,
    font_size: Whole = None,
) -> Image:
    """The image with boxes (xyxy) and their labels drawn on it; without colors, each label has one of its own."""

def overlay_segmentation(
    img: Any,
    segmentation: Any,
    /,
    *,
    alpha: Number = 0.5,
    background: Whole = 0,
    segment_colors: Any = None,
    draw_contours: Truth = True,
    contour_thickness: Whole = 1,
    ids: Any = None,
) -> Image:
    """The image colored by segments: an array (height, width) of their ids, or (n, height, width) of bool for n of them."""

def eval_detections(
    pred_bboxes: Any,
    pred_labels: Any,
    pred_scores: Any,
    gt_bboxes: Any,
    gt_labels: Any,
    /,
    min_iou: Number = 0.5,
) -> Json:
    """For each category `{"min_iou", "category", "tp", "fp", "scores", "num_gts"}`: which predictions (xyxy) hit a true box."""

def mean_ap(eval_dicts: Any) -> Json:
    """The average precision of each category, from results of `eval_detections`: `{"<category>": ...}`."""
