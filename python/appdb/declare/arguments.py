"""Wrong arguments of public functions as errors of the library. Python's TypeError has no next step."""

from appdb.declare.declaring import Phase
from appdb.declare.errors import Error

_COPIED = ("__module__", "__name__", "__qualname__", "__doc__")


def checked(function):
    """The function, which raises Error for arguments that it does not take. In an application file, `appfile/misuse.py`
    explains Python's error."""

    def call(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            is_of_body = error.__traceback__.tb_next is not None
            if is_of_body or Phase.reading:
                raise
            from appdb.appfile.misuse import wrong_call

            raise Error(*wrong_call(error, function)) from None

    for name in _COPIED:
        setattr(call, name, getattr(function, name))
    call.__wrapped__ = function
    return call


def checked_methods(cls):
    """The class, whose public methods raise Error for arguments that they do not take."""
    for name, member in list(vars(cls).items()):
        if not name.startswith("_") and type(member) is type(checked):
            setattr(cls, name, checked(member))
    return cls
