"""Several videos in one, other audio for a video, and a video taken apart."""

import os
from fractions import Fraction

from appdb.media.films import clipped, seconds_of
from appdb.media.filters import Graph
from appdb.media.streams import Facts, at_time, exact, picture_source, pictures, sound_source, sounds
from appdb.media.writing import encoded_audio, kept_audio, replaced_audio, save_video

MAX_SEGMENTS = 10_000
REVERSED_SECONDS = 600  # Of audio, which is reversed in memory.
_WINDOW_BYTES = 64 << 20  # Of frames that are reversed at once.


def concatenated(paths, encoder, args):
    facts = [Facts(path) for path in paths]
    lengths = [seconds_of(path, "concat_videos") for path in paths]
    first, fit = facts[0], _fitting(facts[0])

    def frames():
        begin = Fraction(0)
        for path, length in zip(paths, lengths):
            for frame in pictures(path, fit):
                yield at_time(frame, begin + frame.pts * frame.time_base)
            begin += exact(length)

    form = next((sound_form(path) for path, one in zip(paths, facts) if one.has_audio), None)

    def samples():
        begin = 0
        for path, one, length in zip(paths, facts, lengths):
            whole = f"apad,atrim=0:{length},asetpts=N/SR/TB"
            part = sounds(path, f"{_in_form(form)},{whole}") if one.has_audio else _silence(form, length)
            for frame in part:
                count, frame.pts = frame.samples, begin
                frame.time_base = Fraction(1, form[0])
                yield frame
                begin += count

    audio = None if form is None else encoded_audio(samples())
    return save_video(frames(), first.rate, audio, encoder, args)


def _fitting(facts):
    """Filters that fit frames into those of another video."""
    size = f"{facts.width}:{facts.height}"
    bars = f"pad={size}:(ow-iw)/2:(oh-ih)/2"
    return f"scale={size}:force_original_aspect_ratio=decrease,{bars},setsar=1,format=yuv420p"


def sound_form(path, what="video"):
    """(sample rate, "fltp", layout) of the audio of a file, to which other audio is converted."""
    frame = next(sounds(path, "aformat=sample_fmts=fltp", what=what), None)
    if frame is None:
        raise ValueError("the audio has no content")
    return frame.sample_rate, "fltp", frame.layout.name


def _in_form(form):
    return f"aresample={form[0]},aformat=sample_fmts=fltp:channel_layouts={form[2]}"


def _silence(form, seconds):
    rate, _, layout = form
    graph = Graph(f"anullsrc=r={rate}:cl={layout},atrim=0:{seconds},aformat=sample_fmts=fltp", [], "abuffersink")
    return graph.rest()


def crossed(first, second, effect, duration, encoder, args):
    if not effect.isalnum():
        raise ValueError(f"transition takes the name of an effect, not {effect[:40]!r}")
    one, other = Facts(first), Facts(second)
    lengths = seconds_of(first, "transition"), seconds_of(second, "transition")
    if not 0 < duration <= min(lengths):
        raise ValueError(
            f"transition takes a duration within both videos ({lengths[0]:g} and {lengths[1]:g} s), not {duration}"
        )
    begin, fit = exact(lengths[0] - duration), _fitting(one)
    both = Graph(
        f"[in]fps={one.rate}[a];[in1]fps={one.rate}[b];[a][b]xfade=transition={effect}:duration={duration}:offset=0",
        [picture_source(one.width, one.height, "yuv420p"), picture_source(one.width, one.height, "yuv420p")],
    )

    def frames():
        for frame in pictures(first, fit, stop=begin):
            yield at_time(frame, frame.pts * frame.time_base)
        for frame in _paired(both, pictures(first, fit, begin), pictures(second, fit)):
            yield at_time(frame, begin + frame.pts * frame.time_base)

    audio = None
    if one.has_audio and other.has_audio:
        form = sound_form(first)
        sound = Graph(
            f"[in][in1]acrossfade=d={duration},atrim=0:{sum(lengths) - duration}",
            [sound_source(*form), sound_source(*form)],
            "abuffersink",
        )
        audio = encoded_audio(_in_order(sound, *(sounds(path, _in_form(form)) for path in (first, second))))
    return save_video(frames(), one.rate, audio, encoder, args)


def _paired(graph, *parts):
    """Gives frames of all parts in turn to the inputs of a graph; yields what comes out."""
    open_parts = dict(enumerate(map(iter, parts)))
    while open_parts:
        for place, part in list(open_parts.items()):
            frame = next(part, None)
            if frame is None:
                del open_parts[place]
            else:
                frame = at_time(frame, frame.pts * frame.time_base)
            yield from graph.push(frame, place)


def _in_order(graph, *parts):
    """Gives the frames of one part after those of another to the inputs of a graph; yields what comes out."""
    for place, part in enumerate(parts):
        for frame in part:
            yield from graph.push(frame, place)
        yield from graph.push(None, place)


