"""The folder of the library."""

import os

# The folder of this package, with a trailing separator.
LIBRARY_FOLDER = os.path.dirname(os.path.abspath(__file__)) + os.sep
