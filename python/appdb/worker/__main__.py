"""`python -m appdb.worker`: a long-lived process that computes columns with the application's functions.

The engine (packages/python-runtime/src/workers) starts it and sends frames over inherited pipes;
packages/contract/src/worker-protocol.ts defines the frames. One thread computes, row by row. A second one wakes
every few milliseconds to send finished results and to name slow rows (worker/watching.py). Async and batched
functions, and those in a pool, run in an event loop's thread (worker/flow.py).
"""

import os
import sys

from appdb._streams import claim_stdout, end, forget_current_folder

PROTOCOL = 1


def main():
    """Serves frames until the input ends; returns the exit code."""
    source = os.dup(0)
    out = claim_stdout()
    forget_current_folder()
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    _outlive_nobody()

    # Loaded only now: its output must not reach the engine.
    from appdb.worker.frames import FrameReader, FrameWriter

    reader, writer = FrameReader(source), FrameWriter(out)
    init = reader.read()
    if init is None:
        return 0
    if not _start(init, writer, reader):
        return 1
    if init["http"] is not None:
        from appdb.http.worker import HttpWorker

        HttpWorker.current.serve()
        return 0

    from appdb.worker.running import Runner

    Runner(writer, init["project_root"], init["function_timeout_ms"] / 1000).serve(reader)
    return 0


def _start(init, writer, reader):
    from appdb.appfile.bytecode import distrust_new_sources
    from appdb.declare.declaring import Phase
    from appdb.worker.failures import worker_error

    if init["protocol"] != PROTOCOL:
        error = RuntimeError(f"the worker speaks protocol {PROTOCOL}, the engine {init['protocol']}")
        writer.write({"t": "failed", "error": worker_error("worker", error, init["project_root"], "import")})
        return False
    distrust_new_sources()
    root = init["project_root"]
    sys.path[:] = [root, *(entry for entry in sys.path if entry not in ("", root))]
    missing, module = {}, ""
    try:
        from appdb._imports import load
        from appdb.worker.loading import described, is_missing

        for module in init["modules"]:
            try:
                load(module)
            except ModuleNotFoundError as error:
                if not is_missing(module, error):
                    raise
                missing[module] = worker_error(module, error, root, "missing")
    except BaseException as error:  # Includes SystemExit: the application ended the import.
        writer.write({"t": "failed", "error": worker_error(module, error, root, "import")})
        return False
    if init["http"] is not None and not _open_http(init, writer, reader):
        return False
    deferred = sys.modules.get("appdb.declare.deferred")
    if deferred is not None:
        deferred.forget()
    Phase.running = True
    _limit_memory(init["memory_bytes"])
    from appdb.declare import pools

    writer.write(
        {
            "t": "ready",
            "protocol": PROTOCOL,
            "pid": os.getpid(),
            "python": ".".join(map(str, sys.version_info[:3])),
            "functions": described(init["modules"]),
            "resource_pools": [pool.document() for pool in pools.ResourcePool.declared.values()],
            "missing": missing,
        }
    )
    return True


def _open_http(init, writer, reader):
    """Makes the HTTP server part and starts the lifespan of the application object; False when that failed."""
    from appdb.declare.declaring import Phase
    from appdb.http.worker import HttpWorker
    from appdb.worker.failures import worker_error

    worker = HttpWorker(writer, init["project_root"], init["function_timeout_ms"] / 1000)
    worker.body_bytes = init["http"]["body_bytes"]
    app = init["http"]["app"]
    Phase.running = True
    worker.listen(reader)
    try:
        if app is not None:
            worker.open_application(app)
    except BaseException as error:
        writer.write({"t": "failed", "error": worker_error(app["id"], error, init["project_root"], "import")})
        return False
    return True


def _limit_memory(more):
    """Limits the process's memory from here on. Only Linux counts it; elsewhere the engine monitors it."""
    if not sys.platform.startswith("linux") or more <= 0:
        return
    import resource

    with open("/proc/self/statm") as file:
        used = int(file.read().split()[5]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_DATA, (used + more, used + more))


def _outlive_nobody():
    """Leaves a terminal interrupt to the engine, which ends its workers. On Linux, the worker dies with the engine."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform.startswith("linux"):
        parent = os.getppid()
        try:
            import ctypes

            ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG
        except (ImportError, OSError, AttributeError):
            return  # The end of its input still ends it at the next read.
        if os.getppid() != parent:
            os._exit(0)


if __name__ == "__main__":
    end(main())
