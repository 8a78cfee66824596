"""Whether calls of functions are being declared (in a model's body) or run (in the worker, in a test)."""


class Phase:
    """`bodies` counts the class bodies that are being executed; `running` is set by the worker.

    `has_doubtful`: some constant may be another one when the file is read again (declare/changing.py).
    """

    bodies = 0
    running = False
    has_doubtful = False
