"""Makes a file of the iterators benchmark: `make-media.py film|movie|paper PATH BYTES`.

A film has 60 s of moving shapes, and its size is what the encoder makes. A movie repeats two seconds of noise, as often as
they fit. A paper is a PDF of pages with a line of text and an image of noise that fills it.
"""

import sys
from fractions import Fraction

import numpy
from av import VideoFrame
from av import open as open_media

RATE = 25


def film(path, _bytes):
    """1500 frames of 640 x 360."""
    y, x = numpy.mgrid[0:360, 0:640]
    with open_media(path, "w") as container:
        stream = _stream(container, 640, 360, {"preset": "superfast"})
        for number in range(60 * RATE):
            plane = (x + 3 * number) // 64 * 40 + (y + number) // 64 * 20
            picture = numpy.stack([plane, plane + number, plane >> 1], axis=2).astype("uint8")
            container.mux(stream.encode(VideoFrame.from_ndarray(picture, "rgb24")))
        container.mux(stream.encode(None))


def movie(path, size):
    """The packets of two seconds again and again, each time two seconds later."""
    noise = numpy.random.default_rng(1)
    with open_media(path, "w") as container:
        stream = _stream(container, 1280, 720, {"preset": "ultrafast", "qp": "8", "bf": "0", "tune": "zerolatency"})
        packets = []
        for _ in range(2 * RATE):
            picture = noise.integers(0, 256, (720, 1280, 3), dtype="uint8")
            packets += stream.encode(VideoFrame.from_ndarray(picture, "rgb24"))
        packets += stream.encode(None)
        contents = [(bytes(one), one.pts, one.dts, one.is_keyframe, one.time_base) for one in packets]
        for times in range(max(1, size // sum(len(content) for content, *_ in contents))):
            for content, pts, dts, is_key, base in contents:
                packet = type(packets[0])(content)
                shift = int(2 * times / base)
                packet.pts, packet.dts, packet.time_base, packet.stream = pts + shift, dts + shift, base, stream
                packet.is_keyframe = is_key
                container.mux(packet)


def paper(path, size):
    """Pages of about a megabyte."""
    noise = numpy.random.default_rng(1)
    pages = max(1, size // 1_000_000)
    places = []
    with open(path, "wb") as file:

        def add(body):
            places.append(file.tell())
            file.write(b"%d 0 obj\n%b\nendobj\n" % (len(places), body))

        file.write(b"%PDF-1.4\n")
        kids = b" ".join(b"%d 0 R" % (4 + 3 * number) for number in range(pages))
        add(b"<</Type/Catalog/Pages 2 0 R>>")
        add(b"<</Type/Pages/Count %d/Kids[%b]>>" % (pages, kids))
        add(b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>")
        for number in range(pages):
            own = 4 + 3 * number
            fonts = b"/Font<</F 3 0 R>>/XObject<</I %d 0 R>>" % (own + 2)
            add(
                b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents %d 0 R/Resources<<%b>>>>" % (own + 1, fonts)
            )
            text = b"BT /F 12 Tf 50 750 Td (Page %d of a long document) Tj ET q 500 0 0 500 50 50 cm /I Do Q" % number
            add(b"<</Length %d>>stream\n%b\nendstream" % (len(text), text))
            image = noise.bytes(1_000_000)
            facts = b"/Type/XObject/Subtype/Image/Width 1000/Height 1000/BitsPerComponent 8/ColorSpace/DeviceGray"
            add(b"<<%b/Length %d>>stream\n%b\nendstream" % (facts, len(image), image))
        table = file.tell()
        file.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(places) + 1))
        file.write(b"".join(b"%010d 00000 n \n" % place for place in places))
        file.write(b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (len(places) + 1, table))


def _stream(container, width, height, options):
    stream = container.add_stream("libx264", rate=RATE, options=options)
    stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
    stream.time_base = Fraction(1, RATE)
    return stream


{"film": film, "movie": movie, "paper": paper}[sys.argv[1]](sys.argv[2], int(sys.argv[3]))
