"""Files of video and audio for tests, from texts as in media_samples.py; and their description."""

import math
import re
from fractions import Fraction

RATE = 8_000


def write(kind, path, text):
    """Writes the file of a sample."""
    tone = re.search(r"(\d+)Hz", text)
    if kind == "audio":
        seconds = float(text.split("s", 1)[0])
        _write(path, None, seconds, int(tone[1]) if tone else 0)
        return
    size, frames, rate = re.match(r"(\d+x\d+) (\d+)@(\d+)", text).groups()
    width, height = map(int, size.split("x"))
    video = (width, height, int(frames), int(rate))
    _write(path, video, int(frames) / int(rate), int(tone[1]) if tone else None)


def _write(path, video, seconds, tone):
    import av

    with av.open(path, "w") as container:
        pictures = sounds = None
        if video is not None:
            pictures = container.add_stream("libx264", rate=video[3], options={"crf": "10"})
            pictures.width, pictures.height, pictures.pix_fmt = video[0], video[1], "yuv420p"
            pictures.codec_context.gop_size = max(1, video[3] // 2)
        if tone is not None:
            sounds = container.add_stream("pcm_s16le" if path.endswith(".wav") else "aac", rate=RATE, layout="mono")
        for number in range(video[2] if video is not None else 0):
            container.mux(pictures.encode(frame(number, *video)))
        if pictures is not None:
            container.mux(pictures.encode())
        if tone is not None:
            total = round(seconds * RATE)
            for at in range(0, total, 1024):
                container.mux(sounds.encode(_sound(at, min(1024, total - at), tone)))
            container.mux(sounds.encode())


def frame(number, width, height, frames, rate):
    """A frame that gets lighter with time: grey on the left, with a red square on the right."""
    import av
    from PIL import Image

    level = 40 + 160 * number // max(1, frames - 1)
    image = Image.new("RGB", (width, height), (level, level, level))
    image.paste((220, 30, 30), (width * 3 // 4, height // 4, width, height * 3 // 4))
    made = av.VideoFrame.from_image(image)
    made.pts, made.time_base = number, Fraction(1, rate)
    return made


def _sound(at, count, tone):
    import array

    import av

    samples = array.array("h", (round(12_000 * math.sin(2 * math.pi * tone * n / RATE)) for n in range(at, at + count)))
    made = av.AudioFrame(format="s16", layout="mono", samples=count)
    made.planes[0].update(samples.tobytes() + bytes(made.planes[0].buffer_size - 2 * count))
    made.sample_rate, made.pts, made.time_base = RATE, at, Fraction(1, RATE)
    return made


class Film:
    """What is inside of a file: size, times and grey levels of its frames, length, rate and loudness of its sound."""

    def __init__(self, path):
        import av

        self.path = path
        self.size, self.times, self.levels, self.seconds = None, [], [], None
        self.sound, self.sound_rate, self.loudness = None, None, []
        with av.open(path) as container:
            if container.streams.video:
                stream = container.streams.video[0]
                self.codec, self.format = stream.codec_context.name, stream.codec_context.pix_fmt
                for one in container.decode(stream):
                    image = one.to_image()
                    self.size = image.size
                    self.times.append(round(one.time, 4))
                    self.levels.append(image.convert("L").getpixel((image.width // 4, image.height // 2)))
                self.seconds = float(stream.duration * stream.time_base) if stream.duration else None
        with av.open(path) as container:
            if container.streams.audio:
                stream = container.streams.audio[0]
                self.sound_codec, self.sound_rate = stream.codec_context.name, stream.codec_context.sample_rate
                resampler = av.AudioResampler("s16", "mono", self.sound_rate)
                samples = []
                for one in [*container.decode(stream), None]:
                    for part in resampler.resample(one):
                        samples += memoryview(bytes(part.planes[0])[: 2 * part.samples]).cast("h").tolist()
                self.sound = len(samples) / self.sound_rate
                step = self.sound_rate // 10
                self.loudness = [
                    round((sum(n * n for n in samples[at : at + step]) / step) ** 0.5 / 32768, 2)
                    for at in range(0, len(samples) - step + 1, step)
                ]

    def __str__(self):
        """Like the text of a sample, with `sound` for any tone."""
        parts = []
        if self.size is not None:
            rate = (len(self.times) - 1) / (self.times[-1] - self.times[0]) if len(self.times) > 1 else 0
            parts.append(f"{self.size[0]}x{self.size[1]} {len(self.times)}@{round(rate)}")
        if self.sound is not None:
            parts.append(f"{self.sound:.1f}s" if self.size is None else "sound")
        return " ".join(parts)
