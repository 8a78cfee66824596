from appdb import UUID

def uuid4() -> UUID:
    """A random UUID."""

def uuid7() -> UUID:
    """A UUID that sorts by the time of its making."""
