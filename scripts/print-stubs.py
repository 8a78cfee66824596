"""Prints the library's generated stubs as JSON: text by path from the root of the checkout."""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = ROOT / "python" / "appdb"
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "scripts" / "lib")]


def main():
    from function_stubs import function_stubs
    from route_stubs import with_routes

    stubs = {LIBRARY / "functions" / name: text for name, text in function_stubs().items()}
    serving = LIBRARY / "serving.pyi"
    stubs[serving] = with_routes(serving.read_text("utf-8"))
    json.dump({path.relative_to(ROOT).as_posix(): text for path, text in stubs.items()}, sys.stdout)


main()
