"""Runs a command in a pseudo-terminal, as a person would: terminal.py COMMAND..., steps as JSON on stdin.

A step types text, pauses for some seconds, or waits for text that the terminal shows after what the previous steps waited
for. Prints JSON: the exit status, all output, and for each step the seconds that it took.
"""

import fcntl
import json
import os
import pty
import select
import signal
import struct
import sys
import termios
import time

STEP_SECONDS = 60
ROWS, COLUMNS = 40, 120


def run(command: list[str], steps: list[dict[str, str | float]]) -> dict[str, object]:
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp(command[0], command)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    output = b""
    seen = 0
    seconds: list[float] = []
    failure: str | None = None

    def read(until: float) -> bool:
        nonlocal output
        ready, _, _ = select.select([terminal], [], [], max(0, until - time.monotonic()))
        if not ready:
            return False
        try:
            piece = os.read(terminal, 65_536)
        except OSError:
            return False
        output += piece
        return piece != b""

    for step in steps:
        began = time.monotonic()
        if "type" in step:
            os.write(terminal, str(step["type"]).encode())
        elif "pause" in step:
            while read(began + float(step["pause"])):
                pass
        else:
            wanted = str(step["wait"]).encode()
            while (at := output.find(wanted, seen)) < 0:
                if not read(began + STEP_SECONDS):
                    failure = f"The terminal never showed {step['wait']!r}."
                    break
            if failure is not None:
                break
            seen = at + len(wanted)
        seconds.append(time.monotonic() - began)
    if failure is not None:
        os.kill(pid, signal.SIGKILL)
    end = time.monotonic() + STEP_SECONDS
    while read(end):
        pass
    if time.monotonic() >= end:
        failure = failure or "The command did not end."
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    return {
        "exit": os.waitstatus_to_exitcode(status),
        "output": output.decode(errors="replace"),
        "seconds": seconds,
        "failure": failure,
    }


print(json.dumps(run(sys.argv[1:], json.load(sys.stdin))))
