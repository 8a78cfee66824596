"""`python -m appdb.manifest app.py`: prints what an application file declares as one JSON document on stdout.

Run by the command in the application's own environment, before every plan. Imports the file by its module path from the
project root (`--root`, by default the current folder), collects what its globals show, and checks it. On an error the
document is `{"error": {...}}` and the exit code 1. See appfile/collect.py for what is found, appfile/report.py for how errors read.
"""

import os
import sys

from appdb._streams import claim_stdout, end, forget_current_folder


def main(arguments):
    """Writes the document of one file; returns the exit code."""
    import gc

    gc.set_threshold(200_000)  # a short process that only makes things: looking for garbage as often as usual is a tenth of it
    out = claim_stdout()
    forget_current_folder()
    root, app = _parsed(arguments)
    if app is None:
        sys.stderr.write("usage: python -m appdb.manifest [--root DIR] app.py\n")
        return 2
    from appdb.appfile.bytecode import distrust_new_sources
    from appdb.appfile.json import dumps  # before the project's own modules are on the path

    distrust_new_sources()
    document, code = _document(os.path.realpath(root), app)
    data = dumps(document).encode("ascii") + b"\n"
    while data:
        data = data[os.write(out, data) :]
    return code


def _document(root, app):
    from appdb.appfile import collect
    from appdb.declare.declaring import Phase

    try:
        document = collect.manifest(root, app)
        if Phase.has_doubtful:
            from appdb.declare.changing import refuse_changing

            refuse_changing(document, root, lambda: collect.manifest(root, app))
        return document, 0
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # the application's own SystemExit among them
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
    """The whole program: what `python -m appdb.manifest` does, and the command by `-c`."""
    try:
        status = main(sys.argv[1:])
    except KeyboardInterrupt:
        status = 130
    end(status)


if __name__ == "__main__":
    run()
