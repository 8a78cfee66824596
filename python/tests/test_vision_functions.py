"""Functions of boxes and segments beyond their examples: what is drawn, properties of boxes, bad input."""

from random import Random

import media_samples
import numpy
import pytest

from appdb.functions import vision


BLACK = media_samples.image("RGB 60x40 #000000")
FORMATS = ("xyxy", "xywh", "cxcywh")


def colors(image):
    return {color: count for count, color in image.getcolors()}


def test_boxes_are_the_same_after_conversion_there_and_back():
    random = Random(5)
    for _ in range(200):
        left, top = random.randrange(-50, 50), random.randrange(-50, 50)
        whole = [left, top, left + 2 * random.randrange(20), top + 2 * random.randrange(20)]
        for box in (whole, [one / 7 for one in whole]):
            for source in FORMATS:
                start = vision.bboxes_convert([box], src_format="xyxy", dst_format=source)
                for target in FORMATS:
                    there = vision.bboxes_convert(start, src_format=source, dst_format=target)
                    back = vision.bboxes_convert(there, src_format=target, dst_format="xyxy")
                    assert back[0] == pytest.approx(box) and {type(one) for one in back[0]} == {type(box[0])}


def test_clipped_boxes_are_inside_and_not_larger():
    random = Random(6)
    for _ in range(300):
        left, top = random.randrange(-60, 120), random.randrange(-60, 120)
        box = [left, top, left + random.randrange(1, 90), top + random.randrange(1, 90)]
        (found,) = vision.bboxes_clip_to_canvas([box], "xyxy", width=100, height=80)
        if found is None:
            assert box[2] <= 0 or box[3] <= 0 or box[0] >= 100 or box[1] >= 80
        else:
            assert 0 <= found[0] < found[2] <= 100 and 0 <= found[1] < found[3] <= 80
            assert all(a <= b for a, b in zip(box[:2], found[:2])) and all(a >= b for a, b in zip(box[2:], found[2:]))


def test_boxes_keep_their_centers_when_their_sides_change():
    for box in ([0.1, 0.2, 0.5, 0.4], [3.5, 4.0, 9.5, 22.0]):
        for found in (
            vision.bboxes_scale([box], "xyxy", x_factor=3.0, y_factor=0.5),
            vision.bboxes_resize([box], "xyxy", height=0.3),
            vision.bboxes_resize([box], "xyxy", aspect="4:3", aspect_mode="pad"),
            vision.bboxes_resize([box], "xyxy", aspect=0.5, aspect_mode="crop"),
        ):
            ((left, top, right, bottom),) = found
            assert ((left + right) / 2, (top + bottom) / 2) == pytest.approx(
                ((box[0] + box[2]) / 2, (box[1] + box[3]) / 2)
            )


BAD = [
    (vision.bboxes_convert, ("boxes",), {"src_format": "xyxy", "dst_format": "xywh"}),
    (vision.bboxes_convert, ([[1, 2, 3, None]],), {"src_format": "xyxy", "dst_format": "xywh"}),
    (vision.bboxes_convert, ([[1, 2, 3, True]],), {"src_format": "xyxy", "dst_format": "xywh"}),
    (vision.bboxes_convert, ([[1, 2, 3, 1e300]],), {"src_format": "xyxy", "dst_format": "xywh"}),
    (vision.bboxes_scale, ([[1, 2, 3, 4]], "xyxy"), {"factor": float("nan")}),
    (vision.bboxes_resize, ([[1, 2, 3, 4]], "xyxy"), {"aspect": "16:0", "aspect_mode": "pad"}),
    (vision.bboxes_pad, ([[1, 2, 3, 4]], "xyxy"), {"top": 1, "y": 1}),
    (
        vision.bboxes_crop_canvas,
        ([[0.1, 0.1, 0.2, 0.2]], "xyxy"),
        {"canvas_region": [0, 0, 2, 2], "canvas_region_format": "xyxy"},
    ),
    (vision.eval_detections, ([[1, 2, 3]], [1], [0.5], [], []), {}),
    (vision.eval_detections, ([[1, 2, 3, 4]], [[1]], [0.5], [], []), {}),
    (vision.eval_detections, ([[1, 2, 3, 4]], [1], ["x"], [], []), {}),
    (vision.bboxes_draw, (BLACK, [[1, 2, 3, 4]]), {"width": 0}),
    (vision.bboxes_draw, (BLACK, [[1, 2, 3, 4]]), {"alpha": 1.5}),
    (vision.bboxes_draw, (BLACK, [[1, 2, 3, 4]]), {"box_colors": ["red", "blue"]}),
    (vision.bboxes_draw, (BLACK, [[1, 2, 3, 4]]), {"box_colors": [7]}),
    (vision.bboxes_draw, (BLACK, [[1, 2, 3, 4]]), {"labels": ["a"], "font": "nosuch.ttf"}),
    (vision.bboxes_draw, (BLACK, [[1, 2, 3, 4]]), {"labels": ["a"], "font_size": 0}),
    (vision.overlay_segmentation, (BLACK, numpy.zeros((40, 60, 3))), {}),
    (vision.overlay_segmentation, (BLACK, numpy.zeros((40, 60))), {"contour_thickness": -1}),
    (vision.overlay_segmentation, (BLACK, numpy.ones((2, 40, 60), bool)), {"ids": numpy.array([1])}),
    (vision.overlay_segmentation, (BLACK, numpy.ones((40, 60))), {"segment_colors": ["nocolor"]}),
]


