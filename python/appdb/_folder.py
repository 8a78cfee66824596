"""Where the library lies."""

import os

#: The folder of this package, with a separator at its end.
LIBRARY_FOLDER = os.path.dirname(os.path.abspath(__file__)) + os.sep
