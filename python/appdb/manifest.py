"""`python -m appdb.manifest app.py`: prints the declarations of an application file as one JSON document on stdout.

The command runs it in the application's own environment before every plan. It imports the file by its module path
from the project root (`--root`, by default the current folder), collects the declarations in its globals, and checks
them. On an error the document is `{"error": {...}}` and the exit code 1. See appfile/collect.py for the collection
and appfile/report.py for the errors.
"""

import os
import sys

from appdb._streams import claim_stdout, end, forget_current_folder


def main(arguments):
    """Writes the document of one file; returns the exit code."""
    import gc

    gc.set_threshold(200_000)  # Many allocations: usual garbage collection would take a tenth of the time.
    out = claim_stdout()
    forget_current_folder()
    root, app = _parsed(arguments)
    if app is None:
        sys.stderr.write("usage: python -m appdb.manifest [--root DIR] app.py\n")
        return 2
    from appdb.appfile.bytecode import distrust_new_sources
    from appdb.appfile.json import dumps  # Before the project's own modules are on the path.

    distrust_new_sources()
    document, code = _document(os.path.realpath(root), app)
    data = dumps(document).encode("ascii") + b"\n"
    while data:
        data = data[os.write(out, data) :]
    return code


def _document(root, app):
    from appdb.appfile import collect
    from appdb.declare.declaring import Phase

    Phase.reading = True
    try:
        document = collect.manifest(root, app)
        if Phase.has_doubtful:
            from appdb.declare.changing import refuse_changing

            refuse_changing(document, root, lambda: collect.manifest(root, app))
        return document, 0
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # Includes the application's own SystemExit.
        from appdb.appfile import report

        return {"error": report.error_document(error, root, app)}, 1


def _parsed(arguments):
    root, app = ".", None
    rest = iter(arguments)
    for argument in rest:
        if argument == "--root":
            root = next(rest, ".")
        elif argument.startswith("--root="):
            root = argument[len("--root=") :]
        elif app is None:
            app = argument
        else:
            return root, None
    return root, app


def run():
    """The whole program, for `python -m appdb.manifest`, and for the command by `-c`."""
    try:
        status = main(sys.argv[1:])
    except KeyboardInterrupt:
        status = 130
    end(status)


if __name__ == "__main__":
    run()
