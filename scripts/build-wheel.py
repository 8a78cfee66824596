"""Builds the wheels of appdb from ``python/`` and the bundle in ``dist/``.

There are two: the launcher is a shell script on systems with a shell and a Python entry point elsewhere. The latter
goes into the folder ``any``, because pip installs ``dist/*.whl`` only when that is one file. The standard library is
enough: a wheel is a zip file with three text files. The output is deterministic.

    python scripts/build-wheel.py <checkout> <folder of the bundle> <folder for the wheels>
"""

import base64
import hashlib
import sys
import tomllib
import zipfile
from pathlib import Path

POSIX_TAG = "py3-none-manylinux_2_17_x86_64.manylinux_2_17_aarch64.macosx_10_9_x86_64.macosx_11_0_arm64"
ANY_TAG = "py3-none-any"
SUFFIXES = {".py", ".pyi", ".typed"}
BUNDLE_FILES = (
    *("cli.js", "cli-*.js", "pod.js", "pod-program.js", "read-compiled.cjs"),
    *("traces.js", "*-store.js", "package.json"),
)
BUNDLE_FOLDERS = ("catalog-migrations", "examples", "swagger-ui")


def main(checkout: Path, bundle: Path, target: Path) -> None:
    project = tomllib.loads((checkout / "python/pyproject.toml").read_text("utf-8"))["project"]
    packaging = checkout / "scripts/packaging"
    library = _library(checkout / "python") | _bundle(bundle)
    library["appdb/_bundle/__init__.py"] = b""
    readme = (checkout / "README.md").read_text("utf-8")
    info = f"{project['name']}-{project['version']}.dist-info"
    common = library | {
        f"{info}/METADATA": _metadata(project, readme).encode(),
        f"{info}/licenses/LICENSE": (checkout / "LICENSE").read_bytes(),
    }
    launcher = (packaging / "cli.sh").read_text("utf-8").replace("@VERSION@", project["version"])
    script = {f"{project['name']}-{project['version']}.data/scripts/cli": launcher.encode()}
    entry_point = {
        "appdb/_bundle/launcher.py": (packaging / "launcher.py").read_bytes(),
        f"{info}/entry_points.txt": b"[console_scripts]\ncli = appdb._bundle.launcher:main\n",
    }
    for tag, extra, folder in ((POSIX_TAG, script, target), (ANY_TAG, entry_point, target / "any")):
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob(f"{project['name']}-*.whl"):
            old.unlink()
        wheel = folder / f"{project['name']}-{project['version']}-{tag}.whl"
        _write(wheel, common | extra | {f"{info}/WHEEL": _wheel(tag).encode()}, info)
        print(wheel.relative_to(target).as_posix())


def _library(folder: Path) -> dict[str, bytes]:
    files = sorted(path for path in (folder / "appdb").rglob("*") if path.suffix in SUFFIXES or path.name == "py.typed")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def _bundle(folder: Path) -> dict[str, bytes]:
    patterns = (*BUNDLE_FILES, *(f"{name}/**/*" for name in BUNDLE_FOLDERS))
    files = sorted(path for pattern in patterns for path in folder.glob(pattern) if path.is_file())
    return {f"appdb/_bundle/{path.relative_to(folder).as_posix()}": path.read_bytes() for path in files}


def _metadata(project: dict, readme: str) -> str:
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {project['name']}",
        f"Version: {project['version']}",
        f"Summary: {project['description']}",
        "License-Expression: Apache-2.0",
        "License-File: LICENSE",
        f"Requires-Python: {project['requires-python']}",
        *(f"Classifier: {text}" for text in project.get("classifiers", [])),
        *(f"Requires-Dist: {text}" for text in project.get("dependencies", [])),
    ]
    for extra, requirements in project.get("optional-dependencies", {}).items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f"Requires-Dist: {_with_extra(text, extra)}" for text in requirements]
    lines += ["Description-Content-Type: text/markdown", "", readme]
    return "\n".join(lines)


def _with_extra(requirement: str, extra: str) -> str:
    name, _, marker = requirement.partition(";")
    condition = f"extra == '{extra}'"
    return f"{name.strip()}; {f'({marker.strip()}) and {condition}' if marker else condition}"


def _wheel(tag: str) -> str:
    python, abi, platforms = tag.split("-")
    tags = "".join(f"Tag: {python}-{abi}-{platform}\n" for platform in platforms.split("."))
    # pip installs a platform wheel into platlib unless it is marked as pure
    return f"Wheel-Version: 1.0\nGenerator: appdb-build\nRoot-Is-Purelib: true\n{tags}"


def _write(path: Path, files: dict[str, bytes], info: str) -> None:
    record = [f"{name},sha256={_digest(data)},{len(data)}\n" for name, data in files.items()]
    record.append(f"{info}/RECORD,,\n")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data in (files | {f"{info}/RECORD": "".join(record).encode()}).items():
            entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if "/scripts/" in name else 0o100644) << 16
            archive.writestr(entry, data)


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))
