"""Whether function calls are being declared (in a model's body) or run (in the worker, in a test)."""


class Phase:
    """`bodies` counts the class bodies in execution; the worker sets `running`.

    `reading`: an application file is being read for its manifest.
    `has_doubtful`: a constant may differ when the file is read again (declare/changing.py).
    """

    bodies = 0
    running = False
    reading = False
    has_doubtful = False
