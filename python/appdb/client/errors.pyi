from .. import Error

class NotFoundError(Error):
    """A table, column, row or database does not exist."""

class ConflictError(Error):
    """The state of the database does not allow the request."""

class AccessError(Error):
    """The credential is missing, or does not allow the request."""

class UnavailableError(Error):
    """The server or the database does not answer. The request may succeed later."""
