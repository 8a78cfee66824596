"""Media for tests, made from a text when they are needed, and media as such a text.

An image is its mode, size and colors: `RGB 4x2 #ff0000|#0000ff` is red on the left and blue on the right, `L 2x2 0/255`
black above white. A video is `64x48 20@10 440Hz`: size, frames, frames per second, and a tone if it has sound; audio is
`0.5s 440Hz`. Documents are those of document_files.py. `broken` is a file that is none of these.
"""

import atexit
import json
import os
import re
import shutil
import tempfile

FOLDER = tempfile.mkdtemp(prefix="appdb-samples-")
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
_paths = {}
os.environ.setdefault("APPDB_SCRATCH", FOLDER)  # Where functions write the files that they make.


def value(kind, text):
    """The sample as functions get it: an image, or the path of a file."""
    from appdb.kinds.image import open_image

    return open_image(path(kind, text)) if kind == "image" else path(kind, text)


def stored(kind, text):
    """The sample as the engine hands it to a worker."""
    return json.dumps({"path": path(kind, text)})


def path(kind, text):
    """The path of a file with the sample."""
    if (kind, text) not in _paths:
        suffix = {"image": "", "video": ".mp4", "audio": ".wav", "document": ""}[kind]
        name = os.path.join(FOLDER, f"{len(_paths)}{suffix}")
        if kind == "image":
            made = image(text)
            name += ".tiff" if made.mode in ("F", "I", "LAB", "YCbCr", "CMYK") else ".png"
            made.save(name)
        elif kind == "document":
            from pathlib import Path

            import document_files

            format = text.partition(" ")[0]
            name += f".{document_files.SUFFIX.get(format, format)}"
            document_files.write(Path(name), text)
        elif text == "broken":
            with open(name, "wb") as file:
                file.write(b"broken" * 100)
        else:
            import media_files

            media_files.write(kind, name, text)
        _paths[kind, text] = name
    return _paths[kind, text]


def image(text):
    """Makes an image from its text."""
    from PIL import Image, ImageColor

    mode, size, *cells = re.fullmatch(r"(\S+) (\d+x\d+) (\S+)", text).groups()
    width, height = map(int, size.split("x"))
    rows = [row.split("|") for row in cells[0].split("/")]
    drawn = "RGB" if mode == "P" else mode
    made = Image.new(drawn, (width, height))
    for y, row in enumerate(rows):
        for x, cell in enumerate(row):
            color = (
                ImageColor.getcolor(cell, drawn) if cell.startswith("#") else float(cell) if drawn == "F" else int(cell)
            )
            for at in range(
                y * height // len(rows), (y + 1) * height // len(rows)
            ):  # Pillow's paste into I;16 is wrong.
                for across in range(x * width // len(row), (x + 1) * width // len(row)):
                    made.putpixel((across, at), color)
    return made.quantize(len(set(sum(rows, [])))) if mode == "P" else made


def shown(kind, made):
    """Prints what a function gives: an image, or the path of a file."""
    if kind == "image":
        return _image_text(made)
    from media_files import Film

    return str(Film(made))


def _image_text(made):
    """Prints an image as the shortest text for it."""
    pixels = made.convert("RGB") if made.mode == "P" else made
    width, height = pixels.size
    grid = [[_color(pixels.getpixel((x, y))) for x in range(width)] for y in range(height)]
    columns = next(n for n in range(1, width + 1) if width % n == 0 and all(_steps(row, n) for row in grid))
    rows = next(n for n in range(1, height + 1) if height % n == 0 and _steps(grid, n))
    cells = ["|".join(row[:: width // columns]) for row in grid[:: height // rows]]
    return f"{made.mode} {width}x{height} {'/'.join(cells)}"


def _steps(values, n):
    """Whether the values are n runs of one length."""
    length = len(values) // n
    return all(one == values[k - k % length] for k, one in enumerate(values))


def _color(pixel):
    return f"#{bytes(pixel).hex()}" if type(pixel) is tuple else str(pixel)
