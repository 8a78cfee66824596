"""Functions of images beyond their examples: types of results, files as they are found, bad input."""

import io
import json
import os
import subprocess
import sys

import media_samples
import pytest
from conftest import LIBRARY, environment
from PIL import Image, ImageChops


HEAD = "class A(Base, name='a'):\n    picture: db.Image | None\n    grey: db.Image['L'] | None\n    n: db.Int | None\n"
TYPES = [
    ("picture.resize((256, 128))", {"size": [256, 128]}),
    ("grey.resize([8, 4])", {"size": [8, 4], "mode": "L"}),
    ("picture.resize([n, 4])", {}),
    ("picture.convert('RGB')", {"mode": "RGB"}),
    ("picture.convert('RGBa')", {}),
    ("picture.resize((8, 4)).convert('L')", {"size": [8, 4], "mode": "L"}),
    ("picture.resize((8, 4)).rotate(90)", {"size": [8, 4]}),
    ("grey.crop((1, 2, 5, 4))", {"size": [4, 2], "mode": "L"}),
    ("grey.thumbnail((8, 8))", {"mode": "L"}),
    ("grey.transpose(method=2)", {"mode": "L"}),
    ("picture.getchannel(0)", {"mode": "L"}),
    ("fn.image.blend(grey, picture, 0.5)", {"mode": "L"}),
    ("picture.quantize(16)", {}),
]


@pytest.fixture(scope="module")
def columns(tmp_path_factory):
    from conftest import Project

    body = "".join(f"    x{n} = {expression}\n" for n, (expression, _) in enumerate(TYPES))
    return Project(tmp_path_factory.mktemp("types")).columns(HEAD + body)


@pytest.mark.parametrize(("expression", "wanted"), TYPES)
def test_constants_make_the_type_of_a_result_precise(columns, expression, wanted):
    column = columns[f"x{[one for one, _ in TYPES].index(expression)}"]
    assert (column["type"], column["nullable"]) == ({"kind": "image", **wanted}, True)


WRONG = [
    ("thumbnail(256)", "thumbnail takes a size of [width, height] in pixels, both at least 1, not 256."),
    ("thumbnail(256, 1)", "thumbnail takes a size of [width, height] in pixels, both at least 1, not 256."),
    ("thumbnail('big')", "thumbnail takes a size of [width, height] in pixels, both at least 1, not 'big'."),
    ("thumbnail((256, 256, 3))", "both at least 1, not [256, 256, 3]."),
    ("thumbnail(size=(-1, 256))", "both at least 1, not [-1, 256]."),
    ("resize((8, -4))", "resize takes a size of [width, height] in pixels, both at least 1, not [8, -4]."),
    ("convert('rgb')", "convert: there is no mode 'rgb'"),
    ("convert('rgb')", "Did you mean 'RGB'?"),
    ("convert('colour')", "Write for example convert('RGB')"),
]


def test_an_argument_given_by_place_is_to_be_passed_by_name(project):
    told = project.error("class A(Base, name='a'):\n    film: db.Video\n    still = film.extract_frame(0.0)\n")
    assert told["hint"] == "Pass timestamp by name: extract_frame(timestamp=...)"


@pytest.mark.parametrize(("call", "message"), WRONG)
def test_a_constant_with_which_each_row_would_fail_is_refused(project, call, message):
    told = project.error(HEAD + f"    small = picture.{call}\n")
    assert message in f"{told['detail']} {told['hint']}", told


def test_results_have_the_types_that_the_file_says(compute):
    given = media_samples.stored("image", "RGB 16x8 #ff0000|#0000ff")
    source = "class A(Base, name='a'):\n    p: db.Image\n    s = p.resize((4, 2)).size\n    m = p.resize((4, 2)).convert('L').mode\n"
    assert compute(source, [given]) == ([{"s": "[4,2]", "m": "L"}], [None])


