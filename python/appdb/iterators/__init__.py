"""Iterators: functions that make rows of one row, for views (`iterator=` of a model).

Those of the library are in the modules of their types: `from appdb.functions.document import document_splitter`. Those
of the application are marked `@db.iterator`. The classes of other systems are refused with what to write.
"""


def __getattr__(name):
    if name.startswith("_"):
        raise AttributeError(name)
    from appdb.iterators.deprecated import named

    return named(name)
