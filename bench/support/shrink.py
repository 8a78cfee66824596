"""The limit of thumbnails: Pillow alone decodes, resizes and encodes one image again and again."""

import sys
import time
from io import BytesIO

from PIL import Image

with open(sys.argv[1], "rb") as file:
    content = file.read()
began, count = time.perf_counter(), 0
while (seconds := time.perf_counter() - began) < float(sys.argv[2]):
    image = Image.open(BytesIO(content))
    image.load()
    image.resize((256, 256)).save(BytesIO(), "jpeg")
    count += 1
print(count / seconds)
