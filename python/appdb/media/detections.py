"""Evaluation of detections: predictions that hit a true box, and the average precision of many."""

from appdb.media.boxes import checked


def evaluated(boxes, labels, scores, true_boxes, true_labels, least):
    if not 0 < least <= 1:
        raise ValueError(f"eval_detections takes a min_iou above 0 and up to 1, not {least}")
    _check_lengths("pred_bboxes, pred_labels and pred_scores", boxes, labels, scores)
    _check_lengths("gt_bboxes and gt_labels", true_boxes, true_labels)
    for box in (*boxes, *true_boxes):
        checked("eval_detections", box)
    if not all(type(score) in (int, float) for score in scores):
        raise ValueError("eval_detections takes pred_scores that are numbers")
    categories = sorted({*map(_category, labels), *map(_category, true_labels)}, key=lambda one: (str(type(one)), one))
    return [_of_category(one, boxes, labels, scores, true_boxes, true_labels, least) for one in categories]


def _check_lengths(names, *lists):
    if not all(type(one) is list for one in lists) or len({len(one) for one in lists}) > 1:
        raise ValueError(f"eval_detections takes {names} as lists of one length")


def _category(label):
    if type(label) not in (int, str):
        raise ValueError(f"eval_detections takes labels that are whole numbers or texts, not {str(label)[:40]!r}")
    return label


def _of_category(category, boxes, labels, scores, true_boxes, true_labels, least):
    found = sorted(
        ((score, box) for score, box, label in zip(scores, boxes, labels) if label == category),
        key=lambda one: -one[0],
    )
    free = [box for box, label in zip(true_boxes, true_labels) if label == category]
    total, hits = len(free), []
    for _, box in found:
        best = max(free, key=lambda other: _overlap(box, other), default=None)
        is_hit = best is not None and _overlap(box, best) >= least
        if is_hit:
            free.remove(best)
        hits.append(int(is_hit))
    return {
        "min_iou": least,
        "category": category,
        "tp": hits,
        "fp": [1 - hit for hit in hits],
        "scores": [float(score) for score, _ in found],
        "num_gts": total,
    }


def _overlap(one, other):
    """Intersection over union."""
    across = min(one[2], other[2]) - max(one[0], other[0])
    down = min(one[3], other[3]) - max(one[1], other[1])
    if across <= 0 or down <= 0:
        return 0.0
    both = across * down
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (one, other)]
    return both / (sum(areas) - both)


def checked_evaluations(value):
    """Results of eval_detections: one or a list."""
    listed = value if type(value) is list else [value]
    for one in listed:
        is_whole = type(one) is dict and {"category", "tp", "scores", "num_gts"} <= one.keys()
        if not is_whole or type(one["tp"]) is not list or type(one["scores"]) is not list:
            raise ValueError(f"mean_ap takes results of eval_detections, not {str(one)[:80]}")
        if len(one["tp"]) != len(one["scores"]) or type(one["num_gts"]) is not int:
            raise ValueError("mean_ap takes as many tp as scores, and num_gts that is a whole number")
    return listed


def average_precision(scores, hits, total):
    """The area below the curve of precision over recall, where precision never rises."""
    if sum(total) == 0:
        return 0.0
    found, points = 0, []
    for number, place in enumerate(sorted(range(len(scores)), key=lambda one: -scores[one]), 1):
        found += hits[place]
        points.append((found / sum(total), found / number))
    area, best = 0.0, 0.0
    for at in range(len(points) - 1, -1, -1):
        recall, precision = points[at]
        best = max(best, precision)
        area += (recall - (points[at - 1][0] if at else 0.0)) * best
    return area