def dubbed(path, audio, video_range, audio_range):
    (start, length), (sound_start, sound_length) = video_range, audio_range
    if not (start >= 0 and sound_start >= 0):
        raise ValueError(f"with_audio takes start times from 0 seconds on, not {start} and {sound_start}")
    if not all(one is None or one > 0 for one in (length, sound_length)):
        raise ValueError(f"with_audio takes durations above 0 seconds, not {length} and {sound_length}")
    facts, whole = Facts(path), seconds_of(path, "with_audio")
    if start >= whole:
        raise ValueError(f"the video has {whole:g} s and does not reach video_start_time {start}")
    shown = whole - start if length is None else min(length, whole - start)
    heard = shown if sound_length is None else min(shown, sound_length)
    sound = encoded_audio(sounds(audio, start=sound_start, stop=exact(sound_start) + exact(heard), what="audio"))
    if start == 0 and shown == whole:
        return replaced_audio(path, sound)
    return save_video(pictures(path, start=start, stop=start + shown), facts.rate, sound)


def mixed(path, audio, volumes, start, ending, encoder, args):
    mode, is_normalized, fading, align = ending
    if not start >= 0 or not fading >= 0 or not all(0 <= one <= 1_000 for one in volumes):
        raise ValueError(
            "mix_audio takes volumes from 0 to 1000, and an audio_start_time and dropout_transition of at least 0"
        )
    if mode not in ("longest", "first", "shortest") or align not in ("trim", "pad", "none"):
        raise ValueError(
            "mix_audio takes mix_duration longest, first or shortest and align_to_video trim, pad or none, "
            f"not {mode[:40]!r} and {align[:40]!r}"
        )
    if not Facts(path).has_audio:
        raise ValueError("mix_audio takes a video with audio; use with_audio for a silent one")
    length = seconds_of(path, "mix_audio")
    end = {"trim": f",atrim=0:{length}", "pad": f",apad,atrim=0:{length}", "none": ""}[align]
    form = sound_form(path)
    graph = Graph(
        f"[in]volume={volumes[0]}[a];[in1]volume={volumes[1]},adelay={round(start * 1000)}:all=1[b];"
        f"[a][b]amix=inputs=2:duration={mode}:normalize={int(is_normalized)}:dropout_transition={fading}{end}",
        [sound_source(*form), sound_source(*form)],
        "abuffersink",
    )
    sound = encoded_audio(_by_time(graph, sounds(path, _in_form(form)), sounds(audio, _in_form(form), what="audio")))
    if encoder is None and args is None:
        return replaced_audio(path, sound)
    return save_video(pictures(path), Facts(path).rate, sound, encoder, args)


def _by_time(graph, *parts):
    """Gives the frames of all parts by their times to the inputs of a graph; yields what comes out."""
    parts = [iter(part) for part in parts]
    heads = {place: next(part, None) for place, part in enumerate(parts)}
    while heads:
        place = min(heads, key=lambda one: -1 if heads[one] is None else heads[one].time)
        frame = heads[place]
        yield from graph.push(frame, place)
        if frame is None:
            del heads[place]
        else:
            heads[place] = next(parts[place], None)


def reversed_video(path, audio, encoder, args):
    if audio not in ("drop", "reverse", "keep"):
        raise ValueError(f"reverse takes audio 'drop', 'reverse' or 'keep', not {audio[:40]!r}")
    facts, length, sound = Facts(path), seconds_of(path, "reverse"), None
    if audio == "keep":
        sound = kept_audio(path)
    elif audio == "reverse" and facts.has_audio:
        if length > REVERSED_SECONDS:
            raise ValueError(
                f"reverse turns at most {REVERSED_SECONDS} s of audio around, not {length:g} s; drop or keep it"
            )
        sound = encoded_audio(sounds(path, "aformat=sample_fmts=s16,areverse"))
    return save_video(_backwards(path, facts), facts.rate, sound, encoder, args)


def _backwards(path, facts):
    """The frames from the last to the first, some at once: all would not fit into memory."""
    times = [frame.pts * frame.time_base for frame in pictures(path)]
    end = times[-1] + 1 / facts.rate
    many = max(8, _WINDOW_BYTES // (facts.width * facts.height * 2))
    for first in reversed(range(0, len(times), many)):
        stop = times[first + many] if first + many < len(times) else None
        ends = [*times[first + 1 : first + many], end if stop is None else stop]
        frames = list(pictures(path, "format=yuv420p", times[first], stop))
        for frame, until in reversed(list(zip(frames, ends))):
            yield at_time(frame, end - until)


def segments(path, duration, times, mode, encoder, args):
    if (duration is None) == (times is None):
        raise ValueError("segment_video takes duration or segment_times")
    length = seconds_of(path, "segment_video")
    if duration is not None:
        if not duration > 0 or length / duration > MAX_SEGMENTS:
            raise ValueError(f"segment_video takes a duration that makes 1 to {MAX_SEGMENTS} parts, not {duration}")
        cuts = [number * duration for number in range(1, int(length / duration) + 1)]
    else:
        cuts = times
        is_rising = type(cuts) is list and all(type(one) in (int, float) for one in cuts)
        if not is_rising or not cuts or cuts[0] <= 0 or any(b <= a for a, b in zip(cuts, cuts[1:])):
            raise ValueError(f"segment_video takes segment_times above 0 that rise, not {str(cuts)[:80]}")
    starts = [0.0, *(float(one) for one in cuts if length - one > 1e-6)]
    ends = [*starts[1:], length]
    found = []
    try:
        for start, end in zip(starts, ends):
            path_of_part = clipped(path, start, None if end == length else end, None, mode, encoder, args)
            found.append({"segment_start": start, "segment_end": end, "video_segment": path_of_part})
    except BaseException:
        for one in found:
            os.unlink(one["video_segment"])
        raise
    return found