def test_a_declared_column_wins_over_a_property_of_its_name(project):
    columns = project.columns(
        "class A(Base, name='a'):\n    picture: db.Image\n    width = picture.width\n    size = width + 1\n"
    )
    assert columns["width"]["type"] == {"kind": "int"} and columns["size"]["computed"]["text"] == "width + 1"


def test_unknown_methods_are_answered_with_near_ones(project):
    error = project.error("class A(Base, name='a'):\n    picture: db.Image\n    x = picture.rezise((2, 2))\n")
    assert error["detail"] == "An image such as picture has no 'rezise'." and error["hint"] == "Did you mean 'resize'?"
    error = project.error("class A(Base, name='a'):\n    n: db.Int\n    x = fn.image.rotate(n, 90)\n")
    assert error["detail"] == "rotate() takes Image for 'self'; n is Int."


def test_an_image_cannot_be_a_constant(project):
    error = project.error("from PIL import Image\nclass A(Base, name='a'):\n    x = Image.new('L', (2, 2))\n")
    assert error["detail"] == "A value of the Python type Image cannot be a constant of a column."


# Files as they are found


def opened(data, tmp_path):
    from appdb.kinds.image import open_image

    path = tmp_path / "file"
    path.write_bytes(data)
    return open_image(path)


def file_of(image, format, **options):
    file = io.BytesIO()
    image.save(file, format, **options)
    return file.getvalue()


def exif(orientation):
    data = Image.Exif()
    data[0x0112] = orientation
    return data


UPRIGHT = media_samples.image("RGB 32x16 #ff0000|#0000ff")
TURNED = {
    1: UPRIGHT,
    **{
        orientation: UPRIGHT.transpose(method)
        for orientation, method in {2: 0, 3: 3, 4: 1, 5: 5, 6: 2, 7: 6, 8: 4}.items()
    },
}


@pytest.mark.parametrize("orientation", TURNED)
def test_an_image_is_seen_as_its_camera_was_held(tmp_path, orientation):
    image = opened(file_of(TURNED[orientation], "PNG", exif=exif(orientation)), tmp_path)
    assert ImageChops.difference(image, UPRIGHT).getbbox() is None
    assert (image.format, image.getexif().get(0x0112)) == ("PNG", None if orientation > 1 else 1)


@pytest.mark.filterwarnings("ignore")
def test_broken_exif_data_leave_the_pixels_as_they_are(tmp_path):
    data = bytearray(file_of(UPRIGHT, "PNG", exif=exif(6)))
    at = data.index(b"eXIf") + 4
    data[at : at + 12] = b"MM\0*\0\0\xff\xff\xff\xff\xff\xff"
    from zlib import crc32

    length = int.from_bytes(data[at - 8 : at - 4], "big")
    data[at + length : at + length + 4] = crc32(bytes(data[at - 4 : at + length])).to_bytes(4, "big")
    assert opened(bytes(data), tmp_path).size == UPRIGHT.size


@pytest.mark.parametrize("format", ["GIF", "PNG", "WEBP", "TIFF"])
def test_an_animation_is_its_first_frame(tmp_path, format):
    red, blue = (Image.new("RGB", (8, 8), color) for color in ("#ff0000", "#0000ff"))
    image = opened(file_of(red, format, save_all=True, append_images=[blue], lossless=True), tmp_path)
    assert image.convert("RGB").getpixel((4, 4)) == (255, 0, 0) and image.convert("RGB").resize((2, 2)).size == (2, 2)


def test_16_bits_stay_16_bits_until_they_are_converted(tmp_path):
    from appdb.functions import image as functions

    deep = media_samples.image("I;16 2x1 300|65535")
    image = opened(file_of(deep, "PNG"), tmp_path)
    assert image.mode == "I;16" and functions.getpixel(image, [0, 0]) == [300]
    assert functions.get_metadata(image) == {"width": 2, "height": 1, "mode": "I;16", "bits": 16, "format": "PNG"}
    for mode, wanted in {"L": [1], "RGB": [1, 1, 1], "I": [300], "F": [300.0]}.items():
        assert functions.getpixel(functions.convert(image, mode), [0, 0]) == wanted
    assert functions.resize(image, [4, 2]).mode == "I;16"


