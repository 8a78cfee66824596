"""Graphs of FFmpeg's filters in PyAV, from the text that FFmpeg's own command takes: `scale=640:360,hflip`."""

# Filters that read files or addresses, whatever their options are.
_OUTSIDE = frozenset(("movie", "amovie"))


class Graph:
    """A filter graph: frames go in at `push`, and what they become comes out."""

    def __init__(self, text, sources, sink="buffersink"):
        """`sources` has a function for each input, which adds its buffer to a graph of PyAV."""
        import av.filter

        self._graph = av.filter.Graph()
        self.inputs = [source(self._graph) for source in sources]
        ends = _joined(self._graph, text, self.inputs)
        if len(ends) != 1:
            raise ValueError(f"the filters {text!r} leave {len(ends)} outputs; one is needed")
        node, pad = ends[0]
        self._sink = self._graph.add(sink)
        try:
            node.link_to(self._sink, pad, 0)
            self._graph.configure()
        except (av.error.FFmpegError, ValueError) as error:
            raise ValueError(f"the filters {text!r} do not fit together: {error}") from None

    def push(self, frame, place=0):
        """Gives a frame, or None at the end of an input; yields the frames that are ready."""
        self.inputs[place].push(frame)
        yield from self.rest()

    def rest(self):
        """Yields the frames that are ready."""
        import av

        while True:
            try:
                yield self._sink.pull()
            except (av.error.BlockingIOError, av.error.EOFError):
                return


def _joined(graph, text, inputs):
    """Adds the filters of a text to a graph, and links them. Returns the outputs that are still open."""
    labels = {f"in{number}" if number else "in": (one, 0) for number, one in enumerate(inputs)}
    ends = []
    for place, chain in enumerate(_parsed(text)):
        ready = []
        for filter, options, ins, outs in chain:
            if not (ins or ready) and place == 0 and "in" in labels:
                ins = ["in"]
            node = _added(graph, filter, options)
            ready = [_taken(labels, label, text) for label in ins] + ready
            for number, (source, pad) in enumerate(ready):
                source.link_to(node, pad, number)
            ready = [(node, number) for number in range(len(node.outputs))]
            labels |= dict(zip(outs, ready))
            ready = ready[len(outs) :]
        ends += ready
    return [*ends, *labels.values()]


def _taken(labels, label, text):
    if label not in labels:
        raise ValueError(f"the filters {text!r} use [{label}], which is not an output that is still free")
    return labels.pop(label)


def _parsed(text):
    """Chains of (filter, options, input labels, output labels): FFmpeg's syntax with quotes and escapes."""
    chains, at = [[]], 0
    while at < len(text):
        ins, at = _labels(text, at)
        name, at = _token(text, at, "=[],;")
        options = None
        if text[at : at + 1] == "=":
            options, at = _token(text, at + 1, "[],;")
        outs, at = _labels(text, at)
        if not name.isidentifier():
            raise ValueError(f"the filters {text!r} have no name of a filter where {name!r} is")
        chains[-1].append((name, options, ins, outs))
        if text[at : at + 1] == ";":
            chains.append([])
        elif at < len(text) and text[at] != ",":
            raise ValueError(f"the filters {text!r} have {text[at]!r} where a comma or semicolon is due")
        at += 1
    return [chain for chain in chains if chain]


def _labels(text, at):
    labels = []
    while text[at:].lstrip().startswith("["):
        start, end = text.index("[", at) + 1, text.find("]", at)
        if end < 0:
            raise ValueError(f"the filters {text!r} have a label without its end")
        labels.append(text[start:end])
        at = end + 1
    return labels, at + (len(text[at:]) - len(text[at:].lstrip()))


def _token(text, at, ends):
    """The text up to one of the ends that is neither quoted nor escaped, without its quotes and escapes."""
    found, start = "", at
    while at < len(text) and text[at] not in ends:
        if text[at] == "\\" and at + 1 < len(text):
            found += text[at + 1]
            at += 2
        elif text[at] == "'" and text.find("'", at + 1) > 0:
            end = text.index("'", at + 1)
            found += text[at + 1 : end]
            at = end + 1
        else:
            found += text[at]
            at += 1
    return (found.strip() if found == text[start:at] else found), at


def _added(graph, filter, options):
    import av.filter

    if filter in _OUTSIDE:
        raise ValueError(f"the filter '{filter}' reads other files, and cannot be used")
    if filter not in av.filter.filters_available:
        raise ValueError(f"PyAV {av.__version__} has no filter '{filter}'")
    try:
        return graph.add(filter, options) if options else graph.add(filter)
    except (av.error.FFmpegError, ValueError) as error:
        raise ValueError(f"the filter '{filter}' does not take {options!r}: {error}") from None
