"""Imports by name."""

import sys


def load(name):
    """Returns the module of a dotted name, like importlib.import_module, which itself takes a millisecond to load."""
    __import__(name)
    return sys.modules[name]
