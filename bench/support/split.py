"""Splits a text many times and writes the finished rows for COPY: `split.py TEXT ROWS DOCUMENTS`. Prints the seconds."""

import sys
import time
from pathlib import Path

from appdb.functions.string import string_splitter

body = Path(sys.argv[1]).read_text("utf-8")
list(string_splitter(body, "char_limit", limit=400))  # The first call imports the splitter.
began = time.perf_counter()
with Path(sys.argv[2]).open("w", encoding="utf-8") as rows:
    for number in range(int(sys.argv[3])):
        for pos, made in enumerate(string_splitter(body, "char_limit", limit=400)):
            rows.write(f"{number}\t{pos}\t{made['text']}\t{made['text'].upper()}\n")
print(time.perf_counter() - began)
