"""Drawing takes its time: each picture waits for a machine elsewhere, here for a clock."""

import asyncio
import uuid

import appdb as db

MARKS = " .:-=+*#%@"


@db.udf(timeout=1)
async def draw(re: float, im: float, zoom: float, rows: int, pause_ms: int) -> str:
    """A part of the Mandelbrot set in letters. Many rows wait at the same time; after a second one is given up."""
    if zoom <= 0:
        raise ValueError(f"a zoom of {zoom} shows nothing")
    if not 1 <= rows <= 40:
        raise ValueError(f"a picture has 1 to 40 rows, not {rows}")
    if not 0 <= pause_ms <= 60_000:
        raise ValueError(f"nobody waits for {pause_ms} ms")
    await asyncio.sleep(pause_ms / 1000)
    lines: list[str] = []
    for y in range(rows):
        height = im + (2 * y - rows) / rows / zoom
        across = [_mark(complex(re + (x - rows) / rows / zoom, height)) for x in range(2 * rows)]
        lines.append("".join(across).rstrip())
    return "\n".join(lines)


def _mark(point: complex) -> str:
    value = 0j
    for step in range(40):
        value = value * value + point
        if abs(value) > 2:
            return MARKS[step * len(MARKS) // 40]
    return MARKS[-1]


@db.udf
def ink(picture: str) -> int:
    """How many of its marks are the darkest."""
    return picture.count(MARKS[-1])


@db.udf
def stamp(picture: str) -> str:
    """Another one each time it is called: who sees it twice knows that nothing was computed between."""
    return uuid.uuid4().hex


_jammed: set[str] = set()


@db.udf
def press(title: str, copies: int) -> str:
    """A press that jams on the first sheet of every glossy print, and on a thousand copies for good."""
    if copies > 1000:
        raise ValueError(f"no press prints {copies} copies")
    if title.startswith("glossy") and title not in _jammed:
        _jammed.add(title)
        raise OSError(f"the press jammed on {title}")
    return f"{copies} x {title}"
