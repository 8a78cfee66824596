"""What `tile_iterator` and `read_tile` compute: boxes of one size that cover an image, and their pixels."""

from appdb.iterators.checks import check_tiles
from appdb.media.pixels import check_pixels, shown


def tile_rows(image, tile_size, overlap):
    """The rows: tiles from left to right, then from top to bottom."""
    check_tiles({"tile_size": tile_size, "overlap": overlap}, frozenset())
    if tile_size is None:
        raise ValueError("tile_iterator takes a tile_size of [width, height], not null")
    overlap = (0, 0) if overlap is None else overlap
    check_pixels("tile_iterator", *tile_size)
    steps = [side - shared for side, shared in zip(tile_size, overlap)]
    # A last tile that lies in the overlap of the one before it shows nothing more.
    counts = [max(1, -((shared - whole) // step)) for whole, shared, step in zip(image.size, overlap, steps)]
    for down in range(counts[1]):
        for across in range(counts[0]):
            left, top = across * steps[0], down * steps[1]
            box = [left, top, left + tile_size[0], top + tile_size[1]]
            yield {"tile_coord": [across, down], "tile_box": box}


def tile_of(image, box):
    """The part of an image in a box; black, or transparent, where the box is outside of the image."""
    is_box = type(box) is list and len(box) == 4 and all(type(side) is int for side in box)
    if not is_box or not (0 <= box[0] < box[2] and 0 <= box[1] < box[3]):
        raise ValueError(f"read_tile takes the tile_box of a tile_iterator, not {shown(box)}")
    check_pixels("read_tile", box[2] - box[0], box[3] - box[1])
    return image.crop(box)
