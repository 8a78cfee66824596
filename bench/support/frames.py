"""The limit of frames: PyAV alone decodes a film and keeps the first frame of each second. Prints seconds for a film."""

import sys
import time

import av

began, count = time.perf_counter(), 0
while (seconds := time.perf_counter() - began) < float(sys.argv[2]) or count == 0:
    with av.open(sys.argv[1]) as container:
        stream = container.streams.video[0]
        stream.thread_type = "AUTO"
        found, following = [], 0
        for frame in container.decode(stream):
            if frame.time >= following:
                found.append((frame.pts, frame.time, frame.key_frame))
                following += 1
    assert len(found) == 60, len(found)
    count += 1
print(count / seconds)