@pytest.mark.parametrize(("function", "args", "named"), BAD)
def test_bad_input_is_an_error_with_its_values(function, args, named):
    with pytest.raises(ValueError) as error:
        function(*args, **named)
    assert 10 < len(str(error.value)) < 300


def test_boxes_are_drawn_with_border_fill_and_label():
    made = vision.bboxes_draw(BLACK, [[10, 10, 29, 29]], color="#ff0000", width=2)
    assert colors(made)[(255, 0, 0)] == 20 * 20 - 16 * 16 and made.size == BLACK.size
    made = vision.bboxes_draw(BLACK, [[10, 10, 29, 29]], color="#ff0000", fill=True)
    assert made.getpixel((20, 20)) == (128, 0, 0) and made.getpixel((10, 10)) == (255, 0, 0)
    plain, labelled = (
        vision.bboxes_draw(BLACK, [[10, 20, 29, 29]], labels=labels, color="#00ff00") for labels in (None, ["cat"])
    )
    assert colors(labelled)[(0, 255, 0)] > colors(plain)[(0, 255, 0)] + 50
    assert max(x for x in range(60) if labelled.getpixel((x, 12)) != (0, 0, 0)) < 60 and labelled.getpixel(
        (11, 12)
    ) != (0, 0, 0)


def test_each_label_has_a_color_of_its_own():
    made = vision.bboxes_draw(BLACK, [[0, 20, 9, 29], [20, 20, 29, 29], [40, 20, 49, 29]], labels=[1, "dog", 1])
    one, dog, again = (made.getpixel((x, 29)) for x in (5, 25, 45))
    assert one == again != dog and made == vision.bboxes_draw(
        BLACK, [[0, 20, 9, 29], [20, 20, 29, 29], [40, 20, 49, 29]], labels=[1, "dog", 1]
    )


def test_an_image_with_transparency_keeps_it():
    clear = media_samples.image("RGBA 8x8 #00000000")
    made = vision.bboxes_draw(clear, [[2, 2, 5, 5]], color="#ff0000")
    assert (made.mode, made.getpixel((0, 0)), made.getpixel((2, 2))) == ("RGBA", (0, 0, 0, 0), (255, 0, 0, 255))
    assert vision.bboxes_draw(media_samples.image("L 8x8 9"), [[2, 2, 5, 5]]).mode == "RGB"


def test_segments_are_colored_with_contours():
    places = numpy.zeros((40, 60), "int32")
    places[10:30, 10:30] = 7
    made = vision.overlay_segmentation(BLACK, places, segment_colors=["#ff0000"], contour_thickness=2)
    assert (made.getpixel((20, 20)), made.getpixel((11, 11)), made.getpixel((0, 0))) == (
        (128, 0, 0),
        (255, 0, 0),
        (0, 0, 0),
    )
    assert colors(made)[(255, 0, 0)] == 20 * 20 - 16 * 16
    whole = vision.overlay_segmentation(
        BLACK, places, background=7, draw_contours=False, alpha=1.0, segment_colors=["#0000ff"]
    )
    assert whole.getpixel((20, 20)) == (0, 0, 0) and whole.getpixel((0, 0)) == (0, 0, 255)


def test_of_masks_that_overlap_the_last_one_is_seen():
    masks = numpy.zeros((2, 40, 60), bool)
    masks[0, :, :40] = masks[1, :, 20:] = True
    made = vision.overlay_segmentation(
        BLACK, masks, alpha=1.0, draw_contours=False, segment_colors=["#ff0000", "#00ff00"]
    )
    assert [made.getpixel((x, 5)) for x in (5, 30, 50)] == [(255, 0, 0), (0, 255, 0), (0, 255, 0)]
    named = [
        vision.overlay_segmentation(BLACK, masks, ids=numpy.array(ids), alpha=1.0, draw_contours=False).getpixel((5, 5))
        for ids in ([4, 9], [5, 9], [4, 8])
    ]
    assert named[0] == named[2] != named[1]


def test_a_true_box_is_hit_once():
    truth = [[0, 0, 10, 10]]
    (found,) = vision.eval_detections([[0, 0, 10, 10], [0, 0, 10, 9]], ["cat", "cat"], [0.4, 0.9], truth, ["cat"])
    assert (found["tp"], found["fp"], found["scores"], found["category"]) == ([1, 0], [0, 1], [0.9, 0.4], "cat")


def test_functions_of_boxes_need_no_package():
    assert vision.bboxes_convert.needs == () and vision.eval_detections.needs == ()
    assert vision.bboxes_draw.needs == ("pillow",) and vision.overlay_segmentation.needs == ("pillow", "numpy")
