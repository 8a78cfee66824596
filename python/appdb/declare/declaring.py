"""Whether function calls are being declared (in a model's body) or run (in the worker, in a test)."""

import sys

#: A flag of code objects: that of a function, whose locals are no namespace. The module `inspect` loads slowly.
_CO_OPTIMIZED = 1


class Phase:
    """The worker sets `running`.

    `reading`: an application file is being read for its manifest.
    `declaring` counts calls that declare outside of class bodies.
    `has_doubtful`: a constant may differ when the file is read again (declare/changing.py).
    """

    running = False
    reading = False
    declaring = 0
    has_doubtful = False
    _bodies = []  # The namespaces of class bodies that have begun. A body that failed stays.

    @classmethod
    def begin_body(cls, namespace):
        """Called before the body of a model is executed in this namespace."""
        cls._bodies.append(namespace)

    @classmethod
    def end_body(cls, namespace):
        """Called when it has been executed."""
        cls._bodies = [body for body in cls._bodies if body is not namespace]

    @classmethod
    def in_body(cls):
        """Whether the caller runs in the body of a model. A body that failed, in a cell of a notebook, does not count."""
        if cls.declaring:
            return True
        frame = sys._getframe(1) if cls._bodies else None
        while frame is not None:
            is_class_or_module = not frame.f_code.co_flags & _CO_OPTIMIZED
            if is_class_or_module and any(frame.f_locals is body for body in cls._bodies):
                return True
            frame = frame.f_back
        return False