BROKEN = {
    "empty": b"",
    "text": b"hello" * 100,
    "svg": b"<svg xmlns='http://www.w3.org/2000/svg'/>",
    "head alone": file_of(UPRIGHT, "PNG")[:8],
    **{f"half of a {format}": file_of(Image.effect_noise((64, 64), 60), format)[:900] for format in ("PNG", "JPEG")},
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_file_that_is_not_a_whole_image_is_refused_without_its_path(tmp_path, name):
    with pytest.raises(ValueError, match="^the (file is not an image|file is SVG, which is not supported|image is broken)") as error:
        opened(BROKEN[name], tmp_path)
    assert str(tmp_path) not in str(error.value)


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
@pytest.mark.parametrize(
    ("side", "wanted"), [(10_000, "10000x10000 pixels"), (30_000, "more than twice the allowed pixels")]
)
def test_an_image_that_claims_too_many_pixels_is_refused_unread(tmp_path, side, wanted):
    small = file_of(Image.new("1", (1, 1)), "BMP")
    with pytest.raises(ValueError, match=f"the image has {wanted}; at most 89478485 pixels are read"):
        opened(small[:18] + side.to_bytes(4, "little") * 2 + small[26:], tmp_path)


@pytest.mark.filterwarnings("ignore")
def test_bytes_changed_at_random_give_an_image_or_an_error(tmp_path):
    from random import Random

    random = Random(7)
    noise = Image.effect_noise((24, 24), 60)
    for format in ("PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP", "ICO", "PPM"):
        whole = file_of(noise, format)
        for _ in range(60):
            data = bytearray(whole[: random.choice([len(whole), random.randrange(1, len(whole))])])
            for _ in range(random.randrange(4)):
                data[random.randrange(len(data))] = random.randrange(256)
            try:
                opened(bytes(data), tmp_path).convert("RGB")
            except ValueError as error:
                assert str(tmp_path) not in str(error)


def test_a_heic_file_is_named(tmp_path):
    from appdb.kinds.image import open_image

    file = tmp_path / "phone.jpg"
    file.write_bytes(b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + bytes(100))
    with pytest.raises(ValueError, match="^the file is HEIC, which is not supported; send PNG, JPEG or WebP$"):
        open_image(file)


SLIPS = [
    ("@db.udf\ndef f(p: Image) -> int:\n    return 1\n", "from PIL import Image\n", "Write Image.Image, or db.Image"),
    ("class A(Base, name='a'):\n    n: db.Int\n    total = sum(n)\n", "", "Write: from appdb.functions import sum. "),
]


@pytest.mark.parametrize(("source", "imports", "hint"), SLIPS)
def test_a_forgotten_name_of_an_import_is_named(project, source, imports, hint):
    from conftest import HEAD as IMPORTS

    assert project.error(imports + IMPORTS + source, head="")["hint"].startswith(hint)


# What functions make


def test_a_function_leaves_its_image_as_it_is():
    from appdb.functions import image as functions

    for name, args in {
        "thumbnail": ([4, 4],),
        "resize": ([2, 2],),
        "rotate": (45,),
        "point": (list(range(255, -1, -1)),),
    }.items():
        before = UPRIGHT.tobytes()
        assert getattr(functions, name)(UPRIGHT, *args) is not UPRIGHT and UPRIGHT.tobytes() == before


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB", "RGBA", "CMYK", "LAB", "I", "F", "LA", "I;16"])
def test_an_image_of_each_mode_is_stored_in_a_format_that_holds_it(tmp_path, monkeypatch, mode):
    from appdb.kinds.image import Made, open_image

    monkeypatch.setenv("APPDB_SCRATCH", os.fspath(tmp_path))
    wire = Made(Image.new(mode, (5, 3))).to_wire()
    wire = json.loads(wire) if isinstance(wire, str) else wire
    image = open_image(wire["path"])
    assert (image.mode, image.size, f"image/{image.format.lower()}") == (mode, (5, 3), wire["type"])
    assert os.path.dirname(wire["path"]) == os.fspath(tmp_path)


def test_a_mode_that_no_format_holds_is_an_error():
    from appdb.kinds.image import Made

    with pytest.raises(ValueError, match="an image of mode HSV cannot be stored; convert it first"):
        Made(Image.new("HSV", (2, 2))).to_wire()


BAD = [
    ("resize", [[0, 5]], "resize takes a size of [width, height] in pixels, both at least 1, not [0, 5]"),
    ("resize", [[True, 5]], "resize takes a size of [width, height] in pixels, both at least 1, not [True, 5]"),
    ("resize", ["wide"], "resize takes a size of [width, height] in pixels, both at least 1, not 'wide'"),
    ("resize", [[10**5, 10**5]], "resize would make 100000x100000 pixels; at most 89478485 are allowed"),
    ("crop", [[0, 0, 33, 16]], "the box [0, 0, 33, 16] is empty or not inside the image of 32x16"),
    ("crop", [[-1, 0, 3, 3]], "the box [-1, 0, 3, 3] is empty or not inside the image of 32x16"),
    ("crop", [[3, 3, 3, 4]], "the box [3, 3, 3, 4] is empty or not inside the image of 32x16"),
    ("getpixel", [[32, 0]], "the pixel [32, 0] is not inside the image of 32x16"),
    ("getchannel", [3], "an image of mode RGB has the channels 0 to 2, not 3"),
    ("b64_encode", ["x" * 99], f"there is no image format '{'x' * 40}'; the formats are "),
    ("quantize", [0], "quantize takes 1 to 256 colors, not 0"),
    ("transpose", [-1], "transpose takes a method from 0 to 6, not -1"),
    ("thumbnail", [[5, 5], 6], "thumbnail takes resample 0 nearest, "),
    ("convert", ["rgb"], "convert: there is no mode 'rgb'; the modes are "),
]


@pytest.mark.parametrize(("name", "args", "message"), BAD)
def test_a_bad_argument_is_named(name, args, message):
    from appdb.functions import image as functions

    with pytest.raises(ValueError) as error:
        getattr(functions, name)(UPRIGHT, *args)
    assert str(error.value).startswith(message) and len(str(error.value)) < 600


# Packages


LARGE = """
import resource, sys, time
from PIL import Image
from appdb.kinds import rules
path = sys.argv[1]
Image.new("RGB", (8000, 6250), "orange").save(path, quality=50)
from appdb.functions import image
from appdb.kinds.image import CheckedImage, open_image
used = int(open("/proc/self/statm").read().split()[5]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_DATA, (used + (512 << 20),) * 2)
decode = rules("image").decoder({"kind": "image"})
checked = CheckedImage(open_image(path), path)
print(image.FUNCTIONS["thumbnail"].python(decode(checked), [256, 256]).size)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux counts the memory of a worker")
def test_a_thumbnail_of_50_megapixels_fits_into_the_memory_of_a_worker(tmp_path):
    code, env = [sys.executable, "-c", LARGE, str(tmp_path / "large.jpg")], {**environment(), "PYTHONPATH": LIBRARY}
    ran = subprocess.run(code, capture_output=True, text=True, env=env)
    assert (ran.stdout, ran.stderr) == ("(256, 200)\n", "")


def test_bytes_that_a_function_returns_are_told_what_is_taken():
    from appdb.kinds import rules
    from appdb.values import WrongType

    with pytest.raises(WrongType, match="expected PIL.Image.Image or the path of an image, got bytes"):
        rules("image").encoder({"kind": "image"})(b"\x89PNG")
