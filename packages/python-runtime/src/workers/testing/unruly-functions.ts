/**
 * Functions that a worker must survive: they raise, hang, leak, print, exit. Each run is recorded in the file named by
 * PIDS.
 */
export const UNRULY_FUNCTIONS = `
import os, sys, time
from appdb import udf

pids = os.environ["PIDS"]

def note(text):
    with open(pids, "a") as file:
        file.write(f"{os.getpid()} {text}\\n")

@udf
def upper(text: str) -> str:
    return text.upper()

@udf
def act(text: str) -> str:
    kind, _, rest = text.partition(" ")
    if kind != "quiet":
        note(text)
    if kind == "raise":
        raise ValueError("no " + rest)
    if kind == "wrong":
        return 5
    if kind == "exit":
        os._exit(int(rest))
    if kind == "spin":
        while True:
            pass
    if kind == "sleep":
        time.sleep(float(rest))
    if kind == "hold":
        while not os.path.exists(rest):
            time.sleep(0.01)
    if kind == "pause":
        time.sleep(float(rest.split()[0]))
        os._exit(3)
    if kind == "print":
        print("out of " + rest)
        print("err of " + rest, file=sys.stderr)
    if kind == "flood":
        sys.stdout.write("x" * 3_000_000 + "\\n")
    if kind == "grow":
        kept = []
        while True:
            kept.append(bytearray(2_000_000))
            time.sleep(0.005)
    if kind == "share":
        import mmap
        kept = [mmap.mmap(-1, 2_000_000) for _ in range(200)]
        for one in kept:
            one.write(b"x" * 2_000_000)
            time.sleep(0.01)
    if kind == "gulp":
        bytearray(int(rest)).find(b"x")
    if kind == "child":
        import subprocess
        note("child %d" % subprocess.Popen(["sleep", "60"]).pid)
    return text

@udf
def plus_one(n: int) -> int:
    return n + 1

@udf
def same(x: float) -> float:
    return x
`;
